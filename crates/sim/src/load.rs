//! Load: whether the device keeps up with the host, the rate that it holds if not, and a note.
//!
//! Below its capacity a device has a backlog that comes and goes. Above it the backlog grows as long as
//! requests come, and the measures (response times, or the work answered before flash had it) depend on the
//! length of the workload. In an open loop the backlog is the waiting time of requests, or the time until a
//! die or channel has done its issued work, also for requests answered early. A closed loop waits for
//! answers: only work left after them shows that the host runs ahead of flash.

use crate::series::Window;
use coflash_base::{Duration, Time};
use coflash_media::{Geometry, Timing};
use coflash_scenario::ReplayMode;

coflash_base::measures! {
    /// The host's requests and the device's pace.
    pub struct Load in "load", "Load" {
        /// The longest time by which the device was behind. In an open loop it is the mean response time of a window of the
        /// time series, or the work left to dies and channels; in a closed loop their work left after the last answer.
        behind_ns: u64, "furthest behind the host", ns, cost, untabled;
        /// Requests per second that the device can sustain; only if it fell behind.
        sustained_per_s: Option<f64>, "requests per second that the device can sustain", per_second, gain, untabled;
    }
}

/// A device is behind if its backlog is at least this part of the run.
const PART_OF_RUN: u64 = 20;

/// Foreground GC alone delays a die by the time of cleaning a block; a backlog of this many cleanings has
/// another cause.
const CLEANINGS: u64 = 2;

/// The backlog of the device at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Behind {
    at: Time,
    /// Requests up to then.
    requests: u64,
    /// The delay of unanswered requests.
    late: Duration,
    /// The remaining work of dies and channels.
    busy: Duration,
}

impl Behind {
    fn by(&self) -> Duration {
        self.late.max(self.busy)
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) last_arrival: Time,
    pub(crate) last_answer: Time,
    /// The end of the last operation of flash and disks.
    pub(crate) busy_until: Time,
    pub(crate) requests: u64,
}

/// The longest time for which GC keeps a die busy with one victim of `blocks` blocks on the die: copies of
/// all pages through the controller, and the erases.
pub(crate) fn cleaning(geometry: &Geometry, timing: &Timing, blocks: u32) -> Duration {
    let transfer = timing.sector_transfer * (geometry.page_size.count / geometry.sector_size.count);
    let copy = |page| {
        let (page_read, page_program) = timing.of_page(page);
        page_read + page_program + timing.ecc_decode + transfer * 2
    };
    let block = (0..geometry.pages_per_block).map(copy).fold(timing.block_erase, |all, time| all + time);
    block * u64::from(blocks)
}

/// The load of a run from the windows of its time series, and the note if the device fell behind.
pub(crate) fn load(
    mode: ReplayMode,
    windows: impl Iterator<Item = Window>,
    end: End,
    cleaning: Duration,
) -> (Load, Option<String>) {
    let over = |after: Time, before: Time| Duration { ns: after.ns.saturating_sub(before.ns) };
    let (mut last, mut before) = (Behind { requests: end.requests, ..Behind::default() }, Vec::new());
    match mode {
        ReplayMode::Closed => {
            last.at = end.last_answer;
            last.busy = over(end.busy_until, end.last_answer);
        }
        ReplayMode::Open => {
            last.at = end.last_arrival;
            last.late = over(end.last_answer, end.last_arrival);
            last.busy = over(end.busy_until, end.last_arrival);
            before.extend(windows.scan(0, |requests, window| {
                *requests += window.requests;
                let late = window.response_mean();
                Some(Behind { at: window.ends_at, requests: *requests, late, busy: window.backlog })
            }));
            // The last window is still open: the end of the run replaces it.
            before.pop();
        }
    }
    before.push(last);
    let (peak_at, peak) =
        before.iter().enumerate().max_by_key(|(_, behind)| behind.by()).expect("there is the end");
    let (run, by) = (end.busy_until.max(end.last_answer), peak.by());
    if by <= cleaning * CLEANINGS || by.ns <= run.ns / PART_OF_RUN {
        return (Load { behind_ns: by.ns, sustained_per_s: None }, None);
    }
    let keeps_up = before[..peak_at].iter().rev().find(|behind| behind.by() <= cleaning * CLEANINGS);
    let since = keeps_up.copied().unwrap_or_default();
    let seconds = over(peak.at + by, since.at).ns as f64 / 1e9;
    let sustained = (peak.requests - since.requests) as f64 / seconds;
    let found = Load { behind_ns: by.ns, sustained_per_s: Some(sustained) };
    let (by, run) = (three_digits(by), three_digits(Duration { ns: run.ns }));
    let what = if mode == ReplayMode::Closed || peak.busy.ns / 2 > peak.late.ns {
        format!(
            "Flash fell behind the host: requests were answered before flash had done their work, which was up to {by} behind \
             in a run of {run}. Rates and response times do not last"
        )
    } else {
        format!(
            "The device fell behind its arrivals, by up to {by} in a run of {run}. Response times measure the queue, and grow \
             with the length of the workload"
        )
    };
    let note = format!(
        "{what}: the device holds about {sustained:.0} requests/s (load.sustained_per_s). A closed loop (replay.mode) with writes \
         that wait, or a larger replay.time_scale, keeps to its pace."
    );
    (found, Some(note))
}

/// A time in seconds or milliseconds, to three significant digits.
pub(crate) fn three_digits(time: Duration) -> String {
    let (factor, unit) = if time.ns < 1_000_000_000 { (1e6, "ms") } else { (1e9, "s") };
    let value = time.ns as f64 / factor;
    let digits = (2.0 - value.log10().floor()).clamp(0.0, 3.0) as usize;
    format!("{value:.digits$} {unit}")
}
