//! Disk jobs of the tier, from their creation to the answer.

use crate::page_replacer::EvictionId;
use coflash_base::{Lpn, Save, Slab, Time};
use coflash_media::{Backed, Media, Transfer};
use std::collections::VecDeque;

/// The purpose of a job.
#[derive(Clone, Copy, Debug, Save)]
pub(crate) enum Purpose {
    /// A read.
    Read,
    /// A read of pages from this one on, to be cached.
    Fetch(Lpn),
    /// A group of dirty pages being destaged.
    Group(EvictionId),
    /// Writes past the cache.
    Overwrite(EvictionId),
    /// Writes through the cache.
    Through(EvictionId),
    /// Nothing but the answer.
    Answer,
}

/// A disk job: one transfer, or several in sequence, so that urgent ones can go in between.
#[derive(Clone, Debug, Save)]
pub(crate) struct Job<W> {
    pub(crate) purpose: Purpose,
    /// The pages of a group in the order of their addresses, with the times at which they are in the buffer.
    pub(crate) pages: Vec<(Lpn, Time)>,
    /// The moment at which the pages without a known time are in the buffer.
    pub(crate) reading: Option<W>,
    /// The index of the first page to be written.
    pub(crate) next: usize,
    /// The transfer that begins when flash is done.
    pub(crate) postponed: Option<Transfer>,
    /// Its number among the writes that wait in a line.
    pub(crate) in_line: Option<u64>,
    /// Promises to be kept at its end.
    pub(crate) waiters: Vec<W>,
    /// The number of transfers it has yielded to since its last one.
    pub(crate) yielded: u32,
}

/// All pending jobs, by number.
#[derive(Clone, Debug, Save)]
pub(crate) struct Jobs<W> {
    jobs: Slab<Job<W>>,
    /// Groups that have begun, with transfers that have not.
    begun: VecDeque<u32>,
}

impl<W: Copy> Jobs<W> {
    pub(crate) fn new() -> Self {
        Self { jobs: Slab::default(), begun: VecDeque::new() }
    }

    pub(crate) fn begin(&mut self, purpose: Purpose) -> u32 {
        self.jobs.put(Job {
            purpose,
            pages: Vec::new(),
            reading: None,
            next: 0,
            postponed: None,
            in_line: None,
            waiters: Vec::new(),
            yielded: 0,
        })
    }

    pub(crate) fn begin_group(&mut self, group: EvictionId) -> u32 {
        let job = self.begin(Purpose::Group(group));
        self.begun.push_back(job);
        job
    }

    /// Add a page to a group. It is in the buffer at `read`.
    pub(crate) fn add_page<M: Media<When = W>>(&mut self, job: u32, page: Lpn, read: W, media: &mut M) {
        let job = self.get(job);
        let known = media.known(read);
        if known.is_none() {
            job.reading = Some(match job.reading.take() {
                Some(others) => media.both(others, read),
                None => read,
            });
        }
        job.pages.push((page, known.unwrap_or(Time::ZERO)));
    }

    /// Take the first group that has begun but has not begun its transfers.
    #[inline]
    pub(crate) fn next_begun(&mut self) -> Option<u32> {
        self.begun.pop_front()
    }

    pub(crate) fn get(&mut self, job: u32) -> &mut Job<W> {
        self.jobs.get_mut(job)
    }

    /// The moment at which a job is done.
    pub(crate) fn wait_for<M: Backed<When = W>>(&mut self, job: u32, media: &mut M) -> W {
        let promise = media.promise();
        self.get(job).waiters.push(promise);
        promise
    }

    /// The later of a moment and the end of a job.
    pub(crate) fn after<M: Backed<When = W>>(&mut self, job: u32, when: W, media: &mut M) -> W {
        let done = self.wait_for(job, media);
        media.both(done, when)
    }

    /// The jobs that write past the cache: until their answers the data is not durable.
    pub(crate) fn past(&self) -> Vec<u32> {
        let is_past = |job: &Job<W>| matches!(job.purpose, Purpose::Overwrite(_) | Purpose::Answer);
        let past = self.jobs.iter().filter(|(_, job)| is_past(job));
        past.map(|(number, _)| number).collect()
    }

    pub(crate) fn end(&mut self, job: u32) -> Job<W> {
        self.jobs.take(job)
    }
}
