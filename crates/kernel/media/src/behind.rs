//! Disks behind the flash of a timeline, and the transfers not yet begun.
//!
//! Later transfers (a group still to be read from flash, a write that waits for the journal) wait here, so
//! that the disks see transfers in the order of time.

use crate::Cause;
use crate::contract::Transfer;
use crate::disk::{Answered, Disks};
use crate::moment::{Finished, Tag};
use coflash_base::{Duration, Save, Slab, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A transfer, and the tag to report at its end.
#[derive(Clone, Copy, Debug, Save)]
struct Tagged {
    transfer: Transfer,
    tag: u32,
}

/// Disks behind flash.
#[derive(Clone, Save)]
#[save(in_place)]
pub(crate) struct Behind {
    pub(crate) disks: Disks,
    now: Time,
    /// The end of the last transfer.
    pub(crate) busy_until: Time,
    /// Later transfers by their time; ties in the order of submission.
    later: BinaryHeap<Reverse<(Time, u64, u32)>>,
    asked: u64,
    /// The current and the later transfers.
    transfers: Slab<Tagged>,
    /// The tag of a transfer that yields until the next event of the disks, and whether that event has come.
    yielding: Option<u32>,
    others_served: bool,
    time: [Duration; Cause::ALL.len()],
}

impl Behind {
    pub(crate) fn new(disks: Disks) -> Self {
        Self {
            disks,
            now: Time::ZERO,
            busy_until: Time::ZERO,
            later: BinaryHeap::new(),
            asked: 0,
            transfers: Slab::default(),
            yielding: None,
            others_served: false,
            time: [Duration::ZERO; Cause::ALL.len()],
        }
    }

    pub(crate) fn pass_to(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// The time spent on finished transfers for a cause.
    pub(crate) fn time(&self, cause: Cause) -> Duration {
        self.time[cause as usize]
    }

    /// Submit a transfer to the disks at `at`.
    pub(crate) fn ask(&mut self, transfer: Transfer, at: Time, tag: u32) {
        let number = self.transfers.put(Tagged { transfer, tag });
        if at > self.now {
            self.asked += 1;
            self.later.push(Reverse((at, self.asked, number)));
        } else {
            self.submit(number);
        }
    }

    fn submit(&mut self, number: u32) {
        let tagged = self.transfers.get(number).expect("it is under way");
        let Transfer { direction, first, pages, .. } = tagged.transfer;
        self.disks.submit(direction, first, pages, number, self.now);
    }

    pub(crate) fn after_others(&mut self, tag: u32) {
        debug_assert!(self.yielding.is_none(), "one transfer at a time yields");
        self.yielding = Some(tag);
    }

    pub(crate) fn next_event(&self) -> Option<Time> {
        if self.others_served && self.yielding.is_some() {
            return Some(self.now);
        }
        let later = self.later.peek().map(|Reverse((at, ..))| *at);
        [self.disks.next_event(), later].into_iter().flatten().min()
    }

    /// Advance time to the next event, if there is one.
    pub(crate) fn step(&mut self, finished: &mut Vec<Finished>) {
        // The finished part of the disks is reported before the transfer that yielded to it.
        if std::mem::take(&mut self.others_served)
            && let Some(tag) = self.yielding.take()
        {
            finished.push(Finished { tag: Tag::Level(tag), at: self.now });
            return;
        }
        let Some(at) = self.next_event() else { return };
        self.now = at;
        // Finished transfers come first: the disk then chooses among all waiting ones.
        if self.disks.next_event() == Some(at) {
            if let Some(Answered { tag: number, at, service }) = self.disks.step() {
                let Tagged { transfer, tag } = self.transfers.take(number);
                let time = &mut self.time[transfer.cause as usize];
                *time = *time + service;
                self.busy_until = at;
                finished.push(Finished { tag: Tag::Level(tag), at });
            }
            self.others_served = true;
        } else if let Some(Reverse((_, _, number))) = self.later.pop() {
            self.submit(number);
        }
    }
}

impl std::fmt::Debug for Behind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} disks at {:?}", self.disks.count(), self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Direction;
    use serde_json::json;

    /// One disk: a page takes two microseconds, wherever it lies.
    fn disks(scheduler: &str) -> Disks {
        let model = json!({
            "name": "constant",
            "capacity": "4MiB",
            "read_positioning": "1us",
            "write_positioning": "1us",
            "bandwidth_per_s": "4096MB",
        });
        let config = json!({ "model": model, "scheduler": scheduler });
        Disks::new(&coflash_base::read::read(&config).expect("disks"), 4096).expect("disks")
    }

    const SERVICE_US: u64 = 2;

    fn at(us: u64) -> Time {
        Time { ns: us * 1000 }
    }

    /// Request a read of a page at a time.
    fn ask(behind: &mut Behind, page: u64, us: u64, tag: u32) {
        let transfer = Transfer { direction: Direction::Read, first: page, pages: 1, cause: Cause::Host };
        behind.ask(transfer, at(us), tag);
    }

    /// The tags reported from now on, with the microseconds of their reports.
    fn told(behind: &mut Behind) -> Vec<(u32, u64)> {
        let mut finished = Vec::new();
        while let Some(next) = behind.next_event() {
            behind.step(&mut finished);
            assert_eq!(behind.now, next, "an event comes when it was said to");
        }
        let tag = |finished: &Finished| match finished.tag {
            Tag::Level(tag) => (tag, finished.at.ns / 1000),
            Tag::Part(tag) => panic!("part {tag} is no level's"),
        };
        finished.iter().map(tag).collect()
    }

    #[test]
    fn transfers_begin_in_the_order_of_their_times_and_at_the_same_time_of_asking() {
        let mut behind = Behind::new(disks("fcfs"));
        for (us, tag) in [(9, 1), (3, 2), (3, 3), (0, 4)] {
            ask(&mut behind, tag.into(), us, tag);
        }
        assert_eq!(told(&mut behind), [(4, 2), (2, 5), (3, 7), (1, 11)]);
        assert_eq!(behind.busy_until, at(11));
        assert_eq!(behind.time(Cause::Host), Duration { ns: 4 * SERVICE_US * 1000 });
        assert_eq!(behind.time(Cause::Destage), Duration::ZERO);
    }

    /// None of the transfers that a disk chooses among arrived only at the time of the choice.
    #[test]
    fn a_disk_that_is_done_chooses_before_more_comes_at_the_same_time() {
        let mut behind = Behind::new(disks("sstf"));
        ask(&mut behind, 0, 0, 1);
        ask(&mut behind, 900, 0, 2);
        ask(&mut behind, 1, SERVICE_US, 3);
        assert_eq!(told(&mut behind), [(1, 2), (2, 4), (3, 6)]);
    }

    #[test]
    fn what_gives_way_is_told_after_the_next_event_of_the_disks_and_not_of_what_begins() {
        let mut behind = Behind::new(disks("fcfs"));
        ask(&mut behind, 0, 0, 1);
        ask(&mut behind, 1, 1, 2);
        behind.after_others(7);
        assert_eq!(told(&mut behind), [(1, 2), (7, 2), (2, 4)]);
    }
}
