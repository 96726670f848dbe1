//! A failure with the fewest requests: those that must be lost for it, and those that must be kept.

use super::check::Checker;
use super::commands::Ended;
use super::failure::Failed;
use super::painted::Painted;
use super::plan::Planned;
use super::states::{State, pieces};
use crate::folder::DeviceError;
use crate::layers::{over, shared};
use crate::order::{Id, Kind, Log};
use std::collections::{BTreeMap, BTreeSet};

/// The most checks to find the fewest requests that must be lost, and those that must be there.
const CHECKS_MAX: usize = 100;
/// The most durable changes that are tried for the one that makes a failure fatal.
const FATAL_MAX: usize = 16;

/// Looks for smaller states that fail.
struct Shrinking<'a, 'b> {
    checker: &'a Checker<'b>,
    durable: Painted,
    number: usize,
    window: usize,
    checks: usize,
    /// The verdicts so far, by the kept ranges.
    known: BTreeMap<String, bool>,
}

impl Shrinking<'_, '_> {
    fn planned(&self, state: State) -> Planned {
        let pieces = pieces(&self.durable, &self.checker.record.log, &state);
        Planned { window: self.window, state, pieces, key: Default::default(), early: BTreeSet::new() }
    }

    fn fails(&mut self, state: &State) -> Result<bool, DeviceError> {
        let planned = self.planned(state.clone());
        let key = format!("{:?}", planned.pieces);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        if self.checks >= CHECKS_MAX || self.checker.exploring.commands.is_stopped() {
            return Ok(false);
        }
        self.checks += 1;
        let ended = self.checker.check(&planned, self.number)?;
        let is_wrong = !ended.is_good && !self.checker.exploring.commands.is_stopped();
        self.known.insert(key, is_wrong);
        Ok(is_wrong)
    }

    /// Leave out requests at the end, which may not have come at all: by halves, as long as the state fails. What came before
    /// a durable one has come. The second part is what has come, in its order.
    fn without_end(&mut self, state: State) -> Result<(State, Vec<Id>), DeviceError> {
        let windows = &self.checker.plan.windows[..=self.window];
        let open = self.checker.record.log.open(windows);
        let mut come: Vec<_> = open.range(..state.come).copied().collect();
        let last_durable = windows.iter().flat_map(|window| &window.covered).max().copied();
        let comes = |id: Id, last: Id| id <= last || last_durable.is_some_and(|durable| id < durable);
        let until = |last: Id| {
            let mut other = State { come: (last + 1).max(last_durable.unwrap_or_default()), ..state.clone() };
            other.order.iter_mut().for_each(|order| order.retain(|&id| comes(id, last)));
            other.kept.retain(|&id, _| comes(id, last));
            other
        };
        let (mut low, mut high) = (0, come.len().saturating_sub(1));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.fails(&until(come[middle]))? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let Some(&last) = come.get(high) else { return Ok((state, come)) };
        come.retain(|&id| comes(id, last));
        Ok((until(last), come))
    }

    /// A subset of `all` with which the state still fails, and from which no single one can be left out: halves of it are left out,
    /// then quarters, and so on, the last ones first.
    fn fewest(&mut self, all: Vec<Id>, state: impl Fn(&[Id]) -> State) -> Result<Vec<Id>, DeviceError> {
        let (mut left, mut size) = (all.clone(), all.len());
        while size > 0 {
            let (before, mut end) = (left.len(), left.len());
            while end > 0 {
                let at = end.saturating_sub(size);
                let rest: Vec<_> = left[..at].iter().chain(&left[end..]).copied().collect();
                if self.fails(&state(&rest))? {
                    left = rest;
                }
                end = at;
            }
            size = if size == 1 && left.len() < before { 1 } else { size / 2 };
        }
        Ok(left)
    }
}

impl Checker<'_> {
    /// Shrink a failure, and keep its device.
    pub(crate) fn shrunk(
        &self,
        planned: &Planned,
        number: usize,
        ended: &Ended,
    ) -> Result<Failed, DeviceError> {
        let log = &self.record.log;
        let window = planned.window;
        let durable = self.plan.durable_at(log, window, None);
        let mut shrinking =
            Shrinking { checker: self, durable, number, window, checks: 0, known: BTreeMap::new() };
        if !shrinking.fails(&planned.state)? && !self.exploring.commands.is_stopped() {
            return self.keep(planned, number, ended, true, [&[]; 3]);
        }
        let (from, come) = shrinking.without_end(planned.state.clone())?;
        // The fewest that must be lost, if all else is there.
        let all = come.iter().copied().filter(|&id| !from.has_whole(log, id)).collect();
        let others = |ids: &[Id]| come.iter().copied().filter(|id| !ids.contains(id)).collect::<Vec<_>>();
        let restored = |lost: &[Id]| whole(log, &from, &others(lost));
        let lost = shrinking.fewest(all, restored)?;
        let mut state = restored(&lost);
        // Rather as a whole than in part.
        let gone = without(&state, &lost);
        if gone != state && shrinking.fails(&gone)? {
            state = gone;
        }
        // The fewest that must be there, if nothing else is.
        shrinking.checks = 0;
        let all = come.iter().copied().filter(|id| from.kept.contains_key(id)).collect();
        let kept = shrinking.fewest(all, |kept| without(&from, &others(kept)))?;
        let in_order = State { order: None, ..state.clone() };
        if state.order.is_some() && shrinking.fails(&in_order)? {
            state = in_order;
        }
        let next = (state.come..log.entries.len()).find(|&id| log.entries[id].is_change());
        let lost = if lost.is_empty() && state.order.is_none() { next.into_iter().collect() } else { lost };
        let shrunk = shrinking.planned(state);
        let last = self.check(&shrunk, number)?;
        let ended = if last.is_good || self.exploring.commands.is_stopped() { ended } else { &last };
        let fatal = if kept.is_empty() { self.fatal(&shrunk, number)? } else { None };
        self.keep(&shrunk, number, ended, false, [&lost, &kept, fatal.as_slice()])
    }

    /// The last durable change without which a state is right: a trim, if that may be.
    fn fatal(&self, planned: &Planned, number: usize) -> Result<Option<Id>, DeviceError> {
        let (log, windows) = (&self.record.log, &self.plan.windows[..=planned.window]);
        let base = over(self.exploring.folder, shared(self.exploring.files))?;
        let other = Checker { base: &base, ..*self };
        other.power_on_base()?;
        let mut all: Vec<Id> = windows.iter().flat_map(|window| &window.covered).copied().collect();
        all.sort_by_key(|&id| (log.entries[id].kind == Kind::Trim, id));
        for &id in all.iter().rev().take(FATAL_MAX) {
            let durable = self.plan.durable_at(log, planned.window, Some(id));
            let seen = pieces(&durable, log, &planned.state);
            let pieces = durable.pieces().chain(seen).collect();
            let ended = other.check(&Planned { pieces, ..planned.clone() }, number)?;
            if ended.is_good && !self.exploring.commands.is_stopped() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

/// The state without what is kept of `ids`.
fn without(state: &State, ids: &[Id]) -> State {
    let mut other = state.clone();
    other.kept.retain(|id, _| !ids.contains(id));
    other
}

/// The state with `ids` whole.
fn whole(log: &Log, state: &State, ids: &[Id]) -> State {
    let mut other = state.clone();
    other.kept.extend(State::keeping(log, 0, ids.iter().copied()).kept);
    other
}
