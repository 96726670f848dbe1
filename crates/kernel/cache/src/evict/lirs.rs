//! LIRS: keep the pages with the shortest distance between their last two uses (S. Jiang & X. Zhang, "LIRS: An Efficient
//! Low Inter-reference Recency Set Replacement Policy to Improve Buffer Cache Performance", SIGMETRICS 2002).
//!
//! Most of the cache holds LIR pages: their last two uses were close together. The rest is a queue of HIR
//! pages; the first in the queue is evicted. The stack has the pages in order of their last use; the bottom
//! one is always an LIR page. A page used again while it is in the stack becomes an LIR page, and the LIR
//! page at the bottom becomes an HIR page. Evicted HIR pages stay in the stack as ghosts; HIR pages below the
//! last LIR page leave it.
//!
//! Our choices where the paper leaves them open: the stack has at most twice as many entries as the cache has
//! pages; beyond that, the entry of the page evicted longest ago is removed. Without an HIR page the LIR page
//! at the bottom is evicted, and leaves no ghost. Every hook is O(1) amortised; 59 bytes per slot and 4 per
//! logical page.

use super::EvictionPolicy;
use crate::ghosts::{Ghost, Ghosts};
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, List, Lpn, Policy, Save, Share, id_type};

coflash_base::config! {
    /// Parameters of `lirs`.
    #[derive(Copy)]
    pub struct LirsConfig {
        /// The part of the cache for HIR pages as a share of it, at least a page.
        pub hir_share: Share = Share::percent(1),
    }
}

id_type!(
    /// An entry of the stack: a slot, or a ghost after all slots.
    Entry
);

/// The LIRS policy.
#[derive(Clone, Save)]
pub struct Lirs {
    slots: u32,
    /// The page used last in front.
    stack: List<Entry>,
    stack_len: u32,
    /// Cached HIR pages; the next to leave at the back.
    queue: List<SlotId>,
    is_lir: IdVec<SlotId, bool>,
    lir_len: u32,
    lir_max: u32,
    /// Evicted pages that are in the stack.
    ghosts: Ghosts,
    named: Option<SlotId>,
}

impl Lirs {
    #[inline]
    fn entry(slot: SlotId) -> Entry {
        Entry::new(slot.get())
    }

    #[inline]
    fn ghost_entry(&self, ghost: Ghost) -> Entry {
        Entry::new(self.slots + ghost.get())
    }

    #[inline]
    fn push(&mut self, slot: SlotId) {
        self.stack.push_front(Self::entry(slot));
        self.stack_len += 1;
    }

    #[inline]
    fn unstack(&mut self, entry: Entry) {
        self.stack.remove(entry);
        self.stack_len -= 1;
    }

    fn forget(&mut self, ghost: Ghost) {
        self.unstack(self.ghost_entry(ghost));
        self.ghosts.forget(ghost);
    }

    /// Remove the pages below the last LIR page; all pages if there is none.
    fn prune(&mut self) {
        while let Some(bottom) = self.stack.back() {
            if let Some(ghost) = bottom.get().checked_sub(self.slots) {
                self.forget(Ghost::new(ghost));
            } else if self.is_lir[SlotId::new(bottom.get())] {
                break;
            } else {
                self.unstack(bottom);
            }
        }
    }

    /// Cut the stack to its size.
    fn bound(&mut self) {
        self.prune();
        while self.stack_len > 2 * self.slots
            && let Some(ghost) = self.ghosts.oldest(0)
        {
            self.forget(ghost);
        }
    }

    /// Make an LIR page of a page that is in neither stack nor queue, and an HIR page of another if there are too many.
    fn promote(&mut self, slot: SlotId) {
        self.push(slot);
        self.is_lir[slot] = true;
        self.lir_len += 1;
        if self.lir_len > self.lir_max {
            let bottom = self.stack.back().expect("an LIR page is in the stack");
            let demoted = SlotId::new(bottom.get());
            self.is_lir[demoted] = false;
            self.lir_len -= 1;
            self.unstack(bottom);
            self.queue.push_front(demoted);
        }
    }

    /// Have an HIR page that is evicted stay in the stack.
    fn leave_ghost(&mut self, slot: SlotId, lpn: Lpn) {
        if let Some(older) = self.ghosts.find(lpn) {
            self.forget(older);
        }
        if self.ghosts.is_full() {
            let oldest = self.ghosts.oldest(0).expect("a full list has one");
            self.forget(oldest);
        }
        let ghost = self.ghosts.remember(0, lpn);
        self.stack.insert_before(Self::entry(slot), self.ghost_entry(ghost));
        self.stack_len += 1;
    }
}

impl Policy for Lirs {
    type Config = LirsConfig;
    const SUMMARY: &'static str = "Keeps the pages whose last two uses were closest together.";
    const SOURCE: &'static str = "Jiang & Zhang, SIGMETRICS 2002";
    const NEEDS: &'static str = "59 B a slot, 4 B a logical page";
}

impl EvictionPolicy for Lirs {
    fn new(config: &LirsConfig, shape: CacheShape) -> Self {
        let slots = shape.slots;
        let hir = config.hir_share.part_of(u64::from(slots)).max(1).min(u64::from(slots)) as u32;
        Self {
            slots,
            stack: List::new(3 * slots),
            stack_len: 0,
            queue: List::new(slots),
            is_lir: IdVec::filled(false, slots as usize),
            lir_len: 0,
            lir_max: slots - hir,
            ghosts: Ghosts::new(1, 2 * slots, shape),
            named: None,
        }
    }

    #[inline]
    fn arriving(&mut self, lpn: Lpn) {
        if let Some(ghost) = self.ghosts.find(lpn) {
            self.unstack(self.ghost_entry(ghost));
        }
        self.ghosts.arriving(lpn);
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let lpn = table.page_of(slot);
        self.arriving(lpn);
        if self.ghosts.arrived(lpn).is_some() || self.lir_len < self.lir_max {
            self.promote(slot);
        } else {
            self.push(slot);
            self.queue.push_front(slot);
        }
        self.bound();
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, _: &SlotTable) {
        let entry = Self::entry(slot);
        if self.is_lir[slot] {
            self.stack.move_to_front(entry);
        } else if self.stack.contains(entry) {
            self.unstack(entry);
            self.queue.remove(slot);
            self.promote(slot);
        } else {
            self.queue.move_to_front(slot);
            self.push(slot);
        }
        self.bound();
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        let is_evicted = self.named.take() == Some(slot);
        let entry = Self::entry(slot);
        if self.is_lir[slot] {
            self.is_lir[slot] = false;
            self.lir_len -= 1;
            self.unstack(entry);
            self.prune();
            return;
        }
        self.queue.remove(slot);
        if self.stack.contains(entry) {
            if is_evicted {
                self.leave_ghost(slot, table.page_of(slot));
            }
            self.unstack(entry);
        }
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        let lowest = || self.stack.back().map(|bottom| SlotId::new(bottom.get()));
        self.named = self.queue.back().or_else(lowest);
        self.named
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.queue.iter().for_each(&mut *show);
        self.is_lir.ids().filter(|&slot| self.is_lir[slot]).for_each(show);
    }
}
