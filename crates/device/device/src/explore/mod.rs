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
//! | a failure with the fewest requests, and its folder; those that are alike | `shrink.rs`, `failure.rs`, `outlines.rs` |

mod check;
mod commands;
mod failure;
mod fault;
mod outlines;
pub mod painted;
mod plan;
mod record;
mod run;
mod schedule;
mod shrink;
mod states;

use crate::export::shape;
use crate::folder::{DeviceError, Folder};
use crate::layers::{over, shared};
use crate::lines::Lines;
use crate::lock::lock;
use crate::power_on::servable;
use check::{Checker, begun};
use coflash_base::{Bytes, Seed};
use coflash_scenario::Scenario;
use coflash_store::{Disks, FileDisk, SECTOR_BYTES};
use commands::{Commands, in_parallel};
pub use failure::{Failed, Requested};
use fault::{Fault, Faults};
use outlines::Alike;
use plan::Plan;
pub use plan::{Coverage, Planned};
use record::{Cut, Record};
use run::RunDisk;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
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

/// What decides which states are checked, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exploration {
    /// The command of the workload, for the shell.
    pub run: String,
    /// The command that recovers from a power cut, for the shell: it runs on states that are right, and is cut again.
    pub recover: Option<String>,
    /// The command of the check, for the shell: a state is wrong if it fails.
    pub check: String,
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
    /// The number of failed checks.
    pub failed: usize,
    /// A few of each run, one for all that are alike.
    pub failures: Vec<Failed>,
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

/// The states are checked in this number of passes over the run: first those of windows with new shapes.
const PASSES: usize = 4;
/// The most states from which recovery runs.
const RECOVERIES_MAX: usize = 16;
/// How often marks are looked for, and after how many looks it is told that the workload runs.
const MARKS: Duration = Duration::from_millis(1);
const LOOKS: u32 = 20;
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
    size: Option<Bytes>,
    plan: &Exploration,
    jobs: usize,
    report: &mut dyn FnMut(&Explored) -> bool,
) -> Result<Explored, DeviceError> {
    if let Some(scenario) = scenario.filter(|_| !folder.has_device()) {
        folder.create(&servable(scenario, size)?)?.close().map_err(|problem| folder.unusable(problem))?;
    }
    let io = |problem| folder.io(problem);
    for name in ["failures", "states", RECORDS] {
        match fs::remove_dir_all(folder.join(name)) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => return Err(io(problem)),
            _ => {}
        }
    }
    fs::create_dir_all(folder.join(RECORDS)).map_err(io)?;
    let files = folder.disks()?;
    let commands = Commands::new(plan.limit).map_err(io)?;
    let exploring = Exploring { folder, plan, commands: &commands, files: &files, jobs: jobs.max(1) };
    let faults = plan.faults.iter().map(|text| text.parse::<Fault>());
    let faults: Vec<_> =
        faults.collect::<Result<_, _>>().map_err(|problem| folder.unusable(format!("fault: {problem}")))?;
    let mut records = Vec::new();
    let mut add = |records: &mut Vec<_>, faults, share, cut: Option<&Cut>| -> Result<Faults, DeviceError> {
        let (record, counted) = exploring.run(faults, records, cut, report)?;
        records.push(Record { share, ..record });
        Ok(counted)
    };
    let counted = match add(&mut records, Faults::default(), plan.runs, None) {
        Err(_) if commands.is_stopped() => return Ok(Explored { is_stopped: true, ..Explored::default() }),
        clean => clean?,
    };
    let mut runs = vec![(Faults::default(), plan.runs); plan.runs - 1];
    for (number, fault) in faults.iter().enumerate() {
        let mut stream = Seed(plan.seed).child(&number.to_string()).stream("fault");
        let each = Faults::each(fault, &counted, &mut stream);
        let share = each.len();
        runs.extend(each.into_iter().map(|faults| (faults, share)));
    }
    for (faults, share) in runs.into_iter().take_while(|_| !commands.is_stopped()) {
        add(&mut records, faults, share, None)?;
    }
    let cuts = if plan.recover.is_some() { exploring.cuts(&records[0])? } else { Vec::new() };
    for (number, cut) in cuts.iter().enumerate().take_while(|_| !commands.is_stopped()) {
        let counted = add(&mut records, Faults::default(), cuts.len(), Some(cut))?;
        for fault in &faults {
            let mut stream = Seed(plan.seed).child(&number.to_string()).stream("fault of a recovery");
            let mut each = Faults::each(fault, &counted, &mut stream);
            add(&mut records, each.swap_remove(number % each.len()), cuts.len(), Some(cut))?;
        }
    }
    let kept = Kept { plan: plan.clone(), device: device_now(folder).map_err(io)?, records };
    let file = BufWriter::new(File::create(folder.join(RECORDS).join("record.json")).map_err(io)?);
    serde_json::to_writer(file, &kept).map_err(|problem| io(problem.into()))?;
    exploring.check_states(&kept.records, None, report)
}

/// Make one state of the last exploration again, check it, and keep its device, also if it is right. `report` is as for
/// [`explore`].
///
/// # Errors
/// There is no such state, the device has changed since, or as for [`explore`].
pub fn again(
    folder: &Folder,
    number: usize,
    report: &mut dyn FnMut(&Explored) -> bool,
) -> Result<Explored, DeviceError> {
    let io = |problem| folder.io(problem);
    let file = File::open(folder.join(RECORDS).join("record.json"));
    let file = file.map_err(|problem| folder.unusable(format!("nothing was explored here: {problem}")))?;
    let mut kept: Kept =
        serde_json::from_reader(BufReader::new(file)).map_err(|problem| io(problem.into()))?;
    if kept.device != device_now(folder).map_err(io)? {
        return Err(folder.unusable("the device has changed since it was explored: explore it anew"));
    }
    for (number, record) in kept.records.iter_mut().enumerate() {
        record.data = Some(File::open(data_of(folder, number)).map_err(io)?);
    }
    let files = folder.disks()?;
    let commands = Commands::new(kept.plan.limit).map_err(io)?;
    let exploring = Exploring { folder, plan: &kept.plan, commands: &commands, files: &files, jobs: 1 };
    let explored = exploring.check_states(&kept.records, Some(number), report)?;
    if explored.states == 0 {
        let last = explored.planned;
        return Err(
            folder.unusable(format!("state {number} was asked for; states 1 to {last} were explored"))
        );
    }
    Ok(explored)
}

/// What tells the container from itself after a change.
fn device_now(folder: &Folder) -> io::Result<String> {
    let of = |name| -> io::Result<String> {
        let about = fs::metadata(folder.join(name))?;
        Ok(format!("{name} of {} bytes, {:?}", about.len(), about.modified()?))
    };
    Ok([of("data")?, of("metadata")?].join("; "))
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
    fn plan_of(&self, record: &Record) -> Result<Plan, DeviceError> {
        let Exploration { atomic, points, seed, .. } = self.plan;
        let plan = Plan::new(record, *atomic, points / record.share, *seed);
        plan.map_err(|problem| self.folder.io(problem))
    }

    /// The cuts of the first run from which recovery runs: at some of its states, spread over the run.
    fn cuts(&self, record: &Record) -> Result<Vec<Cut>, DeviceError> {
        let plan = self.plan_of(record)?;
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

    /// Run the workload, or recovery from a cut. `records` are the runs before.
    fn run(
        &self,
        faults: Faults,
        records: &[Record],
        cut: Option<&Cut>,
        report: &mut dyn FnMut(&Explored) -> bool,
    ) -> Result<(Record, Faults), DeviceError> {
        let io = |problem| self.folder.io(problem);
        let (number, layer) = (records.len(), over(self.folder, shared(self.files))?);
        let (session, scenario) = begun(self.folder, &layer, records, cut)?;
        // Tracers of the system write by the host's time.
        let power_on_s = UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64());
        let command = self.plan.recover.as_ref().filter(|_| cut.is_some()).unwrap_or(&self.plan.run);
        let path = data_of(self.folder, number);
        let data =
            File::options().read(true).write(true).create(true).truncate(true).open(path).map_err(io)?;
        let may_fail = faults.told().is_some() || cut.is_some();
        let shape = shape(&scenario, session.size_bytes());
        let stream = Seed(self.plan.seed).child(&number.to_string()).stream("schedule");
        let disk = RunDisk::new(session, shape).recorded(data, faults, stream);
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
        let story = (!ended.is_good()).then(|| ended.story(self.commands.limit));
        if let Some(story) = story.as_ref().filter(|_| !may_fail || ended.could_not_run()) {
            let what = if cut.is_some() { "recovery" } else { "the workload" };
            return Err(self.folder.unusable(format!("{what} failed: {story}: {}", ended.output.trim())));
        }
        let (record, faults) = disk.into_record().map_err(io)?;
        Ok((Record { ended: story, cut: cut.cloned(), power_on_s, ..record }, faults))
    }

    /// Do work on planned states of a run, in order. Each job has a base of its own, which goes from window to window.
    fn on_states(
        &self,
        (records, run, plan): (&[Record], usize, &Plan),
        states: &[usize],
        report: &mut dyn FnMut() -> bool,
        work: impl Fn(&Checker<'_>, usize, &Planned) -> Result<(), DeviceError> + Sync,
    ) -> Result<(), DeviceError> {
        let next = AtomicUsize::new(0);
        let job = |job| -> Result<(), DeviceError> {
            let base = over(self.folder, shared(self.files))?;
            let Self { folder, plan: exploration, commands, files, .. } = *self;
            let (record, base) = (&records[run], &base);
            let checker = Checker { folder, exploration, commands, files, base, records, record, plan, job };
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
        in_parallel(self.jobs.min(states.len()), self.commands, job, report)
    }

    /// Check the planned states of all runs, or only one.
    fn check_states(
        &self,
        records: &[Record],
        only: Option<usize>,
        report: &mut dyn FnMut(&Explored) -> bool,
    ) -> Result<Explored, DeviceError> {
        let plans: Vec<_> = records.iter().map(|record| self.plan_of(record)).collect::<Result<_, _>>()?;
        let log = &records[0].log;
        let (changes, marks) = (log.changes(), log.marks.len());
        let explored = Explored {
            changes,
            flushes: log.entries.len() - changes,
            marks,
            planned: plans.iter().map(|plan| plan.states.len()).sum(),
            coverage: plans.iter().map(|plan| plan.coverage.clone()).collect(),
            faults: records.iter().filter_map(|record| record.fault.clone()).collect(),
            ..Explored::default()
        };
        let explored = Mutex::new(explored);
        let known = || lock(&explored);
        let mut report = || report(&known().clone());
        let whole = &[plans[0].uncut][if only.is_some() { 1 } else { 0 }..];
        // What fails without a power cut says nothing of power cuts.
        self.on_states((records, 0, &plans[0]), whole, &mut report, |checker, _, planned| {
            let ended = checker.check(planned, 0)?;
            if ended.is_good() || self.commands.is_stopped() {
                return Ok(());
            }
            Err(self.folder.unusable(format!(
                "the check fails on the device after the whole workload, without a power cut: {}: {}; a check must \
                 succeed there",
                ended.story(self.commands.limit),
                ended.output.trim()
            )))
        })?;
        let (mut first, wrong) = (1, Mutex::new(BTreeSet::new()));
        for (run, plan) in plans.iter().enumerate() {
            // What recovers from a wrong state says nothing.
            let is_known = plan.coverage.recovers.is_some_and(|state| lock(&wrong).contains(&state));
            let (alike, early) = (Mutex::new(Alike::default()), Mutex::new(BTreeSet::<usize>::new()));
            for pass in 0..PASSES {
                let is_late = |at: usize| plan.states[at].early.is_empty();
                let pass_of = |at: usize| if is_late(at) { 1 + at % (PASSES - 1) } else { 0 };
                let is_asked = |at: &usize| {
                    pass_of(*at) == pass && !is_known && only.is_none_or(|only| only == first + at)
                };
                let asked: Vec<_> = (0..plan.states.len()).filter(is_asked).collect();
                self.on_states((records, run, plan), &asked, &mut report, |checker, at, planned| {
                    let ended = checker.check(planned, first + at)?;
                    if self.commands.is_stopped() {
                        return Ok(());
                    }
                    known().states += 1;
                    lock(&early).extend(&planned.early);
                    known().coverage[run].shapes_checked = lock(&early).len();
                    if ended.is_good() {
                        let place = self.folder.join("states").join(format!("{:06}", first + at));
                        let text = format!("state {} is right\n{}", first + at, ended.output);
                        return only.map_or(Ok(()), |_| checker.write(planned, first + at, &place, &text));
                    }
                    known().failed += 1;
                    lock(&wrong).insert(first + at);
                    let outline = outlines::outline(&ended.output);
                    if lock(&alike).wants(&outline) {
                        let failed = checker.shrunk(planned, first + at, &ended)?;
                        lock(&alike).shrunk.push((outline, failed));
                    }
                    Ok(())
                })?;
            }
            known().failures.extend(alike.into_inner().expect("no check panics").failures());
            first += plan.states.len();
        }
        let explored = explored.into_inner().expect("no check panics");
        Ok(Explored { is_stopped: self.commands.is_stopped(), ..explored })
    }
}
