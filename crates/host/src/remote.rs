//! The device across the link, as a cache in the host has it below.
//!
//! What the device knows of the host's cache is the marks on its pages, and they lag. Nothing may be lost for that, in
//! whatever order messages arrive:
//!
//! - **The device never acts on a mark alone.** Under *request* GC asks about every marked page of its victim in one
//!   message, and the erase waits for the answer. The host answers from its own state: a clean copy is protected first
//!   (it becomes the only one), a newer one needs no protection, and of a page it does not hold it says so: that is copied
//!   and loses its mark. Under *grants* a mark is a promise: the host keeps the page, or newer data, until the device has
//!   acknowledged that the promise is revoked, and then knows whether it had been used. GC drops it without asking.
//! - **One thing at a time is said of a page.** Before anything new is said of a copy, what was said last is either
//!   withdrawn unsent or has arrived. So nothing said of old data meets the new: the note that flash is out of date can
//!   not overtake, or be overtaken by, the write that brings flash up to date.
//!
//! | the copy becomes | request | grants |
//! |---|---|---|
//! | cached, clean | *cached*: the page is marked | *cached* if a grant is left: the page is marked |
//! | dirty | *dirtied*: the flash page is invalid | the same; the grant is void |
//! | evicted, clean | *evicted*: the mark goes | revoked first, if granted; a message of its own, or with a command |
//! | evicted, dirty | a command, which says it all | the same |
//! | trimmed | a command, which says it all | the same |

use crate::config::{HostConfig, Protecting};
use crate::link::{Lane, LaneTally, Sending, Standing, Ticket, Toll};
use crate::notice::{RemoteTally, ToDevice, ToHost};
use coflash_base::{Duration, IdVec, Lpn, Seed, Time};
use coflash_cache::{Cache, SlotId};
use coflash_controller::{Answers, Below, Cached};
use coflash_flash::{Cause, DieId, Media, Place};
use coflash_ftl::{Advisor, Fate, Ftl, Io, Marks, Stream, Weight, Weights};

/// What the device was told of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Copy {
    /// Nothing: there is none, or nothing is ever told.
    #[default]
    Unknown,
    /// Clean. It may be evicted at any time.
    Clean,
    /// Clean and promised.
    Granted,
    /// Newer than flash, or the only one.
    Dirty,
}

/// What the host keeps of each slot: what was said last, and how to ask whether that has arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    copy: Copy,
    last: Option<Ticket>,
}

/// Ways of breaking the promises at the top of the file, to see that the tests notice.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// The device drops what is marked, and asks nobody.
    TrustMarks,
    /// The host lets granted pages go without revoking the grant.
    NoRevocation,
    /// The host does not wait for what it said of a page.
    NoWaiting,
}

/// Everything but the FTL: both ends of the link.
#[derive(Clone)]
struct Wire {
    to_device: Lane<ToDevice>,
    to_host: Lane<ToHost>,
    protecting: Protecting,
    toll: Toll,
    notice_bytes: u64,
    answer_time: Duration,
    said: IdVec<SlotId, Said>,
    grants_left: u32,
    /// What the device counts a marked page in a victim's cost.
    weight: Weight,
    weight_told: Weight,
    now: Time,
    /// What the request being served has yet to wait for messages and trims.
    owed: Duration,
    /// Pages of the request being served that have crossed from the device.
    crossed_pages: u64,
    /// Whether a command of it has crossed, so that others need none of their own.
    has_crossed: bool,
    /// Pages that GC has asked about, in a message that is not sent yet.
    asked: u64,
    tally: RemoteTally,
    #[cfg(test)]
    sabotage: Sabotage,
}

/// A device across the link.
#[derive(Clone)]
pub struct Remote {
    ftl: Ftl,
    wire: Wire,
    page_bytes: u64,
}

impl Remote {
    pub(crate) fn new(
        ftl: Ftl,
        slots: u32,
        page_bytes: u64,
        host: &HostConfig,
        toll: &Toll,
        seed: Seed,
    ) -> Self {
        let notice_bytes = host.notice_size.count;
        let jittered = |stream| toll.clone().with_jitter(host.jitter, seed, stream);
        Self {
            ftl,
            page_bytes,
            wire: Wire {
                to_device: Lane::new(host.sending(), jittered("link/to device"), notice_bytes),
                to_host: Lane::new(host.sending(), jittered("link/to host"), notice_bytes),
                protecting: host.protecting,
                toll: toll.clone(),
                notice_bytes,
                answer_time: host.answer_time,
                said: IdVec::filled(Said::default(), slots as usize),
                grants_left: host.grants.of(u64::from(slots)) as u32,
                weight: Weight::FULL,
                weight_told: Weight::FULL,
                now: Time::ZERO,
                owed: Duration::ZERO,
                crossed_pages: 0,
                has_crossed: false,
                asked: 0,
                tally: RemoteTally::default(),
                #[cfg(test)]
                sabotage: Sabotage::None,
            },
        }
    }

    /// The device's FTL, to look at.
    #[inline]
    #[must_use]
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    pub(crate) fn ftl_mut(&mut self) -> &mut Ftl {
        &mut self.ftl
    }

    /// What cooperation across the link has cost so far.
    #[must_use]
    pub fn tally(&self) -> &RemoteTally {
        &self.wire.tally
    }

    /// The notices to the device so far.
    #[must_use]
    pub fn to_device(&self) -> &LaneTally {
        self.wire.to_device.tally()
    }

    /// The notices to the host so far.
    #[must_use]
    pub fn to_host(&self) -> &LaneTally {
        self.wire.to_host.tally()
    }

    /// How pages are protected.
    #[must_use]
    pub fn protecting(&self) -> Protecting {
        self.wire.protecting
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.ftl.heap_bytes()
            + self.wire.to_device.heap_bytes()
            + self.wire.to_host.heap_bytes()
            + self.wire.said.heap_bytes()
    }

    pub(crate) fn pass_time(&mut self, now: Time) {
        self.wire.now = self.wire.now.max(now);
        self.wire.to_device.pass_time(self.wire.now);
        self.wire.to_host.pass_time(self.wire.now);
        self.take_in();
    }

    pub(crate) fn begin_request(&mut self) {
        self.wire.has_crossed = false;
        self.wire.crossed_pages = 0;
    }

    /// What the host has waited for messages and trims since this was last asked.
    pub(crate) fn take_owed(&mut self) -> Duration {
        std::mem::take(&mut self.wire.owed)
    }

    pub(crate) fn copy(&self, slot: SlotId) -> Copy {
        self.wire.said[slot].copy
    }

    /// The next that the device has told and that has arrived.
    #[inline]
    pub(crate) fn heard(&mut self) -> Option<ToHost> {
        let notice = self.wire.to_host.arrived(self.wire.now)?;
        self.wire.tally.notices.used += 1;
        Some(notice)
    }

    /// The host knows that its copy is the only one.
    pub(crate) fn is_sole(&mut self, slot: SlotId) {
        self.wire.set(slot, Copy::Dirty);
    }

    /// Tells the device what a marked page counts, if that has changed.
    #[inline]
    pub(crate) fn tell_weight(&mut self, weight: Weight) {
        if weight != self.wire.weight_told {
            self.wire.weight_told = weight;
            self.tell(ToDevice::Weight(weight));
        }
    }

    pub(crate) fn work_idle<M: Media>(
        &mut self,
        die: DieId,
        start: M::When,
        answers: &mut Answers<'_>,
        media: &mut M,
    ) -> bool {
        let advisor = &mut Gc { wire: &mut self.wire, answers };
        let worked = self.ftl.work_idle(die, &mut Io { media, advisor, start });
        self.wire.question_answered();
        worked
    }

    /// The device takes in what has arrived.
    #[inline]
    fn take_in(&mut self) {
        while let Some(notice) = self.wire.to_device.arrived(self.wire.now) {
            let tally = &mut self.wire.tally.notices;
            match notice {
                ToDevice::Cached(lpn) => {
                    tally.cached += 1;
                    // There may be a mark that outlived an earlier stay.
                    if !self.ftl.is_marked(lpn) {
                        self.ftl.mark(lpn);
                    }
                }
                ToDevice::Dirtied(lpn) => {
                    tally.dirtied += 1;
                    self.ftl.invalidate(lpn);
                }
                ToDevice::Evicted(lpn) => {
                    tally.evicted += 1;
                    self.forget_mark(lpn);
                }
                ToDevice::Weight(weight) => {
                    tally.weights += 1;
                    self.wire.weight = weight;
                }
            }
        }
    }

    fn forget_mark(&mut self, lpn: Lpn) {
        if self.ftl.is_marked(lpn) {
            self.ftl.unmark(lpn);
        }
    }

    /// Posts a notice. One that is a message of its own is waited for.
    fn tell(&mut self, notice: ToDevice) -> Ticket {
        let ticket = self.wire.to_device.post(notice, self.wire.now);
        if self.wire.to_device.sending() == Sending::Each {
            self.wait_for(ticket);
        }
        ticket
    }

    fn wait_for(&mut self, ticket: Ticket) {
        if let Standing::UnderWay(arrival) = self.wire.to_device.standing(ticket) {
            self.wire.wait_until(arrival);
            self.take_in();
        }
    }

    /// Has what was said last of a copy arrive, or takes it back; false where the device has never heard it.
    fn settle(&mut self, slot: SlotId) -> bool {
        let Some(ticket) = self.wire.said[slot].last.take() else { return false };
        if self.wire.to_device.withdraw(ticket) {
            return false;
        }
        #[cfg(test)]
        if self.wire.sabotage == Sabotage::NoWaiting {
            return true;
        }
        self.wait_for(ticket);
        true
    }

    /// A command crosses, with what rides on it; what that takes.
    fn command(&mut self, bytes: u64) -> Duration {
        self.wire.tally.commands += u64::from(!self.wire.has_crossed);
        self.wire.has_crossed = true;
        let rides = self.wire.to_device.ride(self.wire.now);
        self.take_in();
        self.wire.toll.per_message + self.wire.toll.bytes(bytes) + rides
    }

    #[cfg(test)]
    pub(crate) fn sabotage(&mut self, sabotage: Sabotage) {
        self.wire.sabotage = sabotage;
    }

    #[cfg(test)]
    pub(crate) fn send_all(&mut self) {
        self.wire.to_device.send(self.wire.now);
        self.wire.to_host.send(self.wire.now);
    }

    /// Panics unless what was said of each copy is what it is, and what the device believes has a reason. For tests.
    pub(crate) fn assert_invariants(&self, cache: &Cache) {
        self.ftl.assert_invariants();
        let wire = &self.wire;
        let granted = wire.said.iter().filter(|said| said.copy == Copy::Granted).count();
        for slot in wire.said.ids() {
            let Said { copy, .. } = wire.said[slot];
            if !cache.is_occupied(slot) {
                assert_eq!(copy, Copy::Unknown, "{slot:?} is free");
                continue;
            }
            let lpn = cache.page_of(slot);
            match copy {
                // Without cooperation nothing is said.
                Copy::Unknown => {
                    assert!(!self.ftl.is_marked(lpn), "{lpn:?} is not spoken of, and not marked")
                }
                Copy::Clean | Copy::Granted => {
                    assert!(!cache.is_dirty(slot), "{lpn:?} was said to be clean");
                    let used = copy == Copy::Granted
                        && wire.to_host.outstanding().any(|&notice| notice == ToHost::Used(lpn));
                    assert!(
                        self.ftl.lookup(lpn).is_some() || used,
                        "{lpn:?} is clean: flash has it, or will tell"
                    );
                }
                Copy::Dirty => assert!(cache.is_dirty(slot), "{lpn:?} was said to be dirty"),
            }
        }
        assert!(wire.protecting == Protecting::Grants || granted == 0, "grants by request");
    }
}

impl Wire {
    fn wait_until(&mut self, time: Time) {
        if time > self.now {
            let wait = time.since(self.now);
            self.owed = self.owed + wait;
            self.tally.waited = self.tally.waited + wait;
            self.now = time;
        }
    }

    /// What is known of a copy from now on; a grant that ends may be given again.
    fn set(&mut self, slot: SlotId, copy: Copy) {
        let before = std::mem::replace(&mut self.said[slot].copy, copy);
        if before == Copy::Granted {
            self.grants_left += 1;
        }
        if copy == Copy::Granted {
            self.grants_left -= 1;
            self.tally.grants += 1;
        }
    }

    /// The host's answer for one marked page.
    fn protect<M: Media>(&mut self, lpn: Lpn, answers: &mut Answers<'_>, media: &mut M) -> Fate {
        self.asked += 1;
        self.tally.protect.pages += 1;
        let slot = answers.cached_at(lpn);
        let copy = slot.map_or(Copy::Unknown, |slot| self.said[slot].copy);
        match (copy, slot) {
            (Copy::Dirty, Some(slot)) => {
                self.tally.protect_obsolete_pages += 1;
                // There is nothing left to say.
                if let Some(ticket) = self.said[slot].last {
                    self.to_device.withdraw(ticket);
                }
                Fate::Drop
            }
            (Copy::Clean, Some(slot)) => {
                // The scheme may have reasons to keep the flash copy.
                let fate = answers.fate(lpn, Marks::DEVICE, media);
                if fate == Fate::Drop {
                    self.set(slot, Copy::Dirty);
                } else {
                    // The device takes it for what such pages count now, before it is told: or it would pick them for ever.
                    (self.weight, self.weight_told) = (Weight::FULL, Weight::FULL);
                }
                fate
            }
            _ => {
                self.tally.protect.refused += 1;
                Fate::CopyUnmarked
            }
        }
    }

    /// What GC has asked in one message is answered; what that took, if it asked.
    fn question_answered(&mut self) -> Option<Duration> {
        let asked = std::mem::take(&mut self.asked);
        if asked == 0 {
            return None;
        }
        let there = asked * self.notice_bytes;
        // The answer is a list of the same pages.
        let time = self.toll.message(there) + self.answer_time + self.toll.message(there);
        let tally = &mut self.tally.protect;
        tally.messages += 2;
        tally.bytes += 2 * there;
        tally.time = tally.time + time;
        Some(time)
    }
}

/// The device's GC, and the host at the other end.
struct Gc<'a, 'b> {
    wire: &'a mut Wire,
    answers: &'a mut Answers<'b>,
}

impl Advisor for Gc<'_, '_> {
    #[inline]
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, media: &mut M) -> Fate {
        if !marks.device {
            return Fate::COPY;
        }
        #[cfg(test)]
        if self.wire.sabotage == Sabotage::TrustMarks {
            return Fate::Drop;
        }
        match self.wire.protecting {
            Protecting::Request => self.wire.protect(lpn, self.answers, media),
            Protecting::Grants => {
                self.wire.tally.grants_used += 1;
                self.wire.to_host.post(ToHost::Used(lpn), self.wire.now);
                Fate::Drop
            }
        }
    }

    fn copies_unmarked(&mut self, _: u32) -> bool {
        true
    }

    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        match self.wire.question_answered() {
            Some(time) => media.later(after, time),
            None => after,
        }
    }

    fn weights(&mut self) -> Weights {
        Weights::all(self.wire.weight)
    }
}

impl Below for Remote {
    fn mark(&mut self, page: Cached) {
        let copy = match self.wire.protecting {
            Protecting::Request => Copy::Clean,
            Protecting::Grants if self.wire.grants_left > 0 => Copy::Granted,
            Protecting::Grants => return self.wire.set(page.slot, Copy::Clean),
        };
        self.wire.set(page.slot, copy);
        self.wire.said[page.slot].last = Some(self.tell(ToDevice::Cached(page.lpn)));
    }

    fn unmark(&mut self, page: Cached) {
        if self.settle(page.slot) {
            self.tell(ToDevice::Evicted(page.lpn));
        }
        self.wire.set(page.slot, Copy::Unknown);
    }

    fn invalidate(&mut self, page: Cached) {
        if self.wire.said[page.slot].copy != Copy::Dirty {
            self.settle(page.slot);
            self.wire.set(page.slot, Copy::Dirty);
            self.wire.said[page.slot].last = Some(self.tell(ToDevice::Dirtied(page.lpn)));
        }
    }

    /// Revokes the grant of a page. In a request that crosses anyway, that goes with it.
    fn keeps(&mut self, Cached { lpn, slot }: Cached) -> bool {
        if self.wire.said[slot].copy != Copy::Granted {
            return true;
        }
        #[cfg(test)]
        if self.wire.sabotage == Sabotage::NoRevocation {
            return true;
        }
        if !self.settle(slot) {
            self.wire.set(slot, Copy::Clean);
            return true;
        }
        let bytes = self.wire.notice_bytes;
        let wire = &mut self.wire;
        let time = if wire.has_crossed {
            wire.toll.bytes(bytes)
        } else {
            wire.tally.revoke.messages += 1;
            let time = wire.toll.message(bytes);
            wire.wait_until(wire.now + time);
            time
        };
        wire.tally.revoke.pages += 1;
        wire.tally.revoke.bytes += bytes;
        wire.tally.revoke.time = wire.tally.revoke.time + time;
        self.take_in();
        let kept = self.ftl.lookup(lpn).is_some();
        self.forget_mark(lpn);
        self.wire.tally.revoke.refused += u64::from(!kept);
        self.wire.set(slot, if kept { Copy::Clean } else { Copy::Dirty });
        kept
    }

    fn trim(&mut self, lpn: Lpn, slot: Option<SlotId>) {
        if let Some(slot) = slot {
            self.settle(slot);
            self.wire.set(slot, Copy::Unknown);
        }
        let first = !self.wire.has_crossed;
        let time = self.command(0);
        if first {
            self.wire.owed = self.wire.owed + time;
        }
        self.ftl.invalidate(lpn);
    }

    fn read<M: Media>(
        &mut self,
        lpn: Lpn,
        to: Place,
        after: M::When,
        io: &mut Io<'_, M, Answers<'_>>,
    ) -> Option<M::When> {
        let crossing = self.command(0);
        let (after, start) = (io.media.later(after, crossing), io.media.later(io.start, crossing));
        let advisor = &mut Gc { wire: &mut self.wire, answers: &mut *io.advisor };
        let done = self.ftl.read(lpn, to, Cause::Host, after, &mut Io { media: io.media, advisor, start })?;
        self.wire.question_answered();
        // The pages of a request cross one after another.
        self.wire.crossed_pages += 1;
        let back = self.wire.toll.bytes(self.wire.crossed_pages * self.page_bytes);
        Some(io.media.later(done, back + self.wire.to_host.ride(self.wire.now)))
    }

    fn write<M: Media>(
        &mut self,
        stream: Stream,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        after: M::When,
        io: &mut Io<'_, M, Answers<'_>>,
    ) -> M::When {
        if let Place::Cache { slot } = from {
            self.settle(SlotId::new(slot));
        }
        // An eviction is a command of its own.
        let request_crossed = std::mem::replace(&mut self.wire.has_crossed, false);
        let crossing = self.command(self.page_bytes);
        self.wire.has_crossed = request_crossed || cause == Cause::Host;
        let (after, start) = (io.media.later(after, crossing), io.media.later(io.start, crossing));
        let advisor = &mut Gc { wire: &mut self.wire, answers: &mut *io.advisor };
        let done = self.ftl.write_among(
            stream,
            lpn,
            from,
            cause,
            after,
            &mut Io { media: io.media, advisor, start },
        );
        self.wire.question_answered();
        if let Place::Cache { slot } = from {
            self.wire.set(SlotId::new(slot), Copy::Unknown);
        }
        io.media.later(done, self.wire.to_host.ride(self.wire.now))
    }
}
