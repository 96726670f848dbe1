//! Partition Resizer: at the end of each period the scheme decides on the partition of flash; in between the
//! caches are resized gradually with each request.
//!
//! A cache shrinks by evicting pages; their space becomes over-provisioned space. It grows by filling more of
//! the space that garbage collection frees.
//!
//! Evicting a clean page is free; a dirty page costs the disk some milliseconds. A write cache that shrinks
//! at a fixed rate could overload the disks. So if resizing *yields*, its limit moves with requests only
//! while no page must be evicted. After that it moves by one group at a time: the next group begins when the
//! last one is on the disk, with at most the usual number of pages per request.

use crate::config::{HybridConfig, Resizing};
use crate::costmodel::Partition;
use coflash_base::Save;

/// The limits of the caches in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Limits {
    /// The read cache.
    pub read_pages: u32,
    /// The write cache.
    pub write_pages: u32,
}

impl Limits {
    /// Create the limits of a partition of `flash_pages` pages, at most `pages_max` of them caching space.
    #[must_use]
    pub fn new(partition: Partition, flash_pages: u32, pages_max: u32) -> Self {
        let caching = (partition.caching * f64::from(flash_pages)).round().min(f64::from(pages_max));
        let read = (caching * partition.read).round();
        Self { read_pages: read as u32, write_pages: (caching - read) as u32 }
    }

    /// The sum of both.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.read_pages + self.write_pages
    }
}

/// The partition resizer.
#[derive(Clone, Debug, Save)]
pub(crate) struct PartitionResizer {
    /// The current limits.
    pub(crate) limits: Limits,
    targets: Limits,
    /// The number of requests of a period, and the number left in this one.
    period: u32,
    left: u32,
    /// The maximal number of pages by which a limit moves with a request.
    step_pages: u32,
    resizing: Resizing,
    /// The number of dirty pages of a group.
    group_pages: u32,
    /// With yielding resizing: the number of pages that may be evicted, by the requests since the last group.
    allowed_pages: u32,
}

impl PartitionResizer {
    /// Create a resizer with fixed limits until the end of the first period.
    pub(crate) fn new(limits: Limits, config: &HybridConfig) -> Self {
        Self {
            limits,
            targets: limits,
            period: config.period_requests,
            left: config.period_requests,
            step_pages: config.resize_pages,
            resizing: config.resizing,
            group_pages: config.destage_pages,
            allowed_pages: 0,
        }
    }

    /// Move the limits a step towards their targets with a request, given the number of dirty pages. Returns
    /// whether the request is the last of its period.
    #[inline]
    pub(crate) fn tick(&mut self, dirty_pages: u32) -> bool {
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

    /// Set new targets for the limits.
    pub(crate) fn aim(&mut self, targets: Limits) {
        self.targets = targets;
    }

    /// Whether the write cache, with `dirty_pages` dirty pages, must destage a group to shrink. If so, lowers
    /// its limit. Called only while no such group is pending.
    pub(crate) fn shrinks_by_group(&mut self, dirty_pages: u32) -> bool {
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

    /// The size down to which the limit of the write cache moves with requests.
    fn least_write_pages(&self, dirty_pages: u32) -> u32 {
        if self.resizing == Resizing::Steady || dirty_pages <= self.group_pages {
            return self.targets.write_pages;
        }
        // A cache at its limit may hold up to a group less. If the limit followed that, writes would have to
        // destage earlier.
        self.targets.write_pages.max(dirty_pages + self.group_pages)
    }

    fn adjust(&mut self, dirty_pages: u32) {
        let down = |now: u32, to: u32| now.min(now.saturating_sub(self.step_pages).max(to));
        let read_pages = down(self.limits.read_pages, self.targets.read_pages);
        let write_pages = down(self.limits.write_pages, self.least_write_pages(dirty_pages));
        self.allowed_pages = self.allowed_pages.saturating_add(self.step_pages);
        // A cache grows only into free space of the larger of both partitions, so that the sum never exceeds them.
        let most = self.limits.pages().max(self.targets.pages());
        let up = |now: u32, to: u32, other: u32| {
            to.min(now.saturating_add(self.step_pages)).min(most - other).max(now)
        };
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

    /// A resizer of groups of eight pages.
    fn resizer(
        limits: Limits,
        period_requests: u32,
        resize_pages: u32,
        resizing: Resizing,
    ) -> PartitionResizer {
        let config = HybridConfig {
            period_requests,
            resize_pages,
            resizing,
            destage_pages: 8,
            ..HybridConfig::default()
        };
        PartitionResizer::new(limits, &config)
    }

    #[test]
    fn limits_move_by_a_step_and_stop_at_their_targets() {
        for (from, to) in [((10, 90), (60, 20)), ((60, 20), (10, 90)), ((0, 0), (7, 100)), ((50, 50), (0, 0))]
        {
            let mut resizer = resizer(limits(from.0, from.1), 1000, 3, Resizing::Steady);
            resizer.aim(limits(to.0, to.1));
            let most = (from.0 + from.1).max(to.0 + to.1);
            let mut before = resizer.limits;
            for _ in 0..60 {
                resizer.tick(from.1);
                let now = resizer.limits;
                assert!(now.pages() <= most, "{now:?} on the way from {from:?} to {to:?}");
                assert!(now.read_pages.abs_diff(before.read_pages) <= 3);
                assert!(now.write_pages.abs_diff(before.write_pages) <= 3);
                before = now;
            }
            assert_eq!(before, limits(to.0, to.1));
        }
    }

    /// Shrink with requests; every third has a new dirty page. A group is on the disk after
    /// `requests_a_group` requests.
    fn shrink_yielding(requests_a_group: u32) -> Vec<(Limits, bool)> {
        let mut resizer = resizer(limits(20, 200), 10_000, 2, Resizing::Yielding);
        resizer.aim(limits(60, 100));
        let (mut dirty, mut busy) = (150, 0);
        let request = |number: u32| {
            resizer.tick(dirty);
            busy = u32::saturating_sub(busy, 1);
            dirty += u32::from(number.is_multiple_of(3));
            if dirty > resizer.limits.write_pages {
                dirty -= 8; // a write destages
            }
            let shrinks = busy == 0 && resizer.shrinks_by_group(dirty);
            if shrinks {
                (dirty, busy) = (dirty - 8, requests_a_group);
            }
            assert!(dirty <= resizer.limits.write_pages, "nothing else is beyond the limit");
            (resizer.limits, shrinks)
        };
        (0..600).map(request).collect()
    }

    #[test]
    fn where_resizing_yields_a_write_cache_shrinks_as_fast_as_its_groups_are_written() {
        for requests_a_group in [1, 4, 30] {
            let steps = shrink_yielding(requests_a_group);
            // Down to its contents at 2 pages per request, then by groups.
            assert_eq!(steps[4].0, limits(30, 190));
            assert_eq!(steps.last().unwrap().0, limits(60, 100), "it gets there");
            let groups: Vec<_> = (0..).zip(&steps).filter(|(_, step)| step.1).map(|(at, _)| at).collect();
            assert!((5..=9).contains(&groups.len()), "{groups:?}");
            for pair in groups.windows(2) {
                // No group before the last one is written, and none sooner than 8 pages at 2 per request.
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
        let mut resizer = resizer(limits(0, 40), 1000, 1, Resizing::Yielding);
        resizer.aim(limits(40, 0));
        let mut dirty = 40;
        for _ in 0..200 {
            resizer.tick(dirty);
            if resizer.shrinks_by_group(dirty) {
                dirty -= 8;
            }
        }
        // One group may always stay.
        assert_eq!((resizer.limits, dirty), (limits(40, 0), 8));
    }

    #[test]
    fn a_period_ends_after_its_requests() {
        let mut resizer = resizer(limits(1, 1), 4, 1, Resizing::Steady);
        let ends: Vec<_> = (0..9).map(|_| resizer.tick(0)).collect();
        assert_eq!(ends, [false, false, false, true, false, false, false, true, false]);
    }

    #[test]
    fn a_partition_is_whole_pages_of_flash() {
        let partition = Partition { caching: 0.5, read: 0.25 };
        assert_eq!(Limits::new(partition, 1000, 800), limits(125, 375));
        assert_eq!(Limits::new(partition, 1000, 400), limits(100, 300));
    }
}
