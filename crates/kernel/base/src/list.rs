//! Doubly linked lists over dense ids, without nodes: two links per id (8 bytes), every operation O(1).
//!
//! A list is a ring with a sentinel. So no link is ever absent, and linking and unlinking have no branches. The
//! sentinels are the ids after the last one, one per list: several lists may share the links of the same ids, if an id
//! is in at most one of them.

use crate::{IdVec, Index, Save};
use std::fmt::Debug;

#[derive(Clone, Copy, Save)]
struct Links<I> {
    /// Towards the front.
    prev: I,
    /// Towards the back.
    next: I,
}

/// The links of ids and sentinels. An id in no list is linked to itself.
#[derive(Clone, Save)]
struct Rings<I>(IdVec<I, Links<I>>);

impl<I: Index + Debug> Rings<I> {
    fn new(bound: usize) -> Self {
        let own = |index| {
            let id = I::from_index(index);
            Links { prev: id, next: id }
        };
        Self((0..bound).map(own).collect())
    }

    #[inline]
    fn front(&self, sentinel: I) -> Option<I> {
        let front = self.0[sentinel].next;
        (front != sentinel).then_some(front)
    }

    #[inline]
    fn back(&self, sentinel: I) -> Option<I> {
        let back = self.0[sentinel].prev;
        (back != sentinel).then_some(back)
    }

    #[inline]
    fn contains(&self, id: I) -> bool {
        self.0[id].next != id
    }

    // The links as a slice: a table would be asked again for its place after each store.
    #[inline(always)]
    fn set(links: &mut [Links<I>], prev: I, id: I, next: I) {
        links[id.index()] = Links { prev, next };
        links[prev.index()].next = id;
        links[next.index()].prev = id;
    }

    /// Link the neighbours of `id` to each other.
    #[inline(always)]
    fn pass_over(links: &mut [Links<I>], id: I) {
        let Links { prev, next } = links[id.index()];
        debug_assert!(next != id, "{id:?} is in no list");
        links[prev.index()].next = next;
        links[next.index()].prev = prev;
    }

    /// Move `id` to the front of the ring of `sentinel`.
    #[inline(always)]
    fn move_to_front(&mut self, sentinel: I, id: I) {
        let links = &mut *self.0;
        Self::pass_over(links, id);
        let first = links[sentinel.index()].next;
        Self::set(links, sentinel, id, first);
    }

    /// Move `id` to the back of the ring of `sentinel`.
    #[inline(always)]
    fn move_to_back(&mut self, sentinel: I, id: I) {
        let links = &mut *self.0;
        Self::pass_over(links, id);
        let last = links[sentinel.index()].prev;
        Self::set(links, last, id, sentinel);
    }

    #[inline]
    fn link(&mut self, prev: I, id: I, next: I) {
        debug_assert!(!self.contains(id), "{id:?} is in a list already");
        Self::set(&mut self.0, prev, id, next);
    }

    #[inline]
    fn unlink(&mut self, id: I) {
        Self::pass_over(&mut self.0, id);
        self.0[id] = Links { prev: id, next: id };
    }

    fn iter(&self, sentinel: I) -> impl Iterator<Item = I> {
        std::iter::successors(self.front(sentinel), move |&id| {
            let next = self.0[id].next;
            (next != sentinel).then_some(next)
        })
    }
}

/// Declare the methods of a list, and of several: those take the number of the list.
macro_rules! methods {
    ($lists:ident($this:ident $(, $list:ident)?) = $sentinel:expr) => {
        impl<I: Index + Debug> $lists<I> {
            /// The first id.
            #[inline]
            #[must_use]
            pub fn front(&$this $(, $list: u32)?) -> Option<I> {
                $this.rings.front($sentinel)
            }

            /// The last id.
            #[inline]
            #[must_use]
            pub fn back(&$this $(, $list: u32)?) -> Option<I> {
                $this.rings.back($sentinel)
            }

            /// Whether `id` is listed.
            #[inline]
            #[must_use]
            pub fn contains(&$this, id: I) -> bool {
                $this.rings.contains(id)
            }

            /// Add an id that is not listed at the front.
            #[inline]
            pub fn push_front(&mut $this $(, $list: u32)?, id: I) {
                let sentinel = $sentinel;
                let second = $this.rings.0[sentinel].next;
                $this.rings.link(sentinel, id, second);
            }

            /// Add an id that is not listed at the back.
            #[inline]
            pub fn push_back(&mut $this $(, $list: u32)?, id: I) {
                let sentinel = $sentinel;
                let last = $this.rings.0[sentinel].prev;
                $this.rings.link(last, id, sentinel);
            }

            /// Remove an id that is listed.
            #[inline]
            pub fn remove(&mut $this, id: I) {
                $this.rings.unlink(id);
            }

            /// Ask for the memory that a move of an id will need ([`prefetch`](crate::prefetch)).
            #[inline(always)]
            pub fn prefetch(&$this, id: I) {
                $this.rings.0.prefetch(id);
            }

            /// Move an id that is listed to the back.
            #[inline(always)]
            pub fn move_to_back(&mut $this $(, $list: u32)?, id: I) {
                $this.rings.move_to_back($sentinel, id);
            }

            /// The ids from the front to the back.
            pub fn iter(&$this $(, $list: u32)?) -> impl Iterator<Item = I> {
                $this.rings.iter($sentinel)
            }
        }
    };
}

/// A linked list of ids below a fixed bound, each at most once.
#[derive(Clone, Save)]
pub struct List<I> {
    rings: Rings<I>,
    sentinel: I,
}

methods!(List(self) = self.sentinel);

impl<I: Index + Debug> List<I> {
    /// Create an empty list for ids below `bound`.
    #[must_use]
    pub fn new(bound: u32) -> Self {
        Self { rings: Rings::new(bound as usize + 1), sentinel: I::from_index(bound as usize) }
    }

    /// The predecessor of an id in the list, towards the front.
    #[inline]
    #[must_use]
    pub fn before(&self, id: I) -> Option<I> {
        let before = self.rings.0[id].prev;
        (before != self.sentinel).then_some(before)
    }

    /// Add an id that is not in the list before one that is, towards the front.
    #[inline]
    pub fn insert_before(&mut self, next: I, id: I) {
        let before = self.rings.0[next].prev;
        self.rings.link(before, id, next);
    }

    /// Move an id of the list to its front.
    #[inline]
    pub fn move_to_front(&mut self, id: I) {
        self.rings.move_to_front(self.sentinel, id);
    }
}

/// Several lists, numbered from 0, of ids below a fixed bound. An id is in at most one of them.
#[derive(Clone, Save)]
pub struct Lists<I> {
    rings: Rings<I>,
    bound: u32,
}

methods!(Lists(self, list) = I::from_index(self.bound as usize + list as usize));

impl<I: Index + Debug> Lists<I> {
    /// Create `lists` empty lists for ids below `bound`.
    #[must_use]
    pub fn new(lists: u32, bound: u32) -> Self {
        Self { rings: Rings::new(bound as usize + lists as usize), bound }
    }

    /// Ask for the memory of an id's neighbours, which are linked to each other when it moves.
    #[inline(always)]
    pub fn prefetch_neighbours(&self, id: I) {
        let Links { prev, next } = self.rings.0[id];
        self.rings.0.prefetch(prev);
        self.rings.0.prefetch(next);
    }
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "ids are public")]
mod tests {
    use super::*;

    crate::id_type!(
        /// A place.
        SlotId
    );

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
        list.move_to_back(SlotId::new(1));
        list.move_to_back(SlotId::new(1));
        assert_eq!(order(&list), [0, 3, 1]);
        list.remove(SlotId::new(1));
        assert_eq!(order(&list), [0, 3]);
        list.insert_before(SlotId::new(0), SlotId::new(2));
        list.insert_before(SlotId::new(3), SlotId::new(1));
        assert_eq!(order(&list), [2, 0, 1, 3]);
        list.remove(SlotId::new(1));
        list.remove(SlotId::new(2));
        assert_eq!((list.front(), list.back()), (Some(SlotId::new(0)), Some(SlotId::new(3))));
        assert!(list.contains(SlotId::new(3)) && !list.contains(SlotId::new(1)));
        list.remove(SlotId::new(0));
        list.remove(SlotId::new(3));
        assert_eq!((list.front(), list.back()), (None, None));
    }

    #[test]
    fn lists_share_their_ids() {
        let mut lists = Lists::<SlotId>::new(3, 4);
        let order = |lists: &Lists<SlotId>, list| lists.iter(list).map(SlotId::get).collect::<Vec<_>>();
        for (list, slot) in [(2, 0), (0, 3), (2, 1)] {
            lists.push_front(list, SlotId::new(slot));
        }
        lists.push_back(0, SlotId::new(2));
        assert_eq!([0, 1, 2].map(|list| order(&lists, list)), [vec![3, 2], vec![], vec![1, 0]]);
        assert_eq!((lists.back(1), lists.back(2)), (None, Some(SlotId::new(0))));
        lists.remove(SlotId::new(0));
        assert!(!lists.contains(SlotId::new(0)));
        lists.push_front(0, SlotId::new(0));
        assert_eq!((order(&lists, 0), order(&lists, 2)), (vec![0, 3, 2], vec![1]));
        lists.move_to_back(0, SlotId::new(3));
        lists.move_to_back(0, SlotId::new(3));
        lists.move_to_back(2, SlotId::new(0));
        lists.move_to_back(1, SlotId::new(2));
        assert_eq!([0, 1, 2].map(|list| order(&lists, list)), [vec![3], vec![2], vec![1, 0]]);
    }
}
