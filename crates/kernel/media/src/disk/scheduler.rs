//! Disk schedulers: the choice of the next waiting transfer. Transfers that share sectors are not reordered if one of
//! them writes, so that a read always returns the data written last.
//!
//! A transfer costs logarithmic time, however many wait: those that may go are kept in the order of their positions.

use super::DiskTransfer;
use super::turns::Turns;
use coflash_base::Save;
use std::collections::BTreeMap;

coflash_base::config! {
    /// The order of service.
    pub enum Scheduler, default Fcfs {
        /// First come, first served.
        Fcfs,
        /// Shortest seek time first: the transfer nearest to the arm. Ties are first come, first served.
        Sstf,
        /// Upward from the arm to the last waiting transfer, then downward, and so on (LOOK).
        Elevator,
    }
}

/// A waiting transfer.
#[derive(Clone, Copy, Debug, Save)]
pub(super) struct Waiting {
    pub(super) transfer: DiskTransfer,
    pub(super) tag: u32,
    /// The position of its first sector.
    pub(super) position: u64,
}

/// The waiting transfers of a disk.
#[derive(Clone, Default, Save)]
pub(super) struct Queue {
    scheduler: Scheduler,
    /// Whether the elevator moves upward.
    upward: bool,
    /// The number of transfers so far.
    arrivals: u64,
    /// The transfers that may go, by position and arrival.
    free: BTreeMap<(u64, u64), Waiting>,
    /// The transfers that wait for earlier ones, by arrival, and the number of turns that each has yet to get.
    blocked: BTreeMap<u64, (Waiting, u32)>,
    turns: Turns,
}

impl Queue {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self { scheduler, upward: true, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.free.len() + self.blocked.len()
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let Self { scheduler, free, blocked, turns, .. } = self;
        if *scheduler == Scheduler::Fcfs {
            free.insert((0, arrival), waiting);
            return;
        }
        let more = |arrival| blocked.get_mut(&arrival).expect("it waits for a turn").1 += 1;
        match turns.enter(&waiting.transfer, arrival, more) {
            0 => free.insert((waiting.position, arrival), waiting).is_none(),
            missing => blocked.insert(arrival, (waiting, missing)).is_none(),
        };
    }

    /// Take the transfer to serve next, with the arm at this position; `None` if none waits.
    pub(super) fn pop(&mut self, arm: u64) -> Option<Waiting> {
        let chosen = self.choose(arm)?;
        let waiting = self.free.remove(&chosen)?;
        if self.scheduler != Scheduler::Fcfs {
            let Self { free, blocked, turns, .. } = self;
            turns.leave(&waiting.transfer, |arrival| {
                let (next, missing) = blocked.get_mut(&arrival).expect("it waits for a turn");
                *missing -= 1;
                if *missing == 0 {
                    free.insert((next.position, arrival), *next);
                    blocked.remove(&arrival);
                }
            });
        }
        Some(waiting)
    }

    fn choose(&mut self, arm: u64) -> Option<(u64, u64)> {
        let from = |position| self.free.range((position, 0)..).next().map(|(&place, _)| place);
        let above = || from(arm);
        // The first to arrive at the nearest position.
        let below = || from(self.free.range(..=(arm, u64::MAX)).next_back()?.0.0);
        match self.scheduler {
            Scheduler::Fcfs => from(0),
            Scheduler::Sstf => [above(), below()]
                .into_iter()
                .flatten()
                .min_by_key(|&(position, arrival)| (position.abs_diff(arm), arrival)),
            Scheduler::Elevator => {
                let (ahead, behind) = if self.upward { (above(), below()) } else { (below(), above()) };
                // One that waits alone is served without a look at the direction.
                if ahead.is_none() && self.len() > 1 {
                    self.upward = !self.upward;
                }
                ahead.or(behind)
            }
        }
    }
}
