//! The costs of requests, notices, trims and flushes across a link, and the order of their arrival.
//!
//! In microseconds, in addition to those of `timing.rs`: a message 3, a page 2, a notice 1.

use crate::support::{Rig, Setup, Stack, W, X, Y, Z};
use crate::timing::{Timed, timed, timing, us, write_all};
use coflash_base::Lpn;
use coflash_ftl::Coverage::Full;
use coflash_level::Op::{Flush, Read, Trim, Write};
use coflash_level::{LinkCost, Notices, Op};
use coflash_media::{Channel, Untimed};

/// One die, and no GC.
fn setup() -> Setup {
    Setup { cost: LinkCost::new(us(3), 125.0), ..Setup::tiny(12, 4) }
}

fn stack(setup: &Setup, prepare: impl FnOnce(&mut Rig<Stack, Untimed>)) -> Timed<Stack> {
    timed(setup, &timing(Channel::Private), setup.stack(), prepare)
}

/// Requests one after the other, with their ends.
fn assert_ends(timed: &mut Timed<Stack>, requests: &[(Op, &[Lpn], u64, u64)]) {
    for &(op, pages, start, end) in requests {
        let pages: Vec<_> = pages.iter().map(|&page| (page, Full)).collect();
        let found = if op == Flush { timed.flush(start) } else { timed.request(op, &pages, start) };
        assert_eq!(found, end, "{op:?} of {pages:?} at {start}");
    }
}

#[test]
fn a_host_without_a_cache_sends_whole_requests() {
    let mut timed = stack(&setup(), |_| {});
    assert_ends(
        &mut timed,
        &[
            // The data of a write crosses before its first page begins, that of a read after its last.
            (Write, &[X, Y], 0, 3 + 4 + 24 + 24),
            (Read, &[X, Y], 100, 100 + 3 + 14 + 14 + 4),
            (Trim, &[X, Y], 200, 200 + 3),
            // There is nothing to be read, but the host does not know.
            (Read, &[X], 300, 300 + 3 + 2),
            (Flush, &[], 400, 400 + 3),
        ],
    );
    assert_eq!(timed.0.count("host.commands"), 0, "what a host without a cache sends is not counted");
}

#[test]
fn a_cache_in_the_host_sends_what_it_lacks_page_by_page() {
    let mut timed = stack(&setup().with_slots(2).in_host(), |_| {});
    assert_ends(
        &mut timed,
        &[
            // They share a command and come back one after the other.
            (Read, &[X, Y], 0, 3 + 14 + 14 + 4),
            (Read, &[X, Y], 100, 100 + 1),
            (Write, &[X, Y], 200, 200 + 2),
            // An eviction is a command of its own: from the cache, across, programmed; then the new page is written.
            (Write, &[Z], 300, 300 + 3 + 2 + 1 + 24 + 2),
            (Flush, &[], 400, 400),
            // The first page of a trim waits until the command is across; cached or not.
            (Trim, &[Z, W], 500, 500 + 3),
            (Read, &[Z], 600, 600),
        ],
    );
    assert_eq!(timed.0.count("host.commands"), 4, "two reads, an eviction, a trim");
    assert_eq!(timed.0.count("cache.dropped_pages"), 1);
}

/// A page that is read into the cache is spoken of: with the next command, or at once.
#[test]
fn notices_cost_bytes_with_commands_and_messages_of_their_own() {
    let mut setup = setup().with_slots(4).in_host().with_scheme("\"cdm\"");
    for (notices, ends) in [
        (Notices::default(), [3 + 14 + 2, 100 + 3 + 1 + 14 + 2, 200 + 3 + 1, 300 + 3]),
        (Notices::Each, [3 + 14 + 2 + 4, 100 + 3 + 14 + 2 + 4, 200 + 3, 300 + 3]),
    ] {
        setup.host.notices = notices;
        let mut timed = stack(&setup, |_| {});
        let requests: [(Op, &[Lpn]); 4] = [(Read, &[X]), (Read, &[Y]), (Trim, &[Z]), (Trim, &[W])];
        for (start, ((op, pages), end)) in (0..).step_by(100).zip(std::iter::zip(requests, ends)) {
            assert_ends(&mut timed, &[(op, pages, start, end)]);
        }
        assert_eq!(timed.0.count("host.notices.cached"), 2, "{notices:?}");
    }
}

/// The notice of the host about a page that it trims is withdrawn, or arrives before the trim.
#[test]
fn a_trim_leaves_nothing_unsaid_behind() {
    let mut setup = setup().with_slots(4).in_host().with_scheme("\"cdm\"");
    for (notices, withdrawn, dirtied) in [(Notices::default(), 1, 0), (Notices::Each, 0, 1)] {
        setup.host.notices = notices;
        let mut timed = stack(&setup, |_| {});
        timed.write(X, 0);
        timed.request(Trim, &[(X, Full)], 100);
        timed.read(X, 200);
        let counts = ["host.to_device.withdrawn", "host.notices.dirtied"].map(|path| timed.0.count(path));
        assert_eq!(counts, [withdrawn, dirtied], "{notices:?}");
        timed.0.assert_invariants();
    }
}

/// Every dirty page is across before the device is told to flush, evicted or flushed.
#[test]
fn a_flush_comes_behind_what_was_written() {
    let flash = setup().with_buffer(2);
    let mut memory = flash.clone().with_slots(2);
    memory.cache.volatile = true;
    // From the buffer, across, programmed.
    for setup in [&flash, &memory] {
        let mut timed = stack(setup, |rig| write_all(rig, &[X]));
        assert_ends(&mut timed, &[(Flush, &[], 0, 3 + 2 + 1 + 24)]);
        assert_eq!(timed.0.count("host_buffer.flushed_pages"), 1);
        assert_ends(&mut timed, &[(Flush, &[], 100, 100 + 3)]);
    }
    // Written since it was dirty for long, and across at 5; the flush at 1 would be there at 4.
    memory.buffer.dirty_age_max = us(10);
    let mut timed = stack(&memory, |_| {});
    timed.write(X, 0);
    let Ok(()) = timed.0.pass(us(10));
    assert_eq!(timed.0.count("host_buffer.aged_pages"), 1);
    assert_ends(&mut timed, &[(Flush, &[], 10 + 1, 10 + 5 + 1 + 24)]);
}
