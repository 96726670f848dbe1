//! How long each kind of request takes, by hand.
//!
//! In microseconds: read 10 + 4 of transfer, program 4 + 20, copy 30, erase 100; a read of the cache 1, a write 2.

use crate::support::{
    FILLERS, Setup, W, X, Y, Z, cdm, cooperation, none, set_the_scene, use_up_free_blocks, write_past_cache,
};
use coflash_base::{Duration, Lpn, Time};
use coflash_controller::{Controller, CooperationConfig, Eviction, Extent};
use coflash_flash::{BlockId, Cause, Channel, Finished, Media, Timeline, Timing, Untimed, When};
use coflash_ftl::Trigger;

const BOTH: [Eviction; 2] = [Eviction::Foreground, Eviction::Background];

fn us(us: u64) -> Duration {
    Duration { ns: us * 1000 }
}

fn at(us: u64) -> When {
    When::at(Time { ns: us * 1000 })
}

fn timing(channel: Channel) -> Timing {
    Timing {
        page_read: us(10),
        page_program: us(20),
        block_erase: us(100),
        sector_transfer: Duration { ns: 500 },
        channel,
        ..Timing::default()
    }
}

/// A controller on a timeline; requests and answers in microseconds.
struct Timed {
    controller: Controller,
    timeline: Timeline,
}

impl Timed {
    /// Pages 0 to 6 are in flash; nothing is cached; the timeline begins at 0.
    fn new(setup: &Setup, timing: &Timing) -> Self {
        let mut setup = setup.clone();
        setup.cache.page_read = us(1);
        setup.cache.page_write = us(2);
        let mut controller = setup.controller();
        set_the_scene(|page| write_past_cache(&mut controller, page, &mut Untimed, ()));
        let timeline = Timeline::new(&setup.geometry, timing, setup.cache.timing());
        Self { controller, timeline }
    }

    fn private(setup: &Setup) -> Self {
        Self::new(setup, &timing(Channel::Private))
    }

    /// One die, private channel, and the pages written to the cache before, in order.
    fn with_dirty(slots: u32, eviction: Eviction, dirty: &[Lpn]) -> Self {
        let mut setup = Setup::oldest_first().with_slots(slots);
        setup.cache.eviction = eviction;
        let mut timed = Self::private(&setup);
        timed.dirty(dirty);
        timed
    }

    fn dirty(&mut self, pages: &[Lpn]) {
        for &page in pages {
            self.controller.write(page, Extent::Whole, (), &mut Untimed);
        }
    }

    fn erase_on_die_1(&mut self) {
        let block = self.controller.ftl().erase_counts().len() as u32 - 1;
        self.timeline.erase(BlockId::new(block), Cause::Gc, at(0));
    }

    fn end(done: When) -> u64 {
        let ns = done.known().expect("a private channel knows").ns;
        assert_eq!(ns % 1000, 0);
        ns / 1000
    }

    fn read(&mut self, page: Lpn, start: u64) -> u64 {
        Self::end(self.controller.read(page, at(start), &mut self.timeline))
    }

    fn write(&mut self, page: Lpn, start: u64) -> u64 {
        Self::end(self.controller.write(page, Extent::Whole, at(start), &mut self.timeline))
    }

    /// Flushes at `start`; when the last part that the answer waits for is done, 0 where there is none.
    fn flushed(&mut self, start: u64) -> u64 {
        let mut finished = Vec::new();
        self.timeline.advance(Time { ns: start * 1000 }, &mut finished);
        let mut parts = Vec::new();
        self.controller.flush(at(start), &mut self.timeline, &mut parts);
        let known = parts.iter().filter_map(|part| part.known()).map(|at| at.ns / 1000).max();
        for part in parts.into_iter().filter(|part| part.known().is_none()) {
            self.timeline.tell(part, 0);
        }
        while self.timeline.step(&mut finished) {}
        let told = finished.iter().map(|part| part.at.ns / 1000).max();
        known.max(told).filter(|&end| end > start).unwrap_or(0)
    }

    fn part(&mut self, page: Lpn, start: u64) -> u64 {
        Self::end(self.controller.write(page, Extent::Part, at(start), &mut self.timeline))
    }
}

#[test]
fn hits_cost_the_cache_alone() {
    for eviction in BOTH {
        let mut timed = Timed::with_dirty(2, eviction, &[X]);
        assert_eq!(timed.read(X, 7), 7 + 1);
        assert_eq!(timed.write(X, 7), 7 + 2);
        assert_eq!(timed.part(X, 7), 7 + 2);
        let mut parts = Vec::new();
        timed.controller.flush(at(7), &mut timed.timeline, &mut parts);
        assert_eq!(parts, [], "the cache is durable: there is nothing to wait for");
        // None of this has kept flash busy.
        assert_eq!(timed.read(Y, 7), 7 + 14);
    }
}

#[test]
fn a_page_that_is_nowhere_is_answered_at_once() {
    let mut timed = Timed::with_dirty(2, Eviction::Foreground, &[]);
    timed.controller.trim(X, &mut timed.timeline);
    assert_eq!(timed.read(X, 7), 7);
    assert_eq!(timed.part(X, 7), 7 + 2, "and a part of it needs no read");
}

#[test]
fn misses_with_a_free_slot() {
    let mut timed = Timed::with_dirty(3, Eviction::Foreground, &[]);
    assert_eq!(timed.read(X, 5), 5 + 14, "the fill delays nobody");
    assert_eq!(timed.write(Y, 5), 5 + 2);
    assert_eq!(timed.part(Z, 50), 50 + 14 + 2, "the part waits for the rest of its page");
}

#[test]
fn a_clean_page_leaves_in_no_time() {
    for eviction in BOTH {
        let mut timed = Timed::with_dirty(1, eviction, &[]);
        assert_eq!(timed.read(X, 0), 14);
        assert_eq!(timed.write(Y, 100), 100 + 2);
    }
}

#[test]
fn a_write_waits_for_a_foreground_eviction_and_for_no_other() {
    // The leaving page is read from the cache (1) and programmed (24); then the new one is written (2).
    for (eviction, end) in [(Eviction::Foreground, 5 + 1 + 24 + 2), (Eviction::Background, 5 + 2)] {
        let mut timed = Timed::with_dirty(1, eviction, &[X]);
        assert_eq!(timed.write(Y, 5), end, "{eviction:?}");
        // Either way the die is busy until 30.
        assert_eq!(timed.read(Z, 6), 30 + 14, "{eviction:?}");
    }
}

/// With room for one sole copy, a second waits until the first is read from the cache (1) and programmed (24), whatever the
/// cache does where there is room; the first stays cached.
#[test]
fn at_the_bound_of_sole_copies_a_write_waits_for_an_older_one() {
    let scheme = cooperation(r#"{"name": "cdm", "sole_copies_max": "8B"}"#);
    for (slots, eviction) in [(3, Eviction::Foreground), (3, Eviction::Background), (1, Eviction::Background)]
    {
        let mut setup = Setup::oldest_first().with_slots(slots).with_cooperation(&scheme);
        setup.cache.eviction = eviction;
        let mut timed = Timed::private(&setup);
        timed.dirty(&[X]);
        assert_eq!(timed.write(X, 5), 5 + 2, "it is the one");
        assert_eq!(timed.write(Y, 10), 10 + 1 + 24 + 2, "{slots} slots, {eviction:?}");
        if slots > 1 {
            assert_eq!(timed.read(X, 100), 100 + 1, "still cached");
            assert_eq!(timed.write(X, 200), 200 + 1 + 24 + 2, "clean, so a hit waits too");
        }
    }
}

#[test]
fn a_read_never_waits_for_its_eviction() {
    for eviction in BOTH {
        let mut timed = Timed::with_dirty(1, eviction, &[X]);
        assert_eq!(timed.read(Y, 0), 14);
        // The program follows the read on the die: it ends at 14 + 24.
        assert_eq!(timed.read(Z, 15), 38 + 14);
    }
}

#[test]
fn a_part_waits_for_eviction_and_read() {
    for eviction in BOTH {
        // On one die the read queues behind the program in any case: 1 + 24, 14, 2.
        let mut timed = Timed::with_dirty(1, eviction, &[X]);
        assert_eq!(timed.part(Y, 0), 25 + 14 + 2, "{eviction:?}");
    }
    // X is on die 0, page 1 on die 1, which is read meanwhile; if that is busy erasing, the read ends last.
    for (eviction, erases, end) in [
        (Eviction::Foreground, false, 25 + 2),
        (Eviction::Background, false, 14 + 2),
        (Eviction::Foreground, true, 100 + 14 + 2),
        (Eviction::Background, true, 100 + 14 + 2),
    ] {
        let mut setup = Setup::tiny(8, 4).with_slots(1);
        setup.geometry.channels = 2;
        setup.cache.eviction = eviction;
        let mut timed = Timed::private(&setup);
        timed.dirty(&[X]);
        if erases {
            timed.erase_on_die_1();
        }
        assert_eq!(timed.part(FILLERS[0], 0), end, "{eviction:?}");
    }
}

#[test]
fn without_a_cache_flash_is_all_there_is() {
    let mut timed = Timed::with_dirty(0, Eviction::Foreground, &[]);
    assert_eq!(timed.write(X, 0), 24);
    assert_eq!(timed.read(X, 0), 24 + 14);
    assert_eq!(timed.part(X, 100), 100 + 14 + 24);
    let ecc = Timing { ecc_decode: us(3), ..timing(Channel::Private) };
    let mut timed = Timed::new(&Setup::oldest_first(), &ecc);
    assert_eq!(timed.read(X, 0), 14 + 3);
    assert_eq!(timed.part(X, 100), 100 + 14 + 3 + 24, "decoded before it is merged");
}

#[test]
fn gc_goes_first() {
    // The oldest block holds X: a copy (30) and an erase (100).
    let low = |trigger| {
        let mut setup = Setup::oldest_first();
        setup.gc.trigger = trigger;
        let mut timed = Timed::private(&setup);
        use_up_free_blocks(&mut timed.controller, &mut Untimed);
        timed
    };
    assert_eq!(low(Trigger::Write).write(Y, 5), 5 + 130 + 24);
    assert_eq!(low(Trigger::Write).read(Y, 5), 5 + 14, "a read looks past it");
    assert_eq!(low(Trigger::Write).part(Y, 5), 5 + 14 + 130 + 24, "the read of the rest, too");
    assert_eq!(low(Trigger::Operation).read(Y, 5), 5 + 130 + 14);
    assert_eq!(low(Trigger::Operation).part(Y, 5), 5 + 130 + 14 + 24);
    assert_eq!(low(Trigger::Operation).read(X, 5), 5 + 130 + 14, "moved while it was asked for");
}

/// A write that evicts a dirty page while GC is due, X being cached clean.
fn write_through_gc(cooperation: &CooperationConfig, eviction: Eviction) -> u64 {
    let mut setup = Setup::oldest_first().with_slots(2).with_cooperation(cooperation);
    setup.cache.eviction = eviction;
    let mut timed = Timed::private(&setup);
    timed.dirty(&[W]);
    timed.controller.read(X, (), &mut Untimed);
    use_up_free_blocks(&mut timed.controller, &mut Untimed);
    timed.write(Y, 5)
}

#[test]
fn a_dropped_page_saves_the_time_of_its_copy() {
    // Copy and erase; the cache is read meanwhile; program; write to the slot.
    assert_eq!(write_through_gc(&none(), Eviction::Foreground), 5 + 30 + 100 + 24 + 2);
    assert_eq!(write_through_gc(&cdm(), Eviction::Foreground), 5 + 100 + 24 + 2);
    for scheme in [none(), cdm()] {
        assert_eq!(write_through_gc(&scheme, Eviction::Background), 5 + 2);
    }
}

/// Each part (tag, end of its last flash operation, its own end) is reported with its end, and not a nanosecond before
/// flash has done its share.
fn assert_ends(timeline: &mut Timeline, expected: &[(u32, u64, u64)]) {
    let mut finished = Vec::new();
    for &(tag, flash_us, us) in expected {
        timeline.advance(Time { ns: flash_us * 1000 - 1 }, &mut finished);
        assert_eq!(finished, [], "{tag} at t - 1");
        timeline.advance(Time { ns: us * 1000 }, &mut finished);
        assert_eq!(finished, [Finished { tag, at: Time { ns: us * 1000 } }], "{tag} at t");
        finished.clear();
    }
}

/// Two dies on one channel (transfers in brackets): X on die 0, page 1 on die 1.
///
/// ```text
/// die 1  read page 1 at 0:              0–10      [13–17]
/// die 0  write Z at 8 evicts X:  NVM 8–9 [9–13] 13–33, then NVM 33–35
/// ```
#[test]
fn a_shared_channel_delays_whoever_comes_second() {
    let mut setup = Setup::tiny(8, 4).with_slots(1);
    setup.geometry.chips_per_channel = 2;
    setup.cache.read_allocate = false;
    let mut timed = Timed::new(&setup, &timing(Channel::Shared));
    timed.dirty(&[X]);
    let Timed { controller, timeline } = &mut timed;
    let read = controller.read(FILLERS[0], at(0), timeline);
    timeline.advance(Time { ns: 8000 }, &mut Vec::new());
    let write = controller.write(Z, Extent::Whole, at(8), timeline);
    timeline.tell(read, 1);
    timeline.tell(write, 2);
    assert_ends(timeline, &[(1, 17, 17), (2, 33, 35)]);
}

/// ```text
/// die 0  evicts X at 0:   NVM 0–1 [1–5] 5–25
/// die 1  reads page 1:  0–10 [10–14], or after an erase 100–110 [110–114]
/// ```
///
/// Then NVM for 2: a foreground eviction and the read are waited for, a background one is not.
#[test]
fn a_part_on_a_shared_channel() {
    for (eviction, erases, ready) in [
        (Eviction::Foreground, false, 25),
        (Eviction::Background, false, 14),
        (Eviction::Foreground, true, 114),
        (Eviction::Background, true, 114),
    ] {
        let mut setup = Setup::tiny(8, 4).with_slots(1);
        setup.geometry.chips_per_channel = 2;
        setup.cache.eviction = eviction;
        let mut timed = Timed::new(&setup, &timing(Channel::Shared));
        timed.dirty(&[X]);
        if erases {
            timed.erase_on_die_1();
        }
        let Timed { controller, timeline } = &mut timed;
        let part = controller.write(FILLERS[0], Extent::Part, at(0), timeline);
        timeline.tell(part, 3);
        assert_ends(timeline, &[(3, ready, ready + 2)]);
    }
}

/// What has left a volatile cache in the background is not durable before it is in flash, though the cache is clean.
#[test]
fn a_flush_waits_for_an_eviction_under_way() {
    for (channel, eviction) in
        [Channel::Private, Channel::Shared].into_iter().flat_map(|channel| BOTH.map(|how| (channel, how)))
    {
        let mut setup = Setup::oldest_first().with_slots(1);
        (setup.cache.volatile, setup.cache.eviction) = (true, eviction);
        let mut timed = Timed::new(&setup, &timing(channel));
        timed.dirty(&[X]);
        // X leaves for Y at 0: 4 of transfer, 20 of programming, after 1 for reading the cache.
        timed.controller.write(Y, Extent::Whole, at(0), &mut timed.timeline);
        timed.controller.trim(Y, &mut timed.timeline);
        assert_eq!(timed.flushed(3), 25, "{channel:?}, {eviction:?}");
        assert_eq!(timed.flushed(30), 0, "{channel:?}, {eviction:?}: nothing is under way");
    }
}

/// What GC has taken from the buffer is clean there, and lost with it until it is programmed.
#[test]
fn a_flush_waits_for_what_gc_takes_from_the_buffer() {
    for channel in [Channel::Private, Channel::Shared] {
        let mut setup = Setup::oldest_first().with_slots(1).with_cooperation(&cooperation("\"dgc\""));
        setup.cache.volatile = true;
        setup.gc.trigger = Trigger::Operation;
        let mut timed = Timed::new(&setup, &timing(channel));
        timed.dirty(&[X]);
        use_up_free_blocks(&mut timed.controller, &mut Untimed);
        // GC takes X, alone in the oldest block, at 0.
        timed.controller.read(W, at(0), &mut timed.timeline);
        assert_eq!(timed.controller.cache().dirty_len(), 0, "{channel:?}: GC came by");
        assert_eq!(timed.flushed(3), 25, "{channel:?}");
    }
}
