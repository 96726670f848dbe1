//! Each policy does as its description claims.

use crate::order::config;
use coflash_base::seed::{RngExt, Seed};
use coflash_base::{Lpn, Save};
use coflash_cache::{Cache, EvictionConfig};

/// Uses a page; whether the cache had it.
fn access(cache: &mut Cache, page: Lpn, dirty: bool) -> bool {
    if let Some(slot) = cache.lookup(page) {
        cache.touch(slot);
        return true;
    }
    if cache.is_full() {
        let victim = cache.victim_for(page).expect("a full cache has a victim");
        cache.remove(victim);
    }
    cache.insert(page, dirty);
    false
}

fn trim(cache: &mut Cache, page: Lpn) {
    if let Some(slot) = cache.lookup(page) {
        cache.remove(slot);
    }
}

#[test]
fn who_claims_to_be_lru_among_pages_of_one_kind_is() {
    let mut claims = 0;
    for name in EvictionConfig::NAMES.iter().filter(|name| config(name).is_lru_of_one_kind()) {
        claims += 1;
        for (seed, dirty) in (0..40).flat_map(|seed| [(seed, false), (seed, true)]) {
            let mut stream = Seed(seed).stream("of one kind");
            let mut cache = Cache::new(&config(name), 9, 20);
            let mut lru = Cache::new(&EvictionConfig::by_name("lru").unwrap(), 9, 20);
            for step in 0..400 {
                let page = Lpn::new(stream.random_range(0..20));
                if stream.random_range(0..8_u32) == 0 {
                    trim(&mut cache, page);
                    trim(&mut lru, page);
                } else {
                    let hits = [&mut cache, &mut lru].map(|cache| access(cache, page, dirty));
                    assert_eq!(hits[0], hits[1], "{name}, dirty {dirty}, seed {seed}, step {step}");
                }
            }
        }
    }
    assert!(claims >= 2, "LRU is, and CFLRU");
}

#[test]
fn where_a_unit_lies_does_not_matter() {
    const UNITS: u32 = 12;
    for name in EvictionConfig::NAMES {
        let unit_pages = config(name).unit_pages();
        let slots = 5 * unit_pages;
        for seed in 0..40 {
            let mut stream = Seed(seed).stream("units");
            let mut here = Cache::new(&config(name), slots, (UNITS * unit_pages) as usize);
            let mut elsewhere = Cache::new(&config(name), slots, (UNITS * unit_pages) as usize);
            let moved = |page: u32| {
                let unit = (page / unit_pages * 5 + 3) % UNITS;
                Lpn::new(unit * unit_pages + page % unit_pages)
            };
            for step in 0..600 {
                let page = stream.random_range(0..UNITS * unit_pages);
                if stream.random_range(0..8_u32) == 0 {
                    trim(&mut here, Lpn::new(page));
                    trim(&mut elsewhere, moved(page));
                } else {
                    let hit = access(&mut here, Lpn::new(page), true);
                    let moved = access(&mut elsewhere, moved(page), true);
                    assert_eq!(hit, moved, "{name}, seed {seed}, step {step}");
                }
            }
        }
    }
}

/// Bytes per slot, ghosts included, and per logical page.
#[test]
fn the_memory_of_a_policy_is_what_its_file_says() {
    const SLOTS: u32 = 10_000;
    const PAGES: u32 = 30_000;
    let bytes =
        |name: &str| Cache::new(&EvictionConfig::by_name(name).unwrap(), SLOTS, PAGES as usize).heap_bytes();
    let claims = [
        ("fifo", 8.0, 0.0),
        ("lfu", 36.0, 0.0),
        ("2q", 9.0 + 0.5 * 13.0, 4.0),
        ("arc", 22.0, 4.0),
        ("w-tinylfu", 9.0, 4.0),
        ("s3-fifo", 10.0 + 0.9 * 13.0, 4.0),
        ("sieve", 9.0, 0.0),
    ];
    for (name, slot, page) in claims {
        let beside_lru = bytes(name) as f64 - bytes("lru") as f64;
        let expected = (slot - 8.0) * f64::from(SLOTS) + page * f64::from(PAGES);
        assert!((beside_lru - expected).abs() < 200.0, "{name}: {beside_lru} and not {expected}");
    }
}
