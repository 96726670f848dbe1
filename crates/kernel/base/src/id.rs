//! Typed ids: the id of a physical page cannot index a table of logical pages.
//!
//! An id is stored as `index + 1` in a `NonZeroU32`, so `Option<Id>` takes four bytes: this halves the
//! mapping tables.

use crate::huge_pages;
use crate::save::{self, Save, Saved};
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A typed index into a dense table.
pub trait Index: Copy + Eq + Ord {
    /// The largest index of an id: the size of the largest table minus one.
    const INDEX_MAX: usize = u32::MAX as usize - 1;
    /// The id of `index`; panics above [`Index::INDEX_MAX`].
    fn from_index(index: usize) -> Self;
    /// The index in its table.
    fn index(self) -> usize;
}

/// Define an id type: `id_type!(/** A logical page. */ Lpn);`
#[macro_export]
macro_rules! id_type {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, $crate::Save)]
        pub struct $name(::core::num::NonZeroU32);

        impl $name {
            /// The id of `index`; panics if `index` is `u32::MAX`.
            #[inline(always)]
            #[must_use]
            pub const fn new(index: u32) -> Self {
                match ::core::num::NonZeroU32::new(index.wrapping_add(1)) {
                    Some(raw) => Self(raw),
                    None => panic!("index too large for an id"),
                }
            }

            /// The index in its table.
            #[inline(always)]
            #[must_use]
            pub const fn get(self) -> u32 {
                self.0.get() - 1
            }
        }

        impl $crate::Index for $name {
            #[inline(always)]
            fn from_index(index: usize) -> Self {
                debug_assert!(index <= <Self as $crate::Index>::INDEX_MAX);
                Self::new(index as u32)
            }
            #[inline(always)]
            fn index(self) -> usize {
                self.get() as usize
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.get())
            }
        }
    };
}

id_type!(
    /// A logical page: the unit of data of host, caches, FTL and disk.
    Lpn
);

/// A table indexed by one type of ids.
#[derive(Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Index, T> IdVec<I, T> {
    /// Create a table of `len` copies of `value`.
    pub fn filled(value: T, len: usize) -> Self
    where
        T: Clone,
    {
        Self { items: huge_pages::table(value, Self::checked(len)), id: PhantomData }
    }

    /// Create a table of `len` zeros. What is never touched takes no memory.
    pub fn zeros(len: usize) -> Self
    where
        T: Clone + Default,
    {
        Self { items: huge_pages::zeros(Self::checked(len)), id: PhantomData }
    }

    fn checked(len: usize) -> usize {
        assert!(len <= I::INDEX_MAX + 1, "table of {len} entries: ids hold at most {}", I::INDEX_MAX + 1);
        len
    }

    /// All ids of the table, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// Ask for the memory of the item of `id`, which is needed soon ([`prefetch`](crate::prefetch)).
    #[inline(always)]
    pub fn prefetch(&self, id: I) {
        crate::prefetch::prefetch(&self.items, id.index());
    }
}

impl<I, T: Save> Save for IdVec<I, T> {
    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        save::save_all(self.iter(), out)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        save::restore_all(self, from)
    }

    fn heap_bytes(&self) -> usize {
        save::heap_bytes_of(self.items.capacity(), self.items.iter())
    }
}

impl<I, T: Saved> Saved for IdVec<I, T> {
    fn load(from: &mut dyn Read) -> io::Result<Self> {
        Ok(Self { items: Saved::load(from)?, id: PhantomData })
    }
}

impl<I, T> Deref for IdVec<I, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<I, T> DerefMut for IdVec<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<I: Index, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> Self {
        Self { items: items.into_iter().collect(), id: PhantomData }
    }
}

impl<I: Index, T> std::ops::Index<I> for IdVec<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Index, T> std::ops::IndexMut<I> for IdVec<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T: std::fmt::Debug> std::fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.items.fmt(f)
    }
}

/// A map from ids to ids, empty at first. It is a dense table; what was never touched of it takes no memory.
#[derive(Clone, Save)]
pub struct IdMap<I, J> {
    /// 0, or the index of the entry plus one.
    entries: IdVec<I, u32>,
    to: PhantomData<fn() -> J>,
}

impl<I: Index, J: Index> IdMap<I, J> {
    /// Create an empty map for `len` ids.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { entries: IdVec::zeros(len), to: PhantomData }
    }

    #[inline(always)]
    fn entry(number: u32) -> Option<J> {
        (number != 0).then(|| J::from_index((number - 1) as usize))
    }

    /// The entry of an id.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, id: I) -> Option<J> {
        Self::entry(self.entries[id])
    }

    /// Enter an id, and return its entry before.
    #[inline(always)]
    pub fn insert(&mut self, id: I, to: J) -> Option<J> {
        Self::entry(std::mem::replace(&mut self.entries[id], to.index() as u32 + 1))
    }

    /// Remove the entry of an id, and return it.
    #[inline(always)]
    pub fn remove(&mut self, id: I) -> Option<J> {
        Self::entry(std::mem::take(&mut self.entries[id]))
    }

    /// The number of entries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.iter().filter(|&&number| number != 0).count()
    }

    /// Ask for the memory of the entry of an id, which is needed soon ([`prefetch`](crate::prefetch)).
    #[inline(always)]
    pub fn prefetch(&self, id: I) {
        self.entries.prefetch(id);
    }
}

/// A set of ids, empty at first, with a bit for each id below a bound. No other id is ever in it.
#[derive(Clone, Debug, Save)]
pub struct IdSet<I> {
    words: Vec<u64>,
    id: PhantomData<fn(I)>,
}

impl<I: Index> IdSet<I> {
    /// Create an empty set for `len` ids.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], id: PhantomData }
    }

    /// Whether an id is in the set.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, id: I) -> bool {
        self.words.get(id.index() / 64).is_some_and(|word| word >> (id.index() % 64) & 1 == 1)
    }

    /// Put an id into the set or out of it. A set for no ids, of what is not tracked, takes none.
    #[inline(always)]
    pub fn set(&mut self, id: I, is_in: bool) {
        debug_assert!(self.words.is_empty() || id.index() / 64 < self.words.len(), "an id beyond the bound");
        if let Some(word) = self.words.get_mut(id.index() / 64) {
            *word = *word & !(1 << (id.index() % 64)) | u64::from(is_in) << (id.index() % 64);
        }
    }

    /// Take all ids out of the set.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The words of the set.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "ids are public")]
mod tests {
    use super::*;

    id_type!(
        /// An apple.
        Apple
    );

    #[test]
    fn a_set_has_the_ids_that_were_put_in_last() {
        let mut apples = IdSet::new(130);
        let found =
            |apples: &IdSet<Apple>| (0..200).filter(|&n| apples.contains(Apple::new(n))).collect::<Vec<_>>();
        [0, 63, 64, 129, 64].into_iter().for_each(|number| apples.set(Apple::new(number), true));
        apples.set(Apple::new(63), false);
        assert_eq!(found(&apples), [0, 64, 129]);
        assert_eq!(apples.words(), [1, 1, 2]);
        apples.clear();
        assert!(found(&apples).is_empty());
        let mut none = IdSet::new(0);
        none.set(Apple::new(5), true);
        assert!(found(&none).is_empty(), "what is not tracked");
    }

    #[test]
    fn an_optional_id_costs_nothing() {
        assert_eq!(size_of::<Option<Apple>>(), 4);
    }

    #[test]
    fn ids_keep_their_index_up_to_the_last() {
        for index in [0, 1, 77, u32::MAX - 1] {
            assert_eq!(Apple::new(index).get(), index);
        }
    }

    #[test]
    #[should_panic(expected = "too large")]
    fn the_one_index_without_an_id_is_refused() {
        let _ = Apple::new(u32::MAX);
    }

    #[test]
    fn a_table_is_indexed_by_its_id() {
        let mut table: IdVec<Apple, u8> = IdVec::filled(0, 3);
        table[Apple::new(2)] = 9;
        assert_eq!(&*table, &[0, 0, 9]);
        assert_eq!(table.ids().map(Apple::get).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_map_has_what_was_entered_last() {
        let mut map: IdMap<Apple, Apple> = IdMap::new(3);
        let [first, last] = [0, u32::MAX - 1].map(Apple::new);
        assert_eq!((map.get(first), map.insert(first, last)), (None, None));
        assert_eq!((map.insert(first, first), map.get(first), map.count()), (Some(last), Some(first), 1));
        assert_eq!((map.remove(first), map.remove(first), map.count()), (Some(first), None, 0));
    }
}
