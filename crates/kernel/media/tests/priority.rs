//! Reads that overtake and suspend, page types, one-shot programs and the write buffer.

use coflash_base::seed::{RngExt, Seed};
use coflash_base::{Duration, Lpn, Time};
use coflash_media::{
    BlockId, CacheTimings, Cause, Cell, Channel, Finished, Flash, Geometry, Mode, Nvm, Oob, Place, Ppn,
    ReadPriority, Tag, Timeline, Timing, When,
};
use std::convert::Infallible;

const DATA: Oob = Oob { lpn: Some(Lpn::new(0)), sequence: 0, mode: Mode::Normal };

fn ok(result: Result<When, Infallible>) -> When {
    let Ok(when) = result;
    when
}

fn us(us: u64) -> Duration {
    Duration { ns: us * 1000 }
}

fn at(us: u64) -> When {
    When::at(Time { ns: us * 1000 })
}

/// One die on each of two channels. Read 10 + 4, program 4 + 20, erase 100 µs.
fn device(timing: Timing) -> Timeline {
    device_of(timing, Geometry { channels: 2, chips_per_channel: 1, ..Geometry::default() })
}

fn device_of(timing: Timing, geometry: Geometry) -> Timeline {
    let geometry = Geometry { blocks_per_plane: 4, pages_per_block: 12, ..geometry };
    let cell = if timing.page_reads.is_empty() { Cell::Slc } else { Cell::Tlc };
    let geometry = Geometry { cell, ..geometry };
    let timing = Timing {
        page_read: us(10),
        page_program: us(20),
        block_erase: us(100),
        sector_transfer: Duration { ns: 500 },
        ..timing
    };
    timing.check(&geometry).expect("it fits");
    Timeline::new(&geometry, &timing, CacheTimings::default())
}

fn first(read_priority: ReadPriority) -> Timing {
    Timing { read_priority, ..Timing::default() }
}

fn overtake(overtaken_max: u32) -> ReadPriority {
    ReadPriority::Overtake { overtaken_max }
}

fn suspend(overtaken_max: u32, overhead_us: u64) -> ReadPriority {
    ReadPriority::Suspend { overtaken_max, overhead: us(overhead_us) }
}

fn read(flash: &mut Timeline, page: u32, after: When) -> When {
    ok(flash.read(Ppn::new(page), Place::Host, Cause::Host, after))
}

fn program(flash: &mut Timeline, page: u32, after: When) -> When {
    ok(flash.program(Ppn::new(page), DATA, Place::Host, Cause::Host, after))
}

fn erase(flash: &mut Timeline, after: When) -> When {
    ok(flash.erase(BlockId::new(0), Cause::Gc, after))
}

/// When each comes, in µs: no moment is told before it has come.
fn ends(flash: &mut Timeline, whens: impl IntoIterator<Item = When>) -> Vec<u64> {
    let mut told = Vec::new();
    for (tag, when) in whens.into_iter().enumerate() {
        told.push(when.known());
        if when.known().is_none() {
            flash.tell(when, tag as u32);
        }
    }
    let mut finished = Vec::new();
    while let Some(next) = flash.next_event() {
        let before = finished.len();
        flash.step(&mut finished);
        assert!(finished[before..].iter().all(|part: &Finished| part.at >= next), "told early");
    }
    for Finished { tag, at } in finished {
        let Tag::Part(tag) = tag else { panic!("only parts were asked for") };
        assert_eq!(told[tag as usize].replace(at), None, "told twice");
    }
    told.into_iter().map(|at| at.expect("it comes").ns / 1000).collect()
}

#[test]
fn a_read_waits_overtakes_or_suspends() {
    // Two programs are issued at 0, a read that may begin at 10: [0–4] 4–24, [24–28] 28–48.
    for (priority, expected) in [
        (ReadPriority::None, [24, 48, 62]),
        // 24–34 [34–38], and then the second program: [38–42] 42–62.
        (overtake(16), [24, 62, 38]),
        // Suspended at 10 with 14 left: 1 for that, 11–21 [21–25], 25–39; [39–43] 43–63.
        (suspend(16, 1), [39, 63, 25]),
    ] {
        let flash = &mut device(first(priority));
        let whens = [program(flash, 0, at(0)), program(flash, 1, at(0)), read(flash, 5, at(10))];
        assert_eq!(ends(flash, whens), expected, "{priority:?}");
        let overhead = if priority == suspend(16, 1) { 1 } else { 0 };
        assert_eq!(flash.busy().other, us(24 + 24 + 14 + overhead), "{priority:?}");
    }
}

#[test]
fn a_program_that_waits_for_its_channel_has_begun() {
    for priority in [overtake(16), suspend(16, 1)] {
        let timing = Timing { channel: Channel::Shared, ..first(priority) };
        let geometry = Geometry { channels: 1, chips_per_channel: 2, ..Geometry::default() };
        let flash = &mut device_of(timing, geometry);
        // [5–9] 9–29, on the other die [9–13] 13–33 after waiting from 6 on, and then the read, which came at 7: 33–43 [43–47].
        let whens = [program(flash, 0, at(5)), program(flash, 48, at(6)), read(flash, 53, at(7))];
        assert_eq!(ends(flash, whens), [29, 33, 47], "{priority:?}");
    }
}

#[test]
fn a_transfer_is_not_suspended_and_an_end_at_the_same_time_comes_first() {
    // A read at 2 meets the transfer of the program (0–4): it waits for the program. One at 24 meets its end.
    for (begin, expected) in [(2, [24, 38]), (24, [24, 38]), (23, [38, 38])] {
        let flash = &mut device(first(suspend(16, 1)));
        let whens = [program(flash, 0, at(0)), read(flash, 5, at(begin))];
        let [programmed, done] = ends(flash, whens)[..] else { panic!("two were asked for") };
        // 23: suspended with 1 left, 24–34 [34–38], 38–39.
        let expected = if begin == 23 { [39, 38] } else { expected };
        assert_eq!([programmed, done], expected, "a read at {begin}");
    }
}

#[test]
fn an_erase_is_suspended_as_often_as_allowed_and_then_ends() {
    let flash = &mut device(first(suspend(2, 1)));
    // Erase 0–10, read 11–25, erase 25–40, read 41–55, erase 55–130; the third read waits for it.
    let whens =
        [erase(flash, at(0)), read(flash, 20, at(10)), read(flash, 20, at(40)), read(flash, 20, at(60))];
    assert_eq!(ends(flash, whens), [130, 25, 55, 144]);
}

#[test]
fn reads_that_never_end_do_not_starve_a_program() {
    for (priority, expected) in [(overtake(3), 14 + 3 * 14 + 24), (suspend(3, 1), 14 + 3 * 14 + 24)] {
        let flash = &mut device(first(priority));
        let mut whens = vec![read(flash, 5, at(0)), program(flash, 0, at(0))];
        whens.extend((1..40).map(|n| read(flash, 5, at(n * 7))));
        assert_eq!(ends(flash, whens)[1], expected, "{priority:?}");
    }
}

/// Operations that can begin when they are issued, at random, on a die with a bus of its own.
#[test]
fn nothing_is_lost_and_a_die_does_no_more_and_no_less() {
    for seed in 0..200 {
        let issue = |priority: fn(u32) -> ReadPriority| {
            let stream = &mut Seed(seed).stream("priority");
            let priority = priority(stream.random_range(1..5));
            let timing = Timing {
                channel: if stream.random() { Channel::Private } else { Channel::Shared },
                ..first(priority)
            };
            let flash = &mut device(timing);
            let (mut now, mut whens) = (0, Vec::new());
            for _ in 0..60 {
                now += stream.random_range(0..40);
                let when = match stream.random_range(0..5) {
                    0..3 => read(flash, 20, at(now)),
                    3 => program(flash, 3, at(now)),
                    _ => erase(flash, at(now)),
                };
                whens.push(when);
            }
            let ends = ends(flash, whens);
            let busy = flash.busy();
            (ends, busy.gc + busy.other, flash.busy_until())
        };
        let (plain, work, until) = issue(|_| ReadPriority::None);
        for priority in [overtake as fn(u32) -> ReadPriority, |most| suspend(most, 0)] {
            let (ends, busy, busy_until) = issue(priority);
            assert_eq!((busy, busy_until), (work, until), "seed {seed}, {priority:?}: the die works as long");
            assert_eq!(ends.len(), plain.len());
            if priority(1) == overtake(1) {
                continue;
            }
            let (_, busy, busy_until) = issue(|most| suspend(most, 1));
            assert!(busy_until.ns - until.ns <= busy.ns - work.ns, "seed {seed}: only suspensions are added");
        }
    }
}

#[test]
fn pages_of_a_word_line_have_times_of_their_own() {
    let timing = Timing {
        page_reads: vec![us(5), us(8), us(13)],
        page_programs: vec![us(1), us(2), us(4)],
        pages_per_type: 2,
        ..Timing::default()
    };
    for channel in [Channel::Private, Channel::Shared] {
        let timing = Timing { channel, copy_back: false, ..timing.clone() };
        let of = |operate: &dyn Fn(&mut Timeline, u32) -> When| -> Vec<u64> {
            let end = |page| {
                let flash = &mut device(timing.clone());
                let when = operate(flash, page);
                ends(flash, [when])[0]
            };
            (0..7).chain([12]).map(end).collect()
        };
        assert_eq!(of(&|flash, page| read(flash, page, at(0))), [9, 9, 12, 12, 17, 17, 9, 9]);
        assert_eq!(of(&|flash, page| program(flash, page, at(0))), [5, 5, 6, 6, 8, 8, 5, 5]);
        // From a page read in 13: 13 + 2 · 4, and the program.
        let copy =
            |flash: &mut Timeline, page| ok(flash.copy(Ppn::new(29), Ppn::new(page), DATA, Cause::Gc, at(0)));
        assert_eq!(of(&copy), [22, 22, 23, 23, 25, 25, 22, 22]);
    }
}

#[test]
fn a_one_shot_program_begins_after_the_last_of_its_pages() {
    for channel in [Channel::Private, Channel::Shared] {
        let flash = &mut device(Timing { one_shot_pages: 3, channel, ..Timing::default() });
        let whens: Vec<When> = (0..6).map(|page| program(flash, page, at(0))).collect();
        assert_eq!(ends(flash, whens), [4, 8, 32, 36, 40, 64], "{channel:?}");
        assert_eq!(flash.busy().other, us(6 * 4 + 2 * 20));
    }
}

#[test]
fn several_operations_begin_when_one_has_ended() {
    for channel in [Channel::Private, Channel::Shared] {
        let geometry = Geometry { channels: 3, chips_per_channel: 1, ..Geometry::default() };
        let flash = &mut device_of(Timing { channel, ..Timing::default() }, geometry);
        let first = program(flash, 0, at(0));
        let whens = [program(flash, 48, first), program(flash, 96, first), first];
        assert_eq!(ends(flash, whens), [48, 48, 24], "{channel:?}");
    }
}

#[test]
fn a_page_waits_for_room_until_an_earlier_one_is_in_flash() {
    for channel in [Channel::Private, Channel::Shared] {
        let flash = &mut device(Timing { channel, ..Timing::default() }).with_write_buffer(2, Duration::ZERO);
        // Dies 0, 0 and 1: programs end at 24, 48 and 24 + 24, since the third page waits for the first.
        let mut buffered = Vec::new();
        for page in [0, 1, 48] {
            let room = flash.buffer(at(0));
            buffered.push(room);
            let done = program(flash, page, room);
            flash.unbuffer(done);
        }
        assert_eq!(ends(flash, buffered), [0, 0, 24], "{channel:?}");
        assert_eq!(flash.busy_until(), Time { ns: 48_000 });
        // All room is there again.
        let again = flash.buffer(at(50));
        let also = flash.buffer(at(50));
        let waits = flash.buffer(at(50));
        assert_eq!([again.known(), also.known(), waits.known()].map(|at| at.is_some()), [true, true, false]);
    }
}

#[test]
fn a_buffer_drains_no_faster_than_it_may() {
    let flash =
        &mut device(Timing { channel: Channel::Shared, ..Timing::default() }).with_write_buffer(1, us(100));
    // Programs take 24: without the limit a page would find room every 24 µs.
    let mut buffered = Vec::new();
    for page in 0..4 {
        let room = flash.buffer(at(0));
        buffered.push(room);
        let done = program(flash, page, room);
        flash.unbuffer(done);
    }
    assert_eq!(ends(flash, buffered), [0, 100, 200, 300]);
}

/// The rest of an exponential program has the mean of a whole one, whenever a read comes.
#[test]
fn exponential_programs_have_the_mean_of_fixed_ones_and_no_memory() {
    const PROGRAMS: u32 = 20_000;
    let timing = Timing { channel: Channel::Private, ..Timing::default() };
    let draw = |seed, copies| {
        let flash = &mut device(timing.clone()).with_exponential_programs(Seed(seed));
        let mut before = Time::ZERO;
        let mut spans = Vec::new();
        for _ in 0..PROGRAMS {
            let from = When::at(before);
            let page = Ppn::new(0);
            let done = if copies {
                ok(flash.copy(page, page, DATA, Cause::Gc, from))
            } else {
                ok(flash.program(page, DATA, Place::Host, Cause::Host, from))
            };
            let end = done.known().expect("the bus is private");
            // Before the program comes its transfer, or the read of a copy.
            spans.push(end.since(before).ns - if copies { 10_000 } else { 4_000 });
            before = end;
        }
        spans
    };
    let mean = |spans: &[u64]| spans.iter().sum::<u64>() as f64 / spans.len() as f64;
    for (seed, copies) in [(1, false), (2, true)] {
        let spans = draw(seed, copies);
        let long: Vec<u64> = spans.iter().filter(|&&ns| ns > 20_000).map(|ns| ns - 20_000).collect();
        let share = long.len() as f64 / f64::from(PROGRAMS);
        assert!((mean(&spans) / 20_000.0 - 1.0).abs() < 0.03, "seed {seed}: {}", mean(&spans));
        assert!((mean(&long) / 20_000.0 - 1.0).abs() < 0.05, "seed {seed}: {}", mean(&long));
        assert!((share - libm::exp(-1.0)).abs() < 0.015, "seed {seed}: {share}");
        assert_eq!(draw(seed, copies), spans);
    }
    assert_ne!(draw(1, false), draw(3, false));
}
