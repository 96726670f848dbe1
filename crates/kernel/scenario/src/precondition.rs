//! The state of the device before the workload.

use coflash_ftl::FreeMark;

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

coflash_base::number_or_name! {
    /// Random writes after the fill.
    pub enum RandomPasses, expects "a number from 0 to 1000, or \"steady\"" {
        /// A multiple of the number of logical pages.
        Passes(0..=1000),
        /// Until write amplification is steady.
        Steady = "steady",
    }
}

impl Default for RandomPasses {
    fn default() -> Self {
        Self::Passes(0.0)
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
