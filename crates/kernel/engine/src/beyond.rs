//! Whether a run lies beyond the measurements to which its scenario was fitted.

use crate::metrics::Metrics;
use coflash_base::measure::ratio;
use coflash_scenario::MeasuredConfig;

/// The part by which a condition may be exceeded: rates that a workload asks for are met on average.
const TOLERANCE: f64 = 0.01;

/// The note on a run beyond the measurements; `None` within them, or if none are stated.
pub(crate) fn beyond(measured: &MeasuredConfig, metrics: &Metrics, logical_pages: u64) -> Option<String> {
    let count = |path| metrics.count(path);
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
    let used = ratio(count("mapped_pages"), logical_pages).zip(measured.used).and_then(|(used, least)| {
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
