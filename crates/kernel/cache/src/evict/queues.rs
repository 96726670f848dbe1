//! Several queues over the slots of a cache.

use crate::slots::SlotId;
use coflash_base::{IdVec, Lists, Save};

/// `N` queues of slots, each slot in one at most, with their lengths. Every method is O(1); 9 bytes per slot.
#[derive(Clone, Save)]
pub(super) struct Queues<const N: usize> {
    lists: Lists<SlotId>,
    queue_of: IdVec<SlotId, u8>,
    lens: [u32; N],
}

impl<const N: usize> Queues<N> {
    /// Create empty queues for a cache of `slots` slots.
    pub(super) fn new(slots: u32) -> Self {
        Self { lists: Lists::new(N as u32, slots), queue_of: IdVec::filled(0, slots as usize), lens: [0; N] }
    }

    /// The number of slots in a queue.
    #[inline]
    pub(super) fn len(&self, queue: usize) -> u32 {
        self.lens[queue]
    }

    /// The queue that a slot is in, or was in last.
    #[inline]
    pub(super) fn queue_of(&self, slot: SlotId) -> usize {
        self.queue_of[slot].into()
    }

    /// The slot that has been in a queue for longest.
    #[inline]
    pub(super) fn back(&self, queue: usize) -> Option<SlotId> {
        self.lists.back(queue as u32)
    }

    /// Put a slot into a queue.
    #[inline]
    pub(super) fn push(&mut self, queue: usize, slot: SlotId) {
        self.lists.push_front(queue as u32, slot);
        self.queue_of[slot] = queue as u8;
        self.lens[queue] += 1;
    }

    /// Take a slot out of its queue and return the queue.
    #[inline]
    pub(super) fn take(&mut self, slot: SlotId) -> usize {
        let queue = self.queue_of(slot);
        self.lists.remove(slot);
        self.lens[queue] -= 1;
        queue
    }

    /// Take a slot out of its queue, and put it into another one or to the front of the same.
    #[inline]
    pub(super) fn move_to(&mut self, queue: usize, slot: SlotId) {
        self.take(slot);
        self.push(queue, slot);
    }

    /// All slots in queues.
    pub(super) fn iter(&self) -> impl Iterator<Item = SlotId> {
        (0..N as u32).flat_map(|queue| self.lists.iter(queue))
    }
}
