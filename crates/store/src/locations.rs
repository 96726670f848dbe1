//! Places for data in the data file: data that the last sync point refers to is not overwritten.

use crate::sabotage::{Sabotage, is_sabotaged};

/// The free places of a kind, such as the extents of blocks.
#[derive(Debug)]
pub(crate) struct Locations {
    free: Vec<u32>,
    /// By place: whether it was taken since the last sync point.
    is_fresh: Vec<bool>,
    fresh: Vec<u32>,
    /// Released since the journal was last written, and taken since the last sync point.
    until_write: Vec<u32>,
    /// Released, but the last sync point refers to them.
    until_sync: Vec<u32>,
}

impl Locations {
    /// Create the places 0 to `count`, all of them free but for those `in_use`.
    pub(crate) fn new(count: u32, in_use: impl Iterator<Item = u32>) -> Self {
        let mut is_used = vec![false; count as usize];
        in_use.for_each(|place| is_used[place as usize] = true);
        // The first place is on top.
        let free = (0..count).rev().filter(|&place| !is_used[place as usize]).collect();
        Self {
            free,
            is_fresh: vec![false; count as usize],
            fresh: Vec::new(),
            until_write: Vec::new(),
            until_sync: Vec::new(),
        }
    }

    /// Take the free place released last: it is most likely in memory. `None` if there is none before the
    /// next sync point.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let place = self.free.pop()?;
        if !std::mem::replace(&mut self.is_fresh[place as usize], true) {
            self.fresh.push(place);
        }
        Some(place)
    }

    /// Release a place.
    pub(crate) fn release(&mut self, place: u32) {
        let until = if is_sabotaged(Sabotage::EarlyReuse) {
            &mut self.free
        } else if self.is_fresh[place as usize] {
            &mut self.until_write
        } else {
            &mut self.until_sync
        };
        until.push(place);
    }

    /// Note that the journal has all releases.
    pub(crate) fn written(&mut self) {
        self.free.append(&mut self.until_write);
    }

    /// Note that all releases are durable.
    pub(crate) fn synced(&mut self) {
        self.written();
        self.free.append(&mut self.until_sync);
        for place in self.fresh.drain(..) {
            self.is_fresh[place as usize] = false;
        }
    }

    /// The number of places that can be taken now.
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }
}
