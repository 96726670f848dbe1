//! The pace of generators, on one thread, without a simulation.

use crate::Measured;
use coflash_base::Seed;
use coflash_fio::{JobFile, JobRequests};
use coflash_trace::info::InfoOptions;
use coflash_trace::like::fit;
use coflash_workload::jobs::JobSource;
use coflash_workload::presets::PresetConfig;
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, SyntheticConfig};
use coflash_workload::{Part, Source};
use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::Instant;

const REQUESTS: u64 = 20_000_000;
const SPACE_BYTES: u64 = 900 << 30;

fn config() -> SyntheticConfig {
    SyntheticConfig { requests: REQUESTS, ..SyntheticConfig::default() }
}

pub(crate) fn generator(name: &str) -> Measured {
    let generator = GeneratorConfig::by_name(name).expect("a name of the list");
    measure(&Part::from(SyntheticConfig { generator, ..config() }))
}

pub(crate) fn size(name: &str) -> Measured {
    let size = SizeConfig::by_name(name).expect("a name of the list");
    measure(&Part::from(SyntheticConfig { size, ..config() }))
}

fn arrival_part(name: &str) -> Part {
    let arrival = ArrivalConfig::by_name(name).expect("a name of the list");
    Part::from(SyntheticConfig { arrival, ..config() })
}

pub(crate) fn arrival(name: &str) -> Measured {
    measure(&arrival_part(name))
}

pub(crate) fn preset(name: &str) -> Measured {
    let preset: PresetConfig =
        coflash_base::read::read(&serde_json::json!({ "name": name, "requests": REQUESTS }))
            .expect("every preset has the given number of requests");
    measure(&Part::from(preset))
}

pub(crate) fn phases() -> Measured {
    measure(&Part { phases: vec![arrival_part("poisson"); 8], ..Part::default() })
}

pub(crate) fn tenants() -> Measured {
    measure(&Part { tenants: vec![arrival_part("poisson"); 8], ..Part::default() })
}

/// A job of fio.
pub(crate) fn job(options: &str) -> Measured {
    let text = format!("[job]\nnumber_ios={REQUESTS}\n{options}\n");
    let file = JobFile::read("job.fio", &mut |_| Ok(text.clone())).expect("it is allowed");
    let mut job = JobRequests::new(&file.jobs[0], SPACE_BYTES, Seed(1)).expect("it is allowed");
    let start = Instant::now();
    let requests = std::iter::from_fn(|| black_box(job.draw())).count();
    Measured { requests_per_second: requests as f64 / start.elapsed().as_secs_f64(), ..Measured::default() }
}

fn measure(part: &Part) -> Measured {
    let part = Part { requests_max: NonZeroU64::new(REQUESTS), ..part.clone() };
    drain(part.open(SPACE_BYTES, Seed(1)).expect("it is allowed"))
}

/// Take all requests of a source.
fn drain(mut source: impl Source) -> Measured {
    let (mut batch, mut requests) = (Vec::new(), 0);
    let start = Instant::now();
    loop {
        source.next_batch(&mut batch).expect("a generator has no input that could be wrong");
        if batch.is_empty() {
            break;
        }
        requests += black_box(&batch).len();
    }
    Measured { requests_per_second: requests as f64 / start.elapsed().as_secs_f64(), ..Measured::default() }
}

/// The fit of a workload to another one, with the description of the original.
pub(crate) fn like() -> Measured {
    let generator = GeneratorConfig::by_name("zipf").expect("a name of the list");
    let mut source = Part::from(SyntheticConfig { generator, ..config() })
        .open(SPACE_BYTES, Seed(1))
        .expect("it is allowed");
    let start = Instant::now();
    black_box(fit(&mut source, InfoOptions::default().page, |_| ()).expect("there are requests"));
    let seconds = start.elapsed().as_secs_f64();
    Measured {
        requests_per_second: REQUESTS as f64 / seconds,
        note: "all passes".to_owned(),
        ..Measured::default()
    }
}
