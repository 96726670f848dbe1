//! Requests per second of every generator, sizing and arrival: `cargo bench -p coflash-workload`.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use coflash_base::Seed;
use coflash_workload::Source;
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, Synthetic, SyntheticConfig};
use std::hint::black_box;
use std::time::Instant;

const REQUESTS: u64 = 20_000_000;
const SPACE_BYTES: u64 = 900 << 30;

/// The best of three runs: what the machine does when nothing else disturbs it.
fn measure(what: &str, config: SyntheticConfig) {
    let config = SyntheticConfig { requests: REQUESTS, ..config };
    let seconds = (0..3)
        .map(|_| {
            let mut source = Synthetic::new(&config, SPACE_BYTES, Seed(1)).expect("defaults are allowed");
            let mut batch = Vec::new();
            let begin = Instant::now();
            loop {
                source.next_batch(&mut batch).expect("a generator has no input that could be wrong");
                if batch.is_empty() {
                    return begin.elapsed().as_secs_f64();
                }
                black_box(&batch);
            }
        })
        .fold(f64::INFINITY, f64::min);
    println!("{what:28} {:7.1} million requests/s", REQUESTS as f64 / seconds / 1e6);
}

fn main() {
    let config = SyntheticConfig::default;
    for name in GeneratorConfig::NAMES {
        let generator = GeneratorConfig::by_name(name).expect("a name of the list");
        measure(&format!("generator {name}"), SyntheticConfig { generator, ..config() });
    }
    for name in SizeConfig::NAMES {
        let size = SizeConfig::by_name(name).expect("a name of the list");
        measure(&format!("size {name}"), SyntheticConfig { size, ..config() });
    }
    for name in ArrivalConfig::NAMES {
        let arrival = ArrivalConfig::by_name(name).expect("a name of the list");
        measure(&format!("arrival {name}"), SyntheticConfig { arrival, ..config() });
    }
}
