//! How much of a space: bytes (`"16GiB"`) or a share (`"25%"`).

use coflash_base::units::UnitError;
use coflash_base::{Bytes, Share};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// How much of a space. A share is rounded down to 64 KiB, so that parts begin on the pages of any flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// So many bytes.
    Bytes(Bytes),
    /// A share of the space.
    Share(Share),
}

impl Extent {
    /// In bytes of a space of `around`.
    #[must_use]
    pub fn of(self, around: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.count,
            // All of it is all of it.
            Self::Share(Share::ONE) => around,
            Self::Share(share) => Self::rounded(share.of(around)),
        }
    }

    /// `bytes` as the sizes of shares are rounded.
    pub(super) fn rounded(bytes: u64) -> u64 {
        bytes >> 16 << 16
    }
}

impl FromStr for Extent {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim().ends_with('%') { text.parse().map(Self::Share) } else { text.parse().map(Self::Bytes) }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

impl Serialize for Extent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Extent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Extent {
    fn schema_name() -> Cow<'static, str> {
        "Extent".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "bytes such as \"16GiB\", or a share of the space such as \"25%\"" })
    }
}
