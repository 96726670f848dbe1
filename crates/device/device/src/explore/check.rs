//! A state is made by the firmware, and is checked.

use super::Exploration;
use super::commands::{Commands, Ended};
use super::plan::{Plan, Planned};
use super::record::Record;
use super::run::RunDisk;
use crate::export::shape;
use crate::folder::{DeviceError, Folder};
use crate::layers::{Layer, Powered, over, power_on, shared};
use coflash_base::Time;
use coflash_scenario::Scenario;
use std::ops::RangeInclusive;

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
        Ok(power_on(self.folder, shared(self.base))?.0)
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

    /// Make a state by the firmware, as it is after the loss of power and before the check.
    fn made<'d>(
        &self,
        state: &'d Layer<'_>,
        planned: &Planned,
    ) -> Result<(Powered<'d>, Scenario), DeviceError> {
        let unusable = |problem| self.folder.unusable(problem);
        let (mut session, scenario) = power_on(self.folder, shared(state))?;
        self.record.apply(&planned.pieces, &mut session).map_err(unusable)?;
        session.flush(Time::ZERO).map_err(unusable)?;
        Ok((session, scenario))
    }

    /// The files of a state.
    pub(crate) fn make(&self, planned: &Planned) -> Result<Layer<'_>, DeviceError> {
        let state = over(self.folder, shared(self.base))?;
        let ended = self.made(&state, planned)?.0.end().map_err(|problem| self.folder.io(problem))?;
        ended.store.close().map_err(|problem| self.folder.unusable(problem))?;
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
    pub(crate) fn check(&self, planned: &Planned, number: usize) -> Result<Ended, DeviceError> {
        let state = over(self.folder, shared(self.base))?;
        let (session, scenario) = self.made(&state, planned)?;
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
        Ok(ended)
    }
}
