//! Pages in the order of their use: what a trace used in one part of its course, it uses again in another.
//!
//! The course of a workload is divided into windows of as many page accesses each. A *flow* has the pages that are
//! accessed in one window and were accessed last in an earlier one (or never before, or in this one), and that are
//! accessed next in a later one (or never again, or in this one). Pages that were accessed one after another are mostly
//! accessed again one after another, so each flow is a queue: first in, first out. This keeps which pages are written
//! together, and so which flash blocks are overwritten as a whole, and the reuse distances. Inside a window, pages are
//! accessed again after a distance drawn from a distribution.
//!
//! Flows alternate in runs of pages. The next run is one of a flow that had one lately, by a distribution of ranks, or
//! else of the flow whose time in the window has come; the length of runs is geometrically distributed. The requests are
//! reads, writes and trims as the flows say, whatever the shares of operations are. Their sizes are drawn: those to new
//! pages from the sizes of the workload, the others from `reused`. A request has the next page of a flow and those around it
//! that wait for the same operation in this window; what is missing is added to the next request, so that requests have the
//! mean size given. After the last window the course begins again, and new pages are those that were new in it before.
//!
//! Source: ours, after the LRU stack model with positions in place of distances: Spirn, "Program behavior: models and
//! measurements" (1977); move-to-front ranks as in Bentley et al., "A locally adaptive data compression scheme" (1986).
//! Cost: O(log n) per page and the number of flows of a window for some runs; 29 bytes per page.

mod births;
mod config;
mod waiting;

use super::draw::{self, AliasTable};
use super::size::ByOp;
use super::{AddressPolicy, PlacedRequest, RequestSizes, SizePolicy, Space};
use crate::{Op, WorkloadError};
use births::{Births, Place};
use coflash_base::{Policy, RandomStream, Share};
use config::Flow;
pub use config::{ReuseFlowsConfig, WINDOWS_MAX};
use std::ops::RangeInclusive;
use waiting::{Part, Wait, Waiting};

/// The least number of accesses before one of a page that is used often.
pub const OFTEN: u8 = 8;
/// The operations with pages.
const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];
/// The classes by operation and number of accesses.
const CLASSES: usize = OPS.len() * 2;
/// Draws of ranks before another flow is taken.
const TRIES: usize = 16;
/// Where pages come from: the window of their previous access, or the number of windows if there is none; the operation of
/// this access; 1 if they are used often.
type Source = (usize, usize, usize);

/// A run in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    flow: usize,
    pages_left: u64,
    /// The distance to the next access in the window; 0 if it is not drawn yet.
    distance: u64,
}

/// The generator `"reuse-flows"`.
#[derive(Clone)]
pub struct ReuseFlows {
    space_units: u64,
    page_units: u64,
    /// The sizes of requests to pages accessed before, and how many pages requests of each operation are behind them.
    reused: ByOp,
    owed_pages: [u64; OPS.len()],
    /// Whether a run ends in a request.
    splits: AliasTable,
    windows: usize,
    flows: Vec<Flow>,
    /// The flows of each window begin at these indices.
    firsts: Vec<usize>,
    /// Runs and pages that are left of the flows of this window.
    left: Vec<(u64, u64)>,
    ranks: AliasTable,
    /// The index in `ranks` of other flows.
    others: usize,
    within: Vec<Option<AliasTable>>,
    window: usize,
    is_first_round: bool,
    /// Page accesses so far, and at the end of the window.
    clock: u64,
    window_end: u64,
    /// The flows with the latest runs, the last one first.
    recent: Vec<usize>,
    /// The run of each source, and the source of the latest run of a flow from another window.
    runs: Vec<Run>,
    main: usize,
    /// The pages that are left of the new ones of this window, by operation.
    new_left: [u64; OPS.len()],
    waiting: Waiting,
    births: Births,
    /// The new pages of the requests of each window and operation, and how many requests were repeated in this round.
    born: Vec<(Vec<RangeInclusive<u32>>, usize)>,
    /// Accesses of each page, up to 255.
    uses: Vec<u8>,
}

impl Policy for ReuseFlows {
    type Config = ReuseFlowsConfig;
    const SUMMARY: &'static str = "Pages are reused in the order of their last use, as many from each part of the course to each other one as \
         given.";
    const SOURCE: &'static str = "ours, after Spirn, \"Program behavior: models and measurements\" (1977)";
}

impl AddressPolicy for ReuseFlows {
    fn new(config: &ReuseFlowsConfig, space: Space) -> Result<Self, WorkloadError> {
        config.check(space)?;
        let page_units = config.page.count / space.align.count;
        let windows = config.windows as usize;
        let flows: Vec<Flow> = config.flows.iter().copied().map(Flow::new).collect();
        let reused = ByOp::new(&config.reused, config.page.count)
            .map_err(|error| error.with_key(|key| format!("generator.reused{}", &key["size".len()..])))?;
        // A larger space is not used.
        let pages = (space.units / page_units).min(2 * config.pages());
        let mut generator = Self {
            space_units: space.units,
            page_units,
            reused,
            owed_pages: [0; OPS.len()],
            splits: chance(config.split_runs),
            windows,
            firsts: (0..=windows).map(|window| flows.partition_point(|flow| flow.window < window)).collect(),
            flows,
            left: Vec::new(),
            ranks: weighted(&config.ranks).expect("a weight is above 0"),
            others: config.ranks.len() - 1,
            within: config.within.iter().map(|weights| weighted(weights)).collect(),
            window: 0,
            is_first_round: true,
            clock: 0,
            window_end: 0,
            recent: Vec::new(),
            runs: vec![Run::default(); (windows + 1) * CLASSES],
            main: 0,
            new_left: [0; OPS.len()],
            waiting: Waiting::new(pages, page_units, windows * windows * CLASSES),
            births: Births::new(config, page_units, pages),
            born: vec![(Vec::new(), 0); windows * OPS.len()],
            uses: vec![0; pages as usize],
        };
        generator.begin_window();
        Ok(generator)
    }

    fn start(&mut self, _: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        let (_, pages) = self.next(&mut |_| length_units, stream);
        self.waiting.units(&pages).0.min(self.space_units - length_units)
    }

    fn place(&mut self, _: Op, sizes: &mut RequestSizes<'_>, stream: &mut RandomStream) -> PlacedRequest {
        let mut drawn = None;
        let (op, pages) = self.next(&mut |op| drawn.insert(sizes.draw(op)).units, stream);
        let (start, end) = self.waiting.units(&pages);
        let length = drawn.filter(|length| length.units == end - start);
        PlacedRequest { op, start, length: length.unwrap_or_else(|| sizes.of_units(end - start)) }
    }
}

impl ReuseFlows {
    /// The next request; `new_units` draws the length of one to new pages.
    fn next(
        &mut self,
        new_units: &mut dyn FnMut(Op) -> u64,
        stream: &mut RandomStream,
    ) -> (Op, RangeInclusive<u32>) {
        let (op, pages) = loop {
            let timed = self.waiting.next_timed();
            let due = timed.filter(|&(due, ..)| due <= self.clock);
            if due.is_none() && self.continue_main(stream) {
                let flow = self.flows[self.runs[self.main].flow];
                let pages = if flow.from == self.windows {
                    self.new_pages(flow, new_units, stream)
                } else {
                    let (from, op, often) = flow.source();
                    let classes = [often, 1 - often].map(|often| self.queue((from, op, often), self.window));
                    let page = classes.into_iter().find_map(|queue| self.waiting.next_in(queue));
                    page.map(|page| self.gather(page, op, stream))
                };
                if let Some(pages) = pages {
                    break (flow.op, pages);
                }
                // Fewer pages came than are expected.
                self.left[self.runs[self.main].flow - self.firsts[self.window]] = (0, 0);
                self.runs[self.main].pages_left = 0;
            } else if let Some((_, op, page)) = due.or(timed) {
                break (op, self.gather(page, op, stream));
            } else {
                self.end_window();
            }
        };
        self.send_on(op, pages.clone(), stream);
        (OPS[op], pages)
    }

    /// A request by `op` with a page accessed before, and others that wait for `op` in this window: as many as are drawn,
    /// and as requests are behind.
    fn gather(&mut self, page: u32, op: usize, stream: &mut RandomStream) -> RangeInclusive<u32> {
        let owed = &mut self.owed_pages[op];
        *owed += self.reused.length(OPS[op], stream).units;
        let most = (*owed).min(self.reused.longest().units);
        let is_like = |wait| match wait {
            Wait::Turn(queue) => {
                let ((_, by, _), to) = source_of(queue as usize, self.windows);
                (by, to) == (op, self.window)
            }
            Wait::Time(_, by) => usize::from(by) == op,
            Wait::Nothing => false,
        };
        let pages = self.waiting.around(page, most, is_like);
        *owed -= u64::from(pages.end() - pages.start()) + 1;
        pages
    }

    /// Access the pages of a request, and let each wait for its next access, as the flows of its run say.
    fn send_on(&mut self, op: usize, pages: RangeInclusive<u32>, stream: &mut RandomStream) {
        let mut before = None;
        for page in pages.clone() {
            let source = match self.waiting.end(page) {
                Wait::Nothing => (self.windows, op, 0),
                Wait::Turn(queue) => source_of(queue as usize, self.windows).0,
                Wait::Time(..) => (self.window, op, self.often(page)),
            };
            let run = index_of(source);
            if before.replace(run) == Some(run)
                && self.runs[run].pages_left == 0
                && self.splits.draw(stream) == 0
            {
                self.prolong_run(run, u64::from(pages.end() - page) + 1);
            }
            let has_run = self.continue_run(source, stream);
            let uses = &mut self.uses[page as usize];
            *uses = uses.saturating_add(1);
            self.clock += 1;
            if !has_run {
                continue;
            }
            let run = &mut self.runs[run];
            run.pages_left -= 1;
            let Flow { window, to, next_op, .. } = self.flows[run.flow];
            if to == window {
                self.waiting.until(self.clock + run.distance, next_op, page);
            } else if to < self.windows {
                let queue = self.queue((window, next_op, self.often(page)), to);
                self.waiting.queue(queue, page);
            }
        }
    }

    /// Let a run that has ended go on for up to `pages`, at the expense of later ones of its flow.
    fn prolong_run(&mut self, run: usize, pages: u64) {
        let Run { flow, pages_left, .. } = &mut self.runs[run];
        if let Some((runs, left)) = self.left.get_mut(flow.wrapping_sub(self.firsts[self.window])) {
            *pages_left = pages.min(*left - *runs);
            *left -= *pages_left;
        }
    }

    /// Begin another run of a flow from another window if the latest one has ended. Whether there is a run.
    fn continue_main(&mut self, stream: &mut RandomStream) -> bool {
        if self.runs[self.main].pages_left > 0 {
            return true;
        }
        let Some(flow) = self.another(stream) else { return false };
        self.main = index_of(self.flows[flow].source());
        if self.runs[self.main].pages_left == 0 {
            self.begin_run(self.main, flow, stream);
        }
        self.recent.retain(|&other| other != flow);
        self.recent.insert(0, flow);
        self.recent.truncate(self.others + 1);
        true
    }

    /// Begin another run with this source if its latest one has ended. Whether there is a run.
    fn continue_run(&mut self, source: Source, stream: &mut RandomStream) -> bool {
        if self.runs[index_of(source)].pages_left > 0 {
            return true;
        }
        let flow = self.with_source(source, stream);
        flow.inspect(|&flow| self.begin_run(index_of(source), flow, stream)).is_some()
    }

    fn begin_run(&mut self, run: usize, flow: usize, stream: &mut RandomStream) {
        let (runs, pages) = &mut self.left[flow - self.firsts[self.window]];
        let length = run_length(*runs, *pages, stream);
        *runs -= 1;
        *pages -= length;
        let Flow { window, op, to, next_op, .. } = self.flows[flow];
        let distance = if to == window { self.distance(op, next_op, stream) } else { 0 };
        self.runs[run] = Run { flow, pages_left: length, distance };
    }

    /// A flow from another window: one with a run lately, or the one whose time has come.
    fn another(&self, stream: &mut RandomStream) -> Option<usize> {
        let first = self.firsts[self.window];
        for _ in 0..TRIES {
            let rank = self.ranks.draw(stream);
            if rank == self.others || rank + 1 >= self.recent.len() {
                break;
            }
            let flow = self.recent[rank + 1];
            if self.left[flow - first].0 > 0 {
                return Some(flow);
            }
        }
        let due = |&flow: &usize| self.flows[flow].due(self.flows[flow].runs - self.left[flow - first].0);
        (first..self.firsts[self.window + 1])
            .filter(|&flow| !self.flows[flow].is_within() && self.left[flow - first].0 > 0)
            .min_by(|one, other| due(one).total_cmp(&due(other)))
    }

    /// A flow with this source, drawn by the runs that are left; one of the other class if need be.
    fn with_source(&self, (from, op, often): Source, stream: &mut RandomStream) -> Option<usize> {
        let first = self.firsts[self.window];
        [often, 1 - often].into_iter().find_map(|often| {
            let left = || {
                (first..self.firsts[self.window + 1])
                    .filter(|&flow| self.flows[flow].source() == (from, op, often))
                    .map(|flow| (flow, self.left[flow - first].0))
            };
            let all: u64 = left().map(|(_, runs)| runs).sum();
            let mut drawn = draw::below(stream, all);
            let found = left().find(|&(_, runs)| {
                let is_here = drawn < runs;
                drawn = drawn.saturating_sub(runs);
                is_here
            });
            found.map(|(flow, _)| flow)
        })
    }

    /// Draw a distance between two accesses in the window that does not lead beyond it.
    fn distance(&self, op: usize, next_op: usize, stream: &mut RandomStream) -> u64 {
        let octave = match self.within.get(op * OPS.len() + next_op) {
            Some(Some(weights)) => weights.draw(stream),
            _ => 0,
        };
        let distance = (1 << octave) + draw::below(stream, 1 << octave);
        let room = self.window_end.saturating_sub(self.clock).max(1);
        if distance <= room { distance } else { 1 + draw::below(stream, room) }
    }

    /// The pages of a request to new ones; in later rounds, of the request that was here in the first.
    fn new_pages(
        &mut self,
        flow: Flow,
        new_units: &mut dyn FnMut(Op) -> u64,
        stream: &mut RandomStream,
    ) -> Option<RangeInclusive<u32>> {
        let (born, repeated) = &mut self.born[self.window * OPS.len() + flow.op];
        if !self.is_first_round {
            *repeated += 1;
            return born.get(*repeated - 1).cloned();
        }
        let destination = (flow.op, flow.to, flow.next_op);
        let units = new_units(OPS[flow.op]).min(self.new_left[flow.op] * self.page_units);
        let Place { first, pages, begin, end } = self.births.place(destination, units, stream)?;
        self.new_left[flow.op] = self.new_left[flow.op].saturating_sub(pages);
        for page in 0..pages {
            let unit = |unit: u64| unit.saturating_sub(page * self.page_units).min(self.page_units) as u32;
            self.waiting.set_part(first + page, Part { begin: unit(begin), end: unit(end) });
        }
        let pages = first as u32..=(first + pages - 1) as u32;
        born.push(pages.clone());
        Some(pages)
    }

    /// Whether a page is used often.
    fn often(&self, page: u32) -> usize {
        usize::from(self.uses[page as usize] >= OFTEN)
    }

    fn queue(&self, source: Source, to: usize) -> usize {
        to * self.windows * CLASSES + index_of(source)
    }

    fn begin_window(&mut self) {
        let flows = &self.flows[self.firsts[self.window]..self.firsts[self.window + 1]];
        self.left = flows.iter().map(|flow| (flow.runs, flow.pages)).collect();
        self.window_end = self.clock + flows.iter().map(|flow| flow.pages).sum::<u64>();
        self.new_left = [0; OPS.len()];
        for flow in flows.iter().filter(|flow| flow.from == self.windows) {
            self.new_left[flow.op] += flow.pages;
        }
        self.recent.clear();
        self.runs.fill(Run::default());
    }

    fn end_window(&mut self) {
        // More pages came than were expected.
        let queues = self.windows * CLASSES;
        (self.window * queues..(self.window + 1) * queues).for_each(|queue| self.waiting.clear(queue));
        self.window += 1;
        if self.window == self.windows {
            self.window = 0;
            self.is_first_round = false;
            self.born.iter_mut().for_each(|born| born.1 = 0);
            self.uses.fill(0);
        }
        self.begin_window();
    }
}

/// The number of a source.
fn index_of((from, op, often): Source) -> usize {
    (from * OPS.len() + op) * 2 + often
}

/// The source of the pages of a queue, and their window.
fn source_of(queue: usize, windows: usize) -> (Source, usize) {
    let (to, source) = (queue / (windows * CLASSES), queue % (windows * CLASSES));
    ((source / CLASSES, source / 2 % OPS.len(), source % 2), to)
}

/// The table of a chance: 1 is drawn as often as given.
fn chance(share: Share) -> AliasTable {
    AliasTable::new(&[Share::ONE.ppb - share.ppb, share.ppb])
}

/// The table of weights; none if all are 0.
fn weighted(weights: &[u32]) -> Option<AliasTable> {
    let weights: Vec<u64> = weights.iter().map(|&weight| weight.into()).collect();
    weights.iter().any(|&weight| weight > 0).then(|| AliasTable::new(&weights))
}

/// Draw the length of the next of `runs` runs with `pages` together, geometrically distributed.
fn run_length(runs: u64, pages: u64, stream: &mut RandomStream) -> u64 {
    if runs <= 1 || pages <= runs {
        return if runs <= 1 { pages } else { 1 };
    }
    let ends = runs as f64 / pages as f64;
    let length = 1 + (draw::exponential(stream) / -libm::log1p(-ends)) as u64;
    length.min(pages - (runs - 1))
}
