//! A sorting window for nearly ordered records.
//!
//! Requests recorded in the order of completion, or by several processors, are out of order by at most the slowest
//! request or the fullest buffer. A record is held until a record later by the window is read, then released in the
//! order of time; records of the same time keep the order of the file. Memory is bounded: if the window is full, the
//! earliest record is released early.

use crate::record::{Record, counted};
use coflash_base::Duration;
use std::collections::BTreeMap;

/// Upper limit of held records: about 50 MB.
const WAITING_MAX: usize = 1 << 20;

/// A held record and its line.
pub(crate) struct HeldRecord {
    pub(crate) record: Record,
    pub(crate) line: u64,
}

/// The sorting window.
#[derive(Default)]
pub(crate) struct Window {
    window_ns: u64,
    /// By their time, and their line among those of the same time.
    held: BTreeMap<(u64, u64), HeldRecord>,
    /// The latest time read while it is open.
    newest_ns: u64,
    /// Whether all records are read.
    ended: bool,
    /// The number of records behind a later one, and their largest lag.
    sorted: u64,
    pub(crate) sorted_ns_max: u64,
}

impl Window {
    pub(crate) fn new(window: Duration) -> Self {
        Self { window_ns: window.ns, ..Self::default() }
    }

    /// Whether records are held at all.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.window_ns > 0
    }

    #[inline]
    pub(crate) fn push(&mut self, waiting: HeldRecord) {
        self.see(waiting.record.time_ns);
        self.held.insert((waiting.record.time_ns, waiting.line), waiting);
    }

    /// Note how far a record is behind the latest one.
    #[inline]
    pub(crate) fn see(&mut self, time_ns: u64) {
        let late_ns = self.newest_ns.saturating_sub(time_ns);
        self.sorted += u64::from(late_ns > 0);
        self.sorted_ns_max = self.sorted_ns_max.max(late_ns);
        self.newest_ns = self.newest_ns.max(time_ns);
    }

    /// Take the earliest record, if no earlier one can follow.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<HeldRecord> {
        let full = self.held.len() > WAITING_MAX;
        let first = self.held.first_entry()?;
        let waited = self.newest_ns - first.key().0 >= self.window_ns;
        (waited || full || self.ended).then(|| first.remove())
    }

    /// Mark the end of the input. Returns whether records are left.
    pub(crate) fn end(&mut self) -> bool {
        self.ended = true;
        !self.held.is_empty()
    }

    pub(crate) fn remark(&self, file: &str) -> Option<String> {
        let (window, farthest) = (Duration { ns: self.window_ns }, Duration { ns: self.sorted_ns_max });
        let what = format!("out of order by up to {farthest}, and sorted (sort_window = \"{window}\")");
        counted(self.sorted, "record", what).map(|remark| format!("{file}: {remark}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_workload::Op;
    use proptest::prelude::*;

    fn waiting(time_ns: u64, line: u64) -> HeldRecord {
        let record = Record { time_ns, device: 0, offset: 0, length: 1, op: Op::Read, placement: None };
        HeldRecord { record, line }
    }

    /// The released records, as times and lines, for the input `times`.
    fn through(window: Duration, times: &[u64]) -> Vec<(u64, u64)> {
        let mut window = Window::new(window);
        let mut out = Vec::new();
        for (&time_ns, line) in times.iter().zip(1..) {
            window.push(waiting(time_ns, line));
            out.extend(std::iter::from_fn(|| window.pop()).map(|w| (w.record.time_ns, w.line)));
        }
        window.end();
        out.extend(std::iter::from_fn(|| window.pop()).map(|w| (w.record.time_ns, w.line)));
        out
    }

    #[test]
    fn a_record_leaves_when_one_a_window_later_is_there() {
        let mut window = Window::new(Duration { ns: 10 });
        window.push(waiting(100, 1));
        window.push(waiting(109, 2));
        assert!(window.pop().is_none());
        window.push(waiting(110, 3));
        assert_eq!(window.pop().map(|w| w.line), Some(1));
        assert!(window.pop().is_none());
        assert!(window.remark("f").is_none());
        window.push(waiting(105, 4));
        assert!(window.remark("f").unwrap().contains("1 record out of order by up to 5ns"));
        assert!(window.end());
        assert_eq!(window.pop().map(|w| w.line), Some(4));
    }

    #[test]
    fn where_all_arrive_at_once_they_still_leave() {
        let mut window = Window::new(Duration { ns: 10 });
        (0..WAITING_MAX as u64).for_each(|line| window.push(waiting(7, line)));
        assert!(window.pop().is_none());
        window.push(waiting(7, WAITING_MAX as u64));
        assert_eq!(window.pop().map(|w| w.line), Some(0));
        assert!(window.pop().is_none());
    }

    proptest! {
        #[test]
        fn what_is_within_the_window_comes_out_in_order(
            steps in proptest::collection::vec((0..30_u64, 0..200_u64), 0..300),
        ) {
            // Each is at most 200 behind the latest: near the end of the queue or far from it.
            let mut clock = 1000;
            let times: Vec<_> = steps.iter().map(|(step, back)| { clock += step; clock - back }).collect();
            let mut sorted: Vec<_> = times.iter().copied().zip(1..).collect();
            sorted.sort_unstable();
            prop_assert_eq!(through(Duration { ns: 201 }, &times), sorted);
        }
    }
}
