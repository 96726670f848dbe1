//! The time series: what happened in each window of simulated time.
//!
//! How long a run lasts is not known while it streams, so windows begin short and pairs are merged whenever there are
//! too many: memory stays flat, and a finished series has between half and all of its most windows.

use coflash_base::{Duration, Time};

/// The most windows of a series; even.
const WINDOWS_MAX: usize = 512;
/// The shortest window.
const WINDOW_NS_MIN: u64 = 1_000_000;

macro_rules! columns {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// What is counted in each window.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Counts { $($(#[$meta])* pub(crate) $name: u64,)* }

        impl Counts {
            pub(crate) fn minus(self, before: Self) -> Self {
                Self { $($name: self.$name - before.$name,)* }
            }

            fn plus(self, other: Self) -> Self {
                Self { $($name: self.$name + other.$name,)* }
            }

            fn columns(windows: &[Window]) -> Vec<(&'static str, Vec<u64>)> {
                vec![$((stringify!($name), windows.iter().map(|window| window.counts.$name).collect())),*]
            }
        }
    };
}

columns! {
    /// Pages the host read.
    host_reads_pages,
    /// Pages the host wrote.
    host_writes_pages,
    /// Programs of pages the host wrote past the cache.
    programs_host_pages,
    /// Programs of pages that left the cache.
    programs_evict_pages,
    /// Programs of pages that GC copied.
    programs_gc_pages,
    /// Programs of summaries.
    programs_metadata_pages,
    /// Pages that GC did not copy because the cache had them.
    gc_drops_pages,
    /// Pages written only because GC had dropped them.
    drop_rewrites_pages,
    /// Erased blocks.
    erases_blocks,
    /// Pages read or written and found in the cache.
    cache_hits_pages,
    /// Pages read or written and not found.
    cache_misses_pages,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    counts: Counts,
    requests: u64,
    response_ns_sum: u128,
    response_ns_max: u64,
}

impl Window {
    fn plus(self, other: Self) -> Self {
        Self {
            counts: self.counts.plus(other.counts),
            requests: self.requests + other.requests,
            response_ns_sum: self.response_ns_sum + other.response_ns_sum,
            response_ns_max: self.response_ns_max.max(other.response_ns_max),
        }
    }
}

/// A series under way.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    window_ns: u64,
    windows: Vec<Window>,
    /// When the window under way ends: until then nothing has to be done.
    ends_at: Time,
    before: Counts,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            window_ns: WINDOW_NS_MIN,
            windows: vec![Window::default()],
            ends_at: Time { ns: WINDOW_NS_MIN },
            before: Counts::default(),
        }
    }

    /// Whether a request that arrives at `now` begins a new window.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.ends_at
    }

    /// Closes the window under way, with what has been counted by now, and opens the one of `now`.
    #[cold]
    pub(crate) fn turn(&mut self, now: Time, counts: Counts) {
        self.close(counts);
        while now.ns / self.window_ns >= WINDOWS_MAX as u64 {
            self.halve();
        }
        self.windows.resize((now.ns / self.window_ns) as usize + 1, Window::default());
        self.ends_at = Time { ns: (self.windows.len() as u64).saturating_mul(self.window_ns) };
    }

    fn close(&mut self, counts: Counts) {
        let window = self.windows.last_mut().expect("there is a window under way");
        window.counts = window.counts.plus(counts.minus(self.before));
        self.before = counts;
    }

    fn halve(&mut self) {
        self.window_ns *= 2;
        self.windows = self
            .windows
            .chunks(2)
            .map(|pair| pair.iter().fold(Window::default(), |a, b| a.plus(*b)))
            .collect();
    }

    /// A request that arrived at `arrival`, in this window or an earlier one, has been answered.
    #[inline]
    pub(crate) fn respond(&mut self, arrival: Time, response: Duration) {
        let window = &mut self.windows[(arrival.ns / self.window_ns) as usize];
        window.requests += 1;
        window.response_ns_sum += u128::from(response.ns);
        window.response_ns_max = window.response_ns_max.max(response.ns);
    }

    pub(crate) fn finish(mut self, counts: Counts) -> Series {
        self.close(counts);
        let windows = &self.windows;
        let mut columns = vec![
            ("start_ns", (0..windows.len() as u64).map(|window| window * self.window_ns).collect()),
            ("requests", windows.iter().map(|window| window.requests).collect()),
        ];
        columns.extend(Counts::columns(windows));
        columns.push(("response_max_ns", windows.iter().map(|window| window.response_ns_max).collect()));
        let mean = |window: &Window| window.response_ns_sum as f64 / window.requests as f64;
        Series { window_ns: self.window_ns, columns, response_mean_ns: windows.iter().map(mean).collect() }
    }
}

/// A finished series: columns of equal length, one row for each window.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The length of a window in simulated nanoseconds.
    pub window_ns: u64,
    /// Counts; requests are counted in the window in which they arrived.
    pub columns: Vec<(&'static str, Vec<u64>)>,
    /// Mean response in nanoseconds; not a number where no request arrived.
    pub response_mean_ns: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column<'a>(series: &'a Series, name: &str) -> &'a [u64] {
        &series.columns.iter().find(|column| column.0 == name).unwrap().1
    }

    #[test]
    fn merging_loses_nothing_and_the_length_stays_bounded() {
        let mut recorder = Recorder::new();
        let mut counts = Counts::default();
        for second in 0..10_000_u64 {
            let now = Time { ns: second * second * 1_000_003 };
            if recorder.is_due(now) {
                recorder.turn(now, counts);
            }
            counts.host_writes_pages += 3;
            recorder.respond(now, Duration { ns: second });
        }
        let series = recorder.finish(counts);
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
