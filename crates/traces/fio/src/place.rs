//! Where a random request of a job goes.

use super::map::VisitedMap;
use super::random::Lfsr;
use coflash_workload::skewed::Skewed;

/// Where random requests go.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// Uniformly, with or without a map of visited blocks; by zones.
    Uniform(Option<VisitedMap>),
    Lfsr(Lfsr),
    Skewed(Skewed),
}

/// A range of places with its share of the draws, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Zone {
    /// Draws up to this percentage, of all zones so far.
    pub(super) draws_until: u32,
    pub(super) begin: u64,
    pub(super) end: u64,
}
