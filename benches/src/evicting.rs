//! Eviction policies, without a device.

use crate::{Measured, peers};
use coflash_base::{Bytes, Lpn, Save, Seed};
use coflash_cache::{Cache, EvictionConfig};
use coflash_sim::{MissRatioOptions, NoObserver, miss_ratio_curves};
use coflash_trace::TraceOptions;
use coflash_trace::info::Sample;
use coflash_workload::Source;
use coflash_workload::synthetic::{Synthetic, SyntheticConfig};
use std::time::Instant;

/// A plain cache of a tenth of the keys, Zipf 1.0 over 1 M keys.
pub(crate) fn eviction(name: &str) -> Measured {
    let keys = keys();
    let policy = EvictionConfig::by_name(name).expect("a registered name");
    let mut cache = Cache::new(&policy, PAGES / 10, PAGES as usize);
    let mut hits = 0_u64;
    let start = Instant::now();
    for &lpn in &keys {
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
    Measured {
        requests_per_second: ACCESSES as f64 / start.elapsed().as_secs_f64(),
        state_bytes_per_page: Some(cache.heap_bytes() as f64 / f64::from(PAGES / 10)),
        note: format!("hit ratio {:.4}; bytes for each of 100,000 slots", hits as f64 / ACCESSES as f64),
        ..Measured::default()
    }
}

/// The miss ratio of a policy as users ask for it: of all pages of a trace, which is read first.
pub(crate) fn curve(name: &str) -> Measured {
    let name_of_file = format!("coflash-bench-{}.oracleGeneral", std::process::id());
    let path = std::env::temp_dir().join(name_of_file).to_string_lossy().into_owned();
    std::fs::write(&path, trace()).expect("room for a file");
    let options = MissRatioOptions {
        policies: vec![name.to_owned()],
        sizes: vec![Bytes { count: u64::from(PAGES / 10) * 4096 }],
        sample: Sample::EXACT,
        ..MissRatioOptions::default()
    };
    let start = Instant::now();
    let curves =
        miss_ratio_curves(std::slice::from_ref(&path), &TraceOptions::default(), &options, &mut NoObserver);
    let seconds = start.elapsed().as_secs_f64();
    // It is only a copy.
    let _ = std::fs::remove_file(&path);
    let misses = curves.expect("a trace").miss_ratio[0].1[0];
    Measured {
        requests_per_second: ACCESSES as f64 / seconds,
        note: format!("hit ratio {:.4}; reading included", 1.0 - misses),
        ..Measured::default()
    }
}

/// libCacheSim with the same cache and keys.
pub(crate) fn lru_of_peer() -> Measured {
    peers::measured("lru", &trace(), ACCESSES)
}

/// The keys as a trace in the format of libCacheSim.
fn trace() -> Vec<u8> {
    let record = |lpn: Lpn| {
        let [time, key, size, next] =
            [&[0; 4][..], &u64::from(lpn.get()).to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]];
        [time, key, size, next].concat()
    };
    keys().into_iter().flat_map(record).collect()
}

const PAGES: u32 = 1_000_000;
const ACCESSES: u64 = 20_000_000;

/// The keys of the rows of eviction, drawn before the clock starts.
fn keys() -> Vec<Lpn> {
    let config: SyntheticConfig = coflash_base::read::read(&serde_json::json!({
        "generator": { "name": "zipf", "exponent": 1.0 },
        "requests": ACCESSES,
    }))
    .expect("a configuration");
    let mut source = Synthetic::new(&config, u64::from(PAGES) * 4096, Seed(1)).expect("a workload");
    let (mut keys, mut batch) = (Vec::new(), Vec::new());
    while keys.len() < ACCESSES as usize {
        source.next_batch(&mut batch).expect("a workload");
        keys.extend(batch.iter().map(|request| Lpn::new((request.offset / 4096) as u32)));
    }
    keys
}
