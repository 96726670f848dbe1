//! The time series: counts per window of simulated time.
//!
//! The length of a run is unknown in advance, so windows begin short, and pairs are merged when the maximum is reached.
//! So memory is constant, and a finished series has at least half of the maximum number of windows.

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

/// The load of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The end.
    pub(crate) ends_at: Time,
    /// Requests that arrived in it.
    pub(crate) requests: u64,
    response_ns_sum: u128,
    /// The longest response time.
    pub(crate) response_max: Duration,
    /// The remaining work of dies and channels at its end.
    pub(crate) backlog: Duration,
}

impl Window {
    /// The mean response time; zero without requests.
    pub(crate) fn response_mean(&self) -> Duration {
        let mean = self.response_ns_sum.checked_div(self.requests.into()).unwrap_or(0);
        Duration { ns: u64::try_from(mean).unwrap_or(u64::MAX) }
    }
}

#[derive(Clone, Debug, Default, Save)]
struct Counted {
    /// The count of each column; empty at first.
    counts: Vec<u64>,
    requests: u64,
    response_ns_sum: u128,
    response_ns_max: u64,
    /// The remaining work of dies and channels at the end.
    backlog: Duration,
}

impl Counted {
    fn count(&mut self, counts: impl Iterator<Item = u64> + Clone) {
        self.counts.resize(self.counts.len().max(counts.clone().count()), 0);
        self.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    fn merge(mut self, other: &Self) -> Self {
        self.count(other.counts.iter().copied());
        Self {
            counts: self.counts,
            requests: self.requests + other.requests,
            response_ns_sum: self.response_ns_sum + other.response_ns_sum,
            response_ns_max: self.response_ns_max.max(other.response_ns_max),
            backlog: self.backlog.max(other.backlog),
        }
    }
}

/// A series in progress.
#[derive(Clone, Debug, Save)]
pub(crate) struct Recorder {
    window_ns: u64,
    windows: Vec<Counted>,
    /// The end of the current window.
    ends_at: Time,
    before: Vec<(&'static str, u64)>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            window_ns: WINDOW_NS_MIN,
            windows: vec![Counted::default()],
            ends_at: Time { ns: WINDOW_NS_MIN },
            before: Vec::new(),
        }
    }

    /// Begin to count.
    pub(crate) fn begin(&mut self, report: &Report) {
        self.before = columns(report);
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
        self.windows.resize((now.ns / self.window_ns) as usize + 1, Counted::default());
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
        let merge = |pair: &[Counted]| pair.iter().fold(Counted::default(), Counted::merge);
        self.windows = self.windows.chunks(2).map(merge).collect();
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
    }

    /// The load of each window.
    pub(crate) fn windows(&self) -> impl Iterator<Item = Window> {
        (1..).zip(&self.windows).map(|(number, counted)| Window {
            ends_at: Time { ns: self.window_ns.saturating_mul(number) },
            requests: counted.requests,
            response_ns_sum: counted.response_ns_sum,
            response_max: Duration { ns: counted.response_ns_max },
            backlog: counted.backlog,
        })
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
        columns.push(("response_max_ns", windows.iter().map(|window| window.response_ns_max).collect()));
        let mean = |window: &Counted| window.response_ns_sum as f64 / window.requests as f64;
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
        let mut recorder = Recorder::new();
        let report = |host_writes_pages| {
            let mut report = Report::default();
            report.add(&HostCounters { host_writes_pages, ..HostCounters::default() });
            report
        };
        let mut writes = 17;
        recorder.begin(&report(writes));
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
}
