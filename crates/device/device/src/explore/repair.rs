//! A repair of a program: flushes that it should have sent, proved by planning its runs again.
//!
//! A program is mended at a place of its code, to which its runs come many times. So flushes are added at all places of a kind: before,
//! after or between requests of a shape, or those to one place of the device. The wrong states that were found say which kinds may be
//! enough: what a flush covers is not lost. With these the states of all runs of the program are planned again, and checked.

use super::Exploring;
use super::failure::{Failed, kind_in_words};
use super::plan::{Key, Plan, Planned, shape};
use super::record::Record;
use crate::folder::DeviceError;
use crate::lock::lock;
use crate::order::{Entry, Id, Log, Place, Window};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// A repair of a program, or that none was found.
#[derive(Clone, Debug, Serialize)]
pub struct Repair {
    /// The flushes to be added to one of its runs: each by the number of the request before it, and that of its device; none if no
    /// repair was proved.
    pub flushes: Vec<Place>,
    /// The state from which that run recovers, if it does.
    pub recovers: Option<usize>,
    /// The repair in words.
    pub story: String,
}

/// A run whose states were checked.
pub(super) struct Checked<'a> {
    pub record: usize,
    pub plan: &'a Plan,
    /// The number of its first state.
    pub first: usize,
}

/// The checks for a repair are twice as many as the runs have states, or this number twice.
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
    if failed.is_without_loss() {
        "it fails with nothing lost"
    } else if failed.lost.iter().any(|request| !request.torn.is_empty()) {
        "a request is torn, which a checksum or a copy must tell from a whole one"
    } else if failed.reordered {
        "of two requests that were under way together one must wait for the answer to the other"
    } else {
        "a request comes too late, or its answer is not waited for"
    }
}

/// What comes before or after a flush, as far as a kind tells it: nothing, a shape, or a shape and its offset. A mark has the shape 0.
type Side = Option<(u64, Option<u64>)>;

/// The places of a kind, in each run: where a flush covers something.
struct Kind {
    places: Vec<BTreeSet<Place>>,
    device: usize,
    before: Side,
    after: Side,
}

impl Kind {
    fn flushes(&self) -> usize {
        self.places.iter().map(BTreeSet::len).sum()
    }

    fn tells(&self, offset: bool) -> usize {
        let sides = [self.before, self.after].into_iter().flatten();
        sides.filter(|side| !offset || side.1.is_some()).count()
    }

    /// Tell them in words; `named` names a shape.
    fn words(&self, named: impl Fn(u64) -> String, begins: &[u64]) -> String {
        let side = |(shape, offset): (u64, Option<u64>)| {
            let begin = begins.iter().rfind(|&&begin| Some(begin) <= offset).copied().unwrap_or_default();
            let place = offset.map(|offset| format!(" at {}", offset - begin));
            format!("{}{}", named(shape), place.unwrap_or_default())
        };
        let of = if begins.len() > 1 { format!("of device {} ", self.device + 1) } else { String::new() };
        match (self.before.map(side), self.after.map(side)) {
            (Some(before), Some(after)) => format!("{of}between a {before} and a {after}"),
            (Some(one), None) => format!("{of}after each {one}"),
            (_, one) => format!("{of}before each {}", one.unwrap_or_default()),
        }
    }
}

/// All kinds of places of some runs, without those that have the places of a plainer one.
fn kinds(logs: &[&Log], devices: usize) -> Vec<Kind> {
    let moments = |log: &&Log| {
        let entries = log.entries.iter().enumerate();
        let requests = entries.map(|(id, entry)| (entry.arrived.event, (shape(log, id), entry.offset)));
        let marks = log.marks.iter().map(|mark| (mark.at.event, (0, 0)));
        let mut moments: Vec<_> = requests.chain(marks).collect();
        moments.sort_unstable();
        moments
    };
    let moments: Vec<_> = logs.iter().map(moments).collect();
    let mut times = BTreeMap::<_, usize>::new();
    moments.iter().flatten().for_each(|&(_, request)| *times.entry(request).or_default() += 1);
    // An offset that comes once tells no place of the code.
    let sides = |(shape, offset): (u64, u64)| -> Vec<Side> {
        let place = (shape != 0 && times[&(shape, offset)] > 1).then_some(Some((shape, Some(offset))));
        [None, Some((shape, None))].into_iter().chain(place).collect()
    };
    let mut kinds = BTreeMap::<(usize, Side, Side), Vec<BTreeSet<Place>>>::new();
    for (run, (log, moments)) in logs.iter().zip(&moments).enumerate() {
        let around: BTreeMap<_, _> =
            moments.windows(2).map(|pair| (pair[1].0, (pair[0].1, pair[1].1))).collect();
        let everywhere = around.keys().flat_map(|&event| (0..devices).map(move |device| (event, device)));
        let windows = log.windows(&everywhere.collect());
        for (event, device) in windows.iter().filter_map(|window| window.added) {
            let (before, after) = around[&event];
            for before in sides(before) {
                for after in sides(after).into_iter().filter(|after| before.or(*after).is_some()) {
                    let places = kinds.entry((device, before, after)).or_default();
                    places.resize(logs.len(), BTreeSet::new());
                    places[run].insert((event, device));
                }
            }
        }
    }
    let kinds = kinds.into_iter();
    let kinds = kinds.map(|((device, before, after), places)| Kind { places, device, before, after });
    let mut kinds: Vec<_> = kinds.collect();
    kinds.sort_by_key(|kind| Reverse((kind.tells(false), kind.tells(true), kind.before.is_some())));
    let plainest: BTreeMap<_, _> = kinds.into_iter().map(|kind| (kind.places.clone(), kind)).collect();
    plainest.into_values().collect()
}

/// One kind, or two that tell no offset: the fewest kinds first, and of equally many those with the fewest flushes.
fn candidates(kinds: &[Kind]) -> Vec<Vec<&Kind>> {
    let coarse: Vec<_> = kinds.iter().filter(|kind| kind.tells(true) == 0).collect();
    let pairs =
        coarse.iter().enumerate().flat_map(|(at, one)| coarse[..at].iter().map(|&other| vec![other, one]));
    let mut all: Vec<_> = kinds.iter().map(|kind| vec![kind]).chain(pairs).collect();
    all.sort_by_cached_key(|kinds| (kinds.len(), kinds.iter().map(|kind| kind.flushes()).sum::<usize>()));
    all
}

/// A shape in words, by requests that have it.
fn named(logs: &[&Log], wanted: u64) -> String {
    let of_log = |log: &&'_ Log| -> Vec<Entry> {
        let ids = (0..log.entries.len()).filter(|&id| shape(log, id) == wanted);
        ids.map(|id| log.entries[id].clone()).collect()
    };
    let all: Vec<_> = logs.iter().flat_map(of_log).collect();
    let lengths = all.iter().map(|entry| entry.length);
    match (all.first(), lengths.clone().min(), lengths.max()) {
        (Some(entry), Some(0), _) => kind_in_words(entry.kind, entry.fua),
        (Some(entry), Some(least), Some(most)) => {
            let to = if least < most { format!(" to {most}") } else { String::new() };
            format!("{} of {least}{to} bytes", kind_in_words(entry.kind, entry.fua))
        }
        _ => "mark".to_owned(),
    }
}

/// A repair in words, and as it is in the first of the runs that have it.
fn told(
    logs: &[&Log],
    runs: &[Checked<'_>],
    begins: &[u64],
    kinds: &[&Kind],
    places: &[BTreeSet<Place>],
) -> (String, Repair) {
    let at = places.iter().position(|places| !places.is_empty()).expect("a kind has places");
    let number = |&(event, device): &Place| {
        (logs[at].entries.partition_point(|entry| entry.arrived.event < event), device + 1)
    };
    let flushes: Vec<_> = places[at].iter().map(number).collect();
    let recovers = runs[at].plan.coverage.recovers;
    let run = recovers.map_or(String::new(), |state| format!("in the recovery of state {state} "));
    let first = flushes.iter().take(TOLD).map(|(before, _)| format!("{before} and {}", before + 1));
    let first = format!("{run}between requests {}", first.collect::<Vec<_>>().join(", "));
    let words = kinds.iter().map(|kind| kind.words(|shape| named(logs, shape), begins));
    let words = words.collect::<Vec<_>>().join(", and one ");
    let told = match places.iter().map(BTreeSet::len).sum::<usize>() - flushes.len().min(TOLD) {
        0 if flushes.len() == 1 && begins.len() > 1 => {
            format!("a flush of device {} {first}", flushes[0].1)
        }
        0 if flushes.len() == 1 => format!("a flush {first}"),
        0 => format!("a flush {words} ({first})"),
        more => format!("a flush {words} ({first}, and {more} more)"),
    };
    (told, Repair { flushes, recovers, story: String::new() })
}

/// What the states of a run with added flushes are: one that is wrong, how many there are, and how many are not checked.
struct Tried {
    wrong: Option<Wrong>,
    states: usize,
    unchecked: usize,
}

impl Exploring<'_> {
    /// Check what flushes leave of a run, up to the first state that is wrong, and as far as checks are left. What is right, is added.
    fn with_flushes(
        &self,
        records: &[Record],
        run: &Checked<'_>,
        places: &BTreeSet<Place>,
        (right, checks_left): (&Mutex<BTreeSet<Key>>, &mut usize),
        report: &mut dyn FnMut() -> bool,
    ) -> Result<Tried, DeviceError> {
        let again = self.plan_of(&records[run.record], places)?;
        let is_new = |&state: &usize| !lock(right).contains(&again.states[state].key);
        let new: Vec<_> = (0..again.states.len()).filter(is_new).collect();
        let (asked, wrong) = (&new[..new.len().min(*checks_left)], Mutex::new(None));
        let before = lock(right).len();
        self.on_states((records, run.record, &again), asked, report, |checker, state, planned| {
            if lock(&wrong).is_some() {
                return Ok(());
            }
            if checker.check(planned, run.first + run.plan.states.len() + state)?.is_good {
                lock(right).insert(planned.key);
            } else if !self.commands.is_stopped() {
                *lock(&wrong) = Some(Wrong::of(&records[run.record].log, &again.windows, planned));
            }
            Ok(())
        })?;
        let wrong = wrong.into_inner().expect("no check panics");
        *checks_left = checks_left.saturating_sub(lock(right).len() - before + usize::from(wrong.is_some()));
        Ok(Tried { wrong, states: again.states.len(), unchecked: new.len() - asked.len() })
    }

    /// Look for the cheapest repair of a program: the fewest kinds of places, and of equal ones the fewest flushes, with which no state
    /// of its runs is wrong.
    pub(super) fn repair(
        &self,
        records: &[Record],
        runs: &[Checked<'_>],
        wrong: &BTreeSet<usize>,
        failures: &[Failed],
        report: &mut dyn FnMut() -> bool,
    ) -> Result<Repair, DeviceError> {
        let none = Repair { flushes: Vec::new(), recovers: None, story: String::new() };
        if failures.iter().any(|failed| failed.is_unsteady) {
            return Ok(Repair { story: "none is sought, since the check is unsteady".to_owned(), ..none });
        }
        let logs: Vec<_> = runs.iter().map(|run| &records[run.record].log).collect();
        let begins: Vec<_> = self.plan.devices(u64::MAX).iter().map(|device| device.start).collect();
        let kinds = kinds(&logs, begins.len());
        let (mut known, mut right, mut staying) = (Vec::new(), Vec::new(), Vec::new());
        for (at, run) in runs.iter().enumerate() {
            let everywhere = kinds.iter().flat_map(|kind| &kind.places[at]).copied().collect();
            let (mut bad, mut good) = (Vec::new(), BTreeSet::new());
            for (number, planned) in (run.first..).zip(&run.plan.states) {
                if wrong.contains(&number) {
                    bad.push(Wrong::of(logs[at], &run.plan.windows, planned));
                    let stays = !bad.last().is_some_and(|state| state.is_prevented(logs[at], &everywhere));
                    staying.extend(stays.then_some(number));
                } else {
                    good.insert(planned.key);
                }
            }
            known.push(bad);
            right.push(Mutex::new(good));
        }
        let bad: usize = known.iter().map(Vec::len).sum();
        if let Some(&one) = staying.first() {
            let failed = failures.iter().find(|failed| staying.contains(&failed.state));
            let (one, why) = failed.map_or((one, ""), |failed| (failed.state, why(failed)));
            let story = format!("no flush mends it: one between any two requests leaves state {one}: {why}");
            return Ok(Repair { story, ..none });
        }
        let states: usize = runs.iter().map(|run| run.plan.states.len()).sum();
        let mut checks_left = 2 * states.max(CHECKS_MIN);
        'candidates: for candidate in candidates(&kinds) {
            let places = |run: usize| -> BTreeSet<Place> {
                candidate.iter().flat_map(|kind| &kind.places[run]).copied().collect()
            };
            let places: Vec<_> = (0..runs.len()).map(places).collect();
            let mut each = known.iter().zip(&logs).zip(&places);
            if !each.all(|((known, log), places)| known.iter().all(|state| state.is_prevented(log, places))) {
                continue;
            }
            let (mut all, mut unchecked) = (0, 0);
            for (at, run) in runs.iter().enumerate().filter(|(at, _)| !places[*at].is_empty()) {
                let tried =
                    self.with_flushes(records, run, &places[at], (&right[at], &mut checks_left), report)?;
                if let Some(wrong) = tried.wrong {
                    known[at].push(wrong);
                    continue 'candidates;
                }
                (all, unchecked) = (all + tried.states, unchecked + tried.unchecked);
            }
            let (told, repair) = told(&logs, runs, &begins, &candidate, &places);
            if unchecked > 0 || self.commands.is_stopped() {
                let story =
                    format!("{told} may mend it: {unchecked} of {all} states with it are not checked");
                return Ok(Repair { story, ..none });
            }
            let bad = if bad == 1 { "the wrong state".to_owned() } else { format!("all {bad} wrong states") };
            let seed = self.plan.seed;
            let story =
                format!("{told} makes {bad} right: of {all} that seed {seed} draws with it none is wrong");
            return Ok(Repair { story, ..repair });
        }
        Ok(Repair { story: "flushes at two kinds of places do not mend it".to_owned(), ..none })
    }
}
