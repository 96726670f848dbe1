//! The firmware is the same over every media: same operations, same map, same counters.

use crate::setup::{Reproduce, Setup, page_write, victims};
use coflash_base::seed::{RngExt, Seed};
use coflash_base::{Duration, Lpn, Time};
use coflash_ftl::{Chips, CopyAll, FtlConfig, FtlCounters, Io, PageRead, Pools, Programs, Summary, Trigger};
use coflash_media::{
    CacheTimings, Cause, Channel, Flash, Geometry, Media, Place, Planes, Ppn, Timeline, Timing, Untimed, When,
};
use coflash_testing::Image;

/// The final state of a run.
type Result = (FtlCounters, Programs, Vec<Option<Ppn>>, Vec<u32>);

/// Random writes, merged writes, reads and trims; `at` gives the media time to pass before each.
fn run<M: Media>(setup: &Setup, mut media: M, mut at: impl FnMut(&mut M, u64) -> M::When) -> Result {
    let mut ftl = setup.build().expect("the setup is accepted");
    let pages = ftl.logical_pages();
    let mut stream = Seed(setup.seed).stream("media");
    for step in 0..4000 {
        let page = Lpn::new(stream.random_range(0..pages));
        let start = at(&mut media, step * 250_000);
        let mut io = Io { media: &mut media, hook: &mut CopyAll, start };
        match stream.random_range(0..8) {
            0..4 => {
                ftl.write(page_write(page, Place::Host, Cause::Host), start, &mut io).unwrap();
            }
            4 => {
                let below = ftl
                    .read(PageRead { lpn: page, to: Place::Merged, cause: Cause::Host }, start, &mut io)
                    .unwrap();
                ftl.write(page_write(page, Place::Merged, Cause::Host), below.unwrap_or(start), &mut io)
                    .unwrap();
            }
            5..7 => {
                ftl.read(PageRead { lpn: page, to: Place::Host, cause: Cause::Host }, start, &mut io)
                    .unwrap();
            }
            _ => ftl.invalidate(page),
        }
    }
    ftl.assert_invariants();
    assert!(ftl.counters().erases_blocks > 0, "GC had something to do");
    let map = (0..pages).map(|page| ftl.lookup(Lpn::new(page))).collect();
    (*ftl.counters(), *ftl.programs(), map, ftl.erase_counts().collect())
}

fn timeline(setup: &Setup, channel: Channel, planes: Planes) -> Timeline {
    let timing = Timing { channel, planes, ..Timing::default() };
    let timeline = Timeline::new(&setup.geometry, &timing, CacheTimings::default());
    if setup.ftl.pools == Pools::Device { timeline.with_superblocks(1, None) } else { timeline }
}

/// Lets a timeline's events happen up to a time.
fn pass(flash: &mut Timeline, ns: u64) -> When {
    while !flash.advance(Time { ns }, &mut Vec::new()) {}
    When::at(Time { ns })
}

#[test]
fn every_media_sees_the_same_firmware() {
    for victim in victims() {
        for (chips, pools, summary, trigger) in [
            (Chips::Static, Pools::Plane, Summary::Off, Trigger::Write),
            (Chips::RoundRobin, Pools::Die, Summary::On, Trigger::Operation),
            (Chips::Static, Pools::Device, Summary::Off, Trigger::Operation),
        ] {
            let mut setup = Setup::small();
            setup.geometry =
                Geometry { channels: 2, chips_per_channel: 2, planes_per_die: 2, ..setup.geometry };
            setup.ftl = FtlConfig { chips, pools, summary, ..setup.ftl };
            setup.gc.trigger = trigger;
            setup.gc.victim = victim.clone();
            let setup = setup.with_least_spare();
            let _reproduce = Reproduce(&setup);
            let expected = run(&setup, Image::new(&setup.units(), 0), |image, _| image.log.clear());
            assert_eq!(run(&setup, Untimed, |_, _| ()), expected, "untimed");
            for channel in [Channel::Private, Channel::Shared] {
                for planes in [Planes::Serial, Planes::Parallel] {
                    let timeline = timeline(&setup, channel, planes);
                    assert_eq!(run(&setup, timeline, pass), expected, "{channel:?}, {planes:?}");
                }
            }
        }
    }
}

#[test]
fn the_least_busy_die_is_written() {
    for channel in [Channel::Private, Channel::Shared] {
        let mut setup = Setup::small();
        setup.geometry = Geometry { channels: 3, ..setup.geometry };
        setup.ftl.chips = Chips::LeastBusy;
        let setup = setup.with_least_spare();
        let mut ftl = setup.build().expect("the setup is accepted");
        let mut flash = timeline(&setup, channel, Planes::Serial);
        let start = When::at(Time::ZERO);
        let erase = setup.geometry.blocks_per_die() - 1;
        // Die 1 erases for 1.5 ms; a program takes 0.2 ms and a little.
        let worn = coflash_media::BlockId::new(setup.geometry.blocks_per_die() + erase);
        flash.erase(worn, Cause::Gc, start).unwrap();
        let mut dies = Vec::new();
        for page in 0..6 {
            let mut io = Io { media: &mut flash, hook: &mut CopyAll, start };
            ftl.write(page_write(Lpn::new(page), Place::Host, Cause::Host), start, &mut io).unwrap();
            let place = ftl.lookup(Lpn::new(page)).expect("just written");
            dies.push(setup.geometry.die_of(setup.units().block_of(place)).get());
        }
        assert_eq!(dies, [0, 2, 0, 2, 0, 2], "{channel:?}");
    }
}

/// GC runs before the write that needs it, and on its die only: a write waits for the GC of its own die.
#[test]
fn a_write_waits_for_the_cleaning_of_its_die() {
    let mut setup = Setup::small();
    setup.geometry = Geometry { channels: 2, ..setup.geometry };
    let setup = setup.with_least_spare();
    let mut ftl = setup.build().expect("the setup is accepted");
    let mut flash = timeline(&setup, Channel::Private, Planes::Serial);
    let timing = Timing::default();
    // 4 sectors of the test's page.
    let program = timing.page_program.ns + 4 * timing.sector_transfer.ns;
    let mut now = 0;
    let mut waited = 0;
    for step in 0..500 {
        now += 100_000_000;
        let (page, start) = (Lpn::new(step % 2 * (step % 18)), When::at(Time { ns: now }));
        let (before, copies_before) = (*ftl.counters(), ftl.programs().gc);
        let mut io = Io { media: &mut flash, hook: &mut CopyAll, start };
        let done = ftl
            .write(page_write(page, Place::Host, Cause::Host), start, &mut io)
            .unwrap()
            .known()
            .expect("channels are private");
        let copies = ftl.programs().gc - copies_before;
        let erases = ftl.counters().erases_blocks - before.erases_blocks;
        let copy = timing.page_read.ns + timing.page_program.ns;
        let expected = copies * copy + erases * timing.block_erase.ns + program;
        assert_eq!(
            done.since(Time { ns: now }),
            Duration { ns: expected },
            "{copies} copies, {erases} erases"
        );
        waited += erases;
    }
    assert!(waited > 50, "{waited} erases");
}
