//! Which change is seen where: ranges of bytes, and above each other those of higher ranks.

use crate::order::Id;
use std::collections::BTreeMap;
use std::ops::Range;

/// A visible range of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The change.
    pub id: Id,
    /// Its bytes.
    pub range: Range<u64>,
}

/// Disjoint ranges by their first byte: their end, rank, and change.
#[derive(Clone, Debug, Default)]
pub struct Painted(BTreeMap<u64, (u64, usize, Id)>);

impl Painted {
    /// The parts of a range above which nothing of a higher rank lies.
    #[must_use]
    pub fn visible(&self, range: Range<u64>, rank: usize) -> Vec<Range<u64>> {
        let (mut parts, mut from) = (Vec::new(), range.start);
        for (start, (end, above, _)) in self.touched(&range) {
            if above > rank {
                if from < start {
                    parts.push(from..start);
                }
                from = from.max(end);
            }
        }
        if from < range.end {
            parts.push(from..range.end);
        }
        parts
    }

    /// Paint a range of a change over all of lower rank; returns what is seen of it.
    pub fn paint(&mut self, range: Range<u64>, rank: usize, id: Id) -> Vec<Range<u64>> {
        let parts = self.visible(range, rank);
        for part in &parts {
            let touched: Vec<_> = self.touched(part).collect();
            for (start, (end, below, other)) in touched {
                self.0.remove(&start);
                if start < part.start {
                    self.0.insert(start, (part.start, below, other));
                }
                if part.end < end {
                    self.0.insert(part.end, (end, below, other));
                }
            }
            self.0.insert(part.start, (part.end, rank, id));
        }
        parts
    }

    /// The pieces, in the order of their ranks.
    #[must_use]
    pub fn pieces(self) -> Vec<Piece> {
        let mut pieces: Vec<_> = self.0.into_iter().collect();
        pieces.sort_by_key(|&(start, (_, rank, _))| (rank, start));
        pieces.into_iter().map(|(start, (end, _, id))| Piece { id, range: start..end }).collect()
    }

    fn touched(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, (u64, usize, Id))> + use<'_> {
        let (from, to) = (range.start, range.end);
        let first = self.0.range(..=from).next_back().map_or(from, |(&start, _)| start);
        let all = self.0.range(first..to).map(|(&start, &value)| (start, value));
        all.filter(move |&(_, (end, ..))| end > from)
    }
}
