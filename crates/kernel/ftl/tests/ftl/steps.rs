//! GC in steps: no more of them before an operation than are allowed, unless the reserve is at stake.

use crate::setup::{Reproduce, Setup, page_write, victims};
use coflash_base::Lpn;
use coflash_base::seed::{RngExt, Seed};
use coflash_ftl::{CopyAll, FreeMark, GcMode, Io};
use coflash_media::{Cause, Place};
use coflash_testing::{Done, Image};

/// Copies and erases in a log.
fn steps(log: &[Done]) -> usize {
    log.iter().filter(|done| matches!(done, Done::Copy(..) | Done::Erase(..))).count()
}

/// The most GC steps before a write, by the number of blocks left free.
fn most_steps(mode: GcMode) -> usize {
    let mut most = 0;
    for victim in victims() {
        let mut setup = Setup::small();
        setup.geometry.blocks_per_plane = 64;
        setup.geometry.pages_per_block = 16;
        setup.gc.victim = victim;
        setup.gc.low_mark = FreeMark::Blocks(6);
        setup.gc.mode = mode;
        let mut setup = setup.with_least_spare();
        setup.ftl.spare.share.ppb += 400_000_000;
        let _reproduce = Reproduce(&setup);
        let mut ftl = setup.build().expect("more spare is accepted too");
        let pages = ftl.logical_pages();
        let mut image = Image::new(&setup.units(), 0);
        let mut stream = Seed(9).stream("steps");
        for step in 0..20_000 {
            let page = if step < pages { step } else { stream.random_range(0..pages) };
            image.log.clear();
            let mut io = Io { media: &mut image, hook: &mut CopyAll, start: () };
            ftl.write(page_write(Lpn::new(page), Place::Host, Cause::Host), (), &mut io).unwrap();
            most = most.max(steps(&image.log));
        }
        ftl.assert_invariants();
        assert!(ftl.counters().erases_blocks > 100, "GC had something to do");
    }
    most
}

#[test]
fn preemptive_gc_does_no_more_steps_than_are_allowed() {
    for steps_max in [4, 8, 16] {
        assert_eq!(most_steps(GcMode::Preemptive { steps_max }), steps_max as usize);
    }
    // All at once takes as many as a victim has pages; so does falling back to it, since one step is not enough.
    let whole = most_steps(GcMode::Foreground);
    assert!(whole > 10, "{whole}");
    assert!(most_steps(GcMode::Preemptive { steps_max: 1 }) > 10);
}

#[test]
fn background_gc_leaves_nothing_to_do_where_there_is_time() {
    let mut setup = Setup::small();
    setup.gc.mode = GcMode::Background { mark: Some(FreeMark::Blocks(3)) };
    let setup = setup.with_least_spare();
    let mut ftl = setup.build().expect("the setup is accepted");
    let pages = ftl.logical_pages();
    let mut image = Image::new(&setup.units(), 0);
    let mut stream = Seed(9).stream("idle");
    for step in 0..5_000 {
        let page = if step < pages { step } else { stream.random_range(0..pages) };
        image.log.clear();
        let mut io = Io { media: &mut image, hook: &mut CopyAll, start: () };
        ftl.write(page_write(Lpn::new(page), Place::Host, Cause::Host), (), &mut io).unwrap();
        assert_eq!(steps(io.media.log.as_slice()), 0, "a write waits for nothing");
        let die = coflash_media::DieId::new(0);
        while ftl.work_idle(die, &mut io).unwrap() {}
        assert!(!ftl.has_idle_work(die) && !ftl.pools_have_at_most(FreeMark::Blocks(3)));
    }
    let counters = ftl.counters();
    assert_eq!(
        counters.gc_steps,
        counters.erases_blocks + ftl.programs().by_cause(Cause::Gc),
        "all of it in idle time"
    );
}
