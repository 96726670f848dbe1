//! Restarts of host and device in the course of a run.

use coflash_base::Duration;

coflash_base::config! {
    /// What precedes a restart.
    pub enum Shutdown, default Sudden {
        /// Nothing: power fails. Dirty pages in volatile memory and what is not committed are lost and counted; older data become
        /// valid again.
        Sudden,
        /// A flush: everything is in flash.
        Orderly,
    }

    /// Restarts of host and device. A restart falls between two requests and takes no time itself. Volatile memory is empty after
    /// it, a non-volatile cache has the pages that flash lacks, and all blocks with data of fast programs are refreshed at once,
    /// since the time without power is unknown (ShadowGC). Pages in a volatile `controller.write_buffer` count as lost; the mapping
    /// keeps them, since an older version takes as much flash.
    pub struct RestartConfig {
        /// Times since the start of the workload, such as ["2h", "3h"]. Those after the last request do not happen.
        pub at: Vec<Duration>,
        /// What precedes each restart.
        pub shutdown: Shutdown,
    }
}
