//! Dies (or planes) as servers of operations, first come, first served.

use super::Timeline;
use crate::channel::{Awaited, Channels, Phases};
use crate::{Cause, Mode, Oob, Ppn, When};
use coflash_base::{Duration, Save, Time};

/// Time that dies were busy, summed over dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub struct Busy {
    /// Time for garbage collection.
    pub gc: Duration,
    /// Time for all other operations.
    pub other: Duration,
    /// Time of transfers over the buses of channels, which is part of the others.
    pub bus: Duration,
}

/// Dies (or planes) and the times until which they are busy.
#[derive(Clone, Debug, Save)]
pub(super) struct Servers {
    /// The time at which each becomes idle. Unused with shared channels.
    pub(super) free_at: Vec<Time>,
    pub(super) by_events: bool,
    /// Dies with an unknown future, and moments that depend on others.
    pub(super) channels: Channels,
    /// The end of the last program. Unused with shared channels.
    pub(super) programmed_at: Time,
    pub(super) busy: Busy,
}

impl Servers {
    #[inline(always)]
    pub(super) fn count(&mut self, phases: &Phases, cause: Cause) {
        let busy = if cause == Cause::Gc { &mut self.busy.gc } else { &mut self.busy.other };
        *busy = *busy + phases.total;
        self.busy.bus = self.busy.bus + phases.bus;
    }

    /// The time that dies were busy, suspensions included.
    pub(super) fn busy(&self) -> Busy {
        let (_, suspended) = self.channels.suspensions();
        Busy { other: self.busy.other + suspended, ..self.busy }
    }

    #[inline(always)]
    pub(super) fn issue(&mut self, server: usize, phases: &Phases, cause: Cause, after: When) -> When {
        self.issue_into(server, phases, None, cause, after)
    }

    /// As `issue`, for a program into a row of pages ([`Channels::issue_into`]).
    #[inline(always)]
    pub(super) fn issue_into(
        &mut self,
        server: usize,
        phases: &Phases,
        row: Option<usize>,
        cause: Cause,
        after: When,
    ) -> When {
        self.count(phases, cause);
        if self.by_events {
            When::end_of(self.channels.issue_into(server, phases, row, after))
        } else {
            debug_assert!(after.op.is_none(), "with private channels every operation begins at a known time");
            let free_at = &mut self.free_at[server];
            *free_at = Time { ns: free_at.ns.max(after.ns) } + phases.total;
            When::at(*free_at)
        }
    }

    /// As `issue`, for operations one after another without followers.
    #[inline(always)]
    pub(super) fn issue_run(
        &mut self,
        server: usize,
        phases: &Phases,
        count: u32,
        cause: Cause,
        after: When,
    ) {
        if self.by_events {
            self.count(&phases.many(count.into()), cause);
            self.channels.issue_run(server, phases, count, after);
        } else {
            self.issue(server, &phases.many(count.into()), cause, after);
        }
    }

    /// As `issue`, for a read.
    #[inline(always)]
    pub(super) fn issue_read(&mut self, server: usize, phases: &Phases, cause: Cause, after: When) -> When {
        if self.by_events {
            self.count(phases, cause);
            When::end_of(self.channels.issue_read(server, phases, after))
        } else {
            self.issue(server, phases, cause, after)
        }
    }

    /// Let the last issued operation be awaited with others of a kind. Needs events.
    pub(super) fn note(&mut self, done: When, awaited: Awaited) {
        self.channels.note(done.op.expect("with events an end is an operation's"), awaited);
    }

    /// Record that the last issued operation is a program, so that a flush may wait for it.
    #[inline(always)]
    pub(super) fn note_program(&mut self, done: When) {
        match done.op {
            Some(op) => self.channels.note(op, Awaited::Program),
            None => self.programmed_at.ns = self.programmed_at.ns.max(done.ns),
        }
    }
}

impl Timeline {
    /// The server of a program that is not as all others, its phases, its row, and the moment from which it may begin.
    #[inline(never)]
    pub(super) fn apart(&mut self, page: Ppn, oob: Oob, after: When) -> (usize, Phases, Option<usize>, When) {
        if oob.mode == Mode::Slc {
            self.set_slc(self.erase_unit(page), true);
        }
        let of_page = self.costs_of(page).into[oob.mode as usize].program;
        let phases = self.drawn(if oob.lpn.is_some() { of_page } else { self.costs.summary });
        let after = self.once_erased(page, after);
        (self.server_of(page), phases, self.row(page), after)
    }
}
