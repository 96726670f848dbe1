//! What is counted.

/// What the tier has done, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierTally {
    /// Reads that found a clean page.
    pub read_hits: u64,
    /// Reads that found a dirty page.
    pub read_hits_dirty: u64,
    /// Reads that found none.
    pub read_misses: u64,
    /// Of those, reads that waited for a fetch under way.
    pub joined_reads: u64,
    /// Writes that found a dirty page.
    pub write_hits: u64,
    /// Writes that found a clean page or none.
    pub write_misses: u64,
    /// Reads that went straight to the disk.
    pub bypassed_reads: u64,
    /// Writes that went straight to the disk.
    pub bypassed_writes: u64,
    /// Of those, writes because no page was free.
    pub overflowed_writes: u64,
    /// Pages put into the read cache.
    pub fills: u64,
    /// Clean pages that gave way.
    pub clean_evictions: u64,
    /// Dirty pages on their way to the disk.
    pub destages: u64,
    /// Groups of them.
    pub destage_groups: u64,
    /// Dirty pages that went only because the write cache was to be smaller.
    pub given_up: u64,
    /// Ends of periods at which flash was divided anew.
    pub divisions: u64,
}
