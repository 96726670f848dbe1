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
//! reads, writes and trims as the flows say, whatever the shares of operations are. Their sizes are drawn. A request has new
//! pages, one after another from the beginning of the space, or the next page of a flow and those around it that wait for the
//! same operation in this window; what is missing is added to the next request, so that requests have the mean size given.
//! After the last window the course begins again, with the same pages.
//!
//! Source: ours, after the LRU stack model with positions in place of distances: Spirn, "Program behavior: models and
//! measurements" (1977); move-to-front ranks as in Bentley et al., "A locally adaptive data compression scheme" (1986).
//! Cost: O(log n) per page and the number of flows of a window for some runs; 40 bytes per page.

mod config;
mod waiting;

use super::draw::{self, AliasTable};
use super::{AddressPolicy, PlacedRequest, RequestSizes, Space};
use crate::{Op, WorkloadError};
use coflash_base::{Policy, RandomStream, Share};
use config::Flow;
pub use config::ReuseFlowsConfig;
use std::ops::Range;
use waiting::Waiting;

/// The operations with pages.
const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];
/// Where pages come from: the window of their previous access, or the number of windows if there is none; the operation of
/// this access.
type Source = (usize, usize);

/// A run in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    flow: usize,
    pages_left: u64,
    /// The distance to the next access in the window.
    distance: u64,
}

/// What is left of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    runs: u64,
    pages: u64,
}

/// The generator `"reuse-flows"`.
#[derive(Clone)]
pub struct ReuseFlows {
    space_units: u64,
    page_units: u64,
    windows: usize,
    flows: Vec<Flow>,
    /// The flows of each window begin at these indices.
    firsts: Vec<usize>,
    /// Runs and pages that are left of the flows of this window.
    left: Vec<Left>,
    ranks: AliasTable,
    /// The index in `ranks` of other flows.
    others: usize,
    within: AliasTable,
    window: usize,
    /// Page accesses so far, and at the end of the window.
    clock: u64,
    window_end: u64,
    /// The flows with the latest runs, the last one first.
    recent: Vec<usize>,
    /// The run of each source, and the source of the latest run of a flow from another window.
    runs: Vec<Run>,
    main: usize,
    waiting: Waiting,
    /// How many pages requests of each operation are behind the sizes drawn.
    owed_pages: [u64; OPS.len()],
    /// The pages of the longest request drawn so far.
    longest: u64,
    /// Whether a request begins with a page.
    aligned: AliasTable,
    /// The next new page.
    new: u64,
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
        let mut generator = Self {
            space_units: space.units,
            page_units,
            windows,
            firsts: (0..=windows).map(|window| flows.partition_point(|flow| flow.window < window)).collect(),
            flows,
            left: Vec::new(),
            ranks: weighted(&config.ranks),
            others: config.ranks.len() - 1,
            within: weighted(&config.within),
            window: 0,
            clock: 0,
            window_end: 0,
            recent: Vec::new(),
            runs: vec![Run::default(); (windows + 1) * OPS.len()],
            main: 0,
            waiting: Waiting::new(config.pages(), windows * (windows + 1) * OPS.len()),
            owed_pages: [0; OPS.len()],
            longest: 0,
            aligned: AliasTable::new(&[Share::ONE.ppb - config.aligned_share.ppb, config.aligned_share.ppb]),
            new: 0,
        };
        generator.begin_window();
        Ok(generator)
    }

    fn start(&mut self, _: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        self.next(&mut |_| length_units, stream).1.start.min(self.space_units - length_units)
    }

    fn place(&mut self, _: Op, sizes: &mut RequestSizes<'_>, stream: &mut RandomStream) -> PlacedRequest {
        let mut drawn = None;
        let (op, units) = self.next(&mut |op| drawn.insert(sizes.draw(op)).units, stream);
        let length = units.end - units.start;
        let drawn = drawn.filter(|drawn| drawn.units == length);
        PlacedRequest { op, start: units.start, length: drawn.unwrap_or_else(|| sizes.of_units(length)) }
    }
}

impl ReuseFlows {
    /// The operation and the alignment units of the next request; `size` draws how many there should be.
    fn next(&mut self, size: &mut dyn FnMut(Op) -> u64, stream: &mut RandomStream) -> (Op, Range<u64>) {
        loop {
            let timed = self.next_timed();
            let is_due = timed.is_some_and(|(time, ..)| time <= self.clock);
            let (op, page) = if !is_due && self.continue_main(stream) {
                let Flow { from, op, .. } = self.flows[self.runs[self.main].flow];
                let queue = self.queue((from, op), self.window);
                (op, self.waiting.next_in(queue).map(|(_, page)| page))
            } else if let Some((_, page, op)) = timed {
                (op, Some(page))
            } else {
                self.end_window();
                continue;
            };
            let is_aligned = self.aligned.draw(stream) == 1;
            let begin = if is_aligned { 0 } else { draw::below(stream, self.page_units) };
            let end = begin + size(OPS[op]);
            let drawn = end.div_ceil(self.page_units);
            let pages = match page {
                Some(page) => Some(self.gather(page, op, drawn)),
                None => self.new_pages(op, drawn),
            };
            let Some(pages) = pages else {
                // Fewer pages came than are expected.
                let Run { flow, pages_left, .. } = &mut self.runs[self.main];
                *pages_left = 0;
                self.left[*flow - self.firsts[self.window]] = Left::default();
                continue;
            };
            self.send_on(op, pages.clone(), stream);
            let first = u64::from(pages.start) * self.page_units;
            let count = pages.len() as u64;
            let end = if count == drawn { end } else { count * self.page_units };
            return (OPS[op], first + begin..first + end);
        }
    }

    /// The page accessed before in this window whose time comes first, with the time and the operation.
    fn next_timed(&mut self) -> Option<(u64, u32, usize)> {
        let next = |op| {
            let queue = self.queue((self.window, op), self.window);
            self.waiting.next_in(queue).map(|(time, page)| (time, page, op))
        };
        (0..OPS.len()).filter_map(next).min()
    }

    /// A page accessed before, and others that wait for `op` in this window: as many as are drawn, and as requests are behind.
    fn gather(&mut self, page: u32, op: usize, drawn: u64) -> Range<u32> {
        self.longest = self.longest.max(drawn);
        self.owed_pages[op] += drawn;
        let (window, sources) = (self.window, self.runs.len());
        let is_like = |queue: usize| queue / sources == window && queue % OPS.len() == op;
        let pages = self.waiting.around(page, self.owed_pages[op].min(self.longest), is_like);
        self.owed_pages[op] -= pages.len() as u64;
        pages
    }

    /// New pages, if the run has such: as many as are drawn and left.
    fn new_pages(&mut self, op: usize, drawn: u64) -> Option<Range<u32>> {
        let source = (self.windows, op);
        if self.main != index_of(source) {
            return None;
        }
        let of_flows: u64 = self.open_flows(|flow| flow.source() == source).map(|(_, left)| left.pages).sum();
        let left = self.runs[index_of(source)].pages_left + of_flows;
        let first = self.new;
        self.new += drawn.min(left);
        (left > 0).then_some(first as u32..self.new as u32)
    }

    /// Access the pages of a request, and let each wait for its next access, as the flows of its run say.
    fn send_on(&mut self, op: usize, pages: Range<u32>, stream: &mut RandomStream) {
        let mut before = None;
        for page in pages.clone() {
            let queue = self.waiting.end(page);
            let from = queue.map_or(self.windows, |queue| queue % self.runs.len() / OPS.len());
            let run = index_of((from, op));
            if before == Some(run) {
                self.prolong(run, u64::from(pages.end - page));
            }
            if self.runs[run].pages_left == 0
                && let Some(flow) = self.due_flow(|flow| flow.source() == (from, op))
            {
                self.begin_run(flow, stream);
            }
            self.clock += 1;
            let Run { flow, pages_left, distance } = &mut self.runs[run];
            if *pages_left > 0 {
                before = Some(run);
                *pages_left -= 1;
                let Flow { window, to, next_op, .. } = self.flows[*flow];
                if to < self.windows {
                    let time = self.clock + *distance;
                    let queue = self.queue((window, next_op), to);
                    self.waiting.queue(queue, time, page);
                }
            }
        }
    }

    /// Let a run last for as many pages of a request, at the expense of later ones of its flow.
    fn prolong(&mut self, run: usize, pages: u64) {
        let Run { flow, pages_left, .. } = &mut self.runs[run];
        let left = &mut self.left[*flow - self.firsts[self.window]];
        let more = pages.saturating_sub(*pages_left).min(left.pages - left.runs);
        *pages_left += more;
        left.pages -= more;
    }

    /// Begin another run of a flow from another window if the latest one has ended. Whether there is a run.
    fn continue_main(&mut self, stream: &mut RandomStream) -> bool {
        if self.runs[self.main].pages_left > 0 {
            return true;
        }
        let Some(flow) = self.another(stream) else { return false };
        self.main = index_of(self.flows[flow].source());
        if self.runs[self.main].pages_left == 0 {
            self.begin_run(flow, stream);
        }
        self.recent.retain(|&other| other != flow);
        self.recent.insert(0, flow);
        self.recent.truncate(self.others + 1);
        true
    }

    fn begin_run(&mut self, flow: usize, stream: &mut RandomStream) {
        let left = &mut self.left[flow - self.firsts[self.window]];
        let length = run_length(*left, stream);
        left.runs -= 1;
        left.pages -= length;
        let is_within = self.flows[flow].to == self.window;
        let distance = if is_within { self.distance(stream) } else { 0 };
        self.runs[index_of(self.flows[flow].source())] = Run { flow, pages_left: length, distance };
    }

    /// A flow from another window: one with a run lately, or the one whose time has come.
    fn another(&self, stream: &mut RandomStream) -> Option<usize> {
        let rank = self.ranks.draw(stream);
        let recent = self.recent.get(rank + 1).filter(|_| rank < self.others).copied();
        recent
            .filter(|flow| self.left[flow - self.firsts[self.window]].runs > 0)
            .or_else(|| self.due_flow(|flow| flow.from != flow.window))
    }

    /// The one of these flows whose time in the window has come.
    fn due_flow(&self, is_one: impl Fn(&Flow) -> bool) -> Option<usize> {
        let due = |&(flow, left): &(usize, Left)| self.flows[flow].due(self.flows[flow].runs - left.runs);
        let next = self.open_flows(is_one).min_by(|one, other| due(one).total_cmp(&due(other)));
        next.map(|(flow, _)| flow)
    }

    /// Those of these flows of this window that have runs left.
    fn open_flows(&self, is_one: impl Fn(&Flow) -> bool) -> impl Iterator<Item = (usize, Left)> {
        let flows = (self.firsts[self.window]..).zip(self.left.iter().copied());
        flows.filter(move |&(flow, left)| left.runs > 0 && is_one(&self.flows[flow]))
    }

    /// Draw a distance between two accesses in the window that does not lead beyond it.
    fn distance(&self, stream: &mut RandomStream) -> u64 {
        let octave = self.within.draw(stream);
        let distance = (1 << octave) + draw::below(stream, 1 << octave);
        let room = self.window_end.saturating_sub(self.clock).max(1);
        if distance <= room { distance } else { 1 + draw::below(stream, room) }
    }

    /// The queue of pages that were accessed last as `source` says, and are accessed next in the window `to`.
    fn queue(&self, source: Source, to: usize) -> usize {
        to * self.runs.len() + index_of(source)
    }

    fn begin_window(&mut self) {
        let flows = &self.flows[self.firsts[self.window]..self.firsts[self.window + 1]];
        self.left = flows.iter().map(|flow| Left { runs: flow.runs, pages: flow.pages }).collect();
        self.window_end = self.clock + flows.iter().map(|flow| flow.pages).sum::<u64>();
        self.recent.clear();
        self.runs.fill(Run::default());
    }

    fn end_window(&mut self) {
        // More pages came than were expected.
        let queues = self.runs.len();
        (self.window * queues..(self.window + 1) * queues).for_each(|queue| self.waiting.clear(queue));
        self.window += 1;
        if self.window == self.windows {
            self.window = 0;
            self.new = 0;
        }
        self.begin_window();
    }
}

/// The number of a source.
fn index_of((from, op): Source) -> usize {
    from * OPS.len() + op
}

/// The table of weights.
fn weighted(weights: &[u32]) -> AliasTable {
    AliasTable::new(&weights.iter().map(|&weight| weight.into()).collect::<Vec<u64>>())
}

/// Draw the length of the next run, geometrically distributed.
fn run_length(Left { runs, pages }: Left, stream: &mut RandomStream) -> u64 {
    if runs <= 1 || pages <= runs {
        return if runs <= 1 { pages } else { 1 };
    }
    let ends = runs as f64 / pages as f64;
    let length = 1 + (draw::exponential(stream) / -libm::log1p(-ends)) as u64;
    length.min(pages - (runs - 1))
}
