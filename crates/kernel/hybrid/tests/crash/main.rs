//! The level under power cuts: at every step of programs, erases and disk writes, with fetches, groups and overwrites at any
//! stage. Recovery reads flash and disk only. After it every page reads back as last written and answered, or as
//! something newer that was on its way; it stays so; and the level works on.

mod disk;
mod driver;
mod media;
mod moments;
mod setup;
mod stack;

use coflash_base::Seed;
use coflash_base::seed::RngExt;
use coflash_ftl::{FreeMark, GcMode};
use coflash_hybrid::ActiveBlocks;
use coflash_level::Protecting;
use disk::SECTORS;
use driver::Driver;
use media::Sabotage;
use moments::Moments;
use setup::Setup;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;

/// Prints the failed case, so that it can be repeated.
struct Named<T: Debug>(T);

impl<T: Debug> Drop for Named<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was {:#?}", self.0);
        }
    }
}

/// Runs random operations, cuts power after some steps, recovers and checks; again and again. Returns how often each event happened.
fn storm(
    setup: &Setup,
    seed: u64,
    cuts: u32,
    operations: u32,
    sabotage: Sabotage,
) -> BTreeMap<&'static str, u64> {
    let _named = (sabotage == Sabotage::None).then(|| Named((seed, setup)));
    let mut stream = Seed(seed).stream("storm");
    let mut driver = Driver::new(setup, sabotage, Moments::of(seed));
    for _ in 0..cuts {
        driver.media.flash.cut_after(stream.random_range(0..u64::from(operations) * 4));
        driver = driver.after(operations.into(), &mut stream);
        driver.restart(&mut stream);
    }
    driver.media.seen
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
            for (what, count) in storm(&setup, seed, 30, 300, Sabotage::None) {
                *sums.entry(what).or_default() += count;
            }
        }
    }
    assert_eq!(sums.len(), 17);
    assert!(sums.values().all(|&count| count > 100), "every tested event happens: {sums:?}");
}

#[test]
fn larger_devices_keep_their_pages_too() {
    for seed in 0..3 {
        storm(&Setup::large(), seed, 6, 3000, Sabotage::None);
    }
}

/// One sequence of operations, cut at each of its steps.
fn cut_at_each_step(setup: &Setup, seed: u64, operations: u64) {
    let mut stream = Seed(seed).stream("exhaustive");
    let ready = Driver::new(setup, Sabotage::None, Moments::of(seed)).after(150, &mut stream);
    let mut whole = ready.clone();
    whole.media.flash.count_steps();
    let steps = whole.after(operations, &mut stream.clone()).media.flash.steps();
    for step in 0..=steps {
        let _named = Named((seed, step, setup));
        let mut cut = ready.clone();
        cut.media.flash.cut_after(step);
        cut.after(operations, &mut stream.clone()).restart(&mut Seed(step).stream("after"));
    }
}

#[test]
fn every_step_may_be_the_last() {
    for setup in Setup::all() {
        (0..4).for_each(|seed| cut_at_each_step(&setup, seed, 25));
    }
}

/// What leaves the caches above, what GC leaves to them, and what is given up to them: nothing that was answered is lost, and no old
/// version comes back. Of a volatile cache this holds for what a flush has promised.
#[test]
fn under_a_cache_every_answered_write_survives_a_cut() {
    let mut sums = BTreeMap::<_, u64>::new();
    for setup in Setup::all_below_caches() {
        for seed in 0..4 {
            for (what, count) in storm(&setup, seed, 30, 300, Sabotage::None) {
                *sums.entry(what).or_default() += count;
            }
        }
    }
    for what in ["rewritten drops", "given up to a cache above", "groups", "fills", "drops", "flushes"] {
        assert!(sums[what] > 100, "it happens: {what}, {sums:?}");
    }
}

/// The same with a cache, a write buffer or both in the host, across a link whose notices are late.
#[test]
fn below_memories_in_the_host_what_is_promised_survives_a_cut() {
    let mut sums = BTreeMap::<_, u64>::new();
    for setup in Setup::all_below_hosts(Protecting::default()) {
        for seed in 0..3 {
            for (what, count) in storm(&setup, seed, 15, 300, Sabotage::None) {
                *sums.entry(what).or_default() += count;
            }
        }
    }
    for what in ["rewritten drops", "given up to a cache above", "groups", "fills", "drops", "flushes"] {
        assert!(sums[what] > 100, "it happens: {what}, {sums:?}");
    }
}

#[test]
fn below_memories_in_the_host_every_step_may_be_the_last() {
    for (number, setup) in (0..).zip(Setup::all_below_hosts(Protecting::default())) {
        cut_at_each_step(&setup, number, 20);
    }
}

/// A known fault: under grants flash drops a page whose clean copy in the host has no label yet, so that a cut loses both. Only
/// `cdm-consistent` labels ahead.
#[test]
#[should_panic(expected = "was expected of")]
fn with_grants_a_cut_loses_pages_of_a_cache_in_the_host() {
    for setup in Setup::all_below_hosts(Protecting::Grants { share: coflash_base::Share::percent(50) }) {
        (0..3).for_each(|seed| drop(storm(&setup, seed, 15, 300, Sabotage::None)));
    }
}

#[test]
fn mistakes_below_a_cache_are_caught() {
    for sabotage in [Sabotage::NobodyAbove, Sabotage::NoFences, Sabotage::NoJournal, Sabotage::NoLabels] {
        let caught = Setup::all_below_caches().iter().filter(|setup| !setup.is_volatile()).any(|setup| {
            (0..20).any(|seed| {
                let storm = AssertUnwindSafe(|| storm(setup, seed, 60, 60, sabotage));
                std::panic::catch_unwind(storm).is_err()
            })
        });
        assert!(caught, "{sabotage:?} passes");
    }
}

/// A second cut, at every step of the recovery from the first.
#[test]
fn recovery_may_be_cut_short() {
    for setup in Setup::all() {
        let mut stream = Seed(7).stream("recovery");
        let driver = Driver::new(&setup, Sabotage::None, Moments::AtOnce).after(300, &mut stream);
        for step in 0..60 {
            let _named = Named((step, &setup));
            let mut again = driver.clone();
            again.power_off();
            again.media.flash.cut_after(step);
            again.recover();
            again.restart(&mut Seed(step).stream("after"));
        }
    }
}

/// The evicted pages take two pages of the journal, and a checkpoint follows the first.
#[test]
fn a_checkpoint_midway_does_not_bring_back_what_is_gone() {
    for (number, setup) in (0..).zip(Setup::all()) {
        let mut stream = Seed(13).stream("midway");
        let mut driver = Driver::new(&setup, Sabotage::None, Moments::of(number));
        for round in 0..60 {
            let _named = Named((round, &setup));
            // More of the journal, so that rounds begin at any place of it.
            for first in [0, 4].into_iter().take(round % 3) {
                driver.write(first, 1, None);
                driver.write(first, 4, None);
            }
            // Backwards, or they would be a sequential run.
            (20..27).rev().for_each(|page| driver.write(page, 1, None));
            driver.work_off(&mut stream);
            driver.write(20, 7, None);
            driver.work_off(&mut stream);
            driver.clone().restart(&mut stream);
        }
    }
}

/// The part follows to the disk: the page in flash is older than the write on its way there.
#[test]
fn a_part_is_not_written_over_what_is_overwritten_past_the_cache() {
    for (number, setup) in (0..).zip(Setup::all()) {
        let mut stream = Seed(17).stream("base");
        let mut driver = Driver::new(&setup, Sabotage::None, Moments::of(number));
        for round in 0..40 {
            let _named = Named((round, &setup));
            driver.write(20, 1, None);
            driver.write(20, 5, None);
            driver.write(20, 1, Some(round % SECTORS));
            if round % 3 == 0 {
                driver.write(20, 1, Some(0));
            }
            driver.work_off(&mut stream);
            driver.clone().restart(&mut stream);
        }
    }
}

/// The disk has read a page, and before it says so the page is written, destaged and gone from flash again.
#[test]
fn what_is_fetched_late_is_neither_cached_nor_joined() {
    let mut rounds = 0;
    for (number, setup) in (0..).zip(Setup::all()) {
        let mut stream = Seed(19).stream("late");
        let mut driver = Driver::new(&setup, Sabotage::None, Moments::of(number));
        for round in 0..20 {
            let _named = Named((round, &setup));
            driver.trim(30, 1);
            driver.work_off(&mut stream);
            driver.read(30, 1);
            driver.work_off_untold();
            driver.write(30, 1, None);
            // No two are neighbours, so none goes past the cache.
            for other in (0..1000).map(|other| other * 7 % 47).filter(|&other| other != 30) {
                driver.work_off_untold();
                if !driver.is_cached(30) {
                    break;
                }
                driver.write(other, 1, None);
            }
            if driver.is_cached(30) {
                break;
            }
            rounds += 1;
            for _ in 0..2 {
                driver.read(30, 1);
                driver.work_off(&mut stream);
            }
        }
    }
    assert!(rounds > 20, "caches are smaller than disks: {rounds}");
}

/// Pages that were written twice in flash are trimmed, and power fails at each step of that: while the trim is written down, GC
/// must not erase the newer copies, for the older ones would then be the last.
#[test]
fn a_trim_cut_short_does_not_bring_back_what_was_overwritten() {
    let mut steps = 0;
    for (setup, seed) in Setup::all().iter().flat_map(|setup| (0..25).map(move |seed| (setup, seed))) {
        let mut stream = Seed(seed).stream("trim");
        let mut driver = Driver::new(setup, Sabotage::None, Moments::AtOnce).after(400 + seed, &mut stream);
        // Backwards, or they would be a sequential run. The older copies lie among others, the newer ones by themselves.
        for page in (24..30).rev() {
            driver.write(page, 1, None);
            driver.write(page + 10, 1, None);
        }
        (24..30).rev().for_each(|page| driver.write(page, 1, None));
        let mut whole = driver.clone();
        whole.media.flash.count_steps();
        whole.trim(24, 6);
        steps += whole.media.flash.steps();
        for step in 0..=whole.media.flash.steps() {
            let _named = Named((seed, step, setup));
            let mut cut = driver.clone();
            cut.media.flash.cut_after(step);
            cut.trim(24, 6);
            cut.restart(&mut stream);
        }
    }
    assert!(steps > 1000, "the journal is written: {steps} steps");
}

#[test]
fn blocks_hold_one_class_where_classes_are_kept_apart() {
    let mixed = |setup: &Setup, active_blocks| {
        let mut setup = setup.clone();
        setup.ftl.shared_streams.clear();
        (setup.gc.low_mark, setup.gc.mode) = (FreeMark::Blocks(2), GcMode::Foreground);
        setup.hybrid.active_blocks = active_blocks;
        let mut stream = Seed(11).stream("classes");
        let mut driver = Driver::new(&setup, Sabotage::None, Moments::AtOnce);
        let blocks = (0..2000).map(|_| {
            driver.operate(&mut stream);
            driver.mixed_blocks()
        });
        blocks.sum::<usize>()
    };
    for setup in Setup::all() {
        assert_eq!(mixed(&setup, ActiveBlocks::ByClass), 0, "{setup:?}");
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
        for through in [false, true] {
            let mut setups = Setup::all();
            setups.retain(|setup| setup.writes_through() == through);
            let caught = setups.iter().any(|setup| {
                (0..60).any(|seed| {
                    let storm = AssertUnwindSafe(|| storm(setup, seed, 60, 60, sabotage));
                    std::panic::catch_unwind(storm).is_err()
                })
            });
            assert!(caught, "{sabotage:?} passes, written through: {through}");
        }
    }
}
