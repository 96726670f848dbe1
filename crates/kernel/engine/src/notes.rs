//! The notes of a result: what its numbers do not say by themselves. Each is a condition and a text.

use crate::load::Fall;
use crate::retention::fading;
use crate::series::Series;
use crate::spare::SpareSpace;
use crate::steady::{erases_min, unsteady};
use coflash_base::measure::{Report, ratio};
use coflash_scenario::{ReplayConfig, ReplayMode, Scenario};

/// A run at its end.
pub(crate) struct Ended<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) mode: ReplayMode,
    pub(crate) report: &'a Report,
    pub(crate) series: &'a Series,
    /// The erases of each block.
    pub(crate) erases: &'a [u32],
    pub(crate) logical_pages: u64,
    /// The steady write amplification of the passes before the run, through the same levels as in it.
    pub(crate) steady_waf: Option<f64>,
    /// How the device fell behind, if it did.
    pub(crate) fall: Option<Fall>,
}

/// The notes that a run may have, in their order.
const NOTES: &[fn(&Ended<'_>) -> Option<String>] = &[
    beyond,
    |run| run.fall.as_ref().map(Fall::note),
    |run| run.report.get::<SpareSpace>().is_frozen(run.report, run.erases).then(|| FROZEN.to_owned()),
    |run| unsteady(run.series, erases_min(run.scenario), &run.scenario.precondition, run.steady_waf),
    |run| fading(run.scenario, run.report),
];

/// The notes of a run: the limits of its scenario, what it shows of itself, and the keys without effect.
pub(crate) fn notes(run: &Ended<'_>) -> Vec<String> {
    let replay = ReplayConfig { mode: Some(run.mode), ..run.scenario.replay.clone() };
    let idle = Scenario { replay, ..run.scenario.clone() }.without_effect();
    let limits = run.scenario.limits.iter().cloned();
    limits.chain(NOTES.iter().filter_map(|note| note(run))).chain(idle).collect()
}

/// GC must copy much, so that more spare space would help.
const FROZEN: &str = "Most of the spare space lies in blocks that GC never erased in this run (spare.frozen_pages), \
    while it copied more pages than were written: write amplification depends on how the device was filled \
    (precondition), and stays so. A victim policy that looks at age, such as cost-benefit, recovers such space.";

/// The part by which a condition may be exceeded: rates that a workload asks for are met on average.
const TOLERANCE: f64 = 0.01;

/// A run beyond the measurements to which its scenario was fitted.
fn beyond(run: &Ended<'_>) -> Option<String> {
    let (measured, count) = (&run.scenario.measured, |path| run.report.count(path));
    let (reads, writes) = (count("response_ns.read.count"), count("response_ns.write.count"));
    let rates = [("reads", reads, measured.reads_per_s), ("writes", writes, measured.writes_per_s)];
    let rates = rates.into_iter().filter_map(|(what, requests, most)| {
        let (rate, most) = (ratio(requests, count("simulated_ns"))? * 1e9, most?);
        (rate > most as f64 * (1.0 + TOLERANCE))
            .then(|| format!("{rate:.0} {what} per second, where at most {most} were measured"))
    });
    let share = ratio(reads, reads + writes).zip(measured.read_share).and_then(|(share, most)| {
        (share > most.as_f64() + TOLERANCE)
            .then(|| format!("{:.0}% reads, where at most {most} were measured", share * 100.0))
    });
    let sizes = [("reads", reads, "host_reads_bytes"), ("writes", writes, "host_writes_bytes")];
    let sizes = sizes.into_iter().filter_map(|(what, requests, bytes)| {
        let (mean, size) = (ratio(count(bytes), requests)?, measured.request_size?);
        ((mean / size.count as f64 - 1.0).abs() > TOLERANCE)
            .then(|| format!("{what} of {mean:.0} bytes on average, where those measured have {size}"))
    });
    let used =
        ratio(count("mapped_pages"), run.logical_pages).zip(measured.used).and_then(|(used, least)| {
            (used < least.as_f64() - TOLERANCE).then(|| {
                format!("{:.0}% of the capacity in use, where it was measured from {least} on", used * 100.0)
            })
        });
    let found: Vec<String> = rates.chain(share).chain(sizes).chain(used).collect();
    (!found.is_empty()).then(|| {
        let found = found.join("; ");
        format!("This run is beyond the measurements to which its scenario was fitted (measured): {found}.")
    })
}
