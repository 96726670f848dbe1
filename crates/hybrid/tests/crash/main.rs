//! The tier under power cuts: at every step of programs, erases and disk writes, with fetches, groups and overwrites at any
//! stage. Recovery reads flash and disk only. After it every page reads back as what was last written and answered, or as
//! something newer that was on its way; what it reads as then stays; and the tier works on.

mod driver;
mod jobs;
mod media;
mod setup;

use coflash_base::Seed;
use coflash_base::seed::RngExt;
use coflash_ftl::FreeMark;
use coflash_hybrid::ActiveBlocks;
use driver::Driver;
use media::{SECTORS, Sabotage};
use setup::Setup;
use std::collections::BTreeMap;

/// Runs random operations, cuts power after `steps`, recovers and checks; again and again. What went wrong, if anything.
fn storm(
    setup: &Setup,
    seed: u64,
    cuts: u32,
    operations: u32,
    sabotage: Sabotage,
) -> Result<BTreeMap<&'static str, u64>, String> {
    let mut stream = Seed(seed).stream("storm");
    let mut driver = Driver::new(setup, sabotage);
    for cut in 0..cuts {
        driver.media.steps_left = stream.random_range(0..u64::from(operations) * 4);
        for _ in 0..operations {
            driver.operate(&mut stream).map_err(|problem| format!("cut {cut}: {problem}"))?;
        }
        driver.restart(&mut stream).map_err(|problem| format!("after cut {cut}: {problem}"))?;
    }
    Ok(driver.seen)
}

/// Cuts in the test suite; `COFLASH_STORM_CUTS` asks for more.
fn cuts_in_all() -> u64 {
    std::env::var("COFLASH_STORM_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(2_880)
}

#[test]
fn no_cut_loses_a_dirty_page_or_brings_an_old_one_back() {
    let mut sums = BTreeMap::<_, u64>::new();
    let setups = Setup::all();
    let seeds = cuts_in_all().div_ceil(30 * setups.len() as u64);
    for setup in setups {
        for seed in 0..seeds {
            let seen = storm(&setup, seed, 30, 300, Sabotage::None)
                .unwrap_or_else(|problem| panic!("{} with seed {seed}: {problem}", setup.name));
            for (what, count) in seen {
                *sums.entry(what).or_default() += count;
            }
        }
    }
    assert_eq!(sums.len(), 14);
    assert!(sums.values().all(|&count| count > 100), "what is to be tested happens: {sums:?}");
}

#[test]
fn larger_devices_keep_their_pages_too() {
    let setup = Setup::large();
    for seed in 0..3 {
        storm(&setup, seed, 6, 3000, Sabotage::None)
            .unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
    }
}

/// One sequence of operations, cut at each of its steps; again with each of a few sequences.
#[test]
fn every_step_may_be_the_last() {
    for setup in Setup::all() {
        for seed in 0..4 {
            let mut stream = Seed(seed).stream("exhaustive");
            let mut ready = Driver::new(&setup, Sabotage::None);
            for _ in 0..150 {
                ready.operate(&mut stream).unwrap();
            }
            let sequence = stream.clone();
            let run = |driver: &mut Driver| {
                let mut stream = sequence.clone();
                (0..25).try_for_each(|_| driver.operate(&mut stream))
            };
            let mut whole = ready.clone();
            whole.media.steps = 0;
            run(&mut whole).unwrap();
            for step in 0..=whole.media.steps {
                let mut cut = ready.clone();
                cut.media.steps_left = step;
                let mut after = Seed(step).stream("after");
                run(&mut cut).and_then(|()| cut.restart(&mut after)).unwrap_or_else(|problem| {
                    panic!("{}, seed {seed}, cut at step {step}: {problem}", setup.name)
                });
            }
        }
    }
}

/// A second cut, at every step of the recovery from the first.
#[test]
fn recovery_may_be_cut_short() {
    for setup in Setup::all() {
        let mut stream = Seed(7).stream("recovery");
        let mut driver = Driver::new(&setup, Sabotage::None);
        for _ in 0..300 {
            driver.operate(&mut stream).unwrap();
        }
        for step in 0..60 {
            let mut again = driver.clone();
            let mut after = Seed(step).stream("after");
            again.power_off();
            again.media.steps_left = step;
            again.recover();
            again
                .restart(&mut after)
                .unwrap_or_else(|problem| panic!("{}, step {step}: {problem}", setup.name));
        }
    }
}

/// What leaves takes two pages of the journal, and after the first a checkpoint comes.
#[test]
fn a_checkpoint_midway_does_not_bring_back_what_is_gone() {
    for setup in Setup::all() {
        let mut stream = Seed(13).stream("midway");
        let mut driver = Driver::new(&setup, Sabotage::None);
        for round in 0..60 {
            // More of the journal, so that rounds begin at any place of it.
            for first in [0, 4].into_iter().take(round % 3) {
                driver.write(first, 1, None);
                driver.write(first, 4, None);
            }
            // Backwards, or they would be a sequential run.
            (20..27).rev().for_each(|page| driver.write(page, 1, None));
            driver.work_off(&mut stream).unwrap();
            driver.write(20, 7, None);
            driver.work_off(&mut stream).unwrap();
            let mut cut = driver.clone();
            cut.restart(&mut stream)
                .unwrap_or_else(|problem| panic!("{}, round {round}: {problem}", setup.name));
        }
    }
}

/// The part follows to the disk: what flash has of the page is older than what is on its way there.
#[test]
fn a_part_is_not_written_over_what_is_overwritten_past_the_cache() {
    for setup in Setup::all() {
        let mut stream = Seed(17).stream("base");
        let mut driver = Driver::new(&setup, Sabotage::None);
        for round in 0..40 {
            driver.write(20, 1, None);
            driver.write(20, 5, None);
            driver.write(20, 1, Some(round % SECTORS));
            if round % 3 == 0 {
                driver.write(20, 1, Some(0));
            }
            driver.work_off(&mut stream).unwrap();
            driver
                .clone()
                .restart(&mut stream)
                .unwrap_or_else(|problem| panic!("{}, round {round}: {problem}", setup.name));
        }
    }
}

/// The disk has read a page, and before it says so the page is written, destaged and gone from flash again.
#[test]
fn what_is_fetched_late_is_neither_cached_nor_joined() {
    let mut rounds = 0;
    for setup in Setup::all() {
        let mut stream = Seed(19).stream("late");
        let mut driver = Driver::new(&setup, Sabotage::None);
        for round in 0..20 {
            driver.trim(30, 1);
            driver.work_off(&mut stream).unwrap();
            driver.read(30, 1).unwrap();
            driver.read_ahead();
            driver.write(30, 1, None);
            // No two are neighbours, so none goes past the cache.
            for other in (0..1000).map(|other| other * 7 % 47).filter(|&other| other != 30) {
                driver.work_off_writes();
                if !driver.is_cached(30) {
                    break;
                }
                driver.write(other, 1, None);
            }
            if driver.is_cached(30) {
                break;
            }
            rounds += 1;
            let read = |driver: &mut Driver, stream: &mut _| {
                driver.read(30, 1)?;
                driver.work_off(stream)?;
                driver.read(30, 1)?;
                driver.work_off(stream)
            };
            read(&mut driver, &mut stream)
                .unwrap_or_else(|problem| panic!("{}, round {round}: {problem}", setup.name));
        }
    }
    assert!(rounds > 20, "caches are smaller than disks: {rounds}");
}

/// Pages that were written twice in flash are trimmed, and power fails at each step of that: while the trim is written down, GC
/// must not erase the newer copies, for the older ones would then be the last.
#[test]
fn a_trim_cut_short_does_not_bring_back_what_was_overwritten() {
    let mut steps = 0;
    for (setup, seed) in Setup::all().iter().flat_map(|setup| (0..100).map(move |seed| (setup, seed))) {
        let mut stream = Seed(seed).stream("trim");
        let mut driver = Driver::new(setup, Sabotage::None);
        for _ in 0..400 + seed {
            driver.operate(&mut stream).unwrap();
        }
        // Backwards, or they would be a sequential run. The older copies lie among others, the newer ones by themselves.
        for page in (24..30).rev() {
            driver.write(page, 1, None);
            driver.write(page + 10, 1, None);
        }
        (24..30).rev().for_each(|page| driver.write(page, 1, None));
        let mut whole = driver.clone();
        whole.media.steps = 0;
        whole.trim(24, 6);
        steps += whole.media.steps;
        for step in 0..=whole.media.steps {
            let mut cut = driver.clone();
            cut.media.steps_left = step;
            cut.trim(24, 6);
            let restarted = cut.restart(&mut stream);
            restarted.unwrap_or_else(|problem| panic!("{}, seed {seed}, step {step}: {problem}", setup.name));
        }
    }
    assert!(steps > 1000, "the journal is written: {steps} steps");
}

#[test]
fn blocks_hold_one_class_where_classes_are_kept_apart() {
    let mixed = |setup: &Setup, active_blocks| {
        let mut setup = setup.clone();
        setup.ftl.shared_streams.clear();
        setup.gc.low_mark = FreeMark::Blocks(2);
        setup.hybrid.active_blocks = active_blocks;
        let mut stream = Seed(11).stream("classes");
        let mut driver = Driver::new(&setup, Sabotage::None);
        let blocks = (0..2000).map(|_| {
            driver.operate(&mut stream).unwrap();
            driver.mixed_blocks()
        });
        blocks.sum::<usize>()
    };
    for setup in Setup::all() {
        assert_eq!(mixed(&setup, ActiveBlocks::ByClass), 0, "{}", setup.name);
    }
    let all: usize = Setup::all().iter().map(|setup| mixed(setup, ActiveBlocks::Mixed)).sum();
    assert!(all > 0, "what GC copies is mixed otherwise");
}

#[test]
fn mistakes_are_caught() {
    let all = [
        Sabotage::NoJournal,
        Sabotage::JournalLate,
        Sabotage::NoLabels,
        Sabotage::DestageNothing,
        Sabotage::NoTrims,
        Sabotage::StaleBase,
        Sabotage::PartsOvertake,
    ];
    for sabotage in all {
        let caught = Setup::all().iter().any(|setup| {
            (0..60).any(|seed| {
                let run = || storm(setup, seed, 60, 60, sabotage).map(drop);
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
                    .map_or(true, |outcome| outcome.is_err())
            })
        });
        assert!(caught, "{sabotage:?} passes");
    }
}
