//! Pages by how long ago they were used: what was used one after another is used again one after another.
//!
//! The pages that were used are in the order of their last use, in a stack for each operation of that use. The course of a
//! workload is divided into windows of requests. A *row* says how many requests of a window read, write or trim pages
//! that were last read, written or trimmed (or never used), how many other pages of that stack were used since then,
//! and in how many runs: a run begins at a page at that depth, and each further request has the page that was used
//! next. So the reuse distances are those of the rows, and pages that were written together are overwritten together.
//!
//! The operations of requests are those of the rows, whatever the shares of operations are. The sizes of requests to new
//! pages are those of the workload, the others come from `reused`. New pages follow one another in the address space. A
//! request to used pages has the page of its run and those that follow in the address space. After the last window the
//! course begins again, and its new pages are the same as before.
//!
//! Source: the LRU stack model, Spirn, "Program behavior: models and measurements" (1977); runs at a distance, a stack for
//! each operation and windows are ours. Cost: O(log n) per page, and the rows of a window for each run; some 20 bytes
//! per page.

use super::draw;
use super::size::{ByOp, ByOpConfig, ChoiceConfig, WeightedSize};
use super::{AddressPolicy, Length, Placed, SizePolicy, Sizes, Space, refuse};
use crate::recency::Recency;
use crate::{Op, WorkloadError};
use coflash_base::{Bytes, Policy, RandomStream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most windows.
pub const WINDOWS_MAX: u32 = 64;
/// In a row, the operation of the last use of pages that were never used.
pub const NEVER: u32 = 3;
/// The operations with pages.
const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];
/// The kinds of requests: by their operation, and by that of the last use of their pages.
const KINDS: usize = OPS.len() * 4;
const CLASSES: u32 = 64;

/// The class of a depth: half an octave.
#[must_use]
pub fn class_of(depth: u32) -> u32 {
    let depth = u64::from(depth) + 1;
    let octave = depth.ilog2();
    2 * octave + u32::from(2 * depth >= 3 << octave)
}

/// The least depth of a class.
fn least_depth(class: u32) -> u64 {
    let octave = 1_u64 << (class / 2);
    if class % 2 == 0 { octave - 1 } else { (3 * octave).div_ceil(2) - 1 }
}

/// The parameters of `"lru-stack"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LruStackConfig {
    /// Size of a page, a multiple of `align`.
    pub page: Bytes,
    /// Sizes of requests to pages that were used before.
    pub reused: ByOpConfig,
    /// Number of windows.
    pub windows: u32,
    /// The rows, in the order of their windows: window, operation (0 read, 1 write, 2 trim), operation of the last use of the
    /// pages (3 if there is none), class of the depth (half octaves of the depth plus one), runs and requests.
    pub rows: Vec<[u32; 6]>,
}

impl Default for LruStackConfig {
    /// A thousand pages are written, then read, and written again in the order of their reads.
    fn default() -> Self {
        let one_page = ChoiceConfig { sizes: vec![WeightedSize { size: Bytes { count: 4096 }, weight: 1 }] };
        Self {
            page: Bytes { count: 4096 },
            reused: ByOpConfig { read: one_page.clone(), write: one_page.clone(), trim: one_page },
            windows: 2,
            rows: vec![
                [0, 1, NEVER, 0, 1, 1000],
                [1, 0, 1, class_of(999), 10, 500],
                [1, 1, 0, class_of(249), 10, 250],
            ],
        }
    }
}

impl LruStackConfig {
    fn check(&self, space: Space) -> Result<(), WorkloadError> {
        let Self { page, windows, .. } = *self;
        let largest = Bytes { count: space.units * space.align.count };
        if page.count == 0 || !page.count.is_multiple_of(space.align.count) || page > largest {
            let allowed = format!("a multiple of align, {}, up to the space, {largest}", space.align);
            return refuse("generator.page", format!("{page} was given; {allowed}, is allowed"));
        }
        if !(1..=WINDOWS_MAX).contains(&windows) {
            let problem = format!("{windows} was given; from 1 to {WINDOWS_MAX} is allowed");
            return refuse("generator.windows", problem);
        }
        let is_right = |&[window, op, last, class, runs, requests]: &[u32; 6]| {
            window < windows
                && op < NEVER
                && last <= NEVER
                && class < CLASSES
                && (1..=requests).contains(&runs)
        };
        let problem = if let Some(row) = self.rows.iter().find(|row| !is_right(row)) {
            format!(
                "{row:?} was given; a window below {windows}, an operation from 0 to 2, another or 3, a class below \
                 {CLASSES}, at least one run and as many requests are allowed"
            )
        } else if !self.rows.is_sorted_by_key(|row| row[0]) {
            "rows that are not in the order of windows were given".to_owned()
        } else if self.rows.is_empty() {
            "no rows were given; at least one is needed".to_owned()
        } else {
            return Ok(());
        };
        refuse("generator.rows", problem)
    }
}

/// A run in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    row: usize,
    left: u64,
    /// Its next page has the first occupied slot from here on.
    cursor: u32,
}

/// The pages in the order of their last use by one operation.
#[derive(Clone, Debug, Default)]
struct Stack {
    order: Recency,
    /// By slot.
    pages: Vec<u32>,
}

impl Stack {
    /// The page with this many others above it, and its slot.
    fn at(&self, depth: u32) -> (u32, u32) {
        let slot = self.order.slots().with_after(depth);
        (self.pages[slot as usize], slot)
    }

    /// The page with the first occupied slot from `cursor` on.
    fn from(&self, cursor: u32) -> Option<(u32, u32)> {
        let above = cursor.checked_sub(1).map_or(self.order.live(), |below| self.order.since(below));
        Some(self.at(above.checked_sub(1)?))
    }
}

/// The generator `"lru-stack"`.
#[derive(Clone)]
pub struct LruStack {
    page_units: u64,
    pages: u64,
    reused: ByOp,
    rows: Vec<[u32; 6]>,
    /// The rows of each window begin at these indices.
    firsts: Vec<usize>,
    window: usize,
    /// Runs and requests that are left of the rows of this window; and requests of each kind.
    left: Vec<(u64, u64)>,
    left_of: [u64; KINDS],
    runs: [Run; KINDS],
    stacks: [Stack; OPS.len()],
    /// The operation of the last use of each page so far, and its slot; none before its first use.
    places: Vec<Option<(u8, u32)>>,
    /// The next new page.
    next_new: u64,
}

impl Policy for LruStack {
    type Config = LruStackConfig;
    const SUMMARY: &'static str =
        "Pages are used again after as many other ones as given, in the order of their last use.";
    const SOURCE: &'static str = "ours, after Spirn, \"Program behavior: models and measurements\" (1977)";
}

impl AddressPolicy for LruStack {
    fn new(config: &LruStackConfig, space: Space) -> Result<Self, WorkloadError> {
        config.check(space)?;
        let page_units = config.page.count / space.align.count;
        let reused = ByOp::new(&config.reused, space.align.count)
            .map_err(|error| error.with_key(|key| format!("generator.reused{}", &key["size".len()..])))?;
        let pages = (space.units / page_units).min(u32::MAX.into());
        if reused.longest().units > pages * page_units {
            let longest = Bytes { count: reused.longest().bytes };
            let problem = format!("{longest} was given; at most the pages of the space are allowed");
            return refuse("generator.reused", problem);
        }
        let before = |window| config.rows.partition_point(|row| row[0] < window);
        let mut generator = Self {
            page_units,
            pages,
            reused,
            rows: config.rows.clone(),
            firsts: (0..=config.windows).map(before).collect(),
            window: 0,
            left: Vec::new(),
            left_of: [0; KINDS],
            runs: [Run::default(); KINDS],
            stacks: Default::default(),
            places: Vec::new(),
            next_new: 0,
        };
        generator.begin_window();
        Ok(generator)
    }

    fn start(&mut self, _: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        let length = Length { bytes: 0, units: length_units };
        let (_, start, _) = self.next(&mut |_| length, stream);
        start.min((self.pages * self.page_units).saturating_sub(length_units))
    }

    fn place(&mut self, _: Op, sizes: &mut Sizes<'_>, stream: &mut RandomStream) -> Placed {
        let (op, start, length) = self.next(&mut |op| sizes.draw(op), stream);
        Placed { op, start, length }
    }
}

impl LruStack {
    /// The operation, the first unit and the length of the next request; `new_length` draws that of one to new pages.
    fn next(
        &mut self,
        new_length: &mut dyn FnMut(Op) -> Length,
        stream: &mut RandomStream,
    ) -> (Op, u64, Length) {
        while self.left_of.iter().all(|&left| left == 0) {
            self.window = (self.window + 1) % (self.firsts.len() - 1);
            if self.window == 0 {
                self.next_new = 0;
            }
            self.begin_window();
        }
        let mut drawn = draw::below(stream, self.left_of.iter().sum());
        let is_here = |&kind: &usize| {
            let left = self.left_of[kind];
            let is_here = drawn < left;
            drawn = drawn.saturating_sub(left);
            is_here
        };
        let kind = (0..KINDS).find(is_here).expect("a kind has requests left");
        self.left_of[kind] -= 1;
        let (op, last) = (kind / 4, kind % 4);
        let page = self.next_page(kind, stream);
        let length = if page.is_none() { new_length(OPS[op]) } else { self.reused.length(OPS[op], stream) };
        let count = length.units.div_ceil(self.page_units);
        let used = self.places.len() as u64;
        let first = match page {
            Some(page) => u64::from(page).min(used.max(count) - count),
            None if self.next_new + count > self.pages => 0,
            None => self.next_new,
        };
        if page.is_none() {
            self.next_new = first + count;
        }
        for page in first..first + count {
            self.access(page as u32, op, kind, last);
        }
        // A small request is anywhere in its page.
        let inside = draw::below(stream, self.page_units.saturating_sub(length.units) + 1);
        (OPS[op], first * self.page_units + inside, length)
    }

    /// The next page of the run of a kind; `None` for a new one.
    fn next_page(&mut self, kind: usize, stream: &mut RandomStream) -> Option<u32> {
        let begins = self.runs[kind].left == 0;
        if begins {
            let row = self.draw_row(kind, stream);
            let (runs, requests) = &mut self.left[row - self.firsts[self.window]];
            let left = run_length(*runs, *requests, stream);
            *runs -= 1;
            *requests -= left;
            self.runs[kind] = Run { row, left, cursor: 0 };
        }
        self.runs[kind].left -= 1;
        let stack = self.stacks.get(kind % 4).filter(|stack| stack.order.live() > 0)?;
        let Run { row, cursor, .. } = self.runs[kind];
        let further = if begins { None } else { stack.from(cursor) };
        let (page, slot) = further.unwrap_or_else(|| {
            let class = self.rows[row][3];
            let least = least_depth(class);
            let depth = least + draw::below(stream, (least_depth(class + 1) - least).max(1));
            stack.at(depth.min(u64::from(stack.order.live()) - 1) as u32)
        });
        self.runs[kind].cursor = slot;
        Some(page)
    }

    /// A row of a kind with a run left.
    fn draw_row(&self, kind: usize, stream: &mut RandomStream) -> usize {
        let rows = self.firsts[self.window]..self.firsts[self.window + 1];
        let of_kind = rows.zip(&self.left).filter(|&(row, _)| kind_of(&self.rows[row]) == kind);
        let mut drawn = draw::below(stream, of_kind.clone().map(|(_, (runs, _))| runs).sum());
        let is_here = |&(_, &(runs, _)): &(usize, &(u64, u64))| {
            let is_here = drawn < runs;
            drawn = drawn.saturating_sub(runs);
            is_here
        };
        let mut of_kind = of_kind;
        of_kind.find(is_here).expect("a kind with requests has runs").0
    }

    /// Put a page on the stack of its operation; the run of `kind` goes on above its place on the stack `last`.
    fn access(&mut self, page: u32, op: usize, kind: usize, last: usize) {
        if self.places.len() <= page as usize {
            self.places.resize(page as usize + 1, None);
        }
        if let Some((from, slot)) = self.places[page as usize].take() {
            self.stacks[usize::from(from)].order.remove(slot);
            if usize::from(from) == last {
                self.runs[kind].cursor = self.runs[kind].cursor.max(slot + 1);
            }
        }
        if self.stacks[op].order.is_full() {
            self.renumber(op);
        }
        let Stack { order, pages } = &mut self.stacks[op];
        let slot = order.push();
        pages.resize(slot as usize, 0);
        pages.push(page);
        self.places[page as usize] = Some((op as u8, slot));
    }

    #[cold]
    fn renumber(&mut self, op: usize) {
        let Stack { order, pages } = &mut self.stacks[op];
        *pages = order.slots().iter().map(|slot| pages[slot as usize]).collect();
        for run in self.runs.iter_mut().skip(op).step_by(4) {
            run.cursor =
                order.live() - run.cursor.checked_sub(1).map_or(order.live(), |below| order.since(below));
        }
        order.renumber();
        for (slot, &page) in (0..).zip(&*pages) {
            self.places[page as usize] = Some((op as u8, slot));
        }
    }

    fn begin_window(&mut self) {
        let rows = &self.rows[self.firsts[self.window]..self.firsts[self.window + 1]];
        self.left = rows.iter().map(|&[.., runs, requests]| (runs.into(), requests.into())).collect();
        for row in rows {
            self.left_of[kind_of(row)] += u64::from(row[5]);
        }
        self.runs.iter_mut().for_each(|run| run.left = 0);
    }
}

fn kind_of(row: &[u32; 6]) -> usize {
    (row[1] * 4 + row[2]) as usize
}

/// The requests of the next of `runs` runs with `requests` requests in all: geometrically distributed.
fn run_length(runs: u64, requests: u64, stream: &mut RandomStream) -> u64 {
    if runs <= 1 || requests <= runs {
        return if runs <= 1 { requests } else { 1 };
    }
    let ends = runs as f64 / requests as f64;
    let length = 1 + (draw::exponential(stream) / -libm::log1p(-ends)) as u64;
    length.min(requests - (runs - 1))
}
