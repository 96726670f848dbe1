//! The flows of pages from one window of a trace to another, for the generator `reuse-flows`.

use super::accesses::{Access, Accesses, weights};
use super::ratio;
use coflash_base::{Bytes, Share};
use coflash_workload::synthetic::reuse_flows::{OFTEN, ReuseFlowsConfig};
use coflash_workload::synthetic::size::ByOpConfig;
use std::collections::BTreeMap;

/// The number of windows: more give more exact distances and more parameters.
const WINDOWS: usize = 32;
/// Page accesses that a key has at least if its runs are told apart by length: fewer are not worth another row.
const DIVIDED_MIN: usize = 256;
/// The ranks that are told apart.
const RANKS: usize = 64;
const OPS: usize = 3;
/// The streams of runs: of pages from other windows, and by class of those within.
const STREAMS: usize = 1 + 2 * OPS;

/// Window, operation, window of the previous access, whether there were many, window of the next access, its operation.
type Key = [u32; 6];
/// A key and the class of the lengths of its runs.
type Kind = (Key, u32);

/// What is known of a flow.
#[derive(Default)]
struct Flow {
    runs: u64,
    pages: u64,
    /// Sums of the places in the window, from 0 to 1, and of their squares.
    places: f64,
    squares: f64,
}

/// The generator for the accesses, given the alignment `align` and the sizes of requests to pages accessed before.
pub(super) fn config(accesses: &Accesses, align: u64, reused: ByOpConfig) -> ReuseFlowsConfig {
    let kept = &accesses.kept;
    let windows = WINDOWS.min(kept.len());
    let course = Course::follow(accesses, windows);
    let mut run_classes = course.run_classes().into_iter();
    let (mut flows, mut ranks, mut runs) = (BTreeMap::<Kind, Flow>::new(), Ranks::default(), Runs::default());
    let (mut births, mut distances) = (Births::default(), Distances::default());
    let mut classes = [0; STREAMS];
    for (at, &access) in kept.iter().enumerate() {
        let key = course.key(at);
        let stream = stream(key);
        let begins = runs.add(stream, key, access);
        if begins {
            classes[stream] = run_classes.next().unwrap_or(0);
        }
        let kind = (key, classes[stream]);
        flows.entry(kind).or_default().add(begins, course.place(at));
        if begins && stream == 0 {
            ranks.add(kind);
        }
        if key[0] == key[4] {
            let distance = course.next[at].map_or(1, |after| after as usize - at);
            distances.add(access.op(), key[5] as usize, distance.ilog2() + accesses.sampled_log2);
        }
        if course.previous[at].is_none() {
            births.add(access);
        }
    }
    ReuseFlowsConfig {
        page: Bytes { count: accesses.page_bytes },
        offsets: accesses.offsets(align),
        sequential_share: share(births.requests),
        reused,
        split_runs: runs.split(),
        windows: windows as u32,
        flows: flows.into_iter().map(|((key, _), flow)| flow.row(key, accesses.sampled_log2)).collect(),
        ranks: weights(&ranks.counts),
        within: distances.0.iter().map(|octaves| weights(octaves)).collect(),
    }
}

/// The accesses in windows, and those before and after of the same page.
struct Course<'a> {
    kept: &'a [Access],
    windows: usize,
    previous: Vec<Option<u32>>,
    next: Vec<Option<u32>>,
    /// Accesses to the page before, up to 255.
    uses: Vec<u8>,
}

impl<'a> Course<'a> {
    fn follow(accesses: &'a Accesses, windows: usize) -> Self {
        let (previous, next) = accesses.neighbours();
        let mut uses = vec![0_u8; accesses.kept.len()];
        for (at, before) in previous.iter().enumerate() {
            uses[at] = before.map_or(0, |before| uses[before as usize].saturating_add(1));
        }
        Self { kept: &accesses.kept, windows, previous, next, uses }
    }

    fn window(&self, at: usize) -> usize {
        at * self.windows / self.kept.len()
    }

    /// The place in the window, from 0 to 1.
    fn place(&self, at: usize) -> f64 {
        (at * self.windows % self.kept.len()) as f64 / self.kept.len() as f64
    }

    /// The class of the length of each run, in the order in which runs begin: two octaves each. The lengths in a flow are
    /// geometrically distributed, and a few runs of whole files among many short ones would all become middling ones.
    fn run_classes(&self) -> Vec<u32> {
        let (mut lengths, mut runs, mut latest) = (Vec::<(Key, u32)>::new(), Runs::default(), [0; STREAMS]);
        let mut accesses = BTreeMap::<Key, usize>::new();
        for (at, &access) in self.kept.iter().enumerate() {
            let key = self.key(at);
            let stream = stream(key);
            if runs.add(stream, key, access) {
                latest[stream] = lengths.len();
                lengths.push((key, 0));
            }
            lengths[latest[stream]].1 += 1;
            *accesses.entry(key).or_default() += 1;
        }
        let class =
            |(key, pages): (Key, u32)| if accesses[&key] < DIVIDED_MIN { 0 } else { pages.ilog2() / 2 };
        lengths.into_iter().map(class).collect()
    }

    fn key(&self, at: usize) -> Key {
        let often = usize::from(self.uses[at] >= OFTEN);
        let [from, to] = [self.previous[at], self.next[at]]
            .map(|other| other.map_or(self.windows, |other| self.window(other as usize)));
        let next_op = self.next[at].map_or(0, |after| self.kept[after as usize].op());
        [self.window(at), self.kept[at].op(), from, often, to, next_op].map(|number| number as u32)
    }
}

/// The runs that are told apart: those of pages from other windows, and those within by class.
fn stream([window, op, from, often, ..]: Key) -> usize {
    if from == window { 1 + (op * 2 + often) as usize } else { 0 }
}

impl Flow {
    fn add(&mut self, begins: bool, place: f64) {
        self.runs += u64::from(begins);
        self.pages += 1;
        self.places += place;
        self.squares += place * place;
    }

    fn row(&self, [window, op, from, often, to, next_op]: Key, sampled_log2: u32) -> [u32; 10] {
        let [runs, pages] = [self.runs, self.pages].map(|count| (count << sampled_log2) as u32);
        let mean = self.places / self.pages as f64;
        // The uniform distribution with this variance.
        let half = libm::sqrt((3.0 * (self.squares / self.pages as f64 - mean * mean)).max(0.0));
        let [begin, end] =
            [mean - half, mean + half].map(|place| (place.clamp(0.0, 1.0) * 1000.0 + 0.5) as u32);
        [window, op, from, often, to, next_op, runs, pages, begin, end]
    }
}

/// The latest flow of each stream, and where its runs end.
#[derive(Default)]
struct Runs {
    latest: [Option<Key>; STREAMS],
    before: usize,
    /// Accesses that follow one of the same stream in another request and in the same one: all, and those of another flow.
    all: [u64; 2],
    ended: [u64; 2],
}

impl Runs {
    /// Whether the access begins a run.
    fn add(&mut self, stream: usize, key: Key, access: Access) -> bool {
        let begins = self.latest[stream].replace(key) != Some(key);
        if std::mem::replace(&mut self.before, stream) == stream {
            let place = usize::from(!access.is_first());
            self.all[place] += 1;
            self.ended[place] += u64::from(begins);
        }
        begins
    }

    /// How much rarer runs end inside requests than they would if they ended anywhere.
    fn split(&self) -> Share {
        let [all, ended] = [self.all, self.ended].map(|[between, inside]| share([between, inside]).as_f64());
        Share { ppb: ((ended / all.max(1e-9)).min(1.0) * 1e9) as u64 }
    }
}

/// The places, among the latest flows from other windows, of the flow whose run is next.
struct Ranks {
    counts: Vec<u64>,
    recent: Vec<Kind>,
}

impl Default for Ranks {
    fn default() -> Self {
        let mut counts = vec![0; RANKS];
        counts[RANKS - 1] = 1;
        Self { counts, recent: Vec::new() }
    }
}

impl Ranks {
    fn add(&mut self, kind: Kind) {
        if self.recent.first().is_some_and(|other| other.0[0] != kind.0[0]) {
            self.recent.clear();
        }
        let rank = self.recent.iter().position(|other| *other == kind);
        self.counts[rank.map_or(RANKS - 1, |rank| rank.saturating_sub(1))] += 1;
        self.recent.splice(rank.map_or(0..0, |rank| rank..rank + 1), []);
        self.recent.insert(0, kind);
        self.recent.truncate(RANKS);
    }
}

/// Requests to new pages, those that continue the latest one of their operation apart.
#[derive(Default)]
struct Births {
    requests: [u64; 2],
    /// The page behind the latest one of each operation.
    next: [u64; OPS],
}

impl Births {
    fn add(&mut self, access: Access) {
        let next = std::mem::replace(&mut self.next[access.op()], access.page() + 1);
        if access.is_first() {
            self.requests[usize::from(access.page() == next)] += 1;
        }
    }
}

/// Distances inside a window, by both operations and octave.
#[derive(Default)]
struct Distances([Vec<u64>; OPS * OPS]);

impl Distances {
    fn add(&mut self, op: usize, next_op: usize, octave: u32) {
        let octaves = &mut self.0[op * OPS + next_op];
        octaves.resize(octaves.len().max(octave as usize + 1), 0);
        octaves[octave as usize] += 1;
    }
}

/// The share of the second count.
fn share([others, counted]: [u64; 2]) -> Share {
    ratio(counted, others + counted)
}
