//! The state of the device before the workload.

use coflash_base::read::number_or_text;
use coflash_ftl::FreeMark;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

coflash_base::config! {
    /// The filling of the device before the workload.
    pub enum Fill, default Sequential {
        /// The device is erased.
        None,
        /// Every page is written once, in order.
        Sequential,
        /// Every page is written once, in random order.
        Random,
        /// Every page is mapped, block by block, as in the initial state of the reference simulator.
        Mapped,
    }
}

/// Random writes after the fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RandomPasses {
    /// A multiple of the number of logical pages.
    Passes(f64),
    /// Until write amplification is steady.
    Steady,
}

impl Default for RandomPasses {
    fn default() -> Self {
        Self::Passes(0.0)
    }
}

impl Serialize for RandomPasses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Passes(passes) => serializer.serialize_f64(*passes),
            Self::Steady => serializer.serialize_str("steady"),
        }
    }
}

impl<'de> Deserialize<'de> for RandomPasses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number_or_text(deserializer, "a number from 0 to 1000, or \"steady\"", |given| {
            Ok(match given {
                Ok(passes) => (0.0..=1000.0).contains(&passes).then_some(Self::Passes(passes)),
                Err(text) => (text == "steady").then_some(Self::Steady),
            })
        })
    }
}

impl JsonSchema for RandomPasses {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RandomPasses".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "oneOf": [{ "type": "number", "minimum": 0, "maximum": 1000 }, { "enum": ["steady"] }] })
    }
}

coflash_base::config! {
    /// The state of the device before the workload; it bypasses the cache, takes no time and is not counted.
    pub struct PreconditionConfig {
        /// The fill: erased, sequential, random, or mapped without writes.
        pub fill: Fill,
        /// After a sequential fill, continue sequential writes until the pool with the fewest free blocks has at most this many.
        pub until_free: Option<FreeMark>,
        /// Uniformly random writes after the fill, as a multiple of the logical pages; "steady": until write amplification no
        /// longer changes.
        pub random_passes: RandomPasses,
        /// After the rest, repeat the run's own writes and trims until write amplification is steady. They bypass the cache, too.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        #[schemars(extend("default" = false))]
        pub until_steady: bool,
        /// After the rest, repeat the run's own requests through caches and buffers, which otherwise begin empty, until write
        /// amplification is steady, too.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        #[schemars(extend("default" = false))]
        pub through_caches: bool,
    }
}

impl PreconditionConfig {
    /// The precondition of an erased device.
    #[must_use]
    pub fn nothing() -> Self {
        Self { fill: Fill::None, ..Self::default() }
    }
}
