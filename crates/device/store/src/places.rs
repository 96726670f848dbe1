//! The places of the data file, a page each: data that the last sync point refers to is not overwritten.
//!
//! Flash pages and slots with the same data share its place: a copy by GC, or an eviction from a slot, moves no bytes.

use crate::sabotage::{Sabotage, is_sabotaged};
use std::collections::BTreeSet;

/// Set in the state of a place that was taken since the last sync point.
const FRESH: u32 = 1 << 31;

/// The uses of all places.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// By place: the number of pages and slots with its data, and [`FRESH`].
    states: Vec<u32>,
    /// Places from this one on were never used.
    end: u32,
    free: Vec<u32>,
    fresh: Vec<u32>,
    /// Fresh places with data that does not match its checksum: it was damaged before.
    damaged: BTreeSet<u32>,
    /// Released since the journal was last written, and taken since the last sync point.
    until_write: Vec<u32>,
    /// Released, but the last sync point refers to them.
    until_sync: Vec<u32>,
}

impl Places {
    /// Create the places 0 to `count`, with the place of each page and each slot.
    pub(crate) fn new(count: u32, in_use: impl Iterator<Item = u32>) -> Self {
        let mut states = vec![0; count as usize];
        let mut end = 0;
        for place in in_use {
            states[place as usize] += 1;
            end = end.max(place + 1);
        }
        let free = (0..end).rev().filter(|&place| states[place as usize] == 0).collect();
        Self { states, end, free, ..Self::default() }
    }

    /// Take the free place released last: it is most likely in memory. `None` if there is none before the
    /// next sync point. `is_damaged` tells whether its data will not match the checksum.
    pub(crate) fn take(&mut self, is_damaged: bool) -> Option<u32> {
        let never_used = || (self.end < self.states.len() as u32).then_some(self.end);
        let place = self.free.pop().or_else(never_used)?;
        self.end = self.end.max(place + 1);
        let state = &mut self.states[place as usize];
        if *state & FRESH == 0 {
            self.fresh.push(place);
        }
        *state = FRESH | 1;
        if is_damaged {
            self.damaged.insert(place);
        } else {
            self.damaged.remove(&place);
        }
        Some(place)
    }

    /// Take a place once more, for a page or a slot with the same data.
    pub(crate) fn share(&mut self, place: u32) {
        if !is_sabotaged(Sabotage::UncountedCopy) {
            self.states[place as usize] += 1;
        }
    }

    /// Release a place once.
    pub(crate) fn release(&mut self, place: u32) {
        let state = &mut self.states[place as usize];
        *state -= 1;
        let until = match *state {
            0 | FRESH if is_sabotaged(Sabotage::EarlyReuse) => &mut self.free,
            0 => &mut self.until_sync,
            FRESH => &mut self.until_write,
            _ => return,
        };
        until.push(place);
    }

    /// Whether its data was written since the last sync point, and matches its checksum.
    pub(crate) fn is_new(&self, place: u32) -> bool {
        let state = self.states[place as usize];
        let is_checked = state == FRESH | 1 || !is_sabotaged(Sabotage::UncheckedCopy);
        state & FRESH != 0 && !self.damaged.contains(&place) && is_checked
    }

    /// Note that the journal has all releases.
    pub(crate) fn written(&mut self) {
        self.free.append(&mut self.until_write);
    }

    /// Note that all releases are durable.
    pub(crate) fn synced(&mut self) {
        self.written();
        // They are taken from the end: adjacent ones in ascending order, which are written as one.
        self.until_sync.sort_unstable_by(|one, other| other.cmp(one));
        self.free.append(&mut self.until_sync);
        for place in self.fresh.drain(..) {
            self.states[place as usize] &= !FRESH;
        }
        self.damaged.clear();
    }

    /// The number of places that can be taken now.
    pub(crate) fn free(&self) -> usize {
        self.free.len() + self.states.len() - self.end as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_places_are_taken_in_the_order_of_the_file() {
        let mut places = Places::new(20, [2, 4, 9].into_iter());
        let taken = |places: &mut Places| std::iter::from_fn(|| places.take(false)).collect::<Vec<_>>();
        let free = taken(&mut places);
        assert!(free.is_sorted() && free.len() == 17, "after opening: {free:?}");
        places.synced();
        [7, 2, 19, 8, 4, 9].iter().for_each(|&place| places.release(place));
        assert_eq!(places.take(false), None, "the last sync point refers to them");
        places.synced();
        assert_eq!(taken(&mut places), [2, 4, 7, 8, 9, 19]);
    }
}
