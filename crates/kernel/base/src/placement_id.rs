//! Placement identifiers: the hint of a write, with which data its own belongs.

use crate::Save;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU8;

/// The placement hint of a write: the number of a reclaim-unit handle (FDP), or of a stream, from 0 to 254. An optional one takes
/// one byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Save)]
#[serde(try_from = "u64", into = "u64")]
pub struct PlacementId(NonZeroU8);

impl PlacementId {
    /// The largest number.
    pub const MAX: u64 = 254;

    /// Create an identifier; `None` if the number is above [`MAX`](Self::MAX).
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        u8::try_from(number).ok()?.checked_add(1).and_then(NonZeroU8::new).map(Self)
    }

    /// Its number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> u32 {
        u32::from(self.0.get()) - 1
    }
}

impl TryFrom<u64> for PlacementId {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        Self::new(number).ok_or_else(|| format!("{number} was given; from 0 to {} is allowed", Self::MAX))
    }
}

impl From<PlacementId> for u64 {
    fn from(id: PlacementId) -> Self {
        id.get().into()
    }
}

impl fmt::Debug for PlacementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlacementId({})", self.get())
    }
}

impl JsonSchema for PlacementId {
    fn schema_name() -> Cow<'static, str> {
        "PlacementId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": Self::MAX, "description": "a placement identifier" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_above_the_largest_are_refused() {
        assert_eq!(size_of::<Option<PlacementId>>(), 1);
        for number in [0, 1, PlacementId::MAX] {
            assert_eq!(PlacementId::new(number).map(u64::from), Some(number));
        }
        assert_eq!([PlacementId::MAX + 1, 1 << 8, 1 << 40].map(PlacementId::new), [None; 3]);
        let error = serde_json::from_str::<PlacementId>("300").expect_err("it is too large").to_string();
        assert!(error.starts_with("300 was given; from 0 to 254 is allowed"), "{error}");
    }
}
