//! How flash is divided anew: when a period ends, and what a write cache that is to be smaller gives up.

use super::Tier;
use crate::media::TierMedia;
use crate::meter::DiskUse;
use crate::page_replacer::LeaveId;
use crate::partition_resizer::Limits;
use crate::scheme::Period;

impl Tier {
    /// What disks have done until now; asked for before the [end](Self::end) of a request with which a period ends.
    pub fn disks_did(&mut self, disk_use: DiskUse) {
        self.meter.disks_did(disk_use);
    }

    /// Whether a period ends with this request.
    #[inline]
    #[must_use]
    pub fn period_ends(&self) -> bool {
        self.period_ends
    }

    pub(super) fn divide(&mut self) {
        let Some(tracker) = &mut self.tracker else { return };
        let demand = tracker.demand();
        tracker.fade();
        let caching_max = f64::from(self.slots) / f64::from(self.flash_pages);
        let (tally, ftl) = (&self.tally, self.ftl.tally());
        let measured = self.meter.end_period(tally, ftl, self.flash_pages, self.step);
        let period = Period { demand: &demand, costs: &self.costs, measured, step: self.step, caching_max };
        if let Some(partition) = self.scheme.divide(&period) {
            self.tally.divisions += 1;
            self.resizer.aim(Limits::of(partition, self.flash_pages, self.slots));
        }
    }

    /// The write cache gives up a group if it is to be smaller, one at a time.
    #[inline]
    pub(super) fn give_up_group<M: TierMedia>(&mut self, start: M::When, media: &mut M) {
        if self.given_up.is_none() && self.resizer.gives_up_group(self.replacer.dirty_pages()) {
            let before = self.tally.destages;
            self.given_up = Some(self.destage(start, media));
            self.tally.given_up += self.tally.destages - before;
        }
    }

    /// Whether a group goes only because the write cache is to be smaller: it should give way to other transfers.
    #[must_use]
    pub fn gives_way(&self, id: LeaveId) -> bool {
        self.given_up == Some(id)
    }
}
