//! Which change is seen where: ranges of bytes, each of the change that lies above all others there.

use crate::order::Id;
use rangemap::{RangeMap, RangeSet};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A visible range of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The change.
    pub id: Id,
    /// Its bytes.
    pub range: Range<u64>,
}

/// Disjoint ranges, and the change of each.
#[derive(Clone, Debug, Default)]
pub struct Painted(RangeMap<u64, Id>);

impl Painted {
    /// The parts of a range where no change lies for which `is_above` holds.
    pub fn visible(&self, range: Range<u64>, is_above: impl Fn(Id) -> bool) -> Vec<Range<u64>> {
        let above = self.0.overlapping(&range).filter(|&(_, &other)| is_above(other));
        let above: RangeSet<u64> = above.map(|(above, _)| above.clone()).collect();
        above.gaps(&range).collect()
    }

    /// Paint a range of a change over all that does not lie above it; returns what is seen of it.
    pub fn paint(&mut self, range: Range<u64>, id: Id, is_above: impl Fn(Id) -> bool) -> Vec<Range<u64>> {
        let parts = self.visible(range, is_above);
        for part in &parts {
            self.0.insert(part.clone(), id);
        }
        parts
    }

    /// The pieces.
    pub fn pieces(self) -> impl Iterator<Item = Piece> {
        self.0.into_iter().map(|(range, id)| Piece { id, range })
    }
}
