//! The rows of the table.

use crate::Measured;
use crate::{counting, generating, parsing, serving, storing};
use coflash_base::{Lpn, Seed};
use coflash_cache::{Cache, EvictionConfig};
use coflash_hybrid::WritePolicy;
use coflash_hybrid::costmodel::{Cleaning, Costs, Demand, HitCurve, Measured as CostsMeasured};
use coflash_scenario::Scenario;
use coflash_sim::{NoObserver, run};
use coflash_trace::formats;
use coflash_workload::Source;
use coflash_workload::presets::PresetConfig;
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, Synthetic, SyntheticConfig};
use std::time::Instant;

/// A row: its name and its measurement.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) run: Box<dyn Fn() -> Measured>,
}

pub(crate) fn row(name: impl Into<String>, run: impl Fn() -> Measured + 'static) -> Row {
    Row { name: name.into(), run: Box::new(run) }
}

/// Jobs of fio, by the options that take their time.
const FIO_JOBS: &[&str] = &[
    "rw=write",
    "rw=randwrite",
    "rw=randwrite\nnorandommap",
    "rw=randrw\nnorandommap\nbssplit=4k/60:16k/40",
    "rw=randwrite\nrandom_distribution=zoned:60/10:40/90",
    "rw=randwrite\nrandom_distribution=zipf:1.2",
];

/// The formats of the rows of statistics: the usual text, one that is slow to read, one that is fast.
const INSPECTED: &[&str] = &["msr", "blkparse", "blktrace"];

/// A row for each member of a family.
fn family(of: &str, names: &[&'static str], run: fn(&str) -> Measured) -> Vec<Row> {
    names.iter().map(|&name| row(format!("{of} {}", name.replace('\n', " ")), move || run(name))).collect()
}

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/traces/pgbench-oltp-400k.iolog.zst");

/// All rows, in the order of the table.
pub(crate) fn rows() -> Vec<Row> {
    let standard = |assignments: &'static [(&str, &str)]| move || simulate("random-5g", assignments);
    let mut rows = vec![
        row("standard job", standard(&[])),
        row("standard job, counted, no time", counting::standard),
        row("standard job, none, cache 5 %", standard(&[("cache.size", "5%")])),
        row("standard job, cdm, cache 5 %", standard(&[("cache.size", "5%"), ("cooperation", "cdm")])),
        row(
            "standard job, cdm, in the host",
            standard(&[("cache.size", "5%"), ("cooperation", "cdm"), ("cache.placement", "host")]),
        ),
        row(
            "standard job, shared channels",
            standard(&[
                ("timing.channel", "shared"),
                ("flash.channels", "4"),
                ("flash.chips_per_channel", "2"),
            ]),
        ),
        row("sequential writes", standard(&[("workload.synthetic.generator", "sequential")])),
        row("shipped trace, closed loop, cdm", || {
            simulate("demo", &[("workload.trace", &format!("[{TRACE:?}]"))])
        }),
        row("ShadowGC, 1 TB, ggc", || simulate("shadowgc-1t", &[("cooperation", "ggc")])),
        row("ShadowGC, 1 TB, sgc", || simulate("shadowgc-1t", &[])),
        row("ShadowGC, 64 GB, ggc", || simulate("shadowgc-64g", &[("cooperation", "ggc")])),
        row("ShadowGC, 64 GB, sgc", || simulate("shadowgc-64g", &[])),
        row("OP-FCL, 4 GiB, cache hits", || op_fcl_hits(10_000_000)),
        row("OP-FCL, decisions, constants", || decisions(false)),
        row("OP-FCL, decisions, measured", || decisions(true)),
        row("filling 5 GiB", fill),
    ];
    rows.extend(family("eviction", EvictionConfig::NAMES, eviction));
    rows.extend(family("reading", &formats::names(), parsing::generated));
    rows.push(row("reading the shipped trace (zst)", || parsing::file(TRACE)));
    rows.extend(family("trace info", INSPECTED, parsing::inspected));
    rows.push(row("trace info, the shipped trace", || parsing::inspected(TRACE)));
    rows.extend(family("generator", GeneratorConfig::NAMES, generating::generator));
    rows.extend(family("size", SizeConfig::NAMES, generating::size));
    rows.extend(family("arrival", ArrivalConfig::NAMES, generating::arrival));
    rows.extend(family("preset", PresetConfig::NAMES, generating::preset));
    rows.extend(family("fio", FIO_JOBS, generating::job));
    rows.push(row("8 phases", generating::phases));
    rows.push(row("8 tenants", generating::tenants));
    rows.push(row("like", generating::like));
    rows.extend(storing::rows());
    rows.extend(serving::rows());
    rows
}

pub(crate) fn scenario(name: &str, assignments: &[(&str, &str)]) -> Scenario {
    Scenario::built_in(name).and_then(|scenario| scenario.set(assignments)).expect("a built-in scenario")
}

fn simulate(name: &str, assignments: &[(&str, &str)]) -> Measured {
    measure(&scenario(name, assignments))
}

/// Read of a set that is soon cached, with the workload tracked.
fn op_fcl_hits(requests: u64) -> Measured {
    let mut scenario = scenario("opfcl-config1", &[]);
    scenario.workload.preset = None;
    scenario.workload.synthetic = serde_json::from_value(serde_json::json!({
        "generator": { "name": "zipf", "exponent": 1.0 },
        "requests": requests,
        "read_share": "100%",
        "space": "256MiB",
        // Limited to the pace at which the disk fills the cache.
        "arrival": { "name": "poisson", "mean": "10ms" },
    }))
    .expect("a configuration");
    measure(&scenario)
}

/// Decisions on the partition of flash, each among 16 × 17 partitions, and their share of a period of 2^16 cache hits.
fn decisions(by_measures: bool) -> Measured {
    const DECISIONS: u32 = 20_000;
    const STEP: f64 = 1.0 / 16.0;
    let costs = Costs::CONFIG_1;
    let measured = CostsMeasured {
        pages_per_s: 100.0,
        fetched_page_ns: costs.disk.read_ns(),
        destaged_page_ns: costs.disk.write_ns(),
        past_the_cache: 0.0,
        cleaning: Cleaning::default(),
        writes_wait: true,
        write_policy: WritePolicy::WriteBack,
        disks: 1.0,
        dies: 1.0,
    };
    let curve = |most: f64| HitCurve::new((1..=16).map(|n| most * (1.0 - 0.8_f64.powi(n))), STEP);
    let mut demand = Demand {
        reads: 0.4,
        writes: 0.6,
        read_hits: curve(0.9),
        write_hits: curve(0.8),
        reads_of_write_hits: 0.2,
    };
    let start = Instant::now();
    let mut caching = 0.0;
    for number in 0..DECISIONS {
        // Each has another demand, so that none can be optimised away.
        demand.reads = f64::from(number) / f64::from(DECISIONS);
        demand.writes = 1.0 - demand.reads;
        caching += if by_measures {
            measured.best(&costs.flash, &demand, STEP, 0.97).caching
        } else {
            costs.best(&demand, STEP, 0.97).caching
        };
    }
    let a_second = f64::from(DECISIONS) / start.elapsed().as_secs_f64();
    let period_s = f64::from(1 << 16) / op_fcl_hits(4_000_000).requests_per_second;
    Measured {
        requests_per_second: a_second,
        note: format!(
            "{:.1} µs each, {:.2} % of a period of cache hits; mean u {:.2}",
            1e6 / a_second,
            100.0 / (a_second * period_s),
            caching / f64::from(DECISIONS)
        ),
        ..Measured::default()
    }
}

fn measure(scenario: &Scenario) -> Measured {
    let result = run(scenario, &mut NoObserver).expect("it runs");
    let simulator = result.simulator();
    Measured {
        requests_per_second: simulator.requests_per_second,
        programs_per_second: Some(simulator.programs_per_second),
        state_bytes_per_page: Some(simulator.state_bytes_per_page),
        peak_rss_bytes: simulator.peak_rss_bytes,
        note: result.metrics().number("waf_host").map(|waf| format!("WAF {waf:.3}")).unwrap_or_default(),
        ..Measured::default()
    }
}

/// A whole run with one request: nearly only the sequential fill.
fn fill() -> Measured {
    let scenario = scenario("random-5g", &[("workload.synthetic.requests", "1")]);
    let start = Instant::now();
    let result = run(&scenario, &mut NoObserver).expect("it runs");
    let seconds = start.elapsed().as_secs_f64();
    let pages = f64::from(scenario.flash.pages()) * 0.85;
    Measured {
        requests_per_second: pages / seconds,
        peak_rss_bytes: result.simulator().peak_rss_bytes,
        note: format!("{seconds:.3} s, set-up and one request included"),
        ..Measured::default()
    }
}

/// A plain cache of a tenth of the keys, Zipf 1.0 over 1 M keys.
fn eviction(name: &str) -> Measured {
    const PAGES: u32 = 1_000_000;
    const ACCESSES: u64 = 20_000_000;
    let config: SyntheticConfig = serde_json::from_value(serde_json::json!({
        "generator": { "name": "zipf", "exponent": 1.0 },
        "requests": ACCESSES,
    }))
    .expect("a configuration");
    let mut source = Synthetic::new(&config, u64::from(PAGES) * 4096, Seed(1)).expect("a workload");
    // Keys are drawn before the clock starts.
    let (mut keys, mut batch) = (Vec::new(), Vec::new());
    while keys.len() < ACCESSES as usize {
        source.next_batch(&mut batch).expect("a workload");
        keys.extend(batch.iter().map(|request| Lpn::new((request.offset / 4096) as u32)));
    }
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
