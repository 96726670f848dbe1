//! Long random runs on devices of every kind, cut at random, again and again, recovery included.

use crate::media::Sabotage;
use crate::oracle::{Operation, Subject};
use crate::setup::Setup;
use coflash_base::Seed;
use coflash_base::seed::RngExt;

/// Runs a device of the seed's choice through `cuts` power cuts; tells how many there were with those of recoveries, or
/// what went wrong.
fn storm(seed: u64, cuts: u32, sabotage: Sabotage) -> Result<Storm, String> {
    let mut states = 0;
    let mut stream = Seed(seed).stream("storm");
    let setup = Setup::draw(seed as usize, &mut stream);
    let mut subject = Subject::new(&setup, sabotage);
    subject.fill();
    for cut in 0..cuts {
        subject.media.steps_left = stream.random_range(0..400);
        while !subject.media.is_dead() {
            subject.apply(Operation::draw(&mut stream, setup.layout.logical_pages));
            if !subject.media.is_dead() {
                subject.check();
            }
        }
        subject.media.restart_by_lot(&mut stream);
        let describe = |problem| format!("cut {cut}: {problem}");
        // Recovery is cut too, sometimes, and sometimes again and again.
        let patience = stream.random_range(2..6_u32);
        while stream.random_range(0..patience) > 0 {
            states += 1;
            subject.media.steps_left = stream.random_range(0..24);
            subject.recover().map_err(describe)?;
            subject.media.restart_by_lot(&mut stream);
        }
        states += 1;
        subject.recover().map_err(describe)?;
    }
    Ok(Storm { states, idle_steps: subject.idle_steps })
}

/// What a storm came to.
struct Storm {
    states: u64,
    idle_steps: u64,
}

/// Names the storm when it panics, so that it can be repeated.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let setup = Setup::draw(self.0 as usize, &mut Seed(self.0).stream("storm"));
            eprintln!("this was storm {}, {setup:#?}", self.0);
        }
    }
}

const CUTS_PER_STORM: u32 = 40;

/// Cuts in the test suite; `COFLASH_STORM_CUTS` asks for more.
fn cuts() -> u64 {
    std::env::var("COFLASH_STORM_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(20_000)
}

#[test]
fn pages_survive_as_committed() {
    let (mut states, mut idle_steps) = (0, 0);
    for seed in 0..cuts() / u64::from(CUTS_PER_STORM) {
        let _named = Named(seed);
        let storm = storm(seed, CUTS_PER_STORM, Sabotage::None).unwrap_or_else(|problem| panic!("{problem}"));
        states += storm.states;
        idle_steps += storm.idle_steps;
    }
    assert!(states > 2 * cuts(), "{states} states: recovery is cut too");
    assert!(idle_steps > cuts(), "{idle_steps} steps of GC in idle time");
}

#[test]
fn an_erase_before_the_copy_is_protected_is_caught() {
    let caught = (0..200).any(|seed| {
        let quiet = std::panic::catch_unwind(|| storm(seed, CUTS_PER_STORM, Sabotage::EraseBeforeProtect));
        !matches!(quiet, Ok(Ok(_)))
    });
    assert!(caught);
}
