//! The model of order: what a flush and FUA cover, and what lies above what.

use coflash_base::Time;
use coflash_device::explore::painted::Painted;
use coflash_device::order::{Id, Kind, Log, Window};
use std::ops::Range;

/// What a cut may leave of a place.
#[derive(Debug, PartialEq)]
pub(crate) struct Left {
    /// The changes one of which may be seen.
    pub(crate) changes: Vec<Id>,
    /// Whether what was there before the run may be.
    pub(crate) before: bool,
}

/// What a cut at the end of a run may leave in a sector, which each change has whole or not at all: the judge that goes by the model.
pub(crate) fn left(log: &Log, windows: &[Window], sector: &Range<u64>) -> Left {
    let has = |id: &&Id| {
        let range = log.entries[**id].range();
        range.start <= sector.start && sector.end <= range.end
    };
    let covered: Vec<Id> = windows.iter().flat_map(|window| &window.covered).filter(has).copied().collect();
    let open = log.open(windows);
    let is_above = |one: Id, other: Id| log.entries[one].is_after(&log.entries[other]);
    let seen = covered.iter().chain(open.iter().filter(has)).copied();
    let changes = seen.filter(|&id| !covered.iter().any(|&other| is_above(other, id))).collect();
    Left { changes, before: covered.is_empty() }
}

/// A run whose requests come and are answered as a test says.
#[derive(Default)]
struct Run {
    log: Log,
    now: u64,
}

impl Run {
    fn now(&mut self) -> Time {
        self.now += 1;
        Time { ns: self.now }
    }

    fn sends(&mut self, kind: Kind, page: u64, fua: bool) -> Id {
        let now = self.now();
        self.log.arrives(now, kind, page * 4096, if kind == Kind::Flush { 0 } else { 4096 }, fua)
    }

    fn is_answered(&mut self, id: Id) {
        let now = self.now();
        self.log.is_answered(now, id, false);
    }

    /// Send a request and wait for its answer.
    fn does(&mut self, kind: Kind, page: u64, fua: bool) -> Id {
        let id = self.sends(kind, page, fua);
        self.is_answered(id);
        id
    }

    /// What is not durable at the end.
    fn open(&self) -> Vec<Id> {
        self.log.open(&self.log.windows(&[].into())).into_iter().collect()
    }
}

const NO_FUA: bool = false;
const FUA: bool = true;

#[test]
fn a_flush_covers_what_was_answered_before_it_came() {
    let mut run = Run::default();
    run.does(Kind::Write, 1, NO_FUA);
    let late = run.sends(Kind::Write, 2, NO_FUA);
    let flush = run.sends(Kind::Flush, 0, NO_FUA);
    run.is_answered(late);
    assert_eq!(run.open(), [0, late], "nothing is promised before the answer of the flush");
    run.is_answered(flush);
    assert_eq!(run.open(), [late]);
    run.does(Kind::Flush, 0, NO_FUA);
    assert!(run.open().is_empty());
}

#[test]
fn a_flush_that_is_added_covers_what_was_answered_before_its_event_and_is_not_counted() {
    let mut run = Run::default();
    let (first, second) = (run.does(Kind::Write, 1, NO_FUA), run.sends(Kind::Write, 2, NO_FUA));
    let last = run.does(Kind::Write, 3, NO_FUA);
    run.is_answered(second);
    let before = |id: Id, device: usize| [(run.log.entries[id].arrived.event, device)].into();
    let windows = run.log.windows(&before(last, 0));
    assert_eq!(windows.iter().map(|window| window.flushes).max(), Some(0));
    assert_eq!(windows[1].covered, [first], "the answer to the second one came later");
    assert_eq!((windows[1].added, windows[1].came.clone()), (before(last, 0).pop_first(), last..last + 1));
    assert_eq!(run.log.open(&windows).into_iter().collect::<Vec<_>>(), [second, last]);
    assert_eq!(run.log.windows(&before(first, 0)).len(), 1, "it covers nothing");
    assert_eq!(run.log.windows(&before(last, 1)).len(), 1, "it is that of another device");
}

#[test]
fn a_flush_covers_what_its_own_device_was_sent() {
    let mut run = Run::default();
    let (first, second) = (run.does(Kind::Write, 1, NO_FUA), run.does(Kind::Write, 1, NO_FUA));
    run.log.entries[second].device = 1;
    run.does(Kind::Flush, 0, NO_FUA);
    assert_eq!(run.open(), [second]);
    let flush = run.sends(Kind::Flush, 0, NO_FUA);
    run.log.entries[flush].device = 1;
    run.is_answered(flush);
    assert!(run.open().is_empty() && first < second);
}

#[test]
fn fua_covers_its_own_write_alone() {
    let mut run = Run::default();
    let before = run.does(Kind::Write, 1, NO_FUA);
    run.does(Kind::Write, 2, FUA);
    let under_way = run.sends(Kind::Zeroes, 3, FUA);
    assert_eq!(run.open(), [before, under_way]);
    run.is_answered(under_way);
    assert_eq!(run.open(), [before]);
}

#[test]
fn a_failed_request_covers_nothing_and_is_never_covered() {
    let mut run = Run::default();
    let write = run.does(Kind::Write, 1, NO_FUA);
    let flush = run.sends(Kind::Flush, 0, NO_FUA);
    let now = run.now();
    run.log.is_answered(now, flush, true);
    let failed = run.sends(Kind::Write, 2, FUA);
    let now = run.now();
    run.log.is_answered(now, failed, true);
    assert_eq!(run.open(), [write, failed]);
    run.does(Kind::Flush, 0, NO_FUA);
    assert_eq!(
        run.open(),
        [write, failed],
        "the drive may have dropped what a failed flush should have covered"
    );
    run.does(Kind::Write, 1, NO_FUA);
    run.does(Kind::Flush, 0, NO_FUA);
    assert_eq!(run.open(), [write, failed], "what is written again is covered");
}

#[test]
fn windows_begin_at_promises_and_count_flushes_and_marks() {
    let mut run = Run::default();
    run.does(Kind::Write, 1, NO_FUA);
    let now = run.now();
    run.log.mark(now, "one".to_owned());
    run.does(Kind::Write, 2, FUA);
    run.does(Kind::Flush, 0, NO_FUA);
    let windows = run.log.windows(&[].into());
    let about = |number: usize| {
        let window = &windows[number];
        (window.flushes, window.marks, window.is_told, run.log.open(&windows[..=number]).len())
    };
    let about: Vec<_> = (0..windows.len()).map(about).collect();
    assert_eq!(about, [(0, 0, true, 1), (0, 1, true, 2), (0, 1, false, 1), (1, 1, true, 0)]);
    assert_eq!(windows[2].covered, [1]);
    assert_eq!(windows[3].covered, [0]);
}

#[test]
fn a_request_is_after_those_whose_answers_had_come() {
    let mut run = Run::default();
    let first = run.sends(Kind::Write, 1, NO_FUA);
    let second = run.sends(Kind::Write, 1, NO_FUA);
    run.is_answered(first);
    let third = run.sends(Kind::Write, 1, NO_FUA);
    let is_after = |one: Id, other: Id| run.log.entries[one].is_after(&run.log.entries[other]);
    assert!(is_after(third, first));
    assert!(!is_after(third, second) && !is_after(second, first) && !is_after(first, third));
}

#[test]
fn a_cut_may_leave_what_is_not_covered_and_what_lies_above_all_that_is() {
    let mut run = Run::default();
    let left = |run: &Run, page: u64| {
        left(&run.log, &run.log.windows(&[].into()), &(page * 4096..page * 4096 + 512))
    };
    let durable = run.does(Kind::Write, 1, FUA);
    assert_eq!(left(&run, 1), Left { changes: vec![durable], before: false });
    assert_eq!(left(&run, 2), Left { changes: vec![], before: true });
    let first = run.sends(Kind::Write, 1, NO_FUA);
    let second = run.sends(Kind::Write, 1, NO_FUA);
    run.is_answered(first);
    assert_eq!(left(&run, 1), Left { changes: vec![durable, first, second], before: false });
    run.does(Kind::Flush, 0, NO_FUA);
    assert_eq!(left(&run, 1), Left { changes: vec![first, second], before: false }, "an older one is below");
    run.is_answered(second);
    run.does(Kind::Flush, 0, NO_FUA);
    let either = Left { changes: vec![first, second], before: false };
    assert_eq!(left(&run, 1), either, "they were under way together");
    let last = run.does(Kind::Write, 1, FUA);
    assert_eq!(left(&run, 1), Left { changes: vec![last], before: false });
}

#[test]
fn of_overlapping_ranges_the_higher_one_is_seen() {
    let mut painted = Painted::default();
    let ends = |ranges: Vec<Range<u64>>| {
        ranges.into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
    };
    assert_eq!(ends(painted.paint(0..100, 0, |_| false)), [(0, 100)]);
    assert_eq!(ends(painted.paint(10..30, 1, |_| false)), [(10, 30)]);
    // Where another one lies above it, it is not seen.
    assert_eq!(ends(painted.paint(0..200, 2, |other| other == 1)), [(0, 10), (30, 200)]);
    assert_eq!(ends(painted.visible(0..300, |_| true)), [(200, 300)]);
    let seen: Vec<_> = painted.pieces().map(|piece| (piece.id, piece.range)).collect();
    assert_eq!(seen, [(2, 0..10), (1, 10..30), (2, 30..200)]);
}

#[test]
fn what_was_under_way_together_is_loose_until_a_read_or_a_later_change() {
    let mut run = Run::default();
    let loose = |run: &Run| run.log.windows(&[].into()).pop().expect("there is one at least").loose;
    let (first, second) = (run.sends(Kind::Write, 1, NO_FUA), run.sends(Kind::Write, 1, NO_FUA));
    run.is_answered(second);
    run.log.is_read(&(4096..8192));
    run.is_answered(first);
    run.does(Kind::Write, 2, NO_FUA);
    run.log.is_read(&(8192..12288));
    run.does(Kind::Flush, 0, NO_FUA);
    assert_eq!(loose(&run), [first, second], "neither read has shown which one is above");
    run.log.is_read(&(4096..4608));
    assert_eq!(loose(&run), [first, second], "before the read either was above");
    run.does(Kind::Flush, 0, NO_FUA);
    assert!(loose(&run).is_empty());
}
