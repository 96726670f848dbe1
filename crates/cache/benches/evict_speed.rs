//! Accesses a second of one cache: 20 M of zipf(1.0) over 1 M pages; a tenth of them fit.
//!
//! `cargo bench -p coflash-cache`

use coflash_base::{Lpn, Seed};
use coflash_cache::{Cache, EvictionConfig};
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Zipf};
use std::time::{Duration, Instant};

const PAGES: u32 = 1_000_000;
const SLOTS: u32 = PAGES / 10;
const ACCESSES: usize = 20_000_000;

fn main() {
    let keys = draw_keys();
    for name in EvictionConfig::NAMES {
        let config = EvictionConfig::by_name(name).expect("a registered name");
        let mut cache = Cache::new(&config, SLOTS, PAGES as usize);
        let (hits, wall) = replay(&mut cache, &keys);
        cache.assert_invariants();
        report(&format!(
            "{name:<10} {:6.1} M accesses/s   hit rate {:5.2} %   {:4.1} bytes a slot beside the index",
            ACCESSES as f64 / wall.as_secs_f64() / 1e6,
            hits as f64 / ACCESSES as f64 * 100.0,
            (cache.heap_bytes() - PAGES as usize * 4) as f64 / f64::from(SLOTS),
        ));
    }
}

#[allow(clippy::print_stdout, reason = "a benchmark speaks to the terminal")]
fn report(line: &str) {
    println!("{line}");
}

/// Keys drawn before the clock starts, and scattered: popular pages are no neighbours in the index.
fn draw_keys() -> Vec<Lpn> {
    let mut stream = Seed(1).stream("keys");
    let mut scattered: Vec<Lpn> = (0..PAGES).map(Lpn::new).collect();
    scattered.shuffle(&mut stream);
    let zipf = Zipf::new(f64::from(PAGES), 1.0).expect("a valid distribution");
    (0..ACCESSES).map(|_| scattered[zipf.sample(&mut stream) as usize - 1]).collect()
}

#[allow(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn replay(cache: &mut Cache, keys: &[Lpn]) -> (usize, Duration) {
    let start = Instant::now();
    let mut hits = 0;
    for &lpn in keys {
        if let Some(slot) = cache.lookup(lpn) {
            cache.touch(slot);
            hits += 1;
        } else {
            if cache.is_full() {
                let victim = cache.victim_for(lpn).expect("a full cache has a victim");
                cache.remove(victim);
            }
            cache.insert(lpn, false);
        }
    }
    (hits, start.elapsed())
}
