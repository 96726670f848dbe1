//! Eviction policies from outside coflash: in Python, or in a crate that uses this one.
//!
//! They speak of pages, not of slots. Beside the policy's own memory: 8 bytes per slot and 4 per logical page.

use super::EvictionPolicy;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::external::Asked;
use coflash_base::{ExternalConfig, IdVec, Index, List, Lpn, Policy, Save};

/// An eviction policy from outside.
///
/// The life of a page: `insert`, then any number of `hit`, then `remove`. A page that becomes dirty or clean in between
/// is reported by `flag`. Pages that cannot be evicted for a while are removed and inserted again.
pub trait ExternalEviction: dyn_clone::DynClone + Send + Sync {
    /// A page that is not cached is about to be inserted, and [`evict`](Self::evict) is asked to make room for it. Not called
    /// where there is room, nor for evictions ahead of need.
    fn arrive(&mut self, page: Lpn) {
        let _ = page;
    }

    /// A page was inserted: its first use.
    fn insert(&mut self, page: Lpn, dirty: bool);

    /// A page was used again.
    fn hit(&mut self, page: Lpn);

    /// A page became dirty or clean.
    fn flag(&mut self, page: Lpn, dirty: bool);

    /// A page leaves: it was evicted or trimmed.
    fn remove(&mut self, page: Lpn);

    /// Name the page to evict next, one of those inserted and not removed; there is at least one. `remove` follows if it is
    /// evicted. `None` if the policy has failed: then, and from then on, the page inserted first is evicted.
    fn evict(&mut self) -> Option<Lpn>;

    /// The last answer cannot be used; it counts as a failure.
    fn refused(&mut self, problem: &str) {
        panic!("{problem}");
    }
}

dyn_clone::clone_trait_object!(ExternalEviction);

/// Creates the policy of a cache.
pub type MakeEviction = dyn Fn(CacheShape) -> Box<dyn ExternalEviction> + Send + Sync;

/// A policy from outside, and the slots that it may evict.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct ExternalEvictor {
    policy: Asked<dyn ExternalEviction>,
    slots: List<SlotId>,
    slot_of: IdVec<Lpn, Option<SlotId>>,
    /// The answer of the policy, up to the next change.
    victim: Option<SlotId>,
}

impl Policy for ExternalEvictor {
    type Config = ExternalConfig<MakeEviction>;
    const SUMMARY: &'static str = "The choice of code that is no part of coflash.";
    const SOURCE: &'static str = "the user's";
}

impl EvictionPolicy for ExternalEvictor {
    fn new(config: &ExternalConfig<MakeEviction>, shape: CacheShape) -> Self {
        let pages = if shape.slots == 0 { 0 } else { shape.pages };
        Self {
            policy: Asked::new(config.make()(shape)),
            slots: List::new(shape.slots),
            slot_of: IdVec::filled(None, pages as usize),
            victim: None,
        }
    }

    fn arriving(&mut self, lpn: Lpn) {
        self.victim = None;
        self.policy.tell(|policy| policy.arrive(lpn));
    }

    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let page = table.page_of(slot);
        self.slots.push_back(slot);
        self.slot_of[page] = Some(slot);
        self.victim = None;
        self.policy.tell(|policy| policy.insert(page, table.is_dirty(slot)));
    }

    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        self.victim = None;
        self.policy.tell(|policy| policy.hit(table.page_of(slot)));
    }

    fn flagged(&mut self, slot: SlotId, table: &SlotTable) {
        self.victim = None;
        self.policy.tell(|policy| policy.flag(table.page_of(slot), table.is_dirty(slot)));
    }

    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        let page = table.page_of(slot);
        self.slots.remove(slot);
        self.slot_of[page] = None;
        self.victim = None;
        self.policy.tell(|policy| policy.remove(page));
    }

    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        let first = self.slots.front()?;
        if self.victim.is_none() {
            let slot_of = |page: Lpn| {
                let slot = self.slot_of.get(page.index()).copied().flatten();
                slot.ok_or_else(|| format!("{} was returned; a page in the cache is allowed", page.get()))
            };
            let refuse =
                |policy: &mut (dyn ExternalEviction + 'static), problem: &str| policy.refused(problem);
            self.victim = self.policy.ask(|policy| policy.evict(), slot_of, refuse);
        }
        Some(self.victim.unwrap_or(first))
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.slots.iter().for_each(show);
    }
}
