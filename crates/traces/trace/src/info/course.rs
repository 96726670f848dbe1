//! Reads and writes over time.
//!
//! The duration of a workload is unknown in advance: windows begin at a nanosecond, and pairs are merged when the
//! maximum is reached.

use coflash_workload::{Op, Request};
use serde::Serialize;

/// The maximum number of windows; even.
const WINDOWS_MAX: usize = 256;

/// Reads and writes per window of time: columns of equal length. The first window begins at the first arrival.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Course {
    /// The length of a window.
    pub window_ns: u64,
    /// Reads that arrive in each window.
    pub read_requests: Vec<u64>,
    /// Writes that arrive in each window.
    pub write_requests: Vec<u64>,
    /// The bytes of the reads.
    pub read_bytes: Vec<u64>,
    /// The bytes of the writes.
    pub written_bytes: Vec<u64>,
}

/// Requests and bytes, of reads and of writes.
type Window = [[u64; 2]; 2];

/// The counters of a time series.
#[derive(Default)]
pub(super) struct Windows {
    /// The binary logarithm of the length of a window in nanoseconds.
    window_bits: u32,
    windows: Vec<Window>,
}

impl Windows {
    /// Add a read or a write that arrives `after_ns` after the first request; arrivals never decrease.
    #[inline]
    pub(super) fn add(&mut self, request: &Request, after_ns: u64) {
        while after_ns >> self.window_bits >= WINDOWS_MAX as u64 {
            self.halve();
        }
        let window = (after_ns >> self.window_bits) as usize;
        if window >= self.windows.len() {
            self.windows.resize(window + 1, Window::default());
        }
        let [requests, bytes] = &mut self.windows[window][usize::from(request.op == Op::Write)];
        *requests += 1;
        *bytes = bytes.saturating_add(request.length);
    }

    #[cold]
    fn halve(&mut self) {
        let add = |a: u64, b: &u64| a.saturating_add(*b);
        let sum = |pair: &[Window]| {
            [0, 1].map(|op| [0, 1].map(|what| pair.iter().map(|window| &window[op][what]).fold(0, add)))
        };
        self.windows = self.windows.chunks(2).map(sum).collect();
        self.window_bits += 1;
    }

    pub(super) fn finish(self) -> Course {
        let column = |op: usize, what: usize| self.windows.iter().map(|window| window[op][what]).collect();
        Course {
            window_ns: 1 << self.window_bits,
            read_requests: column(0, 0),
            write_requests: column(1, 0),
            read_bytes: column(0, 1),
            written_bytes: column(1, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Time;

    #[test]
    fn merging_loses_nothing_and_the_length_stays_bounded() {
        let mut windows = Windows::default();
        let mut expected: Vec<(u64, u64)> = Vec::new();
        for second in 0..10_000_u64 {
            let op = if second % 3 == 0 { Op::Write } else { Op::Read };
            let arrival = Time { ns: second * second * 1_000_003 };
            windows.add(&Request { arrival, offset: 0, length: second, op, placement: None }, arrival.ns);
            expected.push((arrival.ns, second));
        }
        let course = windows.finish();
        assert!((WINDOWS_MAX / 2..=WINDOWS_MAX).contains(&course.read_requests.len()));
        for (window, &bytes) in course.written_bytes.iter().enumerate() {
            let here = expected
                .iter()
                .filter(|(ns, length)| (ns / course.window_ns) as usize == window && length % 3 == 0);
            assert_eq!(bytes, here.map(|&(_, length)| length).sum::<u64>(), "window {window}");
        }
        assert_eq!(course.read_requests.iter().chain(&course.write_requests).sum::<u64>(), 10_000);
        assert_eq!(course.read_bytes.iter().chain(&course.written_bytes).sum::<u64>(), 9_999 * 5_000);
    }

    #[test]
    fn the_end_of_time_has_a_window() {
        let mut windows = Windows::default();
        let request =
            Request { arrival: Time { ns: 0 }, offset: 0, length: 1, op: Op::Read, placement: None };
        windows.add(&request, 0);
        windows.add(&request, u64::MAX);
        assert_eq!(windows.finish().read_requests.len(), WINDOWS_MAX);
    }
}
