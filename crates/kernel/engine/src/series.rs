//! The time series: counts per window of simulated time.
//!
//! The length of a run is unknown in advance, so windows begin short, and pairs are merged when the maximum is reached.
//! So memory is constant, and a finished series has at least half of the maximum number of windows.

use crate::latency::Histogram;
use coflash_base::measure::{Report, Value};
use coflash_base::{Duration, Save, Time};

/// The maximum number of windows; even.
const WINDOWS_MAX: usize = 512;
/// The shortest window.
const WINDOW_NS_MIN: u64 = 1_000_000;

/// The measures with a column, in the order of the report. If several levels have a column, the lowest level
/// counts.
fn columns(report: &Report) -> Vec<(&'static str, u64)> {
    let mut columns: Vec<(&'static str, u64)> = Vec::new();
    for (info, values) in report.sections() {
        for (measure, value) in info.measures.iter().zip(values) {
            if let (Some(column), Value::Count(count)) = (measure.column, *value)
                && columns.iter().all(|(other, _)| *other != column)
            {
                columns.push((column, count));
            }
        }
    }
    columns
}

/// Buckets of [`Latency`](crate::latency::Latency) of which a window has one: its buckets are at most one part in 32 of a time wide.
/// With 8 bytes each they take 2.8 MB in all windows as long as no response takes over a second, 7.2 MB at most.
const JOINED: usize = 32;

/// What happened in a window.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct Window {
    /// The count of each column; empty at first.
    counts: Vec<u64>,
    /// Requests that arrived in it.
    pub(crate) requests: u64,
    response_ns_sum: u128,
    /// The longest response time.
    pub(crate) response_ns_max: u64,
    responses: Histogram<JOINED>,
    /// The remaining work of dies and channels at its end.
    pub(crate) backlog: Duration,
}

impl Window {
    /// The mean response time; zero without requests.
    pub(crate) fn response_mean(&self) -> Duration {
        let mean = self.response_ns_sum.checked_div(self.requests.into()).unwrap_or(0);
        Duration { ns: u64::try_from(mean).unwrap_or(u64::MAX) }
    }

    /// The 99th percentile of response times, to one part in 32; zero without requests.
    fn response_ns_p99(&self) -> u64 {
        self.responses.at(0.99, self.requests).map_or(0, |end| end.min(self.response_ns_max))
    }

    fn count(&mut self, counts: impl Iterator<Item = u64> + Clone) {
        self.counts.resize(self.counts.len().max(counts.clone().count()), 0);
        self.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    fn merge(mut self, other: &Self) -> Self {
        self.count(other.counts.iter().copied());
        self.requests += other.requests;
        self.response_ns_sum += other.response_ns_sum;
        self.response_ns_max = self.response_ns_max.max(other.response_ns_max);
        self.responses.add(&other.responses);
        self.backlog = self.backlog.max(other.backlog);
        self
    }
}

/// A series in progress, from its [beginning](Self::begin) on.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct Recorder {
    window_ns: u64,
    windows: Vec<Window>,
    /// The end of the current window.
    ends_at: Time,
    before: Vec<(&'static str, u64)>,
}

impl Recorder {
    /// Begin to count.
    pub(crate) fn begin(report: &Report) -> Self {
        Self {
            window_ns: WINDOW_NS_MIN,
            windows: vec![Window::default()],
            ends_at: Time { ns: WINDOW_NS_MIN },
            before: columns(report),
        }
    }

    /// Whether an arrival at `now` begins a new window.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.ends_at
    }

    /// Close the current window with the counts and the backlog so far, and open that of `now`.
    #[cold]
    pub(crate) fn turn(&mut self, now: Time, report: &Report, backlog: Duration) {
        self.close(report);
        self.windows.last_mut().expect("it has been closed").backlog = backlog;
        while now.ns / self.window_ns >= WINDOWS_MAX as u64 {
            self.halve();
        }
        self.windows.resize((now.ns / self.window_ns) as usize + 1, Window::default());
        self.ends_at = Time { ns: (self.windows.len() as u64).saturating_mul(self.window_ns) };
    }

    fn close(&mut self, report: &Report) {
        let now = columns(report);
        let window = self.windows.last_mut().expect("there is a window under way");
        window.count(now.iter().zip(&self.before).map(|(now, before)| now.1 - before.1));
        self.before = now;
    }

    fn halve(&mut self) {
        self.window_ns *= 2;
        let mut old = std::mem::take(&mut self.windows).into_iter();
        while let Some(window) = old.next() {
            self.windows.push(old.next().iter().fold(window, Window::merge));
        }
    }

    /// Count the completion of a request that arrived at `arrival`, in the window of that time.
    #[inline]
    pub(crate) fn respond(&mut self, arrival: Time, response: Duration) {
        let last = self.windows.len() - 1;
        // A division takes as long as the rest of this function.
        let is_last = arrival.ns >= self.ends_at.ns - self.window_ns;
        let window = &mut self.windows[if is_last { last } else { (arrival.ns / self.window_ns) as usize }];
        window.requests += 1;
        window.response_ns_sum += u128::from(response.ns);
        window.response_ns_max = window.response_ns_max.max(response.ns);
        window.responses.record(response, 1);
    }

    /// The windows, with their ends.
    pub(crate) fn windows(&self) -> impl Iterator<Item = (Time, &Window)> {
        (1..)
            .zip(&self.windows)
            .map(|(end, window)| (Time { ns: self.window_ns.saturating_mul(end) }, window))
    }

    pub(crate) fn finish(mut self, report: &Report) -> Series {
        self.close(report);
        let windows = &self.windows;
        let count = |column: usize| {
            windows.iter().map(|window| window.counts.get(column).copied().unwrap_or(0)).collect()
        };
        let mut columns: Vec<(&'static str, Vec<u64>)> = vec![
            ("start_ns", (0..windows.len() as u64).map(|window| window * self.window_ns).collect()),
            ("requests", windows.iter().map(|window| window.requests).collect()),
        ];
        columns.extend(self.before.iter().enumerate().map(|(column, (name, _))| (*name, count(column))));
        columns.push(("response_p99_ns", windows.iter().map(Window::response_ns_p99).collect()));
        columns.push(("response_max_ns", windows.iter().map(|window| window.response_ns_max).collect()));
        let mean = |window: &Window| window.response_ns_sum as f64 / window.requests as f64;
        Series { window_ns: self.window_ns, columns, response_mean_ns: windows.iter().map(mean).collect() }
    }
}

/// A finished series: columns of equal length, one row per window.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The length of a window in simulated nanoseconds.
    pub window_ns: u64,
    /// The counts. Requests are counted in the window of their arrival.
    pub columns: Vec<(&'static str, Vec<u64>)>,
    /// Mean response time in nanoseconds; NaN for windows without arrivals.
    pub response_mean_ns: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostCounters;

    fn column<'a>(series: &'a Series, name: &str) -> &'a [u64] {
        &series.columns.iter().find(|column| column.0 == name).unwrap().1
    }

    #[test]
    fn merging_loses_nothing_and_the_length_stays_bounded() {
        let report = |host_writes_pages| {
            let mut report = Report::default();
            report.add(&HostCounters { host_writes_pages, ..HostCounters::default() });
            report
        };
        let mut writes = 17;
        let mut recorder = Recorder::begin(&report(writes));
        for second in 0..10_000_u64 {
            let now = Time { ns: second * second * 1_000_003 };
            if recorder.is_due(now) {
                recorder.turn(now, &report(writes), Duration::ZERO);
            }
            writes += 3;
            recorder.respond(now, Duration { ns: second });
        }
        let series = recorder.finish(&report(writes));
        let windows = column(&series, "start_ns").len();
        assert!((WINDOWS_MAX / 4..=WINDOWS_MAX).contains(&windows), "{windows}");
        assert_eq!(column(&series, "host_writes_pages").iter().sum::<u64>(), 30_000);
        assert_eq!(column(&series, "requests").iter().sum::<u64>(), 10_000);
        assert_eq!(column(&series, "response_max_ns").iter().max(), Some(&9_999));
        let per_request: Vec<_> = column(&series, "requests").iter().map(|requests| requests * 3).collect();
        assert_eq!(
            column(&series, "host_writes_pages"),
            per_request,
            "counts fall into the windows of their requests"
        );
    }

    #[test]
    fn the_percentile_of_a_window_is_that_of_its_sorted_responses() {
        let report = Report::default();
        let mut recorder = Recorder::begin(&report);
        let mut requests: Vec<(u64, u64)> = Vec::new();
        for number in 1..40_000_u64 {
            let now = Time { ns: number * number * 1_000 };
            if recorder.is_due(now) {
                recorder.turn(now, &report, Duration::ZERO);
            }
            // Some arrived in earlier windows, and their times have any number of bits.
            let arrival = Time { ns: now.ns - now.ns / 8 * (number % 2) };
            let response = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (number % 64);
            recorder.respond(arrival, Duration { ns: response });
            requests.push((arrival.ns, response));
        }
        let series = recorder.finish(&report);
        let found = column(&series, "response_p99_ns");
        assert!(series.window_ns > WINDOW_NS_MIN, "windows have been merged");
        for (window, &found) in (0..).zip(found) {
            let of_window = requests.iter().filter(|(arrival, _)| arrival / series.window_ns == window);
            let mut sorted: Vec<u64> = of_window.map(|(_, response)| *response).collect();
            sorted.sort_unstable();
            let Some(last) = sorted.len().checked_sub(1) else {
                assert_eq!(found, 0, "{window} has no requests");
                continue;
            };
            let exact = sorted[last - sorted.len() / 100];
            assert!(exact <= found && found <= sorted[last], "{window}: {exact}, {found}");
            assert!(found - exact <= (exact / 32).max(31), "{window}: {exact}, {found}");
        }
    }
}
