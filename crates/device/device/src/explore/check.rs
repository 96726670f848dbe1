//! A state is made by the firmware, and is checked.

use super::Exploring;
use super::commands::Ended;
use super::plan::{Plan, Planned};
use super::record::{Cut, Record};
use super::run::RunDisk;
use crate::folder::{DeviceError, Folder};
use crate::layers::{Layer, Powered, over, power_on, shared};
use std::ops::RangeInclusive;

/// Makes and checks the states of a run, over a base that goes from window to window.
pub(crate) struct Checker<'a> {
    pub(crate) exploring: &'a Exploring<'a>,
    pub(crate) base: &'a Layer<'a>,
    pub(crate) records: &'a [Record],
    pub(crate) record: &'a Record,
    pub(crate) plan: &'a Plan,
    pub(crate) job: usize,
}

impl<'a> Checker<'a> {
    pub(crate) fn power_on_base(&self) -> Result<Powered<'a>, DeviceError> {
        begun(self.exploring.folder, self.base, self.records, self.record.cut.as_ref())
    }

    /// Make durable in the base what the windows make durable.
    pub(crate) fn advance(
        &self,
        session: &mut Powered<'_>,
        windows: RangeInclusive<usize>,
    ) -> Result<(), DeviceError> {
        let unusable = |problem| self.exploring.folder.unusable(problem);
        for pieces in windows.filter_map(|window| self.plan.durable.get(window)).filter(|all| !all.is_empty())
        {
            self.record.apply(pieces, session).map_err(unusable)?;
        }
        Ok(())
    }

    /// Make a state by the firmware, as it is after the loss of power and before the check.
    fn made<'d>(&self, state: &'d Layer<'_>, planned: &Planned) -> Result<Powered<'d>, DeviceError> {
        let folder = self.exploring.folder;
        let mut session = power_on(folder, shared(state))?;
        let made = self.record.apply(&planned.pieces, &mut session);
        made.map(|()| session).map_err(|problem| folder.unusable(problem))
    }

    /// The files of a state.
    pub(crate) fn make(&self, planned: &Planned) -> Result<Layer<'_>, DeviceError> {
        let folder = self.exploring.folder;
        let state = over(folder, shared(self.base))?;
        let ended = self.made(&state, planned)?.end().map_err(|problem| folder.io(problem))?;
        ended.store.close().map_err(|problem| folder.unusable(problem))?;
        Ok(state)
    }

    /// What the check learns of a state from its environment.
    pub(crate) fn environment(&self, planned: &Planned, number: usize) -> [(&'static str, String); 4] {
        let window = &self.plan.windows[planned.window];
        let mark = window.marks.checked_sub(1).map(|last| self.record.log.marks[last].text.replace('\0', ""));
        let own = (window.flushes, mark.unwrap_or_default());
        // A recovery promises nothing to anybody.
        let (flushes, mark) = self.record.cut.as_ref().map_or(own, |cut| (cut.flushes, cut.mark.clone()));
        [
            ("COFLASH_FLUSHES", flushes.to_string()),
            ("COFLASH_STATE", number.to_string()),
            ("COFLASH_MARK", mark),
            ("COFLASH_FAULT", self.record.fault.clone().unwrap_or_default().0),
        ]
    }

    /// Make a state and check it. What the check changes is lost.
    pub(crate) fn check(&self, planned: &Planned, number: usize) -> Result<Ended, DeviceError> {
        let Exploring { folder, commands, plan, .. } = self.exploring;
        let state = over(folder, shared(self.base))?;
        let disk = RunDisk::new(self.made(&state, planned)?, plan);
        let environment = self.environment(planned, number);
        let ended = commands.run_on(&disk, self.job, &plan.check, &environment);
        let ended = ended.map_err(|problem| folder.io(problem))?;
        if ended.could_not_run {
            let Ended { story, output, .. } = &ended;
            return Err(folder.unusable(format!("the check cannot run: {story}: {}", output.trim())));
        }
        Ok(ended)
    }
}

/// Power on the device on which a run begins: that of the folder, or what a cut has left of an earlier run.
pub(crate) fn begun<'d>(
    folder: &Folder,
    layer: &'d Layer<'_>,
    records: &[Record],
    cut: Option<&Cut>,
) -> Result<Powered<'d>, DeviceError> {
    let mut session = power_on(folder, shared(layer))?;
    if let Some(cut) = cut {
        records[0].apply(&cut.pieces, &mut session).map_err(|problem| folder.unusable(problem))?;
    }
    Ok(session)
}
