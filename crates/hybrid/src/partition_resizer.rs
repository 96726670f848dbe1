//! Partition Resizer: at the end of each period it asks the scheme how flash is to be divided, and in between it moves the
//! caches there a little with each request.
//!
//! A cache shrinks by giving up pages, so that what it leaves becomes over-provisioned space; it grows by keeping more of the
//! blocks that garbage collection frees.
//!
//! A clean page leaves at no cost, a dirty one costs the disk some milliseconds. A write cache that gave up pages at a rate
//! of its own could ask more of the disks than they can do. So where resizing *yields*, its limit moves with requests only
//! as long as no page has to leave for it, and then by a group at a time: the next when the one before is on the disk, which
//! the tier knows, and no more than the same pages a request.

use crate::config::Resizing;
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
    resizing: Resizing,
    /// Dirty pages that leave together.
    group_pages: u32,
    /// How many may leave where resizing yields, since so many requests came after the last group.
    allowed_pages: u32,
}

impl PartitionResizer {
    /// Limits that stay until a period of so many requests is over.
    #[must_use]
    pub fn new(limits: Limits, period: u32, step_pages: u32, resizing: Resizing, group_pages: u32) -> Self {
        let (targets, left) = (limits, period);
        Self { limits, targets, period, left, step_pages, resizing, group_pages, allowed_pages: 0 }
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

    /// A request comes, and so many pages are dirty: moves the limits a step towards their targets. Whether it is the last
    /// of its period.
    #[inline]
    pub fn tick(&mut self, dirty_pages: u32) -> bool {
        if self.limits != self.targets {
            self.adjust(dirty_pages);
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

    /// Whether the write cache, of whose pages so many are dirty and stay otherwise, is to give up a group, now that none is
    /// on its way on account of this. Its limit is then lower by so much.
    pub fn gives_up_group(&mut self, dirty_pages: u32) -> bool {
        let shrinks =
            self.resizing == Resizing::Yielding && self.limits.write_pages > self.targets.write_pages;
        let bound = self.least_write_pages(dirty_pages) >= self.limits.write_pages;
        if !shrinks || !bound || self.allowed_pages < self.group_pages {
            return false;
        }
        self.allowed_pages = 0;
        let less = self.limits.write_pages.saturating_sub(self.group_pages);
        self.limits.write_pages = less.max(self.targets.write_pages);
        true
    }

    /// Down to where the limit of the write cache moves with requests.
    fn least_write_pages(&self, dirty_pages: u32) -> u32 {
        if self.resizing == Resizing::Steady || dirty_pages <= self.group_pages {
            return self.targets.write_pages;
        }
        // A cache at its limit holds up to a group less. If the limit followed that, writes would have to destage sooner.
        self.targets.write_pages.max(dirty_pages + self.group_pages)
    }

    fn adjust(&mut self, dirty_pages: u32) {
        let down = |now: u32, to: u32| now.min(now.saturating_sub(self.step_pages).max(to));
        let read_pages = down(self.limits.read_pages, self.targets.read_pages);
        let write_pages = down(self.limits.write_pages, self.least_write_pages(dirty_pages));
        self.allowed_pages = self.allowed_pages.saturating_add(self.step_pages);
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
            let mut resizer = PartitionResizer::new(limits(from.0, from.1), 1000, 3, Resizing::Steady, 8);
            resizer.aim(limits(to.0, to.1));
            let most = (from.0 + from.1).max(to.0 + to.1);
            let mut before = resizer.limits();
            for _ in 0..60 {
                resizer.tick(from.1);
                let now = resizer.limits();
                assert!(now.pages() <= most, "{now:?} on the way from {from:?} to {to:?}");
                assert!(now.read_pages.abs_diff(before.read_pages) <= 3);
                assert!(now.write_pages.abs_diff(before.write_pages) <= 3);
                before = now;
            }
            assert_eq!(before, limits(to.0, to.1));
        }
    }

    /// Requests come, every third with a new dirty page; a group takes so many requests to be on the disk.
    fn shrink_yielding(requests_a_group: u32) -> Vec<(Limits, bool)> {
        let mut resizer = PartitionResizer::new(limits(20, 200), 10_000, 2, Resizing::Yielding, 8);
        resizer.aim(limits(60, 100));
        let (mut dirty, mut busy) = (150, 0);
        let request = |number: u32| {
            resizer.tick(dirty);
            busy = u32::saturating_sub(busy, 1);
            dirty += u32::from(number.is_multiple_of(3));
            if dirty > resizer.limits().write_pages {
                dirty -= 8; // a write destages
            }
            let gives_up = busy == 0 && resizer.gives_up_group(dirty);
            if gives_up {
                (dirty, busy) = (dirty - 8, requests_a_group);
            }
            assert!(dirty <= resizer.limits().write_pages, "nothing else is beyond the limit");
            (resizer.limits(), gives_up)
        };
        (0..600).map(request).collect()
    }

    #[test]
    fn where_resizing_yields_a_write_cache_shrinks_as_fast_as_its_groups_are_written() {
        for requests_a_group in [1, 4, 30] {
            let steps = shrink_yielding(requests_a_group);
            // Down to what it holds at 2 pages a request, then by groups.
            assert_eq!(steps[4].0, limits(30, 190));
            assert_eq!(steps.last().unwrap().0, limits(60, 100), "it gets there");
            let groups: Vec<_> = (0..).zip(&steps).filter(|(_, step)| step.1).map(|(at, _)| at).collect();
            assert!((5..=9).contains(&groups.len()), "{groups:?}");
            for pair in groups.windows(2) {
                // No group before the last is written, and none sooner than 8 pages at 2 a request.
                assert!(pair[1] - pair[0] >= requests_a_group.max(4), "{groups:?}");
            }
            for pair in steps.windows(2) {
                let most = if pair[1].1 { 2 + 8 } else { 2 };
                assert!(pair[0].0.write_pages - pair[1].0.write_pages <= most, "{pair:?}");
                assert!(pair[1].0.pages() <= 220);
            }
        }
    }

    #[test]
    fn a_write_cache_that_may_hold_nothing_comes_down_to_nothing() {
        let mut resizer = PartitionResizer::new(limits(0, 40), 1000, 1, Resizing::Yielding, 8);
        resizer.aim(limits(40, 0));
        let mut dirty = 40;
        for _ in 0..200 {
            resizer.tick(dirty);
            if resizer.gives_up_group(dirty) {
                dirty -= 8;
            }
        }
        // A group's worth may always stay.
        assert_eq!((resizer.limits(), dirty), (limits(40, 0), 8));
    }

    #[test]
    fn a_period_ends_after_its_requests() {
        let mut resizer = PartitionResizer::new(limits(1, 1), 4, 1, Resizing::Steady, 8);
        let ends: Vec<_> = (0..9).map(|_| resizer.tick(0)).collect();
        assert_eq!(ends, [false, false, false, true, false, false, false, true, false]);
    }

    #[test]
    fn a_partition_is_whole_pages_of_flash() {
        let partition = Partition { caching: 0.5, read: 0.25 };
        assert_eq!(Limits::of(partition, 1000, 800), limits(125, 375));
        assert_eq!(Limits::of(partition, 1000, 400), limits(100, 300));
    }
}
