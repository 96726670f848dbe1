//! The pages that wait for their next access, in queues in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The waiting pages.
#[derive(Clone)]
pub(super) struct Waiting {
    /// By page, the queue in which it waits, and until when.
    waits: Vec<Option<(usize, u64)>>,
    /// Times and pages. Pages that were taken with others stay in a queue until they would be next.
    queues: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
}

impl Waiting {
    pub(super) fn new(pages: u64, queues: usize) -> Self {
        Self { waits: vec![None; pages as usize], queues: vec![BinaryHeap::new(); queues] }
    }

    /// Let a page wait in a queue, behind those with an earlier time.
    pub(super) fn queue(&mut self, queue: usize, time: u64, page: u32) {
        self.queues[queue].push(Reverse((time, page)));
        self.waits[page as usize] = Some((queue, time));
    }

    /// The next page of a queue, and its time.
    pub(super) fn next_in(&mut self, queue: usize) -> Option<(u64, u32)> {
        loop {
            let &Reverse((time, page)) = self.queues[queue].peek()?;
            if self.waits[page as usize] == Some((queue, time)) {
                return Some((time, page));
            }
            self.queues[queue].pop();
        }
    }

    /// Let the pages of a queue go.
    pub(super) fn clear(&mut self, queue: usize) {
        while let Some((_, page)) = self.next_in(queue) {
            self.end(page);
        }
    }

    /// End the wait of a page: the queue in which it waited.
    pub(super) fn end(&mut self, page: u32) -> Option<usize> {
        self.waits[page as usize].take().map(|(queue, _)| queue)
    }

    /// A page and, up to `most` in all, those after and then those before it that are adjacent and wait in like queues.
    pub(super) fn around(&self, page: u32, most: u64, is_like: impl Fn(usize) -> bool) -> Range<u32> {
        let is_like = |page: u32| {
            self.waits.get(page as usize).is_some_and(|wait| wait.is_some_and(|(queue, _)| is_like(queue)))
        };
        let mut pages = page..page + 1;
        while (pages.len() as u64) < most && is_like(pages.end) {
            pages.end += 1;
        }
        while (pages.len() as u64) < most && pages.start > 0 && is_like(pages.start - 1) {
            pages.start -= 1;
        }
        pages
    }
}
