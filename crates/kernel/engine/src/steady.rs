//! Steadiness: whether write amplification still changes over a run, and a note with its course if it does.
//!
//! A workload may have a course of its own. Then its quarters differ, and whole passes are alike: the note says both.
//!
//! The method is that of SNIA's Performance Test Specification, on windows of equal host writes: the windows may differ by a fifth of
//! their mean, and their best straight line may rise or fall by a tenth of it.

use crate::series::Series;
use coflash_scenario::{PreconditionConfig, Scenario};
use coflash_workload::steady::slope;

/// The windows of a run.
const WINDOWS: usize = 4;
/// Blocks or superblocks that GC erases in a window on average, at least: with fewer, a window is a matter of chance.
const ERASES_MIN: f64 = 32.0;
/// The same of a pool of free blocks: each is cleaned by itself, several blocks in a row.
const ERASES_OF_POOL_MIN: f64 = 4.0;

/// The blocks that GC erases in a window, at least, where write amplification is no matter of chance.
pub(crate) fn erases_min(Scenario { ftl, flash, .. }: &Scenario) -> f64 {
    let pools = f64::from(flash.blocks()) / f64::from(ftl.pools.blocks(&ftl.erase_units(flash)));
    ERASES_MIN.max(ERASES_OF_POOL_MIN * pools) * f64::from(ftl.blocks_per_erase(flash))
}

/// The range of the windows, and the excursion of their straight line, as parts of their mean.
const RANGE_MAX: f64 = 0.20;
const EXCURSION_MAX: f64 = 0.10;
/// The difference of the last window from the extreme one up to which a course ends there, as a part of that.
const AT_END: f64 = 0.05;
/// The difference of a run from the passes before it, as a part of them, up to which they are alike.
const ALIKE: f64 = 0.05;

/// Return the write amplification in each quarter of the host's writes, and the blocks erased in a quarter on average; `None` without
/// writes.
///
/// Within a window of the series, counts are spread evenly over its host writes.
fn quarters(series: &Series) -> Option<([f64; WINDOWS], f64)> {
    let count = |at: usize, prefix: &str| {
        let columns = series.columns.iter().filter(|(name, _)| name.starts_with(prefix));
        columns.map(|(_, counts)| counts[at] as f64).sum::<f64>()
    };
    let windows = 0..series.columns.first()?.1.len();
    let quarter = windows.clone().map(|at| count(at, "host_writes_pages")).sum::<f64>() / WINDOWS as f64;
    let (mut done, mut programmed, mut erases, mut ends) = (0.0, 0.0, 0.0, Vec::new());
    for at in windows {
        let (writes, programs) = (count(at, "host_writes_pages"), count(at, "programs_"));
        while writes > 0.0 && ends.len() < WINDOWS && done + writes >= quarter * (ends.len() + 1) as f64 {
            ends.push(programmed + programs * (quarter * (ends.len() + 1) as f64 - done) / writes);
        }
        (done, programmed, erases) =
            (done + writes, programmed + programs, erases + count(at, "erases_blocks"));
    }
    // What follows the last write belongs to the last quarter.
    *ends.last_mut()? = programmed;
    let before = |at: usize| at.checked_sub(1).map_or(0.0, |at| ends[at]);
    let wafs = std::array::from_fn(|at| (ends[at] - before(at)) / quarter);
    Some((wafs, erases / WINDOWS as f64))
}

/// The excursion of the best straight line through equal windows, from the first to the last; negative if it falls.
fn excursion(windows: &[f64]) -> f64 {
    slope(windows) * (windows.len() as f64 - 1.0)
}

pub(crate) fn mean(windows: &[f64]) -> f64 {
    windows.iter().sum::<f64>() / windows.len() as f64
}

/// The range of equal windows, as a part of their mean.
pub(crate) fn spread(windows: &[f64]) -> f64 {
    let least = windows.iter().copied().fold(f64::INFINITY, f64::min);
    (windows.iter().copied().fold(0.0, f64::max) - least) / mean(windows)
}

/// Whether a line of equal windows has a trend, and whether it is steady.
fn judge(windows: &[f64]) -> (bool, bool) {
    let has_trend = excursion(windows).abs() > EXCURSION_MAX * mean(windows);
    (has_trend, spread(windows) <= RANGE_MAX && !has_trend)
}

/// Whether write amplification is steady over equal windows.
pub(crate) fn is_steady(windows: &[f64]) -> bool {
    judge(windows).1
}

/// Whether write amplification changed by no more than this part of it from a window to the next, twice.
pub(crate) fn is_calm(windows: &[f64], change: f64) -> bool {
    let [.., a, b, c] = windows else { return false };
    [(a, b), (b, c)].iter().all(|(one, next)| (*next - *one).abs() <= change * *one)
}

/// The write amplification of windows, as text.
pub(crate) fn as_text(windows: &[f64]) -> String {
    let windows: Vec<String> = windows.iter().map(|waf| format!("{waf:.2}")).collect();
    windows.join(", ")
}

/// The note on a run whose write amplification was not steady; `steady_waf` is that of the passes before it, if these were.
pub(crate) fn unsteady(
    series: &Series,
    erases_min: f64,
    before: &PreconditionConfig,
    steady_waf: Option<f64>,
) -> Option<String> {
    let (waf, erases) = quarters(series)?;
    let (has_trend, steady) = judge(&waf);
    if erases < erases_min || steady {
        return None;
    }
    let mean = mean(&waf);
    if let Some(pass) = steady_waf.filter(|pass| (mean - pass).abs() <= ALIKE * pass) {
        return Some(format!(
            "Write amplification changes in the course of the workload: {} in the quarters of the host's writes. As a whole it is \
             steady: {mean:.2} in the run, {pass:.2} in the passes before it.",
            as_text(&waf)
        ));
    }
    let advice = if before.until_steady {
        "the state before it was steady for the run's own writes past the cache, and"
    } else {
        "precondition.until_steady=true first repeats the run's own writes until it no longer changes, and"
    };
    let (least, most) =
        waf.iter().fold((f64::MAX, 0.0_f64), |(low, high), &one| (low.min(one), high.max(one)));
    let (last, is_up) = (waf[waf.len() - 1], excursion(&waf) > 0.0);
    let trend = match () {
        () if !has_trend => "without a trend",
        () if is_up && last >= (1.0 - AT_END) * most => "rising",
        () if !is_up && last <= (1.0 + AT_END) * least => "falling",
        () => "up and down",
    };
    Some(format!(
        "Write amplification was not steady: {} in the quarters of the host's writes, {trend}. The mean \
         depends on the length of the run and on the state before it: {advice} a longer run tells how it goes on.",
        as_text(&waf)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(writes: &[u64], programs: &[u64]) -> Series {
        let columns = vec![
            ("host_writes_pages", writes.to_vec()),
            ("programs_host_pages", writes.to_vec()),
            ("programs_gc_pages", std::iter::zip(programs, writes).map(|(all, own)| all - own).collect()),
            ("erases_blocks", vec![100; writes.len()]),
        ];
        Series { window_ns: 1, columns, response_mean_ns: Vec::new() }
    }

    #[test]
    fn quarters_are_of_equal_writes() {
        let (waf, erases) = quarters(&series(&[100, 300, 0, 400], &[100, 900, 80, 800])).expect("writes");
        // 200 pages a quarter: 100 at 1 and 100 at 3; 200 at 3, and 80 without a write; 200 at 2 twice.
        assert_eq!(waf, [2.0, 3.0, 2.4, 2.0]);
        assert!((erases - 100.0).abs() < 1e-9, "{erases}");
        assert_eq!(quarters(&series(&[0, 0], &[0, 5])), None);
    }

    #[test]
    fn a_trend_or_a_wide_range_is_told_and_noise_is_not() {
        let of = |programs: [u64; 4]| {
            unsteady(&series(&[1000; 4], &programs), ERASES_MIN, &PreconditionConfig::default(), None)
        };
        let told = of([6700, 6200, 4100, 4200]).expect("it falls");
        assert!(told.contains("6.70, 6.20, 4.10, 4.20") && told.contains("writes, falling"), "{told}");
        assert!(of([3000, 3100, 3200, 3350]).expect("a trend within the range").contains("rising"));
        assert!(
            of([1220, 3590, 3510, 2640]).expect("it ends on the way down").contains("writes, up and down")
        );
        assert!(of([3000, 3700, 3600, 3000]).expect("a wide range").contains("without a trend"));
        assert_eq!(of([3000, 3100, 2950, 3050]), None);
        let mut few = series(&[1000; 4], &[6700, 6200, 4100, 4200]);
        few.columns[3].1 = vec![20; 4];
        assert_eq!(unsteady(&few, ERASES_MIN, &PreconditionConfig::default(), None), None, "chance");
        assert_eq!(
            unsteady(
                &series(&[1000; 4], &[6700, 6200, 4100, 4200]),
                4.0 * ERASES_MIN,
                &PreconditionConfig::default(),
                None
            ),
            None,
            "chance, as superblocks"
        );
        assert_eq!(
            unsteady(
                &series(&[1000; 4], &[6700, 6200, 4100, 4200]),
                26.0 * ERASES_OF_POOL_MIN,
                &PreconditionConfig::default(),
                None
            ),
            None,
            "a few in each pool"
        );
        let began = PreconditionConfig { until_steady: true, ..PreconditionConfig::default() };
        let course = |waf| unsteady(&series(&[1000; 4], &[6700, 6200, 4100, 4200]), ERASES_MIN, &began, waf);
        let told = course(None).expect("it falls");
        assert!(!told.contains("precondition.until_steady"), "{told}");
        let told = course(Some(5.4)).expect("its quarters differ");
        assert!(
            told.contains("steady: 5.30 in the run, 5.40 in the passes") && !told.contains("not steady"),
            "{told}"
        );
        assert!(course(Some(4.9)).expect("passes differ").contains("was not steady"));
    }
}
