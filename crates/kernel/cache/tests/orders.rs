//! Caches with an eviction order for clean and one for dirty pages, or a common one that both share.

use coflash_base::seed::{RngExt, Seed};
use coflash_base::{Lpn, Share};
use coflash_cache::evict::CflruConfig;
use coflash_cache::{Cache, EvictionConfig, Orders, PolicyPair};

fn cache(policy: &str, slots: u32, orders: Orders) -> Cache<PolicyPair> {
    Cache::with_orders(&EvictionConfig::by_name(policy).unwrap(), slots, 20, orders)
}

#[test]
fn clean_and_dirty_pages_leave_by_their_own_orders() {
    let mut cache = cache("lru", 4, Orders::Own);
    let slots: Vec<_> = [(1, false), (2, true), (3, false), (4, true)]
        .map(|(page, dirty)| cache.insert(Lpn::new(page), dirty))
        .into();
    assert_eq!((cache.victim_of(false), cache.victim_of(true)), (Some(slots[0]), Some(slots[1])));
    cache.write(slots[0]);
    assert_eq!((cache.victim_of(false), cache.dirty_len(), cache.clean_len()), (Some(slots[2]), 3, 1));
    cache.pin(slots[1]);
    assert_eq!(cache.victim_of(true), Some(slots[3]));
    cache.write(slots[1]);
    cache.remove(slots[3]);
    assert_eq!(cache.victim_of(true), Some(slots[0]));
    cache.assert_invariants();
}

#[test]
fn a_common_order_is_that_of_all_pages() {
    let mut cache = cache("lru", 3, Orders::Common);
    let first = cache.insert(Lpn::new(1), true);
    let second = cache.insert(Lpn::new(2), false);
    assert_eq!((cache.victim_of(false), cache.victim_of(true)), (Some(first), Some(first)));
    cache.touch(first);
    assert_eq!(cache.victim_of(true), Some(second));
    cache.write(second);
    assert_eq!(cache.victim_of(false), Some(first));
    cache.assert_invariants();
}

#[test]
fn a_write_tells_the_policy_that_the_page_became_dirty() {
    // With this window any clean page leaves before any dirty one.
    let policy = EvictionConfig::Cflru(CflruConfig { window: Share::percent(100) });
    let mut cache = Cache::with_orders(&policy, 2, 20, Orders::Common);
    let written = cache.insert(Lpn::new(1), false);
    let clean = cache.insert(Lpn::new(2), false);
    cache.write(written);
    cache.touch(clean);
    assert_eq!(cache.victim_of(false), Some(clean));
}

#[test]
fn a_common_order_is_that_of_a_cache_with_one_order() {
    for policy in EvictionConfig::NAMES {
        for seed in 0..40 {
            let mut common = cache(policy, 8, Orders::Common);
            let mut one = Cache::new(&EvictionConfig::by_name(policy).unwrap(), 8, 20);
            let mut stream = Seed(seed).stream("common");
            for step in 0..500 {
                let lpn = Lpn::new(stream.random_range(0..20));
                let dirty = stream.random();
                assert_eq!(common.lookup(lpn), one.lookup(lpn), "{policy}, seed {seed}, step {step}");
                match common.lookup(lpn) {
                    Some(slot) if dirty => {
                        common.write(slot);
                        one.touch(slot);
                        one.set_dirty(slot, true);
                    }
                    Some(slot) => {
                        common.touch(slot);
                        one.touch(slot);
                    }
                    None => {
                        if common.is_full() {
                            let victim = common.victim_of(dirty).expect("a full cache has a victim");
                            assert_eq!(one.victim(), Some(victim), "{policy}, seed {seed}, step {step}");
                            common.remove(victim);
                            one.remove(victim);
                        }
                        common.insert(lpn, dirty);
                        one.insert(lpn, dirty);
                    }
                }
            }
        }
    }
}

#[test]
fn whatever_is_done_every_page_keeps_its_place() {
    for (policy, orders) in
        EvictionConfig::NAMES.iter().flat_map(|name| [(name, Orders::Own), (name, Orders::Common)])
    {
        let mut cache = cache(policy, 8, orders);
        let mut stream = Seed(1).stream("split");
        for _ in 0..5000 {
            let lpn = Lpn::new(stream.random_range(0..20));
            match (cache.lookup(lpn), stream.random_range(0..5)) {
                (None, _) if cache.is_full() => {
                    if let Some(slot) = cache.victim_of(stream.random()) {
                        cache.remove(slot);
                    }
                }
                (None, draw) => {
                    cache.insert(lpn, draw < 2);
                }
                (Some(slot), 0) => cache.remove(slot),
                (Some(slot), 1) if !cache.is_pinned(slot) => cache.pin(slot),
                (Some(slot), 1) => cache.unpin(slot),
                (Some(slot), 2) => cache.write(slot),
                (Some(slot), _) if !cache.is_pinned(slot) => cache.touch(slot),
                _ => {}
            }
            cache.assert_invariants();
        }
    }
}
