//! Long random runs on larger devices, cut at random, again and again, recovery included.

use crate::media::Sabotage;
use crate::oracle::{Operation, Setup, Subject};
use coflash_base::Seed;
use coflash_base::seed::RngExt;
use coflash_ftl::Trigger;

/// Runs a device of the seed's choice through `cuts` power cuts; tells what went wrong.
fn storm(seed: u64, cuts: u32, sabotage: Sabotage) -> Result<(), String> {
    let mut stream = Seed(seed).stream("storm");
    let blocks = stream.random_range(7..14);
    let pages_per_block = stream.random_range(2..9);
    let slots = stream.random_range(1..20).min((blocks - 4) * pages_per_block);
    let trigger = if stream.random_range(0..2_u32) == 0 { Trigger::Write } else { Trigger::Operation };
    let setup = Setup::new(blocks, pages_per_block, slots, stream.random_range(1..6), trigger);
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
        let describe = |problem| format!("storm {seed}, cut {cut}, {setup:?}: {problem}");
        // Recovery is cut too, sometimes.
        while stream.random_range(0..4_u32) == 0 {
            subject.media.steps_left = stream.random_range(0..8);
            subject.recover().map_err(describe)?;
            subject.media.restart_by_lot(&mut stream);
        }
        subject.recover().map_err(describe)?;
    }
    Ok(())
}

/// Cuts in the test suite; `COFLASH_STORM_CUTS` asks for more.
fn cuts() -> u64 {
    std::env::var("COFLASH_STORM_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(20_000)
}

#[test]
fn pages_survive_as_committed() {
    for seed in 0..cuts() / 40 {
        storm(seed, 40, Sabotage::None).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

#[test]
fn an_erase_before_the_copy_is_protected_is_caught() {
    let caught = (0..200).any(|seed| {
        let quiet = std::panic::catch_unwind(|| storm(seed, 40, Sabotage::EraseBeforeProtect));
        !matches!(quiet, Ok(Ok(())))
    });
    assert!(caught);
}
