//! A powered device: its current session, and the sessions that ended in power cuts.

use crate::folder::{DeviceError, Folder, SessionEnd, SessionFolder, survivors};
use crate::layers::{over, power_on, shared};
use crate::live::{Live, Part};
use crate::power_on::{check_side, servable};
use crate::recorder::Recorder;
use crate::session::{Cut, Session};
use coflash_base::{Bytes, Time};
use coflash_engine::RunResult;
use coflash_level::Placement;
use coflash_media::{Contents, Side};
use coflash_scenario::Scenario;
use coflash_store::{FileDisk, Store, StoreError};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use std::time::{Duration, Instant};

/// A session that has ended.
pub struct EndedSession {
    /// Its folder.
    pub folder: SessionFolder,
    /// Its result.
    pub result: RunResult,
}

/// A device in its folder, under power.
pub struct Machine {
    folder: Folder,
    scenario: Scenario,
    trace: Option<PathBuf>,
    /// `None` after a failed restart.
    session: Option<Session<Store<FileDisk>>>,
    session_folder: SessionFolder,
    /// Whether the session is recorded: the folder of a device that is read-only from the start may have no room.
    is_recorded: bool,
    /// If this made the device, whether it made its folder, too.
    made: Option<bool>,
    clock: Clock,
    cut: Option<Cut>,
    live: Option<Live>,
    /// Sessions that have ended in power cuts, until they are taken.
    pub ended: Vec<EndedSession>,
}

impl Machine {
    /// Power a device on; it is made if the folder has none.
    ///
    /// # Errors
    /// The device cannot be made, opened or recovered, or belongs to another scenario.
    pub fn start(
        folder: Folder,
        scenario: Option<&Scenario>,
        size: Option<Bytes>,
        trace: Option<&Path>,
        cut: Option<Cut>,
    ) -> Result<Self, DeviceError> {
        let check = |scenario: &Scenario| cut.map_or(Ok(()), |cut| check_side(scenario, cut.side));
        let mut made = None;
        let (store, found, scenario) = match scenario {
            Some(scenario) if !folder.has_device() => {
                let scenario = servable(scenario, size)?;
                check(&scenario)?;
                let is_new = !folder.join("").exists();
                let store = folder.create(&scenario).inspect_err(|_| {
                    // It stays if there is anything in it.
                    let _ = is_new.then(|| std::fs::remove_dir(folder.join("")));
                })?;
                made = Some(is_new);
                (store, None, scenario)
            }
            _ => {
                let (store, found) = folder.open()?;
                let scenario = folder.scenario(store.format(), scenario, size)?;
                check(&scenario)?;
                (store, Some(found), scenario)
            }
        };
        let session_folder = folder.session(folder.next_session());
        let mut machine = Self {
            folder,
            scenario,
            trace: trace.map(Path::to_owned),
            session: None,
            session_folder,
            is_recorded: false,
            made,
            clock: Clock::start(),
            cut,
            live: None,
            ended: Vec::new(),
        };
        if let Err(error) = machine.power_on(store, found.as_ref()) {
            machine.discard();
            return Err(error);
        }
        Ok(machine)
    }

    /// End a start that has failed: nothing is left of it.
    pub(crate) fn discard(mut self) {
        self.session = None;
        let made = self.made.take();
        self.folder.remove(self.is_recorded.then_some(&self.session_folder), made);
        // Failures are ignored: the start has failed for another reason.
        let _ = self.trace.filter(|_| self.is_recorded).map(std::fs::remove_file);
    }

    /// The scenario of the device.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Whether changes are refused.
    pub(crate) fn is_read_only(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.refusal().is_some())
    }

    /// The current session, and its clock.
    pub(crate) fn session(&mut self) -> Option<(&mut Session<Store<FileDisk>>, Clock)> {
        self.session.as_mut().map(|session| (session, self.clock))
    }

    /// The result of the present session so far; none after a failed restart.
    pub fn result(&self) -> Option<RunResult> {
        self.session.as_ref().map(Session::result)
    }

    /// Take what flash did since the last call. The first call begins to record, and every session goes on.
    #[must_use]
    pub fn take_live(&mut self) -> Vec<Part> {
        if self.live.is_none() {
            self.begin_live();
        }
        self.live.as_mut().map(Live::take).unwrap_or_default()
    }

    fn begin_live(&mut self) {
        if let Some(session) = &mut self.session {
            let folder = self.session_folder.path().to_owned();
            self.live = Some(Live::begin(self.live.take(), folder, &self.scenario, session));
        }
    }

    /// What the files hold of some ranges, which the next power on will find there, as far as that can be read and is not too long.
    pub(crate) fn in_files(
        &mut self,
        ranges: &[Range<u64>],
        mut bytes_left: u64,
    ) -> Result<Vec<Option<Vec<u8>>>, DeviceError> {
        let Some(session) = self.session.as_mut() else { return Ok(Vec::new()) };
        let files = session.store().files();
        let layer = over(&self.folder, shared(&files))?;
        let mut found = power_on(&self.folder, shared(&layer))?;
        let mut read = |range: &Range<u64>| {
            bytes_left = bytes_left.checked_sub(range.end - range.start)?;
            let mut data = vec![0; (range.end - range.start) as usize];
            found.read(range.start, &mut data, Time::ZERO).ok().map(|_| data)
        };
        Ok(ranges.iter().map(&mut read).collect())
    }

    /// Cut the power of the device between two requests, where a host goes on with its cache. Returns whether there is one.
    ///
    /// # Errors
    /// The device cannot come back.
    pub(crate) fn cut_below_host(&mut self, side: Side) -> Result<bool, DeviceError> {
        let is_alone = side == Side::Device && self.scenario.cache.placement == Placement::Host;
        let Some(session) = self.session.as_mut().filter(|_| is_alone) else { return Ok(false) };
        let cut = session.cut_device(self.clock.time());
        cut.map(|()| true).map_err(|problem| self.folder.unusable(problem))
    }

    /// Cut power if it is still on, and power on again. `seed` draws the surviving part of the stores that
    /// were not durable.
    ///
    /// # Errors
    /// The device cannot be recovered, or its folder cannot be written.
    pub(crate) fn cycle_power(&mut self, side: Side, seed: u64) -> Result<(), DeviceError> {
        let Some(mut session) = self.session.take() else {
            return Err(self.folder.no_device());
        };
        if !session.is_off() {
            session.cut(side);
        }
        // A cut comes once.
        self.cut = None;
        let mut store = self.end_session(session, true)?;
        let found = store.restart(survivors(seed)).and_then(|()| store.contents());
        let found = found.map_err(|problem| self.folder.unusable(problem))?;
        self.session_folder = self.folder.session(self.folder.next_session());
        self.trace = None;
        self.power_on(store, Some(&found))
    }

    /// The side and the seed of the requested power cut.
    pub(crate) fn cut_plan(&self) -> (Side, u64) {
        self.cut.map_or((Side::Both, 0), |cut| (cut.side, cut.seed))
    }

    /// Flush, and switch off in an orderly way.
    ///
    /// # Errors
    /// The container or the folder cannot be written.
    pub fn stop(mut self) -> Result<Vec<EndedSession>, DeviceError> {
        let now = self.clock.time();
        if let Some(mut session) = self.session.take() {
            session.disarm();
            let flushed = session.flush(now).and_then(|_| session.finish());
            let store = self.end_session(session, false)?;
            flushed.map_err(|problem| self.folder.unusable(problem))?;
            store.close().map_err(|problem| self.folder.unusable(problem))?;
        }
        Ok(self.ended)
    }

    fn power_on(&mut self, mut store: Store<FileDisk>, found: Option<&Contents>) -> Result<(), DeviceError> {
        let begin = || self.session_folder.begin(&self.scenario, found, self.trace.as_deref());
        let begun = match store.failure().is_none().then(begin).transpose() {
            Ok(begun) => begun,
            Err(problem) => {
                self.folder.remove(Some(&self.session_folder), None);
                if self.made.is_some() || !has_no_room(&problem) {
                    return Err(self.folder.io(problem));
                }
                // A device without room for another session can still be read.
                store.refuse_writes(StoreError::host("recording the session", &problem));
                None
            }
        };
        self.is_recorded = begun.is_some();
        let (scenario, recorder) = begun.unwrap_or_else(|| (self.scenario.clone(), Recorder::to(io::sink())));
        let session = Session::start(scenario, store, found, recorder, self.cut);
        self.session = Some(session.map_err(|problem| self.folder.unusable(problem))?);
        self.clock = Clock::start();
        if self.live.is_some() {
            self.begin_live();
        }
        Ok(())
    }

    fn end_session(
        &mut self,
        mut session: Session<Store<FileDisk>>,
        was_cut: bool,
    ) -> Result<Store<FileDisk>, DeviceError> {
        let folder = self.session_folder.clone();
        let is_read_only = session.refusal().is_some();
        if is_read_only {
            session.stop_recording();
        }
        let ended = session.end().map_err(|problem| self.folder.io(problem))?;
        if self.is_recorded && !is_read_only {
            folder
                .end(&SessionEnd { end_ns: ended.end.ns, was_cut, restarts: ended.restarts })
                .map_err(|problem| self.folder.io(problem))?;
            self.ended.push(EndedSession { folder, result: ended.result });
        }
        Ok(ended.store)
    }
}

/// Whether the host has no room for a file, or takes none.
fn has_no_room(problem: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(problem.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

/// The clock of a session: the time since its power came on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Start the clock of a session at power on.
    pub(crate) fn start() -> Self {
        Self(now())
    }

    /// The time of the session now.
    pub(crate) fn time(self) -> Time {
        Time { ns: now().saturating_duration_since(self.0).as_nanos() as u64 }
    }

    /// The moment of the host at a time of the session.
    pub(crate) fn moment(self, at: Time) -> Instant {
        self.0 + Duration::from_nanos(at.ns)
    }
}

/// The clock of the host: requests arrive by it. Nothing else of a session depends on it.
#[allow(clippy::disallowed_methods, reason = "see above")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
