//! The contents of a cache's words: labels of slots, absence bits, the committed epoch; and the number of
//! stores.

use super::{Epoch, Label, Layout};
use crate::cooperates::Cached;
use coflash_base::{Duration, Lpn, Save};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::Ftl;
use coflash_media::Nvm;

coflash_base::measures! {
    /// The metadata of a device's cache and of its trims, which recovery after a power cut reads. Each store is of 8 bytes.
    pub struct MetadataCounters in "metadata", "Metadata in non-volatile memory" {
        /// Stores of labels of slots, bits of trimmed pages, and commits.
        stores: u64, "stores of metadata", cost, rare;
        /// Fences: data and metadata stored before are durable before what is stored after.
        fences: u64, "fences", cost, rare;
    }
}

/// The metadata of a cache in non-volatile memory.
///
/// Without commits, a label of data says that after a restart the valid version of the page is in the slot, not in flash. The
/// data in the slot is durable before its label; the version in flash is given up after it. A slot is used
/// again only when its label is durably free.
///
/// With commits, a slot has a durable label before its data is touched, of the uncommitted epoch: a crash in between leaves a
/// void label.
#[derive(Clone, Default, Save)]
pub(crate) struct Metadata {
    pub(crate) layout: Layout,
    pub(crate) committed: Epoch,
    /// The absence bits.
    pub(super) absent: Vec<u64>,
    pub(super) absent_pages: u32,
    /// Slots whose data GC has programmed; their labels go when its victim is erased.
    moving: Vec<SlotId>,
    /// Whether an answer must wait for stores since the last fence.
    unfenced: bool,
    /// Whether clean copies are labelled as data from the start, since flash may drop their pages without asking.
    pub(crate) protects_ahead: bool,
    fence: Duration,
    /// The fences of the current request.
    fences: u64,
    pub(crate) counters: MetadataCounters,
}

impl Metadata {
    /// Begin with words of zeros; a fence takes `fence`. `grants`: whether flash may drop pages without asking.
    pub(crate) fn new(layout: Layout, grants: bool, fence: Duration) -> Self {
        Self {
            layout,
            absent: vec![0; layout.logical_pages.div_ceil(64) as usize],
            protects_ahead: layout.has_commits() && grants,
            fence,
            ..Self::default()
        }
    }

    /// The epoch of current writes.
    pub(crate) fn epoch(&self) -> Epoch {
        self.committed.next()
    }

    #[inline]
    pub(crate) fn store<M: Nvm>(&mut self, word: u32, value: u64, media: &mut M) {
        self.counters.stores += 1;
        self.unfenced = true;
        media.store(word, value);
    }

    #[inline]
    pub(crate) fn fence<M: Nvm>(&mut self, media: &mut M) {
        self.counters.fences += 1;
        self.fences += 1;
        self.unfenced = false;
        media.fence();
    }

    /// Begin a request: it does not wait for the fences of background work before it.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.fences = 0;
    }

    /// The time of the fences of the current request.
    #[inline]
    pub(crate) fn fenced(&self) -> Duration {
        self.fence * self.fences
    }

    /// Make all stores durable, if there were any.
    #[inline(always)]
    pub(crate) fn settle<M: Nvm>(&mut self, media: &mut M) {
        if self.unfenced {
            self.fence(media);
        }
    }

    /// Label a slot.
    #[inline]
    pub(crate) fn label<M: Nvm>(&mut self, slot: SlotId, label: Label, media: &mut M) {
        self.store(self.layout.slot(slot.get()), label.encode(), media);
    }

    /// Label a slot that the data of flash will fill.
    #[inline(always)]
    pub(crate) fn filling<M: Nvm>(&mut self, page: Cached, media: &mut M) {
        if self.layout.has_commits() {
            self.label(page.slot, Label::Clean(page.lpn), media);
            self.fence(media);
        }
    }

    /// Label a slot that holds the data of flash, before flash may drop its page without asking.
    #[inline(always)]
    pub(crate) fn filled<M: Nvm>(&mut self, page: Cached, media: &mut M) {
        if self.protects_ahead {
            self.protect(page, media);
            self.fence(media);
        }
    }

    /// Label a slot that the host's data will fill or change: it is uncommitted.
    #[inline(always)]
    pub(crate) fn writing<M: Nvm>(&mut self, page: Cached, is_new: bool, media: &mut M) {
        if self.layout.has_commits() {
            self.label(page.slot, Label::Data(page.lpn, self.epoch()), media);
            // Otherwise both labels that the slot may have after a crash are void.
            if is_new || self.protects_ahead {
                self.fence(media);
            }
        }
    }

    /// Label the data in a slot as the committed version of its page. The label is durable at the next fence.
    #[inline]
    pub(crate) fn protect<M: Nvm>(&mut self, page: Cached, media: &mut M) {
        if self.layout.slots > 0 {
            self.fence(media);
            self.label(page.slot, Label::Data(page.lpn, self.committed), media);
        }
    }

    /// Make the data that the host has just written to a slot durable: at once for a new label, since flash
    /// may then give up its version; otherwise before the answer. With commits it is durable from its commit on.
    #[inline]
    pub(crate) fn written<M: Nvm>(&mut self, page: Cached, is_labelled: bool, media: &mut M) {
        if self.layout.has_commits() {
            return;
        }
        if is_labelled {
            self.unfenced |= self.layout.slots > 0;
        } else {
            self.protect(page, media);
            self.settle(media);
        }
    }

    /// Free the label of a slot after its data is durable elsewhere, or trimmed.
    #[inline]
    pub(crate) fn free<M: Nvm>(&mut self, slot: SlotId, media: &mut M) {
        if self.layout.slots > 0 {
            self.settle(media);
            self.label(slot, Label::Free, media);
            self.fence(media);
        }
    }

    /// Commit all writes so far, at one moment.
    pub(crate) fn commit<M: Nvm>(&mut self, media: &mut M) {
        self.fence(media);
        self.set_committed(self.epoch(), media);
    }

    fn set_committed<M: Nvm>(&mut self, epoch: Epoch, media: &mut M) {
        self.committed = epoch;
        self.store(Layout::COMMITTED, epoch.0.into(), media);
        self.fence(media);
    }

    /// Reset all committed slots to the first epoch when epochs have run out. No data is uncommitted at that moment.
    pub(crate) fn renumber_if_last<M: Nvm>(&mut self, cache: &Cache, media: &mut M) {
        if self.committed < Epoch::MAX {
            return;
        }
        // The commit has erased all older versions, so no label of an earlier epoch is ambiguous.
        for slot in cache.occupied() {
            if cache.is_dirty(slot) || self.protects_ahead {
                self.label(slot, Label::Data(cache.page_of(slot), Epoch(0)), media);
            }
        }
        self.fence(media);
        self.set_committed(Epoch(0), media);
    }

    /// Note that the data of a slot was written below. With commits the slot is emptied next, or labelled as clean.
    #[inline]
    pub(crate) fn written_out<M: Nvm>(&mut self, slot: SlotId, media: &mut M) {
        if self.layout.has_commits() {
            self.fence(media);
        } else {
            self.free(slot, media);
        }
    }

    /// Note that GC has programmed the data of a slot. Recovery may void the copies of a victim that is not erased yet, and
    /// takes its older pages: only the label tells that they are old.
    pub(crate) fn moving(&mut self, slot: SlotId) {
        self.moving.push(slot);
    }

    /// Free the labels of the slots whose data GC has programmed: its victim is erased.
    #[inline(always)]
    pub(crate) fn free_moved<M: Nvm>(&mut self, media: &mut M) {
        if !self.moving.is_empty() {
            self.free_each_moved(media);
        }
    }

    #[inline(never)]
    fn free_each_moved<M: Nvm>(&mut self, media: &mut M) {
        while let Some(slot) = self.moving.pop() {
            self.free(slot, media);
        }
    }

    /// Whether a page is absent, regardless of flash.
    pub(crate) fn is_absent(&self, lpn: Lpn) -> bool {
        self.absent.get((lpn.get() / 64) as usize).is_some_and(|bits| bits >> (lpn.get() % 64) & 1 == 1)
    }

    /// Note that a page was trimmed. The note is durable at the next fence.
    pub(crate) fn trimmed<M: Nvm>(&mut self, lpn: Lpn, media: &mut M) {
        if lpn.get() < self.layout.logical_pages && !self.is_absent(lpn) {
            self.absent_pages += 1;
            self.flip(lpn, media);
        }
    }

    /// Note that a page is in flash. The note is durable at the next fence.
    #[inline(always)]
    pub(crate) fn programmed<M: Nvm>(&mut self, lpn: Lpn, media: &mut M) {
        if self.absent_pages > 0 && self.is_absent(lpn) {
            self.absent_pages -= 1;
            self.flip(lpn, media);
        }
    }

    fn flip<M: Nvm>(&mut self, lpn: Lpn, media: &mut M) {
        *self.bits_mut(lpn) ^= 1 << (lpn.get() % 64);
        self.store_absence(lpn, media);
    }

    /// The word with the absence bit of a page.
    pub(super) fn bits_mut(&mut self, lpn: Lpn) -> &mut u64 {
        &mut self.absent[(lpn.get() / 64) as usize]
    }

    pub(super) fn store_absence<M: Nvm>(&mut self, lpn: Lpn, media: &mut M) {
        let ((word, _), bits) = (self.layout.absence(lpn), *self.bits_mut(lpn));
        self.store(word, bits, media);
    }

    /// Panic unless flash holds no absent page. For tests.
    pub(crate) fn assert_agrees(&self, ftl: &Ftl) {
        for lpn in ftl.mapped() {
            assert!(!self.is_absent(lpn), "{lpn:?} is noted as absent, and mapped");
        }
        let absent: u32 = self.absent.iter().map(|bits| bits.count_ones()).sum();
        assert_eq!(absent, self.absent_pages, "absent pages");
    }
}
