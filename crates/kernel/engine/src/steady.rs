//! Steadiness: whether write amplification still changes over a run, and a note with its course if it does.
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

/// How a device erases.
pub(crate) struct Erasing {
    /// Blocks erased at once.
    pub(crate) blocks_per_erase: u32,
    pub(crate) pools: f64,
}

impl Erasing {
    pub(crate) fn for_scenario(scenario: &Scenario) -> Self {
        let Scenario { ftl, flash, .. } = scenario;
        let pool_blocks = ftl.pools.blocks(&ftl.erase_units(flash));
        let pools = f64::from(flash.blocks()) / f64::from(pool_blocks);
        Self { blocks_per_erase: ftl.blocks_per_erase(flash), pools }
    }
}

/// The range of the windows, and the excursion of their straight line, as parts of their mean.
const RANGE_MAX: f64 = 0.20;
const EXCURSION_MAX: f64 = 0.10;

/// Return the write amplification in each quarter of the host's writes, and the blocks erased in a quarter on average; `None` without
/// writes.
///
/// Within a window of the series, counts are spread evenly over its host writes.
fn quarters(series: &Series) -> Option<([f64; WINDOWS], f64)> {
    let column =
        |name: &str| series.columns.iter().find(|(column, _)| *column == name).map(|(_, counts)| counts);
    let writes = column("host_writes_pages")?;
    let programs: Vec<&Vec<u64>> = series
        .columns
        .iter()
        .filter(|(name, _)| name.starts_with("programs_"))
        .map(|(_, counts)| counts)
        .collect();
    let erases = column("erases_blocks")?;
    let all = writes.iter().sum::<u64>() as f64;
    if all == 0.0 {
        return None;
    }
    let (mut done, mut programmed) = (0.0, [0.0; WINDOWS]);
    for window in 0..writes.len() {
        let part = writes[window] as f64 / all * WINDOWS as f64;
        let own = programs.iter().map(|counts| counts[window]).sum::<u64>() as f64;
        let first = (done as usize).min(WINDOWS - 1);
        for (quarter, programmed) in programmed.iter_mut().enumerate().skip(first) {
            // A window without writes belongs to the quarter in which it lies.
            let inside = (done + part).min(quarter as f64 + 1.0) - done.max(quarter as f64);
            let share = if part > 0.0 { inside.max(0.0) / part } else { f64::from(quarter == first) };
            *programmed += own * share;
        }
        done += part;
    }
    Some((
        programmed.map(|pages| pages / (all / WINDOWS as f64)),
        erases.iter().sum::<u64>() as f64 / WINDOWS as f64,
    ))
}

/// The excursion of the best straight line through equal windows, from the first to the last; negative if it falls.
fn excursion(windows: &[f64]) -> f64 {
    slope(windows) * (windows.len() as f64 - 1.0)
}

/// Whether a line of equal windows has a trend, and whether it is steady.
fn judge(windows: &[f64]) -> (bool, bool) {
    let mean = windows.iter().sum::<f64>() / windows.len() as f64;
    let range =
        windows.iter().copied().fold(0.0, f64::max) - windows.iter().copied().fold(f64::INFINITY, f64::min);
    let has_trend = excursion(windows).abs() > EXCURSION_MAX * mean;
    (has_trend, range <= RANGE_MAX * mean && !has_trend)
}

/// Whether write amplification is steady over equal windows.
pub(crate) fn is_steady(windows: &[f64]) -> bool {
    judge(windows).1
}

/// The write amplification of windows, as text.
pub(crate) fn as_text(windows: &[f64]) -> String {
    let windows: Vec<String> = windows.iter().map(|waf| format!("{waf:.2}")).collect();
    windows.join(", ")
}

/// The note on a run whose write amplification was not steady.
pub(crate) fn unsteady(series: &Series, device: &Erasing, before: &PreconditionConfig) -> Option<String> {
    let (waf, erases) = quarters(series)?;
    let (has_trend, steady) = judge(&waf);
    let erases_min = ERASES_MIN.max(ERASES_OF_POOL_MIN * device.pools);
    if erases < erases_min * f64::from(device.blocks_per_erase) || steady {
        return None;
    }
    let advice = if before.until_steady {
        "the state before it was steady for the run's own writes past the cache, and"
    } else {
        "precondition.until_steady=true first repeats the run's own writes until it no longer changes, and"
    };
    let trend = match () {
        () if !has_trend => "without a trend",
        () if excursion(&waf) > 0.0 => "rising",
        () => "falling",
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

    const ONE: Erasing = Erasing { blocks_per_erase: 1, pools: 1.0 };

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
            unsteady(&series(&[1000; 4], &programs), &ONE, &PreconditionConfig::default())
        };
        let told = of([6700, 6200, 4100, 4200]).expect("it falls");
        assert!(told.contains("6.70, 6.20, 4.10, 4.20") && told.contains("writes, falling"), "{told}");
        assert!(of([3000, 3100, 3200, 3350]).expect("a trend within the range").contains("rising"));
        assert!(of([3000, 3700, 3600, 3000]).expect("a wide range").contains("without a trend"));
        assert_eq!(of([3000, 3100, 2950, 3050]), None);
        let mut few = series(&[1000; 4], &[6700, 6200, 4100, 4200]);
        few.columns[3].1 = vec![20; 4];
        assert_eq!(unsteady(&few, &ONE, &PreconditionConfig::default()), None, "chance");
        assert_eq!(
            unsteady(
                &series(&[1000; 4], &[6700, 6200, 4100, 4200]),
                &Erasing { blocks_per_erase: 4, ..ONE },
                &PreconditionConfig::default()
            ),
            None,
            "chance, as superblocks"
        );
        let many = Erasing { pools: 26.0, ..ONE };
        assert_eq!(
            unsteady(&series(&[1000; 4], &[6700, 6200, 4100, 4200]), &many, &PreconditionConfig::default()),
            None,
            "a few in each pool"
        );
        let began = PreconditionConfig { until_steady: true, ..PreconditionConfig::default() };
        let told = unsteady(&series(&[1000; 4], &[6700, 6200, 4100, 4200]), &ONE, &began).expect("it falls");
        assert!(!told.contains("precondition.until_steady"), "{told}");
    }
}
