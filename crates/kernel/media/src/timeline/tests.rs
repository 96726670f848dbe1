use super::*;
use crate::{Backed, Mode};
use coflash_base::seed::{RngExt, Seed};

const START: When = When { op: None, ns: 0 };

fn device(channel: Channel) -> Timeline {
    // Two chips on one channel; round numbers: read 10 + 4, program 4 + 20, erase 100, copy 30.
    let geometry = Geometry { channels: 1, chips_per_channel: 2, blocks_per_plane: 4, ..Geometry::default() };
    let ns = |ns| Duration { ns };
    let timing = Timing {
        page_read: ns(10_000),
        page_program: ns(20_000),
        block_erase: ns(100_000),
        sector_transfer: ns(500),
        channel,
        ..Timing::default()
    };
    let device = CacheTiming { read: ns(50), write: ns(70) };
    Timeline::new(&geometry, &timing, CacheTimings { device, ..CacheTimings::default() })
}

const SLOT: Slot = Slot { memory: Memory::Device, number: 0 };

fn ok(result: Result<When, Infallible>) -> When {
    let Ok(when) = result;
    when
}

fn oob() -> Oob {
    Oob { lpn: Some(coflash_base::Lpn::new(0)), sequence: 0, mode: Mode::Normal }
}

/// The first page of chip 0 or 1.
fn on(chip: u32) -> Ppn {
    Ppn::new(chip * 4 * 64)
}

#[test]
fn private_channels_keep_each_die_in_order() {
    let mut flash = device(Channel::Private);
    let end = |when: When| when.known().unwrap().ns;
    assert_eq!(end(ok(flash.program(on(0), oob(), Place::Host, Cause::Host, START))), 24_000);
    assert_eq!(end(ok(flash.read(on(0), Place::Host, Cause::Host, START))), 38_000);
    assert_eq!(end(ok(flash.read(on(1), Place::Host, Cause::Host, START))), 14_000);
    assert_eq!(end(ok(flash.copy(on(1), on(1), oob(), Cause::Gc, START))), 44_000);
    assert_eq!(end(ok(flash.erase(BlockId::new(4), Cause::Gc, START))), 144_000);
    let Busy { gc, other, bus: _ } = flash.busy();
    assert_eq!((gc.ns, other.ns), (130_000, 52_000));
    assert_eq!(end(flash.access(SLOT, Access::Read { to: Place::Host }, START)), 50);
}

/// The time of operations in between, of reports and of counters is the same, whatever dies and pages are like.
#[test]
fn a_run_takes_what_its_copies_take() {
    let of = |channel, planes, timing: Timing| {
        let geometry = Geometry {
            channels: 1,
            chips_per_channel: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            ..Geometry::default()
        };
        let ns = |ns| Duration { ns };
        let timing = Timing {
            page_read: ns(10_000),
            page_program: ns(20_000),
            sector_transfer: ns(500),
            channel,
            planes,
            ..timing
        };
        Timeline::new(&geometry, &timing, CacheTimings::default())
    };
    let page_reads = vec![Duration { ns: 10_000 }, Duration { ns: 15_000 }];
    let mut devices = Vec::new();
    for channel in [Channel::Private, Channel::Shared] {
        for planes in [Planes::Serial, Planes::Parallel] {
            devices.push(of(channel, planes, Timing::default()));
            devices.push(of(channel, planes, Timing { copy_back: true, ..Timing::default() }));
            devices.push(of(channel, planes, Timing { page_reads: page_reads.clone(), ..Timing::default() }));
            devices.push(of(channel, planes, Timing::default()).with_superblocks(1, None));
            devices.push(of(channel, planes, Timing::default()).with_exponential_programs(Seed(5)));
            let read_priority = ReadPriority::Suspend { overtaken_max: 16, overhead: Duration::ZERO };
            devices.push(of(channel, planes, Timing { read_priority, ..Timing::default() }));
        }
    }
    for (number, device) in devices.into_iter().enumerate() {
        let play = |in_runs: bool| {
            let (mut flash, mut draws) = (device.clone(), Seed(7).stream("runs"));
            let (mut seen, mut finished, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
            for step in 0..300 {
                let start = When::at(now);
                let die = draws.random_range(0..2) * 512;
                let [first, to] = [0, 0].map(|_: u32| Ppn::new(die + draws.random_range(0..8) * 64));
                let run = Run { first, pages: draws.random_range(1..u64::MAX), to };
                if step % 3 == 0 && in_runs {
                    let (copied, Ok(())) = flash.copy_run(run, |_, _| oob(), Cause::Gc, start);
                    assert_eq!(copied, run.pages.count_ones());
                } else if step % 3 == 0 {
                    for (from, to) in run.copies() {
                        ok(flash.copy(from, to, oob(), Cause::Gc, start));
                    }
                }
                // Halfway through some blocks have one bit a cell.
                let mode = if step > 150 && step % 7 == 0 { Mode::Slc } else { Mode::Normal };
                let write = flash.program(to, Oob { mode, ..oob() }, Place::Host, Cause::Host, start);
                for (tag, when) in
                    [write, flash.read(first, Place::Host, Cause::Host, start)].into_iter().enumerate()
                {
                    match ok(when) {
                        When { op: None, ns } => seen.push(ns),
                        when => flash.tell(when, 2 * step + tag as u32),
                    }
                }
                now.ns += draws.random_range(0..400_000);
                while !flash.advance(now, &mut finished) {}
                seen.extend(finished.drain(..).map(|Finished { at, .. }| at.ns));
                seen.extend([flash.backlog_max(now).ns, flash.busy().gc.ns, flash.busy().bus.ns]);
            }
            while flash.step(&mut finished) {}
            seen.extend(finished.drain(..).map(|Finished { at, .. }| at.ns));
            seen.push(flash.busy_until().ns);
            (seen, flash.operations)
        };
        assert_eq!(play(true), play(false), "device {number}");
    }
}

/// Pages of a superblock lie on the dies in turn; a copy to another die is a read and a program; an erase takes all dies.
#[test]
fn superblocks_lie_on_all_dies() {
    let mut flash = device(Channel::Private).with_superblocks(1, None);
    let superblock = 2 * 64;
    let program = |flash: &mut Timeline, page| {
        ok(flash.program(Ppn::new(page), oob(), Place::Host, Cause::Host, START))
    };
    let copy = |flash: &mut Timeline, to| {
        ok(flash.copy(Ppn::new(2), Ppn::new(superblock + to), oob(), Cause::Gc, START))
    };
    let mut whens = Vec::from([0, 1, 2, 3].map(|page| program(&mut flash, page)));
    // Die 0 is busy with the first until 78, and reads the page of the second until 92. Meanwhile die 1 is idle: it begins the
    // program that was issued last, and then that of the second copy.
    whens.extend([copy(&mut flash, 0), copy(&mut flash, 1)]);
    whens.push(ok(flash.erase(BlockId::new(0), Cause::Gc, START)));
    whens.push(program(&mut flash, superblock + 3));
    // The superblock is erased when its pages are copied, and programmed again when it is erased.
    whens.push(program(&mut flash, 0));
    whens.into_iter().zip(0..).for_each(|(when, tag)| flash.tell(when, tag));
    let mut finished = Vec::new();
    while flash.step(&mut finished) {}
    let mut ends = [0; 9];
    for Finished { tag, at } in finished {
        let Tag::Part(tag) = tag else { panic!("{tag:?}") };
        ends[tag as usize] = at.ns / 1000;
    }
    assert_eq!(ends, [24, 24, 48, 48, 78, 116, 216, 72, 240]);
    assert_eq!(flash.operations.erases_blocks, 2);
}

/// Hand-computed, two chips A and B on one shared channel (transfers in brackets, µs):
///
/// ```text
/// A  program at 0: [0–4] 4–24, then read: 24–34 [34–38]
/// B  program at 0:      [4–8] 8–28, then read: 28–38 [38–42]   (the bus is free exactly when B asks)
/// A  erase at 30: 38–138
/// B  program at 35:  [42–46] 46–66
/// ```
#[test]
fn a_shared_channel_is_done_at_t_and_not_at_t_minus_one() {
    let mut flash = device(Channel::Shared);
    let at = |us: u64| When::at(Time { ns: us * 1000 });
    let issued = [
        ok(flash.program(on(0), oob(), Place::Host, Cause::Host, at(0))),
        ok(flash.program(on(1), oob(), Place::Host, Cause::Host, at(0))),
        ok(flash.read(on(0), Place::Host, Cause::Host, at(0))),
        ok(flash.read(on(1), Place::Host, Cause::Host, at(0))),
        ok(flash.erase(BlockId::new(0), Cause::Gc, at(30))),
        ok(flash.program(on(1), oob(), Place::Host, Cause::Host, at(35))),
    ];
    for (tag, when) in (0..).zip(issued) {
        flash.tell(when, tag);
    }
    let expected = [(0, 24_000), (1, 28_000), (2, 38_000), (3, 42_000), (5, 66_000), (4, 138_000)];
    let mut finished = Vec::new();
    for (tag, ns) in expected {
        while !flash.advance(Time { ns: ns - 1 }, &mut finished) {}
        assert_eq!(finished, [], "operation {tag} is not complete at t - 1");
        while !flash.advance(Time { ns }, &mut finished) {}
        assert_eq!(
            finished,
            [Finished { tag: Tag::Part(tag), at: Time { ns } }],
            "operation {tag} is complete at t"
        );
        finished.clear();
    }
    assert!(!flash.step(&mut finished), "nothing is left");
}

/// A promise kept with a known moment comes at once, with that time; one kept with a moment that is not known comes with it.
#[test]
fn promises_come_with_what_they_are_kept_with() {
    let disks = Disks::new(&crate::disk::DisksConfig::default(), 4096).expect("disks");
    let mut flash = device(Channel::Shared).with_disks(disks);
    let [first, second, third] = [0; 3].map(|_| flash.promise());
    for (promise, tag) in [(first, 1), (second, 2), (third, 3)] {
        flash.tell_level(promise, tag);
    }
    let mut finished = Vec::new();
    assert!(flash.advance(Time { ns: 5_000 }, &mut finished), "nothing happens before they are kept");
    flash.keep(second, When::at(Time { ns: 6_000 }));
    assert_eq!(flash.next_event(), Some(Time { ns: 6_000 }));
    let read = ok(flash.read(on(0), Place::Host, Cause::Host, When::at(Time { ns: 5_000 })));
    flash.keep(first, read);
    let program = ok(flash.program(on(1), oob(), Place::Host, Cause::Host, When::at(Time { ns: 5_000 })));
    flash.keep(third, flash.later(program, Duration { ns: 7 }));
    while flash.step(&mut finished) {}
    let told = |tag, ns| Finished { tag: Tag::Level(tag), at: Time { ns } };
    assert_eq!(finished, [told(2, 6_000), told(1, 19_000), told(3, 29_007)]);
}

#[test]
fn a_fast_program_ends_sooner_alone_and_in_a_copy() {
    let ns = |ns| Duration { ns };
    let timing = Timing {
        page_read: ns(10_000),
        page_program: ns(20_000),
        page_program_fast: Some(ns(7_000)),
        sector_transfer: ns(500),
        ecc_decode: ns(300),
        copy_back: false,
        ..Timing::default()
    };
    let geometry = Geometry { channels: 1, blocks_per_plane: 4, ..Geometry::default() };
    for channel in [Channel::Private, Channel::Shared] {
        let timing = Timing { channel, ..timing.clone() };
        let device = CacheTiming { read: ns(20), write: ns(20) };
        let caches = CacheTimings { device, ..CacheTimings::default() };
        let end = |operation: &dyn Fn(&mut Timeline) -> When| {
            let mut flash = Timeline::new(&geometry, &timing, caches);
            let when = operation(&mut flash);
            let mut finished = Vec::new();
            if when.known().is_none() {
                flash.tell(when, 0);
                while flash.step(&mut finished) {}
            }
            when.known().unwrap_or_else(|| finished[0].at).ns
        };
        let ends = [Mode::Normal, Mode::Fast].map(|mode| {
            let oob = Oob { mode, ..oob() };
            [
                end(&|flash| ok(flash.program(on(0), oob, Place::Host, Cause::Host, START))),
                // A page that GC takes from a buffer is neither read from flash nor decoded.
                end(&|flash| ok(flash.program(on(0), oob, Place::Slot(SLOT), Cause::Gc, START))),
                end(&|flash| ok(flash.copy(on(0), Ppn::new(64), oob, Cause::Gc, START))),
            ]
        });
        assert_eq!(ends, [[24_000, 24_020, 38_300], [11_000, 11_020, 25_300]], "{channel:?}");
        // A summary is never fast.
        let summary = Oob { lpn: None, mode: Mode::Fast, ..oob() };
        let summary = end(&|flash| ok(flash.program(on(0), summary, Place::Host, Cause::Metadata, START)));
        assert_eq!(summary, 20_500);
    }
}

#[test]
fn a_transfer_waits_for_the_bus_and_an_operation_for_the_one_it_follows() {
    let mut flash = device(Channel::Shared);
    // Chip 0 reads 0–10, wants the bus at 10; chip 1's program has it 8–12.
    let read = ok(flash.read(on(0), Place::Host, Cause::Host, START));
    let program = ok(flash.program(on(1), oob(), Place::Host, Cause::Host, When::at(Time { ns: 8_000 })));
    // The read's data is merged and programmed on chip 1, 1 µs after the read: [33–37] 37–57.
    let merged =
        ok(flash.program(on(1), oob(), Place::Merged, Cause::Host, read.plus(Duration { ns: 1000 })));
    flash.tell(program, 1);
    flash.tell(merged, 2);
    let mut finished = Vec::new();
    while flash.step(&mut finished) {}
    assert_eq!(
        finished,
        [
            Finished { tag: Tag::Part(1), at: Time { ns: 32_000 } },
            Finished { tag: Tag::Part(2), at: Time { ns: 56_000 } },
        ]
    );
}

/// Chip 0 reads 0–10 [10–14], chip 1 programs [0–4] 4–24.
#[test]
fn both_moments_are_waited_for() {
    let us = |us: u64| Duration { ns: us * 1000 };
    for (late_us, known_us, end_us) in [(0, 0, 24), (9, 0, 24), (11, 0, 25), (0, 30, 30)] {
        let mut flash = device(Channel::Shared);
        let read = ok(flash.read(on(0), Place::Host, Cause::Host, START)).plus(us(late_us));
        let program = ok(flash.program(on(1), oob(), Place::Host, Cause::Host, START));
        let mut both = flash.both(program, read);
        if known_us > 0 {
            both = flash.both(When::at(Time::ZERO + us(known_us)), both);
        }
        // The next operation begins then: 4 and 20 more. The die of the read is free meanwhile.
        let next = ok(flash.program(on(0), oob(), Place::Merged, Cause::Host, both.plus(us(1))));
        flash.tell(next, 7);
        let mut finished = Vec::new();
        while flash.step(&mut finished) {}
        let at = Time::ZERO + us(end_us + 1 + 24);
        assert_eq!(finished, [Finished { tag: Tag::Part(7), at }], "{late_us} {known_us}");
    }
    let mut flash = device(Channel::Private);
    let read = ok(flash.read(on(0), Place::Host, Cause::Host, START));
    let program = ok(flash.program(on(1), oob(), Place::Host, Cause::Host, START));
    assert_eq!(flash.both(read, program).known(), Some(Time { ns: 24_000 }));
}

#[test]
fn one_chip_to_a_channel_is_the_same_shared_or_private() {
    let geometry = Geometry { channels: 4, blocks_per_plane: 4, ..Geometry::default() };
    let end_times = |channel| {
        let timing = Timing { channel, ..Timing::default() };
        let mut flash = Timeline::new(&geometry, &timing, CacheTimings::default());
        let mut ends = vec![Time::ZERO; 100];
        let mut finished = Vec::new();
        for tag in 0..100_u32 {
            let start = When::at(Time { ns: u64::from(tag) * 37_000 });
            while !flash.advance(Time { ns: start.ns }, &mut finished) {}
            let page = Ppn::new(tag * 7919 % geometry.pages());
            let when = match tag % 3 {
                0 => ok(flash.read(page, Place::Host, Cause::Host, start)),
                1 => ok(flash.program(page, oob(), Place::Host, Cause::Host, start)),
                _ => ok(flash.copy(page, page, oob(), Cause::Gc, start)),
            };
            match when.known() {
                Some(at) => ends[tag as usize] = at,
                None => flash.tell(when, tag),
            }
        }
        while flash.step(&mut finished) {}
        for Finished { tag, at } in finished {
            let Tag::Part(tag) = tag else { unreachable!("only parts were asked for") };
            ends[tag as usize] = at;
        }
        ends
    };
    assert_eq!(end_times(Channel::Shared), end_times(Channel::Private));
}
