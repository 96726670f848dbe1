//! Which page leaves a full cache: one file a policy, and the contract they keep.

mod bplru;
mod cflru;
mod clock;
mod fab;
mod fifo;
mod lb_clock;
mod lru;
mod pt_lru;
mod pud_lru;

use crate::slots::{SlotId, SlotTable};
use coflash_base::Policy;

pub use cflru::CflruConfig;
pub use pt_lru::PtLruConfig;

/// What a policy has to do with.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The slots of its cache.
    pub slots: u32,
    /// The logical pages that may come to lie in them.
    pub pages: u32,
}

/// The order in which the pages of one cache leave it.
///
/// A policy keeps its own structure over the occupied slots, sized once in [`new`](Self::new). The cache calls the
/// hooks; each runs once a page and must be O(1) amortised and allocate nothing. A policy that goes by page number
/// (blocks of pages, say) finds it in the table.
///
/// A slot's life: `inserted`, then any number of `touched`, then `removed`, and then perhaps `inserted` again with
/// another page. Whether it is dirty may change between these calls: the table always tells, and `flagged` says when.
pub trait EvictionPolicy: Policy {
    /// A policy for a cache of that shape, all slots free. There may be none: then no hook but `victim` is ever called.
    fn new(config: &Self::Config, shape: Shape) -> Self;

    /// A page came into `slot`, which was free; the table shows it already. Called on every insertion, which is the
    /// page's first use: no `touched` follows for it.
    fn inserted(&mut self, slot: SlotId, table: &SlotTable);

    /// The page in `slot`, which was `inserted` before, was used again. Called on every hit, read or write. Where a
    /// write also makes the page dirty, the table may show it already or not yet.
    fn touched(&mut self, slot: SlotId, table: &SlotTable);

    /// The page in `slot` has become dirty, or clean, where it is; the table shows it already. After a write hit it
    /// follows `touched`; GC and write-backs change a page without a use.
    fn flagged(&mut self, slot: SlotId, table: &SlotTable) {
        let _ = (slot, table);
    }

    /// The page in `slot` is leaving; the table still shows it. Called on every removal, and not only of victims: a
    /// trimmed page goes the same way.
    fn removed(&mut self, slot: SlotId, table: &SlotTable);

    /// Who leaves next: an occupied slot, and none only where no slot is occupied. Called for each eviction, and also
    /// when no removal follows. Without another hook or a change of flags in between, the answer must stay the same.
    fn victim(&mut self, table: &SlotTable) -> Option<SlotId>;

    /// Shows each slot the policy would ever name as victim, once, in any order: between calls these are exactly the
    /// occupied slots. For `assert_invariants` only, so it may be slow; it must not come from the table.
    fn tracked(&self, show: &mut dyn FnMut(SlotId));

    /// Whether pages that are all clean, or all dirty, leave in the order of their last use. Then it is a *stack algorithm*
    /// for them: a cache holds whatever a smaller one holds.
    fn is_lru_of_one_kind(&self) -> bool {
        false
    }

    /// How many neighbouring pages, from a multiple of that number on, it looks at together. Where each such unit lies among
    /// the others must not matter.
    fn unit_pages(&self) -> u32 {
        1
    }

    /// The bytes the policy holds on the heap.
    fn heap_bytes(&self) -> usize;
}

coflash_base::policy_family! { ($)
    /// Which page leaves a full cache.
    pub family Eviction, config EvictionConfig, dispatch eviction_dispatch, build eviction_build {
        "lru" => Lru(lru::Lru),
        "fifo" => Fifo(fifo::Fifo),
        "clock" => Clock(clock::Clock),
        "cflru" => Cflru(cflru::Cflru),
        "pt-lru" => PtLru(pt_lru::PtLru),
        "bplru" => Bplru(bplru::Bplru),
        "fab" => Fab(fab::Fab),
        "lb-clock" => LbClock(lb_clock::LbClock),
        "pud-lru" => PudLru(pud_lru::PudLru),
    }
}

impl EvictionConfig {
    /// The policy it names, for a cache of that shape.
    pub(crate) fn build(&self, shape: Shape) -> Eviction {
        eviction_build!(self, config => EvictionPolicy::new(config, shape))
    }

    fn without_slots(&self) -> Eviction {
        self.build(Shape { slots: 0, pages: 0 })
    }

    /// See [`EvictionPolicy::is_lru_of_one_kind`].
    #[must_use]
    pub fn is_lru_of_one_kind(&self) -> bool {
        eviction_dispatch!(self.without_slots(), policy => policy.is_lru_of_one_kind())
    }

    /// See [`EvictionPolicy::unit_pages`].
    #[must_use]
    pub fn unit_pages(&self) -> u32 {
        eviction_dispatch!(self.without_slots(), policy => policy.unit_pages())
    }
}

impl Eviction {
    #[inline]
    pub(crate) fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        eviction_dispatch!(self, policy => policy.inserted(slot, table));
    }

    #[inline]
    pub(crate) fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        eviction_dispatch!(self, policy => policy.touched(slot, table));
    }

    #[inline]
    pub(crate) fn flagged(&mut self, slot: SlotId, table: &SlotTable) {
        eviction_dispatch!(self, policy => policy.flagged(slot, table));
    }

    #[inline]
    pub(crate) fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        eviction_dispatch!(self, policy => policy.removed(slot, table));
    }

    #[inline]
    pub(crate) fn victim(&mut self, table: &SlotTable) -> Option<SlotId> {
        eviction_dispatch!(self, policy => policy.victim(table))
    }

    pub(crate) fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        eviction_dispatch!(self, policy => policy.tracked(show));
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        eviction_dispatch!(self, policy => policy.heap_bytes())
    }
}
