//! Random groups of pages, whose differences give the standard errors of a sample.

/// The number of groups.
pub(super) const GROUPS: usize = 16;

/// The group of a page with this hash, by its lowest bits; the highest ones decide whether it is tracked.
#[inline]
pub(super) fn group_of(hash: u64) -> usize {
    hash as usize % GROUPS
}
