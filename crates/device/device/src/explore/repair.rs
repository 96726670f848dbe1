//! A repair of a run: flushes that its client should have sent, proved by planning again.
//!
//! A program is mended at a place of its code, to which a run comes many times. So flushes are added at all places of a kind: between the
//! same kinds of requests, or marks. The wrong states that were found say which kinds may be enough: what a flush covers is not lost. With
//! these the states of the run are planned again, and checked.

use super::Exploring;
use super::failure::Failed;
use super::plan::{Plan, Planned, shape};
use super::record::Record;
use crate::folder::DeviceError;
use crate::lock::lock;
use crate::order::{Id, Log, Place, Window};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// A repair of a run, or that none was found.
#[derive(Clone, Debug, Serialize)]
pub struct Repair {
    /// The flushes to be added: each by the number of the request before it, and that of its device; none if no repair was proved.
    pub flushes: Vec<Place>,
    /// The repair in words.
    pub story: String,
}

/// The checks for a repair are twice as many as the run has states, or this number twice.
const CHECKS_MIN: usize = 100;
/// Flushes of a repair that are told.
const TOLD: usize = 4;

/// A wrong state: what it has lost, and the number of events before the cut.
struct Wrong {
    cut: usize,
    lost: Vec<Id>,
}

impl Wrong {
    fn of(log: &Log, windows: &[Window], planned: &Planned) -> Self {
        let (windows, state) = (&windows[..=planned.window], &planned.state);
        let arrived = state.kept.keys().map(|&id| log.entries[id].arrived.event + 1).max();
        let cut = windows[planned.window].begin.max(arrived.unwrap_or_default());
        let lost = log.open(windows).into_iter().filter(|&id| !state.has_whole(log, id)).collect();
        Self { cut, lost }
    }

    /// Whether a flush at some places prevents it: it covers something that is lost.
    fn is_prevented(&self, log: &Log, places: &BTreeSet<Place>) -> bool {
        self.lost.iter().map(|&id| &log.entries[id]).any(|entry| {
            let answered = entry.answered_well().filter(|&answered| answered < self.cut);
            let between = answered.map(|answered| places.range((answered + 1, 0)..(self.cut, 0)));
            between.into_iter().flatten().any(|&(_, device)| device == entry.device)
        })
    }
}

/// Why no flush prevents a failure.
fn why(failed: &Failed) -> &'static str {
    if failed.lost.iter().any(|request| !request.torn.is_empty()) {
        "a request is torn, which a checksum or a copy must tell from a whole one"
    } else if failed.reordered {
        "of two requests that were under way together one must wait for the answer to the other"
    } else {
        "a request comes too late, or its answer is not waited for"
    }
}

/// The places where a flush covers something, by kinds: the device, and what comes before and after.
fn kinds(log: &Log, devices: usize) -> Vec<BTreeSet<Place>> {
    let arrivals = (0..log.entries.len()).map(|id| (log.entries[id].arrived.event, shape(log, id)));
    let mut moments: Vec<_> = arrivals.chain(log.marks.iter().map(|mark| (mark.at.event, 0))).collect();
    moments.sort_unstable();
    let around = moments.windows(2).map(|pair| (pair[1].0, (pair[0].1, pair[1].1)));
    let around: BTreeMap<_, _> = around.collect();
    let everywhere = around.keys().flat_map(|&event| (0..devices).map(move |device| (event, device)));
    let mut kinds = BTreeMap::<_, BTreeSet<Place>>::new();
    for (event, device) in log.windows_with(&everywhere.collect()).iter().filter_map(|window| window.added) {
        kinds.entry((device, around[&event])).or_default().insert((event, device));
    }
    kinds.into_values().collect()
}

/// A place by the number of the request before it, and that of its device.
fn numbers(log: &Log, &(event, device): &Place) -> Place {
    (log.entries.partition_point(|entry| entry.arrived.event < event), device + 1)
}

/// Flushes in words.
fn told(flushes: &[Place], devices: usize) -> String {
    let each = |&(before, device): &Place| {
        let of = if devices > 1 { format!(" of device {device}") } else { String::new() };
        format!("{before} and {}{of}", before + 1)
    };
    let first: Vec<_> = flushes.iter().take(TOLD).map(each).collect();
    let more = flushes.len() - first.len();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("a flush between requests {}{more}", first.join(", "))
}

impl Exploring<'_> {
    /// Look for the cheapest repair of a run: the fewest kinds of places, and of equal ones the fewest flushes, with which no state is
    /// wrong. The first state of the run has the number `first`.
    pub(super) fn repair(
        &self,
        (records, run, plan): (&[Record], usize, &Plan),
        (first, wrong): (usize, &BTreeSet<usize>),
        failures: &[Failed],
        report: &mut dyn FnMut() -> bool,
    ) -> Result<Repair, DeviceError> {
        let (record, log) = (&records[run], &records[run].log);
        let states = (first..).zip(&plan.states);
        let (bad, good): (Vec<_>, Vec<_>) = states.partition(|(number, _)| wrong.contains(number));
        let mut known: Vec<_> = bad.iter().map(|(_, state)| Wrong::of(log, &plan.windows, state)).collect();
        let right = Mutex::new(good.iter().map(|(_, state)| state.key).collect::<BTreeSet<_>>());
        let devices = self.plan.devices(u64::MAX).len();
        let kinds = &kinds(log, devices);
        let everywhere = kinds.iter().flatten().copied().collect();
        let stays = |(_, state): &(_, &Wrong)| !state.is_prevented(log, &everywhere);
        let staying: Vec<_> = bad.iter().zip(&known).filter(stays).map(|((number, _), _)| *number).collect();
        if let Some(one) = staying.first() {
            let failed = failures.iter().find(|failed| staying.contains(&failed.state));
            let (one, why) = failed.map_or((*one, ""), |failed| (failed.state, why(failed)));
            let story = format!("no flush mends it: one between any two requests leaves state {one}: {why}");
            return Ok(Repair { flushes: Vec::new(), story });
        }
        let pairs = (0..kinds.len()).flat_map(|at| kinds[..at].iter().map(move |one| (2, one | &kinds[at])));
        let mut candidates: Vec<_> = kinds.iter().map(|one| (1, one.clone())).chain(pairs).collect();
        candidates.sort_by_key(|(kinds, flushes)| (*kinds, flushes.len()));
        let checks_max = 2 * plan.states.len().max(CHECKS_MIN);
        for (_, flushes) in candidates {
            if !known.iter().all(|state| state.is_prevented(log, &flushes)) {
                continue;
            }
            let again = self.plan_of(record, &flushes)?;
            let is_new = |&at: &usize| !lock(&right).contains(&again.states[at].key);
            let checks = lock(&right).len() + known.len() - plan.states.len();
            let asked = (0..again.states.len()).filter(is_new).take(checks_max.saturating_sub(checks));
            let (asked, found) = (asked.collect::<Vec<_>>(), Mutex::new(None));
            self.on_states((records, run, &again), &asked, report, |checker, at, planned| {
                if lock(&found).is_some() {
                    return Ok(());
                }
                if checker.check(planned, first + plan.states.len() + at)?.is_good {
                    lock(&right).insert(planned.key);
                } else if !self.commands.is_stopped() {
                    *lock(&found) = Some(at);
                }
                Ok(())
            })?;
            if let Some(at) = *lock(&found) {
                known.push(Wrong::of(log, &again.windows, &again.states[at]));
                continue;
            }
            let flushes: Vec<_> = flushes.iter().map(|place| numbers(log, place)).collect();
            let told = told(&flushes, devices);
            let (all, left) = (again.states.len(), (0..again.states.len()).filter(is_new).count());
            if left > 0 {
                let story =
                    format!("{told} may mend it: {left} of {all} states of the run with it are not checked");
                return Ok(Repair { flushes: Vec::new(), story });
            }
            let (bad, seed) = (bad.len(), self.plan.seed);
            let story = format!(
                "{told} makes all {bad} wrong states right: of {all} that seed {seed} draws with it none is wrong"
            );
            return Ok(Repair { flushes, story });
        }
        Ok(Repair { flushes: Vec::new(), story: "flushes at two kinds of places do not mend it".to_owned() })
    }
}
