//! The rows of the table.

use crate::Measured;
use crate::parsing;
use coflash_base::{Lpn, Seed};
use coflash_cache::{Cache, EvictionConfig};
use coflash_sim::{Scenario, Silent, run};
use coflash_workload::Source;
use coflash_workload::synthetic::{Synthetic, SyntheticConfig};
use std::time::Instant;

/// A row: its name and how it is measured.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) run: fn() -> Measured,
}

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/traces/pgbench-oltp-400k.iolog.zst");

/// Every row, in the order of the table.
pub(crate) const ROWS: &[Row] = &[
    Row { name: "standard job", run: || simulate("random-5g", &[]) },
    Row { name: "standard job, none, cache 5 %", run: || simulate("random-5g", &[("cache.size", "5%")]) },
    Row {
        name: "standard job, cdm, cache 5 %",
        run: || simulate("random-5g", &[("cache.size", "5%"), ("cooperation", "cdm")]),
    },
    Row {
        name: "standard job, shared channels",
        run: || {
            simulate(
                "random-5g",
                &[("timing.channel", "shared"), ("flash.channels", "4"), ("flash.chips_per_channel", "2")],
            )
        },
    },
    Row {
        name: "sequential writes",
        run: || simulate("random-5g", &[("workload.synthetic.generator", "sequential")]),
    },
    Row {
        name: "shipped trace, closed loop, cdm",
        run: || simulate("demo", &[("workload.trace", &format!("[{TRACE:?}]"))]),
    },
    Row { name: "ShadowGC, 1 TB, ggc", run: || simulate("shadowgc-1t", &[("cooperation", "ggc")]) },
    Row { name: "ShadowGC, 1 TB, sgc", run: || simulate("shadowgc-1t", &[]) },
    Row { name: "ShadowGC, 64 GB, ggc", run: || simulate("shadowgc-64g", &[("cooperation", "ggc")]) },
    Row { name: "ShadowGC, 64 GB, sgc", run: || simulate("shadowgc-64g", &[]) },
    Row { name: "filling 5 GiB", run: fill },
    Row { name: "LRU, zipf 1.0 of 1 M keys", run: lru },
    Row { name: "parsing fio iolog", run: || parsing::made_up("fio") },
    Row { name: "parsing MSR CSV", run: || parsing::made_up("msr") },
    Row { name: "parsing SPC", run: || parsing::made_up("spc") },
    Row { name: "parsing DiskSim", run: || parsing::made_up("disksim") },
    Row { name: "parsing the shipped trace (zst)", run: || parsing::file(TRACE) },
];

fn scenario(name: &str, assignments: &[(&str, &str)]) -> Scenario {
    Scenario::preset(name).and_then(|scenario| scenario.set(assignments)).expect("a scenario that ships")
}

fn simulate(name: &str, assignments: &[(&str, &str)]) -> Measured {
    let result = run(&scenario(name, assignments), &mut Silent).expect("it runs");
    let simulator = result.simulator();
    Measured {
        requests_per_second: simulator.requests_per_second,
        programs_per_second: Some(simulator.programs_per_second),
        state_bytes_per_page: Some(simulator.state_bytes_per_page),
        peak_rss_bytes: simulator.peak_rss_bytes,
        note: result.metrics().waf_host.map(|waf| format!("WAF {waf:.3}")).unwrap_or_default(),
        ..Measured::default()
    }
}

/// The whole of a run with one request, which is the sequential fill and little else.
fn fill() -> Measured {
    let scenario = scenario("random-5g", &[("workload.synthetic.requests", "1")]);
    let start = Instant::now();
    let result = run(&scenario, &mut Silent).expect("it runs");
    let seconds = start.elapsed().as_secs_f64();
    let pages = f64::from(scenario.flash.pages()) * 0.85;
    Measured {
        requests_per_second: pages / seconds,
        peak_rss_bytes: result.simulator().peak_rss_bytes,
        note: format!("{seconds:.3} s, set-up and one request included"),
        ..Measured::default()
    }
}

fn lru() -> Measured {
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
    let mut cache = Cache::new(&EvictionConfig::default(), PAGES / 10, PAGES as usize);
    let mut hits = 0_u64;
    let start = Instant::now();
    for &lpn in &keys {
        if let Some(slot) = cache.lookup(lpn) {
            cache.touch(slot);
            hits += 1;
        } else {
            if cache.is_full() {
                let victim = cache.victim().expect("a full cache has a victim");
                cache.remove(victim);
            }
            cache.insert(lpn, false);
        }
    }
    Measured {
        requests_per_second: ACCESSES as f64 / start.elapsed().as_secs_f64(),
        note: format!("hit ratio {:.4}, cache of 10 %", hits as f64 / ACCESSES as f64),
        ..Measured::default()
    }
}
