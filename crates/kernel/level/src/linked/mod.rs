//! The link below a cache or a write buffer of the host: it carries the pages that miss there, and the messages between cache and
//! flash. Of a host without memory whole requests cross, at the [`Port`](crate::Port).
//!
//! A cache above sends its misses page by page: the pages of a request share a command, an eviction is a command of its own, and
//! the pages of a read return one after another.
//!
//! The device knows the host's cache only by the marks on flash pages, and they lag. No data may be lost
//! because of that, in any order of messages:
//!
//! - **The device never acts on a mark alone.** Under *request* GC asks about every marked page of its victim in one
//!   message, and the erase waits for the answer. The host answers from its own state. A clean copy is protected first:
//!   it becomes the sole copy. A newer copy needs no protection. A page that the host does not hold is copied and loses
//!   its mark. Under *grants* a mark is a promise: the host keeps the page, or newer data, until the device has
//!   acknowledged the revocation, which says whether the grant was used. GC drops a granted page without asking.
//! - **One notice at a time for a page.** Before a new notice about a copy is posted, the last one has arrived or is
//!   withdrawn unsent. So no notice about old data meets the new data: the notice that flash is out of date cannot
//!   overtake, or be overtaken by, the write that brings flash up to date.
//!
//! | the copy becomes | request | grants |
//! |---|---|---|
//! | cached, clean | *cached*: the page is marked | *cached* if a grant is left: the page is marked |
//! | dirty | *dirtied*: the flash page is invalid | the same; the grant is void |
//! | evicted, clean | *evicted*: the mark goes | revoked first, if granted; a message of its own, or with a command |
//! | evicted, dirty | the write command says it | the same |
//! | trimmed | the trim command says it | the same |
//!
//! A write buffer in the host *announces* that a page became dirty. The command that writes or trims the page says that
//! it is no longer dirty. The device discards its copy of a page that it believes to be dirty in the host, so here,
//! too, no stale notice may arrive after a write.

mod config;
mod cost;
mod hook;
mod notice;
mod notice_queue;
#[cfg(test)]
mod tests;
mod wire;

pub use config::{HostConfig, LinkConfig, Notices, Protecting, Sharing};
pub use cost::LinkCost;
pub(crate) use cost::Way;
pub use notice::{ExchangeCounters, LinkCounters, NoticeKinds};
pub use notice_queue::NoticeCounters;
pub use wire::link_sections;

use crate::cooperates::{Cached, Cooperates, Message};
use crate::cooperation::Setting;
use crate::level::{Command, Crossing, Level, LostPages};
use crate::over::below_dispatch;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Op, Save, Seed, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Ftl, GcHook, Io, Marks, PageRead, PageWrite, Weights};
use coflash_media::{DieId, Media, Place};
use hook::AcrossLink;
use notice::ToHost;
use notice_queue::{DeliveryState, Ticket};
use wire::{Said, Wire};

/// A level across a link, below a cache or a write buffer of the host.
#[derive(Clone, Save)]
pub struct Linked<L> {
    below: L,
    page_bytes: u64,
    wire: Wire,
}

impl<L> Linked<L> {
    /// Create a link over a device, below a cache in a memory of the host.
    #[must_use]
    pub fn new(below: L, above: &Setting, host: &HostConfig, cost: &LinkCost, seed: Seed) -> Self {
        Self { below, page_bytes: above.page_bytes, wire: Wire::new(above, host, cost, seed) }
    }

    crate::over::level_over!();

    /// Replace the device by itself after a restart. Messages on their way are lost.
    pub fn restart_device(&mut self, device: L) {
        self.below = device;
        self.wire.lose_messages();
    }
}

impl<L: Cooperates> Linked<L> {
    /// Deliver the notices that have arrived at the device by `now`.
    #[inline]
    fn take_in(&mut self, now: Time) {
        while let Some(notice) = self.wire.to_device.arrived(now) {
            let Wire { kinds, weights, .. } = &mut self.wire;
            match notice {
                Message::Mark(_) => kinds.cached += 1,
                Message::Invalidate(_) => kinds.dirtied += 1,
                Message::Unmark(_) => kinds.evicted += 1,
                Message::Announce(_) => kinds.announced += 1,
                Message::Weigh(told) => {
                    kinds.weights += 1;
                    *weights = told;
                }
                Message::Forget(_)
                | Message::Moved(..)
                | Message::Age(..)
                | Message::Shadow(..)
                | Message::TrackHost
                | Message::Disconnect => unreachable!("it is no notice"),
            }
            self.below.send(notice);
        }
    }

    /// Post a notice. The sender waits if it is a message of its own.
    fn tell(&mut self, notice: Message) -> Ticket {
        let ticket = self.wire.to_device.post(notice, self.wire.now);
        if self.wire.to_device.notices == Notices::Each {
            self.wait_for(ticket);
        }
        ticket
    }

    fn wait_for(&mut self, ticket: Ticket) {
        if let DeliveryState::UnderWay(arrival) = self.wire.to_device.delivery_state(ticket) {
            self.wire.wait_until(arrival);
            self.take_in(self.wire.now);
        }
    }

    /// Withdraw the last notice about a copy. Returns its ticket if it is too late for that.
    fn withdraw(&mut self, slot: SlotId) -> Option<Ticket> {
        let ticket = self.wire.said[slot].last.take()?;
        (!self.wire.to_device.withdraw(ticket)).then_some(ticket)
    }

    /// Withdraw the last notice about a copy, or wait for its arrival. Returns whether the device has received it.
    fn settle(&mut self, slot: SlotId) -> bool {
        let Some(ticket) = self.withdraw(slot) else { return false };
        if self.wire.waits() {
            self.wait_for(ticket);
        }
        true
    }

    /// Send a command, or a further page of one, together with notices. Returns the time of its crossing.
    fn command(&mut self, bytes: u64) -> (Crossing, Duration) {
        let crossing = if self.wire.has_crossed { Crossing::Next } else { Crossing::First };
        self.wire.counters.commands += u64::from(!self.wire.has_crossed);
        self.wire.has_crossed = true;
        let notices = self.wire.to_device.piggyback(self.wire.now);
        self.take_in(self.wire.now);
        (crossing, self.wire.cost.per_message + self.wire.cost.bytes(bytes) + notices)
    }

    /// Borrow the level below, and the media with the other end of the link as GC's hook.
    #[inline(always)]
    fn descend<'s, M: Media, H>(
        &'s mut self,
        start: M::When,
        io: &'s mut Io<'_, M, H>,
    ) -> (&'s mut L, Io<'s, M, AcrossLink<'s, H>>) {
        let hook = AcrossLink { wire: &mut self.wire, above: &mut io.hook };
        (&mut self.below, Io { media: &mut *io.media, hook, start })
    }

    /// The source slot in the cache above of a page to be written, if any.
    fn slot_of(&self, page: &PageWrite) -> Option<SlotId> {
        match page.from {
            Place::Slot(slot) if slot.memory == self.wire.above => Some(SlotId::new(slot.number)),
            _ => None,
        }
    }

    /// The command for one page.
    fn page_command(&self, op: Op, lpn: Lpn, crossing: Crossing) -> Command {
        Command { op, bytes: self.page_bytes, first: Some(lpn), pages: 1, crossing }
    }
}

impl<M: Media, L: Level<M> + Cooperates> Level<M> for Linked<L> {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        true
    }

    #[inline]
    fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        let (below, mut inner) = self.descend(io.start, io);
        below.pass_time(now, &mut inner)?;
        self.wire.question_answered();
        self.wire.pass_time(now);
        self.take_in(self.wire.now);
        Ok(())
    }

    #[inline(always)]
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
        self.wire.begin_request(command);
        io.start
    }

    #[inline]
    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<Option<M::When>, M::Error> {
        let (crossing, time) = self.command(0);
        let data = self.wire.cost.bytes(self.page_bytes);
        let time = time + self.wire.cost.turn(Way::ToHost, io.media.known(after), data);
        let (after, start) = (io.media.later(after, time), io.media.later(io.start, time));
        let joins = self.below.joins_pages();
        let begins = !std::mem::replace(&mut self.wire.reads, joins);
        let mut command = self.page_command(Op::Read, page.lpn, crossing);
        if joins {
            command.pages = self.wire.request_end.saturating_sub(page.lpn.get()).max(1);
            command.bytes = u64::from(command.pages) * self.page_bytes;
        }
        let (below, mut inner) = self.descend(after, io);
        let after = if begins { below.begin(&command, &mut inner) } else { after };
        inner.start = start;
        let done = below.read(page, after, &mut inner)?;
        let tail = if joins { Duration::ZERO } else { below.end(&mut inner)? };
        self.wire.question_answered();
        let Some(done) = done else { return Ok(None) };
        // The pages of a request cross one after another.
        self.wire.crossed_pages += 1;
        // Of a shared link each has taken its turn.
        let pages = if self.wire.cost.is_shared { 1 } else { self.wire.crossed_pages };
        let back = self.wire.cost.bytes(pages * self.page_bytes);
        Ok(Some(io.media.later(done, tail + back + self.wire.to_host.piggyback(self.wire.now))))
    }

    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        if std::mem::take(&mut self.wire.reads) {
            // An eviction between the pages of a read ends its command.
            let (below, mut inner) = self.descend(io.start, io);
            below.end(&mut inner)?;
        }
        let slot = self.slot_of(&page);
        let mut time = Duration::ZERO;
        if let Some(ticket) = slot.and_then(|slot| self.withdraw(slot))
            && self.wire.waits()
            && let DeliveryState::UnderWay(arrival) = self.wire.to_device.delivery_state(ticket)
        {
            // The write itself waits for the notice before it, unless that has arrived; the request does not
            // wait.
            let arrival = arrival.max(self.wire.now);
            time = arrival.since(self.wire.now);
            self.take_in(arrival);
        }
        // An eviction is a command of its own.
        let request_crossed = std::mem::replace(&mut self.wire.has_crossed, false);
        let (crossing, own) = self.command(self.page_bytes);
        let data = self.wire.cost.bytes(self.page_bytes);
        time = time + own + self.wire.cost.turn(Way::ToDevice, io.media.known(after), data);
        self.wire.has_crossed = request_crossed || slot.is_none();
        let (after, start) = (io.media.later(after, time), io.media.later(io.start, time));
        if let Some(at) = io.media.known(after) {
            self.wire.written_across_at = self.wire.written_across_at.max(at);
        }
        let command = self.page_command(Op::Write, page.lpn, crossing);
        let (below, mut inner) = self.descend(after, io);
        let after = below.begin(&command, &mut inner);
        inner.start = start;
        let done = below.write(page, after, &mut inner)?;
        let tail = below.end(&mut inner)?;
        self.wire.question_answered();
        if let Some(slot) = slot {
            self.wire.set(slot, Said::Unknown);
        }
        Ok(io.media.later(done, tail + self.wire.to_host.piggyback(self.wire.now)))
    }

    fn trim<H: GcHook>(
        &mut self,
        lpn: Lpn,
        mut after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        let (crossing, time) = self.command(0);
        if crossing == Crossing::First {
            after = io.media.later(after, time);
            let command = self.page_command(Op::Trim, lpn, crossing);
            let (below, mut inner) = self.descend(after, io);
            after = below.begin(&command, &mut inner);
            self.wire.is_open = true;
        }
        let (below, mut inner) = self.descend(io.start, io);
        below.trim(lpn, after, &mut inner)
    }

    fn flush<H: GcHook>(
        &mut self,
        after: M::When,
        io: &mut Io<'_, M, H>,
        parts: &mut Vec<M::When>,
    ) -> Result<(), M::Error> {
        let (crossing, mut time) = self.command(0);
        // A flush does not overtake earlier writes.
        if let Some(at) = io.media.known(after) {
            time = time.max(self.wire.written_across_at.max(at).since(at));
        }
        let (after, start) = (io.media.later(after, time), io.media.later(io.start, time));
        self.wire.is_open = true;
        let command = Command { op: Op::Flush, bytes: 0, first: None, pages: 0, crossing };
        let (below, mut inner) = self.descend(after, io);
        let after = below.begin(&command, &mut inner);
        inner.start = start;
        parts.push(after);
        below.flush(after, &mut inner, parts)?;
        self.wire.question_answered();
        Ok(())
    }

    #[inline]
    fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        // Pages that crossed one by one have ended.
        if !(std::mem::take(&mut self.wire.is_open) | std::mem::take(&mut self.wire.reads)) {
            return Ok(Duration::ZERO);
        }
        let (below, mut inner) = self.descend(io.start, io);
        let tail = below.end(&mut inner);
        self.wire.question_answered();
        tail
    }

    /// What flash does then may ask the host, as in idle time.
    fn notify<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        self.wire.pass_time(at);
        self.take_in(self.wire.now);
        let (below, mut inner) = self.descend(io.start, io);
        let told = below.notify(tag, at, &mut inner);
        self.wire.question_answered();
        told
    }

    fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error> {
        if let Some(now) = io.media.known(io.start) {
            self.wire.pass_time(now);
            self.take_in(self.wire.now);
        }
        let (below, mut inner) = self.descend(io.start, io);
        let worked = below.work_idle(die, &mut inner);
        self.wire.question_answered();
        worked
    }

    fn report(&self, report: &mut Report) {
        self.below.report(report);
        self.wire.report(report);
    }

    fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error> {
        self.wire.disconnect();
        let (below, mut inner) = self.descend(io.start, io);
        below.restart(now, &mut inner)
    }

    crate::forward_level!(below_dispatch: logical_pages numbers rest);
}

/// The host's end: messages become notices.
impl<L: Cooperates> Linked<L> {
    fn mark(&mut self, page: Cached) {
        let said = match self.wire.grants_left {
            _ if !self.wire.grants => Said::Clean,
            0 => return self.wire.set(page.slot, Said::Clean),
            _ => Said::Granted,
        };
        self.wire.set(page.slot, said);
        self.wire.said[page.slot].last = Some(self.tell(Message::Mark(page)));
    }

    fn unmark(&mut self, page: Cached) {
        if self.settle(page.slot) {
            self.tell(Message::Unmark(page));
        }
        self.wire.set(page.slot, Said::Unknown);
    }

    fn invalidate(&mut self, page: Cached) {
        if self.wire.said[page.slot].said != Said::Dirty {
            self.settle(page.slot);
            self.wire.set(page.slot, Said::Dirty);
            self.wire.said[page.slot].last = Some(self.tell(Message::Invalidate(page)));
        }
    }

    fn forget(&mut self, page: Cached) {
        self.settle(page.slot);
        self.wire.set(page.slot, Said::Unknown);
    }

    /// The request does not wait for this notice, even if it is a message of its own. Only the next write of
    /// the page waits.
    fn announce(&mut self, page: Cached) {
        if self.wire.said[page.slot].said != Said::Dirty {
            self.wire.set(page.slot, Said::Dirty);
            let ticket = self.wire.to_device.post(Message::Announce(page), self.wire.now);
            self.wire.said[page.slot].last = Some(ticket);
        }
    }

    #[inline]
    fn weigh(&mut self, weights: Weights) {
        if weights != self.wire.weights_told {
            self.wire.weights_told = weights;
            self.tell(Message::Weigh(weights));
        }
    }
}

impl<L: Cooperates> Cooperates for Linked<L> {
    #[inline(always)]
    fn lags(&self) -> bool {
        true
    }

    #[inline(always)]
    fn send(&mut self, message: Message) {
        match message {
            Message::Mark(page) => self.mark(page),
            Message::Unmark(page) => self.unmark(page),
            Message::Invalidate(page) => self.invalidate(page),
            Message::Forget(page) => self.forget(page),
            Message::Moved(page, to) => {
                self.wire.said[to] = std::mem::take(&mut self.wire.said[page.slot]);
            }
            Message::Age(..) => unreachable!("age classes do not cross the link"),
            Message::Weigh(weights) => self.weigh(weights),
            Message::Announce(page) => self.announce(page),
            Message::Shadow(..) | Message::TrackHost => self.below.send(message),
            Message::Disconnect => {
                self.wire.disconnect();
                self.below.send(message);
            }
        }
    }

    fn shadows(&self, lpn: Lpn) -> Marks {
        self.below.shadows(lpn)
    }

    fn may_hold(&self, _: Lpn) -> bool {
        true
    }

    /// A device that refuses a page tells so in its answer to a command before.
    fn admits(&self, lpn: Lpn, rest: bool) -> bool {
        self.below.admits(lpn, rest)
    }

    fn seen_as(&self, page: Lpn) -> Option<Lpn> {
        self.below.seen_as(page)
    }

    /// Revoke the grant of a page. The question goes with a command that has already crossed, if there is one.
    fn keeps(&mut self, page: Cached) -> bool {
        let slot = page.slot;
        if self.wire.said[slot].said != Said::Granted || !self.wire.revokes() {
            return true;
        }
        if !self.settle(slot) {
            self.wire.set(slot, Said::Clean);
            return true;
        }
        self.wire.revoke();
        self.take_in(self.wire.now);
        let kept = self.below.keeps(page);
        self.below.send(Message::Unmark(page));
        self.wire.revoked.refused_pages += u64::from(!kept);
        self.wire.set(slot, if kept { Said::Clean } else { Said::Dirty });
        kept
    }

    fn is_granted(&self, page: Cached) -> bool {
        self.wire.said[page.slot].said == Said::Granted
    }

    /// A copy with a used grant is a sole copy. In doubt a copy counts as one: one too many costs a write,
    /// one too few would cost data.
    #[inline]
    fn next_dropped(&mut self, cache: &Cache) -> Option<SlotId> {
        while let Some(ToHost::Used(lpn)) = self.wire.to_host.arrived(self.wire.now) {
            self.wire.kinds.used += 1;
            if let Some(slot) = cache.lookup(lpn)
                && self.wire.said[slot].said == Said::Granted
            {
                self.wire.set(slot, Said::Dirty);
                return Some(slot);
            }
        }
        None
    }

    fn take_pending_wait(&mut self) -> Duration {
        std::mem::take(&mut self.wire.pending_wait)
    }

    fn flash(&self) -> &Ftl {
        self.below.flash()
    }

    fn assert_agrees(&self, cache: &Cache, _: impl FnOnce(&Cache, &Ftl)) {
        let seen = self.flash().mapped().filter_map(|page| self.below.seen_as(page));
        self.wire.assert_agrees(cache, &self.below, &seen.collect::<Vec<_>>());
    }
}
