//! Levels decide the same whatever carries their decisions out: bytes, nothing at all, or time on private or shared
//! channels.

use crate::storms::setups;
use crate::support::{Call, Moments, Named, Operation, Rig, Setup, Stack, Tapped};
use coflash_base::measure::Report;
use coflash_base::{Duration, Seed};
use coflash_ftl::{Chips, Coverage};
use coflash_level::{Level, Op};
use coflash_media::{CacheTimings, Channel, Media, Planes, Tag, Timeline, Timing, Untimed};

/// The operations of levels, in every respect that does not depend on time.
#[derive(Debug, PartialEq)]
struct Outcome {
    calls: Vec<Call>,
    report: Report,
    erases: Vec<u32>,
}

type Rigged<M> = Rig<Stack, Tapped<M, Vec<Call>>>;

/// Does every operation a microsecond after the one before; `look` is shown the moment at which each is done.
fn run<M: Media + Moments>(
    setup: &Setup,
    operations: &[Operation],
    media: M,
    mut look: impl FnMut(&mut Rigged<M>, M::When),
) -> (Outcome, M) {
    let mut rig = Rig::new(setup.stack(), Tapped { inner: media, tap: Vec::new() });
    for operation in operations {
        rig.pass(Duration { ns: 1000 }).expect("flash is sound");
        let (op, page) = match *operation {
            Operation::Read(page) => (Op::Read, Some((page, Coverage::Full))),
            Operation::Write(page) => (Op::Write, Some((page, Coverage::Full))),
            Operation::Part(page) => (Op::Write, Some((page, Coverage::Partial))),
            Operation::Trim(page) => (Op::Trim, Some((page, Coverage::Full))),
            Operation::Flush => (Op::Flush, None),
            Operation::Wait(_) | Operation::Idle(_) => continue,
        };
        let done = rig.request(op, page.as_slice()).expect("flash is sound");
        look(&mut rig, done);
    }
    rig.assert_invariants();
    let erases = Level::<M>::ftl(&rig.level).erase_counts().collect();
    (Outcome { calls: rig.media.tap.clone(), report: rig.report(), erases }, rig.media.inner)
}

/// The same on a timeline, where every operation ends once, and not before it began.
fn run_in_time(setup: &Setup, operations: &[Operation], channel: Channel) -> (Outcome, Timeline) {
    let planes = if setup.seed.0.is_multiple_of(2) { Planes::Serial } else { Planes::Parallel };
    let timing = Timing { channel, planes, ..Timing::default() };
    let timeline = Timeline::new(&setup.geometry, &timing, CacheTimings::default());
    let (mut finished, mut begun) = (Vec::new(), Vec::new());
    let (outcome, mut timeline) = run(setup, operations, timeline, |rig, done| {
        let (timeline, now) = (&mut rig.media.inner, rig.now);
        match done.known() {
            Some(at) => assert!(at >= now, "it is done before it began"),
            None => {
                timeline.tell(done, begun.len() as u32);
                begun.push(now);
            }
        }
        while !timeline.advance(now, &mut finished) {}
    });
    while timeline.step(&mut finished) {}
    let mut ends = vec![0; begun.len()];
    for end in finished {
        let Tag::Part(number) = end.tag else { panic!("{end:?} was not asked for") };
        assert!(end.at > begun[number as usize], "flash takes time");
        ends[number as usize] += 1;
    }
    assert!(ends.iter().all(|&ends| ends == 1), "every operation ends once");
    (outcome, timeline)
}

#[test]
fn time_changes_nothing_but_times() {
    let mut erases = 0;
    for (seed, mut setup) in setups(1) {
        // The least busy die is another one where time is.
        if setup.ftl.chips == Chips::LeastBusy {
            setup.ftl.chips = Chips::RoundRobin;
        }
        let _named = Named((seed, &setup));
        let stream = &mut Seed(seed).stream("operations");
        let operations: Vec<_> = (0..400).map(|_| Operation::draw(stream, setup.logical_pages())).collect();
        let (bytes, _) = run(&setup, &operations, setup.image(), |_, ()| {});
        let (nothing, _) = run(&setup, &operations, Untimed, |_, ()| {});
        assert_eq!(nothing, bytes, "no media at all");
        let (private, private_time) = run_in_time(&setup, &operations, Channel::Private);
        assert_eq!(private, bytes, "private channels");
        let (shared, shared_time) = run_in_time(&setup, &operations, Channel::Shared);
        assert_eq!(shared, bytes, "shared channels");
        assert_eq!(private_time.busy(), shared_time.busy(), "the same work");
        erases += bytes.report.count("erases_blocks");
    }
    assert!(erases > 10_000, "{erases} erases: enough to compare");
}
