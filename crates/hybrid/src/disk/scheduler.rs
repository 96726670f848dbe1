//! Which of the waiting transfers a disk serves next. None overtakes one that came before and that it shares sectors with,
//! where either writes: what is read is always what was written last.

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
    /// Shortest seek time first: the one nearest to the arm; of equals the one that came first.
    Sstf,
    /// Upward from the arm to the last that waits there, then downward, and so on.
    Elevator,
}

/// The index of the transfer to serve next; none where none waits.
pub(super) fn choose(disk: &mut Disk) -> Option<usize> {
    if disk.scheduler == Scheduler::Fcfs || disk.waiting.len() < 2 {
        return (!disk.waiting.is_empty()).then_some(0);
    }
    let waiting = &disk.waiting;
    let may_go = |&index: &usize| {
        waiting.range(..index).all(|earlier| !earlier.transfer.conflicts(&waiting[index].transfer))
    };
    let place = |index: usize| disk.mechanics.place(waiting[index].transfer.first);
    let free = || (0..waiting.len()).filter(may_go);
    let above = || free().filter(|&index| place(index) >= disk.place).min_by_key(|&index| place(index));
    let below =
        || free().filter(|&index| place(index) <= disk.place).min_by_key(|&index| Reverse(place(index)));
    match disk.scheduler {
        Scheduler::Fcfs => unreachable!("chosen above"),
        Scheduler::Sstf => free().min_by_key(|&index| place(index).abs_diff(disk.place)),
        Scheduler::Elevator => {
            let (ahead, behind) = if disk.upward { (above(), below()) } else { (below(), above()) };
            if ahead.is_none() {
                disk.upward = !disk.upward;
            }
            ahead.or(behind)
        }
    }
}
