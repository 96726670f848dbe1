//! The track buffer: what a disk keeps of what passed its head, in segments, the one used longest ago giving way.

use coflash_base::Time;

/// Sectors that are buffered, or being read ahead: from `first` on, one after the other.
#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    /// Where reading ahead ends at the latest.
    end_max: u64,
    /// When sector `first` had passed, and what each takes.
    from: Time,
    sector_ns: u64,
    /// Reading ahead stopped then.
    until: Option<Time>,
}

impl Segment {
    /// The sector after the last that has passed by `at`.
    fn end(&self, at: Time) -> u64 {
        let at = self.until.map_or(at, |until| at.min(until));
        if self.sector_ns == 0 {
            return self.end_max;
        }
        let passed = at.ns.saturating_sub(self.from.ns) / self.sector_ns;
        (self.first + passed).min(self.end_max)
    }
}

/// All segments, the one used last at the end.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    segments: Vec<Segment>,
    segments_max: usize,
}

impl Buffer {
    pub(super) fn new(segments_max: usize) -> Self {
        Self { segments: Vec::with_capacity(segments_max), segments_max }
    }

    /// When sectors `first` to `end` will be buffered, if reading ahead goes on as it does at `now`; none where a sector is
    /// not and will not be. The segment counts as used.
    pub(super) fn hit(&mut self, first: u64, end: u64, now: Time) -> Option<Time> {
        let found = self.segments.iter().position(|segment| {
            // A sector that is not there yet is waited for only where the head is at it or just before.
            let soon = if segment.until.is_none() { segment.end_max } else { segment.end(now) };
            segment.first <= first && first <= segment.end(now) && end <= soon
        })?;
        let segment = self.segments.remove(found);
        self.segments.push(segment);
        Some(now.max(segment.from + coflash_base::Duration { ns: segment.sector_ns } * (end - segment.first)))
    }

    /// Reading ahead ends: the arm is needed elsewhere.
    pub(super) fn stop(&mut self, now: Time) {
        for segment in self.segments.iter_mut().filter(|segment| segment.until.is_none()) {
            segment.until = Some(now);
        }
    }

    /// Sectors pass the head and are kept, from `first` at `from` on, until `end_max` or until that is [stopped](Self::stop).
    pub(super) fn read(&mut self, first: u64, end_max: u64, from: Time, sector_ns: u64) {
        self.push(Segment { first, end_max, from, sector_ns, until: None });
    }

    /// Sectors are written: what the buffer holds of them is what was written.
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

    pub(super) fn heap_bytes(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>()
    }
}
