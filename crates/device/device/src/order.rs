//! The model of order: what a power cut may leave of the requests of a run. It is the only place of the rule: an exploration makes
//! the states that it allows, and a served device is judged by it.
//!
//! Each request has a time of arrival and one of its answer. What is promised, and nothing else:
//!
//! - A flush covers the changes that were answered before it arrived, once it is answered itself.
//! - FUA covers its own change, once that is answered. On a read it covers nothing.
//! - Of a change that is not covered a cut leaves any part, in whole atomic units.
//! - Where two changes overlap, the one that arrived after the answer of the other lies above it. Two that were under way
//!   together land in either order.
//! - A failed request is never covered.

use coflash_base::Time;
use coflash_nbd::{Command, Request};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The number of a request in its [`Log`].
pub type Id = usize;

/// The operation of a request that the model knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Bytes.
    Write,
    /// Zeros, written or left by a trim.
    Zeroes,
    /// A flush.
    Flush,
}

/// What a request of the protocol does, and the bytes that it changes; none if it changes nothing and is no flush.
#[must_use]
pub fn change(request: &Request, page_bytes: u64) -> Option<(Kind, Range<u64>)> {
    let (offset, end) = (request.offset, request.offset + u64::from(request.length));
    let (kind, range) = match request.command {
        Command::Flush => return Some((Kind::Flush, 0..0)),
        Command::Write => (Kind::Write, offset..end),
        Command::WriteZeroes { .. } => (Kind::Zeroes, offset..end),
        // It drops whole pages.
        Command::Trim => (Kind::Zeroes, offset.next_multiple_of(page_bytes)..end / page_bytes * page_bytes),
        Command::Read | Command::Cache | Command::BlockStatus => return None,
    };
    (!range.is_empty()).then_some((kind, range))
}

/// A moment: its place among all arrivals, answers and marks, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Its place.
    pub event: usize,
    /// Its time, in nanoseconds since power on.
    pub ns: u64,
}

/// A request that changes data, or a flush.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The operation.
    pub kind: Kind,
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
    /// Its place in the order of service: after the end of all, the latest one is seen.
    pub turn: usize,
    /// The place of a write's data in the file of the record.
    pub place: u64,
}

impl Entry {
    /// Whether it changes data.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.kind != Kind::Flush
    }

    /// The byte after its last one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }

    /// Its bytes.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.offset..self.end()
    }

    /// Whether it came after the other one was answered.
    #[must_use]
    pub fn is_after(&self, other: &Self) -> bool {
        other.answered.is_some_and(|answered| answered.event < self.arrived.event)
    }

    fn answered_well(&self) -> Option<usize> {
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

/// The requests of a run in the order of their arrival, and its marks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// The requests.
    pub entries: Vec<Entry>,
    /// The marks.
    pub marks: Vec<Mark>,
    events: usize,
    turns: usize,
}

impl Log {
    fn moment(&mut self, now: Time) -> Moment {
        self.events += 1;
        Moment { event: self.events - 1, ns: now.ns }
    }

    /// Note that a request has come.
    pub fn arrives(&mut self, now: Time, kind: Kind, offset: u64, length: u64, fua: bool) -> Id {
        let arrived = self.moment(now);
        let entry =
            Entry { kind, offset, length, fua, arrived, answered: None, failed: false, turn: 0, place: 0 };
        self.entries.push(entry);
        self.entries.len() - 1
    }

    /// Note that a request is being served.
    pub fn is_served(&mut self, id: Id) {
        self.turns += 1;
        self.entries[id].turn = self.turns;
    }

    /// Note that a request is answered, before its client learns of it.
    pub fn is_answered(&mut self, now: Time, id: Id, failed: bool) {
        let answered = self.moment(now);
        (self.entries[id].answered, self.entries[id].failed) = (Some(answered), failed);
    }

    /// Note a mark.
    pub fn mark(&mut self, now: Time, text: String) {
        let at = self.moment(now);
        self.marks.push(Mark { at, text });
    }

    /// The number of requests that change data.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_change()).count()
    }

    /// The windows of a run, in order.
    #[must_use]
    pub fn windows(&self) -> Vec<Window> {
        enum Event {
            Nothing,
            Arrival(Id),
            Answer(Id),
            Mark,
        }
        let mut events: Vec<Event> = (0..self.events).map(|_| Event::Nothing).collect();
        for (id, entry) in self.entries.iter().enumerate() {
            events[entry.arrived.event] = Event::Arrival(id);
            if let Some(answered) = entry.answered {
                events[answered.event] = Event::Answer(id);
            }
        }
        self.marks.iter().for_each(|mark| events[mark.at.event] = Event::Mark);
        let (mut windows, mut window) = (Vec::new(), Window { is_told: true, ..Window::default() });
        let begin = |windows: &mut Vec<Window>, window: &mut Window, is_told, covered| {
            let next = Window { covered, is_told, ..window.clone() };
            windows.push(std::mem::replace(window, next));
        };
        for event in events {
            match event {
                Event::Arrival(id) if self.entries[id].is_change() => window.open.push(id),
                Event::Answer(id) => {
                    let Entry { kind, fua, arrived, failed, .. } = self.entries[id];
                    let is_flush = kind == Kind::Flush;
                    if failed || !(is_flush || fua) {
                        continue;
                    }
                    let is_covered = |&other: &Id| match is_flush {
                        true => {
                            self.entries[other].answered_well().is_some_and(|event| event < arrived.event)
                        }
                        false => other == id,
                    };
                    let (mut covered, open): (Vec<Id>, Vec<Id>) =
                        window.open.iter().partition(|id| is_covered(id));
                    covered.sort_by_key(|&id| self.entries[id].turn);
                    begin(&mut windows, &mut window, is_flush, covered);
                    window.flushes += usize::from(is_flush);
                    window.open = open;
                }
                Event::Mark => {
                    begin(&mut windows, &mut window, true, Vec::new());
                    window.marks += 1;
                }
                Event::Nothing | Event::Arrival(_) => {}
            }
        }
        windows.push(window);
        windows
    }
}

/// A part of a run in which nothing more is promised. What a cut in its midst may leave, a cut at its end may leave, too.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Flushes answered before.
    pub flushes: usize,
    /// Marks before.
    pub marks: usize,
    /// Whether it begins where the world learns something: at the start, at the answer of a flush, at a mark.
    pub is_told: bool,
    /// The changes that its begin has made durable, in the order of service.
    pub covered: Vec<Id>,
    /// The changes that have come by its end and are not durable, in the order of arrival.
    pub open: Vec<Id>,
}
