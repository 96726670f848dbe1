//! The track buffer: segments of sectors that passed the head, replaced in LRU order.

use coflash_base::{Save, Time};

/// A segment of contiguous sectors, buffered or being read ahead.
#[derive(Clone, Copy, Debug, Save)]
struct Segment {
    first: u64,
    /// The latest end of the read-ahead.
    end_max: u64,
    /// The time at which sector `first` had passed, and the time per sector.
    from: Time,
    sector_ns: u64,
    /// The time at which the read-ahead was stopped.
    until: Option<Time>,
}

impl Segment {
    /// The sector after the last one that has passed by `at`.
    fn end(&self, at: Time) -> u64 {
        let at = self.until.map_or(at, |until| at.min(until));
        if self.sector_ns == 0 {
            return self.end_max;
        }
        let passed = at.ns.saturating_sub(self.from.ns) / self.sector_ns;
        (self.first + passed).min(self.end_max)
    }
}

/// The segments, the most recently used at the end.
#[derive(Clone, Debug, Save)]
pub(super) struct Buffer {
    segments: Vec<Segment>,
    segments_max: usize,
}

impl Buffer {
    pub(super) fn new(segments_max: usize) -> Self {
        Self { segments: Vec::with_capacity(segments_max), segments_max }
    }

    /// The time at which sectors `first` to `end` are buffered, if the read-ahead continues as at `now`;
    /// `None` if a sector will not arrive. Counts as a use of the segment.
    pub(super) fn hit(&mut self, first: u64, end: u64, now: Time) -> Option<Time> {
        let found = self.segments.iter().position(|segment| {
            // Waiting for a missing sector pays only if the head is at it or just before it.
            let soon = if segment.until.is_none() { segment.end_max } else { segment.end(now) };
            segment.first <= first && first <= segment.end(now) && end <= soon
        })?;
        let segment = self.segments.remove(found);
        self.segments.push(segment);
        Some(now.max(segment.from + coflash_base::Duration { ns: segment.sector_ns } * (end - segment.first)))
    }

    /// Stop the read-ahead: the arm is needed elsewhere.
    pub(super) fn stop(&mut self, now: Time) {
        for segment in self.segments.iter_mut().filter(|segment| segment.until.is_none()) {
            segment.until = Some(now);
        }
    }

    /// Buffer the sectors that pass the head, from `first` at `from` on, up to `end_max` or until
    /// [`stop`](Self::stop).
    pub(super) fn read(&mut self, first: u64, end_max: u64, from: Time, sector_ns: u64) {
        self.push(Segment { first, end_max, from, sector_ns, until: None });
    }

    /// Handle a write: buffered copies of its sectors are updated.
    pub(super) fn write(&mut self, first: u64, end: u64, now: Time) {
        self.segments.retain(|segment| segment.end_max <= first || end <= segment.first);
        self.push(Segment { first, end_max: end, from: now, sector_ns: 0, until: Some(now) });
    }

    fn push(&mut self, segment: Segment) {
        if self.segments.len() == self.segments_max {
            self.segments.remove(0);
        }
        self.segments.push(segment);
    }
}
