//! Write streams: data of different streams goes to different blocks.

use coflash_media::Cause;

coflash_base::config! {
    /// A write stream. Each stream, or group of streams, fills an active block of its own.
    pub enum WriteStream {
        /// Host writes past the cache.
        Host,
        /// Pages evicted from the device's cache.
        Evict,
        /// Pages copied by GC.
        Gc,
        /// Shadows copied by GC. They go to GC's stream unless the cooperation scheme separates them.
        Shadow,
    }
}

impl WriteStream {
    pub(crate) const COUNT: usize = 4;

    /// The default stream of a program by its cause.
    #[inline(always)]
    #[must_use]
    pub fn by_cause(cause: Cause) -> Self {
        match cause {
            Cause::Evict | Cause::Destage => Self::Evict,
            Cause::Gc | Cause::Refresh | Cause::WearLevelling => Self::Gc,
            Cause::Host | Cause::Metadata => Self::Host,
        }
    }
}

/// Groups of streams: the streams of each inner list share an active block.
pub type StreamGroups = Vec<Vec<WriteStream>>;
