mod copies;

use super::*;
use crate::Timing;

const READ: Phases = Phases {
    array: Duration { ns: 10 },
    bus: Duration { ns: 4 },
    finish: Duration::ZERO,
    total: Duration { ns: 14 },
};
const PROGRAM: Phases = Phases {
    array: Duration::ZERO,
    bus: Duration { ns: 4 },
    finish: Duration { ns: 20 },
    total: Duration { ns: 24 },
};

/// How often an operation is looked at for each operation, where `count` programs and twice as many reads wait for one die.
fn looks(count: u64, read_priority: ReadPriority) -> f64 {
    let timing = Timing { read_priority, ..Timing::default() };
    let mut channels = Channels::new(vec![0], &timing);
    for number in 0..count {
        // Later than a read comes, and long before the die has time for it.
        let at = |later| When::at(Time { ns: number * 2 + later });
        channels.pass_to(Time { ns: number * 2 });
        channels.issue_into(0, &PROGRAM, None, at(0));
        channels.issue_read(0, &READ, at(0));
        channels.issue_read(0, &READ, at(1));
        let until = at(1).known().expect("a time");
        while !channels.run(until, &mut Vec::new()) {}
    }
    while channels.step(&mut Vec::new()) {}
    assert!(channels.is_idle(0) && channels.backlog_ns(0) == 0);
    channels.operations.looks.get() as f64 / (3 * count) as f64
}

/// Operations that wait cost those that come nothing.
#[test]
fn an_operation_takes_as_many_steps_behind_any_number_of_others() {
    for overtaken_max in [0, 1, 16, u32::MAX] {
        for priority in [
            ReadPriority::None,
            ReadPriority::Overtake { overtaken_max },
            ReadPriority::Suspend { overtaken_max, overhead: Duration::ZERO },
        ] {
            let [few, many] = [100, 3_000].map(|count| looks(count, priority));
            assert!(many < few + 1.0, "{priority:?}: {few} looks, and {many} with a backlog");
        }
    }
}

/// Copies from die to die, all from one to another, among writes that wait: the queue is searched by halves.
#[test]
fn an_operation_finds_its_place_among_others_in_few_steps() {
    let looks = |count: u64| {
        let mut channels = Channels::new(vec![0, 1], &Timing::default());
        channels.serve_ready(u32::MAX, Duration::ZERO);
        for _ in 0..count {
            channels.copy_across([(0, &READ), (1, &PROGRAM)], None, When::at(Time::ZERO), 0);
            channels.issue_into(1, &PROGRAM, None, When::at(Time::ZERO));
        }
        while channels.step(&mut Vec::new()) {}
        channels.operations.looks.get() as f64 / (3 * count) as f64
    };
    let [few, many] = [100, 10_000].map(looks);
    // A hundred times as many: some seven halves more.
    assert!(many < few + 10.0, "{few} looks, and {many} among a hundred times as many");
}

/// A victim is copied at once: of a page that waits for room nothing is looked at but the record of its program.
#[test]
fn a_copy_that_waits_for_room_is_one_record() {
    let mut channels = Channels::new(vec![0, 1], &Timing::default());
    channels.serve_ready(1, Duration::ZERO);
    let mut copy = || {
        let steps = [(0, &READ), (1, &PROGRAM)];
        channels.copy_across(steps, None, When::at(Time::ZERO), 0);
        channels.operations.looks.take()
    };
    copy();
    assert_eq!([copy(), copy()], [1, 1]);
}

/// A read that comes while the program before it is transferred waits for it, and is not overtaken by one that suspends it.
#[test]
fn reads_keep_their_order_when_one_suspends() {
    let timing = Timing {
        read_priority: ReadPriority::Suspend { overtaken_max: 16, overhead: Duration::ZERO },
        ..Timing::default()
    };
    let mut channels = Channels::new(vec![0], &timing);
    let at = |ns| When::at(Time { ns });
    let operations = [
        channels.issue_into(0, &PROGRAM, None, at(0)),
        channels.issue_read(0, &READ, at(2)),
        channels.issue_read(0, &READ, at(9)),
    ];
    (0..).zip(operations).for_each(|(tag, op)| channels.tell(op, 0, Tag::Part(tag)));
    let mut finished = Vec::new();
    while channels.step(&mut finished) {}
    let ends: Vec<_> = finished.iter().map(|&Finished { tag, at }| (tag, at.ns)).collect();
    // The program is suspended at 9 with 15 left: 9-19 [19-23], 23-33 [33-37], 37-52.
    assert_eq!(ends, [(Tag::Part(1), 23), (Tag::Part(2), 37), (Tag::Part(0), 52)]);
}

/// A program that is suspended goes on after the reads, before another one that was issued earlier and may begin meanwhile.
#[test]
fn a_suspended_program_is_overtaken_by_reads_alone() {
    let timing = Timing {
        read_priority: ReadPriority::Suspend { overtaken_max: 16, overhead: Duration::ZERO },
        ..Timing::default()
    };
    let mut channels = Channels::new(vec![0], &timing);
    channels.serve_ready(1, Duration::ZERO);
    let at = |ns| When::at(Time { ns });
    let operations = [
        channels.issue_into(0, &PROGRAM, None, at(10)),
        channels.issue_into(0, &PROGRAM, None, at(0)),
        channels.issue_read(0, &READ, at(9)),
        channels.issue_into(0, &PROGRAM, None, at(11)),
    ];
    (0..).zip(operations).for_each(|(tag, op)| channels.tell(op, 0, Tag::Part(tag)));
    let mut finished = Vec::new();
    while channels.step(&mut finished) {}
    let ends: Vec<_> = finished.iter().map(|&Finished { tag, at }| (tag, at.ns)).collect();
    // The second program is suspended at 9 with 15 left: 9-19 [19-23], 23-38; then the first, and the third.
    assert_eq!(ends, [(Tag::Part(2), 23), (Tag::Part(1), 38), (Tag::Part(0), 62), (Tag::Part(3), 86)]);
}

/// Two pages of a word line, programmed at once: the array time comes with the one that is programmed last, whichever that is.
#[test]
fn a_row_is_programmed_in_the_order_of_its_pages() {
    let mut channels = Channels::new(vec![0], &Timing::default());
    channels.serve_ready(1, Duration::ZERO);
    let transfer = Phases::new(Duration::ZERO, PROGRAM.bus, Duration::ZERO);
    let at = |ns| When::at(Time { ns });
    let operations = [
        channels.issue_into(0, &transfer, Some(3), at(100)),
        channels.issue_into(0, &PROGRAM, Some(3), at(0)),
    ];
    (0..).zip(operations).for_each(|(tag, op)| channels.tell(op, 0, Tag::Part(tag)));
    let mut finished = Vec::new();
    while channels.step(&mut finished) {}
    let ends: Vec<_> = finished.iter().map(|&Finished { tag, at }| (tag, at.ns)).collect();
    assert_eq!(ends, [(Tag::Part(1), 4), (Tag::Part(0), 124)]);
    assert_eq!(channels.backlog_ns(0), 0);
}
