//! The calls of a simulator only: disks, the passing of time, measures.

use super::servers::{Busy, Servers};
use super::{BufferedPages, DieTime, DiskTime, Suspensions, Timeline};
use crate::{Backed, Cause, DieId, Finished, Media, ReadPriority, Tag, Transfer, When};
use coflash_base::measure::{Report, ratio};
use coflash_base::{Duration, Time};

/// A media with operations in simulated time: a timeline, alone or beside something else that operations act on.
///
/// Time advances only by the methods of the timeline. With private channels and no
/// disks there are no events. Otherwise moments become known as events happen.
pub trait SimulatedMedia: Media<When = When> {
    /// Its timeline.
    fn timeline(&self) -> &Timeline;

    /// Its timeline, to advance time.
    fn timeline_mut(&mut self) -> &mut Timeline;
}

/// All methods but `tell_level`, `promise` and `keep` panic without disks.
impl Backed for Timeline {
    fn transfer(&mut self, transfer: Transfer, at: Time, tag: u32) {
        self.behind_mut().ask(transfer, at, tag);
    }

    fn tell_level(&mut self, when: When, tag: u32) {
        self.tell_as(when, Tag::Level(tag));
    }

    fn after_others(&mut self, tag: u32) {
        self.behind_mut().after_others(tag);
    }

    fn is_idle(&self, page: u64) -> bool {
        self.behind().disks.is_idle(page)
    }

    fn disk_time(&self, cause: Cause) -> Duration {
        self.behind().time(cause)
    }

    fn disks(&self) -> u32 {
        self.behind().disks.count()
    }

    fn promise(&mut self) -> When {
        When::end_of(self.servers.channels.promise())
    }

    fn keep(&mut self, promise: When, with: When) {
        let Self { servers: Servers { channels, .. }, unreported, .. } = self;
        let promise = promise.op.expect("a promise is not known before it is kept");
        match with.op {
            None => channels.keep(promise, Time { ns: with.ns }, unreported),
            Some(op) => channels.keep_after(promise, op, with.ns),
        }
    }
}

impl SimulatedMedia for Timeline {
    #[inline(always)]
    fn timeline(&self) -> &Timeline {
        self
    }

    #[inline(always)]
    fn timeline_mut(&mut self) -> &mut Timeline {
        self
    }
}

/// Time, and what was measured in it.
impl Timeline {
    /// Whether time must be advanced event by event.
    pub fn has_events(&self) -> bool {
        self.has_events
    }

    /// Request a report of `tag` at `when`, a moment with unknown time.
    pub fn tell(&mut self, when: When, tag: u32) {
        self.tell_as(when, Tag::Part(tag));
    }

    /// Process the events up to `until` and append the tags of the moments on the way, in order. Stops after an
    /// event that reports something, since that may cause new operations. Returns whether no event is left.
    #[inline]
    pub fn run(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool {
        !self.has_events || self.run_events(until, finished)
    }

    /// As [`run`](Self::run); then, if no event is left, advance time to `until`.
    #[inline]
    pub fn advance(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool {
        let is_reached = self.run(until, finished);
        if self.has_events && is_reached {
            self.servers.channels.pass_to(until);
            self.behind.iter_mut().for_each(|behind| behind.pass_to(until));
        }
        is_reached
    }

    /// Advance time to the next event. Returns false if nothing is under way.
    pub fn step(&mut self, finished: &mut Vec<Finished>) -> bool {
        let is_more = self.step_once(finished);
        self.record_ends();
        is_more
    }

    /// The time of the next event; `None` if nothing is under way, or if there are no events.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        if !self.has_events {
            return None;
        }
        if let Some(Finished { at, .. }) = self.unreported.first() {
            return Some(*at);
        }
        let flash = self.servers.channels.next_event();
        let Some(behind) = &self.behind else { return flash };
        [flash, behind.next_event()].into_iter().flatten().min()
    }

    /// The time since which a die is idle, if known: with private channels it may be in the future, with
    /// shared ones it is now or `None`.
    pub fn idle_since(&self, die: DieId) -> Option<Time> {
        let mut servers = self.servers_of(die);
        let Servers { free_at, by_events, channels, .. } = &self.servers;
        if *by_events {
            servers.all(|server| channels.is_idle(server)).then_some(channels.now)
        } else {
            servers.map(|server| free_at[server]).max()
        }
    }

    /// The time that dies were busy so far.
    pub fn busy(&self) -> Busy {
        self.servers.busy()
    }

    /// The longest time that a die or a channel needs from `now` on for issued operations, without waiting.
    pub fn backlog_max(&self, now: Time) -> Duration {
        let Servers { free_at, by_events, channels, .. } = &self.servers;
        let free_at = free_at.iter().map(|at| at.ns).max().unwrap_or(0);
        Duration { ns: if *by_events { channels.backlog_ns_max() } else { free_at.saturating_sub(now.ns) } }
    }

    /// The pages in the controller's write buffer: they are written, and not yet in flash.
    pub fn buffered_pages(&self) -> u64 {
        self.servers.channels.buffer.used_pages()
    }

    /// The end of the last operation of flash or disks. Where ends become known as time advances, only ended
    /// operations count.
    pub fn busy_until(&self) -> Time {
        let Servers { free_at, by_events, channels, .. } = &self.servers;
        let flash =
            if *by_events { channels.ended_at } else { free_at.iter().copied().max().unwrap_or_default() };
        self.behind.as_ref().map_or(flash, |behind| flash.max(behind.busy_until))
    }

    /// Add its measures to a report.
    pub fn report(&self, report: &mut Report) {
        let Busy { gc, other, bus } = self.servers.busy();
        let end = report.end().max(self.busy_until()).ns;
        let dies = self.servers.free_at.len() as u64;
        let channels = &self.servers.channels;
        let buses = if self.servers.by_events { channels.buses() } else { dies };
        report.add(&DieTime {
            gc_time_ns: gc.ns,
            service_time_ns: other.ns,
            channel_time_ns: bus.ns,
            die_utilisation: ratio(gc.ns.saturating_add(other.ns), dies.saturating_mul(end)),
            channel_utilisation: ratio(bus.ns, buses.saturating_mul(end)),
        });
        report.add(&self.operations);
        if matches!(self.timing.read_priority, ReadPriority::Suspend { .. }) {
            report.add(&Suspensions { suspensions: channels.suspensions().0 });
        }
        if let Some(waits_pages) = channels.buffer.waits() {
            report.add(&BufferedPages { waits_pages });
        }
        if let Some(behind) = &self.behind {
            let (disks, end) = (&behind.disks, report.end().max(behind.busy_until));
            let (counters, time_ns) = (disks.counters(), disks.busy().ns);
            let transfers = counters.disk_read_transfers + counters.disk_write_transfers;
            report.add(counters);
            report.add(&DiskTime {
                disk_time_ns: time_ns,
                disk_utilisation: ratio(time_ns, u64::from(disks.count()).saturating_mul(end.ns)),
                disk_service_mean_ns: ratio(time_ns, transfers),
            });
        }
    }

    /// Advance time to the next event of dies, channels or disks. Returns false if there is none.
    fn step_once(&mut self, finished: &mut Vec<Finished>) -> bool {
        if !self.unreported.is_empty() {
            finished.append(&mut self.unreported);
            return true;
        }
        let Some(behind) = &mut self.behind else { return self.servers.channels.step(finished) };
        // Disks see the results of flash before they choose their next transfer.
        match (self.servers.channels.next_event(), behind.next_event()) {
            (None, None) => return false,
            (Some(flash), disks) if disks.is_none_or(|disks| flash <= disks) => {
                behind.pass_to(flash);
                self.servers.channels.step(finished);
            }
            (_, disks) => {
                self.servers.channels.pass_to(disks.expect("the earlier event is of the disks"));
                behind.step(finished);
            }
        }
        true
    }

    #[inline(never)]
    fn run_events(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool {
        if self.behind.is_none() && self.unreported.is_empty() {
            let is_over = self.servers.channels.run(until, finished);
            self.record_ends();
            return is_over;
        }
        while self.next_event().is_some_and(|at| at <= until) || !self.unreported.is_empty() {
            self.step(finished);
            if !finished.is_empty() {
                return false;
            }
        }
        true
    }
}
