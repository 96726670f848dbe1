//! Page Replacer: evictions from the caches. Dirty pages are destaged in groups, in the order of their addresses.

use crate::config::HybridConfig;
use crate::partition_resizer::Limits;
use crate::recency::Recency;
use crate::write_policy::WritePolicy;
use coflash_base::{IdVec, Lpn, Save, Slab, id_type};
use coflash_cache::{Cache, Orders, PolicyPair, SlotId};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

id_type!(
    /// An eviction: pages that are removed together, as a group being destaged or as pages overwritten past
    /// the cache; or pages that are written through and stay.
    EvictionId
);

/// A pending eviction.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct Eviction {
    /// The slots of the pages. A page overwritten since then stays cached.
    pub(crate) slots: Vec<SlotId>,
    /// The range of pages that a request writes to the disk, past the cache or through it; `None` for a group.
    pub(crate) overwritten: Option<(Lpn, u32)>,
    /// Whether the pages are written through, and stay.
    pub(crate) stays: bool,
}

impl Eviction {
    fn pages_overwritten(&self) -> impl Iterator<Item = Lpn> + use<> {
        let (first, pages) = self.overwritten.unwrap_or((Lpn::new(0), 0));
        (first.get()..first.get() + pages).map(Lpn::new)
    }
}

/// The page replacer.
#[derive(Clone, Save)]
#[save(in_place)]
pub(crate) struct PageReplacer {
    pub(crate) cache: Cache<PolicyPair>,
    /// The number of pinned pages: those of pending evictions, and of one to begin.
    pinned: u32,
    group_pages: u32,
    /// The eviction that each page belongs to.
    evicted_by: IdVec<SlotId, Option<EvictionId>>,
    evictions: Slab<Eviction>,
    /// The pages that pending requests write to the disk, with the number of these requests.
    overwritten: BTreeMap<Lpn, u32>,
    group: Vec<(Lpn, SlotId)>,
    /// The last uses of the pages, if GC asks for them.
    pub(crate) recency: Option<Recency>,
    /// The pages of the write cache that the disk may lack, except pinned ones; `None` for all.
    lacking: Option<BTreeSet<SlotId>>,
}

/// The next page or group to evict so that the caches keep their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Nothing,
    /// A clean page.
    Clean(SlotId),
    /// A group of dirty pages.
    Dirty,
}

impl PageReplacer {
    pub(crate) fn new(config: &HybridConfig, orders: Orders, slots: u32, disk_pages: usize) -> Self {
        Self {
            cache: Cache::with_orders(&config.policy, slots, disk_pages, orders),
            pinned: 0,
            group_pages: config.destage_pages,
            evicted_by: IdVec::filled(None, slots as usize),
            evictions: Slab::default(),
            overwritten: BTreeMap::new(),
            recency: None,
            group: Vec::with_capacity(config.destage_pages as usize),
            lacking: (config.write_policy == WritePolicy::WriteThrough).then(BTreeSet::new),
        }
    }

    /// The number of dirty pages that are not being evicted.
    #[inline]
    pub(crate) fn dirty_pages(&self) -> u32 {
        self.cache.dirty_len() - self.pinned
    }

    /// The next eviction, if `coming` more clean pages are to be inserted. The write cache may always hold a
    /// group: destaging page by page would cost a seek for each page.
    #[inline]
    pub(crate) fn excess(&mut self, limits: Limits, coming: u32) -> Excess {
        match self.cache.orders() {
            Orders::Own => {
                if self.dirty_pages() > limits.write_pages.max(self.group_pages) {
                    return Excess::Dirty;
                }
                if self.cache.clean_len() + coming > limits.read_pages {
                    return self.cache.victim_of(false).map_or(Excess::Nothing, Excess::Clean);
                }
                Excess::Nothing
            }
            Orders::Common => {
                if self.cache.len() - self.pinned + coming <= limits.pages().max(self.group_pages) {
                    return Excess::Nothing;
                }
                match self.cache.victim_of(true) {
                    Some(slot) if self.cache.is_dirty(slot) => Excess::Dirty,
                    Some(slot) => Excess::Clean(slot),
                    None => Excess::Nothing,
                }
            }
        }
    }

    /// The next clean page to evict.
    pub(crate) fn clean_victim(&mut self) -> Option<SlotId> {
        self.cache.victim_of(false).filter(|&slot| !self.cache.is_dirty(slot))
    }

    /// Pin the next dirty victims as a group in the order of their addresses. With a common order, clean
    /// pages before them are also removed, and passed to `drop`.
    pub(crate) fn take_group(&mut self, mut drop: impl FnMut(SlotId)) -> (EvictionId, Vec<SlotId>) {
        self.group.clear();
        while self.group.len() < self.group_pages as usize {
            let Some(slot) = self.cache.victim_of(true) else { break };
            self.evicts(slot);
            if self.cache.is_dirty(slot) {
                self.pin(slot);
                self.group.push((self.cache.page_of(slot), slot));
            } else {
                self.cache.remove(slot);
                drop(slot);
            }
        }
        self.group.sort_unstable();
        let slots: Vec<_> = self.group.iter().map(|&(_, slot)| slot).collect();
        let id = self.begin(Eviction { slots: slots.clone(), ..Eviction::default() });
        (id, slots)
    }

    /// Insert a page that is not cached.
    #[inline]
    pub(crate) fn insert(&mut self, page: Lpn, dirty: bool) -> SlotId {
        let slot = self.cache.insert(page, dirty);
        self.used(slot);
        slot
    }

    #[inline]
    fn used(&mut self, slot: SlotId) {
        if let Some(recency) = &mut self.recency {
            recency.used(slot);
        }
    }

    /// Note that the page in `slot` is evicted, since it is the next one.
    #[inline]
    pub(crate) fn evicts(&mut self, slot: SlotId) {
        if let Some(recency) = &mut self.recency {
            recency.evicted(slot);
        }
    }

    /// Begin an eviction with pinned slots.
    pub(crate) fn begin(&mut self, eviction: Eviction) -> EvictionId {
        for page in eviction.pages_overwritten() {
            *self.overwritten.entry(page).or_default() += 1;
        }
        let id = EvictionId::new(self.evictions.put(eviction));
        for &slot in &self.evictions.get_mut(id.get()).slots {
            self.evicted_by[slot] = Some(id);
        }
        id
    }

    /// End an eviction. Returns it without the slots overwritten since then.
    pub(crate) fn end(&mut self, id: EvictionId) -> Eviction {
        let mut eviction = self.evictions.take(id.get());
        for page in eviction.pages_overwritten() {
            if let Entry::Occupied(mut requests) = self.overwritten.entry(page) {
                *requests.get_mut() -= 1;
                if *requests.get() == 0 {
                    requests.remove();
                }
            }
        }
        eviction.slots.retain(|&slot| self.evicted_by[slot] == Some(id));
        for &slot in &eviction.slots {
            self.evicted_by[slot] = None;
        }
        eviction
    }

    /// Note a use of the page in `slot`. It does not keep a page that is being evicted.
    #[inline]
    pub(crate) fn touch(&mut self, slot: SlotId) {
        if !self.cache.is_pinned(slot) {
            self.cache.touch(slot);
            self.used(slot);
        }
    }

    /// Pin the page in `slot`: it is being evicted.
    pub(crate) fn pin(&mut self, slot: SlotId) {
        self.cache.pin(slot);
        self.pinned += 1;
    }

    /// Note that the page in `slot` was overwritten: it is dirty, and stays.
    #[inline]
    pub(crate) fn write(&mut self, slot: SlotId) {
        self.keep(slot);
        self.pinned -= u32::from(self.cache.is_pinned(slot));
        self.cache.write(slot);
        self.used(slot);
    }

    /// Remove a page that no longer belongs to an eviction.
    pub(crate) fn remove(&mut self, slot: SlotId) {
        self.keep(slot);
        self.pinned -= u32::from(self.cache.is_pinned(slot));
        self.cache.remove(slot);
        if let Some(lacking) = &mut self.lacking {
            lacking.remove(&slot);
        }
    }

    /// Whether the disk has the page in `slot`; the slot is in the write cache.
    pub(crate) fn is_on_disk(&self, slot: SlotId) -> bool {
        self.lacking.as_ref().is_some_and(|lacking| !lacking.contains(&slot))
    }

    /// Insert a page found after a power failure. If it is dirty, the disk may lack it, even if it was
    /// written through.
    pub(crate) fn recover(&mut self, slot: SlotId, page: Lpn, dirty: bool) {
        self.cache.insert_at(slot, page, dirty);
        self.used(slot);
        if let Some(lacking) = self.lacking.as_mut().filter(|_| dirty) {
            lacking.insert(slot);
        }
    }

    /// End a write through the cache. Pages not overwritten since then may be evicted from now on.
    pub(crate) fn end_through(&mut self, id: EvictionId) -> Option<(Lpn, u32)> {
        let Eviction { slots, overwritten, .. } = self.end(id);
        for slot in slots {
            self.cache.unpin(slot);
            self.pinned -= 1;
            if let Some(lacking) = &mut self.lacking {
                lacking.remove(&slot);
            }
        }
        overwritten
    }

    /// Take a page out of its eviction: it was overwritten or trimmed.
    #[inline]
    pub(crate) fn keep(&mut self, slot: SlotId) {
        self.evicted_by[slot] = None;
    }

    /// Whether a page still belongs to an eviction: it was not overwritten since.
    #[inline]
    pub(crate) fn is_evicted_by(&self, id: EvictionId, page: Lpn) -> bool {
        self.cache.lookup(page).is_some_and(|slot| self.evicted_by[slot] == Some(id))
    }

    /// Whether a pending request overwrites the page in `slot` past the cache, and the page was not
    /// overwritten in the cache since.
    pub(crate) fn is_outdated(&self, slot: SlotId) -> bool {
        let with = self.evicted_by[slot].and_then(|id| self.evictions.get(id.get()));
        with.is_some_and(|eviction| eviction.overwritten.is_some() && !eviction.stays)
    }

    /// Whether a pending request writes the page to the disk.
    pub(crate) fn is_overwritten(&self, page: Lpn) -> bool {
        self.overwritten.contains_key(&page)
    }

    pub(crate) fn assert_invariants(&self) {
        self.cache.assert_invariants();
        let pinned = self.cache.occupied().filter(|&slot| self.cache.is_pinned(slot)).count();
        assert_eq!(pinned, self.pinned as usize, "count of pinned pages");
        for slot in self.evicted_by.ids() {
            let evicted = self.evicted_by[slot].is_some();
            let pinned = self.cache.is_occupied(slot) && self.cache.is_pinned(slot);
            assert_eq!(evicted, pinned, "{slot:?}: an evicted page is pinned");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: u32 = 4;

    /// A cache of pages from 0 on, the dirty ones first.
    fn holding(orders: Orders, dirty: u32, clean: u32) -> PageReplacer {
        let config = HybridConfig { destage_pages: GROUP, ..HybridConfig::default() };
        let mut replacer = PageReplacer::new(&config, orders, 32, 100);
        for page in 0..dirty + clean {
            replacer.cache.insert(Lpn::new(page), page < dirty);
        }
        replacer
    }

    fn excess(orders: Orders, (dirty, clean): (u32, u32), (write, read): (u32, u32), coming: u32) -> Excess {
        let limits = Limits { read_pages: read, write_pages: write };
        holding(orders, dirty, clean).excess(limits, coming)
    }

    fn clean(slot: u32) -> Excess {
        Excess::Clean(SlotId::new(slot))
    }

    #[test]
    fn each_cache_keeps_its_limit_and_the_write_cache_may_always_hold_a_group() {
        // Dirty and clean pages, the limits of either, clean pages to come.
        let own = [
            ((6, 5), (6, 5), 0, Excess::Nothing),
            ((7, 5), (6, 5), 0, Excess::Dirty),
            ((6, 6), (6, 5), 0, clean(6)),
            ((6, 5), (6, 5), 1, clean(6)),
            ((0, 0), (6, 0), 1, Excess::Nothing),
            ((GROUP, 0), (0, 0), 0, Excess::Nothing),
            ((GROUP + 1, 0), (0, 0), 0, Excess::Dirty),
            ((GROUP, 1), (0, 0), 0, clean(GROUP)),
        ];
        for (pages, limits, coming, expected) in own {
            let found = excess(Orders::Own, pages, limits, coming);
            assert_eq!(found, expected, "{pages:?} under {limits:?}, {coming} to come");
        }
    }

    #[test]
    fn caches_in_one_order_share_their_limits_and_may_always_hold_a_group() {
        let common = [
            ((6, 5), (3, 8), 0, Excess::Nothing),
            ((6, 5), (3, 7), 0, Excess::Dirty),
            ((6, 5), (3, 8), 1, Excess::Dirty),
            ((0, 12), (3, 8), 0, clean(0)),
            ((GROUP, 0), (0, 0), 0, Excess::Nothing),
            ((GROUP + 1, 0), (0, 0), 0, Excess::Dirty),
            ((0, GROUP), (0, 0), 1, clean(0)),
        ];
        for (pages, limits, coming, expected) in common {
            let found = excess(Orders::Common, pages, limits, coming);
            assert_eq!(found, expected, "{pages:?} under {limits:?}, {coming} to come");
        }
    }

    #[test]
    fn pages_on_their_way_out_count_no_more() {
        let mut replacer = holding(Orders::Common, 2 * GROUP, 0);
        let limits = Limits { read_pages: 0, write_pages: GROUP };
        assert_eq!(replacer.excess(limits, 0), Excess::Dirty);
        let (group, slots) = replacer.take_group(|slot| panic!("{slot:?} is dirty"));
        assert_eq!(slots.len(), GROUP as usize);
        assert_eq!(replacer.dirty_pages(), GROUP);
        assert_eq!(replacer.excess(limits, 0), Excess::Nothing);
        // One is kept after all.
        replacer.keep(slots[1]);
        let kept = slots.iter().map(|&slot| !replacer.is_evicted_by(group, replacer.cache.page_of(slot)));
        assert_eq!(kept.collect::<Vec<_>>(), [false, true, false, false]);
        assert_eq!(replacer.end(group).slots, [slots[0], slots[2], slots[3]]);
    }

    #[test]
    fn what_is_overwritten_past_the_cache_is_known_by_page_and_by_slot() {
        let mut replacer = holding(Orders::Own, 3, 0);
        let slot = SlotId::new(1);
        replacer.pin(slot);
        let id =
            replacer.begin(Eviction { slots: vec![slot], overwritten: Some((Lpn::new(1), 3)), stays: false });
        let pages = || (0..6).map(Lpn::new);
        let overwritten: Vec<_> = pages().map(|page| replacer.is_overwritten(page)).collect();
        assert_eq!(overwritten, [false, true, true, true, false, false]);
        let outdated: Vec<_> = (0..3).map(|slot| replacer.is_outdated(SlotId::new(slot))).collect();
        assert_eq!(outdated, [false, true, false]);
        let other = Eviction { overwritten: Some((Lpn::new(3), 2)), ..Eviction::default() };
        let other = replacer.begin(other);
        replacer.end(id);
        let overwritten: Vec<_> = pages().map(|page| replacer.is_overwritten(page)).collect();
        assert_eq!(overwritten, [false, false, false, true, true, false], "one of two requests has ended");
        replacer.end(other);
        assert!(pages().all(|page| !replacer.is_overwritten(page)));
        assert!(!replacer.is_outdated(slot));
    }
}
