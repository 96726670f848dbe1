//! Requests per second of every generator, sizing and arrival: `cargo bench -p coflash-workload`.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use coflash_base::Seed;
use coflash_workload::like::{FitOptions, fit_source};
use coflash_workload::ready_made::PresetConfig;
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, SyntheticConfig};
use coflash_workload::{Part, Source};
use std::hint::black_box;
use std::time::Instant;

const REQUESTS: u64 = 20_000_000;
const SPACE_BYTES: u64 = 900 << 30;

/// The best of three runs: what the machine does when nothing else disturbs it.
fn measure(what: &str, part: &Part) {
    let part = Part { requests_max: Some(REQUESTS), ..part.clone() };
    let rate = (0..3)
        .map(|_| {
            let mut source = part.open(SPACE_BYTES, Seed(1)).expect("it is allowed");
            let (mut batch, mut requests) = (Vec::new(), 0);
            let begin = Instant::now();
            loop {
                source.next_batch(&mut batch).expect("a generator has no input that could be wrong");
                if batch.is_empty() {
                    return requests as f64 / begin.elapsed().as_secs_f64();
                }
                requests += black_box(&batch).len();
            }
        })
        .fold(0.0, f64::max);
    println!("{what:28} {:7.1} million requests/s", rate / 1e6);
}

fn main() {
    let config = || SyntheticConfig { requests: REQUESTS, ..SyntheticConfig::default() };
    for name in GeneratorConfig::NAMES {
        let generator = GeneratorConfig::by_name(name).expect("a name of the list");
        measure(&format!("generator {name}"), &Part::from(SyntheticConfig { generator, ..config() }));
    }
    for name in SizeConfig::NAMES {
        let size = SizeConfig::by_name(name).expect("a name of the list");
        measure(&format!("size {name}"), &Part::from(SyntheticConfig { size, ..config() }));
    }
    for name in ArrivalConfig::NAMES {
        let arrival = ArrivalConfig::by_name(name).expect("a name of the list");
        measure(&format!("arrival {name}"), &Part::from(SyntheticConfig { arrival, ..config() }));
    }
    for name in PresetConfig::NAMES {
        let preset = PresetConfig::by_name(name).expect("a name of the list");
        measure(&format!("preset {name}"), &Part::from(preset));
    }
    let poisson = ArrivalConfig::by_name("poisson").expect("a name of the list");
    let part = Part::from(SyntheticConfig { arrival: poisson, ..config() });
    for count in [2, 8] {
        measure(&format!("{count} phases"), &Part { phases: vec![part.clone(); count], ..Part::default() });
        measure(&format!("{count} tenants"), &Part { tenants: vec![part.clone(); count], ..Part::default() });
    }
    let trace = SyntheticConfig { generator: GeneratorConfig::by_name("zipf").expect("a name"), ..config() };
    let mut source = Part::from(trace).open(SPACE_BYTES, Seed(1)).expect("it is allowed");
    let begin = Instant::now();
    black_box(fit_source(&mut source, &FitOptions::default()).expect("there are requests"));
    let seconds = begin.elapsed().as_secs_f64();
    println!("{:28} {:7.1} million requests/s, both passes", "like", REQUESTS as f64 / seconds / 1e6);
}
