//! Moments of simulated time: known, or a span after an operation that has not ended.

use coflash_base::{Duration, Save, Time, id_type};

id_type!(
    /// An operation that has not ended.
    OpId
);

/// A moment on the timeline: a time, or a span after an operation that has not ended yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct When {
    pub(crate) op: Option<OpId>,
    pub(crate) ns: u64,
}

impl When {
    /// A known time.
    #[must_use]
    pub fn at(time: Time) -> Self {
        Self { op: None, ns: time.ns }
    }

    /// The end of an operation.
    pub(crate) fn end_of(op: OpId) -> Self {
        Self { op: Some(op), ns: 0 }
    }

    /// The moment `span` later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self { ns: self.ns.saturating_add(span.ns), ..self }
    }

    /// The time of the moment. `None` if it depends on an operation that has not ended.
    #[inline]
    #[must_use]
    pub fn known(self) -> Option<Time> {
        if self.op.is_none() { Some(Time { ns: self.ns }) } else { None }
    }
}

/// The receiver of the report of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum Tag {
    /// A part of a request, as given to [`Timeline::tell`](crate::Timeline::tell).
    Part(u32),
    /// A level, with a tag given to [`Backed::transfer`](crate::Backed::transfer), for instance.
    Level(u32),
}

/// The report of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Finished {
    /// The receiver of the report.
    pub tag: Tag,
    /// The time of the moment.
    pub at: Time,
}
