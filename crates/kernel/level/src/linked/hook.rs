//! GC's hook across the link.

use super::notice::ToHost;
use super::wire::{Said, Wire};
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_ftl::{Decision, GcHook, Marks, Weight, Weights};
use coflash_media::{Media, Slot};

/// The hook of the device's GC: the link, and the hook of the host's cache beyond it.
pub(super) struct AcrossLink<'a, H> {
    pub(super) wire: &'a mut Wire,
    pub(super) above: &'a mut H,
}

impl<H: GcHook> AcrossLink<'_, H> {
    /// The host's decision about one marked page.
    fn protect<M: Media>(&mut self, lpn: Lpn, media: &mut M) -> Decision {
        let Self { wire, above } = self;
        wire.asked += 1;
        wire.protected.pages += 1;
        let slot = above.cached_at(lpn).map(|slot| SlotId::new(slot.number));
        match slot.map(|slot| (slot, wire.said[slot].said)) {
            Some((slot, Said::Dirty)) => {
                wire.counters.protect_obsolete_pages += 1;
                // The pending notice is obsolete.
                if let Some(ticket) = wire.said[slot].last {
                    wire.to_device.withdraw(ticket);
                }
                Decision::Drop
            }
            Some((slot, Said::Clean)) => {
                // The scheme may prefer to keep the flash copy.
                let decision = above.decide(lpn, Marks::DEVICE, media);
                if decision == Decision::Drop {
                    wire.set(slot, Said::Dirty);
                } else {
                    // The device gives such pages full weight at once, without a notice. Otherwise it would
                    // pick them again and again.
                    wire.weights = Weights::all(Weight::FULL);
                    wire.weights_told = wire.weights;
                }
                decision
            }
            _ => {
                wire.protected.refused_pages += 1;
                Decision::CopyUnmarked
            }
        }
    }
}

impl<H: GcHook> GcHook for AcrossLink<'_, H> {
    #[inline]
    fn decide<M: Media>(&mut self, lpn: Lpn, marks: Marks, media: &mut M) -> Decision {
        if !marks.device {
            return Decision::COPY;
        }
        if self.wire.trusts_marks() {
            Decision::Drop
        } else if self.wire.grants {
            self.wire.counters.grants_used_pages += 1;
            self.wire.to_host.post(ToHost::Used(lpn), self.wire.now);
            Decision::Drop
        } else {
            self.protect(lpn, media)
        }
    }

    fn moved_in<M: Media>(&mut self, _: Lpn, _: Slot, _: &mut M) -> Lpn {
        unreachable!("no page moves into a slot across the link")
    }

    fn programmed_from(&mut self, _: Slot) {
        unreachable!("GC takes nothing from slots across the link")
    }

    #[inline(always)]
    fn moved<M: Media>(&mut self, _: &mut M) {}

    fn cached_at(&self, page: Lpn) -> Option<Slot> {
        self.above.cached_at(page)
    }

    fn copies_unmarked(&mut self, _: u32) -> bool {
        true
    }

    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        match self.wire.question_answered() {
            Some(time) => media.later(after, time),
            None => after,
        }
    }

    fn weights(&mut self) -> Weights {
        self.wire.weights
    }
}
