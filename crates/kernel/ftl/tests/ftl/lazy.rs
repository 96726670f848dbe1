//! GC that cleans nearly empty blocks early, units of handles that nobody writes to, and copies that break isolation.

use crate::setup::{Setup, page_write};
use coflash_base::seed::{RngExt, Seed};
use coflash_base::{Lpn, Share};
use coflash_ftl::placement::{Copies, FdpConfig, Idle, Isolation};
use coflash_ftl::{CopyAll, FreeMark, Ftl, GcMode, Io, PlacementConfig, Pools};
use coflash_media::{Cause, Place, Untimed};

fn write(ftl: &mut Ftl, page: u32) {
    let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
    ftl.write(page_write(Lpn::new(page), Place::Host, Cause::Host), (), &mut io).unwrap();
}

/// A device with as many free blocks as GC wants, in which victims of at most this share are cleaned early.
fn lazy(percent: u64) -> Ftl {
    let mut setup = Setup::small();
    setup.geometry.blocks_per_plane = 40;
    setup.gc.low_mark = FreeMark::Blocks(2);
    setup.gc.mode = GcMode::Lazy { mark: Some(FreeMark::Blocks(30)), valid: Share::percent(percent) };
    setup.ftl.spare.share = Share::percent(50);
    setup.build().expect("the setup is accepted")
}

#[test]
fn an_empty_victim_is_cleaned_at_once_and_a_full_one_waits_for_the_low_mark() {
    let mut ftl = lazy(0);
    let pages = ftl.logical_pages();
    for _ in 0..20 {
        (0..pages).for_each(|page| write(&mut ftl, page));
    }
    assert_eq!(ftl.counters().gc_copies_pages, 0, "sequential overwrites leave empty blocks");
    assert!(ftl.counters().erases_blocks > 0 && !ftl.pools_have_at_most(FreeMark::Blocks(2)));
}

#[test]
fn a_higher_share_copies_more() {
    let copied = |percent| {
        let mut ftl = lazy(percent);
        let (pages, mut stream) = (ftl.logical_pages(), Seed(3).stream("lazy"));
        for _ in 0..20_000 {
            let page = stream.random_range(0..pages);
            write(&mut ftl, page);
        }
        ftl.assert_invariants();
        ftl.counters().gc_copies_pages
    };
    let [least, more, most] = [0, 50, 75].map(copied);
    assert!(least < more && more < most, "{least} {more} {most}");
}

#[test]
fn an_idle_handle_holds_a_unit_and_costs_copies() {
    let copied = |idle, copies| {
        let shares = vec![Share::ONE];
        let setup = Setup::of_handles(copies, FdpConfig { idle, shares, ..FdpConfig::default() });
        let mut ftl = setup.build().expect("the setup is accepted");
        let (pages, mut stream) = (ftl.logical_pages(), Seed(3).stream("idle"));
        for _ in 0..20_000 {
            let page = stream.random_range(0..pages);
            write(&mut ftl, page);
        }
        ftl.assert_invariants();
        ftl.counters().gc_copies_pages
    };
    let closed = copied(Idle::Closed, Copies::OfUnit);
    assert!(copied(Idle::Open, Copies::OfUnit) > closed);
    assert_eq!(copied(Idle::Closed, Copies::OfWriter), closed, "one writer breaks no isolation");
}

/// Handle 0 writes requests of eight pages, handle 1 single pages, as many requests as the other: the share of copies that go to handle 1.
fn copied_to_small_requests(copies: Copies, mode: GcMode) -> f64 {
    let mut setup = Setup::small();
    setup.geometry.blocks_per_plane = 60;
    setup.ftl.pools = Pools::Device;
    setup.ftl.placement = PlacementConfig::Fdp(FdpConfig {
        handles: 2,
        isolation: Isolation::Persistently { copies },
        ..FdpConfig::default()
    });
    setup.gc.low_mark = FreeMark::Blocks(6);
    setup.gc.mode = mode;
    setup.ftl.spare.share = Share::percent(40);
    let mut ftl = setup.build().expect("the setup is accepted");
    let (half, mut stream) = (ftl.logical_pages() / 2, Seed(3).stream("requests"));
    for _ in 0..20_000 {
        let first = stream.random_range(0..half - 8);
        (first..first + 8).for_each(|page| write(&mut ftl, page));
        let single = half + stream.random_range(0..half);
        write(&mut ftl, single);
    }
    ftl.assert_invariants();
    let copied: Vec<u64> = ftl.placement_classes().map(|class| class.copied_pages).collect();
    copied[3] as f64 / (copied[2] + copied[3]) as f64
}

#[test]
fn copies_of_a_drive_that_looks_once_a_request_follow_requests_and_not_pages() {
    let of = |copies| copied_to_small_requests(copies, GcMode::Foreground);
    let [writer, caller] = [Copies::OfWriter, Copies::OfCaller].map(of);
    assert!(writer < 0.3 && caller > 0.7, "{writer} {caller}");
    let lazily =
        copied_to_small_requests(Copies::OfCaller, GcMode::Lazy { mark: None, valid: Share::percent(90) });
    assert!(lazily < caller / 2.0, "what is cleaned lazily goes to handle 0: {lazily} {caller}");
}
