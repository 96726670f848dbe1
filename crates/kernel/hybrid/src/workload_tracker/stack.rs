//! Ghosts of LRU caches of every size in one list.
//!
//! The list holds the pages of a cache of the size of flash in LRU order, divided into segments of equal
//! size. A hit in segment n is a hit of a cache of n segments and a miss of smaller ones, so the counts per
//! segment add up to the hit-rate curve (R. L. Mattson et al., "Evaluation Techniques for Storage
//! Hierarchies", IBM Systems Journal 9(2), 1970). A use costs a step for each segment that the page moves
//! over.
//!
//! Memory: 17 bytes per page of flash and 4 per page of the disks.

use coflash_base::{Ahead, IdMap, IdVec, List, Lpn, Save, id_type};

id_type!(
    /// An entry of a ghost list.
    Ghost
);

/// A segment of a ghost list.
#[derive(Clone, Copy, Debug, Default, Save)]
struct Segment {
    last: Option<Ghost>,
    pages: u32,
    /// Hits, weighted by decay.
    hits: f64,
}

/// Pages in LRU order, in segments.
#[derive(Clone, Save)]
pub(super) struct Stack {
    order: List<Ghost>,
    /// The segment of each entry.
    segment_of: IdVec<Ghost, u8>,
    page_of: IdVec<Ghost, Option<Lpn>>,
    index: IdMap<Lpn, Ghost>,
    free: Vec<Ghost>,
    segments: Vec<Segment>,
    segment_pages: u32,
}

impl Stack {
    /// Create an empty list of `segments` segments, at most 255, of `segment_pages` pages each.
    pub(super) fn new(segments: u32, segment_pages: u32, disk_pages: usize) -> Self {
        let pages = segments * segment_pages;
        Self {
            order: List::new(pages),
            segment_of: IdVec::filled(0, pages as usize),
            page_of: IdVec::filled(None, pages as usize),
            index: IdMap::new(disk_pages),
            free: (0..pages).rev().map(Ghost::new).collect(),
            segments: vec![Segment::default(); segments as usize],
            segment_pages,
        }
    }

    /// Ask for the memory that a use of a page will need.
    #[inline]
    pub(super) fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        match ahead {
            Ahead::Far => self.index.prefetch(lpn),
            Ahead::Near => {
                if let Some(ghost) = self.index.get(lpn) {
                    self.order.prefetch(ghost);
                    self.segment_of.prefetch(ghost);
                }
            }
            Ahead::Last => {}
        }
    }

    /// Use and count a page. Returns whether it was in the list.
    #[inline]
    pub(super) fn use_page(&mut self, lpn: Lpn) -> bool {
        let hit = self.touch(lpn);
        if let Some(segment) = hit {
            self.segments[segment as usize].hits += 1.0;
        }
        hit.is_some()
    }

    /// Move a page to the front. Returns the segment that it was in, if any.
    #[inline]
    fn touch(&mut self, lpn: Lpn) -> Option<u8> {
        let found = self.index.get(lpn);
        let hit = found.map(|ghost| self.segment_of[ghost]);
        let ghost = match found {
            Some(ghost) => {
                if self.order.front() == Some(ghost) {
                    return hit;
                }
                self.unlink(ghost);
                ghost
            }
            None => {
                if self.free.is_empty() {
                    self.forget_last();
                }
                let ghost = self.free.pop().expect("the last one was forgotten");
                self.page_of[ghost] = Some(lpn);
                self.index.insert(lpn, ghost);
                ghost
            }
        };
        self.link(ghost);
        hit
    }

    /// Put an entry at the front. Each segment that becomes too long passes its last entry to the next one.
    fn link(&mut self, ghost: Ghost) {
        self.order.push_front(ghost);
        self.segment_of[ghost] = 0;
        let mut entering = ghost;
        for number in 0..self.segments.len() {
            let segment = &mut self.segments[number];
            segment.pages += 1;
            let last = *segment.last.get_or_insert(entering);
            if segment.pages <= self.segment_pages {
                return;
            }
            segment.pages -= 1;
            // A segment of one page passes on its old entry, and the new one is its last.
            segment.last = self.order.before(last);
            self.segment_of[last] = number as u8 + 1;
            entering = last;
        }
        unreachable!("there are as many places as pages in all segments");
    }

    fn unlink(&mut self, ghost: Ghost) {
        let number = self.segment_of[ghost];
        let segment = &mut self.segments[number as usize];
        segment.pages -= 1;
        if segment.last == Some(ghost) {
            let before = self.order.before(ghost);
            segment.last = before.filter(|&before| self.segment_of[before] == number);
        }
        self.order.remove(ghost);
    }

    /// Remove a page. The later segments keep their pages, so its own segment is short until the next use fills it.
    pub(super) fn forget(&mut self, lpn: Lpn) {
        if let Some(ghost) = self.index.remove(lpn) {
            self.unlink(ghost);
            self.page_of[ghost] = None;
            self.free.push(ghost);
        }
    }

    fn forget_last(&mut self) {
        let last = self.order.back().expect("no place is free");
        self.forget(self.page_of[last].expect("it is in the list"));
    }

    /// The hits of caches of one segment, two …
    pub(super) fn hits(&self) -> impl Iterator<Item = f64> {
        self.segments.iter().scan(0.0, |hits, segment| {
            *hits += segment.hits;
            Some(*hits)
        })
    }

    /// Multiply all counts by `kept`.
    pub(super) fn fade(&mut self, kept: f64) {
        for segment in &mut self.segments {
            segment.hits *= kept;
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
