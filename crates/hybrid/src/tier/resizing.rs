//! How flash is divided: anew when a period ends, and what leaves for the caches to keep their limits.

use super::Tier;
use crate::media::TierMedia;
use crate::meter::DiskUse;
use crate::page_replacer::{Excess, LeaveId};
use crate::partition_resizer::Limits;
use crate::scheme::Period;

impl Tier {
    /// How many pages each cache may hold at present.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.resizer.limits()
    }

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

    /// Sends out what is beyond the limits, with so many clean pages to come.
    #[inline]
    pub(super) fn keep_limits<M: TierMedia>(&mut self, coming: u32, start: M::When, media: &mut M) {
        loop {
            match self.replacer.excess(self.resizer.limits(), coming) {
                Excess::Nothing => return,
                Excess::Clean(slot) => self.drop_clean(slot),
                Excess::Dirty => {
                    self.destage(start, media);
                }
            }
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
