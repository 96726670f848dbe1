//! Room in the controller for pages that are not yet in flash: its write buffer, and copies on their way from die to die.

use coflash_base::{Duration, Save, Time};
use std::collections::VecDeque;

/// The room of a buffer of pages, and who waits for it.
#[derive(Clone, Debug, Save)]
pub(crate) struct PageBuffer<W> {
    pages: u32,
    free_pages: u32,
    /// The least time between two pages that leave it.
    page_drain: Duration,
    drained_at: Time,
    waiting: VecDeque<W>,
    /// The pages that found no room at once.
    waits: u64,
}

impl<W> PageBuffer<W> {
    /// Create an empty buffer for `pages` pages; one page leaves in each `page_drain`.
    pub(crate) fn new(pages: u32, page_drain: Duration) -> Self {
        let (drained_at, waiting, waits) = (Time::ZERO, VecDeque::new(), 0);
        Self { pages, free_pages: pages, page_drain, drained_at, waiting, waits }
    }

    /// Take room for a page, if there is some.
    pub(crate) fn take(&mut self) -> bool {
        let is_free = self.free_pages > 0;
        self.free_pages -= u32::from(is_free);
        is_free
    }

    /// Wait for room, behind those who wait already.
    pub(crate) fn wait(&mut self, waiting: W) {
        self.waits += 1;
        self.waiting.push_back(waiting);
    }

    /// Give room for a page back; return who waits for it and gets it.
    pub(crate) fn give(&mut self) -> Option<W> {
        let next = self.waiting.pop_front();
        self.free_pages += u32::from(next.is_none());
        next
    }

    /// Who waits longest.
    pub(crate) fn next(&self) -> Option<&W> {
        self.waiting.front()
    }

    /// The time at which a page that is in flash at `at` has left the buffer.
    pub(crate) fn drained_at(&mut self, at: Time) -> Time {
        if self.page_drain > Duration::ZERO {
            self.drained_at = at.max(self.drained_at + self.page_drain);
            return self.drained_at;
        }
        at
    }

    /// The pages that are in it.
    pub(crate) fn used_pages(&self) -> u64 {
        (self.pages - self.free_pages).into()
    }

    /// The pages that found no room at once; `None` without a buffer.
    pub(crate) fn waits(&self) -> Option<u64> {
        (self.pages > 0).then_some(self.waits)
    }
}
