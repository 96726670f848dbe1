//! The reserve holds: adversarial patterns on the fullest devices that are accepted, for a hundred thousand writes.

use crate::setup::{Reproduce, Setup, page_write, placements, victims};
use coflash_base::Lpn;
use coflash_base::seed::{RngExt, Seed};
use coflash_ftl::{
    Chips, CopyAll, FreeMark, Ftl, FtlConfig, GcMode, Io, PageView, Pools, Summary, WearLevelling,
    WriteStream,
};
use coflash_media::{Cause, DieId, Geometry, Place, Untimed};

const WRITES: u32 = 100_000;

#[derive(Clone, Copy, Debug)]
enum Pattern {
    Sequential,
    Reverse,
    HotPage,
    Random,
    /// Page 0 of every block's worth of pages, then page 1 of each: every block loses its pages at the same pace.
    Strided,
}

impl Pattern {
    const ALL: [Self; 5] = [Self::Sequential, Self::Reverse, Self::HotPage, Self::Random, Self::Strided];

    fn page(self, step: u32, pages: u32, stream: &mut coflash_base::RandomStream) -> u32 {
        match self {
            Self::Sequential => step % pages,
            Self::Reverse => pages - 1 - step % pages,
            Self::HotPage => 0,
            Self::Random => stream.random_range(0..pages),
            Self::Strided => (step * 4 + step / pages) % pages,
        }
    }
}

/// Fills the device, then writes by the pattern, causes in turn so that every stream has an open block.
fn endure(setup: &Setup, pattern: Pattern) {
    let _reproduce = Reproduce(setup);
    let mut ftl = setup.build().expect("the setup is accepted");
    let pages = ftl.logical_pages();
    let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
    let mut stream = Seed(setup.seed).stream("endure");
    for page in 0..pages {
        ftl.write(page_write(Lpn::new(page), Place::Host, Cause::Host), (), &mut io).unwrap();
    }
    let writes = if setup.gc.mode == GcMode::Foreground { WRITES } else { WRITES / 4 };
    for step in 0..writes {
        let page = Lpn::new(pattern.page(step, pages, &mut stream));
        let cause = if step % 3 == 0 { Cause::Evict } else { Cause::Host };
        if step % 6 == 0 {
            ftl.supersede(page);
        }
        ftl.write(page_write(page, Place::Host, cause), (), &mut io).unwrap();
        // Now and then there is time for a little.
        let time = if step % 64 < 32 { step % 5 } else { 0 };
        for turn in 0..time {
            ftl.work_idle(DieId::new(turn % setup.geometry.dies()), &mut io).unwrap();
        }
        if step % 5000 == 0 {
            ftl.assert_invariants();
        }
    }
    ftl.assert_invariants();
    assert_eq!(ftl.mapped().count() as u32, pages, "{pattern:?}: the device is full");
    let counters = ftl.counters();
    let count = |cause| ftl.programs().by_cause(cause);
    assert_eq!(count(Cause::Host) + count(Cause::Evict), u64::from(pages + writes));
    if ftl.placement_classes().next().is_some() {
        let page_bytes = setup.geometry.page_size.count;
        let (host_bytes, media_bytes) = ftl
            .placement_classes()
            .fold((0, 0), |(host, media), class| (host + class.host_bytes, media + class.media_bytes));
        let copied = ftl.programs().all() - u64::from(pages + writes) - count(Cause::Metadata);
        assert_eq!(host_bytes, u64::from(pages + writes) * page_bytes);
        assert_eq!(media_bytes, host_bytes + copied * page_bytes);
    }
    let own = count(Cause::Gc) + count(Cause::Metadata) + count(Cause::WearLevelling);
    assert_eq!(ftl.programs().all(), u64::from(pages + writes) + own);
    assert_eq!(counters.gc_steps > 0, setup.gc.mode != GcMode::Foreground, "{} steps", counters.gc_steps);
    assert_eq!(counters.erases_blocks, ftl.erase_counts().map(u64::from).sum::<u64>());
    if matches!(setup.ftl.wear_levelling, WearLevelling::Static { .. }) {
        // Blocks may have been erased that were not full.
        return;
    }
    // All programmed pages are still there or were erased: erased blocks have their pages, less those open or free now.
    let data_pages = u64::from(setup.data_pages());
    let data = ftl.programs().all() - count(Cause::Metadata);
    let erased = counters.erases_blocks / u64::from(setup.blocks_per_erase()) * data_pages;
    assert!(data >= erased + u64::from(pages), "{pattern:?}: erased more than was programmed");
    assert!(data <= erased + u64::from(setup.units().blocks()) * data_pages, "{pattern:?}: too few erases");
}

fn endure_all(setup: &Setup) {
    for victim in victims() {
        for pattern in Pattern::ALL {
            let mut setup = setup.clone();
            setup.gc.victim = victim.clone();
            endure(&setup.clone().with_least_spare(), pattern);
            setup.ftl.wear_levelling = WearLevelling::Static { gap: 16 };
            setup.gc.mode = GcMode::Background { mark: None };
            endure(&setup.clone().with_least_spare(), pattern);
            setup.gc.mode = GcMode::Preemptive { steps_max: 8 };
            setup.gc.low_mark = FreeMark::Blocks(3);
            endure(&setup.with_least_spare(), pattern);
        }
    }
}

#[test]
fn one_pool_one_stream() {
    let mut setup = Setup::small();
    setup.ftl.shared_streams = vec![vec![WriteStream::Host, WriteStream::Evict, WriteStream::Gc]];
    endure_all(&setup);
}

#[test]
fn every_stream_its_own_block_and_planes_that_round_robin_over_dies() {
    let mut setup = Setup::small();
    setup.geometry = Geometry { channels: 2, planes_per_die: 2, blocks_per_plane: 9, ..setup.geometry };
    setup.ftl =
        FtlConfig { shared_streams: vec![], chips: Chips::RoundRobin, pools: Pools::Plane, ..setup.ftl };
    endure_all(&setup);
}

#[test]
fn one_data_page_a_block_and_its_summary() {
    let mut setup = Setup::small();
    setup.geometry = Geometry { planes_per_die: 2, pages_per_block: 2, ..setup.geometry };
    setup.ftl = FtlConfig { summary: Summary::On, pools: Pools::Die, ..setup.ftl };
    setup.gc.low_mark = FreeMark::Blocks(2);
    endure_all(&setup);
}

#[test]
fn every_placement_over_superblocks() {
    for placement in placements() {
        for pattern in Pattern::ALL {
            let mut setup = Setup::small();
            setup.geometry = Geometry { channels: 2, planes_per_die: 2, ..setup.geometry };
            setup.ftl.pools = Pools::Device;
            setup.gc.low_mark = FreeMark::Blocks(3);
            for mode in
                [GcMode::Foreground, GcMode::Background { mark: None }, GcMode::Preemptive { steps_max: 8 }]
            {
                setup.gc.mode = mode;
                endure(&setup.clone().with_placement(placement.clone()).with_least_spare(), pattern);
            }
        }
    }
}

#[test]
fn a_page_that_is_invalid_early_is_seen_until_its_newer_data_comes() {
    let setup = Setup::small();
    let mut ftl = setup.build().expect("the setup is accepted");
    let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
    let page = Lpn::new(3);
    let told = |ftl: &Ftl| {
        let pages = ftl.page_views().filter(|page| matches!(page, PageView::Superseded(_)));
        pages.collect::<Vec<_>>()
    };
    ftl.write(page_write(page, Place::Host, Cause::Host), (), &mut io).unwrap();
    assert_eq!(told(&ftl), []);
    ftl.supersede(page);
    assert_eq!(told(&ftl), [PageView::Superseded(page)]);
    ftl.write(page_write(page, Place::Host, Cause::Evict), (), &mut io).unwrap();
    assert_eq!(told(&ftl), []);
}

#[test]
fn a_device_mapped_all_at_once_goes_on_like_a_written_one() {
    for victim in victims() {
        let mut setup = Setup::small();
        setup.geometry = Geometry { channels: 3, planes_per_die: 2, ..setup.geometry };
        setup.gc.victim = victim;
        let setup = setup.with_least_spare();
        let _reproduce = Reproduce(&setup);
        let mut ftl = setup.build().expect("the setup is accepted");
        ftl.map_all();
        ftl.assert_invariants();
        assert_eq!(ftl.programs().all(), 0, "nothing is counted");
        let pages = ftl.logical_pages();
        assert_eq!(ftl.mapped().count() as u32, pages);
        let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
        let mut stream = Seed(7).stream("mapped");
        for step in 0..10_000 {
            let page = Lpn::new(stream.random_range(0..pages));
            ftl.write(page_write(page, Place::Host, Cause::Host), (), &mut io).unwrap();
            if step % 500 == 0 {
                ftl.assert_invariants();
            }
        }
        assert_eq!(ftl.programs().all(), 10_000 + ftl.programs().by_cause(Cause::Gc));
        assert_eq!(ftl.mapped().count() as u32, pages);
    }
}
