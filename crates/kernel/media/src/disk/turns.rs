//! Turns: the order of transfers that share sectors. A write has a turn of its own; the reads that arrive between two
//! writes have theirs together.
//!
//! The sectors of waiting transfers are divided into parts at the beginnings and ends of these. A transfer may go when
//! it is its turn in each of its parts.

use super::{Direction, DiskTransfer};
use coflash_base::Save;
use std::collections::{BTreeMap, VecDeque};

/// Sectors that the same transfers wait for.
#[derive(Clone, Debug, Save)]
struct Part {
    end: u64,
    /// The number of transfers whose turn it is, and their direction.
    going: u32,
    direction: Direction,
    /// The others, by arrival.
    later: VecDeque<(u64, Direction)>,
}

impl Part {
    /// Whether a transfer that comes next may go with those whose turn it is.
    fn lets(&self, direction: Direction) -> bool {
        self.going == 0 || (self.direction, direction) == (Direction::Read, Direction::Read)
    }
}

/// The turns of the waiting transfers of a disk.
#[derive(Clone, Debug, Default, Save)]
pub(super) struct Turns {
    /// The parts, by their first sectors.
    parts: BTreeMap<u64, Part>,
}

impl Turns {
    /// Let a transfer wait for its turn in each of its parts. Returns the number of parts where it has to. Parts are
    /// divided at its ends: `more` is told each transfer that waits in one part more.
    pub(super) fn enter(&mut self, transfer: &DiskTransfer, arrival: u64, mut more: impl FnMut(u64)) -> u32 {
        let (direction, end) = (transfer.direction, transfer.end());
        [transfer.first, end].into_iter().for_each(|at| self.divide(at, &mut more));
        let (mut next, mut missing, mut alone) = (transfer.first, 0, Vec::new());
        for (&first, part) in self.parts.range_mut(transfer.first..end) {
            alone.push(next..first);
            next = part.end;
            if part.later.is_empty() && part.lets(direction) {
                part.going += 1;
            } else {
                part.later.push_back((arrival, direction));
                missing += 1;
            }
        }
        alone.push(next..end);
        for sectors in alone.into_iter().filter(|sectors| !sectors.is_empty()) {
            let part = Part { end: sectors.end, going: 1, direction, later: VecDeque::new() };
            self.parts.insert(sectors.start, part);
        }
        missing
    }

    /// Remove a transfer whose turn it is. `given` is told each transfer that gets its turn in a part.
    pub(super) fn leave(&mut self, transfer: &DiskTransfer, mut given: impl FnMut(u64)) {
        let mut empty = Vec::new();
        for (&first, part) in self.parts.range_mut(transfer.first..transfer.end()) {
            part.going -= 1;
            while let Some(&(arrival, direction)) = part.later.front()
                && part.lets(direction)
            {
                part.later.pop_front();
                (part.going, part.direction) = (part.going + 1, direction);
                given(arrival);
            }
            if part.going == 0 {
                empty.push(first);
            }
        }
        for first in empty {
            self.parts.remove(&first);
        }
    }

    fn divide(&mut self, at: u64, more: &mut impl FnMut(u64)) {
        let Some((_, part)) = self.parts.range_mut(..at).next_back().filter(|(_, part)| part.end > at) else {
            return;
        };
        let after = part.clone();
        part.end = at;
        after.later.iter().for_each(|&(arrival, _)| more(arrival));
        self.parts.insert(at, after);
    }
}
