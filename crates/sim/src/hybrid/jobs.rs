//! What disks do for the tier, from the time at which it is thought of to the answer.

use super::{Hybrid, known};
use coflash_base::{Lpn, Time};
use coflash_flash::{Finished, When};
use coflash_hybrid::disk::{Answered, Direction};
use coflash_hybrid::{LeaveId, Simulated};
use std::cmp::Reverse;

/// What a job is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// A read; its number as a fetch where it is to be cached.
    Fetch(Option<u32>),
    /// Dirty pages on their way to the disk.
    Group(LeaveId),
    /// Writes past the cache, once they have begun.
    Overwrite(Option<LeaveId>),
}

/// What disks do for the tier: one transfer, or one after the other, so that what is urgent can go in between.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) purpose: Purpose,
    /// Pages of a group, with the times at which they are in the buffer; in the order of their addresses.
    pages: Vec<(Lpn, Time)>,
    /// The first of them that is yet to be written.
    next: usize,
    /// Requests that wait for it, once for each of their parts, each with the time before which it is not answered.
    pub(super) waiters: Vec<Finished>,
    /// Transfers for which it has given way since its last.
    gave_way: u32,
}

/// A transfer that is to begin later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Later {
    pub(super) at: Time,
    /// Of transfers for the same time, the one that was thought of first goes first.
    number: u64,
    job: u32,
    first: u64,
    pages: u32,
    write: bool,
}

/// For so many transfers of others a group gives way at most, so that it comes to an end on disks that are never idle.
const GIVE_WAY_MAX: u32 = 16;

impl Hybrid {
    pub(super) fn begin_job(&mut self, purpose: Purpose, pages: Vec<(Lpn, Time)>) -> u32 {
        let job = Job { purpose, pages, next: 0, waiters: Vec::new(), gave_way: 0 };
        let id = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() as u32 - 1
        });
        self.jobs[id as usize] = Some(job);
        id
    }

    pub(super) fn job(&mut self, id: u32) -> &mut Job {
        self.jobs[id as usize].as_mut().expect("it has not ended")
    }

    /// Has a disk asked at `at`, which is not before the present.
    pub(super) fn ask(&mut self, job: u32, direction: Direction, first: Lpn, pages: u32, at: Time) {
        let first = u64::from(first.get());
        if at <= self.now {
            self.disks.submit(direction, first, pages, job, self.now);
            return;
        }
        self.numbered += 1;
        let write = direction == Direction::Write;
        self.later.push(Reverse(Later { at, number: self.numbered, job, first, pages, write }));
    }

    /// Sends groups that the tier has read into its buffer on their way. The last of their jobs.
    #[inline]
    pub(super) fn send_groups(&mut self) -> Option<u32> {
        if self.destages.is_empty() { None } else { self.send_groups_now() }
    }

    fn send_groups_now(&mut self) -> Option<u32> {
        let destages = std::mem::take(&mut self.destages);
        let mut last = None;
        for group in destages.chunk_by(|one, other| one.0 == other.0) {
            let pages = group.iter().map(|&(_, page, read)| (page, known(read))).collect();
            let job = self.begin_job(Purpose::Group(LeaveId::new(group[0].0)), pages);
            self.continue_group(job);
            last = Some(job);
        }
        self.tier.started().for_each(drop);
        self.destages = destages;
        self.destages.clear();
        last
    }

    /// Has the disk write the next pages of a group that are neighbours, or lets others go first; false where none is left.
    fn continue_group(&mut self, id: u32) -> bool {
        let Self { jobs, tier, disks, .. } = self;
        let job = jobs[id as usize].as_mut().expect("it has not ended");
        let Purpose::Group(group) = job.purpose else { return false };
        let rest = &job.pages[job.next..];
        let Some(skipped) = rest.iter().position(|&(page, _)| tier.leaves(group, page)) else { return false };
        let rest = &rest[skipped..];
        let ((first, mut at), mut pages) = (rest[0], 1);
        if tier.gives_way(group) && !disks.is_idle(u64::from(first.get())) && job.gave_way < GIVE_WAY_MAX {
            job.gave_way += 1;
            debug_assert!(self.waiting.is_none(), "one group at a time gives way");
            self.waiting = Some(id);
            return true;
        }
        job.gave_way = 0;
        for &(page, read) in &rest[1..] {
            if page.get() != first.get() + pages || !tier.leaves(group, page) {
                break;
            }
            at = at.max(read);
            pages += 1;
        }
        job.next += skipped + pages as usize;
        self.ask(id, Direction::Write, first, pages, at);
        true
    }

    /// A transfer of a job was done at `at`.
    fn transferred(&mut self, id: u32, at: Time, finished: &mut Vec<Finished>) {
        if self.continue_group(id) {
            return;
        }
        let job = self.jobs[id as usize].take().expect("it has not ended");
        self.free.push(id);
        let media = &mut Simulated { timeline: &mut self.timeline, destages: &mut self.destages };
        let start = When::at(at);
        let mut answer = at;
        match job.purpose {
            Purpose::Fetch(None) => {}
            Purpose::Fetch(Some(fetch)) => self.tier.fetched(fetch, start, media),
            Purpose::Group(group) => {
                // Who waited for room need not wait for the journal.
                self.tier.destaged(group, start, media);
            }
            Purpose::Overwrite(id) => {
                let id = id.expect("it has begun");
                answer = answer.max(known(self.tier.overwritten(id, start, media)));
            }
        }
        finished.extend(job.waiters.iter().map(|waiter| Finished { at: answer.max(waiter.at), ..*waiter }));
        self.send_groups();
    }

    /// Passes time to the next event, which is due at `at`.
    pub(super) fn step_to(&mut self, at: Time, finished: &mut Vec<Finished>) {
        self.now = at;
        // What the disk finishes comes first: it may then choose among all that has come.
        if self.disks.next_event() == Some(at) {
            if let Some(Answered { tag, at, service }) = self.disks.step() {
                *match self.job(tag).purpose {
                    Purpose::Fetch(Some(_)) => &mut self.disk_use.fetched_ns,
                    Purpose::Group(_) => &mut self.disk_use.destaged_ns,
                    Purpose::Fetch(None) | Purpose::Overwrite(_) => &mut self.disk_use.past_ns,
                } += service.ns;
                self.transferred(tag, at, finished);
            }
            if let Some(group) = self.waiting.take() {
                self.transferred(group, at, finished);
            }
        } else if let Some(Reverse(Later { job, first, pages, write, .. })) = self.later.pop() {
            let direction = if write { Direction::Write } else { Direction::Read };
            self.disks.submit(direction, first, pages, job, at);
        }
    }
}
