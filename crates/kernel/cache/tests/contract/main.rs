//! Every registered policy keeps the contract: random operations from a seed, against the stupidest correct model.

mod claims;
mod external;
mod order;
mod scan_resistant;

use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{Index, Lpn, Save};
use coflash_cache::{Cache, EvictionConfig, SlotId};
use order::{EXTERNAL, Order, config};
use std::collections::BTreeMap;

/// The operations of a controller on a cache.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// A hit, or a miss that makes room for itself.
    Access {
        page: Lpn,
        write: bool,
    },
    /// Makes room for a page that then does not come, as when an eviction fails.
    Announce(Lpn),
    Evict,
    /// Looks at the victim and lets it stay.
    Peek,
    Trim(Lpn),
    WriteBack(Lpn),
    DropFlashCopy(Lpn),
}

impl Operation {
    fn draw(stream: &mut RandomStream, pages: u32) -> Self {
        let page = Lpn::new(stream.random_range(0..pages));
        match stream.random_range(0..16) {
            0..8 => Self::Access { page, write: stream.random() },
            8 => Self::Announce(page),
            9 => Self::Evict,
            10..12 => Self::Peek,
            12..14 => Self::Trim(page),
            14 => Self::WriteBack(page),
            _ => Self::DropFlashCopy(page),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Content {
    dirty: bool,
    orphan: bool,
}

/// A cache and its model.
struct Pair {
    cache: Cache,
    content: BTreeMap<u32, Content>,
    order: Order,
    capacity: u32,
    pages: u32,
}

impl Pair {
    fn new(name: &str, capacity: u32, pages: u32) -> Self {
        let cache = Cache::new(&config(name), capacity, pages as usize);
        Self { cache, content: BTreeMap::new(), order: Order::of(name, capacity), capacity, pages }
    }

    fn victim_for(&mut self, page: Lpn) -> Option<SlotId> {
        let slot = self.cache.victim_for(page);
        self.order.arriving(page);
        self.is_next(slot)
    }

    fn victim(&mut self) -> Option<SlotId> {
        let slot = self.cache.victim();
        self.is_next(slot)
    }

    fn is_next(&mut self, slot: Option<SlotId>) -> Option<SlotId> {
        assert_eq!(self.cache.victim(), slot, "asked twice");
        let page = slot.map(|slot| self.cache.page_of(slot));
        assert_eq!(page, self.order.victim(), "victim");
        assert_eq!(page.is_none(), self.content.is_empty(), "a policy with pages has a victim");
        slot
    }

    fn remove(&mut self, slot: SlotId) {
        let page = self.cache.page_of(slot);
        self.cache.remove(slot);
        self.order.remove(page);
        self.content.remove(&page.get()).expect("what leaves was there");
    }

    fn mark(&mut self, page: Lpn, content: Content) {
        let before = self.content.insert(page.get(), content).expect("it is there");
        if before.dirty != content.dirty {
            self.order.flag(page, content.dirty);
        }
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Access { page, write } => {
                if let Some(slot) = self.cache.lookup(page) {
                    self.cache.touch(slot);
                    self.order.touch(page);
                    if write {
                        self.cache.set_dirty(slot, true);
                        self.mark(page, Content { dirty: true, orphan: false });
                    }
                } else if self.capacity > 0 {
                    if self.cache.is_full() {
                        let victim = self.victim_for(page).unwrap();
                        self.remove(victim);
                    }
                    let slot = self.cache.insert(page, write);
                    assert_eq!(self.cache.page_of(slot), page);
                    self.order.insert(page, write);
                    self.content.insert(page.get(), Content { dirty: write, orphan: false });
                }
            }
            Operation::Announce(page) => {
                if self.cache.lookup(page).is_none() && self.cache.is_full() && self.capacity > 0 {
                    let victim = self.victim_for(page).unwrap();
                    self.remove(victim);
                }
            }
            Operation::Evict => {
                if let Some(victim) = self.victim() {
                    self.remove(victim);
                }
            }
            Operation::Peek => {
                self.victim();
            }
            Operation::Trim(page) => {
                if let Some(slot) = self.cache.lookup(page) {
                    self.remove(slot);
                }
            }
            Operation::WriteBack(page) => {
                if let Some(slot) = self.cache.lookup(page) {
                    self.cache.set_dirty(slot, false);
                    self.mark(page, Content { dirty: false, orphan: false });
                }
            }
            Operation::DropFlashCopy(page) => {
                if let Some(slot) = self.cache.lookup(page) {
                    self.cache.orphan(slot);
                    self.mark(page, Content { dirty: true, orphan: true });
                }
            }
        }
    }

    /// Everything that can be asked has the answer it should have.
    fn check(&self) {
        let Self { cache, content, .. } = self;
        cache.assert_invariants();
        assert_eq!(cache.capacity(), self.capacity);
        assert_eq!(cache.len() as usize, content.len());
        assert_eq!(cache.is_empty(), content.is_empty());
        assert_eq!(cache.is_full(), content.len() == self.capacity as usize);
        assert_eq!(cache.dirty_len() as usize, content.values().filter(|c| c.dirty).count());
        for page in (0..self.pages).map(Lpn::new) {
            let held = cache
                .lookup(page)
                .map(|slot| Content { dirty: cache.is_dirty(slot), orphan: cache.is_orphan(slot) });
            assert_eq!(held, content.get(&page.get()).copied(), "{page:?}");
        }
        let mut occupied: Vec<u32> = cache.occupied().map(|slot| cache.page_of(slot).get()).collect();
        occupied.sort_unstable();
        assert!(occupied.iter().eq(content.keys()), "occupied slots");
    }
}

/// Names the run that failed, so that it can be repeated.
struct OnFailure<'a> {
    policy: &'a str,
    capacity: u32,
    seed: u64,
    step: usize,
    operation: Option<Operation>,
}

impl Drop for OnFailure<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { policy, capacity, seed, step, operation } = self;
            eprintln!("{policy}, {capacity} slots, seed {seed}, step {step}: {operation:?}");
        }
    }
}

#[test]
fn every_policy_agrees_with_the_model() {
    for policy in EvictionConfig::NAMES.iter().copied().chain([EXTERNAL]) {
        for seed in 0..100 {
            let mut stream = Seed(seed).stream("contract");
            for capacity in [0, 1, 2, stream.random_range(3..20)] {
                let pages = stream.random_range(1..=2 * capacity + 2);
                let mut run = OnFailure { policy, capacity, seed, step: 0, operation: None };
                let mut pair = Pair::new(policy, capacity, pages);
                pair.check();
                for step in 0..300 {
                    let operation = Operation::draw(&mut stream, pages);
                    (run.step, run.operation) = (step, Some(operation));
                    pair.apply(operation);
                    pair.check();
                }
            }
        }
    }
}

#[test]
fn the_policies_differ_as_their_definitions_say() {
    for (policy, expected) in [("lru", [1, 2, 0]), ("fifo", [0, 1, 2]), ("clock", [1, 0, 2])] {
        let mut cache = Cache::new(&EvictionConfig::by_name(policy).unwrap(), 3, 3);
        let slots = [0, 1, 2].map(|page| cache.insert(Lpn::new(page), false));
        cache.touch(slots[2]);
        cache.touch(slots[0]);
        let left = [(); 3].map(|()| {
            let victim = cache.victim().unwrap();
            let page = cache.page_of(victim);
            cache.remove(victim);
            page.get()
        });
        assert_eq!(left, expected, "{policy}");
        assert_eq!(cache.victim(), None, "{policy}");
    }
}

#[test]
fn a_copy_is_an_orphan_from_the_drop_to_the_next_write_of_either_kind() {
    let (mut cache, slot) = full_cache();
    let state = |cache: &Cache| (cache.is_dirty(slot), cache.is_orphan(slot), cache.dirty_len());
    assert_eq!(state(&cache), (false, false, 0));
    for host_overwrites in [true, false] {
        cache.orphan(slot);
        cache.orphan(slot);
        assert_eq!(state(&cache), (true, true, 1));
        cache.set_dirty(slot, host_overwrites);
        assert_eq!(state(&cache), (host_overwrites, false, u32::from(host_overwrites)));
    }
    cache.orphan(slot);
    cache.remove(slot);
    assert_eq!(cache.dirty_len(), 0);
    assert_eq!(cache.insert(Lpn::new(0), false), slot);
    assert_eq!(state(&cache), (false, false, 0), "the next page in the slot inherits nothing");
}

#[test]
fn without_slots_nothing_is_ever_there() {
    for policy in EvictionConfig::NAMES {
        let mut cache = Cache::new(&EvictionConfig::by_name(policy).unwrap(), 0, 1 << 20);
        assert!(cache.is_full() && cache.is_empty());
        assert_eq!(cache.lookup(Lpn::from_index((1 << 20) - 1)), None);
        assert_eq!(cache.victim(), None);
        assert!(cache.heap_bytes() < 100, "{policy}: {} bytes", cache.heap_bytes());
        cache.assert_invariants();
    }
}

fn full_cache() -> (Cache, SlotId) {
    let mut cache = Cache::new(&EvictionConfig::default(), 1, 9);
    let slot = cache.insert(Lpn::new(7), false);
    (cache, slot)
}

#[test]
#[should_panic(expected = "no free slot for Lpn(8)")]
fn an_insertion_into_a_full_cache_is_refused() {
    full_cache().0.insert(Lpn::new(8), false);
}

#[test]
#[should_panic(expected = "no free slot for Lpn(0)")]
fn an_insertion_without_slots_is_refused() {
    Cache::new(&EvictionConfig::default(), 0, 9).insert(Lpn::new(0), false);
}

#[test]
#[should_panic(expected = "Lpn(7) is cached already")]
fn a_second_copy_of_a_page_is_refused() {
    let mut cache = Cache::new(&EvictionConfig::default(), 2, 9);
    cache.insert(Lpn::new(7), false);
    cache.insert(Lpn::new(7), false);
}

#[test]
#[should_panic(expected = "SlotId(0) is free")]
fn the_removal_of_nothing_is_refused() {
    let (mut cache, slot) = full_cache();
    cache.remove(slot);
    cache.remove(slot);
}
