//! A state is made by the firmware, loses power, recovers, and is checked.

use super::Exploration;
use super::commands::{Commands, Ended};
use super::plan::{Plan, Planned};
use super::record::Record;
use super::run::RunDisk;
use crate::export::shape;
use crate::folder::{DeviceError, Folder, survivors};
use crate::layers::{Layer, Powered, Shared, over, power_on, shared, started};
use crate::power_on::power_was_cut;
use crate::session::{Cut, CutAt};
use coflash_base::seed::RngExt;
use coflash_base::{Seed, Time};
use coflash_level::Placement;
use coflash_media::Side;
use coflash_scenario::Scenario;
use coflash_store::Store;
use std::fmt;
use std::ops::RangeInclusive;

/// The result of a check.
pub(crate) struct Verdict {
    pub(crate) is_wrong: bool,
    pub(crate) ended: Ended,
    /// The cuts of the state.
    pub(crate) cuts: Option<Cuts>,
}

/// Makes and checks the states of a run, over a base that goes from window to window.
pub(crate) struct Checker<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) exploration: &'a Exploration,
    pub(crate) commands: &'a Commands,
    pub(crate) base: &'a Layer<'a>,
    pub(crate) record: &'a Record,
    pub(crate) plan: &'a Plan,
    pub(crate) job: usize,
}

impl<'a> Checker<'a> {
    pub(crate) fn power_on_base(&self) -> Result<Powered<'a>, DeviceError> {
        Ok(power_on(self.folder, shared(self.base), |_| None)?.0)
    }

    /// Make durable in the base what the windows make durable.
    pub(crate) fn advance(
        &self,
        session: &mut Powered<'_>,
        windows: RangeInclusive<usize>,
    ) -> Result<(), DeviceError> {
        let unusable = |problem| self.folder.unusable(problem);
        for pieces in windows.filter_map(|window| self.plan.durable.get(window)).filter(|all| !all.is_empty())
        {
            self.record.apply(pieces, session).map_err(unusable)?;
            session.flush(Time::ZERO).map_err(unusable)?;
        }
        Ok(())
    }

    /// Make a state, as it is after the loss of power and before the check. State 0 has lost no power.
    fn made<'d>(
        &self,
        state: &'d Layer<'_>,
        planned: &Planned,
        number: usize,
    ) -> Result<(Store<Shared<'d>>, Scenario, Option<Cuts>), DeviceError> {
        let unusable = |problem| self.folder.unusable(problem);
        let seed = self.exploration.seed.wrapping_mul(1 << 32).wrapping_add(number as u64);
        let mut cuts = None;
        let (mut session, scenario) = power_on(self.folder, shared(state), |scenario| {
            cuts = (number > 0).then(|| Cuts::draw(scenario, seed, planned.pieces.len()));
            cuts.as_ref()?.of_device
        })?;
        self.record.apply(&planned.pieces, &mut session).map_err(unusable)?;
        session.flush(Time::ZERO).map_err(unusable)?;
        if let Some(cuts) = &cuts {
            session.cut(cuts.side);
        }
        let mut store = session.end().map_err(|problem| self.folder.io(problem))?.store;
        let mut survives = survivors(seed);
        let restarted = store.restart(|store| survives(store) || cuts.is_none());
        restarted.map(|()| (store, scenario, cuts)).map_err(|problem| self.folder.unusable(problem))
    }

    /// The files of a state.
    pub(crate) fn make(&self, planned: &Planned, number: usize) -> Result<Layer<'_>, DeviceError> {
        let state = over(self.folder, shared(self.base))?;
        let (store, ..) = self.made(&state, planned, number)?;
        store.close().map_err(|problem| self.folder.unusable(problem))?;
        Ok(state)
    }

    /// What the check learns of a state from its environment.
    pub(crate) fn environment(&self, planned: &Planned, number: usize) -> [(&'static str, String); 3] {
        let window = &self.plan.windows[planned.window];
        let mark = window.marks.checked_sub(1).map(|last| self.record.log.marks[last].text.replace('\0', ""));
        [
            ("COFLASH_FLUSHES", window.flushes.to_string()),
            ("COFLASH_STATE", number.to_string()),
            ("COFLASH_MARK", mark.unwrap_or_default()),
        ]
    }

    /// Make a state and check it. What the check changes is lost.
    pub(crate) fn check(&self, planned: &Planned, number: usize) -> Result<Verdict, DeviceError> {
        let state = over(self.folder, shared(self.base))?;
        let (mut store, scenario, cuts) = self.made(&state, planned, number)?;
        let found = store.contents().map_err(|problem| self.folder.unusable(problem))?;
        let session = started(self.folder, scenario.clone(), store, &found, None)?;
        let shape = shape(&scenario, session.size_bytes());
        let disk = RunDisk::new(session, shape);
        let environment = self.environment(planned, number);
        let ended = self.commands.run_on(&disk, self.job, &self.exploration.check, &environment);
        let ended = ended.map_err(|problem| self.folder.io(problem))?;
        if ended.could_not_run() {
            let story = ended.story(self.commands.limit());
            let output = ended.output.trim();
            return Err(self.folder.unusable(format!("the check cannot run: {story}: {output}")));
        }
        Ok(Verdict { is_wrong: !ended.is_good() && !self.commands.is_stopped(), ended, cuts })
    }
}

/// The power cuts of a state. With the cache in the host either side may lose power alone.
#[derive(Clone, Debug)]
pub(crate) struct Cuts {
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
