//! Cooperative data management, consistent states (Lee, Kim, Bahn & Noh, MSST 2016, section 4): after a crash every page
//! reads back as of the last commit.
//!
//! ```text
//! S0  flash valid, not cached
//! S1  flash removable, cached clean                             clean slot, mapped and marked
//! S2  flash valid = committed, cached dirty, not committed      pinned dirty slot, mapped
//! S3  no flash copy, cached and committed, write-protected      dirty slot, unmapped
//! S4  no flash copy, cached dirty, not committed                pinned dirty slot, unmapped; paired with
//! S5  the committed version of the same page, write-protected   detached dirty slot
//! ```
//!
//! A slot that holds something uncommitted is *pinned*: the eviction policy does not know of it. A page that was never
//! committed has an S4 without an S5. A deletion waits for its commit too: until then the committed version stays, in
//! flash or in a *condemned* slot (detached and pinned). How these move is in [`crate::consistent`].

use super::{CooperationScheme, GcAnswers};
use crate::config::CacheConfig;
use crate::consistent::nvm::{Epoch, Label, Layout};
use coflash_base::{Duration, IdVec, Lpn, Policy, Share, Time};
use coflash_cache::{Cache, List, SlotId};
use coflash_flash::Media;
use coflash_ftl::{Demands, Fate, Ftl, Marks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// Parameters of `cdm-consistent`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CdmConsistentConfig {
    /// Simulated time between commits; a host flush commits too.
    pub commit_interval: Duration,
    /// Checkpointing begins when free slots fall under this share of the cache.
    pub low_watermark: Share,
    /// Checkpointing goes on until this share is free.
    pub high_watermark: Share,
    /// Trims that can wait for their commit, from 1 to 65535; one more commits early.
    pub deletions_max: NonZeroU16,
}

impl Default for CdmConsistentConfig {
    fn default() -> Self {
        Self {
            commit_interval: Duration { ns: 5_000_000_000 },
            low_watermark: Share::percent(5),
            high_watermark: Share::percent(10),
            deletions_max: NonZeroU16::new(1024).expect("not zero"),
        }
    }
}

/// A deletion that is not committed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deletion {
    /// Its entry in non-volatile memory.
    pub(crate) entry: u32,
    /// The slot of the committed version, where that is not in flash.
    pub(crate) condemned: Option<SlotId>,
}

/// What consistency costs, in events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitTally {
    /// Commits by time, by flush, or early.
    pub commits: u64,
    /// Of those, commits because nothing could leave the cache, or no deletion could be noted.
    pub early_commits: u64,
    /// Pages programmed so that slots become free.
    pub checkpoints_pages: u64,
    /// Pages copied on write within the cache.
    pub copies_on_write_pages: u64,
}

/// See the top of the file.
#[derive(Clone)]
pub struct CdmConsistent {
    pub(crate) config: CdmConsistentConfig,
    pub(crate) layout: Layout,
    pub(crate) committed: Epoch,
    /// S2 and S4, the one used last at the front.
    pub(crate) uncommitted: List<SlotId>,
    /// The S5 of each S4.
    pub(crate) older: IdVec<SlotId, Option<SlotId>>,
    pub(crate) deletions: BTreeMap<Lpn, Deletion>,
    pub(crate) free_entries: Vec<u32>,
    /// The absence bits, as they lie in non-volatile memory.
    pub(crate) absent: Vec<u64>,
    pub(crate) next_commit: Time,
    pub(crate) tally: CommitTally,
}

impl Policy for CdmConsistent {
    type Config = CdmConsistentConfig;
    const SUMMARY: &'static str = "as cdm, and after a crash every page reads back as of the last commit";
    const SOURCE: &'static str = "Lee, Kim, Bahn & Noh, MSST 2016, section 4";
}

impl CdmConsistent {
    /// Enters the size of the device.
    pub(crate) fn fit(
        &mut self,
        logical_pages: u32,
        cache: &CacheConfig,
    ) -> Result<(), (&'static str, String)> {
        if self.layout.slots == 0 {
            return Err(("cache.size", "cdm-consistent needs a cache of at least one page".to_owned()));
        }
        if !cache.write_allocate {
            let problem = "false was given; with cdm-consistent every write goes through the cache, since what is written \
                           to flash is durable before its commit";
            return Err(("cache.write_allocate", problem.to_owned()));
        }
        let CdmConsistentConfig { low_watermark, high_watermark, .. } = self.config;
        for (key, mark) in
            [("cooperation.low_watermark", low_watermark), ("cooperation.high_watermark", high_watermark)]
        {
            if mark > Share::ONE {
                return Err((key, format!("{mark} was given; from 0% to 100% is allowed")));
            }
        }
        self.layout.logical_pages = logical_pages;
        self.absent = vec![0; logical_pages.div_ceil(64) as usize];
        Ok(())
    }

    /// The epoch of everything that is written now.
    pub(crate) fn epoch(&self) -> Epoch {
        self.committed.next()
    }

    pub(crate) fn label<M: Media>(&self, slot: SlotId, label: Label, media: &mut M) {
        media.store(self.layout.slot(slot.get()), label.encode());
    }

    /// Slots that make checkpointing begin, and end.
    pub(crate) fn watermarks(&self) -> (u32, u32) {
        let slots = u64::from(self.layout.slots);
        let low = (self.config.low_watermark.of(slots) as u32).max(2);
        (low, (self.config.high_watermark.of(slots) as u32).clamp(low + 1, self.layout.slots.max(low + 1)))
    }
}

impl GcAnswers for CdmConsistent {
    /// S1 → S3: the copy is protected, its data made durable before its label, and its label before the erase.
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache, media: &mut M) -> Fate {
        if !marks.device {
            return Fate::COPY;
        }
        let slot = cache.lookup(lpn).expect("a removable page is cached");
        media.fence();
        self.label(slot, Label::Data(lpn, self.committed), media);
        cache.orphan(slot);
        Fate::Drop
    }

    fn before_erase<M: Media>(&mut self, media: &mut M) {
        media.fence();
    }
}

impl CooperationScheme for CdmConsistent {
    fn new(config: &CdmConsistentConfig, slots: u32) -> Self {
        let deletions = config.deletions_max.get().into();
        Self {
            config: config.clone(),
            // The device's size is entered when the controller is built.
            layout: Layout { slots, deletions, logical_pages: 0 },
            committed: Epoch(0),
            uncommitted: List::new(slots),
            older: IdVec::filled(None, slots as usize),
            deletions: BTreeMap::new(),
            free_entries: (0..deletions).rev().collect(),
            absent: Vec::new(),
            next_commit: Time::ZERO + config.commit_interval,
            tally: CommitTally::default(),
        }
    }

    fn demands(&self) -> Demands {
        Demands::NONE
    }

    fn refuses(&self, volatile: bool) -> Option<(&'static str, String)> {
        volatile.then(|| super::needs_durable("cdm-consistent"))
    }

    fn heap_bytes(&self) -> usize {
        self.uncommitted.heap_bytes()
            + self.older.heap_bytes()
            + self.absent.capacity() * size_of::<u64>()
            + self.free_entries.capacity() * size_of::<u32>()
            // The nodes of a tree are half full at least.
            + 2 * self.deletions.len() * size_of::<(Lpn, Deletion)>()
    }

    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            let (dirty, pinned, detached) =
                (cache.is_dirty(slot), cache.is_pinned(slot), cache.is_detached(slot));
            let mapped = ftl.lookup(lpn).is_some();
            if !dirty {
                assert!(!pinned && !detached && ftl.is_marked(lpn), "{lpn:?} in S1: mapped and marked");
            } else if detached {
                assert!(!mapped, "{lpn:?} in S5, or condemned: no flash copy");
                let current = cache.lookup(lpn).and_then(|current| self.older[current]);
                let condemned = self.deletions.get(&lpn).and_then(|deletion| deletion.condemned);
                assert_eq!(
                    if pinned { condemned } else { current },
                    Some(slot),
                    "{lpn:?}: who holds {slot:?}"
                );
            } else if pinned {
                assert!(self.uncommitted.contains(slot), "{lpn:?} in S2 or S4: listed");
                assert!(
                    !mapped || self.older[slot].is_none(),
                    "{lpn:?} in S2: the committed version is in flash"
                );
                assert!(!ftl.is_marked(lpn), "{lpn:?} in S2: not removable");
            } else {
                assert!(!mapped, "{lpn:?} in S3: no flash copy");
            }
        }
        for lpn in ftl.mapped().filter(|&lpn| ftl.is_marked(lpn)) {
            assert!(
                cache.lookup(lpn).is_some_and(|slot| !cache.is_dirty(slot)),
                "{lpn:?} is removable: cached clean"
            );
        }
        let pinned =
            cache.occupied().filter(|&slot| cache.is_pinned(slot) && !cache.is_detached(slot)).count();
        assert_eq!(self.uncommitted.iter().count(), pinned, "uncommitted slots");
        for (&lpn, deletion) in &self.deletions {
            assert!(cache.lookup(lpn).is_none(), "{lpn:?} is deleted and not cached");
            assert!(
                deletion.condemned.is_some() || ftl.lookup(lpn).is_some(),
                "{lpn:?} is deleted: its committed version is in flash or condemned"
            );
        }
        let deletions = self.deletions.len() + self.free_entries.len();
        assert_eq!(deletions, self.layout.deletions as usize, "deletions noted and free");
        for lpn in ftl.mapped() {
            assert!(!self.is_absent(lpn), "{lpn:?} is noted as absent, and mapped");
        }
        for slot in self.older.ids().filter(|&slot| self.older[slot].is_some()) {
            assert!(self.uncommitted.contains(slot), "{slot:?} is no S4 and has an S5");
        }
    }
}
