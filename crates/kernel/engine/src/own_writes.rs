//! Preconditioning by the run's own workload: its writes and trims are repeated below the cache, until write amplification is steady. A
//! generated workload has other draws in each pass: the same draws again would be another workload, with a period.
//!
//! The method is that of SNIA's Performance Test Specification. The workload writes in rounds until the last five are steady, in 25
//! rounds at most. A round writes at least a quarter of the device in whole passes over the workload: so a workload that changes on
//! its way has equal rounds, too. Rounds before GC erases do not count, nor do rounds in which the pages with data become
//! more or fewer: an erased device amplifies little at first, and slowly more for as long as it fills.
//!
//! Then caches and buffers, too: all requests go through the levels of the run, until write amplification and the share of pages that
//! the cache lacks are those of the round before, twice: an order of eviction may learn for longer than GC takes.

use crate::course::Course;
use crate::each_request::each_request;
use crate::error::RunError;
use crate::open_workload::open_again;
use crate::steady::{as_text, is_calm, is_steady, mean, spread};
use crate::traces::Traces;
use coflash_base::measure::{Report, ratio};
use coflash_ftl::{CopyAll, Coverage, Ftl, Io, PageRead, PageWrite};
use coflash_level::{CacheCounters, Command, Crossing, Level, Port, Tower};
use coflash_media::Untimed;
use coflash_scenario::{Fill, Scenario};
use coflash_workload::{Op, Source};
use std::cell::Cell;

/// The rounds that must be steady, and the rounds after which the writing ends in any case.
const ROUNDS_STEADY: usize = 5;
const ROUNDS_MAX: usize = 25;
/// A round writes at least this part of the device.
const PARTS_OF_DEVICE: u64 = 4;
/// The change of write amplification, and of the share of pages that the cache lacks, from round to round, at most, where caches
/// and flash are steady.
const CALM: f64 = 0.02;
/// The change of the pages with data over steady rounds, at most, as a part of the device.
const MAPPED_CHANGE_MAX: f64 = 0.001;

const NO_WRITES: &str = "The workload writes nothing: precondition.until_steady has no effect.";

/// Repeat the workload of a scenario until it is steady, and say so.
///
/// # Errors
/// A workload that can be read only once, an error of the workload, or a cancellation.
pub(crate) fn write_own(
    level: &mut Port<Ftl>,
    scenario: &Scenario,
    traces: Traces,
    course: &mut Course<'_>,
) -> Result<(), RunError> {
    let is_over = |rounds: &[Round]| rounds.last_chunk().is_some_and(are_steady);
    let Some((passes, rounds)) = repeat(level, scenario, traces, false, is_over, course)? else {
        course.warm_up.remarks.push(NO_WRITES.to_owned());
        return Ok(());
    };
    let last = rounds.last_chunk().expect("as many rounds at least");
    let fills = if fills(last) {
        let advice = if scenario.precondition.fill == Fill::None {
            ": a device that precondition.fill has filled would begin with all"
        } else {
            ""
        };
        let [from, to] = mapped(last).map(|share| 100.0 * share);
        format!(", while the pages with data went from {from:.1} to {to:.1} % of the device{advice}")
    } else {
        String::new()
    };
    let begins_empty = scenario.has_cache() && !scenario.precondition.through_caches;
    let cache = if begins_empty { ", which is empty when the run begins," } else { "," };
    let wafs = wafs(last);
    course.warm_up.remarks.push(format!(
        "Before the run, the workload's own writes went to flash past the cache{cache} in {passes} passes. Write amplification was {} \
         then: {} in the last {ROUNDS_STEADY} of {} rounds, which differ by up to {:.0} %{fills}.",
        if are_steady(last) { "steady" } else { "still not steady" },
        as_text(&wafs),
        rounds.len(),
        100.0 * spread(&wafs)
    ));
    course.warm_up.steady_waf = are_steady(last).then(|| mean(&wafs)).filter(|_| !scenario.has_cache());
    Ok(())
}

/// Repeat the workload of a scenario through all levels, until rounds are calm, and say so.
///
/// # Errors
/// See [`write_own`].
pub(crate) fn write_through(
    tower: &mut Tower<Ftl>,
    scenario: &Scenario,
    traces: Traces,
    course: &mut Course<'_>,
) -> Result<(), RunError> {
    let (passes, rounds) = repeat(tower, scenario, traces, true, are_calm, course)?.unwrap_or_default();
    tower.lowest_mut().reset_counters();
    let wafs = wafs(&rounds);
    course.warm_up.steady_waf = wafs.last().copied().filter(|_| is_calm(&wafs, CALM));
    let shares: Vec<_> =
        missed(&rounds).iter().map(|missed| format!("{:.1}", 100.0 * (1.0 - missed))).collect();
    let hits = format!(", cache hits {} %,", shares.join(", "));
    course.warm_up.remarks.push(format!(
        "Before the run its requests went through caches and buffers in {passes} passes, which were {} at the end: write amplification {}{} in {} rounds.",
        if are_calm(&rounds) { "steady" } else { "still not steady" },
        as_text(&wafs),
        if scenario.has_cache() { hits.as_str() } else { "" },
        rounds.len()
    ));
    Ok(())
}

/// Repeat a workload in rounds until they are over; with `all` not only its writes and trims. Returns the passes and the rounds; `None` if it writes nothing.
fn repeat(
    level: &mut impl Level<Untimed>,
    scenario: &Scenario,
    traces: Traces,
    all: bool,
    is_over: impl Fn(&[Round]) -> bool,
    course: &mut Course<'_>,
) -> Result<Option<(u64, Vec<Round>)>, RunError> {
    // No draws of a generated workload come twice: neither in flash and caches, nor in the run, whose turn is 0.
    let (key, rounds_max, first_turn) = match all {
        true => ("precondition.through_caches", 12, 1 << 32),
        false => ("precondition.until_steady", ROUNDS_MAX, 0),
    };
    let logical_pages = level.logical_pages();
    let (mut passes, mut rounds) = (0, Vec::new());
    let (mut programs_before, mut erases_before, mut mapped_before) = state(level.ftl());
    let mut cache_before = cached(level);
    while rounds.len() < rounds_max && !is_over(&rounds) {
        let mut written = 0;
        while written < u64::from(logical_pages).div_ceil(PARTS_OF_DEVICE) {
            passes += 1;
            let turn = first_turn + passes;
            let mut source = open_again(scenario, traces, logical_pages, turn, key, course.observer)?;
            let pass = write_pass(level, scenario, source.as_mut(), all, course)?;
            if pass == 0 {
                return Ok(None);
            }
            written += pass;
            course.before += pass;
        }
        let (programs, erases, mapped) = state(level.ftl());
        let cache = cached(level);
        let [hits, misses] = std::array::from_fn(|at| cache[at] - cache_before[at]);
        rounds.push(Round {
            waf: (programs - programs_before) as f64 / written as f64,
            has_gc: erases > erases_before,
            mapped: [mapped_before, mapped],
            missed: ratio(misses, hits + misses).unwrap_or(1.0),
        });
        (programs_before, erases_before, mapped_before, cache_before) = (programs, erases, mapped, cache);
    }
    Ok(Some((passes, rounds)))
}

/// The programs and erases of flash so far, and the pages with data as a part of the device.
fn state(ftl: &Ftl) -> (u64, u64, f64) {
    let mapped = ftl.mapped().count() as f64 / f64::from(ftl.logical_pages());
    (ftl.programs().all(), ftl.erase_counts().map(u64::from).sum(), mapped)
}

/// The pages found in the cache so far, and those not found.
fn cached(level: &impl Level<Untimed>) -> [u64; 2] {
    let mut report = Report::default();
    level.report(&mut report);
    let counters = report.get::<CacheCounters>();
    [counters.read_hits + counters.write_hits, counters.read_misses + counters.write_misses]
}

struct Round {
    waf: f64,
    has_gc: bool,
    /// The pages with data before and after it, as parts of the device.
    mapped: [f64; 2],
    /// The pages not found in the cache, as a share of those that requests touch.
    missed: f64,
}

type Last = [Round; ROUNDS_STEADY];

fn wafs(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().map(|round| round.waf).collect()
}

fn missed(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().map(|round| round.missed).collect()
}

/// Whether caches and flash are steady.
fn are_calm(rounds: &[Round]) -> bool {
    is_calm(&wafs(rounds), CALM) && is_calm(&missed(rounds), CALM)
}

/// The pages with data before and after rounds.
fn mapped([first, .., last]: &Last) -> [f64; 2] {
    [first.mapped[0], last.mapped[1]]
}

/// Whether the pages with data become more or fewer.
fn fills(rounds: &Last) -> bool {
    let [from, to] = mapped(rounds);
    (to - from).abs() > MAPPED_CHANGE_MAX
}

fn are_steady(rounds: &Last) -> bool {
    rounds.iter().all(|round| round.has_gc) && is_steady(&wafs(rounds)) && !fills(rounds)
}

/// Write and trim as the workload does, once; with `all` read and flush, too. Returns the pages written by the host.
fn write_pass(
    level: &mut impl Level<Untimed>,
    scenario: &Scenario,
    source: &mut dyn Source,
    all: bool,
    course: &mut Course<'_>,
) -> Result<u64, RunError> {
    let written = Cell::new(0);
    let look = |_| course.report(written.get());
    each_request(scenario, source, level.logical_pages(), look, |request, lpns| {
        if !all && !matches!(request.op, Op::Write | Op::Trim) {
            return;
        }
        let io = &mut Io { media: &mut Untimed, hook: CopyAll, start: () };
        let command = Command {
            op: request.op,
            bytes: request.length,
            first: lpns.first(),
            pages: lpns.len() as u32,
            crossing: Crossing::Whole,
        };
        level.begin(&command, io);
        for lpn in lpns.iter() {
            let Ok(()) = match request.op {
                Op::Trim => level.trim(lpn, (), io),
                Op::Read => level.read(PageRead::host(lpn), (), io).map(drop),
                _ => {
                    written.set(written.get() + 1);
                    let page = PageWrite::host(lpn, Coverage::Full);
                    level.write(PageWrite { placement: request.placement, ..page }, (), io)
                }
            };
        }
        if request.op == Op::Flush {
            let Ok(()) = level.flush((), io, &mut Vec::new());
        }
        let Ok(_) = level.end(io);
    })?;
    Ok(written.get())
}
