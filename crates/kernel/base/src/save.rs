//! State that a checkpoint keeps: what a run has become, beside what its scenario makes of it.
//!
//! `#[derive(Save)]` saves all fields of a type in the order of their declaration. What is restored must have been built from
//! the same scenario: tables keep their sizes, and fields that never change are left out. The bytes have no version and no
//! checksum of their own: the file around them has both.

#![allow(
    clippy::disallowed_types,
    reason = "tables by hash are looked up, never listed: their order reaches no result"
)]

use crate::{RandomStream, seed};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ops::Range;

pub use coflash_derive::Save;

/// State that is saved, and restored in place.
pub trait Save {
    /// Write the state.
    ///
    /// # Errors
    /// The error of `out`; state that no file can hold.
    fn save(&self, out: &mut dyn Write) -> io::Result<()>;

    /// Take over the state that was written of an equal value.
    ///
    /// # Errors
    /// The error of `from`; bytes of another value. The value must not be used then.
    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()>;

    /// The heap memory of the state in bytes; zero of what holds none.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// State from which a new value is made.
pub trait Saved: Save + Sized {
    /// Make the value that was written.
    ///
    /// # Errors
    /// See [`Save::restore`].
    fn load(from: &mut dyn Read) -> io::Result<Self>;
}

/// Create the error for bytes of another value.
#[must_use]
pub fn other(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// Create the error for an unknown variant of an enum.
#[must_use]
pub fn no_variant(tag: u8) -> io::Error {
    other(&format!("there is no variant {tag}"))
}

/// Check that the variant that was saved is the one of a value that is restored in place.
///
/// # Errors
/// The error of `from`; another variant.
pub fn same_variant(tag: u8, from: &mut dyn Read) -> io::Result<()> {
    if u8::load(from)? == tag { Ok(()) } else { Err(other("another variant was saved")) }
}

/// Check that as many items were saved as are restored in place.
///
/// # Errors
/// The error of `from`; another number.
pub fn same_count(count: usize, from: &mut dyn Read) -> io::Result<()> {
    if usize::load(from)? == count { Ok(()) } else { Err(other("another number of items was saved")) }
}

/// Implement [`Save`] and [`Saved`] for types whose restored value is a new one: how it is written, how it is read, and the heap
/// memory that it holds, if it does.
macro_rules! made_anew {
    ($(
        impl[$($generics:tt)*] $ty:ty:
            |$value:ident, $out:ident| $save:expr, |$from:ident| $load:expr $(, holds |$held:ident| $bytes:expr)?;
    )*) => {$(
        impl<$($generics)*> Save for $ty {
            #[inline]
            fn save(&self, $out: &mut dyn Write) -> io::Result<()> {
                let $value = self;
                $save
            }

            fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
                *self = Self::load(from)?;
                Ok(())
            }

            $(
                fn heap_bytes(&self) -> usize {
                    let $held = self;
                    $bytes
                }
            )?
        }

        impl<$($generics)*> Saved for $ty {
            #[inline]
            fn load($from: &mut dyn Read) -> io::Result<Self> {
                $load
            }
        }
    )*};
}

macro_rules! numbers {
    ($($number:ty),*) => {
        made_anew! {$(
            impl[] $number: |number, out| out.write_all(&number.to_le_bytes()), |from| {
                let mut bytes = [0; size_of::<Self>()];
                from.read_exact(&mut bytes)?;
                Ok(Self::from_le_bytes(bytes))
            };
        )*}
    };
}

numbers!(u8, u16, u32, u64, u128, usize, i32, i64, f32, f64);

/// Implement [`Save`] and [`Saved`] for types that are saved as another one: how it is made of them, and they of it.
#[macro_export]
macro_rules! saved_as {
    ($($ty:ty as $other:ty: $to:expr, $back:expr;)*) => {$(
        impl $crate::Save for $ty {
            fn save(&self, out: &mut dyn ::std::io::Write) -> ::std::io::Result<()> {
                let to: fn(&Self) -> $other = $to;
                to(self).save(out)
            }

            fn restore(&mut self, from: &mut dyn ::std::io::Read) -> ::std::io::Result<()> {
                *self = $crate::save::Saved::load(from)?;
                Ok(())
            }
        }

        impl $crate::save::Saved for $ty {
            fn load(from: &mut dyn ::std::io::Read) -> ::std::io::Result<Self> {
                let back: fn($other) -> Option<Self> = $back;
                back($crate::save::Saved::load(from)?)
                    .ok_or_else(|| $crate::save::other(concat!("no ", stringify!($ty))))
            }
        }
    )*};
}

saved_as! {
    bool as u8: |&is| is.into(), |number| (number < 2).then_some(number == 1);
    std::num::NonZeroU8 as u8: |number| number.get(), Self::new;
    std::num::NonZeroU16 as u16: |number| number.get(), Self::new;
    std::num::NonZeroU32 as u32: |number| number.get(), Self::new;
    std::num::NonZeroU64 as u64: |number| number.get(), Self::new;
    // Names that a program has: they are few.
    &'static str as String: |text| (*text).to_owned(), |text| Some(text.leak());
    std::cell::Cell<u64> as u64: Self::get, |number| Some(Self::new(number));
    String as Vec<u8>: |text| text.clone().into_bytes(), |bytes| Self::from_utf8(bytes).ok();
    RandomStream as [u64; seed::STREAM_WORDS]: seed::save, |words| Some(seed::restore(words));
}

/// Write the number of items, and the items.
pub(crate) fn save_all<'a, T: Save + 'a>(
    items: impl ExactSizeIterator<Item = &'a T>,
    out: &mut dyn Write,
) -> io::Result<()> {
    items.len().save(out)?;
    for item in items {
        item.save(out)?;
    }
    Ok(())
}

/// The memory of a table with room for this many items, and what its items hold.
pub(crate) fn heap_bytes_of<'a, T: Save + 'a>(
    capacity: usize,
    items: impl IntoIterator<Item = &'a T>,
) -> usize {
    // Of millions of plain items none is asked: what need not be dropped holds nothing.
    let held = if needs_drop::<T>() { items.into_iter().map(Save::heap_bytes).sum() } else { 0 };
    capacity * size_of::<T>() + held
}

/// The memory of a tree, whose nodes are half full at least, or of a table by hash, and what its entries hold.
fn heap_bytes_of_map<'a, K: Save + 'a, V: Save + 'a>(
    entries: impl ExactSizeIterator<Item = (&'a K, &'a V)>,
) -> usize {
    let nodes = 2 * entries.len() * size_of::<(K, V)>();
    nodes + entries.map(|(key, value)| key.heap_bytes() + value.heap_bytes()).sum::<usize>()
}

/// Restore the items of a table in place.
///
/// # Errors
/// See [`Save::restore`]; a table of another size was saved.
pub(crate) fn restore_all<T: Save>(items: &mut [T], from: &mut dyn Read) -> io::Result<()> {
    same_count(items.len(), from)?;
    items.iter_mut().try_for_each(|item| item.restore(from))
}

/// Read as many items as were written.
fn load_all<T: Saved, C: FromIterator<T>>(from: &mut dyn Read) -> io::Result<C> {
    (0..usize::load(from)?).map(|_| T::load(from)).collect()
}

/// Write the number of entries, and the entries.
fn save_map<'a, K: Save + 'a, V: Save + 'a>(
    mut entries: impl ExactSizeIterator<Item = (&'a K, &'a V)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    entries.len().save(out)?;
    entries.try_for_each(|(key, value)| key.save(out).and_then(|()| value.save(out)))
}

made_anew! {
    impl[T] PhantomData<T>: |_value, _out| Ok(()), |_from| Ok(Self);
    impl[T: Saved] VecDeque<T>:
        |items, out| save_all(items.iter(), out),
        |from| load_all(from),
        holds |items| heap_bytes_of(items.capacity(), items);
    impl[T: Saved + Ord] BTreeSet<T>:
        |items, out| save_all(items.iter(), out),
        |from| load_all(from),
        holds |items| heap_bytes_of(2 * items.len(), items);
    // A heap as it lies: a heap of what is in the order of a heap keeps that order, so that equal items come out in the same one.
    impl[T: Saved + Ord] BinaryHeap<T>:
        |heap, out| save_all(heap.as_slice().iter(), out),
        |from| Vec::load(from).map(Self::from),
        holds |heap| heap_bytes_of(heap.capacity(), heap);
    impl[K: Saved + Ord, V: Saved] BTreeMap<K, V>:
        |map, out| save_map(map.iter(), out), |from| load_all(from), holds |map| heap_bytes_of_map(map.iter());
    impl[K: Saved + Eq + Hash, V: Saved, S: BuildHasher + Default] HashMap<K, V, S>:
        |map, out| save_map(map.iter(), out), |from| load_all(from), holds |map| heap_bytes_of_map(map.iter());
    impl[T: Saved] Option<T>:
        |option, out| option.is_some().save(out).and_then(|()| option.iter().try_for_each(|item| item.save(out))),
        |from| bool::load(from)?.then(|| T::load(from)).transpose(),
        holds |option| heap_bytes_of(0, option);
    impl[T: Saved] Range<T>:
        |range, out| range.start.save(out).and_then(|()| range.end.save(out)),
        |from| Ok(T::load(from)?..T::load(from)?);
    impl[T: Saved] Reverse<T>: |reversed, out| reversed.0.save(out), |from| T::load(from).map(Self);
}

impl<T: Saved> Save for Vec<T> {
    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        save_all(self.iter(), out)
    }

    /// Keeps the memory, which may be in huge pages.
    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let len = usize::load(from)?;
        self.clear();
        for _ in 0..len {
            self.push(T::load(from)?);
        }
        Ok(())
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes_of(self.capacity(), self)
    }
}

impl<T: Saved> Saved for Vec<T> {
    fn load(from: &mut dyn Read) -> io::Result<Self> {
        load_all(from)
    }
}

impl<T: Save> Save for Box<[T]> {
    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        save_all(self.iter(), out)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        restore_all(self, from)
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes_of(self.len(), self.iter())
    }
}

impl<T: Saved> Saved for Box<[T]> {
    fn load(from: &mut dyn Read) -> io::Result<Self> {
        load_all(from)
    }
}

impl<T: Save, const N: usize> Save for [T; N] {
    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        self.iter().try_for_each(|item| item.save(out))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.iter_mut().try_for_each(|item| item.restore(from))
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes_of(0, self)
    }
}

impl<T: Saved, const N: usize> Saved for [T; N] {
    fn load(from: &mut dyn Read) -> io::Result<Self> {
        let items = (0..N).map(|_| T::load(from)).collect::<io::Result<Vec<T>>>()?;
        Ok(items.try_into().unwrap_or_else(|_| unreachable!("there are as many items")))
    }
}

impl<T: Save> Save for Box<T> {
    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        (**self).save(out)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        (**self).restore(from)
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes_of(1, [&**self])
    }
}

impl<T: Saved> Saved for Box<T> {
    fn load(from: &mut dyn Read) -> io::Result<Self> {
        T::load(from).map(Self::new)
    }
}

macro_rules! tuples {
    ($(($($item:ident),*))*) => {$(
        impl<$($item: Save),*> Save for ($($item,)*) {
            #[allow(non_snake_case, reason = "each item is named as its type")]
            fn save(&self, out: &mut dyn Write) -> io::Result<()> {
                let ($($item,)*) = self;
                $($item.save(out)?;)*
                Ok(())
            }
            #[allow(non_snake_case, reason = "each item is named as its type")]
            fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
                let ($($item,)*) = self;
                $($item.restore(from)?;)*
                Ok(())
            }

            #[allow(non_snake_case, reason = "each item is named as its type")]
            fn heap_bytes(&self) -> usize {
                let ($($item,)*) = self;
                0 $(+ $item.heap_bytes())*
            }
        }
        impl<$($item: Saved),*> Saved for ($($item,)*) {
            fn load(from: &mut dyn Read) -> io::Result<Self> {
                Ok(($($item::load(from)?,)*))
            }
        }
    )*};
}

tuples!((A, B)(A, B, C));
