//! Which states are checked: some of each shape of window first, then of all windows, none of them twice.

use super::painted::{Painted, Piece};
use super::record::{Record, digest};
use super::states::{Base, State, parts, pieces};
use crate::order::{Id, Log, Place, Window};
use coflash_base::Seed;
use coflash_base::seed::{RandomStream, RngExt};
use rangemap::RangeSet;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Draws that find nothing new, one after another, before those of a window end.
const PATIENCE: usize = 60;
/// Draws of the order in which all of a window lands, or nothing that is open.
const ORDERS: usize = 8;
/// States of a window at a time, once each shape had its share.
const PORTION: usize = 2;

/// What tells a state from others: the numbers of flushes and marks before it, and its content.
pub(crate) type Key = (usize, usize, u64);

/// A planned state.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The number of its window.
    pub window: usize,
    /// What is kept.
    pub state: State,
    /// What is seen of it.
    pub(crate) pieces: Vec<Piece>,
    /// What tells it from others.
    pub(crate) key: Key,
    /// The windows, each the first one of its shape, in which it may be left.
    pub early: BTreeSet<usize>,
}

/// How much of a run is checked.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Coverage {
    /// Parts of the run between two promises.
    pub windows: usize,
    /// Shapes of windows: how many open changes of each kind and size, with FUA or without, came before and since the last promise.
    pub shapes: usize,
    /// Shapes of which a state was checked.
    pub shapes_checked: usize,
    /// The state from which the run recovers, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovers: Option<usize>,
}

/// The plan of the states of a run.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The windows of the run.
    pub windows: Vec<Window>,
    /// What is seen of the changes that each window makes durable.
    pub(crate) durable: Vec<Vec<Piece>>,
    /// The states, in the order of the windows.
    pub states: Vec<Planned>,
    /// The state in which all is kept.
    pub uncut: usize,
    /// How much they are of all.
    pub coverage: Coverage,
}

impl Plan {
    /// Plan the states of a run, with flushes that are added to it: those right after each flush and mark, that at the end, and `points` others.
    pub(crate) fn new(
        record: &Record,
        added: &BTreeSet<Place>,
        unit_bytes: u64,
        points: usize,
        seed: u64,
    ) -> io::Result<Self> {
        let (log, digests, windows) = (&record.log, record.digests()?, record.log.windows(added));
        let mut stream = Seed(seed).stream("points");
        let shapes = Shapes::new(log, &windows);
        let (shares, early) = shapes.shares(points, &mut stream);
        let recovers = record.cut.as_ref().map(|cut| cut.state);
        let coverage =
            Coverage { windows: windows.len(), shapes: shapes.0.len(), shapes_checked: 0, recovers };
        let mut plan = Self { coverage, ..Self::default() };
        let (mut base, mut seen, mut carried) = (Base::default(), BTreeMap::new(), 0);
        let (mut open, mut uncut) = (BTreeSet::new(), 0);
        for (number, window) in windows.iter().enumerate() {
            plan.durable.push(base.advance(log, &digests, window));
            window.advance(log, &mut open);
            let come = window.came.end;
            let mut add = |state: State| {
                let pieces = pieces(&base.painted, log, &state);
                let (content, _) = base.content(log, &digests, &pieces);
                let (next, key) = (plan.states.len(), (window.flushes, window.marks, content));
                let at = *seen.entry(key).or_insert(next);
                if at == next {
                    plan.states.push(Planned { window: number, state, pieces, key, early: BTreeSet::new() });
                }
                plan.states[at].early.extend(early.get(&number));
                (at, at == next)
            };
            if window.is_told {
                add(State::keeping(log, come, []));
            }
            if number + 1 == windows.len() {
                uncut = add(State::keeping(log, come, open.iter().copied())).0;
            }
            let Some(share) = shares.get(&number).filter(|&&share| share > 0) else { continue };
            let wanted = share + std::mem::take(&mut carried);
            let choice =
                Choice { log, come, open: open.iter().copied().collect(), loose: &window.loose, unit_bytes };
            let (mut found, mut draws, mut last) = (0, 0, 0);
            while found < wanted && draws < last + PATIENCE {
                draws += 1;
                if add(choice.draw(draws - 1, &mut stream)).1 {
                    (found, last) = (found + 1, draws);
                }
            }
            carried = wanted.saturating_sub(found);
        }
        Ok(Self { windows, uncut, ..plan })
    }

    /// What is durable before the states of a window, but for a change.
    pub(crate) fn durable_at(&self, log: &Log, window: usize, without: Option<Id>) -> Painted {
        let mut painted = Painted::default();
        let covered = self.windows[..=window].iter().flat_map(|window| &window.covered);
        for &id in covered.filter(|&&id| Some(id) != without) {
            painted.paint(log.entries[id].range(), id, |other| other > id);
        }
        painted
    }
}

/// The shape of a request: its kind, its size up to a power of two, FUA, and whether it overlaps one that was under way with it.
pub(crate) fn shape(log: &Log, id: Id) -> u64 {
    let entry = &log.entries[id];
    digest((entry.kind as u8, entry.length.next_power_of_two(), entry.fua, log.is_rival(id)))
}

/// The windows of a run in which something is open, by their shapes.
struct Shapes(BTreeMap<(u64, u64, usize), Vec<usize>>);

impl Shapes {
    fn new(log: &Log, windows: &[Window]) -> Self {
        // A sum of digests stands for a set, and changes with it.
        let sum = |ids: &[Id]| ids.iter().map(|&id| shape(log, id)).fold(0, u64::wrapping_add);
        let (mut shapes, mut before, mut open) = (BTreeMap::<_, Vec<_>>::new(), 0_u64, 0);
        for (number, window) in windows.iter().enumerate() {
            let came: Vec<_> = window.came.clone().filter(|&id| log.entries[id].is_change()).collect();
            before = before.wrapping_sub(sum(&window.covered));
            open = open + came.len() - window.covered.len();
            if open > 0 || window.loose.len() > 1 {
                shapes.entry((before, sum(&came), window.loose.len())).or_default().push(number);
            }
            before = before.wrapping_add(sum(&came));
        }
        Self(shapes)
    }

    /// Divide points over windows: half of them over the first window of each shape, those of rare shapes first. Returns these windows,
    /// too.
    fn shares(&self, points: usize, stream: &mut RandomStream) -> (BTreeMap<usize, usize>, BTreeSet<usize>) {
        let mut groups: Vec<_> = self.0.values().cloned().collect();
        for group in &mut groups {
            group.sort_by_cached_key(|_| stream.random::<u64>());
        }
        groups.sort_by_cached_key(|group| (group.len(), stream.random::<u64>()));
        let (left, mut shares) = (Cell::new(points), BTreeMap::new());
        let mut give = |number: usize, most: usize| {
            let more = most.min(left.get());
            left.set(left.get() - more);
            *shares.entry(number).or_default() += more;
            more > 0
        };
        let first = (points / 2).div_ceil(groups.len().max(1)).max(1);
        let early = groups.iter().map(|group| group[0]).filter(|&number| give(number, first)).collect();
        let longest = groups.iter().map(Vec::len).max().unwrap_or_default();
        let rounds = (0..longest).flat_map(|round| groups.iter().filter_map(move |group| group.get(round)));
        let visits: Vec<_> = rounds.copied().collect();
        let rounds = left.get() / PORTION / visits.len().max(1);
        visits.iter().for_each(|&number| _ = give(number, rounds * PORTION));
        visits.iter().for_each(|&number| _ = give(number, PORTION));
        (shares, early)
    }
}

/// The states that a cut at the end of a window may leave.
struct Choice<'a> {
    log: &'a Log,
    come: Id,
    open: Vec<Id>,
    loose: &'a [Id],
    unit_bytes: u64,
}

impl Choice<'_> {
    /// A state whose changes land in a drawn order that the model allows: each between its arrival and its answer.
    fn turned(&self, state: State, stream: &mut RandomStream) -> State {
        let mut order: Vec<_> = self.loose.iter().chain(&self.open).copied().collect();
        order.retain(|&id| id < state.come);
        order.sort_by_cached_key(|&id| {
            let entry = &self.log.entries[id];
            let answered = entry.answered.map_or(usize::MAX, |answered| answered.event);
            stream.random_range(entry.arrived.event..=answered)
        });
        state.landing(self.log, order, self.loose)
    }

    /// The state of this number: first others of the order, then each change lost or kept alone, and every second time any state.
    fn draw(&self, number: usize, stream: &mut RandomStream) -> State {
        let keeping = |ids: Vec<Id>| State::keeping(self.log, self.come, ids);
        let at = number.saturating_sub(ORDERS) / 2;
        match self.open.iter().rev().nth(at / 2).filter(|_| number.is_multiple_of(2)) {
            _ if number < ORDERS / 2 || self.open.is_empty() => self.turned(keeping(Vec::new()), stream),
            _ if number < ORDERS => self.turned(keeping(self.open.clone()), stream),
            Some(one) if at.is_multiple_of(2) => {
                keeping(self.open.iter().copied().filter(|id| id != one).collect())
            }
            Some(&one) => keeping(vec![one]),
            None => self.any(stream),
        }
    }

    /// Any state.
    fn any(&self, stream: &mut RandomStream) -> State {
        let (log, open) = (self.log, &self.open);
        let come = if stream.random() { open.len() } else { stream.random_range(1..=open.len()) };
        let (open, come) = (&open[..come], if come == open.len() { self.come } else { open[come] });
        let one = open[stream.random_range(0..open.len())];
        let share = [0.25, 0.5, 0.75][stream.random_range(0..3)];
        let kind = stream.random_range(0..4);
        let is_kept = |id: &Id| match kind {
            0 => *id != one,
            1 => *id == one,
            _ => stream.random_bool(share),
        };
        let kept: Vec<_> = open.iter().copied().filter(is_kept).collect();
        let mut state = State::keeping(log, come, kept);
        // A torn request: a first or a last part of it, or some parts.
        let chance = [0.0, 0.0, 0.25, 1.0][stream.random_range(0..4)];
        for &id in open {
            let is_torn = if id == one { chance > 0.0 } else { stream.random_bool(chance * share) };
            let parts = if is_torn { parts(log, id, self.unit_bytes) } else { Vec::new() };
            if parts.len() < 2 {
                continue;
            }
            let at = stream.random_range(1..parts.len());
            let kept = match stream.random_range(0..4) {
                0 => parts[..at].to_vec(),
                1 => parts[at..].to_vec(),
                _ => parts.into_iter().filter(|_| stream.random_bool(share)).collect(),
            };
            if kept.is_empty() {
                state.kept.remove(&id);
            } else {
                // Adjacent ones are one.
                state.kept.insert(id, RangeSet::from_iter(kept).into_iter().collect());
            }
        }
        if stream.random_bool(0.25) { self.turned(state, stream) } else { state }
    }
}
