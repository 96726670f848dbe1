//! Extents: the holes of a range.

/// The maximal number of extents in a reply, so that its size is bounded.
const MAX_EXTENTS: usize = 16 * 1024;

/// A run of bytes with the same status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its length in bytes.
    pub length: u32,
    /// Whether it is unmapped: it reads as zeros.
    pub hole: bool,
}

/// The extents of a request's range, from its first byte on; adjacent extents of the same status are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    list: Vec<Extent>,
    /// The number of bytes of the range without an extent yet.
    left: u32,
    most: usize,
}

impl Extents {
    /// The maximal size of a reply of extents in bytes.
    pub(crate) const MAX_BYTES: usize = MAX_EXTENTS * size_of::<Extent>();

    /// Create an empty list for a range of `length` bytes, for `one` extent or many.
    pub fn new(length: u32, one: bool) -> Self {
        Self { list: Vec::new(), left: length, most: if one { 1 } else { MAX_EXTENTS } }
    }

    /// Add the status of the next `length` bytes, cut at the end of the range. Returns whether more are
    /// needed.
    pub fn push(&mut self, length: u64, hole: bool) -> bool {
        let length = u32::try_from(length).map_or(self.left, |length| length.min(self.left));
        let full = self.list.len() == self.most;
        match self.list.last_mut() {
            _ if length == 0 => {}
            Some(last) if last.hole == hole => last.length += length,
            _ if full => return false,
            _ => self.list.push(Extent { length, hole }),
        }
        self.left -= length;
        self.left > 0
    }

    /// The extents, in order.
    #[must_use]
    pub fn list(&self) -> &[Extent] {
        &self.list
    }

    /// At least one extent: an unknown range counts as data.
    pub(crate) fn some(mut self) -> Vec<Extent> {
        if self.list.is_empty() {
            self.push(u64::MAX, false);
        }
        self.list
    }

    /// Extents of the whole range: parts without a status count as data.
    pub(crate) fn all(mut self) -> Vec<Extent> {
        self.most = usize::MAX;
        self.push(u64::MAX, false);
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn extent(length: u32, hole: bool) -> Extent {
        Extent { length, hole }
    }

    #[test]
    fn neighbours_of_one_status_are_one_extent_and_the_range_ends_the_last() {
        let mut extents = Extents::new(100, false);
        assert!(extents.push(10, false));
        assert!(extents.push(20, false));
        assert!(extents.push(0, true));
        assert!(extents.push(30, true));
        assert!(!extents.push(u64::MAX, true));
        assert!(!extents.push(1, false));
        assert_eq!(extents.list(), [extent(30, false), extent(70, true)]);
    }

    #[test]
    fn where_one_is_wanted_the_second_is_not_taken() {
        let mut extents = Extents::new(100, true);
        assert!(extents.push(10, true));
        assert!(extents.push(20, true));
        assert!(!extents.push(5, false));
        assert_eq!(extents.list(), [extent(30, true)]);
    }

    #[test]
    fn a_reply_has_a_bounded_number_of_extents() {
        let mut extents = Extents::new(u32::MAX, false);
        let taken = (0..).take_while(|at| extents.push(1, at % 2 == 0)).count();
        assert_eq!(taken, MAX_EXTENTS);
        assert_eq!(extents.list().len(), MAX_EXTENTS);
    }

    #[test]
    fn what_has_no_status_is_data() {
        let mut extents = Extents::new(100, true);
        extents.push(10, true);
        assert_eq!(extents.clone().some(), [extent(10, true)]);
        assert_eq!(extents.all(), [extent(10, true), extent(90, false)]);
        assert_eq!(Extents::new(100, true).some(), [extent(100, false)]);
    }
}
