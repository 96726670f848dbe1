//! Whole runs of the simulator, and decisions of OP-FCL.

use crate::Measured;
use coflash_hybrid::WritePolicy;
use coflash_hybrid::costmodel::{Cleaning, Costs, Demand, FlashCosts, HitCurve, Measured as CostsMeasured};
use coflash_scenario::{Requests, Scenario};
use coflash_sim::{NoObserver, RunInputs, TRACES, begin, run};
use std::time::Instant;

pub(crate) fn scenario(name: &str, assignments: &[(&str, &str)]) -> Scenario {
    Scenario::built_in(name).and_then(|scenario| scenario.set(assignments)).expect("a built-in scenario")
}

pub(crate) fn simulate(name: &str, assignments: &[(&str, &str)]) -> Measured {
    measure(&scenario(name, assignments))
}

/// A placement policy, where nine in ten writes go to a tenth of the pages.
pub(crate) fn placement(name: &str) -> Measured {
    let assignments = [
        ("ftl.placement", name),
        ("ftl.shared_streams", r#"[["host", "evict"]]"#),
        ("ftl.pools", "device"),
        ("gc.low_mark", "16"),
        ("workload.synthetic.generator", "hot-cold"),
        ("workload.synthetic.requests", "1000000"),
    ];
    simulate("random-5g", &assignments)
}

/// Read of a set that is soon cached, with the workload tracked.
pub(crate) fn op_fcl_hits(requests: u64) -> Measured {
    let mut scenario = scenario("opfcl-config1", &[]);
    let config = coflash_base::read::read(&serde_json::json!({
        "generator": { "name": "zipf", "exponent": 1.0 },
        "requests": requests,
        "read_share": "100%",
        "space": "256MiB",
        // Limited to the pace at which the disk fills the cache.
        "arrival": { "name": "poisson", "mean": "10ms" },
    }));
    scenario.workload.requests = Requests::Synthetic(config.expect("a configuration"));
    measure(&scenario)
}

/// Decisions on the partition of flash, each among 16 × 17 partitions, and their share of a period of 2^16 cache hits.
pub(crate) fn decisions(by_measures: bool) -> Measured {
    const DECISIONS: u32 = 20_000;
    const STEP: f64 = 1.0 / 16.0;
    let scenario = scenario("opfcl-config1", &[]);
    let disks = scenario.hybrid.as_ref().and_then(|hybrid| scenario.disks(hybrid).ok()).expect("its disks");
    let costs = Costs {
        flash: FlashCosts::new(&scenario.flash, &scenario.timing),
        disk: disks.costs(scenario.flash.page_size.count),
        write_policy: WritePolicy::WriteBack,
    };
    let measured = CostsMeasured {
        pages_per_s: 100.0,
        fetched_page_ns: costs.disk.read_ns(),
        destaged_page_ns: costs.disk.write_ns(),
        past_the_cache: 0.0,
        cleaning: Cleaning::default(),
        spared: 0.0,
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
            costs.best(&demand, 0.0, STEP, 0.97).caching
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
    let begun = begin(scenario, &RunInputs::only(TRACES), &mut NoObserver).expect("it begins");
    let result = begun.finish(&mut NoObserver).expect("it runs");
    let simulator = &result.simulator;
    Measured {
        requests_per_second: simulator.requests_per_second,
        programs_per_second: Some(simulator.programs_per_second),
        programs: Some(simulator.programs_per_second * simulator.wall_seconds),
        state_bytes_per_page: Some(simulator.state_bytes_per_page),
        peak_rss_bytes: simulator.peak_rss_bytes,
        note: result.metrics.number("waf_host").map(|waf| format!("WAF {waf:.3}")).unwrap_or_default(),
        ..Measured::default()
    }
}

/// A whole run with one request: nearly only the sequential fill.
pub(crate) fn fill() -> Measured {
    let scenario = scenario("random-5g", &[("workload.synthetic.requests", "1")]);
    let start = Instant::now();
    let result = run(&scenario, &mut NoObserver).expect("it runs");
    let seconds = start.elapsed().as_secs_f64();
    let pages = f64::from(scenario.flash.pages()) * 0.85;
    Measured {
        requests_per_second: pages / seconds,
        peak_rss_bytes: result.simulator.peak_rss_bytes,
        note: format!("{seconds:.3} s, set-up and one request included"),
        ..Measured::default()
    }
}
