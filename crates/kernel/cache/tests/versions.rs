//! Pinned pages, older versions and slots of the caller's choice: random operations from a seed, under every policy,
//! against the stupidest correct model.

use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{Index, Lpn};
use coflash_cache::{Cache, EvictionConfig, SlotId};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Copied {
    page: Lpn,
    dirty: bool,
    orphan: bool,
    pinned: bool,
    detached: bool,
}

/// A cache and its model.
struct Pair {
    cache: Cache,
    slots: Vec<Option<Copied>>,
    /// Slots that may leave, the next one first, as LRU and FIFO see it.
    queue: Vec<SlotId>,
    policy: &'static str,
}

impl Pair {
    fn new(policy: &'static str, capacity: u32, pages: u32) -> Self {
        let cache = Cache::new(&EvictionConfig::by_name(policy).unwrap(), capacity, pages as usize);
        Self { cache, slots: vec![None; capacity as usize], queue: Vec::new(), policy }
    }

    fn find(&self, page: Lpn) -> Option<SlotId> {
        let found = |slot: &Option<Copied>| slot.is_some_and(|copy| copy.page == page && !copy.detached);
        self.slots.iter().position(found).map(SlotId::from_index)
    }

    fn copy(&mut self, slot: SlotId) -> &mut Copied {
        self.slots[slot.index()].as_mut().expect("occupied")
    }

    fn came(&mut self, slot: SlotId, page: Lpn, dirty: bool) {
        let copy = Copied { page, dirty, orphan: false, pinned: false, detached: false };
        assert_eq!(self.slots[slot.index()].replace(copy), None, "{slot:?} was free");
        self.queue.push(slot);
    }

    fn remove(&mut self, slot: SlotId) {
        self.cache.remove(slot);
        self.slots[slot.index()].take().expect("what leaves was there");
        self.queue.retain(|&queued| queued != slot);
    }

    /// Any operation on any slot or page that is legal now.
    fn step(&mut self, stream: &mut RandomStream, pages: u32) {
        let page = Lpn::new(stream.random_range(0..pages));
        let slot = SlotId::new(stream.random_range(0..self.slots.len() as u32));
        let dirty = stream.random();
        let copy = self.slots[slot.index()];
        match (stream.random_range(0..10_u32), copy) {
            (0..3, _) if self.find(page).is_none() && !self.cache.is_full() => {
                let slot = self.cache.insert(page, dirty);
                self.came(slot, page, dirty);
            }
            (3, None) if self.find(page).is_none() => {
                self.cache.insert_at(slot, page, dirty);
                self.came(slot, page, dirty);
            }
            (4, Some(copy)) if copy.pinned => {
                self.cache.unpin(slot);
                self.copy(slot).pinned = false;
                self.queue.push(slot);
            }
            (4..6, Some(Copied { pinned: false, .. })) => {
                self.cache.pin(slot);
                self.copy(slot).pinned = true;
                self.queue.retain(|&queued| queued != slot);
            }
            (6, Some(Copied { detached: false, .. })) => {
                self.cache.detach(slot);
                self.copy(slot).detached = true;
            }
            (7, Some(Copied { pinned: false, .. })) => {
                self.cache.touch(slot);
                if self.policy == "lru" {
                    self.queue.retain(|&queued| queued != slot);
                    self.queue.push(slot);
                }
            }
            (8, Some(_)) if dirty => {
                self.cache.orphan(slot);
                (self.copy(slot).dirty, self.copy(slot).orphan) = (true, true);
            }
            (8, Some(_)) => {
                let dirty = stream.random();
                self.cache.set_dirty(slot, dirty);
                (self.copy(slot).dirty, self.copy(slot).orphan) = (dirty, false);
            }
            (9, Some(_)) if dirty => self.remove(slot),
            (9, _) => {
                if let Some(victim) = self.victim() {
                    self.remove(victim);
                }
            }
            _ => {}
        }
    }

    /// The same question twice has the same answer.
    fn victim(&mut self) -> Option<SlotId> {
        let victim = self.cache.victim();
        assert_eq!(self.cache.victim(), victim, "asked twice");
        if ["lru", "fifo"].contains(&self.policy) {
            assert_eq!(victim, self.queue.first().copied(), "victim");
        }
        assert_eq!(victim.is_none(), self.queue.is_empty(), "there is a victim unless all are pinned");
        assert!(victim.is_none_or(|victim| self.queue.contains(&victim)), "a pinned page is no victim");
        victim
    }

    fn check(&self, pages: u32) {
        let cache = &self.cache;
        cache.assert_invariants();
        for (slot, copy) in (0..).map(SlotId::new).zip(&self.slots) {
            let held = cache.is_occupied(slot).then(|| Copied {
                page: cache.page_of(slot),
                dirty: cache.is_dirty(slot),
                orphan: cache.is_orphan(slot),
                pinned: cache.is_pinned(slot),
                detached: cache.is_detached(slot),
            });
            assert_eq!(held, *copy, "{slot:?}");
        }
        for page in (0..pages).map(Lpn::new) {
            assert_eq!(cache.lookup(page), self.find(page), "{page:?}");
        }
        assert_eq!(cache.len() as usize, self.slots.iter().flatten().count(), "occupied slots");
        let dirty = self.slots.iter().flatten().filter(|copy| copy.dirty).count();
        assert_eq!(cache.dirty_len() as usize, dirty, "dirty pages");
    }
}

#[test]
fn every_policy_agrees_with_the_model() {
    for &policy in EvictionConfig::NAMES {
        for seed in 0..200 {
            let mut stream = Seed(seed).stream("versions");
            let capacity = stream.random_range(1..12);
            let pages = stream.random_range(1..=2 * capacity);
            let mut pair = Pair::new(policy, capacity, pages);
            for step in 0..400 {
                let before = pair.slots.clone();
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    pair.step(&mut stream, pages);
                    pair.check(pages);
                }));
                assert!(
                    outcome.is_ok(),
                    "{policy}, {capacity} slots, seed {seed}, step {step} on {before:?}"
                );
            }
        }
    }
}

/// The order of use of the free slots stays the same.
#[test]
fn a_slot_of_choice_leaves_the_order_of_the_others() {
    let mut cache = cache();
    cache.insert_at(SlotId::new(1), Lpn::new(5), true);
    let next = [6, 7].map(|page| cache.insert(Lpn::new(page), false).get());
    assert_eq!(next, [0, 2]);
}

fn cache() -> Cache {
    Cache::new(&EvictionConfig::default(), 3, 9)
}

#[test]
#[should_panic(expected = "SlotId(0) is not free")]
fn an_insertion_into_a_slot_in_use_is_refused() {
    let mut cache = cache();
    cache.insert(Lpn::new(1), false);
    cache.insert_at(SlotId::new(0), Lpn::new(2), false);
}

#[test]
#[should_panic(expected = "Lpn(1) is cached already")]
fn a_second_copy_at_a_slot_of_choice_is_refused() {
    let mut cache = cache();
    cache.insert(Lpn::new(1), false);
    cache.insert_at(SlotId::new(2), Lpn::new(1), false);
}

#[test]
#[should_panic(expected = "SlotId(0) is pinned already")]
fn a_second_pin_is_refused() {
    let mut cache = cache();
    let slot = cache.insert(Lpn::new(1), false);
    cache.pin(slot);
    cache.pin(slot);
}

#[test]
#[should_panic(expected = "SlotId(0) is not pinned")]
fn an_unpin_without_a_pin_is_refused() {
    let mut cache = cache();
    let slot = cache.insert(Lpn::new(1), false);
    cache.unpin(slot);
}

#[test]
#[should_panic(expected = "SlotId(0) is detached already")]
fn a_second_detachment_is_refused() {
    let mut cache = cache();
    let slot = cache.insert(Lpn::new(1), false);
    cache.detach(slot);
    cache.insert(Lpn::new(1), false);
    cache.detach(slot);
}

#[test]
#[should_panic(expected = "SlotId(2) is free")]
fn a_pin_of_nothing_is_refused() {
    cache().pin(SlotId::new(2));
}

#[test]
#[should_panic(expected = "SlotId(2) is free")]
fn a_detachment_of_nothing_is_refused() {
    cache().detach(SlotId::new(2));
}
