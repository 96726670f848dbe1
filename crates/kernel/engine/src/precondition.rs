//! The preconditioning of the device: below the cache, in zero time, not counted.

use crate::course::{Course, WarmUp};
use crate::error::RunError;
use crate::observer::{Cancelled, Observer};
use crate::own_writes::write_own;
use crate::steady::is_calm;
use crate::traces::Traces;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Ahead, Index, Lpn, Permutation, Save, Seed};
use coflash_ftl::{CopyAll, Coverage, Ftl, Io, PageWrite};
use coflash_level::{May, Port};
use coflash_media::Untimed;
use coflash_scenario::{Fill, PreconditionConfig, RandomPasses, Scenario};

/// Writes between two checks of progress, cancellation and marks.
const CHUNK_PAGES: u64 = 1 << 12;
/// The number of passes after which a sequential fill gives up on its free mark.
const FILL_PASSES_MAX: u64 = 16;
/// The windows per pass. The state is steady when the write amplification of two consecutive windows hardly
/// differs.
const WINDOWS_PER_PASS: u64 = 4;
const STEADY_CHANGE: f64 = 0.002;
const STEADY_PASSES_MAX: usize = 20;

/// Write pages, with these looks at the next ones. Returns their number.
fn write(ftl: &mut Ftl, pages: impl Iterator<Item = Lpn>, looks: &[Ahead]) -> u64 {
    let pages: Vec<_> = pages.collect();
    let mut io = Io { media: &mut Untimed, hook: CopyAll, start: () };
    for (index, &lpn) in pages.iter().enumerate() {
        for &ahead in looks {
            if let Some(&lpn) = pages.get(index + ahead.distance()) {
                ftl.look_ahead(lpn, ahead);
            }
        }
        let Ok(()) = ftl.write(PageWrite::host(lpn, Coverage::Full), (), &mut io);
    }
    pages.len() as u64
}

/// The logical pages in indirection units: random writes are of whole ones.
#[derive(Clone, Copy)]
struct Units {
    pages: u32,
    pages_per_unit: u32,
}

impl Units {
    fn count(self) -> u32 {
        self.pages.div_ceil(self.pages_per_unit)
    }

    /// The number of units that hold this many pages.
    fn of_pages(self, pages: u64) -> u64 {
        pages.div_ceil(self.pages_per_unit.into())
    }

    fn pages(self, unit: u32) -> impl Iterator<Item = Lpn> {
        let first = unit * self.pages_per_unit;
        (first..self.pages.min(first + self.pages_per_unit)).map(Lpn::new)
    }
}

/// A preconditioned device, and what a result says of that.
#[derive(Clone)]
pub(crate) struct Preconditioned {
    pub(crate) ftl: Ftl,
    pub(crate) warm_up: WarmUp,
}

/// Precondition the device of a scenario.
///
/// # Errors
/// A cancellation; an error of the workload, if its own writes precondition the device.
pub(crate) fn precondition(
    mut ftl: Ftl,
    scenario: &Scenario,
    traces: Traces,
    observer: &mut dyn Observer,
) -> Result<Preconditioned, RunError> {
    let mut course = Course { observer, pages: None, before: 0, warm_up: WarmUp::default() };
    write_fresh(&mut ftl, scenario, &mut course)?;
    if scenario.precondition.until_steady {
        let mut level = Port::in_units(ftl, scenario.pages_per_unit());
        write_own(&mut level, scenario, traces, &mut course)?;
        let May::Lack(flash) = level.into_device() else { unreachable!("it has no cache") };
        ftl = flash;
    }
    // An idle device has no partly cleaned victim.
    let Ok(()) = ftl.finish_victims(&mut Io { media: &mut Untimed, hook: CopyAll, start: () });
    ftl.reset_counters();
    Ok(Preconditioned { ftl, warm_up: course.warm_up })
}

/// Fill the device, and write at random.
fn write_fresh(ftl: &mut Ftl, scenario: &Scenario, course: &mut Course<'_>) -> Result<(), Cancelled> {
    let (config, seed) = (&scenario.precondition, Seed(scenario.seed));
    let pages = ftl.logical_pages();
    let units = Units { pages, pages_per_unit: scenario.pages_per_unit() };
    let filled = match config.fill {
        Fill::None => return Ok(()),
        Fill::Mapped => 0,
        Fill::Sequential | Fill::Random => u64::from(pages),
    };
    let writes = match config.random_passes {
        RandomPasses::Passes(passes) => Some((passes * f64::from(pages)) as u64),
        RandomPasses::Steady => None,
    };
    course.pages = writes.filter(|_| !config.until_steady).map(|writes| filled + writes);
    match config.fill {
        Fill::None => {}
        Fill::Mapped => ftl.map_all(),
        Fill::Sequential => fill_in_order(ftl, config, course)?,
        Fill::Random => fill_at_random(ftl, units, &mut seed.stream("precondition/fill"), course)?,
    }
    course.before = filled;
    let mut draws = seed.stream("precondition");
    match writes {
        Some(writes) => {
            random_writes(ftl, units, &mut draws, writes, course)?;
            course.before += writes;
            Ok(())
        }
        None => until_steady(ftl, units, &mut draws, course),
    }
}

fn fill_in_order(
    ftl: &mut Ftl,
    config: &PreconditionConfig,
    course: &mut Course<'_>,
) -> Result<(), Cancelled> {
    let pages = u64::from(ftl.logical_pages());
    let mut written = 0;
    let full = |ftl: &Ftl, written| {
        written >= pages && config.until_free.is_none_or(|mark| ftl.pools_have_at_most(mark))
    };
    while !full(ftl, written) && written < FILL_PASSES_MAX * pages {
        course.report(written.min(pages))?;
        // The mark may be reached within the first pass; the pass is completed in any case.
        let chunk = CHUNK_PAGES.min(if written < pages { pages - written } else { 256 });
        let next = (written..written + chunk).map(|page| Lpn::from_index((page % pages) as usize));
        // The processor itself prefetches what lies in order.
        written += write(ftl, next, &[]);
    }
    Ok(())
}

fn fill_at_random(
    ftl: &mut Ftl,
    units: Units,
    draws: &mut RandomStream,
    course: &mut Course<'_>,
) -> Result<(), Cancelled> {
    let order = Permutation::new(units.count().into(), draws);
    let mut order = (0..u64::from(units.count())).map(|number| order.at(number) as u32);
    write_units(ftl, units, units.pages.into(), || order.next().expect("a unit is left"), course)
}

fn random_writes(
    ftl: &mut Ftl,
    units: Units,
    draws: &mut RandomStream,
    writes: u64,
    course: &mut Course<'_>,
) -> Result<(), Cancelled> {
    write_units(ftl, units, writes, || draws.random_range(0..units.count()), course)
}

/// Write at least this many pages, in whole units.
fn write_units(
    ftl: &mut Ftl,
    units: Units,
    pages: u64,
    mut next_unit: impl FnMut() -> u32,
    course: &mut Course<'_>,
) -> Result<(), Cancelled> {
    let (mut written, looks) = (0, Ahead::that_pay(ftl.heap_bytes()));
    while written < pages {
        course.report(written)?;
        let chunk = units.of_pages(CHUNK_PAGES.min(pages - written));
        written += write(ftl, (0..chunk).flat_map(|_| units.pages(next_unit())), looks);
    }
    Ok(())
}

/// Write at random until write amplification hardly changes; say so if it still does after the most passes.
fn until_steady(
    ftl: &mut Ftl,
    units: Units,
    draws: &mut RandomStream,
    course: &mut Course<'_>,
) -> Result<(), Cancelled> {
    let writes = u64::from(ftl.logical_pages()).div_ceil(WINDOWS_PER_PASS);
    let mut wafs = Vec::new();
    while wafs.len() < STEADY_PASSES_MAX * WINDOWS_PER_PASS as usize && !is_calm(&wafs, STEADY_CHANGE) {
        let programs = ftl.programs().all();
        random_writes(ftl, units, draws, writes, course)?;
        course.before += writes;
        wafs.push((ftl.programs().all() - programs) as f64 / writes as f64);
    }
    if let [.., before, last] = wafs[..]
        && !is_calm(&wafs, STEADY_CHANGE)
    {
        course.warm_up.remarks.push(format!(
            "Under the uniform writes before the run, write amplification was not steady after {STEADY_PASSES_MAX} passes: {last:.3}, \
             a change of {:.1} % from one quarter of a pass to the next (at most {} % twice was wanted).",
            100.0 * (last / before - 1.0),
            100.0 * STEADY_CHANGE
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::precondition;
    use crate::observer::NoObserver;
    use crate::traces::Traces;
    use coflash_base::{Index, Lpn};
    use coflash_scenario::Scenario;

    /// One die with enough spare space for no GC.
    #[test]
    fn random_writes_are_of_whole_units() {
        for (fill, passes) in [("random", "0"), ("sequential", "0.9")] {
            let settings = [
                ("flash.channels", "1"),
                ("flash.chips_per_channel", "1"),
                ("flash.blocks_per_plane", "100"),
                ("ftl.spare.share", "60%"),
                ("ftl.indirection_unit", "16KiB"),
                ("precondition.fill", fill),
                ("precondition.random_passes", passes),
            ];
            let scenario = Scenario::default().set(&settings).expect("a scenario");
            let flash = scenario.erased_flash().expect("a device");
            let flash =
                precondition(flash, &scenario, Traces::NONE, &mut NoObserver).expect("nobody stops it").ftl;
            let place = |lpn| flash.lookup(Lpn::new(lpn)).expect("the device is full").index();
            let units = flash.logical_pages() / 4;
            let is_whole =
                |unit: u32| (1..4).all(|page| place(4 * unit + page) == place(4 * unit) + page as usize);
            let in_order = (1..units).filter(|unit| place(4 * unit) == place(4 * unit - 4) + 4).count();
            assert!((0..units).all(is_whole), "{fill}: a unit is apart");
            assert!(in_order < units as usize / 2, "{fill}: {in_order} of {units} units are in order");
        }
    }
}
