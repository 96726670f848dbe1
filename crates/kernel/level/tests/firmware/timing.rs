//! How long each kind of request takes, by hand.
//!
//! In microseconds: read 10 + 4 of transfer, program 4 + 20, copy 30, erase 100; a read of a cache 1, a write 2.

use crate::support::{Device, FILLERS, PastCache, Rig, Setup, W, X, Y, Z};
use coflash_base::{Duration, Lpn, Time};
use coflash_ftl::{Coverage, Trigger};
use coflash_level::{Eviction, Level, LinkCost, Notices, Op};
use coflash_media::{
    BlockId, CacheTiming, CacheTimings, Cause, Channel, Finished, Flash, Tag, Timeline, Timing, Untimed, When,
};

const BOTH: [Eviction; 2] = [Eviction::Foreground, Eviction::Background];

pub(crate) fn us(us: u64) -> Duration {
    Duration { ns: us * 1000 }
}

fn at(us: u64) -> When {
    When::at(Time { ns: us * 1000 })
}

pub(crate) fn timing(channel: Channel) -> Timing {
    Timing {
        page_read: us(10),
        page_program: us(20),
        block_erase: us(100),
        sector_transfer: us(4),
        channel,
        ..Timing::default()
    }
}

/// Levels on a timeline; requests and answers in microseconds.
pub(crate) struct Timed<L>(pub(crate) Rig<L, Timeline>);

impl<L: Level<Timeline>> Timed<L> {
    fn start(&mut self, op: Op, pages: &[(Lpn, Coverage)], start: u64) -> When {
        self.0.now = Time { ns: start * 1000 };
        let Ok(done) = self.0.request(op, pages);
        done
    }

    pub(crate) fn request(&mut self, op: Op, pages: &[(Lpn, Coverage)], start: u64) -> u64 {
        let ns = self.start(op, pages, start).known().expect("a private channel knows").ns;
        assert_eq!(ns % 1000, 0);
        ns / 1000
    }

    pub(crate) fn read(&mut self, page: Lpn, start: u64) -> u64 {
        self.request(Op::Read, &[(page, Coverage::Full)], start)
    }

    pub(crate) fn write(&mut self, page: Lpn, start: u64) -> u64 {
        self.request(Op::Write, &[(page, Coverage::Full)], start)
    }

    pub(crate) fn part(&mut self, page: Lpn, start: u64) -> u64 {
        self.request(Op::Write, &[(page, Coverage::Partial)], start)
    }

    /// Flushes at `start`; when that is answered, whatever it waits for.
    pub(crate) fn flush(&mut self, start: u64) -> u64 {
        let mut finished = Vec::new();
        self.0.media.advance(Time { ns: start * 1000 }, &mut finished);
        let done = self.start(Op::Flush, &[], start);
        if done.known().is_none() {
            self.0.media.tell(done, 0);
        }
        while self.0.media.step(&mut finished) {}
        done.known().or(finished.last().map(|last| last.at)).expect("it ends").ns / 1000
    }

    /// Each part (tag, end of its last flash operation, its own end) is reported with its end, and not a nanosecond
    /// before flash has done its share.
    fn assert_ends(&mut self, expected: &[(u32, u64, u64)]) {
        let mut finished = Vec::new();
        for &(tag, flash_us, us) in expected {
            self.0.media.advance(Time { ns: flash_us * 1000 - 1 }, &mut finished);
            assert_eq!(finished, [], "{tag} at t - 1");
            self.0.media.advance(Time { ns: us * 1000 }, &mut finished);
            assert_eq!(
                finished,
                [Finished { tag: Tag::Part(tag), at: Time { ns: us * 1000 } }],
                "{tag} at t"
            );
            finished.clear();
        }
    }

    /// Erases a block of the last die at 0.
    fn erase_on_last_die(&mut self) {
        let block = Level::<Timeline>::ftl(&self.0.level).erase_counts().count() as u32 - 1;
        let Ok(_) = self.0.media.erase(BlockId::new(block), Cause::Gc, at(0));
    }
}

/// Pages 0 to 6 are in flash and nothing is cached; `prepare` takes no time; the timeline begins at 0.
pub(crate) fn timed<L>(
    setup: &Setup,
    timing: &Timing,
    level: L,
    prepare: impl FnOnce(&mut Rig<L, Untimed>),
) -> Timed<L>
where
    L: Level<Untimed> + Level<Timeline> + crate::support::Look,
{
    let mut rig = Rig::new(level, Untimed);
    rig.set_the_scene();
    prepare(&mut rig);
    let mut geometry = setup.geometry.clone();
    geometry.sector_size = geometry.page_size;
    let memory = CacheTiming { read: us(1), write: us(2) };
    let caches = CacheTimings { host_buffer: memory, host: memory, device: memory };
    Timed(rig.over(Timeline::new(&geometry, timing, caches)))
}

/// A device of one die, with a private channel.
fn device(setup: &Setup, prepare: impl FnOnce(&mut Rig<Device, Untimed>)) -> Timed<Device> {
    timed(setup, &timing(Channel::Private), setup.device(), prepare)
}

/// The same with these pages written to the cache before, in order.
fn with_dirty(slots: u32, eviction: Eviction, dirty: &[Lpn]) -> Timed<Device> {
    let mut setup = Setup::oldest_first().with_slots(slots);
    setup.cache.eviction = eviction;
    device(&setup, |rig| write_all(rig, dirty))
}

pub(crate) fn write_all<L: Level<Untimed>>(rig: &mut Rig<L, Untimed>, pages: &[Lpn]) {
    for &page in pages {
        let Ok(()) = rig.write(page, Coverage::Full);
    }
}

#[test]
fn hits_cost_the_cache_alone() {
    for eviction in BOTH {
        let mut timed = with_dirty(2, eviction, &[X]);
        assert_eq!(timed.read(X, 7), 7 + 1);
        assert_eq!(timed.write(X, 7), 7 + 2);
        assert_eq!(timed.part(X, 7), 7 + 2);
        assert_eq!(timed.flush(7), 7, "the cache is durable: there is nothing to wait for");
        // None of this has kept flash busy.
        assert_eq!(timed.read(Y, 7), 7 + 14);
    }
}

#[test]
fn a_page_that_is_nowhere_is_answered_at_once() {
    let mut timed = with_dirty(2, Eviction::Foreground, &[]);
    assert_eq!(timed.request(Op::Trim, &[(X, Coverage::Full)], 7), 7);
    assert_eq!(timed.read(X, 7), 7);
    assert_eq!(timed.part(X, 7), 7 + 2, "and a part of it needs no read");
}

#[test]
fn misses_with_a_free_slot() {
    let mut timed = with_dirty(3, Eviction::Foreground, &[]);
    assert_eq!(timed.read(X, 5), 5 + 14, "the fill delays nobody");
    assert_eq!(timed.write(Y, 5), 5 + 2);
    assert_eq!(timed.part(Z, 50), 50 + 14 + 2, "the part waits for the rest of its page");
}

#[test]
fn a_clean_page_leaves_in_no_time() {
    for eviction in BOTH {
        let mut timed = with_dirty(1, eviction, &[]);
        assert_eq!(timed.read(X, 0), 14);
        assert_eq!(timed.write(Y, 100), 100 + 2);
    }
}

#[test]
fn a_write_waits_for_a_foreground_eviction_and_for_no_other() {
    // The leaving page is read from the cache (1) and programmed (24); then the new one is written (2).
    for (eviction, end) in [(Eviction::Foreground, 5 + 1 + 24 + 2), (Eviction::Background, 5 + 2)] {
        let mut timed = with_dirty(1, eviction, &[X]);
        assert_eq!(timed.write(Y, 5), end, "{eviction:?}");
        // Either way the die is busy until 30.
        assert_eq!(timed.read(Z, 6), 30 + 14, "{eviction:?}");
    }
}

/// With room for one sole copy, a second waits until the first is read from the cache (1) and programmed (24), whatever
/// the cache does where there is room; the first stays cached.
#[test]
fn at_the_bound_of_sole_copies_a_write_waits_for_an_older_one() {
    let scheme = r#"{"name": "cdm", "sole_copies_max": "16B"}"#;
    for (slots, eviction) in [(3, Eviction::Foreground), (3, Eviction::Background), (1, Eviction::Background)]
    {
        let mut setup = Setup::oldest_first().with_slots(slots).with_scheme(scheme);
        setup.cache.eviction = eviction;
        let mut timed = device(&setup, |rig| write_all(rig, &[X]));
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
        let mut timed = with_dirty(1, eviction, &[X]);
        assert_eq!(timed.read(Y, 0), 14);
        // The program follows the read on the die: it ends at 14 + 24.
        assert_eq!(timed.read(Z, 15), 38 + 14);
    }
}

/// X is dirty, on die 0; page 1 is on die 1 and is read in the meantime. If die 1 is busy erasing, the read
/// ends last.
#[test]
fn a_part_waits_for_eviction_and_read() {
    for eviction in BOTH {
        // On one die the read queues behind the program in any case: 1 + 24, 14, 2.
        let mut timed = with_dirty(1, eviction, &[X]);
        assert_eq!(timed.part(Y, 0), 25 + 14 + 2, "{eviction:?}");
    }
    let mut setup = Setup::tiny(8, 4);
    setup.geometry.channels = 2;
    setup.cost = LinkCost::new(Duration::ZERO, 0.0);
    setup.host.notices =
        Notices::Batched { max: std::num::NonZeroU32::MAX, wait: Duration { ns: 1_000_000 } };
    for (buffered, eviction, erases, end) in [
        (false, Eviction::Foreground, false, 25 + 2),
        (false, Eviction::Background, false, 14 + 2),
        (false, Eviction::Foreground, true, 100 + 14 + 2),
        (false, Eviction::Background, true, 100 + 14 + 2),
        // The host's write buffer evicts to a device without a cache.
        (true, Eviction::Foreground, false, 25 + 2),
        (true, Eviction::Foreground, true, 100 + 14 + 2),
    ] {
        let mut setup = if buffered { setup.clone().with_buffer(1) } else { setup.clone().with_slots(1) };
        setup.cache.eviction = eviction;
        let mut timed = timed(&setup, &timing(Channel::Private), setup.stack(), |rig| write_all(rig, &[X]));
        if erases {
            timed.erase_on_last_die();
        }
        assert_eq!(timed.part(FILLERS[0], 0), end, "{eviction:?}, buffer in the host: {buffered}");
    }
}

#[test]
fn without_a_cache_flash_is_all_there_is() {
    let mut timed = with_dirty(0, Eviction::Foreground, &[]);
    assert_eq!(timed.write(X, 0), 24);
    assert_eq!(timed.read(X, 0), 24 + 14);
    assert_eq!(timed.part(X, 100), 100 + 14 + 24);
    let setup = Setup::oldest_first();
    let ecc = Timing { ecc_decode: us(3), ..timing(Channel::Private) };
    let mut timed = self::timed(&setup, &ecc, setup.device(), |_| {});
    assert_eq!(timed.read(X, 0), 14 + 3);
    assert_eq!(timed.part(X, 100), 100 + 14 + 3 + 24, "decoded before it is merged");
}

#[test]
fn gc_goes_first() {
    // The oldest block holds X: a copy (30) and an erase (100).
    let low = |trigger| {
        let mut setup = Setup::oldest_first();
        setup.gc.trigger = trigger;
        device(&setup, |rig| rig.use_up_free_blocks(1))
    };
    assert_eq!(low(Trigger::Write).write(Y, 5), 5 + 130 + 24);
    assert_eq!(low(Trigger::Write).read(Y, 5), 5 + 14, "a read looks past it");
    assert_eq!(low(Trigger::Write).part(Y, 5), 5 + 14 + 130 + 24, "the read of the rest, too");
    assert_eq!(low(Trigger::Operation).read(Y, 5), 5 + 130 + 14);
    assert_eq!(low(Trigger::Operation).part(Y, 5), 5 + 130 + 14 + 24);
    assert_eq!(low(Trigger::Operation).read(X, 5), 5 + 130 + 14, "moved while it was asked for");
}

/// A write that evicts a dirty page while GC is due, X being cached clean.
#[test]
fn a_dropped_page_saves_the_time_of_its_copy() {
    // Copy and erase; the cache is read meanwhile; program; write to the slot.
    for (scheme, eviction, end) in [
        ("\"none\"", Eviction::Foreground, 5 + 30 + 100 + 24 + 2),
        ("\"cdm\"", Eviction::Foreground, 5 + 100 + 24 + 2),
        ("\"none\"", Eviction::Background, 5 + 2),
        ("\"cdm\"", Eviction::Background, 5 + 2),
    ] {
        let mut setup = Setup::oldest_first().with_slots(2).with_scheme(scheme);
        setup.cache.eviction = eviction;
        let mut timed = device(&setup, |rig| {
            write_all(rig, &[W]);
            let Ok(()) = rig.read(X);
            rig.use_up_free_blocks(1);
        });
        assert_eq!(timed.write(Y, 5), end, "{scheme}, {eviction:?}");
    }
}

/// Two dies on one channel (transfers in brackets): X on die 0, page 1 on die 1.
///
/// ```text
/// die 1  read page 1 at 0:              0–10      [13–17]
/// die 0  write Z at 8 evicts X:  NVM 8–9 [9–13] 13–33, then NVM 33–35
/// ```
#[test]
fn a_shared_channel_delays_the_second_transfer() {
    let mut setup = Setup::tiny(8, 4).with_slots(1);
    setup.geometry.chips_per_channel = 2;
    setup.cache.read_allocate = false;
    let mut timed = timed(&setup, &timing(Channel::Shared), setup.device(), |rig| write_all(rig, &[X]));
    let read = timed.start(Op::Read, &[(FILLERS[0], Coverage::Full)], 0);
    timed.0.media.advance(Time { ns: 8000 }, &mut Vec::new());
    let write = timed.start(Op::Write, &[(Z, Coverage::Full)], 8);
    timed.0.media.tell(read, 1);
    timed.0.media.tell(write, 2);
    timed.assert_ends(&[(1, 17, 17), (2, 33, 35)]);
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
        let mut timed = timed(&setup, &timing(Channel::Shared), setup.device(), |rig| write_all(rig, &[X]));
        if erases {
            timed.erase_on_last_die();
        }
        let part = timed.start(Op::Write, &[(FILLERS[0], Coverage::Partial)], 0);
        timed.0.media.tell(part, 3);
        timed.assert_ends(&[(3, ready, ready + 2)]);
    }
}

/// A page that has left a volatile cache in the background is not durable before it is in flash, though the cache is clean.
#[test]
fn a_flush_waits_for_an_eviction_under_way() {
    for (channel, eviction) in
        [Channel::Private, Channel::Shared].into_iter().flat_map(|channel| BOTH.map(|how| (channel, how)))
    {
        let mut setup = Setup::oldest_first().with_slots(1);
        (setup.cache.volatile, setup.cache.eviction) = (true, eviction);
        let mut timed = timed(&setup, &timing(channel), setup.device(), |rig| write_all(rig, &[X]));
        // X leaves for Y at 0: 4 of transfer, 20 of programming, after 1 for reading the cache.
        timed.start(Op::Write, &[(Y, Coverage::Full)], 0);
        timed.start(Op::Trim, &[(Y, Coverage::Full)], 0);
        assert_eq!(timed.flush(3), 25, "{channel:?}, {eviction:?}");
        assert_eq!(timed.flush(30), 30, "{channel:?}, {eviction:?}: nothing is under way");
    }
}

/// A page that GC took from the buffer is clean there, and lost with the buffer until it is programmed.
#[test]
fn a_flush_waits_for_what_gc_takes_from_the_buffer() {
    for channel in [Channel::Private, Channel::Shared] {
        let mut setup = Setup::oldest_first().with_slots(1).with_scheme("\"dgc\"");
        setup.cache.volatile = true;
        setup.gc.trigger = Trigger::Operation;
        let mut timed = timed(&setup, &timing(channel), setup.device(), |rig| {
            write_all(rig, &[X]);
            rig.use_up_free_blocks(1);
        });
        // GC takes X, alone in the oldest block, at 0.
        timed.start(Op::Read, &[(W, Coverage::Full)], 0);
        assert_eq!(timed.0.level.cache().dirty_len(), 0, "{channel:?}: GC came by");
        assert_eq!(timed.flush(3), 25, "{channel:?}");
    }
}
