//! Ghost lists: the numbers of pages evicted lately.
//!
//! A policy that finds an arriving page among them knows that it was evicted too early.

use crate::shape::CacheShape;
use coflash_base::{IdVec, Lists, Lpn, Save, id_type};

id_type!(
    /// A ghost.
    Ghost
);

/// Ghosts in lists of their own, at most a fixed number in all. 13 bytes per ghost and 4 per logical page.
#[derive(Clone, Save)]
pub(crate) struct Ghosts {
    /// The newest in front; the last list is of unused entries.
    lists: Lists<Ghost>,
    unused: u32,
    list_of: IdVec<Ghost, u8>,
    page_of: IdVec<Ghost, Option<Lpn>>,
    index: IdVec<Lpn, Option<Ghost>>,
    /// The page about to be inserted, and the list that it was in.
    arriving: Option<(Lpn, Option<u8>)>,
}

impl Ghosts {
    /// Create `lists` empty lists of at most `bound` ghosts in all.
    pub(crate) fn new(lists: u8, bound: u32, shape: CacheShape) -> Self {
        let unused = u32::from(lists);
        let mut all = Lists::new(unused + 1, bound);
        (0..bound).map(Ghost::new).for_each(|ghost| all.push_back(unused, ghost));
        // A cache without ghosts needs no index.
        let pages = if bound == 0 { 0 } else { shape.pages as usize };
        Self {
            lists: all,
            unused,
            list_of: IdVec::filled(0, bound as usize),
            page_of: IdVec::filled(None, bound as usize),
            index: IdVec::filled(None, pages),
            arriving: None,
        }
    }

    /// Whether another ghost has no room.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.lists.front(self.unused).is_none()
    }

    /// The ghost of a page.
    #[inline]
    pub(crate) fn find(&self, lpn: Lpn) -> Option<Ghost> {
        self.index.get(lpn.get() as usize).copied().flatten()
    }

    /// The list that a ghost is in.
    #[inline]
    pub(crate) fn list_of(&self, ghost: Ghost) -> u8 {
        self.list_of[ghost]
    }

    /// The ghost that has been in a list for longest.
    #[inline]
    pub(crate) fn oldest(&self, list: u8) -> Option<Ghost> {
        self.lists.back(u32::from(list))
    }

    /// Remember a page that was evicted. Panics if there is no room.
    #[inline]
    pub(crate) fn remember(&mut self, list: u8, lpn: Lpn) {
        if let Some(older) = self.find(lpn) {
            self.forget(older);
        }
        let ghost = self.lists.front(self.unused).expect("room for a ghost");
        self.lists.remove(ghost);
        self.lists.push_front(u32::from(list), ghost);
        self.list_of[ghost] = list;
        self.page_of[ghost] = Some(lpn);
        self.index[lpn] = Some(ghost);
    }

    #[inline]
    pub(crate) fn forget(&mut self, ghost: Ghost) {
        let lpn = self.page_of[ghost].take().expect("it is in use");
        self.index[lpn] = None;
        self.lists.remove(ghost);
        self.lists.push_front(self.unused, ghost);
    }

    /// As [`remember`](Self::remember); if there is no room, the oldest of the list is forgotten.
    #[inline]
    pub(crate) fn remember_latest(&mut self, list: u8, lpn: Lpn) {
        if self.is_full() {
            let Some(oldest) = self.oldest(list) else { return };
            self.forget(oldest);
        }
        self.remember(list, lpn);
    }

    /// A page is about to be inserted: it is a ghost no more. Returns the list that it was in; the same again until
    /// another page arrives.
    #[inline]
    pub(crate) fn arriving(&mut self, lpn: Lpn) -> Option<u8> {
        if let Some((page, list)) = self.arriving
            && page == lpn
        {
            return list;
        }
        let ghost = self.find(lpn);
        let list = ghost.map(|ghost| self.list_of[ghost]);
        if let Some(ghost) = ghost {
            self.forget(ghost);
        }
        self.arriving = Some((lpn, list));
        list
    }

    /// The list that the page about to be inserted was in, if that is known.
    #[inline]
    pub(crate) fn list_of_arriving(&self) -> Option<u8> {
        self.arriving.and_then(|(_, list)| list)
    }

    /// A page was inserted. Returns the list that it was in.
    #[inline]
    pub(crate) fn arrived(&mut self, lpn: Lpn) -> Option<u8> {
        let list = self.arriving(lpn);
        self.arriving = None;
        list
    }
}
