//! What makes a cache crash-consistent (`cdm-consistent`), in the device or in the host: writes are durable from their commit on.
//!
//! | state | event | → | what happens |
//! |---|---|---|---|
//! | S0 | read, write | S1, S2 | cached; on a write the flash page stays valid as the committed version |
//! | S1 | write | S2 | in place; the flash page is valid again |
//! | S1 | GC erases its block | S3 | protect first, then erase |
//! | S1 | eviction | S0 | discard |
//! | S2, S4 | write | same | in place |
//! | S2 | GC | S2 | the flash page is copied |
//! | S2 | commit | S3 | protect, then the flash page is invalid; no I/O |
//! | S3 | write | S4 + S5 | copy on write into a new slot |
//! | S3 | checkpoint | S1 | programmed; the copy stays cached as a clean one |
//! | S4 + S5 | commit | S3 | S5's slot is free |
//! | S4 + S5 | checkpoint | S2 | S5's data is programmed and its slot is free |
//! | any | trim | deleted | an uncommitted deletion; the committed version goes at the commit |
//!
//! **Room.** The pages next in the order of eviction are checkpointed in advance, between the watermarks, and
//! stand by: they are clean, and leave at no cost when a slot is needed. A page used in the meantime leaves
//! the standby list.
//!
//! **Order.** Before its data is touched, a slot gets a durable label with its new page and the uncommitted
//! epoch: a crash in between leaves a void label. (The label of a clean page is void already; that of a
//! checkpointed page is made void, durably.) A commit makes everything durable, then stores one word, the
//! committed epoch: this is the atomic switch for all pages. A slot is freed only after its replacement is
//! durable.
//!
//! **Across a link** the slots, their labels and the committed epoch are in the host's memory, flash is in
//! the device, and either may lose power alone. The host first changes its memory, durably, and then sends
//! the message. So every message but two may be late or lost:
//!
//! | event | what crosses | who waits | late or lost |
//! |---|---|---|---|
//! | → S1 | *cached* | nobody; under grants the copy is protected before | GC copies the page |
//! | S1 → S2, S0 | *evicted*; under grants a revocation before | the slot, for the revocation | GC asks and is refused |
//! | GC meets S1, by request | question; protect; answer | the erase, for the answer | without an answer GC copies |
//! | GC meets S1, by grant | *used* | nobody | the revocation says it again |
//! | S2 → S3 | *dirtied* | the next checkpoint of the page | GC copies the page |
//! | S3, S4 + S5, checkpoint | the write; its completion | the slot, for the completion | the page stays in S3 |
//! | a deletion is committed | the trim | nobody | `connect` repeats it |
//!
//! The two are answers that change a side's state: to GC's question and to the revocation. *Dirtied* must not
//! be overtaken by the next write of its page, or it would invalidate the new data: [`crate::Linked`]
//! withdraws it or waits.
//!
//! | loses power | gone | done by `WriteBack::connect` |
//! |---|---|---|
//! | the host | S1, S2, S4; messages not yet sent | marks are cleared; pages in S3 are invalidated, absent ones trimmed |
//! | the device | marks, invalidations and trims; older versions may be mapped again | the same; pages in S1 are marked again; a granted one is in S3, since its page may be erased |
//! | both | both | both |

use super::standby::Standby;
use crate::cooperation::{CdmConsistentConfig, CommitCounters};
use coflash_base::{Duration, IdVec, List, Lpn, Save, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::Ftl;
use std::collections::BTreeMap;

/// An uncommitted deletion.
#[derive(Clone, Copy, Debug, Save)]
pub(super) struct Deletion {
    /// The entry in non-volatile memory.
    pub(super) entry: u32,
    /// The slot of the committed version, if it is not in flash.
    pub(super) condemned: Option<SlotId>,
}

/// The versions that wait for their commit, and the pages on standby. A plain cache has none.
#[derive(Clone, Save)]
pub(super) struct Consistency {
    commit_interval: Duration,
    next_commit: Time,
    /// The numbers of slots ready for new pages at which checkpointing begins and ends.
    pub(super) watermarks: (u32, u32),
    /// Slots in S2 and S4, the most recently used at the front.
    pub(super) uncommitted: List<SlotId>,
    /// Slots in S1 on standby, next to be evicted.
    pub(super) standby: Standby,
    /// The slot of the S5 that belongs to each S4.
    pub(super) older: IdVec<SlotId, Option<SlotId>>,
    pub(super) deletions: BTreeMap<Lpn, Deletion>,
    pub(super) free_entries: Vec<u32>,
    pub(super) counters: CommitCounters,
}

impl Consistency {
    pub(super) fn new(config: &CdmConsistentConfig, slots: u32) -> Self {
        let low = (config.low_watermark.part_of(slots.into()) as u32).max(2);
        let high = (config.high_watermark.part_of(slots.into()) as u32).clamp(low + 1, slots.max(low + 1));
        Self {
            commit_interval: config.commit_interval,
            next_commit: Time::ZERO + config.commit_interval,
            watermarks: (low, high),
            uncommitted: List::new(slots),
            standby: Standby::new(slots),
            older: IdVec::filled(None, slots as usize),
            deletions: BTreeMap::new(),
            free_entries: (0..config.deletions_max.get().into()).rev().collect(),
            counters: CommitCounters::default(),
        }
    }

    /// Whether a commit is due. Then the next one is an interval later.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        let is_due = now >= self.next_commit;
        if is_due {
            let interval = self.commit_interval.ns.max(1);
            self.next_commit = Time { ns: (now.ns / interval).saturating_add(1).saturating_mul(interval) };
        }
        is_due
    }

    /// If a slot is on standby, show it to the eviction policy again like a new page. Returns whether it was.
    pub(super) fn leave_standby(&mut self, slot: SlotId, cache: &mut Cache) -> bool {
        let stood_by = self.standby.remove(slot);
        if stood_by {
            cache.unpin(slot);
        }
        stood_by
    }

    /// Note a use of the page in a slot.
    #[inline(never)]
    pub(super) fn touch(&mut self, slot: SlotId, cache: &mut Cache) {
        if self.uncommitted.contains(slot) {
            self.uncommitted.move_to_front(slot);
        } else if !self.leave_standby(slot, cache) {
            cache.touch(slot);
        }
    }

    /// Forget a slot that is about to be emptied.
    pub(super) fn forget(&mut self, slot: SlotId) {
        self.standby.remove(slot);
        if self.uncommitted.contains(slot) {
            self.uncommitted.remove(slot);
        }
    }

    /// Add a version that is not committed.
    /// Whether all writes and trims so far are durable.
    pub(super) fn is_committed(&self) -> bool {
        self.uncommitted.front().is_none() && self.deletions.is_empty()
    }

    pub(super) fn add_uncommitted(&mut self, slot: SlotId, cache: &mut Cache) {
        cache.pin(slot);
        self.uncommitted.push_front(slot);
    }

    /// Panic unless the states agree with flash. For tests; [`assert_cache`](Self::assert_cache) checks the rest.
    pub(super) fn assert_agrees(&self, cache: &Cache, ftl: &Ftl) {
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            let mapped = ftl.lookup(lpn).is_some();
            if !cache.is_dirty(slot) {
                assert!(ftl.is_marked(lpn), "{lpn:?} in S1: mapped and marked");
            } else if cache.is_detached(slot) {
                assert!(!mapped, "{lpn:?} in S5, or condemned: no flash copy");
            } else if cache.is_pinned(slot) {
                let is_s2 = !mapped || self.older[slot].is_none();
                assert!(is_s2, "{lpn:?} in S2: the committed version is in flash");
                assert!(!ftl.is_marked(lpn), "{lpn:?} in S2: not removable");
            } else {
                assert!(!mapped, "{lpn:?} in S3: no flash copy");
            }
        }
        for lpn in ftl.mapped() {
            let is_clean = cache.lookup(lpn).is_some_and(|slot| !cache.is_dirty(slot));
            assert!(is_clean || !ftl.is_marked(lpn), "{lpn:?} is removable: cached clean");
        }
        for (&lpn, deletion) in &self.deletions {
            assert!(
                deletion.condemned.is_some() || ftl.lookup(lpn).is_some(),
                "{lpn:?} is deleted: its committed version is in flash or condemned"
            );
        }
    }

    /// Panic unless cache and commits agree, with entries for this many deletions. For tests.
    pub(super) fn assert_cache(&self, cache: &Cache, entries: u32) {
        let (mut uncommitted, mut clean) = (0, 0);
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            let (dirty, pinned, detached) =
                (cache.is_dirty(slot), cache.is_pinned(slot), cache.is_detached(slot));
            if !dirty {
                assert!(!detached, "{lpn:?} in S1: found by lookups");
                assert_eq!(pinned, self.standby.contains(slot), "{lpn:?} in S1: who has pinned it");
                clean += u32::from(pinned);
            } else if detached {
                let current = cache.lookup(lpn).and_then(|current| self.older[current]);
                let condemned = self.deletions.get(&lpn).and_then(|deletion| deletion.condemned);
                let holder = if pinned { condemned } else { current };
                assert_eq!(holder, Some(slot), "{lpn:?}: who holds {slot:?}");
            } else if pinned {
                assert!(self.uncommitted.contains(slot), "{lpn:?} in S2 or S4: listed");
                uncommitted += 1;
            }
        }
        assert_eq!(self.uncommitted.iter().count(), uncommitted, "uncommitted slots");
        assert_eq!(self.standby.iter().count() as u32, clean, "slots that stand by");
        assert_eq!(self.standby.len, clean, "the count of slots that stand by");
        assert!(
            self.deletions.keys().all(|&lpn| cache.lookup(lpn).is_none()),
            "a deleted page is not cached"
        );
        let deletions = self.deletions.len() + self.free_entries.len();
        assert_eq!(deletions, entries as usize, "deletions noted and free");
        for slot in self.older.ids().filter(|&slot| self.older[slot].is_some()) {
            assert!(self.uncommitted.contains(slot), "{slot:?} is no S4 and has an S5");
        }
    }
}

/// Make a clean copy an orphan: flash has dropped its page.
#[inline(always)]
pub(super) fn orphan(slot: SlotId, consistency: &mut Option<Consistency>, cache: &mut Cache) {
    if let Some(consistency) = consistency {
        consistency.leave_standby(slot, cache);
    }
    cache.orphan(slot);
}
