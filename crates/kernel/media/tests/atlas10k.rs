//! The mechanical disk against a real one: service times of 10,000 requests that the DiskSim project measured on a
//! Quantum Atlas 10K, served one at a time.
//!
//! `COFLASH_TRACES` names the folder of recorded traces; without them the test is skipped.

use coflash_base::{Duration, Time};
use coflash_media::disk::{Direction, DiskModel, DiskTransfer, Mechanical, MechanicalConfig};
use std::path::{Path, PathBuf};

const TRACE: &str = "third-party/hdd_validate_atlas10k.trace.zst";

struct Measured {
    transfer: DiskTransfer,
    service_us: f64,
    next_us: f64,
}

fn trace() -> Option<Vec<Measured>> {
    let given = std::env::var_os("COFLASH_TRACES").map(PathBuf::from);
    let root =
        given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/traces"));
    let packed = std::fs::read(root.join(TRACE)).ok()?;
    let text =
        String::from_utf8(zstd::decode_all(packed.as_slice()).expect("the trace unpacks")).expect("text");
    Some(text.lines().map(parse).collect())
}

/// `R Hit 3962268 12 6657.0 64047.0`: direction, the label in the drive's trace (always a hit), first sector,
/// sectors, service time and time to the next request in microseconds.
fn parse(line: &str) -> Measured {
    let fields: Vec<_> = line.split_whitespace().collect();
    let [direction, _, first, sectors, service, next] = fields[..] else { panic!("six fields: {line}") };
    let direction = if direction == "R" { Direction::Read } else { Direction::Write };
    let number = |text: &str| text.parse::<f64>().expect("a number");
    Measured {
        transfer: DiskTransfer {
            direction,
            first: first.parse().unwrap(),
            sectors: sectors.parse().unwrap(),
        },
        service_us: number(service),
        next_us: number(next),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The root mean square of the horizontal distance between two cumulative curves.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let squares: Vec<_> =
        std::iter::zip(sorted(one), sorted(other)).map(|(a, b)| (a - b) * (a - b)).collect();
    mean(&squares).sqrt()
}

#[test]
#[allow(
    clippy::print_stdout,
    reason = "what was measured is reported, and a test that is skipped must say so"
)]
fn service_times_are_those_of_the_real_drive() {
    let Some(requests) = trace() else {
        println!("skipped: no measured drive here (COFLASH_TRACES names the folder that has {TRACE})");
        return;
    };
    let mut disk = Mechanical::new(&MechanicalConfig::default());
    let mut now = Time::ZERO;
    let mut simulated = Vec::with_capacity(requests.len());
    for request in &requests {
        let done = disk.serve(&request.transfer, now);
        simulated.push(done.since(now).ns as f64 / 1e3);
        now = done.max(now + Duration { ns: (request.next_us * 1e3) as u64 });
    }
    // Writes are short, so that the few that had to wait for the platter weigh much.
    for (name, direction, apart_max) in
        [("all", None, 0.05), ("reads", Some(Direction::Read), 0.05), ("writes", Some(Direction::Write), 0.2)]
    {
        let of = |values: &dyn Fn(usize) -> f64| {
            let kept =
                |&index: &usize| direction.is_none_or(|only| requests[index].transfer.direction == only);
            (0..requests.len()).filter(kept).map(values).collect::<Vec<_>>()
        };
        let (real, model) = (of(&|index| requests[index].service_us), of(&|index| simulated[index]));
        let (real_mean, model_mean, apart) = (mean(&real), mean(&model), distance(&real, &model));
        let quantiles = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            [5, 25, 50, 75, 95, 99].map(|q| values[values.len() * q / 100].round())
        };
        println!(
            "{name}: mean {real_mean:.0} µs measured, {model_mean:.0} simulated; curves {apart:.0} µs apart ({:.1} % of \
             the mean); quantiles {:?} and {:?}",
            100.0 * apart / real_mean,
            quantiles(&real),
            quantiles(&model),
        );
        assert!((model_mean / real_mean - 1.0).abs() < 0.1, "{name}: means differ by more than a tenth");
        assert!(apart < apart_max * real_mean, "{name}: the curves are far apart");
    }
}
