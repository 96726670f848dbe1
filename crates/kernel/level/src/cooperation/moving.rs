//! Schemes that move pages into the cache: `cdm`, and a rule for the pages that no memory holds but flash.
//!
//! A page that moves in takes the slot of a clean page, the one used longest ago, whatever the eviction policy: while GC works, the
//! next victim of the policy is often the page that is being written out, and evicting a dirty one would cost the program that
//! the move saves. Where no page is clean, GC copies.
//!
//! What a move leaves is what a drop leaves: a sole copy, with a label before the block is erased, which is written at its eviction if
//! the host has not written it before. 8 bytes a slot for the list of clean pages.

use super::cdm::{Cdm, CdmConfig, Whole};
use super::write_history::WriteHistory;
use super::{CooperationScheme, Event, Needs, Scheme, Setting};
use crate::cooperates::{Cached, Cooperates};
use coflash_base::measure::Report;
use coflash_base::policy::Parameters;
use coflash_base::{List, Lpn, Misfit, Policy, Save};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Decision, Ftl, Marks, Requirements, Weights, WriteStream};
use coflash_media::{Memory, Slot};

coflash_base::measures! {
    /// Pages of GC's victims that were moved into the cache instead of being copied. They are among the pages dropped by GC.
    pub struct MovingCounters in "moving", "Pages moved into the cache" {
        /// Valid pages moved into the cache by GC and refresh, each to the slot of a clean page.
        moved_in_pages: u64, "pages moved in", pages;
        /// Valid pages copied by GC and refresh although moving in would have paid: no page was clean.
        without_room_pages: u64, "pages not moved in, no clean page", pages;
    }
}

/// The rule of a scheme: which pages move in.
pub trait MoveRule: Clone {
    /// The parameters.
    type Config: Parameters;
    /// The name in scenarios.
    const NAME: &'static str;
    /// A summary in one sentence.
    const SUMMARY: &'static str;
    /// The source.
    const SOURCE: &'static str;

    /// The parameters of `cdm` with which it works.
    fn cdm(config: &Self::Config) -> CdmConfig;

    /// Check the parameters.
    ///
    /// # Errors
    /// One that is out of range.
    fn check(config: &Self::Config) -> Result<(), Misfit> {
        let _ = config;
        Ok(())
    }

    /// The bytes that it notes of each logical page; `None` if no page ever moves in.
    fn page_bytes(config: &Self::Config) -> Option<u64>;

    /// Create the rule; `None` if no page ever moves in.
    fn new(config: &Self::Config, setting: &Setting) -> Option<Self>;

    /// Whether it pays to move a page in instead of copying it.
    fn pays(&mut self, lpn: Lpn, history: &WriteHistory) -> bool;

    /// Something happened to a page. A write is not in the history yet.
    fn seen(&mut self, what: Seen, lpn: Lpn, history: &WriteHistory) {
        let _ = (what, lpn, history);
    }

    /// GC is about to choose a victim. Returns what a sole copy saves while it is cached, in copies.
    fn begin_victim(&mut self, history: &WriteHistory) -> f64 {
        let _ = history;
        0.0
    }

    /// Adapt to the FTL below the cache.
    fn attach(&mut self, ftl: &Ftl) {
        let _ = ftl;
    }
}

/// What a rule sees of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The host writes it.
    Written,
    /// A read miss was cached.
    Filled,
    /// It is evicted and written to flash.
    EvictedDirty,
    /// It is evicted, and flash has its data.
    EvictedClean,
    /// It is evicted for a page that moves in.
    Displaced,
    /// GC copies it.
    Copied,
}

/// Any of these schemes.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct Moving<R> {
    cdm: Cdm<Whole>,
    #[save(each)]
    mover: Option<Mover<R>>,
}

/// The part that `cdm` does not have.
#[derive(Clone, Save)]
#[save(in_place)]
struct Mover<R> {
    rule: R,
    history: WriteHistory,
    /// The slots of clean pages, the last used at the front. After a restart it may list slots that are none.
    clean: List<SlotId>,
    counters: MovingCounters,
}

impl<R: MoveRule> Mover<R> {
    #[inline]
    fn seen(&mut self, what: Seen, lpn: Lpn) {
        self.rule.seen(what, lpn, &self.history);
    }

    fn is_clean(&mut self, slot: SlotId) {
        self.is_not_clean(slot);
        self.clean.push_front(slot);
    }

    #[inline]
    fn is_not_clean(&mut self, slot: SlotId) {
        if self.clean.contains(slot) {
            self.clean.remove(slot);
        }
    }

    /// The clean page used longest ago.
    fn room(&mut self, cache: &Cache) -> Option<SlotId> {
        while let Some(slot) = self.clean.back() {
            if cache.is_occupied(slot) && !cache.is_dirty(slot) {
                return Some(slot);
            }
            self.clean.remove(slot);
        }
        None
    }

    /// Decide about a page that only flash holds.
    fn decide(&mut self, lpn: Lpn, cache: &Cache) -> Decision {
        if self.rule.pays(lpn, &self.history) {
            if let Some(slot) = self.room(cache) {
                return Decision::MoveIn(Slot { memory: Memory::Device, number: slot.get() });
            }
            self.counters.without_room_pages += 1;
        }
        Decision::COPY
    }

    #[inline]
    fn happened(&mut self, event: Event, Cached { lpn, slot }: Cached, cache: &Cache) {
        match event {
            Event::Filled => {
                self.is_clean(slot);
                self.seen(Seen::Filled, lpn);
            }
            Event::Cleaned => self.is_clean(slot),
            Event::Used => {
                if self.clean.contains(slot) {
                    self.clean.move_to_front(slot);
                }
            }
            // What the host is about to write or trim must stay.
            Event::Overwritten | Event::BecameSole | Event::Trimmed => self.is_not_clean(slot),
            Event::Written => {
                self.is_not_clean(slot);
                self.seen(Seen::Written, lpn);
                self.history.wrote(lpn);
            }
            Event::Evicted => {
                self.is_not_clean(slot);
                let is_dirty = cache.is_dirty(slot);
                if is_dirty && !cache.is_orphan(slot) {
                    self.history.left(lpn);
                }
                self.seen(if is_dirty { Seen::EvictedDirty } else { Seen::EvictedClean }, lpn);
            }
        }
    }
}

impl<R: MoveRule> Policy for Moving<R> {
    type Config = R::Config;
    const SUMMARY: &'static str = R::SUMMARY;
    const SOURCE: &'static str = R::SOURCE;
}

impl<R: MoveRule> CooperationScheme for Moving<R> {
    fn requirements(config: &R::Config) -> Requirements {
        Cdm::<Whole>::requirements(&R::cdm(config))
    }

    /// Those of `cdm`; where pages may move, the history of each page, what the rule notes of it, and the list of clean pages.
    fn memory(config: &R::Config) -> Needs {
        let cdm = Cdm::<Whole>::memory(&R::cdm(config));
        match R::page_bytes(config) {
            None => cdm,
            Some(bytes) => {
                let page_bytes = cdm.page_bytes + WriteHistory::PAGE_BYTES + bytes;
                Needs { page_bytes, slot_bytes: cdm.slot_bytes + 8, ..cdm }
            }
        }
    }

    fn new(config: &R::Config, setting: &Setting) -> Result<Self, Misfit> {
        if setting.is_volatile {
            return Err(super::needs_durable(R::NAME));
        }
        if setting.memory == Memory::Host {
            let problem = format!(
                "\"host\" was given; with {} GC moves pages into the cache, and each would cross the link: \"in-storage\" is \
                 allowed, or cooperation \"cdm\"",
                R::NAME
            );
            return Err(Misfit::new("cache.placement", problem));
        }
        R::check(config)?;
        let rule = if setting.slots == 0 { None } else { R::new(config, setting) };
        let mover = rule.map(|rule| Mover {
            rule,
            history: WriteHistory::new(setting.logical_pages, setting.slots),
            clean: List::new(setting.slots),
            counters: MovingCounters::default(),
        });
        Ok(Self { cdm: Cdm::new(&R::cdm(config), setting)?, mover })
    }
}

impl<R: MoveRule> Scheme for Moving<R> {
    fn decide(&mut self, lpn: Lpn, marks: Marks, cache: &Cache) -> Decision {
        let mut decision = self.cdm.decide(lpn, marks, cache);
        let Some(mover) = &mut self.mover else { return decision };
        let cached = cache.lookup(lpn);
        if let (Decision::Drop, Some(slot)) = (decision, cached) {
            mover.is_not_clean(slot);
        } else if !marks.any() && cached.is_none() && !self.cdm.is_at_bound(cache) {
            decision = mover.decide(lpn, cache);
        }
        if !decision.frees() {
            mover.seen(Seen::Copied, lpn);
        }
        decision
    }

    /// Each page is asked about.
    fn copies_unmarked(&mut self, pages: u32) -> bool {
        self.mover.is_none() && self.cdm.copies_unmarked(pages)
    }

    fn moved_in(&mut self, page: Cached, left: Lpn, cache: &Cache) {
        self.cdm.moved_in(page, left, cache);
        if let Some(mover) = &mut self.mover {
            mover.is_not_clean(page.slot);
            mover.seen(Seen::Displaced, left);
            mover.counters.moved_in_pages += 1;
        }
    }

    fn trims(&mut self, lpn: Lpn) {
        if let Some(mover) = &mut self.mover {
            mover.history.trimmed(lpn);
        }
    }

    fn weights(&mut self, cache: &Cache) -> Weights {
        if let Some(mover) = &mut self.mover {
            self.cdm.set_room_copies(mover.rule.begin_victim(&mover.history));
        }
        self.cdm.weights(cache)
    }

    fn attach(&mut self, ftl: &Ftl) {
        self.cdm.attach(ftl);
        if let Some(mover) = &mut self.mover {
            mover.rule.attach(ftl);
        }
    }

    #[inline]
    fn happened<B: Cooperates>(&mut self, event: Event, page: Cached, cache: &mut Cache, below: &mut B) {
        if let Some(mover) = &mut self.mover {
            mover.happened(event, page, cache);
        }
        self.cdm.happened(event, page, cache, below);
    }

    fn next_to_clean(&self, cache: &Cache) -> Option<SlotId> {
        self.cdm.next_to_clean(cache)
    }

    fn rewrite_stream(&self) -> WriteStream {
        self.cdm.rewrite_stream()
    }

    fn report(&self, report: &mut Report) {
        self.cdm.report(report);
        if let Some(mover) = &self.mover {
            report.add(&mover.counters);
        }
    }

    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        self.cdm.assert_invariants(cache, ftl);
        if let Some(mover) = &self.mover {
            for slot in cache.occupied().filter(|&slot| !cache.is_dirty(slot)) {
                assert!(mover.clean.contains(slot), "{slot:?} is clean, and not listed");
            }
        }
    }
}
