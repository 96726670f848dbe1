//! A failure with the fewest requests: those that must be lost for it, and those that must be kept.

use super::check::Checker;
use super::commands::Ended;
use super::failure::Failed;
use super::painted::Painted;
use super::plan::Planned;
use super::states::{State, pieces};
use crate::folder::DeviceError;
use crate::order::{Id, Log};
use std::collections::{BTreeMap, BTreeSet};

/// The most checks to find the fewest requests that must be lost, and those that must be there.
const CHECKS_MAX: usize = 100;

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
        Planned { window: self.window, state, pieces, early: BTreeSet::new() }
    }

    fn fails(&mut self, state: &State) -> Result<bool, DeviceError> {
        let planned = self.planned(state.clone());
        let key = format!("{:?}", planned.pieces);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        if self.checks >= CHECKS_MAX || self.checker.commands.is_stopped() {
            return Ok(false);
        }
        self.checks += 1;
        let ended = self.checker.check(&planned, self.number)?;
        let is_wrong = !ended.is_good() && !self.checker.commands.is_stopped();
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

    /// Lose torn requests, or keep them whole, all together: at the end those that are left are tried one by one.
    fn untear(&mut self, state: &mut State, come: &[Id]) -> Result<(), DeviceError> {
        let log = &self.checker.record.log;
        let ids = torn(log, state, come);
        for other in [without(state, &ids), whole(log, state, &ids)] {
            if !torn(log, state, come).is_empty() && self.fails(&other)? {
                *state = other;
            }
        }
        Ok(())
    }

    /// Delta debugging: a subset of `all` with which the state still fails, and from which no single one can be left out.
    fn fewest(&mut self, all: Vec<Id>, state: impl Fn(&[Id]) -> State) -> Result<Vec<Id>, DeviceError> {
        let (mut left, mut chunks) = (all, 2);
        while !left.is_empty() {
            let size = left.len().div_ceil(chunks);
            let mut smaller = None;
            for at in (0..left.len()).step_by(size) {
                let (chunk, end) = (&left[at..left.len().min(at + size)], left.len().min(at + size));
                let rest: Vec<_> = left[..at].iter().chain(&left[end..]).copied().collect();
                if chunks > 2 || left.len() == 1 {
                    if self.fails(&state(&rest))? {
                        smaller = Some((rest, chunks.saturating_sub(1).max(2)));
                        break;
                    }
                } else if self.fails(&state(chunk))? {
                    smaller = Some((chunk.to_vec(), 2));
                    break;
                }
            }
            match smaller {
                Some((fewer, next)) => (left, chunks) = (fewer, next),
                None if size == 1 => break,
                None => chunks = (chunks * 2).min(left.len()),
            }
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
        let durable = self.plan.durable_at(log, window);
        let mut shrinking =
            Shrinking { checker: self, durable, number, window, checks: 0, known: BTreeMap::new() };
        let (mut state, come) = shrinking.without_end(planned.state.clone())?;
        shrinking.untear(&mut state, &come)?;
        // The fewest that must be lost, if all else is there.
        let from = state.clone();
        let all = come.iter().copied().filter(|&id| !from.has_whole(log, id)).collect();
        let others = |ids: &[Id]| come.iter().copied().filter(|id| !ids.contains(id)).collect::<Vec<_>>();
        let restored = |lost: &[Id]| whole(log, &from, &others(lost));
        let lost = shrinking.fewest(all, restored)?;
        state = restored(&lost);
        for id in torn(log, &state, &lost) {
            let other = without(&state, &[id]);
            if shrinking.fails(&other)? {
                state = other;
            }
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
        let ended = if last.is_good() || self.commands.is_stopped() { ended } else { &last };
        self.keep(&shrunk, number, ended, &lost, &kept)
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

/// Those of `ids` that are kept in part.
fn torn(log: &Log, state: &State, ids: &[Id]) -> Vec<Id> {
    let is_torn = |id: &&Id| state.kept.contains_key(*id) && !state.has_whole(log, **id);
    ids.iter().filter(is_torn).copied().collect()
}
