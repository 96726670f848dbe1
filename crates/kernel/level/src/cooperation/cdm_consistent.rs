//! Cooperative data management, consistent states (Lee, Kim, Bahn & Noh, MSST 2016, section 4): after a crash every
//! page reads back as of the last commit.
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
//! A slot with uncommitted data is *pinned*: the eviction policy does not see it. A clean slot on *standby*
//! is pinned, too. A page that was never committed has an S4 without an S5. A deletion also waits for its
//! commit: until then the committed version stays in flash or in a *condemned* slot (detached and pinned).
//! The transitions are in `consistent`.

use super::standby::Standby;
use super::{CooperationScheme, Event, Scheme, Setting};
use crate::cooperates::{Cached, Cooperates};
use coflash_base::measure::Report;
use coflash_base::{Duration, IdVec, List, Lpn, Misfit, Policy, Share, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Decision, Ftl, Marks, Requirements};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// Parameters of `cdm-consistent`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CdmConsistentConfig {
    /// Simulated time between commits. A flush by the host commits, too.
    pub commit_interval: Duration,
    /// Checkpointing begins when fewer slots than this share of the cache are free, or hold clean pages about to leave.
    pub low_watermark: Share,
    /// Checkpointing ends when this share of the cache is free, or holds clean pages about to leave.
    pub high_watermark: Share,
    /// The number of trims that can wait for their commit, from 1 to 65535. One more causes an early commit.
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

/// An uncommitted deletion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deletion {
    /// The entry in non-volatile memory.
    pub(crate) entry: u32,
    /// The slot of the committed version, if it is not in flash.
    pub(crate) condemned: Option<SlotId>,
}

coflash_base::measures! {
    /// Commits and checkpoints. After a power cut every page reads back as of the last commit.
    pub struct CommitCounters in "consistency", "Crash consistency" {
        /// Commits: periodic, by a flush, or early.
        commits: u64, "commits";
        /// Early commits, because no page could be evicted or no deletion could be recorded.
        early_commits: u64, "early commits";
        /// Committed pages programmed so that their slots can be used again.
        checkpoints_pages: u64, "pages programmed so that slots become free", pages;
        /// Writes to a new slot because the committed version of the page was write-protected.
        copies_on_write_pages: u64, "pages copied on write within the cache", pages;
    }
}

/// See the top of the file.
#[derive(Clone)]
pub struct CdmConsistent {
    pub(crate) config: CdmConsistentConfig,
    slots: u32,
    /// Whether clean copies are write-protected from the start, since flash may drop their pages without asking.
    pub(crate) protects_ahead: bool,
    /// Slots in S2 and S4, the most recently used at the front.
    pub(crate) uncommitted: List<SlotId>,
    /// Slots in S1 on standby, next to be evicted.
    pub(crate) standby: Standby,
    /// The slot of the S5 that belongs to each S4.
    pub(crate) older: IdVec<SlotId, Option<SlotId>>,
    pub(crate) deletions: BTreeMap<Lpn, Deletion>,
    pub(crate) free_entries: Vec<u32>,
    pub(crate) next_commit: Time,
    pub(crate) counters: CommitCounters,
}

impl Policy for CdmConsistent {
    type Config = CdmConsistentConfig;
    const SUMMARY: &'static str = "As cdm, and after a crash every page reads back as of the last commit.";
    const SOURCE: &'static str = "Lee, Kim, Bahn & Noh, MSST 2016, section 4";
}

impl CdmConsistent {
    /// The number of deletions that can wait for their commit.
    pub(crate) fn deletions_max(&self) -> u32 {
        self.config.deletions_max.get().into()
    }

    /// S1 → S3: flash has dropped the page of a protected copy.
    pub(crate) fn orphan(&mut self, slot: SlotId, cache: &mut Cache) {
        self.leave_standby(slot, cache);
        cache.orphan(slot);
    }

    /// If a slot is on standby, show it to the eviction policy again like a new page. Returns whether it was.
    pub(crate) fn leave_standby(&mut self, slot: SlotId, cache: &mut Cache) -> bool {
        let stood_by = self.standby.remove(slot);
        if stood_by {
            cache.unpin(slot);
        }
        stood_by
    }

    /// The numbers of slots ready for new pages at which checkpointing begins and ends.
    pub(crate) fn watermarks(&self) -> (u32, u32) {
        let slots = u64::from(self.slots);
        let low = (self.config.low_watermark.of(slots) as u32).max(2);
        (low, (self.config.high_watermark.of(slots) as u32).clamp(low + 1, self.slots.max(low + 1)))
    }
}

impl CooperationScheme for CdmConsistent {
    fn requirements(_: &CdmConsistentConfig) -> Requirements {
        Requirements::NONE
    }

    fn new(config: &CdmConsistentConfig, setting: &Setting) -> Result<Self, Misfit> {
        let slots = setting.slots;
        if setting.is_volatile {
            return Err(super::needs_durable("cdm-consistent"));
        }
        if slots == 0 {
            return Err(Misfit::new("cache.size", "cdm-consistent needs a cache of at least one page"));
        }
        if !setting.write_allocate {
            let problem = "false was given; with cdm-consistent every write goes through the cache, since what is written \
                           to flash is durable before its commit";
            return Err(Misfit::new("cache.write_allocate", problem));
        }
        for (key, mark) in [
            ("cooperation.low_watermark", config.low_watermark),
            ("cooperation.high_watermark", config.high_watermark),
        ] {
            if mark > Share::ONE {
                return Err(Misfit::out_of_range(key, mark, "from 0% to 100%"));
            }
        }
        Ok(Self {
            config: config.clone(),
            slots,
            protects_ahead: setting.grants,
            uncommitted: List::new(slots),
            standby: Standby::new(slots),
            older: IdVec::filled(None, slots as usize),
            deletions: BTreeMap::new(),
            free_entries: (0..config.deletions_max.get().into()).rev().collect(),
            next_commit: Time::ZERO + config.commit_interval,
            counters: CommitCounters::default(),
        })
    }
}

impl Scheme for CdmConsistent {
    /// S1 → S3.
    fn decide(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache) -> Decision {
        if !marks.device {
            return Decision::COPY;
        }
        let slot = cache.lookup(lpn).expect("a removable page is cached");
        self.orphan(slot, cache);
        Decision::Drop
    }

    /// Nothing: its cache, `Consistent`, has a path of its own.
    fn happened<B: Cooperates>(&mut self, _: Event, _: Cached, _: &mut Cache, _: &mut B) {}

    fn report(&self, report: &mut Report) {
        report.add(&self.counters);
    }

    fn heap_bytes(&self) -> usize {
        self.uncommitted.heap_bytes()
            + self.standby.heap_bytes()
            + self.older.heap_bytes()
            + self.free_entries.capacity() * size_of::<u32>()
            // The nodes of a tree are half full at least.
            + 2 * self.deletions.len() * size_of::<(Lpn, Deletion)>()
    }

    /// Check the map; `assert_cache` has checked the rest.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
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
}

impl CdmConsistent {
    /// Panic unless cache and scheme agree. For tests.
    pub(crate) fn assert_cache(&self, cache: &Cache) {
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
        assert_eq!(self.standby.len(), clean, "the count of slots that stand by");
        assert!(
            self.deletions.keys().all(|&lpn| cache.lookup(lpn).is_none()),
            "a deleted page is not cached"
        );
        let deletions = self.deletions.len() + self.free_entries.len();
        assert_eq!(deletions, self.deletions_max() as usize, "deletions noted and free");
        for slot in self.older.ids().filter(|&slot| self.older[slot].is_some()) {
            assert!(self.uncommitted.contains(slot), "{slot:?} is no S4 and has an S5");
        }
    }
}
