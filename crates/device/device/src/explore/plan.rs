//! Which states are checked: of small windows all, of larger ones some that are drawn, none of them twice.

use super::painted::{Painted, Piece};
use super::record::Record;
use super::states::{Base, State, parts, pieces};
use crate::order::{Id, Log, Window};
use coflash_base::Seed;
use coflash_base::seed::{RandomStream, RngExt};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

/// The most parts, or open changes, of a small window: each subset of them is a state.
const SMALL: usize = 6;
/// Draws that find nothing new, for each that is wanted, before the drawing ends.
const PATIENCE: usize = 20;

/// A planned state.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The number of its window.
    pub window: usize,
    /// What is kept.
    pub state: State,
    /// What is seen of it.
    pub(crate) pieces: Vec<Piece>,
}

/// How much of a run is checked.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Coverage {
    /// Parts of the run between two promises.
    pub windows: usize,
    /// Those of which each state is checked.
    pub exhausted: usize,
    /// Those of which each state without torn requests is checked.
    pub exhausted_untorn: usize,
    /// The least number of possible states, as a power of two.
    pub possible_log2: f64,
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
    /// How much they are of all.
    pub coverage: Coverage,
}

impl Plan {
    /// Plan the states of a run: those right after each flush and mark, that at the end, and `points` others.
    pub(crate) fn new(record: &Record, unit_bytes: u64, points: u32, seed: u64) -> io::Result<Self> {
        let (log, digests, windows) = (&record.log, record.digests()?, record.log.windows());
        let last = windows.len() - 1;
        let small: Vec<_> =
            windows.iter().map(|window| Small::enumerate(log, &window.open, unit_bytes)).collect();
        let is_torn = |number: usize| small[number].as_ref().is_some_and(|small| small.torn);
        // Some points are for larger windows, and for torn requests.
        let for_larger = if (0..windows.len()).all(is_torn) { 0 } else { points as usize / 3 };
        let mut left = points as usize - for_larger;
        let sizes =
            small.iter().enumerate().filter_map(|(number, small)| Some((small.as_ref()?.size(), number)));
        let mut by_size: Vec<_> = sizes.collect();
        by_size.sort_unstable();
        let mut enumerated = BTreeSet::new();
        for (size, number) in by_size {
            if size - 1 > left {
                break;
            }
            left -= size - 1;
            enumerated.insert(number);
        }
        let has_more = |number: usize| !(is_torn(number) && enumerated.contains(&number));
        let mut stream = Seed(seed).stream("points");
        let left = left + for_larger;
        let weight = |number: usize| if has_more(number) { windows[number].open.len() } else { 0 };
        let shares = shares(left, windows.len(), weight, &mut stream);

        let mut plan = Self { coverage: Coverage::count(log, &windows, unit_bytes), ..Self::default() };
        let (mut base, mut seen, mut carried) = (Base::default(), BTreeSet::new(), 0);
        for (number, window) in windows.iter().enumerate() {
            plan.durable.push(base.advance(log, &digests, window));
            let mut add = |state: State| {
                let pieces = pieces(&base.painted, log, &state);
                let (content, _) = base.content(log, &digests, &pieces);
                let is_new = seen.insert((window.flushes, window.marks, content));
                if is_new {
                    plan.states.push(Planned { window: number, state, pieces });
                }
                is_new
            };
            if window.is_told {
                add(State::keeping(log, &window.open, |_| false));
            }
            if number == last {
                add(State::keeping(log, &window.open, |_| true));
            }
            if let Some(small) = small[number].as_ref().filter(|_| enumerated.contains(&number)) {
                let found: usize = small.states().map(|state| usize::from(add(state))).sum();
                carried += (small.size() - 1).saturating_sub(found);
                plan.coverage.exhausted += usize::from(small.torn);
                plan.coverage.exhausted_untorn += usize::from(!small.torn);
            }
            let wanted = if has_more(number) { shares[number] + std::mem::take(&mut carried) } else { 0 };
            let (mut found, mut tries) = (0, wanted * PATIENCE);
            while found < wanted && tries > 0 && !window.open.is_empty() {
                found += usize::from(add(draw(log, &window.open, unit_bytes, &mut stream)));
                tries -= 1;
            }
            carried += wanted - found;
        }
        plan.windows = windows;
        Ok(plan)
    }

    /// What is durable before the states of a window.
    pub(crate) fn durable_at(&self, log: &Log, window: usize) -> Painted {
        let mut painted = Painted::default();
        for &id in self.windows[..=window].iter().flat_map(|window| &window.covered) {
            let entry = &log.entries[id];
            painted.paint(entry.range(), entry.turn, id);
        }
        painted
    }
}

/// Divide points over windows by their weights.
fn shares(
    points: usize,
    windows: usize,
    weight: impl Fn(usize) -> usize,
    stream: &mut RandomStream,
) -> Vec<usize> {
    let mut ends = Vec::with_capacity(windows);
    let total = (0..windows).fold(0, |sum, number| {
        ends.push(sum + weight(number));
        sum + weight(number)
    });
    let mut shares = vec![0; windows];
    for _ in 0..if total > 0 { points } else { 0 } {
        let drawn = stream.random_range(0..total);
        shares[ends.partition_point(|&end| end <= drawn)] += 1;
    }
    shares
}

/// The open changes of a small window: each subset of their parts is a state.
struct Small {
    parts: Vec<(Id, Range<u64>)>,
    /// The allowed orders that differ most.
    orders: Vec<Vec<Id>>,
    /// Whether these are the atomic parts, or whole changes.
    torn: bool,
}

impl Small {
    fn enumerate(log: &Log, open: &[Id], unit_bytes: u64) -> Option<Self> {
        if open.len() > SMALL {
            return None;
        }
        let parts_of = |unit_bytes| {
            let parts = open
                .iter()
                .flat_map(|&id| parts(log, id, unit_bytes).into_iter().map(move |part| (id, part)));
            parts.take(SMALL + 1).collect::<Vec<_>>()
        };
        let mut parts = parts_of(unit_bytes);
        let torn = parts.len() <= SMALL;
        if !torn {
            let whole = |&id: &Id| (id, log.entries[id].range());
            parts = open.iter().map(whole).collect();
        }
        let mut orders = vec![in_service(log, open), turned_round(log, open)];
        orders.dedup();
        Some(Self { parts, orders, torn })
    }

    fn size(&self) -> usize {
        self.orders.len() << self.parts.len()
    }

    fn states(&self) -> impl Iterator<Item = State> + '_ {
        self.orders.iter().flat_map(|order| {
            (0..1_u32 << self.parts.len()).map(|subset| {
                let mut kept = BTreeMap::<Id, Vec<_>>::new();
                for (number, (id, part)) in self.parts.iter().enumerate() {
                    if subset >> number & 1 == 1 {
                        kept.entry(*id).or_default().push(part.clone());
                    }
                }
                State { order: order.clone(), kept: kept.into_iter().map(joined).collect() }
            })
        })
    }
}

/// Join adjacent ranges, so that a whole change is one.
fn joined((id, parts): (Id, Vec<Range<u64>>)) -> (Id, Vec<Range<u64>>) {
    let mut all = Vec::<Range<u64>>::new();
    for part in parts {
        match all.last_mut() {
            Some(before) if before.end == part.start => before.end = part.end,
            _ => all.push(part),
        }
    }
    (id, all)
}

/// The order of service.
pub(crate) fn in_service(log: &Log, open: &[Id]) -> Vec<Id> {
    let mut order = open.to_vec();
    order.sort_by_key(|&id| log.entries[id].turn);
    order
}

/// The order of service, turned round as far as the model allows.
fn turned_round(log: &Log, open: &[Id]) -> Vec<Id> {
    let (mut left, mut order) = (in_service(log, open), Vec::new());
    let is_next =
        |left: &[Id], id: Id| !left.iter().any(|&other| log.entries[id].is_after(&log.entries[other]));
    while let Some(next) = left.iter().rposition(|&id| is_next(&left, id)) {
        order.push(left.remove(next));
    }
    order
}

/// Draw an order that the model allows: each change lands between its arrival and its answer.
fn landed(log: &Log, open: &[Id], stream: &mut RandomStream) -> Vec<Id> {
    let mut order: Vec<_> = open.to_vec();
    order.sort_by_cached_key(|&id| {
        let entry = &log.entries[id];
        stream
            .random_range(entry.arrived.event..=entry.answered.map_or(usize::MAX, |answered| answered.event))
    });
    order
}

/// Draw a state of a window.
fn draw(log: &Log, open: &[Id], unit_bytes: u64, stream: &mut RandomStream) -> State {
    let come = if stream.random() { open.len() } else { stream.random_range(1..=open.len()) };
    let open = &open[..come];
    let one = open[stream.random_range(0..open.len())];
    let share = [0.25, 0.5, 0.75][stream.random_range(0..3)];
    let order = if stream.random_bool(0.25) { landed(log, open, stream) } else { in_service(log, open) };
    let mut state = match stream.random_range(0..4) {
        0 => State::keeping(log, &order, |id| id != one),
        1 => State::keeping(log, &order, |id| id == one),
        _ => State::keeping(log, &order, |_| stream.random_bool(share)),
    };
    // A torn request: a first or a last part of it, or some parts.
    let chance = [0.0, 0.0, 0.25, 1.0][stream.random_range(0..4)];
    for &id in &order {
        let is_torn = if id == one { chance > 0.0 } else { stream.random_bool(chance * share) };
        let parts = if is_torn { parts(log, id, unit_bytes) } else { Vec::new() };
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
            state.kept.extend([joined((id, kept))]);
        }
    }
    state
}

impl Coverage {
    fn count(log: &Log, windows: &[Window], unit_bytes: u64) -> Self {
        // Windows that promise the same may share states: the largest of them counts.
        let mut largest = BTreeMap::<(usize, usize), f64>::new();
        for window in windows {
            let most = largest.entry((window.flushes, window.marks)).or_default();
            *most = most.max(possible_log2(log, &window.open, unit_bytes));
        }
        let most = largest.values().copied().fold(0.0, f64::max);
        let sum: f64 = largest.values().map(|log2| libm::exp2(log2 - most)).sum();
        Self { windows: windows.len(), possible_log2: most + libm::log2(sum), ..Self::default() }
    }
}

/// The least number of states of the open changes, as a power of two: in each unit one of them is seen, or none.
fn possible_log2(log: &Log, open: &[Id], unit_bytes: u64) -> f64 {
    let mut steps = BTreeMap::<u64, i64>::new();
    for &id in open {
        let entry = &log.entries[id];
        *steps.entry(entry.offset / unit_bytes).or_default() += 1;
        *steps.entry(entry.end().div_ceil(unit_bytes)).or_default() -= 1;
    }
    let (mut log2, mut there, mut from) = (0.0, 0, 0);
    for (unit, step) in steps {
        log2 += libm::log2((there + 1) as f64) * (unit - from) as f64;
        (there, from) = (there + step, unit);
    }
    log2
}
