//! FP-FCL: one cache for clean and dirty pages, with a fixed share of flash.

use super::{PartitionScheme, one_cache};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;

coflash_base::config! {
    /// The FP-FCL scheme, with its parameters.
    #[derive(Eq, Save)]
    pub struct FpFclConfig {
        /// Caching space as a share of flash.
        pub caching: Share = Share::percent(80),
    }
}

impl Policy for FpFclConfig {
    type Config = Self;
    const SUMMARY: &'static str = "One cache for clean and dirty pages, of a fixed share of flash.";
    const SOURCE: &'static str = "Y. Oh et al., FAST 2012";
}

impl PartitionScheme for FpFclConfig {
    fn first(&self) -> (Partition, Orders) {
        one_cache(self.caching)
    }
}
