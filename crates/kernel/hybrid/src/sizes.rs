//! Samples of the cache sizes over time, in constant memory.

use crate::counters::Sizes;
use crate::tier::Tier;
use coflash_base::{Save, Time};

/// The samples.
#[derive(Clone, Save)]
pub(crate) struct SizesOverTime {
    samples: Vec<Sizes>,
    /// The number of requests between two samples, and until the next one.
    every: u32,
    left: u32,
}

impl SizesOverTime {
    const SAMPLES_MAX: usize = 512;

    pub(crate) fn new(period_requests: u32) -> Self {
        Self { samples: Vec::new(), every: (period_requests / 16).max(1), left: 1 }
    }

    #[inline]
    pub(crate) fn tick(&mut self, tier: &Tier, at: Time) {
        self.left -= 1;
        if self.left == 0 {
            self.take(tier, at);
        }
    }

    fn sample(tier: &Tier, at: Time) -> Sizes {
        let (cache, limits) = (tier.cache(), tier.resizer.limits);
        Sizes {
            at_ns: at.ns,
            clean_pages: cache.clean_len(),
            dirty_pages: cache.dirty_len(),
            read_limit_pages: limits.read_pages,
            write_limit_pages: limits.write_pages,
        }
    }

    /// The samples and the sizes at the end.
    pub(crate) fn until(&self, tier: &Tier, end: Time) -> Vec<Sizes> {
        let last =
            self.samples.last().is_none_or(|last| last.at_ns < end.ns).then(|| Self::sample(tier, end));
        self.samples.iter().copied().chain(last).collect()
    }

    fn take(&mut self, tier: &Tier, at: Time) {
        self.samples.push(Self::sample(tier, at));
        if self.samples.len() == Self::SAMPLES_MAX {
            self.samples = self.samples.iter().copied().step_by(2).collect();
            self.every = self.every.saturating_mul(2);
        }
        self.left = self.every;
    }
}
