//! A doubly linked list over dense ids, without nodes: two links an id (8 bytes), every operation O(1).
//!
//! The list is a ring closed by a sentinel, the id after the last. With it no link is ever absent, so linking and
//! unlinking have no branches.

use coflash_base::{IdVec, Index};

#[derive(Clone, Copy)]
struct Links<I> {
    /// Towards the front.
    prev: I,
    /// Towards the back.
    next: I,
}

/// An ordered list of ids below a fixed bound, each in it at most once.
#[derive(Clone)]
pub struct List<I> {
    /// An id outside the list is linked to itself.
    links: IdVec<I, Links<I>>,
    sentinel: I,
}

impl<I: Index + std::fmt::Debug> List<I> {
    /// An empty list for the ids below `bound`.
    #[must_use]
    pub fn new(bound: u32) -> Self {
        let own = |index| {
            let id = I::from_index(index);
            Links { prev: id, next: id }
        };
        Self { links: (0..=bound as usize).map(own).collect(), sentinel: I::from_index(bound as usize) }
    }

    /// The first id.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<I> {
        let front = self.links[self.sentinel].next;
        (front != self.sentinel).then_some(front)
    }

    /// The last id.
    #[inline]
    #[must_use]
    pub fn back(&self) -> Option<I> {
        let back = self.links[self.sentinel].prev;
        (back != self.sentinel).then_some(back)
    }

    /// The id before one of the list, nearer to the front.
    #[inline]
    #[must_use]
    pub fn before(&self, id: I) -> Option<I> {
        let before = self.links[id].prev;
        (before != self.sentinel).then_some(before)
    }

    /// Whether `id` is in the list.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: I) -> bool {
        self.links[id].next != id
    }

    /// Adds an id that is not in the list.
    #[inline]
    pub fn push_front(&mut self, id: I) {
        debug_assert!(!self.contains(id), "{id:?} is in the list already");
        let second = self.links[self.sentinel].next;
        self.links[id] = Links { prev: self.sentinel, next: second };
        self.links[self.sentinel].next = id;
        self.links[second].prev = id;
    }

    /// Takes out an id that is in the list.
    #[inline]
    pub fn remove(&mut self, id: I) {
        debug_assert!(self.contains(id), "{id:?} is not in the list");
        let Links { prev, next } = self.links[id];
        self.links[prev].next = next;
        self.links[next].prev = prev;
        self.links[id] = Links { prev: id, next: id };
    }

    /// Moves an id of the list to its front.
    #[inline]
    pub fn move_to_front(&mut self, id: I) {
        self.remove(id);
        self.push_front(id);
    }

    /// From the front to the back.
    pub fn iter(&self) -> impl Iterator<Item = I> {
        std::iter::successors(self.front(), |&id| {
            let next = self.links[id].next;
            (next != self.sentinel).then_some(next)
        })
    }

    /// The bytes the list holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.links.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlotId;

    #[test]
    fn order_is_that_of_the_pushes_and_moves() {
        let mut list = List::<SlotId>::new(4);
        assert_eq!((list.front(), list.back()), (None, None));
        let order = |list: &List<SlotId>| list.iter().map(SlotId::get).collect::<Vec<_>>();
        for slot in [0, 3, 1] {
            list.push_front(SlotId::new(slot));
        }
        assert_eq!(order(&list), [1, 3, 0]);
        list.move_to_front(SlotId::new(0));
        list.move_to_front(SlotId::new(0));
        assert_eq!(order(&list), [0, 1, 3]);
        list.remove(SlotId::new(1));
        assert_eq!(order(&list), [0, 3]);
        assert_eq!((list.front(), list.back()), (Some(SlotId::new(0)), Some(SlotId::new(3))));
        assert!(list.contains(SlotId::new(3)) && !list.contains(SlotId::new(1)));
        list.remove(SlotId::new(0));
        list.remove(SlotId::new(3));
        assert_eq!((list.front(), list.back()), (None, None));
    }
}
