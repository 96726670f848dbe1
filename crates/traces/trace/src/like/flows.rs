//! The flows of pages from one window of a trace to another, for the generator `reuse-flows`.

use super::accesses::Accesses;
use super::ratio;
use coflash_base::Bytes;
use coflash_workload::synthetic::reuse_flows::ReuseFlowsConfig;
use std::collections::BTreeMap;

/// The number of windows: more give more exact distances and more parameters.
const WINDOWS: usize = 32;
/// The pages of a long run. The lengths in a flow are geometrically distributed, and a few runs of whole files among many
/// short ones would all become middling ones.
const LONG_PAGES: u64 = 16;
/// The ranks that are told apart.
const RANKS: usize = 64;
const OPS: usize = 3;
/// The sum of the weights in a configuration.
const WEIGHTS_SUM: f64 = 1e5;

/// Window, operation, window of the previous access, window of the next access, its operation.
type Key = [u32; 5];
/// A key, and whether its runs are long.
type Kind = (Key, bool);

/// The generator for the accesses.
pub(super) fn config(accesses: &Accesses) -> ReuseFlowsConfig {
    let windows = WINDOWS.min(accesses.kept.len());
    let course = Course::follow(accesses, windows);
    let mut flows = BTreeMap::<Kind, Flow>::new();
    let mut ranks = Ranks { counts: vec![0; RANKS], recent: Vec::new() };
    for run in &course.runs {
        let kind = (run.key, run.pages >= LONG_PAGES);
        let flow = flows.entry(kind).or_insert(Flow { runs: 0, pages: 0, begin: run.place, end: 0.0 });
        flow.runs += 1;
        flow.pages += run.pages;
        flow.end = run.place;
        if run.key[2] != run.key[0] {
            ranks.add(kind);
        }
    }
    ReuseFlowsConfig {
        page: Bytes { count: accesses.page_bytes },
        aligned_share: ratio(accesses.aligned, accesses.aligned + accesses.unaligned),
        windows: windows as u32,
        flows: flows.into_iter().map(|((key, _), flow)| flow.row(key, accesses.sampled_log2)).collect(),
        ranks: weights(&ranks.counts),
        within: weights(&course.distances),
    }
}

/// Accesses after one another of the same flow.
struct Run {
    key: Key,
    /// The place in the window, from 0 to 1.
    place: f64,
    pages: u64,
}

/// The course of a trace.
struct Course {
    runs: Vec<Run>,
    /// Distances inside a window, by octave.
    distances: Vec<u64>,
}

impl Course {
    fn follow(accesses: &Accesses, windows: usize) -> Self {
        let (previous, next) = accesses.neighbours();
        let all = accesses.kept.len();
        let window = |at: usize| (at * windows / all) as u32;
        let mut course = Self { runs: Vec::new(), distances: vec![1] };
        // The latest run of pages from other windows, and those within by operation.
        let mut latest = [usize::MAX; 1 + OPS];
        for (at, access) in accesses.kept.iter().enumerate() {
            let op = access.op();
            let [from, to] = [previous[at], next[at]]
                .map(|other| other.map_or(windows as u32, |other| window(other as usize)));
            let next_op = next[at].map_or(0, |after| accesses.kept[after as usize].op());
            let key = [window(at), op as u32, from, to, next_op as u32];
            let latest = &mut latest[if from == key[0] { 1 + op } else { 0 }];
            match course.runs.get_mut(*latest) {
                Some(run) if run.key == key => run.pages += 1,
                _ => {
                    *latest = course.runs.len();
                    let place = (at * windows % all) as f64 / all as f64;
                    course.runs.push(Run { key, place, pages: 1 });
                }
            }
            if let (true, Some(after)) = (to == key[0], next[at]) {
                let octave = ((after as usize - at).ilog2() + accesses.sampled_log2) as usize;
                course.distances.resize(course.distances.len().max(octave + 1), 0);
                course.distances[octave] += 1;
            }
        }
        course
    }
}

/// What is known of a flow.
struct Flow {
    runs: u64,
    pages: u64,
    /// The places of the first run and of the last one.
    begin: f64,
    end: f64,
}

impl Flow {
    fn row(&self, [window, op, from, to, next_op]: Key, sampled_log2: u32) -> [u32; 9] {
        let [runs, pages] = [self.runs, self.pages].map(|count| (count << sampled_log2) as u32);
        let [begin, end] = [self.begin, self.end].map(|place| (place * 1000.0) as u32);
        [window, op, from, to, next_op, runs, pages, begin, end]
    }
}

/// The places, among the latest flows from other windows, of the flow whose run is next.
struct Ranks {
    counts: Vec<u64>,
    recent: Vec<Kind>,
}

impl Ranks {
    fn add(&mut self, kind: Kind) {
        if self.recent.first().is_some_and(|other| other.0[0] != kind.0[0]) {
            self.recent.clear();
        }
        let rank = self.recent.iter().position(|other| *other == kind);
        self.counts[rank.map_or(RANKS - 1, |rank| rank.saturating_sub(1))] += 1;
        self.recent.retain(|other| *other != kind);
        self.recent.insert(0, kind);
        self.recent.truncate(RANKS);
    }
}

/// Weights in proportion to counts; a count above 0 has a weight above 0.
fn weights(counts: &[u64]) -> Vec<u32> {
    let all = counts.iter().sum::<u64>() as f64;
    counts.iter().map(|&count| (count as f64 / all * WEIGHTS_SUM + 0.999) as u32).collect()
}
