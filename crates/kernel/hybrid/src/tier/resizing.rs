//! Resizing: the partition of flash at the end of a period, and evictions that keep the caches within their limits.

use super::{Tier, TierAtWork};
use crate::media::TierMedia;
use crate::page_replacer::Excess;
use crate::partition_resizer::Limits;
use crate::scheme::Period;
use coflash_ftl::GcHook;

impl Tier {
    pub(super) fn divide(&mut self) {
        let Some(tracker) = &mut self.tracker else { return };
        let demand = tracker.demand();
        tracker.fade();
        let caching_max = f64::from(self.slots) / f64::from(self.flash_pages);
        let flash = (self.ftl.counters(), self.ftl.programs());
        let measured = self.meter.end_period(&self.counters, flash, self.flash_pages, self.step);
        let (costs, costs_of_disk) = (&self.costs, &self.costs_of_disk);
        let period = Period { demand: &demand, costs, costs_of_disk, measured, step: self.step, caching_max };
        if let Some(partition) = self.scheme.divide(&period) {
            self.counters.divisions += 1;
            self.resizer.aim(Limits::new(partition, self.flash_pages, self.slots));
        }
    }
}

impl<M: TierMedia, H: GcHook> TierAtWork<'_, M, H> {
    /// Evict pages beyond the limits, before `coming` clean pages are inserted.
    #[inline]
    pub(super) fn keep_limits(&mut self, coming: u32) -> Result<(), M::Error> {
        loop {
            match self.tier.replacer.excess(self.tier.resizer.limits, coming) {
                Excess::Nothing => return Ok(()),
                Excess::Clean(slot) => self.tier.drop_clean(slot),
                Excess::Dirty => {
                    self.destage()?;
                }
            }
        }
    }

    /// Destage a group if the write cache must shrink, one group at a time.
    #[inline]
    pub(super) fn destage_to_shrink(&mut self) -> Result<(), M::Error> {
        if self.tier.shrinking_group.is_none()
            && self.tier.resizer.shrinks_by_group(self.tier.replacer.dirty_pages())
        {
            let before = self.tier.counters.destages_pages;
            self.tier.shrinking_group = self.destage()?;
            self.tier.counters.given_up_pages += self.tier.counters.destages_pages - before;
        }
        Ok(())
    }
}
