//! Which page leaves a full cache: one file a policy, and the contract they keep.

mod clock;
mod fifo;
mod lru;

use crate::slots::{SlotId, SlotTable};
use coflash_base::Policy;

/// The order in which the pages of one cache leave it.
///
/// A policy keeps its own structure over the occupied slots, sized once in [`new`](Self::new). The cache calls the
/// hooks; each runs once a page and must be O(1) amortised and allocate nothing. A policy that goes by page number
/// (blocks of pages, say) finds it in the table.
///
/// A slot's life: `inserted`, then any number of `touched`, then `removed`, and then perhaps `inserted` again with
/// another page. Flags change between these calls without a hook: they are to be read when `victim` decides, not kept.
pub trait EvictionPolicy: Policy {
    /// A policy for a cache of `slots` slots, all free. There may be none: then no hook but `victim` is ever called.
    fn new(config: &Self::Config, slots: u32) -> Self;

    /// A page came into `slot`, which was free; the table shows it already. Called on every insertion, which is the
    /// page's first use: no `touched` follows for it.
    fn inserted(&mut self, slot: SlotId, table: &SlotTable);

    /// The page in `slot`, which was `inserted` before, was used again. Called on every hit, read or write. Where a
    /// write also makes the page dirty, the table may show it already or not yet.
    fn touched(&mut self, slot: SlotId, table: &SlotTable);

    /// The page in `slot` is leaving; the table still shows it. Called on every removal, and not only of victims: a
    /// trimmed page goes the same way.
    fn removed(&mut self, slot: SlotId, table: &SlotTable);

    /// Who leaves next: an occupied slot, and none only where no slot is occupied. Called for each eviction, and also
    /// when no removal follows. Without another hook or a change of flags in between, the answer must stay the same.
    fn victim(&mut self, table: &SlotTable) -> Option<SlotId>;

    /// Shows each slot the policy would ever name as victim, once, in any order: between calls these are exactly the
    /// occupied slots. For `assert_invariants` only, so it may be slow; it must not come from the table.
    fn tracked(&self, show: &mut dyn FnMut(SlotId));

    /// The bytes the policy holds on the heap.
    fn heap_bytes(&self) -> usize;
}

/// Hands the list to the registry, and adds what the registry cannot know: how a policy of this family is built.
macro_rules! eviction_policies {
    (($d:tt) $($name:literal => $variant:ident($policy:ty),)*) => {
        coflash_base::policy_family! { ($d)
            /// Which page leaves a full cache.
            pub family Eviction, config EvictionConfig, dispatch eviction_dispatch {
                $($name => $variant($policy),)*
            }
        }

        impl Eviction {
            /// The policy `config` names, for a cache of `slots` slots.
            pub(crate) fn new(config: &EvictionConfig, slots: u32) -> Self {
                match config {
                    $(EvictionConfig::$variant(config) => {
                        Self::$variant(<$policy as EvictionPolicy>::new(config, slots))
                    })*
                }
            }
        }
    };
}

eviction_policies! { ($)
    "lru" => Lru(lru::Lru),
    "fifo" => Fifo(fifo::Fifo),
    "clock" => Clock(clock::Clock),
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
