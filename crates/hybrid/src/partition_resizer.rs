//! Partition Resizer: at the end of each period it asks the scheme how flash is to be divided, and in between it moves the
//! caches there a little with each request.
//!
//! A cache shrinks by giving up pages, so that what it leaves becomes over-provisioned space; it grows by keeping more of the
//! blocks that garbage collection frees.

use crate::costmodel::Partition;

/// How many pages each cache may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The read cache.
    pub read_pages: u32,
    /// The write cache.
    pub write_pages: u32,
}

impl Limits {
    /// A partition of so many pages of flash, of which at most `pages_max` are caching space.
    #[must_use]
    pub fn of(partition: Partition, flash_pages: u32, pages_max: u32) -> Self {
        let caching = (partition.caching * f64::from(flash_pages)).round().min(f64::from(pages_max));
        let read = (caching * partition.read).round();
        Self { read_pages: read as u32, write_pages: (caching - read) as u32 }
    }

    /// Pages of both.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.read_pages + self.write_pages
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct PartitionResizer {
    limits: Limits,
    targets: Limits,
    /// Requests of a period, and those left of this one.
    period: u32,
    left: u32,
    /// Pages by which a limit moves with a request, at most.
    step_pages: u32,
}

impl PartitionResizer {
    /// Limits that stay until a period of so many requests is over.
    #[must_use]
    pub fn new(limits: Limits, period: u32, step_pages: u32) -> Self {
        Self { limits, targets: limits, period, left: period, step_pages }
    }

    /// The present limits.
    #[inline]
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Where they move to.
    #[must_use]
    pub fn targets(&self) -> Limits {
        self.targets
    }

    /// A request comes: moves the limits a step towards their targets. Whether it is the last of its period.
    #[inline]
    pub fn tick(&mut self) -> bool {
        if self.limits != self.targets {
            self.adjust();
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.period;
            return true;
        }
        false
    }

    /// Has the limits move to new targets.
    pub fn aim(&mut self, targets: Limits) {
        self.targets = targets;
    }

    fn adjust(&mut self) {
        let down = |now: u32, to: u32| now.min(now.saturating_sub(self.step_pages).max(to));
        let read_pages = down(self.limits.read_pages, self.targets.read_pages);
        let write_pages = down(self.limits.write_pages, self.targets.write_pages);
        // One grows only into what is free of the larger of both divisions, so that the sum never goes beyond them.
        let most = self.limits.pages().max(self.targets.pages());
        let up = |now: u32, to: u32, other: u32| to.min(now + self.step_pages).min(most - other).max(now);
        let read_pages = up(read_pages, self.targets.read_pages, write_pages);
        let write_pages = up(write_pages, self.targets.write_pages, read_pages);
        self.limits = Limits { read_pages, write_pages };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(read_pages: u32, write_pages: u32) -> Limits {
        Limits { read_pages, write_pages }
    }

    #[test]
    fn limits_move_by_a_step_and_stop_at_their_targets() {
        for (from, to) in [((10, 90), (60, 20)), ((60, 20), (10, 90)), ((0, 0), (7, 100)), ((50, 50), (0, 0))]
        {
            let mut resizer = PartitionResizer::new(limits(from.0, from.1), 1000, 3);
            resizer.aim(limits(to.0, to.1));
            let most = (from.0 + from.1).max(to.0 + to.1);
            let mut before = resizer.limits();
            for _ in 0..60 {
                resizer.tick();
                let now = resizer.limits();
                assert!(now.pages() <= most, "{now:?} on the way from {from:?} to {to:?}");
                assert!(now.read_pages.abs_diff(before.read_pages) <= 3);
                assert!(now.write_pages.abs_diff(before.write_pages) <= 3);
                before = now;
            }
            assert_eq!(before, limits(to.0, to.1));
        }
    }

    #[test]
    fn a_period_ends_after_its_requests() {
        let mut resizer = PartitionResizer::new(limits(1, 1), 4, 1);
        let ends: Vec<_> = (0..9).map(|_| resizer.tick()).collect();
        assert_eq!(ends, [false, false, false, true, false, false, false, true, false]);
    }

    #[test]
    fn a_partition_is_whole_pages_of_flash() {
        let partition = Partition { caching: 0.5, read: 0.25 };
        assert_eq!(Limits::of(partition, 1000, 800), limits(125, 375));
        assert_eq!(Limits::of(partition, 1000, 400), limits(100, 300));
    }
}
