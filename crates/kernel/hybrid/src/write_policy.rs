//! The write policy of the cache.

coflash_base::config! {
    /// When the disk gets a page that is written to the write cache.
    pub enum WritePolicy, default WriteBack {
        /// When it leaves the cache. A write is answered when flash has it, which is not volatile.
        WriteBack,
        /// At once. A write is answered when flash and then the disk have it, so that no page whose write was answered is
        /// dirty. What leaves the write cache is not written again. Measures of dirty pages count those of the write cache.
        WriteThrough,
    }
}
