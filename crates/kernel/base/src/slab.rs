//! Entries with reusable numbers.

use crate::Save;

/// Entries by number: the number of one that was taken is given again.
#[derive(Clone, Debug, Save)]
pub struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Put an entry, and return its number.
    pub fn put(&mut self, entry: T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() as u32 - 1
        });
        self.entries[number as usize] = Some(entry);
        number
    }

    /// Take an entry.
    ///
    /// # Panics
    /// If it was taken before.
    pub fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.entries[number as usize].take().expect("it was put there and not taken")
    }

    /// An entry.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.entries[number as usize].as_ref()
    }

    /// An entry that was not taken.
    ///
    /// # Panics
    /// If it was.
    pub fn get_mut(&mut self, number: u32) -> &mut T {
        self.entries[number as usize].as_mut().expect("it was put there and not taken")
    }

    /// The entries, each with its number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.entries).filter_map(|(number, entry)| Some((number, entry.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_again_when_its_entry_was_taken() {
        let mut slab = Slab::default();
        assert_eq!(["a", "b", "c"].map(|entry| slab.put(entry)), [0, 1, 2]);
        assert_eq!((slab.take(1), slab.get(1)), ("b", None));
        *slab.get_mut(0) = "d";
        assert_eq!(slab.iter().collect::<Vec<_>>(), [(0, &"d"), (2, &"c")]);
        assert_eq!([slab.put("e"), slab.put("f")], [1, 3]);
    }
}
