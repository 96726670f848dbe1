//! The pages that wait for their next access, in queues and for a time in the window.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::RangeInclusive;

/// What a page waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    /// Its turn in a queue.
    Turn(u32),
    /// The time of an access by an operation.
    Time(u64, u8),
}

/// The alignment units of a page that are accessed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub(super) begin: u32,
    pub(super) end: u32,
}

/// The waiting pages.
#[derive(Clone)]
pub(super) struct Waiting {
    page_units: u64,
    parts: Vec<Part>,
    waits: Vec<Wait>,
    /// Pages that were taken with others stay in a queue until they would be next.
    queues: Vec<VecDeque<u32>>,
    /// Times, operations and pages.
    timed: BinaryHeap<Reverse<(u64, u8, u32)>>,
}

impl Waiting {
    pub(super) fn new(pages: u64, page_units: u64, queues: usize) -> Self {
        Self {
            page_units,
            parts: vec![Part::default(); pages as usize],
            waits: vec![Wait::Nothing; pages as usize],
            queues: vec![VecDeque::new(); queues],
            timed: BinaryHeap::new(),
        }
    }

    /// Set the part of a page that is accessed.
    pub(super) fn set_part(&mut self, page: u64, part: Part) {
        self.parts[page as usize] = part;
    }

    /// The first alignment unit of a range of pages, and the end.
    pub(super) fn units(&self, pages: &RangeInclusive<u32>) -> (u64, u64) {
        let unit = |page: u32, unit: u32| u64::from(page) * self.page_units + u64::from(unit);
        let [first, last] = [*pages.start(), *pages.end()];
        (unit(first, self.parts[first as usize].begin), unit(last, self.parts[last as usize].end))
    }

    /// Let a page wait in a queue.
    pub(super) fn queue(&mut self, queue: usize, page: u32) {
        self.queues[queue].push_back(page);
        self.waits[page as usize] = Wait::Turn(queue as u32);
    }

    /// Let a page wait for a time.
    pub(super) fn until(&mut self, due: u64, op: usize, page: u32) {
        self.timed.push(Reverse((due, op as u8, page)));
        self.waits[page as usize] = Wait::Time(due, op as u8);
    }

    /// The next page of a queue.
    pub(super) fn next_in(&mut self, queue: usize) -> Option<u32> {
        let (queues, waits) = (&mut self.queues, &self.waits);
        let next = std::iter::from_fn(|| queues[queue].pop_front());
        next.into_iter().find(|&page| waits[page as usize] == Wait::Turn(queue as u32))
    }

    /// The time, the operation and the page whose time comes first.
    pub(super) fn next_timed(&mut self) -> Option<(u64, usize, u32)> {
        loop {
            let &Reverse((due, op, page)) = self.timed.peek()?;
            if self.waits[page as usize] == Wait::Time(due, op) {
                return Some((due, op.into(), page));
            }
            self.timed.pop();
        }
    }

    /// Let the pages of a queue go.
    pub(super) fn clear(&mut self, queue: usize) {
        let turn = Wait::Turn(queue as u32);
        for page in self.queues[queue].drain(..) {
            let wait = &mut self.waits[page as usize];
            *wait = if *wait == turn { Wait::Nothing } else { *wait };
        }
    }

    /// End the wait of a page: what it waited for.
    pub(super) fn end(&mut self, page: u32) -> Wait {
        std::mem::replace(&mut self.waits[page as usize], Wait::Nothing)
    }

    /// A page and, up to `most` in all, those after and then those before it that are adjacent and wait for the like.
    pub(super) fn around(&self, page: u32, most: u64, is_like: impl Fn(Wait) -> bool) -> RangeInclusive<u32> {
        let is_joined = |low: u32, high: u32| {
            u64::from(self.parts[low as usize].end) == self.page_units && self.parts[high as usize].begin == 0
        };
        let is_like = |page: u32| self.waits.get(page as usize).is_some_and(|&wait| is_like(wait));
        let (mut first, mut last) = (page, page);
        while u64::from(last - first) + 1 < most && is_like(last + 1) && is_joined(last, last + 1) {
            last += 1;
        }
        while u64::from(last - first) + 1 < most
            && first > 0
            && is_like(first - 1)
            && is_joined(first - 1, first)
        {
            first -= 1;
        }
        first..=last
    }
}
