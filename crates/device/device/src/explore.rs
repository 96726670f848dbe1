//! The states that a power cut during a workload may leave, each of them checked.
//!
//! The workload runs once on the device. Then the power is cut right after every flush, and at random points
//! between. Of the writes and trims since the last flush a random part survives, whole or in some of its
//! atomic units, as after the loss of a volatile cache. The firmware makes each state from the state of the device
//! at the last flush. Then the power of the device is cut; it recovers, is served, and the user's check runs
//! on it. All this happens in memory: the device in the folder does not change.

use crate::changes::{AtomicUnit, Change, Changes};
use crate::export::{errno, serve};
use crate::folder::{DeviceError, Folder, survivors};
use crate::machine::Clock;
use crate::power_on::{power_was_cut, servable};
use crate::recorder::Recorder;
use crate::session::{Cut, CutAt, Session};
use coflash_base::seed::RngExt;
use coflash_base::{Bytes, Seed, Time};
use coflash_level::Placement;
use coflash_media::Side;
use coflash_nbd::{Address, Export, Hangup, Request, Server, Shape};
use coflash_scenario::Scenario;
use coflash_store::{Disk, Disks, FileDisk, Overlay, Store};
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command as Process, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::{fmt, fs, thread};
use tempfile::TempDir;

/// The input of an exploration.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The command of the workload, for the shell.
    pub run: String,
    /// The command of the check, for the shell: a state is wrong if it fails.
    pub check: String,
    /// The number of random points, beside those after flushes.
    pub points: u32,
    /// What power cuts leave of a write: units of it.
    pub atomic: AtomicUnit,
    /// The seed of points and states.
    pub seed: u64,
}

/// The findings of an exploration.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Requests of the workload that change data.
    pub changes: usize,
    /// Flushes of the workload.
    pub flushes: usize,
    /// States that were checked.
    pub states: usize,
    /// The folders of the first few states that failed the check.
    pub failures: Vec<PathBuf>,
    /// The number of failed checks.
    pub failed: usize,
}

/// The maximal number of failed states with a kept device.
const KEPT_MAX: usize = 10;

/// A session and, if recorded, the changes made in it.
struct Recorded<'a> {
    session: Session<Store<Shared<'a>>>,
    changes: Option<Changes>,
}

/// A session as a disk of a server.
struct SessionDisk<'a> {
    recorded: Mutex<Recorded<'a>>,
    clock: Clock,
    shape: Shape,
}

impl Export for SessionDisk<'_> {
    fn shape(&self) -> Shape {
        self.shape.clone()
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        let Recorded { session, changes } = &mut *self.recorded.lock().expect("no request panics");
        for mut request in requests.drain(..) {
            let now = self.clock.time();
            if let Some(changes) = changes {
                changes.record(now, &request);
            }
            let done = serve(session, &mut request, now);
            request.answer(done.map(drop).map_err(|failure| errno(&failure)));
        }
    }

    fn ended(&self, _: &Hangup) {}
}

/// Explore the states that power cuts leave during a workload on the device of a folder. If the folder has
/// none, an erased one of `scenario` is made. `report` gets the numbers of states done and to do, and may
/// stop the exploration by returning false.
///
/// # Errors
/// The device cannot be made or opened, the workload fails, or a file cannot be written.
pub fn explore(
    folder: &Folder,
    scenario: Option<&Scenario>,
    size: Option<Bytes>,
    plan: &Exploration,
    report: &mut dyn FnMut(&Explored, usize) -> bool,
) -> Result<Explored, DeviceError> {
    if let Some(scenario) = scenario.filter(|_| !folder.has_device()) {
        folder.create(&servable(scenario, size)?)?.close().map_err(|problem| folder.store(problem))?;
    }
    let files = folder.disks()?;
    let sockets = Sockets::new().map_err(|problem| folder.io(problem))?;
    let exploring = Exploring { folder, plan, sockets: &sockets };
    let (changes, scenario) = exploring.run_workload(&files)?;
    exploring.check_states(&files, &scenario, &changes, report)
}

struct Exploring<'a> {
    folder: &'a Folder,
    plan: &'a Exploration,
    sockets: &'a Sockets,
}

impl Exploring<'_> {
    /// Run the workload; returns its changes.
    fn run_workload(&self, files: &Disks<FileDisk>) -> Result<(Changes, Scenario), DeviceError> {
        let disks = self.over(shared(files))?;
        let (session, scenario) = self.power_on(shared(&disks), None)?;
        let changes = Changes::new(self.folder).map_err(|problem| self.folder.io(problem))?;
        let served = self.served(session, &scenario, Some(changes));
        let output =
            self.sockets.run_on(&served, &self.plan.run, &[]).map_err(|problem| self.folder.io(problem))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let problem = format!("the workload failed with {}: {}", output.status, text.trim());
            return Err(self.folder.io(io::Error::other(problem)));
        }
        let recorded = served.recorded.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut changes = recorded.changes.expect("they were kept");
        std::mem::replace(&mut changes.written, Ok(())).map_err(|problem| self.folder.io(problem))?;
        Ok((changes, scenario))
    }

    fn check_states(
        &self,
        files: &Disks<FileDisk>,
        scenario: &Scenario,
        changes: &Changes,
        report: &mut dyn FnMut(&Explored, usize) -> bool,
    ) -> Result<Explored, DeviceError> {
        let list = &changes.list;
        let flushes = list.iter().filter(|(_, change)| matches!(change, Change::Flush)).count();
        let mut explored = Explored { changes: list.len() - flushes, flushes, ..Explored::default() };
        let mut stream = Seed(self.plan.seed).stream("points");
        let mut drawn: Vec<usize> =
            (0..self.plan.points).map(|_| stream.random_range(0..=list.len())).collect();
        drawn.sort_unstable();
        let states = flushes + drawn.len();
        let mut drawn = drawn.into_iter().peekable();
        let base = self.over(shared(files))?;
        let (mut session, _) = self.power_on(shared(&base), None)?;
        let (mut flushed, mut flushes) = (0, 0);
        for end in 0..=list.len() {
            let is_flushed = end > flushed && matches!(list[end - 1].1, Change::Flush);
            if is_flushed {
                for &(now, change) in &list[flushed..end] {
                    changes
                        .apply(change, &mut session, now)
                        .map_err(|problem| self.folder.unusable(problem))?;
                }
                (flushed, flushes) = (end, flushes + 1);
                self.check_state(&base, scenario, changes, end..end, flushes, &mut explored)?;
            }
            while drawn.next_if_eq(&end).is_some() {
                self.check_state(&base, scenario, changes, flushed..end, flushes, &mut explored)?;
            }
            if explored.states > 0 && !report(&explored, states) {
                break;
            }
        }
        Ok(explored)
    }

    /// Make a state of the device at its last flush and a part of the changes since then, and check it.
    fn check_state(
        &self,
        base: &Disks<Overlay<Shared<'_>>>,
        scenario: &Scenario,
        changes: &Changes,
        since: Range<usize>,
        flushes: usize,
        explored: &mut Explored,
    ) -> Result<(), DeviceError> {
        explored.states += 1;
        let seed = self.plan.seed.wrapping_mul(1 << 32).wrapping_add(explored.states as u64);
        let mut stream = Seed(seed).stream("state");
        let cuts = Cuts::draw(scenario, seed, since.len());
        let state = self.over(shared(base))?;
        let unusable = |problem: &dyn std::fmt::Display| self.folder.unusable(problem);
        {
            let (mut session, _) = self.power_on(shared(&state), cuts.of_device)?;
            let share = [0.0, 0.25, 0.5, 0.75, 1.0][stream.random_range(0..5)];
            for &(_, change) in &changes.list[since.clone()] {
                let applied =
                    changes.apply_in_part(change, &mut session, self.plan.atomic, share, &mut stream);
                applied.map_err(|problem| unusable(&problem))?;
            }
            session.flush(Time::ZERO).map_err(|problem| unusable(&problem))?;
            session.cut(cuts.side);
            let ended = session.end().map_err(|problem| self.folder.io(problem))?;
            let mut store = ended.store;
            let done = store.restart(survivors(seed)).and_then(|()| store.close());
            done.map_err(|problem| self.folder.store(problem))?;
        }
        // Changes made by the check are not kept.
        let checked = self.over(shared(&state))?;
        let (session, _) = self.power_on(shared(&checked), None)?;
        let served = self.served(session, scenario, None);
        let numbers =
            [("COFLASH_FLUSHES", flushes.to_string()), ("COFLASH_STATE", explored.states.to_string())];
        let output = self.sockets.run_on(&served, &self.plan.check, &numbers);
        let output = output.map_err(|problem| self.folder.io(problem))?;
        drop(served);
        if !output.status.success() {
            explored.failed += 1;
            if explored.failures.len() < KEPT_MAX {
                let place = format!("after flush {flushes} and a part of {} changes after it", since.len());
                let story =
                    format!("{cuts} {place}\nseed: {} (state {}: {seed})", self.plan.seed, explored.states);
                let kept = self.keep(&state, explored.states, &story, &output);
                explored.failures.push(kept.map_err(|problem| self.folder.io(problem))?);
            }
        }
        Ok(())
    }

    /// Keep a state that failed the check: its device as at power on after the cut, the output of the check,
    /// and the steps that led to it.
    fn keep(
        &self,
        state: &Disks<Overlay<Shared<'_>>>,
        number: usize,
        story: &str,
        output: &Output,
    ) -> io::Result<PathBuf> {
        let folder = self.folder.join("failures").join(format!("{number:06}"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let disks = Disks::create(&folder)?;
        copy(&state.data, &disks.data)?;
        copy(&state.metadata, &disks.metadata)?;
        let mut text = fs::File::create_new(folder.join("failure.txt"))?;
        writeln!(text, "{story}")?;
        writeln!(text, "check: {}", self.plan.check)?;
        writeln!(text, "again: coflash serve --device {}", folder.display())?;
        writeln!(text, "\nthe check ended with {}", output.status)?;
        text.write_all(&output.stdout)?;
        text.write_all(&output.stderr)?;
        Ok(folder)
    }

    /// Overlays in memory over other disks: changes stay in memory.
    fn over<'d>(&self, below: Disks<Shared<'d>>) -> Result<Disks<Overlay<Shared<'d>>>, DeviceError> {
        let over = || Ok(Disks { data: Overlay::new(below.data)?, metadata: Overlay::new(below.metadata)? });
        over().map_err(|problem| self.folder.io(problem))
    }

    fn power_on<'d>(
        &self,
        disks: Disks<Shared<'d>>,
        cut: Option<Cut>,
    ) -> Result<(Session<Store<Shared<'d>>>, Scenario), DeviceError> {
        let (store, found) = Store::open(disks).map_err(|problem| self.folder.store(problem))?;
        let scenario = Scenario::from_toml(&store.format().scenario)?;
        let recorder = Recorder::to(io::sink());
        let session = Session::start(scenario.clone(), store, Some(&found), recorder, cut);
        Ok((session.map_err(|problem| self.folder.unusable(problem))?, scenario))
    }

    fn served<'d>(
        &self,
        session: Session<Store<Shared<'d>>>,
        scenario: &Scenario,
        changes: Option<Changes>,
    ) -> SessionDisk<'d> {
        let size_bytes = scenario.flash.exported.map_or(session.size_bytes(), |size| size.count);
        let preferred_bytes = scenario.flash.page_size.count as u32;
        let (name, description) = (String::new(), scenario.name.clone());
        let shape = Shape { name, description, size_bytes, preferred_bytes, read_only: false };
        SessionDisk { recorded: Mutex::new(Recorded { session, changes }), clock: Clock::start(), shape }
    }
}

/// The power cuts of a state. With the cache in the host either side may lose power alone.
struct Cuts {
    /// That of the device in the midst of the changes, after which the host goes on.
    of_device: Option<Cut>,
    /// The side of the last cut.
    side: Side,
}

impl Cuts {
    fn draw(scenario: &Scenario, seed: u64, changes: usize) -> Self {
        if scenario.cache.placement == Placement::InStorage {
            return Self { of_device: None, side: Side::Both };
        }
        let mut stream = Seed(seed).stream("sides");
        let at = CutAt::Write(stream.random_range(0..changes.max(1)) as u64 + 1);
        let of_device = stream.random::<bool>().then_some(Cut { at, side: Side::Device, seed });
        Self { of_device, side: if stream.random() { Side::Host } else { Side::Both } }
    }
}

impl fmt::Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Cut { at: CutAt::Write(number), side, .. }) = self.of_device {
            write!(f, "{} near write {number}, then ", power_was_cut(side))?;
        }
        f.write_str(power_was_cut(self.side))
    }
}

/// A disk of any kind: the firmware is compiled for one.
type Shared<'a> = &'a (dyn Disk + Sync);

fn shared<D: Disk + Sync>(disks: &Disks<D>) -> Disks<Shared<'_>> {
    Disks { data: &disks.data, metadata: &disks.metadata }
}

/// Sockets in a folder of our own, and commands that get them.
struct Sockets(TempDir);

impl Sockets {
    fn new() -> io::Result<Self> {
        tempfile::Builder::new().prefix("coflash-explore-").tempdir().map(Self)
    }

    /// Serve a disk while a command runs.
    fn run_on(
        &self,
        disk: &(impl Export + Send),
        command: &str,
        environment: &[(&str, String)],
    ) -> io::Result<Output> {
        let address = Address::Unix(self.0.path().join("nbd"));
        let server = Server::bind(&address)?;
        thread::scope(|scope| {
            let stopper = server.stopper();
            let serving = scope.spawn(|| server.run(disk));
            let mut process = Process::new("sh");
            process.arg("-c").arg(command).env("COFLASH_NBD", address.to_string());
            process.env("COFLASH_SOCKET", self.0.path().join("nbd"));
            process.envs(environment.iter().map(|(name, value)| (name, value)));
            let output = output_of(process.stdin(Stdio::null()));
            stopper.stop();
            serving.join().expect("the server does not panic")?;
            output
        })
    }
}

/// Run a process to its end, whatever it leaves running: with pipes, a process of its own that still has them would be
/// waited for, which itself may wait for the server.
fn output_of(process: &mut Process) -> io::Result<Output> {
    let mut files = [tempfile::tempfile()?, tempfile::tempfile()?];
    let status = process.stdout(files[0].try_clone()?).stderr(files[1].try_clone()?).status()?;
    let [stdout, stderr] = files.each_mut().map(|file| {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(bytes)
    });
    Ok(Output { status, stdout: stdout?, stderr: stderr? })
}

/// Copy a disk without its zeros.
fn copy(from: &impl Disk, to: &impl Disk) -> io::Result<()> {
    const CHUNK_BYTES: u64 = 1 << 20;
    let size_bytes = from.size_bytes()?;
    for offset in (0..size_bytes).step_by(CHUNK_BYTES as usize) {
        let mut bytes = vec![0; CHUNK_BYTES.min(size_bytes - offset) as usize];
        from.read_at(&mut bytes, offset)?;
        let is_last = offset + CHUNK_BYTES >= size_bytes;
        if is_last || bytes.iter().any(|byte| *byte != 0) {
            to.write_at(&bytes, offset)?;
        }
    }
    to.sync()
}
