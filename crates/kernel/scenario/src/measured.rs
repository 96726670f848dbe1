//! The conditions of the measurements to which a scenario was fitted.

use coflash_base::{Bytes, Share};

coflash_base::config! {
    /// The conditions under which the drive was measured to which the scenario was fitted. They change no number: the result of a run
    /// beyond them has a note.
    #[derive(Eq)]
    pub struct MeasuredConfig {
        /// The highest rate of reads per second.
        pub reads_per_s: Option<u64>,
        /// The highest rate of writes per second.
        pub writes_per_s: Option<u64>,
        /// The greatest share of reads among reads and writes.
        pub read_share: Option<Share>,
        /// The size of a request.
        pub request_size: Option<Bytes>,
        /// The least part of the capacity that was in use.
        pub used: Option<Share>,
    }
}
