//! The size of a cache, for its eviction policy.

/// The size of a cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheShape {
    /// The number of slots of the cache.
    pub slots: u32,
    /// The number of logical pages that may be cached.
    pub pages: u32,
}
