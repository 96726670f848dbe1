//! The cache of the stack: a write-back cache over any level. The device's cache, a cache in the host and the host's write buffer
//! differ only in options, and in two parts that one may have: the age of dirty pages (`ageing.rs`), and versions that wait for a
//! commit (`consistency.rs`).
//!
//! ```text
//! read miss ──▶ clean ──(eviction)──▶ gone
//! write ──▶ dirty ──(eviction, age, too much dirty, flush)──▶ written below, clean or gone
//! ```

mod ageing;
mod at_risk;
mod build;
mod clean;
mod commit;
mod consistency;
mod counters;
mod hook;
mod host_buffer;
mod pages;
mod recovery;
mod room;
mod standby;

pub use at_risk::AtRisk;
pub use counters::{CacheCounters, DropCounters, HOST_BUFFER};
pub use host_buffer::{Announces, WriteBufferConfig};

use crate::config::Eviction;
use crate::cooperates::{Cached, Cooperates, Message};
use crate::cooperation::{Cooperation, Event, Scheme, Setting};
use crate::level::{Command, Elsewhere, Level, LostPages};
use crate::nvm::{Layout, Metadata};
use crate::over::below_dispatch;
use ageing::Ageing;
use coflash_base::measure::{Report, SectionInfo};
use coflash_base::{Ahead, Duration, Lpn, Save, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Ftl, GcHook, Io, Marks, PageRead, PageWrite};
use coflash_media::{Cause, DieId, Media, Place, Slot};
use consistency::Consistency;

/// The differences between the caches.
#[derive(Clone, Debug)]
struct Options {
    setting: Setting,
    read_allocate: bool,
    eviction: Eviction,
    /// The cause of pages written below; it determines the write stream.
    cause: Cause,
    section: &'static SectionInfo,
}

/// A cache, its cooperation scheme, and the level below.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct WriteBack<L, S = Cooperation> {
    below: L,
    own: Own<S>,
}

/// All of a cache but the level below: the hook of that level's GC.
#[derive(Clone, Save)]
#[save(in_place)]
struct Own<S> {
    cache: Cache,
    scheme: S,
    metadata: Metadata,
    #[save(skip)]
    options: Options,
    ageing: Option<Ageing>,
    consistency: Option<Consistency>,
    now: Time,
    /// The page that is being read or written.
    serving: Option<Lpn>,
    /// Whether the scheme uses marks for pages that are dirty in the host.
    knows_host: bool,
    /// Whether a write buffer above has written past this cache.
    passed: bool,
    counters: CacheCounters,
    drops: DropCounters,
}

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    crate::over::level_over!();

    /// The cached pages.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.own.cache
    }

    /// The layout of its metadata in non-volatile memory.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.own.metadata.layout
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> &S {
        &self.own.scheme
    }

    /// Whether a page has data, cached or in flash; true also for a page with an uncommitted trim.
    #[must_use]
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.own.cache.lookup(lpn).is_some() || self.below.flash().lookup(lpn).is_some()
    }

    /// Borrow the level below, and the media with this cache as GC's hook.
    #[inline(always)]
    fn descend<'s, M: Media>(
        &'s mut self,
        media: &'s mut M,
        start: M::When,
    ) -> (&'s mut L, Io<'s, M, &'s mut Own<S>>) {
        (&mut self.below, Io { media, hook: &mut self.own, start })
    }

    #[inline(always)]
    fn place(&self, slot: SlotId) -> Slot {
        Slot { memory: self.own.options.setting.memory, number: slot.get() }
    }

    #[inline(always)]
    fn cached(&self, slot: SlotId) -> Cached {
        Cached { lpn: self.own.cache.page_of(slot), slot }
    }

    /// Handle messages from flash after an operation below. The answer waits for the messages it depends on.
    #[inline(always)]
    fn settle<M: Media>(&mut self, done: M::When, media: &mut M) -> M::When {
        if !self.below.lags() {
            return done;
        }
        self.exchange();
        media.later(done, self.below.take_pending_wait())
    }

    /// Send the cost weights to flash, and handle messages from flash.
    fn exchange(&mut self) {
        self.below.send(Message::Weigh(self.own.scheme.weights(&self.own.cache)));
        self.hear();
    }

    /// Tell the scheme of an event.
    #[inline(always)]
    fn happened(&mut self, event: Event, page: Cached) {
        self.own.scheme.happened(event, page, &mut self.own.cache, &mut self.below);
    }

    /// Rare, and so not part of the path of a page.
    #[cold]
    fn became_sole(&mut self, page: Cached) {
        self.happened(Event::BecameSole, page);
    }

    fn hear(&mut self) {
        while let Some(slot) = self.below.next_dropped(&self.own.cache) {
            self.orphan(slot);
        }
    }

    /// The part that only a consistent cache has.
    fn consistency(&mut self) -> &mut Consistency {
        self.own.consistency.as_mut().expect("this is the path of a consistent cache")
    }

    #[inline(always)]
    fn is_deleted(&self, lpn: Lpn) -> bool {
        self.own.consistency.as_ref().is_some_and(|consistency| consistency.deletions.contains_key(&lpn))
    }

    /// Note a use of the page in a slot.
    #[inline(always)]
    fn touch(&mut self, slot: SlotId) {
        match &mut self.own.consistency {
            None => self.own.cache.touch(slot),
            Some(consistency) => consistency.touch(slot, &mut self.own.cache),
        }
    }

    /// Whether the copy of a page is write-protected: a commit has promised it.
    #[inline(always)]
    fn is_protected(&self, slot: SlotId) -> bool {
        self.own.consistency.as_ref().is_some_and(|consistency| {
            self.own.cache.is_dirty(slot) && !consistency.uncommitted.contains(slot)
        })
    }
}

/// A cache that serves a request: with the media, and the beginning of the request.
struct AtWork<'a, M: Media, L, S> {
    level: &'a mut WriteBack<L, S>,
    media: &'a mut M,
    start: M::When,
}

impl<L, S> WriteBack<L, S> {
    #[inline(always)]
    fn at_work<'a, M: Media, H>(&'a mut self, io: &'a mut Io<'_, M, H>) -> AtWork<'a, M, L, S> {
        AtWork { level: self, media: &mut *io.media, start: io.start }
    }
}

impl<M: Media, L: Level<M> + Cooperates, S: Scheme> Level<M> for WriteBack<L, S> {
    #[inline(always)]
    fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        self.own.cache.look_ahead(lpn, ahead);
        self.below.look_ahead(lpn, ahead);
    }

    #[inline]
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
        self.own.metadata.begin();
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        below.begin(&command.page_by_page(), &mut inner)
    }

    fn elsewhere(&self, page: Lpn) -> Option<Elsewhere> {
        let here = |slot| if self.own.cache.is_dirty(slot) { Elsewhere::Newer } else { Elsewhere::Same };
        let seen = self.below.seen_as(page).and_then(|page| self.own.cache.lookup(page));
        seen.map(here).or_else(|| self.below.elsewhere(page))
    }

    fn notify<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        below.notify(tag, at, &mut inner)
    }

    fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error> {
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        below.work_idle(die, &mut inner)
    }

    crate::forward_level!(below_dispatch: logical_pages numbers);

    #[inline(always)]
    fn is_timed(&self) -> bool {
        let Self { below, own } = self;
        below.lags() || own.ageing.is_some() || own.consistency.is_some() || below.is_timed()
    }

    /// Handle the messages that have arrived, write the dirty pages due by now, and commit if a commit is due.
    #[inline]
    fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        below.pass_time(now, &mut inner)?;
        if self.below.lags() {
            self.hear();
        }
        if let Some(consistency) = &mut self.own.consistency
            && consistency.is_due(now)
        {
            self.at_work(io).commit();
        }
        self.at_work(io).clean_aged(now)
    }

    /// A commit may wait for the next request.
    #[inline(always)]
    fn next_due(&self) -> Option<Time> {
        let below = self.below.next_due();
        match self.own.ageing.as_ref().and_then(Ageing::next_due) {
            Some(own) => Some(below.map_or(own, |due| due.min(own))),
            None => below,
        }
    }

    #[inline]
    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<Option<M::When>, M::Error> {
        self.own.serving = Some(page.lpn);
        let Some(done) = self.at_work(io).read_page(page, after)? else {
            if self.below.lags() && self.own.consistency.is_none() {
                self.exchange();
            }
            return Ok(None);
        };
        Ok(Some(self.settle(done, io.media)))
    }

    #[inline(always)]
    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        self.own.serving = Some(page.lpn);
        if self.own.cache.capacity() == 0 && self.own.consistency.is_none() {
            self.own.counters.write_misses += 1;
        } else if let Some(done) = self.at_work(io).write(page, after)? {
            return Ok(self.settle(done, io.media));
        }
        self.own.passed |= matches!(page.from, Place::Slot(_));
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        let done = below.write(page, after, &mut inner)?;
        self.own.metadata.programmed(page.lpn, io.media);
        Ok(self.settle(done, io.media))
    }

    #[inline]
    fn trim<H: GcHook>(
        &mut self,
        lpn: Lpn,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        if self.own.consistency.is_some() {
            self.at_work(io).trim_at_commit(lpn);
            return Ok(self.settle(after, io.media));
        }
        self.own.metadata.trimmed(lpn, io.media);
        self.own.scheme.trims(lpn);
        if self.below.lags() {
            // The device may erase the page, but not an older version of it, before the request ends.
            self.own.metadata.settle(io.media);
        }
        if let Some(slot) = self.own.cache.lookup(lpn) {
            if self.own.cache.is_dirty(slot) {
                self.own.metadata.free(slot, io.media);
                self.own.counters.dropped_pages += 1;
                self.became_clean(slot);
            }
            let page = Cached { lpn, slot };
            self.happened(Event::Trimmed, page);
            self.own.cache.remove(slot);
            self.below.send(Message::Forget(page));
        }
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        let done = below.trim(lpn, after, &mut inner)?;
        Ok(self.settle(done, io.media))
    }

    /// A non-volatile cache is durable, like flash, or from the next commit on: a few stores and no flash operation. A volatile cache writes every dirty page below and then
    /// flushes the level below. It also waits for pending programs: pages evicted in the background, or taken
    /// from the cache by GC, are not in flash yet. What a write buffer has written past a non-volatile cache is as durable as the level
    /// below makes it.
    fn flush<H: GcHook>(
        &mut self,
        after: M::When,
        io: &mut Io<'_, M, H>,
        parts: &mut Vec<M::When>,
    ) -> Result<(), M::Error> {
        if self.own.consistency.is_some() {
            self.at_work(io).commit();
            if self.below.lags() {
                parts.push(self.settle(after, io.media));
            }
        }
        if self.is_volatile() {
            io.media.await_programs(parts);
            self.at_work(io).clean_all(after, parts)?;
        } else if !self.own.passed {
            return Ok(());
        }
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        below.flush(after, &mut inner, parts)
    }

    #[inline]
    fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        if self.own.consistency.is_none() {
            self.own.metadata.settle(io.media);
        }
        self.own.serving = None;
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        let tail = below.end(&mut inner)?;
        // Zero, unless the last page was read and no level held it.
        Ok(tail + self.below.take_pending_wait() + self.own.metadata.fenced())
    }

    fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error> {
        let commits = self.own.consistency.is_some();
        let lost = if commits { self.roll_back(io.media) } else { self.lose_volatile() };
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        let below = below.restart(now, &mut inner)?;
        self.connect(io)?;
        Ok(below.plus(self.own.options.setting.memory, lost))
    }

    fn report(&self, report: &mut Report) {
        self.below.report(report);
        let counters = CacheCounters { dirty_pages: self.own.cache.dirty_len(), ..self.own.counters };
        // Without slots, it leaves the word to a cache below.
        if self.own.cache.capacity() > 0 || report.find::<CacheCounters>(self.own.options.section).is_none() {
            report.add_as(self.own.options.section, &counters);
            if self.own.options.cause == Cause::Evict {
                report.add(&self.own.drops);
                report.add(&self.own.metadata.counters);
            }
        }
        if let Some(consistency) = &self.own.consistency {
            report.add(&consistency.counters);
        }
        self.own.scheme.report(report);
    }

    fn assert_invariants(&self) {
        self.below.assert_invariants();
        self.own.cache.assert_invariants();
        self.below.assert_agrees(&self.own.cache, |cache, flash| {
            self.own.scheme.assert_invariants(cache, flash);
            self.own.metadata.assert_agrees(flash);
            if let Some(consistency) = &self.own.consistency {
                consistency.assert_agrees(cache, flash);
            }
        });
        if let Some(consistency) = &self.own.consistency {
            consistency.assert_cache(&self.own.cache, self.own.metadata.layout.deletions);
        }
        if let Some(ageing) = &self.own.ageing {
            ageing.assert_invariants(&self.own.cache);
        }
    }
}

/// A cache between another cache and flash. The misses of the upper cache come here, and this cache waits for
/// messages itself, so flash only needs the marks for pages that are dirty in the host.
impl<L: Cooperates, S: Scheme> Cooperates for WriteBack<L, S> {
    crate::takes_no_marks!();

    fn send(&mut self, message: Message) {
        match message {
            Message::Announce(_) | Message::Shadow(..) if !self.own.knows_host => {}
            Message::Announce(_) | Message::Shadow(..) | Message::TrackHost => self.below.send(message),
            Message::Mark(_)
            | Message::Unmark(_)
            | Message::Invalidate(_)
            | Message::Forget(_)
            | Message::Moved(..)
            | Message::Age(..)
            | Message::Weigh(_)
            | Message::Disconnect => {}
        }
    }

    fn shadows(&self, lpn: Lpn) -> Marks {
        self.below.shadows(lpn)
    }

    fn admits(&self, page: Lpn, rest: bool) -> bool {
        !rest || self.own.cache.lookup(page).is_some() || self.below.admits(page, rest)
    }

    fn seen_as(&self, page: Lpn) -> Option<Lpn> {
        self.below.seen_as(page)
    }

    fn flash(&self) -> &Ftl {
        self.below.flash()
    }
}
