//! Long random runs on devices of every kind, cut at random, again and again, recovery included.

use crate::subject::{Sabotage, Subject, draw};
use crate::support::Named;
use coflash_base::Seed;
use coflash_base::seed::RngExt;

/// Runs a random device through `cuts` power cuts. Returns the number of states, those of recoveries
/// included, and the number of GC steps in idle time; or the problem.
fn storm(seed: u64, cuts: u32, sabotage: Sabotage) -> Result<(u64, u64), String> {
    let mut states = 0;
    let mut stream = Seed(seed).stream("storm");
    let setup = draw(&mut stream);
    let _named = (sabotage == Sabotage::None).then(|| Named((seed, &setup)));
    let mut subject = Subject::full(&setup, sabotage);
    for cut in 0..cuts {
        subject.image().cut_after(stream.random_range(0..400));
        while !subject.is_dead() {
            subject.apply_drawn(&mut stream);
            if !subject.is_dead() {
                subject.device.assert_invariants();
            }
        }
        subject.restart_by_lot(&mut stream);
        let describe = |problem| format!("storm {seed} of {setup:#?}, cut {cut}: {problem}");
        // Recovery is cut too, sometimes, and sometimes again and again.
        let patience = stream.random_range(2..6_u32);
        while stream.random_range(0..patience) > 0 {
            states += 1;
            subject.image().cut_after(stream.random_range(0..24));
            subject.recover().map_err(describe)?;
            subject.restart_by_lot(&mut stream);
        }
        states += 1;
        subject.recover().map_err(describe)?;
    }
    Ok((states, subject.device.seen.idle_steps))
}

const CUTS_PER_STORM: u32 = 40;

/// Cuts in the test suite; `COFLASH_STORM_CUTS` asks for more.
pub(crate) fn cuts() -> u64 {
    std::env::var("COFLASH_STORM_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(20_000)
}

#[test]
fn pages_survive_as_committed() {
    let (mut states, mut idle_steps) = (0, 0);
    for seed in 0..cuts() / u64::from(CUTS_PER_STORM) {
        let storm = storm(seed, CUTS_PER_STORM, Sabotage::None).unwrap_or_else(|problem| panic!("{problem}"));
        states += storm.0;
        idle_steps += storm.1;
    }
    assert!(states > 2 * cuts(), "{states} states: recovery is cut too");
    assert!(idle_steps > cuts() / 10, "{idle_steps} steps of GC in idle time");
}

#[test]
fn an_erase_before_the_copy_is_protected_is_caught() {
    let caught = (0..200).any(|seed| {
        let quiet = std::panic::catch_unwind(|| storm(seed, CUTS_PER_STORM, Sabotage::EraseBeforeProtect));
        !matches!(quiet, Ok(Ok(_)))
    });
    assert!(caught);
}
