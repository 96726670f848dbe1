//! The states that a power cut during a workload may leave, each of them checked.
//!
//! The workload runs once on the device, and each request is recorded with its arrival and its answer. The
//! [model of order](crate::order) says which of them a cut must leave, and which it may leave whole, torn, or not at all. Each
//! such state is made by the firmware over the content that is durable at the time, and the user's check runs on it. With faults the
//! workload runs once more under each, and what a cut leaves of these runs is checked as well. So are recoveries from some of
//! the cuts, which are cut again. All this happens in memory: the device in the folder does not change.
//!
//! | concept | place |
//! |---|---|
//! | what is promised | `../order.rs` |
//! | states, their visible parts, their number | `states.rs`, `painted.rs` |
//! | which states are checked | `plan.rs` |
//! | the run, its answers, faults, marks, record | `run.rs`, `schedule.rs`, `fault.rs`, `record.rs` |
//! | commands and their ends | `commands.rs` |
//! | a state is made and checked | `check.rs` |
//! | a repair | `repair.rs` |
//! | a failure with the fewest requests, and its folder; those that are alike | `shrink.rs`, `failure.rs`, `outlines.rs` |

mod check;
mod commands;
mod failure;
mod fault;
mod outlines;
pub mod painted;
mod plan;
mod record;
mod repair;
mod run;
mod schedule;
mod shrink;
mod states;

use crate::folder::{DeviceError, Folder, write_whole};
use crate::layers::{over, shared};
use crate::lines::Lines;
use crate::lock::lock;
use crate::order::Place;
use crate::power_on::servable;
use check::{Checker, begun};
use coflash_base::{Bytes, Seed};
use coflash_scenario::Scenario;
use coflash_store::{Disks, FileDisk, SECTOR_BYTES};
use commands::{Commands, Ended};
pub use failure::{Failed, Requested};
use fault::{Fault, Faults};
use outlines::Alike;
use plan::Plan;
pub use plan::{Coverage, Planned};
use record::{Cut, Record};
use repair::Checked;
pub use repair::Repair;
use run::RunDisk;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::mem::{replace, take};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

/// Read an atomic write unit such as `4KiB`, in bytes.
///
/// # Errors
/// It is no multiple of a sector.
pub fn atomic_unit(text: &str) -> Result<u64, String> {
    let bytes = text.parse::<Bytes>().map_err(|error| error.to_string())?.count;
    if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES as u64) {
        let allowed = format!("a multiple of {SECTOR_BYTES}B, such as \"4KiB\", is allowed");
        return Err(format!("\"{text}\" was given; {allowed}"));
    }
    Ok(bytes)
}

/// Read the sizes of devices such as `64MiB+64MiB`, in bytes.
///
/// # Errors
/// One is no size.
pub fn sizes(text: &str) -> Result<Vec<u64>, String> {
    let size = |one: &str| one.trim().parse::<Bytes>().map(|bytes| bytes.count);
    text.split('+').map(size).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// What decides which states are checked, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exploration {
    /// The command of the workload, for the shell.
    pub run: String,
    /// The command that recovers from a power cut, for the shell: it runs on states that are right, and is cut again.
    pub recover: Option<String>,
    /// The command of the check, for the shell: a state is wrong if it fails.
    pub check: String,
    /// The sizes of its devices in bytes, which lie one behind another in that of the folder; none if that is the only one.
    #[serde(default)]
    pub sizes: Vec<u64>,
    /// The number of states, beside those right after flushes and marks: for each fault, and for the runs without one.
    pub points: usize,
    /// How often the workload runs without a fault, each time with other answers.
    pub runs: usize,
    /// The atomic write unit in bytes, a multiple of a sector: of its bytes, if they begin at a multiple of it, a power cut leaves all
    /// or none of a write.
    pub atomic: u64,
    /// The seed of points and states.
    pub seed: u64,
    /// Faults: the workload runs under each some more times.
    pub faults: Vec<String>,
    /// The time that the workload, and each check, may take.
    pub limit: Duration,
}

impl Exploration {
    /// The bytes of each of its devices.
    pub(crate) fn devices(&self, size_bytes: u64) -> Vec<Range<u64>> {
        let sizes = if self.sizes.is_empty() { &[size_bytes] } else { &self.sizes[..] };
        let begins = sizes.iter().scan(0_u64, |end, size| Some(replace(end, end.saturating_add(*size))));
        begins.zip(sizes).map(|(begin, size)| begin..begin.saturating_add(*size)).collect()
    }

    fn size_bytes(&self) -> u64 {
        self.sizes.iter().fold(0, |all, size| all.saturating_add(*size))
    }

    /// Check that the devices fill that of the folder, and that what a power cut keeps or loses whole is in one of them.
    fn check_size(&self, size_bytes: u64) -> Result<(), String> {
        let Self { sizes, atomic, .. } = self;
        let is_cut = sizes.len() > 1 && sizes.iter().any(|size| !size.is_multiple_of(*atomic));
        if !is_cut && (sizes.is_empty() || self.size_bytes() == size_bytes) {
            return Ok(());
        }
        let allowed = format!("multiples of atomic, {atomic}, that are {size_bytes} together are allowed");
        Err(format!("size: {sizes:?} bytes were given; {allowed}"))
    }
}

/// The findings of an exploration.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Explored {
    /// Requests of the workload that change data.
    pub changes: usize,
    /// Flushes of the workload.
    pub flushes: usize,
    /// Marks of the workload.
    pub marks: usize,
    /// States that were checked.
    pub states: usize,
    /// States that are planned.
    pub planned: usize,
    /// How much that is of all, for each run.
    pub coverage: Vec<Coverage>,
    /// The faults of the runs after the first, and whether each came.
    pub faults: Vec<(String, bool)>,
    /// Those of them that made a request fail of a workload that ended well.
    pub unreported: Vec<String>,
    /// The number of failed checks.
    pub failed: usize,
    /// A few of each run, one for all that are alike.
    pub failures: Vec<Failed>,
    /// For each run with wrong states, and no fault, the cheapest repair, if one was found.
    pub repairs: Vec<Repair>,
    /// Whether it was stopped before all states were checked.
    pub is_stopped: bool,
}

/// What is kept of an exploration in its folder.
#[derive(Serialize, Deserialize)]
struct Kept {
    plan: Exploration,
    /// The device over which the records are: its metadata when it was explored.
    device: String,
    records: Vec<Record>,
}

/// The verdict on a state, as it is kept for an exploration that goes on: nothing if it is right; the outline of what the check wrote,
/// and the failure if it was shrunk.
type Verdict = Option<(String, Option<Failed>)>;

/// The states are checked in this number of passes over the run: first those of windows with new shapes.
const PASSES: usize = 4;
/// The most states from which recovery runs.
const RECOVERIES_MAX: usize = 16;
/// How often marks are looked for, and after how many looks it is told that the workload runs.
const MARKS: Duration = Duration::from_millis(1);
const LOOKS: u32 = 20;
/// How often it is told what is known so far.
const REPORTS: Duration = Duration::from_millis(5);
/// The folder of the records.
const RECORDS: &str = "explored";

/// Explore the states that power cuts leave during a workload on the device of a folder. If the folder has
/// none, an erased one of `scenario` is made. `report` gets what is known so far, and may stop the exploration by returning
/// false.
///
/// # Errors
/// The device cannot be made or opened, the workload fails, the check fails on the device that lost no power, or a file
/// cannot be written.
pub fn explore(
    folder: &Folder,
    scenario: Option<&Scenario>,
    plan: &Exploration,
    jobs: usize,
    report: &mut dyn FnMut(&Explored) -> bool,
) -> Result<Explored, DeviceError> {
    if let Some(scenario) = scenario.filter(|_| !folder.has_device()) {
        let size = (!plan.sizes.is_empty()).then(|| Bytes { count: plan.size_bytes() });
        folder.create(&servable(scenario, size)?)?.close().map_err(|problem| folder.unusable(problem))?;
    }
    let files = folder.disks()?;
    clear(folder, &["failures", "states", RECORDS])?;
    fs::create_dir_all(folder.join(RECORDS)).map_err(|problem| folder.io(problem))?;
    let commands = Commands::new(plan.limit).map_err(|problem| folder.io(problem))?;
    let exploring = Exploring { folder, plan, commands: &commands, files: &files, jobs: jobs.max(1) };
    let records = exploring.records(report);
    if commands.is_stopped() {
        return Ok(Explored { is_stopped: true, ..Explored::default() });
    }
    let kept = Kept { plan: plan.clone(), device: device_now(folder)?, records: records? };
    keep(folder, &kept)?;
    exploring.check_states(&kept.records, None, None, report)
}

/// Go on with the last exploration: check the states that it has not checked, by its check, or all by another one. Or make only one
/// state again, check it, and keep its device, also if it is right. `report` is as for [`explore`].
///
/// # Errors
/// There is no such state, nothing was explored, the device has changed since, or as for [`explore`].
pub fn again(
    folder: &Folder,
    only: Option<usize>,
    check: Option<String>,
    jobs: usize,
    report: &mut dyn FnMut(&Explored) -> bool,
) -> Result<Explored, DeviceError> {
    let files = folder.disks()?;
    let io = |problem| folder.io(problem);
    let file = File::open(folder.join(RECORDS).join("record.json")).map(BufReader::new);
    let read = file.and_then(|file| Ok(serde_json::from_reader::<_, Kept>(file)?));
    let nothing = |problem| folder.unusable(format!("nothing was explored here to its end: {problem}"));
    let mut kept = read.map_err(nothing)?;
    if kept.device != device_now(folder)? {
        return Err(folder.unusable("the device has changed since it was explored: explore it anew"));
    }
    for (number, record) in kept.records.iter_mut().enumerate() {
        record.data = Some(File::open(data_of(folder, number)).map_err(io)?);
    }
    let check = check.filter(|check| only.is_none() && *check != kept.plan.check);
    let is_new = check.map(|check| kept.plan.check = check).is_some();
    let commands = Commands::new(kept.plan.limit).map_err(io)?;
    let exploring =
        Exploring { folder, plan: &kept.plan, commands: &commands, files: &files, jobs: jobs.max(1) };
    let explored = exploring.check_states(&kept.records, only, is_new.then_some(&kept), report)?;
    if let Some(number) = only.filter(|_| explored.states == 0 && !explored.is_stopped) {
        let allowed = format!("states 1 to {} were explored", explored.planned);
        return Err(folder.unusable(format!("state {number} was asked for; {allowed}")));
    }
    Ok(explored)
}

/// Remove what an earlier exploration has left.
fn clear(folder: &Folder, names: &[&str]) -> Result<(), DeviceError> {
    let mut there = names.iter().map(|name| folder.join(name)).filter(|place| place.exists());
    there.try_for_each(fs::remove_dir_all).map_err(|problem| folder.io(problem))
}

/// What tells the container from itself after a change.
fn device_now(folder: &Folder) -> Result<String, DeviceError> {
    let of = |name| -> io::Result<String> {
        let about = fs::metadata(folder.join(name))?;
        Ok(format!("{name} of {} bytes, {:?}", about.len(), about.modified()?))
    };
    let both = of("data").and_then(|data| Ok([data, of("metadata")?].join("; ")));
    both.map_err(|problem| folder.io(problem))
}

fn keep(folder: &Folder, kept: &Kept) -> Result<(), DeviceError> {
    write_whole(&folder.join(RECORDS).join("record.json"), kept).map_err(|problem| folder.io(problem))
}

fn data_of(folder: &Folder, number: usize) -> PathBuf {
    folder.join(RECORDS).join(format!("data-{number}"))
}

struct Exploring<'a> {
    folder: &'a Folder,
    plan: &'a Exploration,
    commands: &'a Commands,
    files: &'a Disks<FileDisk>,
    jobs: usize,
}

impl Exploring<'_> {
    /// Run the workload, without faults and under each, and recoveries from some of the cuts.
    fn records(&self, report: &mut dyn FnMut(&Explored) -> bool) -> Result<Vec<Record>, DeviceError> {
        let plan = self.plan;
        let no_fault = |problem: String| self.folder.unusable(format!("fault: {problem}"));
        let faults = plan.faults.iter().map(|text| text.parse().map_err(no_fault));
        let faults = faults.collect::<Result<Vec<Fault>, _>>()?;
        let mut records = Vec::new();
        let counted = self.run(Faults::default(), plan.runs, &mut records, None, report)?;
        for _ in 1..plan.runs {
            self.run(Faults::default(), plan.runs, &mut records, None, report)?;
        }
        for (number, fault) in faults.iter().enumerate() {
            let mut stream = Seed(plan.seed).child(&number.to_string()).stream("fault");
            let each = Faults::each(fault, &counted, &mut stream);
            let share = each.len();
            for faults in each {
                self.run(faults, share, &mut records, None, report)?;
            }
        }
        let cuts = if plan.recover.is_some() { self.cuts(&records[0])? } else { Vec::new() };
        let mut recovered = Vec::new();
        for cut in &cuts {
            recovered.push(self.run(Faults::default(), cuts.len(), &mut records, Some(cut), report)?);
        }
        for (number, (cut, counted)) in cuts.iter().zip(&recovered).enumerate() {
            for fault in &faults {
                let mut stream = Seed(plan.seed).child(&number.to_string()).stream("fault of a recovery");
                let mut each = Faults::each(fault, counted, &mut stream);
                self.run(each.swap_remove(number % each.len()), cuts.len(), &mut records, Some(cut), report)?;
            }
        }
        Ok(records)
    }

    /// Plan the states of a run, with flushes that are added to it.
    fn plan_of(&self, record: &Record, added: &BTreeSet<Place>) -> Result<Plan, DeviceError> {
        let Exploration { atomic, points, seed, .. } = *self.plan;
        let plan = Plan::new(record, added, atomic, points / record.share, seed);
        plan.map_err(|problem| self.folder.io(problem))
    }

    /// The cuts of the first run from which recovery runs: at some of its states, spread over the run.
    fn cuts(&self, record: &Record) -> Result<Vec<Cut>, DeviceError> {
        let plan = self.plan_of(record, &BTreeSet::new())?;
        let step = plan.states.len().div_ceil(RECOVERIES_MAX);
        let cut = |(at, Planned { window, pieces, .. }): (usize, &Planned)| {
            let about = &plan.windows[*window];
            let mark = about.marks.checked_sub(1).map(|last| record.log.marks[last].text.clone());
            let pieces = plan.durable[..=*window].iter().flatten().chain(pieces).cloned().collect();
            Cut { state: at + 1, pieces, flushes: about.flushes, mark: mark.unwrap_or_default() }
        };
        let first = self.plan.seed as usize % step;
        Ok(plan.states.iter().enumerate().skip(first).step_by(step).map(cut).collect())
    }

    /// Run the workload, or recovery from a cut, and add it to the runs before. `share` of them share the points.
    fn run(
        &self,
        faults: Faults,
        share: usize,
        records: &mut Vec<Record>,
        cut: Option<&Cut>,
        report: &mut dyn FnMut(&Explored) -> bool,
    ) -> Result<Faults, DeviceError> {
        let io = |problem| self.folder.io(problem);
        let (number, layer) = (records.len(), over(self.folder, shared(self.files))?);
        let session = begun(self.folder, &layer, records, cut)?;
        // Tracers of the system write by the host's time.
        let power_on_s = UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64());
        let command = self.plan.recover.as_ref().filter(|_| cut.is_some()).unwrap_or(&self.plan.run);
        let path = data_of(self.folder, number);
        let data = File::options().read(true).write(true).create_new(true).open(path).map_err(io)?;
        let may_fail = faults.told().is_some() || cut.is_some();
        let stream = Seed(self.plan.seed).child(&number.to_string()).stream("schedule");
        let disk = RunDisk::new(session, self.plan).recorded(data, faults, stream);
        self.plan.check_size(disk.shape.size_bytes).map_err(|problem| self.folder.unusable(problem))?;
        let socket = self.commands.socket("marks");
        let mut marks = Lines::bind(&socket).map_err(io)?;
        let environment = [("COFLASH_MARKS", socket.to_string_lossy().into_owned())];
        let ended = thread::scope(|scope| {
            scope.spawn(|| disk.answer());
            let running = scope.spawn(|| {
                let ended = self.commands.run_on(&disk, 0, command, &environment);
                disk.end_answers();
                ended
            });
            for look in (0..LOOKS).cycle().take_while(|_| !running.is_finished()) {
                marks.serve(|text| disk.mark(text));
                if look == 0 && !report(&Explored::default()) {
                    self.commands.stop();
                }
                thread::sleep(MARKS);
            }
            running.join().expect("nothing panics")
        })
        .map_err(io)?;
        if !ended.is_good && (!may_fail || ended.could_not_run) || self.commands.is_stopped() {
            let what = if cut.is_some() { "recovery" } else { "the workload" };
            let Ended { story, output, .. } = &ended;
            return Err(self.folder.unusable(format!("{what} failed: {story}: {}", output.trim())));
        }
        let (record, faults) = disk.into_record().map_err(io)?;
        record.data.as_ref().map_or(Ok(()), File::sync_all).map_err(io)?;
        if records.is_empty() && record.log.entries.is_empty() && record.log.marks.is_empty() {
            let allowed = "its address is in COFLASH_NBD, its socket in COFLASH_SOCKET";
            let text = format!("the workload sent the device no write, trim or flush: {allowed}");
            return Err(self.folder.unusable(text));
        }
        let is_unreported = ended.is_good && faults.has_failed;
        records.push(Record { cut: cut.cloned(), power_on_s, share, is_unreported, ..record });
        Ok(faults)
    }

    /// Do work on planned states of a run, in order, by jobs at the same time, which all end when one fails. Each job has a base of its
    /// own, which goes from window to window.
    fn on_states(
        &self,
        (records, run, plan): (&[Record], usize, &Plan),
        states: &[usize],
        report: &mut dyn FnMut() -> bool,
        work: impl Fn(&Checker<'_>, usize, &Planned) -> Result<(), DeviceError> + Sync,
    ) -> Result<(), DeviceError> {
        let next = AtomicUsize::new(0);
        let on_some = |job| -> Result<(), DeviceError> {
            let base = over(self.folder, shared(self.files))?;
            let (record, base) = (&records[run], &base);
            let checker = Checker { exploring: self, base, records, record, plan, job };
            let mut session = checker.power_on_base()?;
            let mut begun = 0;
            while let Some(&at) = states.get(next.fetch_add(1, Ordering::Relaxed))
                && !self.commands.is_stopped()
            {
                let planned = &plan.states[at];
                checker.advance(&mut session, begun..=planned.window)?;
                begun = planned.window + 1;
                work(&checker, at, planned)?;
            }
            Ok(())
        };
        let on_some = &|job| on_some(job).inspect_err(|_| self.commands.stop());
        thread::scope(|scope| {
            let jobs = (0..self.jobs.min(states.len())).map(|job| scope.spawn(move || on_some(job)));
            let jobs: Vec<_> = jobs.collect();
            while !jobs.iter().all(|job| job.is_finished()) {
                thread::sleep(REPORTS);
                if !report() {
                    self.commands.stop();
                }
            }
            jobs.into_iter().try_for_each(|job| job.join().expect("it does not panic"))
        })
    }

    /// Return the verdicts so far by the numbers of states, and the file to which more are added. For one state alone there are no verdicts.
    fn verdicts(&self, only: Option<usize>) -> io::Result<(BTreeMap<usize, Verdict>, File)> {
        let place = self.folder.join("states");
        fs::create_dir_all(&place)?;
        let file = File::options().read(true).append(true).create(true).open(place.join("verdicts.jsonl"))?;
        let lines: Vec<_> = BufReader::new(&file).split(b'\n').collect::<Result<_, _>>()?;
        let verdicts = lines.iter().filter_map(|line| serde_json::from_slice(line).ok());
        Ok((verdicts.filter(|_| only.is_none()).collect(), file))
    }

    /// Check the planned states of all runs that are not yet checked, or only one. `anew` is an exploration with another check: once
    /// this check has succeeded without a power cut, it replaces what was kept, and all states are checked.
    fn check_states(
        &self,
        records: &[Record],
        only: Option<usize>,
        anew: Option<&Kept>,
        report: &mut dyn FnMut(&Explored) -> bool,
    ) -> Result<Explored, DeviceError> {
        let plans: Vec<_> =
            records.iter().map(|record| self.plan_of(record, &BTreeSet::new())).collect::<Result<_, _>>()?;
        let log = &records[0].log;
        let unreported = |of: &Record| Some(of.fault.clone()?.0).filter(|_| of.is_unreported);
        let explored = Explored {
            changes: log.changes(),
            flushes: log.entries.len() - log.changes(),
            marks: log.marks.len(),
            planned: plans.iter().map(|plan| plan.states.len()).sum(),
            coverage: plans.iter().map(|plan| plan.coverage.clone()).collect(),
            faults: records.iter().filter_map(|record| record.fault.clone()).collect(),
            unreported: records.iter().filter_map(unreported).collect(),
            ..Explored::default()
        };
        let explored = Mutex::new(explored);
        let known = || lock(&explored);
        let mut report = || report(&known().clone());
        // What fails without a power cut says nothing of power cuts.
        self.on_states((records, 0, &plans[0]), &[plans[0].uncut], &mut report, |checker, _, planned| {
            let ended = checker.check(planned, 0)?;
            if ended.is_good || self.commands.is_stopped() {
                return Ok(());
            }
            Err(self.folder.unusable(format!(
                "the check fails on the device after the whole workload, without a power cut: {}: {}; a check must \
                 succeed there",
                ended.story,
                ended.output.trim()
            )))
        })?;
        if let Some(kept) = anew {
            if self.commands.is_stopped() {
                return Ok(Explored { is_stopped: true, ..known().clone() });
            }
            clear(self.folder, &["failures", "states"])?;
            keep(self.folder, kept)?;
        }
        let (verdicts, file) = self.verdicts(only).map_err(|problem| self.folder.io(problem))?;
        let (mut first, wrong) = (1, Mutex::new(BTreeSet::new()));
        let (mut alike, mut checked) = (Mutex::new(Alike::default()), Vec::new());
        let program = |record: &Record| (record.cut.is_some(), record.fault.clone());
        for (run, plan) in plans.iter().enumerate() {
            // What recovers from a wrong state says nothing.
            let is_known = plan.coverage.recovers.is_some_and(|state| lock(&wrong).contains(&state));
            let early = Mutex::new(BTreeSet::<usize>::new());
            let count = |state: usize, is_wrong: bool| {
                lock(&early).extend(&plan.states[state - first].early);
                lock(&wrong).extend(is_wrong.then_some(state));
                let explored = &mut *known();
                explored.states += 1;
                explored.failed += usize::from(is_wrong);
                explored.coverage[run].shapes_checked = lock(&early).len();
            };
            for (&state, verdict) in verdicts.range(first..first + plan.states.len()) {
                count(state, verdict.is_some());
                if let Some((outline, failed)) = verdict.clone() {
                    let folder = self.folder.join("failures").join(format!("{state:06}"));
                    lock(&alike).add(outline, failed.map(|failed| Failed { folder, ..failed }));
                }
            }
            for pass in 0..PASSES {
                let is_late = |at: usize| plan.states[at].early.is_empty();
                let pass_of = |at: usize| if is_late(at) { 1 + at % (PASSES - 1) } else { 0 };
                let is_new = |state| only.is_none_or(|only| only == state) && !verdicts.contains_key(&state);
                let is_asked = |at: &usize| pass_of(*at) == pass && !is_known && is_new(first + at);
                let asked: Vec<_> = (0..plan.states.len()).filter(is_asked).collect();
                self.on_states((records, run, plan), &asked, &mut report, |checker, at, planned| {
                    let state = first + at;
                    let ended = checker.check(planned, state)?;
                    if self.commands.is_stopped() {
                        return Ok(());
                    }
                    let mut verdict: Verdict = None;
                    count(state, !ended.is_good);
                    if !ended.is_good {
                        let outline = outlines::outline(&ended.output);
                        let is_wanted = lock(&alike).wants(&outline);
                        let failed = is_wanted.then(|| checker.shrunk(planned, state, &ended)).transpose()?;
                        lock(&alike).shrunk.extend(failed.clone().map(|failed| (outline.clone(), failed)));
                        verdict = Some((outline, failed));
                    } else if only.is_some() {
                        let place = self.folder.join("states").join(format!("{state:06}"));
                        let text = format!("state {state} is right\n{}", ended.output);
                        checker.write(planned, state, &place, &text)?;
                    }
                    // What was found in part is found again.
                    if only.is_some() || self.commands.is_stopped() {
                        return Ok(());
                    }
                    // The line feed comes first: the line before may have been cut off.
                    let line = format!("\n{}", serde_json::json!((state, verdict)));
                    (&file).write_all(line.as_bytes()).map_err(|problem| self.folder.io(problem))
                })?;
            }
            checked.extend((!is_known).then_some(Checked { record: run, plan, first }));
            first += plan.states.len();
            // Runs of one program are told together, and have one repair.
            if records.get(run + 1).is_some_and(|next| program(next) == program(&records[run])) {
                continue;
            }
            let failures: Vec<_> =
                take(&mut alike).into_inner().expect("no check panics").failures().collect();
            let checked = take(&mut checked);
            // Against a drive that fails no flush helps.
            let is_mendable = records[run].fault.is_none() && only.is_none();
            if is_mendable && !failures.is_empty() && !self.commands.is_stopped() {
                let repair = self.repair(records, &checked, &lock(&wrong), &failures, &mut report)?;
                known().repairs.push(repair);
            }
            known().failures.extend(failures);
        }
        let explored = explored.into_inner().expect("no check panics");
        Ok(Explored { is_stopped: self.commands.is_stopped(), ..explored })
    }
}
