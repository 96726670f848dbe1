//! Disk schedulers: the choice of the next waiting transfer. Transfers that share sectors are not reordered if one of
//! them writes, so that a read always returns the data written last.

use super::Disk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Shortest seek time first: the transfer nearest to the arm. Ties are first come, first served.
    Sstf,
    /// Upward from the arm to the last waiting transfer, then downward, and so on (LOOK).
    Elevator,
}

/// Choose the index of the transfer to serve next; `None` if none waits.
pub(super) fn choose(disk: &mut Disk) -> Option<usize> {
    if disk.waiting.len() < 2 {
        return (!disk.waiting.is_empty()).then_some(0);
    }
    let waiting = &disk.waiting;
    let may_go = |&index: &usize| {
        waiting.range(..index).all(|earlier| !earlier.transfer.conflicts(&waiting[index].transfer))
    };
    let position = |index: usize| disk.mechanics.position(waiting[index].transfer.first);
    let free = || (0..waiting.len()).filter(may_go);
    let above =
        || free().filter(|&index| position(index) >= disk.position).min_by_key(|&index| position(index));
    let below = || {
        free().filter(|&index| position(index) <= disk.position).min_by_key(|&index| Reverse(position(index)))
    };
    match disk.scheduler {
        Scheduler::Fcfs => Some(0),
        Scheduler::Sstf => free().min_by_key(|&index| position(index).abs_diff(disk.position)),
        Scheduler::Elevator => {
            let (ahead, behind) = if disk.upward { (above(), below()) } else { (below(), above()) };
            if ahead.is_none() {
                disk.upward = !disk.upward;
            }
            ahead.or(behind)
        }
    }
}
