//! Sizes in a scenario: bytes (`"16GiB"`) or a share (`"25%"`).

use crate::units::{UnitError, text_serde};
use crate::{Bytes, Share};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A size, absolute or relative to a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Absolute size.
    Bytes(Bytes),
    /// Share of the whole.
    Share(Share),
}

impl Amount {
    /// Whether it is nothing of anything.
    #[must_use]
    pub fn is_zero(self) -> bool {
        matches!(self, Self::Bytes(Bytes::ZERO) | Self::Share(Share::ZERO))
    }

    /// The amount in whole pages, where a share refers to `all_pages`.
    #[must_use]
    pub fn pages(self, page_bytes: u64, all_pages: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.count / page_bytes,
            Self::Share(share) => share.part_of(all_pages),
        }
    }
}

impl FromStr for Amount {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim().ends_with('%') { text.parse().map(Self::Share) } else { text.parse().map(Self::Bytes) }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

text_serde!(Amount, "a size such as \"16GiB\", or a share such as \"25%\"", "16GiB", "25%");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_bytes_or_a_share_and_is_written_as_it_was_read() {
        assert_eq!("16GiB".parse(), Ok(Amount::Bytes(Bytes { count: 16 << 30 })));
        assert_eq!("25%".parse(), Ok(Amount::Share(Share::percent(25))));
        for text in ["16GiB", "25%", "0B", "100%"] {
            let amount: Amount = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(amount).unwrap(), text);
        }
        for wrong in ["", "16", "25 percent", "-1%"] {
            assert!(wrong.parse::<Amount>().is_err(), "{wrong}");
        }
    }
}
