//! Eviction policies: one file a policy, and their contract.

mod arc;
mod bplru;
mod cflru;
mod clock;
mod external;
mod fifo;
mod lfu;
mod lru;
mod pt_lru;
mod queues;
mod s3_fifo;
mod sieve;
mod two_q;
mod w_tinylfu;

use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{Lpn, Misfit, Policy};

pub use bplru::BlocksConfig;
pub use cflru::CflruConfig;
pub use external::{ExternalEviction, MakeEviction};
pub use pt_lru::PtLruConfig;
pub use s3_fifo::S3FifoConfig;
pub use two_q::TwoQConfig;
pub use w_tinylfu::WTinyLfuConfig;

/// An eviction policy: the order in which the pages of a cache are evicted.
///
/// A policy maintains its own structure over the occupied slots, sized once in [`new`](Self::new). The cache calls the
/// hooks once per page; each must be O(1) amortised and allocate nothing. The table contains the page numbers.
///
/// The life of a slot: `inserted`, then any number of `touched`, then `removed`, then perhaps `inserted` again with
/// another page. Its dirty flag may change in between: `flagged` reports the change.
pub trait EvictionPolicy: Policy {
    /// Create a policy for a cache of this shape, with all slots free. Without slots no hook but `victim` is called.
    fn new(config: &Self::Config, shape: CacheShape) -> Self;

    /// A page that is not cached is about to be inserted, and [`victim`](Self::victim) is asked to make room for it. Not
    /// called where there is room, nor for evictions ahead of need.
    fn arriving(&mut self, lpn: Lpn) {
        let _ = lpn;
    }

    /// A page was inserted into `slot`; the table shows it already. The insertion is the page's first use: no `touched`
    /// follows for it.
    fn inserted(&mut self, slot: SlotId, table: &SlotTable);

    /// The page in `slot` was used again. Called on every hit, read or write. If a write also makes the page dirty, the
    /// table may show that already or not yet.
    fn touched(&mut self, slot: SlotId, table: &SlotTable);

    /// The page in `slot` became dirty or clean; the table shows it already. After a write hit it follows `touched`; GC
    /// and write-backs change a page without a use.
    fn flagged(&mut self, slot: SlotId, table: &SlotTable) {
        let _ = (slot, table);
    }

    /// The page in `slot` is about to be removed; the table still shows it. Called for victims and for trimmed pages.
    fn removed(&mut self, slot: SlotId, table: &SlotTable);

    /// The slot of the next page to evict; `None` only if no slot is occupied. A removal need not follow. Without
    /// another hook or a change of flags in between, the answer must stay the same. A policy with ghosts
    /// takes the removal of the slot named last for its eviction.
    fn victim(&mut self, table: &SlotTable) -> Option<SlotId>;

    /// Ask for the memory that a use or the eviction of the page in `slot` will need.
    fn prefetch(&self, slot: SlotId) {
        let _ = slot;
    }

    /// The slots likely to be evicted next, in order, if no search is needed: their memory is prefetched.
    fn likely_victims(&self) -> [Option<SlotId>; 3] {
        [None; 3]
    }

    /// Pass each slot that the policy could name as victim to `show`, once, in any order: exactly the occupied slots.
    /// For `assert_invariants` only, so it may be slow. It must not use the table.
    fn tracked(&self, show: &mut dyn FnMut(SlotId));

    /// Whether pages that are all clean, or all dirty, are evicted in the order of their last use. Then the policy is a
    /// *stack algorithm* for them: a cache holds all pages that a smaller one holds.
    fn is_lru_of_one_kind(&self) -> bool {
        false
    }

    /// The number of neighbouring, aligned pages that the policy treats as a unit. The positions of units relative to
    /// each other must not matter.
    fn unit_pages(&self) -> u32 {
        1
    }
}

coflash_base::policy_family! { ($)
    /// The choice of the page that a full cache evicts.
    pub family Eviction: Save, config EvictionConfig, dispatch eviction_dispatch, build eviction_build,
        external "external" => External(external::ExternalEvictor) {
        "lru" => Lru(lru::Lru),
        "fifo" => Fifo(fifo::Fifo),
        "clock" => Clock(clock::ClockEviction),
        "cflru" => Cflru(cflru::Cflru),
        "pt-lru" => PtLru(pt_lru::PtLru),
        "bplru" => Bplru(bplru::Bplru),
        "lfu" => Lfu(lfu::Lfu),
        "2q" => TwoQ(two_q::TwoQ),
        "arc" => Arc(arc::Arc),
        "w-tinylfu" => WTinyLfu(w_tinylfu::WTinyLfu),
        "s3-fifo" => S3Fifo(s3_fifo::S3Fifo),
        "sieve" => Sieve(sieve::Sieve),
    }
}

impl EvictionConfig {
    /// Check that a policy from outside can be built.
    ///
    /// # Errors
    /// Its code is missing.
    pub fn check(&self) -> Result<(), Misfit> {
        if let Self::External(external) = self { external.check() } else { Ok(()) }
    }

    /// Create the policy for a cache of this shape.
    pub(crate) fn build(&self, shape: CacheShape) -> Eviction {
        eviction_build!(self, config => EvictionPolicy::new(config, shape))
    }

    fn without_slots(&self) -> Eviction {
        self.build(CacheShape { slots: 0, pages: 0 })
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
    coflash_base::forward_to_variant! { eviction_dispatch;
        pub(crate) fn arriving(&mut self, lpn: Lpn);
        pub(crate) fn inserted(&mut self, slot: SlotId, table: &SlotTable);
        pub(crate) fn touched(&mut self, slot: SlotId, table: &SlotTable);
        pub(crate) fn flagged(&mut self, slot: SlotId, table: &SlotTable);
        pub(crate) fn removed(&mut self, slot: SlotId, table: &SlotTable);
        pub(crate) fn victim(&mut self, table: &SlotTable) -> Option<SlotId>;
        pub(crate) fn prefetch(&self, slot: SlotId);
        pub(crate) fn likely_victims(&self) -> [Option<SlotId>; 3];
        pub(crate) fn tracked(&self, show: &mut dyn FnMut(SlotId));
    }
}
