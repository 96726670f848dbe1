//! How long ago the pages of requests were used, for the generator `lru-stack`.
//!
//! Cost: O(log n) per page; 30 bytes per page.

use coflash_workload::Op;
use coflash_workload::recency::Recency;
use coflash_workload::synthetic::lru_stack::{NEVER, WINDOWS_MAX, class_of};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A run goes on if at most so many pages of its stack were left out.
const LEFT_OUT_MAX: u32 = 4;

/// The pages in the order of their last use, apart by the operation of that use.
#[derive(Default)]
pub(super) struct LastUses {
    orders: [Recency; 3],
    /// The stack and the slot of each page.
    places: FxHashMap<u64, (u8, u32)>,
    /// By operation and stack: the slot behind the page of the latest request.
    cursors: [[u32; 3]; 3],
    /// By operation and stack: the class of the depth at which the run began.
    classes: [[u32; 3]; 3],
    /// New pages of requests that count as requests to used ones, less the reverse.
    owed: i64,
    /// Runs and requests by window, operation, stack and class.
    rows: BTreeMap<[u32; 4], [u32; 2]>,
    requests: u64,
    /// The requests of a window, as a power of two.
    window_log2: u32,
}

impl LastUses {
    /// Add a request. Returns whether it counts as one to new pages: as many do as all requests have new pages.
    pub(super) fn add(&mut self, op: Op, pages: RangeInclusive<u64>) -> bool {
        let count = (pages.end() - pages.start() + 1) as i64;
        self.owed += pages.clone().filter(|page| !self.places.contains_key(page)).count() as i64;
        let used = pages.clone().find_map(|page| self.places.get(&page).copied());
        let is_new = used.is_none() || 2 * self.owed >= count;
        self.owed -= if is_new { count } else { 0 };
        let op = op as u8;
        let last = used.filter(|_| !is_new).map(|(stack, slot)| (usize::from(stack), slot));
        let (kind, begins) = match last {
            None => ([u32::from(op), NEVER, 0], false),
            Some((stack, slot)) => {
                let order = &self.orders[stack];
                let depth = order.since(slot);
                let cursor = self.cursors[usize::from(op)][stack];
                let above = cursor.checked_sub(1).map_or(order.live(), |below| order.since(below));
                let begins = slot < cursor || above - depth > LEFT_OUT_MAX + 1;
                let class = &mut self.classes[usize::from(op)][stack];
                *class = if begins { class_of(depth) } else { *class };
                ([u32::from(op), stack as u32, *class], begins)
            }
        };
        self.count(kind, begins);
        let mut behind = last.map_or(0, |(_, slot)| slot);
        for page in pages {
            self.access(page, op, last.map(|(stack, _)| stack), &mut behind);
        }
        is_new
    }

    fn count(&mut self, [op, last, class]: [u32; 3], begins: bool) {
        if self.requests >> self.window_log2 == u64::from(WINDOWS_MAX) {
            self.window_log2 += 1;
            for ([window, kind @ ..], [runs, requests]) in std::mem::take(&mut self.rows) {
                let row = self.rows.entry([window / 2, kind[0], kind[1], kind[2]]).or_default();
                *row = [row[0] + runs, row[1] + requests];
            }
        }
        let window = (self.requests >> self.window_log2) as u32;
        self.requests += 1;
        let row = self.rows.entry([window, op, last, class]).or_default();
        *row = [row[0] + u32::from(begins), row[1] + 1];
    }

    /// Put a page on the stack of its operation; the run of that operation on stack `last` goes on behind it.
    fn access(&mut self, page: u64, op: u8, last: Option<usize>, behind: &mut u32) {
        let to = usize::from(op);
        if let Some((stack, slot)) = self.places.remove(&page) {
            let stack = usize::from(stack);
            self.orders[stack].remove(slot);
            if last == Some(stack) {
                *behind = slot.max(*behind);
                self.cursors[to][stack] = *behind + 1;
            }
        }
        if self.orders[to].is_full() {
            let order = &mut self.orders[to];
            let new = |cursor: u32, order: &Recency| {
                order.live() - cursor.checked_sub(1).map_or(order.live(), |below| order.since(below))
            };
            self.cursors.iter_mut().for_each(|cursors| cursors[to] = new(cursors[to], order));
            *behind = if last == Some(to) { self.cursors[to][to].saturating_sub(1) } else { *behind };
            let renumbered = order.renumber();
            let there = self.places.values_mut().filter(|(stack, _)| *stack == op);
            there.for_each(|(_, slot)| *slot = renumbered.of(*slot));
        }
        self.places.insert(page, (op, self.orders[to].push()));
    }

    /// The number of windows, and the rows: those with requests and no begin of a run have one.
    pub(super) fn rows(&self) -> (u32, Vec<[u32; 6]>) {
        let row = |(&[window, op, last, class], &[runs, requests]): (&[u32; 4], &[u32; 2])| {
            [window, op, last, class, runs.max(1), requests]
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        (rows.last().map_or(1, |row| row[0] + 1), rows)
    }

    /// The pages that were used.
    pub(super) fn pages(&self) -> u64 {
        self.places.len() as u64
    }
}
