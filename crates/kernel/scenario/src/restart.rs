//! Restarts of host and device in the course of a run.

use coflash_base::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What precedes a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shutdown {
    /// Nothing: power fails. Dirty pages in volatile memory and what is not committed are lost and counted; older data become
    /// valid again.
    #[default]
    Sudden,
    /// A flush: everything is in flash.
    Orderly,
}

/// Restarts of host and device. A restart falls between two requests and takes no time itself. Volatile memory is empty after
/// it, a non-volatile cache has the pages that flash lacks, and all blocks with data of fast programs are refreshed at once,
/// since the time without power is unknown (ShadowGC). Pages in a volatile `controller.write_buffer` count as lost; the mapping
/// keeps them, since an older version takes as much flash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RestartConfig {
    /// Times since the start of the workload, such as ["2h", "3h"]. Those after the last request do not happen.
    pub at: Vec<Duration>,
    /// What precedes each restart.
    pub shutdown: Shutdown,
}
