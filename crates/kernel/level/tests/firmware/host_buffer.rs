//! The write buffer in the host: the arrival of its notices, and the write of aged pages.

use crate::support::{Look, PastCache, Rig, Setup, Stack, X, Y, Z};
use coflash_base::{Duration, Time};
use coflash_ftl::Coverage;
use coflash_level::{LinkCost, Notices};
use coflash_media::{CacheTiming, CacheTimings, Timeline, Timing};

fn ns(ns: u64) -> Duration {
    Duration { ns }
}

/// A buffer of four pages over a device that tracks dirty pages. An access takes 20 ns, a message 50 ns and 1 ns per
/// byte.
fn buffered(notices: Notices, dirty_age_max: Duration) -> Rig<Stack, Timeline> {
    let mut setup = Setup::tiny(12, 7).with_scheme("\"hgc\"").with_buffer(4);
    setup.gc.low_mark = coflash_ftl::FreeMark::Blocks(2);
    setup.cost = LinkCost::new(ns(50), 1.0);
    (setup.host.notices, setup.buffer.dirty_age_max) = (notices, dirty_age_max);
    let host_buffer = CacheTiming { read: ns(20), write: ns(20) };
    let caches = CacheTimings { host_buffer, ..CacheTimings::default() };
    let mut rig = Rig::new(setup.stack(), Timeline::new(&setup.geometry, &Timing::default(), caches));
    rig.set_the_scene();
    rig
}

/// A notice waits for the next command, or leaves at once and takes its time.
#[test]
fn the_device_learns_of_a_dirty_page_when_the_notice_arrives() {
    for (notices, known) in [(Notices::default(), [false, false, true]), (Notices::Each, [false, true, true])]
    {
        let mut rig = buffered(notices, ns(1_000_000));
        let is_known = |rig: &Rig<Stack, Timeline>| rig.flash().marks(X).expect("it is mapped").host;
        let Ok(()) = rig.pass(ns(10));
        let Ok(done) = rig.write(X, Coverage::Full);
        assert_eq!(done.known(), Some(Time { ns: 30 }), "{notices:?}: a write waits for nobody");
        let at_once = is_known(&rig);
        // A message takes 50 ns, and its 8 bytes 8.
        let Ok(()) = rig.pass(ns(58));
        let later = is_known(&rig);
        let Ok(_) = rig.read(Y);
        assert_eq!([at_once, later, is_known(&rig)], known, "{notices:?}");
        assert_eq!(rig.count("host.to_device.delay_max_ns"), if later { 58 } else { 66 }, "{notices:?}");
    }
}

/// A page is written exactly at its age limit, and is clean then. A write to a dirty page does not reset its age.
#[test]
fn a_page_is_written_when_its_age_is_reached() {
    let mut rig = buffered(Notices::default(), ns(500));
    for (wait, page) in [(100, X), (200, X), (10, Z)] {
        let Ok(()) = rig.pass(ns(wait));
        let Ok(_) = rig.write(page, Coverage::Full);
    }
    let cached = |rig: &Rig<Stack, Timeline>| {
        let caches = rig.level.caches();
        caches[0].1.lookup(X).map(|slot| caches[0].1.is_dirty(slot))
    };
    let aged = |rig: &Rig<Stack, Timeline>| (rig.count("host_buffer.aged_pages"), cached(rig));
    let Ok(()) = rig.pass(ns(289));
    assert_eq!(aged(&rig), (0, Some(true)));
    let Ok(()) = rig.pass(ns(1));
    assert_eq!(aged(&rig), (1, Some(false)), "it stays as a clean copy");
    let Ok(()) = rig.pass(ns(210));
    assert_eq!(rig.count("host_buffer.aged_pages"), 2, "and then the next");
}
