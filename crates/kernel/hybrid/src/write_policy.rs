//! The write policy of the cache.

use coflash_base::Save;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the disk gets a page that is written to the write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Save)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// When it leaves the cache. A write is answered when flash has it, which is not volatile.
    #[default]
    WriteBack,
    /// At once. A write is answered when flash and then the disk have it, so that no page whose write was answered is
    /// dirty. What leaves the write cache is not written again. Measures of dirty pages count those of the write cache.
    WriteThrough,
}
