//! A victim policy of one's own, in a crate of one's own: coflash is a library.
//!
//! `cargo run --release --package rust-policy` compares it with two of coflash's.

use coflash_base::ExternalConfig;
use coflash_ftl::VictimConfig;
use coflash_ftl::victim::{Columns, ExternalVictim, MakeVictim};
use coflash_sim::{NoObserver, Scenario, run};
use std::error::Error;
use std::sync::Arc;

/// Cost age times: the block with the least u / (1 − u) · erases / age, which also spares worn blocks (Chiang & Chang,
/// "Cleaning policies in mobile computers using flash memory", Journal of Systems and Software 48(3), 1999).
#[derive(Clone)]
struct CostAgeTimes;

impl ExternalVictim for CostAgeTimes {
    fn pick(&mut self, candidates: &Arc<Columns>) -> Option<usize> {
        let cost = |&place: &usize| {
            let u = candidates.cost[place] / f64::from(candidates.pages_per_block);
            let erases = (candidates.erases[place] + 1) as f64;
            u / (1.0 - u) * erases / (candidates.age[place] + 1) as f64
        };
        (0..candidates.blocks.len()).min_by(|one, other| cost(one).total_cmp(&cost(other)))
    }
}

/// The names of three victim policies, and the write amplification of each on the same workload.
fn compare() -> Result<Vec<(&'static str, f64)>, Box<dyn Error>> {
    let scenario = Scenario::load("demo")?.set(&[
        ("flash.blocks_per_plane", "64"),
        ("precondition.random_passes", "1"),
        ("workload.synthetic.generator", "hot-cold"),
        ("workload.synthetic.requests", "100000"),
    ])?;
    // The scenario names the code, and the program provides it.
    let own: ExternalConfig<MakeVictim> =
        ExternalConfig::new("cost-age-times", Arc::new(|_pool| Box::new(CostAgeTimes)));
    let named = |name| VictimConfig::by_name(name).expect("it is one of coflash's");
    let mut found = Vec::new();
    for victim in [named("greedy"), named("cost-benefit"), VictimConfig::External(own)] {
        let mut scenario = scenario.clone();
        scenario.gc.victim = victim;
        let result = run(&scenario, &mut NoObserver)?;
        found.push((scenario.gc.victim.name(), result.metrics.number("waf_host").unwrap_or(f64::NAN)));
    }
    Ok(found)
}

fn main() -> Result<(), Box<dyn Error>> {
    for (name, waf) in compare()? {
        println!("{name:12} write amplification {waf:.3}");
    }
    Ok(())
}

#[test]
fn each_policy_amplifies_in_its_own_way() {
    let found = compare().unwrap();
    assert_eq!(found.iter().map(|of| of.0).collect::<Vec<_>>(), ["greedy", "cost-benefit", "external"]);
    let wafs: Vec<f64> = found.iter().map(|of| of.1).collect();
    assert!(wafs.iter().all(|&waf| waf > 1.0), "{wafs:?}");
    assert!(wafs[0] != wafs[1] && wafs[1] != wafs[2] && wafs[2] != wafs[0], "{wafs:?}");
}
