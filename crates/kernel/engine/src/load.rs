//! Load: whether the device keeps up with the host, the rate that it holds if not, and a note.
//!
//! Below its capacity a device has a backlog that comes and goes: GC gives a die the work of many writes at once. Above
//! it the backlog grows as long as requests come, and the measures depend on the length of the workload. There are two
//! backlogs. Requests wait, in an open loop; a closed loop waits for them. And dies and channels have work left, also
//! for requests that were answered early: then the host runs ahead of flash, in either loop.

use crate::series::Window;
use coflash_base::measure::{Report, ratio};
use coflash_base::{Duration, Time};
use coflash_ftl::FtlCounters;
use coflash_scenario::{ReplayMode, Scenario};

coflash_base::measures! {
    /// The host's requests and the device's pace.
    pub struct Load in "load", "Load" {
        /// The longest time by which the device was behind. In an open loop it is the mean response time of a window of the
        /// time series, or the work left to dies and channels; in a closed loop their work left after the last answer.
        behind_ns: u64, "furthest behind the host", ns, cost, untabled;
        /// Requests per second that the device can sustain; only if it fell behind for long enough to measure it.
        sustained_per_s: Option<f64>, "requests per second that the device can sustain", per_second, gain, untabled;
    }
}

/// A backlog of less than this part of the run is none.
const PART_OF_RUN: u64 = 20;

/// Turns of GC that do not meet on a die by chance: a backlog that came and went is longer.
const TURNS_OF_BURST: u64 = 16;

/// Turns of GC in a time over which a rate is measured: one more or less is a tenth.
const TURNS_OF_RATE: u64 = 10;

/// Dies of which one has its turn of GC, at most: the requests of the others do not wait for it.
const DIES_PER_TURN: u32 = 4;

/// The end of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) last_arrival: Time,
    pub(crate) last_answer: Time,
    /// The end of the last operation of flash and disks.
    pub(crate) busy_until: Time,
    pub(crate) requests: u64,
}

/// A backlog of the device at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Behind {
    at: Time,
    /// Requests up to then.
    requests: u64,
    by: Duration,
    /// The time at which these requests are done with.
    done: Time,
}

/// A backlog over the run; its last entry is that at the end.
struct Course(Vec<Behind>);

/// How the device fell behind.
pub(crate) struct Fall {
    /// Whether requests were answered before flash had done their work.
    answers_early: bool,
    /// The length of the run.
    run: Duration,
    /// Whether it did so for as long as requests came.
    grows: bool,
    by: Duration,
    /// The time left for the requests of then, at its furthest.
    left: Duration,
    sustained_per_s: Option<f64>,
}

impl Course {
    fn longest(&self) -> Behind {
        self.0.iter().copied().max_by_key(|behind| behind.by).expect("there is the end")
    }

    /// The median backlog in each quarter of the time in which requests arrive; in one without any, as before it.
    fn quarters(&self) -> [Duration; 4] {
        let run = self.0.last().map_or(0, |last| last.at.ns);
        let mut median = Duration::ZERO;
        [3, 2, 1, 0].map(|later| {
            let left = |at: Time| u128::from(run.saturating_sub(at.ns)) * 4 / u128::from(run.max(1));
            let is_in = |behind: &&Behind| left(behind.at).min(3) == later;
            let mut backlogs: Vec<Duration> = self.0.iter().filter(is_in).map(|behind| behind.by).collect();
            backlogs.sort_unstable();
            median = backlogs.get(backlogs.len() / 2).copied().unwrap_or(median);
            median
        })
    }

    /// Whether the device fell behind, where turns of GC alone make a backlog of `normal`, and move an end by `turn`.
    fn fall(&self, run: Duration, normal: Duration, turn: Duration) -> Option<Fall> {
        let is_long = |by: Duration, normal| by > normal && by.ns > run.ns / PART_OF_RUN;
        let quarters = self.quarters();
        let grows =
            quarters.is_sorted() && quarters[3].ns * 2 > quarters[1].ns * 3 && is_long(quarters[3], normal);
        let (last, before) = self.0.split_last()?;
        let peak = if grows { last } else { before.iter().max_by_key(|behind| behind.by)? };
        (grows || is_long(peak.by, normal * TURNS_OF_BURST)).then(|| Fall {
            answers_early: false,
            run,
            grows,
            by: self.longest().by,
            left: over(peak.done, peak.at),
            sustained_per_s: self.rate(peak, normal, turn),
        })
    }

    /// The rate at which requests were done with from the last time before `peak` at which the device kept up, or from
    /// the start if it was higher, as where free blocks and buffers took in more at first. `None` if that was too short.
    fn rate(&self, peak: &Behind, normal: Duration, turn: Duration) -> Option<f64> {
        let keeps_up = |behind: &&Behind| behind.by <= normal.max(Duration { ns: peak.by.ns / 32 });
        let before = self.0.iter().take_while(|behind| behind.at < peak.at);
        let since = before.filter(keeps_up).last().copied().unwrap_or_default();
        let took = |since: Behind| over(peak.done, since.at + since.by);
        let rate = |since: Behind| (peak.requests - since.requests) as f64 * 1e9 / took(since).ns as f64;
        (took(since) >= turn * TURNS_OF_RATE).then(|| rate(since).max(rate(Behind::default())))
    }
}

impl Fall {
    pub(crate) fn note(&self) -> String {
        let (by, run) = (three_digits(self.by), three_digits(self.run));
        let ever = if self.grows { "ever further behind" } else { "for a time behind" };
        let what = if self.answers_early {
            format!(
                "Flash fell {ever} the host: requests were answered before flash had done their work, which was up to {by} \
                 behind in a run of {run}. Rates and response times do not last"
            )
        } else {
            let length = if self.grows { ", and grow with the length of the workload" } else { "" };
            format!(
                "The device fell {ever} its arrivals, by up to {by} in a run of {run}. Response times measure the \
                 queue{length}"
            )
        };
        let held = match self.sustained_per_s {
            Some(rate) => format!("the device holds about {rate:.0} requests/s (load.sustained_per_s)"),
            None => "the run is too short to tell the rate that the device holds (load.sustained_per_s)"
                .to_owned(),
        };
        format!(
            "{what}: {held}. A closed loop (replay.mode) with writes that wait, or a larger replay.time_scale, keeps to its \
             pace."
        )
    }
}

/// The time for which GC may keep a die busy: with a whole valid block, and to gain a block. For that it cleans victims
/// until what they free makes up for one.
fn turns(scenario: &Scenario, report: &Report) -> (Duration, Duration) {
    let Scenario { flash, timing, ftl, .. } = scenario;
    let transfer = timing.sector_transfer * (flash.page_size.count / flash.sector_size.count);
    let copy = |page| {
        let (page_read, page_program) = timing.of_page(page);
        page_read + page_program + timing.ecc_decode + transfer * 2
    };
    let copies = (0..flash.pages_per_block).map(copy).fold(Duration::ZERO, |all, time| all + time);
    let FtlCounters { erases_blocks, gc_copies_pages, .. } = report.get();
    let cleaned = erases_blocks * u64::from(flash.pages_per_block);
    let valid = ratio(gc_copies_pages, cleaned).unwrap_or(0.0);
    let victims = (1.0 / (1.0 - valid).max(1.0 / f64::from(flash.pages_per_block))).ceil();
    let victim = copies.ns as f64 * valid + timing.block_erase.ns as f64;
    let blocks = ftl.blocks_per_erase(flash).div_ceil(flash.dies());
    [copies + timing.block_erase, Duration { ns: (victim * victims) as u64 }]
        .map(|time| time * u64::from(blocks))
        .into()
}

/// The load of a run from the windows of its time series, and how the device fell behind, if it did.
pub(crate) fn load<'a>(
    scenario: &Scenario,
    mode: ReplayMode,
    windows: impl Iterator<Item = (Time, &'a Window)>,
    end: End,
    report: &Report,
) -> (Load, Option<Fall>) {
    let is_open = mode == ReplayMode::Open;
    let at = if is_open { end.last_arrival } else { end.last_answer };
    let last = |done| Behind { at, requests: end.requests, by: over(done, at), done };
    let (mut late, mut busy, mut requests) = (Vec::new(), Vec::new(), 0);
    for (ends_at, window) in windows.filter(|(_, window)| window.requests > 0) {
        requests += window.requests;
        let behind = |by, left| Behind { at: ends_at, requests, by, done: ends_at + left };
        late.push(behind(window.response_mean(), Duration { ns: window.response_ns_max }));
        busy.push(behind(window.backlog, window.backlog));
    }
    // The last window is still open: the end of the run replaces it.
    for (course, done) in [(&mut late, end.last_answer), (&mut busy, end.busy_until)] {
        course.pop();
        course.push(last(done));
    }
    let (late, busy) = (Course(late), Course(busy));
    let run = Duration { ns: end.last_answer.max(end.busy_until).ns };
    let (block, turn) = turns(scenario, report);
    let some_dies = u64::from(scenario.flash.dies().min(DIES_PER_TURN));
    let normal = block.max(Duration { ns: turn.ns / some_dies });
    let turn = turn.max(block);
    let waiting = if is_open { late.fall(run, normal, turn) } else { None };
    let working = busy.fall(run, turn, turn).filter(|fall| is_open || fall.grows);
    let behind = if is_open { late.longest().by.max(busy.longest().by) } else { over(end.busy_until, at) };
    let early = |fall| Fall { answers_early: true, ..fall };
    let fall = match (waiting, working) {
        (Some(waiting), Some(working)) if working.left.ns / 2 > waiting.left.ns => Some(early(working)),
        (Some(waiting), _) => Some(waiting),
        (None, working) => working.map(early),
    };
    let sustained_per_s = fall.as_ref().and_then(|fall| fall.sustained_per_s);
    (Load { behind_ns: behind.ns, sustained_per_s }, fall)
}

fn over(after: Time, before: Time) -> Duration {
    Duration { ns: after.ns.saturating_sub(before.ns) }
}

/// A time in seconds or milliseconds, to three significant digits.
pub(crate) fn three_digits(time: Duration) -> String {
    let (factor, unit) = if time.ns < 1_000_000_000 { (1e6, "ms") } else { (1e9, "s") };
    let value = time.ns as f64 / factor;
    let digits = (2.0 - libm::log10(value).floor()).clamp(0.0, 3.0) as usize;
    format!("{value:.digits$} {unit}")
}
