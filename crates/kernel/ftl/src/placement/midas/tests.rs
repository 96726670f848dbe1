//! Tests of MiDAS beyond the contract of all placement policies.

use super::hot::{Hot, Traffic};
use super::intervals::Intervals;
use super::model::{Ages, Device, Plan, best};
use super::{Arrangement, GROUPS, Midas, MidasConfig};
use crate::groups::Groups;
use crate::placement::{
    Class, Cleaned, GcWrite, Placed, Placement, PlacementConfig, PlacementPolicy, Shape, UserWrite,
};
use crate::requirements::Requirements;
use crate::stream::WriteStream;
use crate::{
    CopyAll, Coverage, FreeMark, Ftl, FtlConfig, GcConfig, Io, PageWrite, Pools, Provisioning, Spare,
};
use coflash_base::seed::RngExt;
use coflash_base::{Bytes, Lpn, Seed, Share};
use coflash_media::{Cell, Geometry, Untimed};

/// A group of hot pages that gets none.
const COLD: Traffic = Traffic { writes: 0.0, copies: 0.0, blocks: 0.0 };

/// The distribution with these shares of intervals, in units of a quarter row.
fn ages(shares: &[(usize, f64)], units: usize) -> Ages {
    let mut all = vec![0.0; units];
    shares.iter().for_each(|&(unit, share)| all[unit] += share);
    Ages::new(all.into_iter(), 0.25)
}

fn planned(ages: &Ages, valid_rows: f64) -> Option<Plan> {
    best(ages, Device { row: 512.0, blocks: 120.0, valid_pages: valid_rows * 512.0 }, COLD, 3)
}

/// Half of the writes go to 10 rows of pages in turn, half to 90 rows. A queue that is as long as the former live has
/// victims that are half full.
#[test]
fn a_queue_is_as_long_as_short_lived_pages_live() {
    let plan = planned(&ages(&[(80, 0.5), (720, 0.5)], 1600), 100.0).expect("a queue is better than none");
    assert_eq!(plan.sizes[1], 21, "{plan:?}");
    assert!((plan.valid[1] - 0.5).abs() < 1e-9, "{plan:?}");
    // By hand: what is left has 120 − 1 − 21 − 1.5 blocks for 79.7 rows, and 2.47 = 1 + 0.5 + 0.5 (A − 1) with A = 2.93.
    assert!((2.2..2.6).contains(&plan.amplification), "{plan:?}");
}

#[test]
fn data_that_do_not_fit_have_no_plan() {
    assert_eq!(planned(&ages(&[(80, 0.5), (720, 0.5)], 1600), 121.0), None);
}

fn shape() -> Shape {
    let groups = Groups::new(&Vec::new(), Requirements::NONE).expect("streams");
    Shape { pages: 1000, pages_per_block: 8, pools: 1, blocks: 140, free_blocks: 2, groups }
}

/// All pages in turn: each interval is 1000 pages, 500 units of two. With a sample of all pages or a tenth.
#[test]
fn intervals_are_those_between_writes_of_a_page() {
    for sampling in [1, 10] {
        let mut pages = vec![0; 1000];
        let mut intervals = Intervals::new(1000, 8, sampling, 4);
        assert!(!intervals.has_begun(1999) && intervals.has_begun(2000));
        for now in 2000..6000 {
            assert!(!intervals.write(Lpn::new((now % 1000) as u32), now, &mut pages), "{now}");
        }
        assert!(intervals.write(Lpn::new(0), 6000, &mut pages), "an epoch is four passes");
        // 1000 pages are 125 blocks: all pages of a queue of 126 die. Another 40 are never written.
        let device = Device { row: 8.0, blocks: 145.0, valid_pages: 1040.0 };
        let plan = best(&intervals.ages(), device, COLD, 3).expect("a queue is better than none");
        assert!((126..=130).contains(&plan.sizes[1]) && plan.valid[1] == 0.0, "one in {sampling}: {plan:?}");
    }
}

/// Only the pages of the sample are followed, but repeats within a unit are counted for all pages.
#[test]
fn short_intervals_are_counted_for_all_pages() {
    let mut pages = vec![0; 1000];
    let mut intervals = Intervals::new(1000, 80, 100, 4);
    // Page 7, which is in no sample, has half of the writes.
    for now in 2000..6000_u64 {
        let page = if now % 2 == 0 { 7 } else { now / 2 % 1000 };
        intervals.write(Lpn::new(page as u32), now, &mut pages);
    }
    let device = Device { row: 80.0, blocks: 20.0, valid_pages: 1000.0 };
    let hot = Traffic { writes: 0.5, copies: 0.0, blocks: 1.0 };
    let plan = best(&intervals.ages(), device, hot, 3).expect("a plan");
    assert!(plan.amplification < 2.0, "{plan:?}");
}

/// Three overwrites within the mean life make a page hot; a copy from the group makes it cold.
#[test]
fn pages_are_hot_that_are_overwritten_soon() {
    let (mut hot, mut page) = (Hot::new(100), 0);
    let first = |opened_at| Some(Placed { class: Class::new(1), opened_at });
    for (replaces, expected) in
        [(None, false), (first(900), false), (first(900), false), (first(900), true), (first(800), false)]
    {
        hot.write(&mut page, replaces, 1000);
        assert_eq!(Hot::has(page), expected, "{replaces:?}");
    }
    hot.write(&mut page, Some(Placed { class: Class::new(0), opened_at: 0 }), 1000);
    assert!(Hot::has(page), "in the group the age of the block does not count");
    Hot::copy(&mut page, Class::new(0));
    assert_eq!(page, 1);
    Hot::copy(&mut page, Class::new(2));
    assert_eq!(page, 1, "copies further on say nothing");
}

fn cleaned(policy: &mut Midas, class: u32, valid: u32, now: u64) {
    policy.cleaned(Cleaned { class: Class::new(class), opened_at: 0, now, valid, lazily: false });
}

/// With hot pages, two queues of 5 blocks, and the last group.
fn arranged() -> Midas {
    let mut policy = Midas::new(&MidasConfig { groups: 6, ..MidasConfig::default() }, shape());
    let mut sizes = [0; GROUPS];
    sizes[..3].fill(5);
    policy.next = Arrangement { queues: 3, last: 3, sizes };
    assert_eq!(policy.rearrange(), Some(0));
    assert_eq!(policy.queues(), [5, 5, 5]);
    policy.predicted = [0.5; GROUPS];
    policy
}

#[test]
fn copies_go_one_group_further() {
    let mut policy = arranged();
    let copy = |policy: &mut Midas, from| {
        let copy = GcWrite { lpn: Lpn::new(0), stream: WriteStream::Gc, now: 0, from: Class::new(from) };
        policy.gc_write(copy).get()
    };
    assert_eq!([0, 1, 2, 3, 5].map(|from| copy(&mut policy, from)), [1, 2, 3, 3, 3]);
    let mut naive = Midas::new(&MidasConfig::default(), shape());
    assert_eq!(naive.queues(), [0; 0]);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|from| copy(&mut naive, from)), [1, 2, 3, 4, 4, 4]);
}

#[test]
fn pages_that_were_there_already_hold_data() {
    let mut policy = Midas::new(&MidasConfig::default(), shape());
    let stream = WriteStream::Host;
    let mut write = |lpn, replaces| {
        policy.user_write(UserWrite { lpn: Lpn::new(lpn), stream, now: 0, replaces, placement: None });
        policy.written
    };
    assert_eq!([write(3, None), write(4, None), write(3, None)], [1, 2, 2]);
    assert_eq!(write(5, Some(Placed { class: Class::new(1), opened_at: 0 })), 1000);
    assert_eq!(write(6, None), 1000);
}

#[test]
fn victims_in_vain_end_a_queue() {
    let mut policy = arranged();
    (0..24).for_each(|_| cleaned(&mut policy, 3, 8, 100));
    assert_eq!(policy.rearrange(), None);
    let write =
        UserWrite { lpn: Lpn::new(0), stream: WriteStream::Host, now: 100, replaces: None, placement: None };
    policy.user_write(write);
    cleaned(&mut policy, 3, 8, 100);
    assert_eq!(policy.rearrange(), None, "a write came between");
    (0..24).for_each(|_| cleaned(&mut policy, 3, 8, 100));
    assert_eq!(policy.rearrange(), Some(3));
    assert_eq!(policy.queues(), [5, 5]);
    (0..25).for_each(|_| cleaned(&mut policy, 1, 8, 100));
    assert_eq!((policy.rearrange(), policy.queues().len()), (Some(2), 0), "the hot group alone is no queue");
}

/// A group is irregular when its victims are fuller than predicted, after all groups had victims and three tenths of an epoch.
#[test]
fn irregular_groups_end_as_queues() {
    for (valid, queues) in [(4, 3), (5, 2)] {
        let mut policy = arranged();
        (0..4).for_each(|class| cleaned(&mut policy, class, 8, 100));
        for now in [200, 1300] {
            cleaned(&mut policy, 1, 4, now);
            cleaned(&mut policy, 2, valid, now);
        }
        policy.rearrange();
        assert_eq!(policy.queues().len(), queues, "{valid} of 8 pages are valid, 4 were predicted");
    }
}

/// What the model predicts for a device under Zipf's law is what the device then does: its write amplification, and the valid pages of
/// each queue's victims.
#[test]
fn the_model_predicts_what_is_simulated() {
    let geometry = Geometry {
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 1,
        blocks_per_plane: 512,
        pages_per_block: 64,
        page_size: Bytes { count: 4096 },
        sector_size: Bytes { count: 4096 },
        exported: None,
        cell: Cell::Slc,
    };
    let placement = PlacementConfig::Midas(MidasConfig { sampling: 10, ..MidasConfig::default() });
    let spare = Spare { share: Share::percent(10), definition: Provisioning::SpareOfPhysical };
    let ftl = FtlConfig { pools: Pools::Device, placement, spare, ..FtlConfig::default() };
    let gc = GcConfig { low_mark: FreeMark::Blocks(2), ..GcConfig::default() };
    let mut ftl = Ftl::new(&geometry, &ftl, &gc, Requirements::NONE, Seed(1)).expect("it is accepted");
    let pages = ftl.logical_pages();
    let zipf = rand_distr::Zipf::new(f64::from(pages), 1.0).expect("there are pages");
    let mut stream = Seed(1).stream("zipf");
    let mut pass = |ftl: &mut Ftl, writes: u32| {
        ftl.reset_counters();
        for _ in 0..writes {
            let lpn = Lpn::new(stream.sample(zipf) as u32 - 1);
            let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
            ftl.write(PageWrite::host(lpn, Coverage::Full), (), &mut io).expect("it does not fail");
        }
        ftl.programs().all() as f64 / f64::from(writes)
    };
    for page in 0..pages {
        let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
        ftl.write(PageWrite::host(Lpn::new(page), Coverage::Full), (), &mut io).expect("it does not fail");
    }
    // The first epoch ends six passes after the first write, up to a unit.
    let before = pass(&mut ftl, 5 * pages - 50);
    let plan = midas(&ftl).plan().expect("queues are better than none");
    pass(&mut ftl, pages);
    assert!(midas(&ftl).queues().len() > 2, "{plan:?}");
    let found = pass(&mut ftl, 2 * pages);
    assert!(
        (found / plan.amplification - 1.0).abs() < 0.05 && found < 0.9 * before,
        "{found}, {before}: {plan:?}"
    );
    let measured = midas(&ftl).measured;
    for (group, predicted) in plan.valid.iter().enumerate().skip(1) {
        let valid = measured.valid_pages[group] as f64 / measured.victims[group] as f64 / 64.0;
        assert!((valid - predicted).abs() < 0.06, "group {group}: {valid}, {plan:?}");
    }
    ftl.assert_invariants();
}

fn midas(ftl: &Ftl) -> &Midas {
    match ftl.placement() {
        Placement::Midas(midas) => midas,
        _ => panic!("it is another policy"),
    }
}
