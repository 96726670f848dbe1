//! The model of order: what a power cut may leave of the requests of a run. It is the only place of the rule: an exploration makes
//! the states that it allows, and a served device is judged by it.
//!
//! Each request has a time of arrival and one of its answer. What is promised, and nothing else:
//!
//! - A flush covers the changes of its device that were answered before it arrived, once it is answered itself.
//! - FUA covers its own change, once that is answered. On a read it covers nothing.
//! - Of a change that is not covered a cut leaves any part, in whole atomic units.
//! - Where two changes overlap, the one that arrived after the answer of the other lies above it. Two that were under way
//!   together land in either order, covered or not, until a read of their place has settled which one lies above.
//! - A failed request is never covered. Nor is what a failed flush should have covered: the drive may have dropped it.

use coflash_base::Time;
use coflash_nbd::{Command, Request};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// The number of a request in its [`Log`].
pub type Id = usize;

/// The operation of a request that the model knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Bytes.
    Write,
    /// Zeros.
    Zeroes,
    /// A trim, which leaves zeros.
    Trim,
    /// A flush.
    Flush,
}

/// What a request of the protocol does, and the bytes that it changes; none if it changes nothing and is no flush.
pub fn change(request: &Request, page_bytes: u64) -> Option<(Kind, Range<u64>)> {
    let (offset, end) = (request.offset, request.offset + u64::from(request.length));
    let (kind, range) = match request.command {
        Command::Flush => return Some((Kind::Flush, 0..0)),
        Command::Write => (Kind::Write, offset..end),
        Command::WriteZeroes { .. } => (Kind::Zeroes, offset..end),
        // It drops whole pages.
        Command::Trim => (Kind::Trim, offset.next_multiple_of(page_bytes)..end / page_bytes * page_bytes),
        Command::Read | Command::Cache | Command::BlockStatus => return None,
    };
    (!range.is_empty()).then_some((kind, range))
}

/// A moment: its place among all arrivals, answers and marks, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment {
    /// Its place.
    pub event: usize,
    /// Its time, in nanoseconds since power on.
    pub ns: u64,
}

/// Where a flush is added to a run: before an event, and of which device.
pub type Place = (usize, usize);

/// What happens at a moment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Event {
    Arrival(Id),
    Answer(Id),
    Mark,
    /// A flush of a device that the client has not sent.
    Added(usize),
}

/// A request that changes data, or a flush.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The operation.
    pub kind: Kind,
    /// The number of its device, from 0.
    #[serde(default)]
    pub device: usize,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
    /// Whether its answer promises that it is durable.
    pub fua: bool,
    /// When it came.
    pub arrived: Moment,
    /// When it was answered, if it was.
    pub answered: Option<Moment>,
    /// Whether that was an error.
    pub failed: bool,
    /// When a read has shown whether it lies above what was under way together with it.
    pub settled: Option<usize>,
    /// The place of a write's data in the file of the record.
    pub place: u64,
}

impl Entry {
    /// Whether it changes data.
    pub fn is_change(&self) -> bool {
        self.kind != Kind::Flush
    }

    /// The byte after its last one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }

    /// Its bytes.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.end()
    }

    /// Whether it came after the other one was answered.
    pub fn is_after(&self, other: &Self) -> bool {
        other.answered.is_some_and(|answered| answered.event < self.arrived.event)
    }

    /// Whether it changes bytes that the other one changes, too.
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        self.is_change() && self.offset < range.end && range.start < self.end()
    }

    pub(crate) fn answered_well(&self) -> Option<usize> {
        self.answered.filter(|_| !self.failed).map(|answered| answered.event)
    }
}

/// A line that the workload wrote between its requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// When it came.
    pub at: Moment,
    /// The line.
    pub text: String,
}

/// The requests of a run in the order of their arrival, in which they are served, and its marks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// The requests.
    pub entries: Vec<Entry>,
    /// The marks.
    pub marks: Vec<Mark>,
    events: Vec<Event>,
    /// The changes that overlap one that was under way together with them.
    rivals: BTreeSet<Id>,
    #[serde(skip)]
    under_way: Vec<Id>,
}

/// The most rivals that are durable and may yet change places.
const RIVALS_MAX: usize = 4;

impl Log {
    fn moment(&mut self, now: Time, event: Event) -> Moment {
        self.events.push(event);
        Moment { event: self.events.len() - 1, ns: now.ns }
    }

    /// Note that a request has come.
    pub fn arrives(&mut self, now: Time, kind: Kind, offset: u64, length: u64, fua: bool) -> Id {
        let id = self.entries.len();
        let arrived = self.moment(now, Event::Arrival(id));
        let (answered, failed, settled, device) = (None, false, None, 0);
        let entry = Entry { kind, device, offset, length, fua, arrived, answered, failed, settled, place: 0 };
        if entry.is_change() {
            let is_rival = |&other: &Id| self.entries[other].overlaps(&entry.range());
            let rivals: Vec<Id> = self.under_way.iter().copied().filter(is_rival).collect();
            let own = rivals.first().map(|_| id);
            self.rivals.extend(rivals.into_iter().chain(own));
            self.under_way.push(id);
        }
        self.entries.push(entry);
        id
    }

    /// Note that a request is answered, before its client learns of it.
    pub fn is_answered(&mut self, now: Time, id: Id, failed: bool) {
        let answered = self.moment(now, Event::Answer(id));
        (self.entries[id].answered, self.entries[id].failed) = (Some(answered), failed);
        self.under_way.retain(|&other| other != id);
    }

    /// Note that a range is read.
    pub fn is_read(&mut self, range: &Range<u64>) {
        for &id in &self.rivals {
            let entry = &self.entries[id];
            let is_changing =
                self.under_way.iter().any(|&other| self.entries[other].overlaps(&entry.range()));
            if entry.overlaps(range) && !is_changing {
                self.entries[id].settled.get_or_insert(self.events.len());
            }
        }
    }

    /// Whether a change overlaps one that was under way together with it.
    pub(crate) fn is_rival(&self, id: Id) -> bool {
        self.rivals.contains(&id)
    }

    /// Note a mark.
    pub fn mark(&mut self, now: Time, text: String) {
        let at = self.moment(now, Event::Mark);
        self.marks.push(Mark { at, text });
    }

    /// The number of requests that change data.
    pub fn changes(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_change()).count()
    }

    /// The windows of a run, in order; of the same run with more flushes, where some are added. Nobody counts those: a check is told
    /// what was promised without them.
    pub fn windows(&self, added: &BTreeSet<Place>) -> Vec<Window> {
        let added = added.iter().map(|&(event, device)| (event, Event::Added(device)));
        let mut events: Vec<_> = added.chain(self.events.iter().copied().enumerate()).collect();
        // A flush that was added comes before its event.
        events.sort_by_key(|&(event, _)| event);
        let mut windows = vec![Window { is_told: true, ..Window::default() }];
        let (mut open, mut come, mut loose) = (BTreeSet::new(), 0, Vec::new());
        let mut dropped = BTreeSet::new();
        for (event, what) in events {
            let window = windows.last_mut().expect("there is one");
            let (flushes, marks) = (window.flushes, window.marks);
            let mut next = Window { is_told: true, flushes, marks, begin: event + 1, ..Window::default() };
            let is_covered = |id: Id, device: usize, before: usize| {
                let entry = &self.entries[id];
                entry.device == device && entry.answered_well().is_some_and(|event| event < before)
            };
            match what {
                Event::Arrival(id) => {
                    come = id + 1;
                    window.came.end = come;
                    if self.entries[id].is_change() {
                        open.insert(id);
                    }
                    continue;
                }
                Event::Answer(id) => {
                    let Entry { kind, device, fua, arrived, failed, .. } = self.entries[id];
                    next.is_told = kind == Kind::Flush;
                    next.flushes += usize::from(next.is_told);
                    let covered = open.iter().copied().filter(|&id| is_covered(id, device, arrived.event));
                    match (failed, next.is_told) {
                        (false, true) => next.covered = covered.filter(|id| !dropped.contains(id)).collect(),
                        (false, false) if fua => next.covered = vec![id],
                        (true, true) => {
                            dropped.extend(covered);
                            continue;
                        }
                        _ => continue,
                    }
                }
                Event::Mark => next.marks += 1,
                Event::Added(device) => {
                    let covered = open.iter().copied().filter(|&id| is_covered(id, device, event));
                    next.covered = covered.filter(|id| !dropped.contains(id)).collect();
                    if next.covered.is_empty() {
                        continue;
                    }
                    (next.is_told, next.begin, next.added) = (false, event, Some((event, device)));
                }
            }
            for id in &next.covered {
                open.remove(id);
            }
            loose.extend(next.covered.iter().copied().filter(|&id| self.is_rival(id)));
            loose.retain(|&id: &Id| self.entries[id].settled.is_none_or(|settled| settled > event));
            loose.drain(..loose.len().saturating_sub(RIVALS_MAX));
            next.loose.clone_from(&loose);
            next.came = come..come;
            windows.push(next);
        }
        windows
    }

    /// The changes that have come by the end of the last of some windows and are not durable, in the order of arrival.
    pub fn open(&self, windows: &[Window]) -> BTreeSet<Id> {
        let mut open = BTreeSet::new();
        windows.iter().for_each(|window| window.advance(self, &mut open));
        open
    }
}

/// A part of a run in which nothing more is promised. What a cut in its midst may leave, a cut at its end may leave, too.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Flushes answered before.
    pub flushes: usize,
    /// Marks before.
    pub marks: usize,
    /// The events before.
    pub begin: usize,
    /// The flush that was added, at which it begins.
    pub added: Option<Place>,
    /// Whether it begins where the world learns something: at the start, at the answer of a flush, at a mark.
    pub is_told: bool,
    /// The changes that its begin has made durable, in the order of arrival.
    pub covered: Vec<Id>,
    /// Durable changes of which it is not settled which one lies above the other: the last few.
    pub loose: Vec<Id>,
    /// The requests that have come in it.
    pub came: Range<Id>,
}

impl Window {
    /// Go on from what was open at the end of the window before.
    pub fn advance(&self, log: &Log, open: &mut BTreeSet<Id>) {
        for id in &self.covered {
            open.remove(id);
        }
        open.extend(self.came.clone().filter(|&id| log.entries[id].is_change()));
    }
}
