//! Where data goes: dies, and blocks by wear. (Streams and free lists are checked by the ledger in every storm.)

use crate::setup::{Setup, any_block, page_write};
use coflash_base::Lpn;
use coflash_base::seed::{RngExt, Seed};
use coflash_ftl::{
    Chips, CopyAll, Decision, FreeMark, Ftl, GcHook, GcMode, Io, Marks, PageWrite, PlacementConfig,
    WearLevelling, Weight, Weights, WriteStream,
};
use coflash_media::{Cause, DieId, Geometry, Media, Memory, Place, Untimed};

fn write(ftl: &mut Ftl, page: u32) {
    let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
    ftl.write(page_write(Lpn::new(page), Place::Host, Cause::Host), (), &mut io).unwrap();
}

fn die_of(setup: &Setup, ftl: &Ftl, page: u32) -> u32 {
    let place = ftl.lookup(Lpn::new(page)).expect("it was written");
    setup.geometry.die_of(setup.geometry.block_of(place)).get()
}

#[test]
fn a_static_page_never_leaves_its_die_and_round_robin_takes_turns() {
    for chips in [Chips::Static, Chips::RoundRobin] {
        let mut setup = Setup::small();
        setup.geometry = Geometry { channels: 3, planes_per_die: 2, ..setup.geometry };
        setup.ftl.chips = chips;
        let setup = setup.with_least_spare();
        let mut ftl = setup.build().expect("the setup is accepted");
        // Few enough that chance does not fill a die.
        let pages = ftl.logical_pages() / 2;
        let mut stream = Seed(5).stream("placement");
        for step in 0..5000 {
            let page = stream.random_range(0..pages);
            write(&mut ftl, page);
            let expected = if chips == Chips::Static { page % 3 } else { step % 3 };
            assert_eq!(die_of(&setup, &ftl, page), expected, "{chips:?}, write {step} of page {page}");
        }
    }
}

#[test]
fn a_plane_gets_its_share_of_writes() {
    let mut setup = Setup::small();
    setup.geometry = Geometry { planes_per_die: 3, ..setup.geometry };
    let mut ftl = setup.with_least_spare().build().expect("the setup is accepted");
    let setup = Setup::small();
    for page in 0..9 {
        write(&mut ftl, page);
        let place = ftl.lookup(Lpn::new(page)).expect("just written");
        let plane = setup.geometry.block_of(place).get() / setup.geometry.blocks_per_plane;
        assert_eq!(plane, page % 3, "equally free planes take turns");
    }
}

/// The difference between the most and the least erased block after a skewed workload.
fn spread(wear_levelling: WearLevelling, seed: u64) -> u32 {
    let mut setup = Setup::small();
    setup.geometry.blocks_per_plane = 40;
    // There must be a choice of free blocks.
    setup.gc.low_mark = FreeMark::Blocks(10);
    setup.ftl.wear_levelling = wear_levelling;
    // Random victims, so that blocks with cold pages come free as well.
    setup.gc.victim = any_block();
    let mut setup = setup.with_least_spare();
    setup.ftl.spare.share.ppb += 500_000_000;
    setup.seed = seed;
    let mut ftl = setup.build().expect("more spare is accepted too");
    let pages = ftl.logical_pages();
    let mut stream = Seed(seed).stream("skew");
    (0..pages).for_each(|page| write(&mut ftl, page));
    for _ in 0..20_000 {
        let hot = stream.random_range(0..10) > 0;
        let page = if hot { stream.random_range(0..pages / 10) } else { stream.random_range(0..pages) };
        write(&mut ftl, page);
    }
    let counts: Vec<_> = ftl.erase_counts().collect();
    counts.iter().max().expect("there are blocks") - counts.iter().min().expect("there are blocks")
}

#[test]
fn dynamic_wear_levelling_narrows_the_spread_of_erase_counts() {
    for seed in 0..10 {
        let (off, dynamic) = (spread(WearLevelling::Off, seed), spread(WearLevelling::Dynamic, seed));
        assert!(dynamic * 3 < off, "seed {seed}: {dynamic} dynamic, {off} off");
    }
}

/// The difference between the most and the least erased block after writes to a tenth of the pages alone, some of the
/// least erased ones left out; the programs for wear levelling and all programs. Greedy GC never touches blocks of
/// cold data.
fn spread_of_cold_data(
    wear_levelling: WearLevelling,
    mode: GcMode,
    shared_streams: &[Vec<WriteStream>],
    left_out: usize,
) -> (u32, u64, u64) {
    let mut setup = Setup::small();
    setup.geometry.blocks_per_plane = 60;
    setup.geometry.pages_per_block = 16;
    setup.gc.low_mark = FreeMark::Blocks(3);
    setup.gc.mode = mode;
    setup.ftl.wear_levelling = wear_levelling;
    setup.ftl.shared_streams = shared_streams.to_vec();
    let mut setup = setup.with_least_spare();
    setup.ftl.spare.share.ppb += 100_000_000;
    let mut ftl = setup.build().expect("more spare is accepted too");
    let pages = ftl.logical_pages();
    let mut stream = Seed(3).stream("cold");
    (0..pages).for_each(|page| write(&mut ftl, page));
    let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
    ftl.write(page_write(Lpn::new(pages - 1), Place::Host, Cause::Evict), (), &mut io).unwrap();
    let spread = |ftl: &Ftl| {
        let mut counts: Vec<_> = ftl.erase_counts().collect();
        counts.sort_unstable();
        counts[counts.len() - 1] - counts[left_out]
    };
    let mut most = 0;
    for _ in 0..100_000 {
        write(&mut ftl, stream.random_range(0..pages / 10));
        let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
        ftl.work_idle(DieId::new(0), &mut io).unwrap();
        most = most.max(spread(&ftl));
    }
    ftl.assert_invariants();
    (most, ftl.programs().by_cause(Cause::WearLevelling), ftl.programs().all())
}

#[test]
fn static_wear_levelling_bounds_the_gap_where_dynamic_does_not() {
    for mode in [GcMode::Foreground, GcMode::Background { mark: None }, GcMode::Preemptive { steps_max: 8 }] {
        let all = [vec![WriteStream::Host, WriteStream::Evict, WriteStream::Gc]];
        let (dynamic, moved, _) = spread_of_cold_data(WearLevelling::Dynamic, mode, &all, 0);
        assert!(dynamic > 200 && moved == 0, "{mode:?}: {dynamic}");
        let mut moved_before = u64::MAX;
        for gap in [4, 16, 40] {
            let (most, moved, programs) = spread_of_cold_data(WearLevelling::Static { gap }, mode, &all, 0);
            assert!(most <= gap + 3, "{mode:?}, gap {gap}: {most}");
            // A block moves once in `gap` erases: a block's pages are moved for `gap` blocks' pages written.
            assert!(
                moved > 0 && moved <= programs / u64::from(gap),
                "{mode:?}, gap {gap}: {moved} of {programs}"
            );
            assert!(moved < moved_before, "a wider gap moves less");
            moved_before = moved;
        }
    }
}

/// A rarely written stream keeps its block open, and young. Here these are GC's own stream, since greedy GC
/// finds little to copy, and the stream of the single eviction. The open block of evictions is never sealed
/// and lags without bound. All other blocks are bounded, less tightly than where all streams share a block:
/// many lag at once, and one is swapped at each erase.
#[test]
fn static_wear_levelling_bounds_the_gap_but_of_a_block_that_stays_open() {
    let host_and_gc = vec![vec![WriteStream::Host, WriteStream::Gc]];
    for mode in [GcMode::Foreground, GcMode::Background { mark: None }, GcMode::Preemptive { steps_max: 8 }] {
        for (streams, idle) in
            [(vec![], 2), (vec![vec![WriteStream::Host, WriteStream::Evict]], 1), (host_and_gc.clone(), 1)]
        {
            for gap in [4, 16] {
                let spread =
                    |left_out| spread_of_cold_data(WearLevelling::Static { gap }, mode, &streams, left_out).0;
                let without = spread(idle);
                assert!(without <= 3 * gap, "{mode:?}, gap {gap}, {streams:?}: {without}");
                let evictions_apart = !streams.iter().flatten().any(|&stream| stream == WriteStream::Evict);
                assert!(!evictions_apart || spread(0) > 8 * gap, "{mode:?}, gap {gap}: with the open block");
            }
        }
    }
}

/// GC has copied some pages, which are cold then and moved again and again to worn blocks that held written pages.
#[test]
fn cold_data_keeps_its_class() {
    let mut setup = Setup::small();
    setup.geometry.blocks_per_plane = 40;
    setup.ftl.wear_levelling = WearLevelling::Static { gap: 2 };
    let sepgc = PlacementConfig::by_name("sepgc").expect("it is registered");
    let mut ftl = setup.with_placement(sepgc).with_least_spare().build().expect("the setup is accepted");
    let pages = ftl.logical_pages();
    (0..pages).for_each(|page| write(&mut ftl, page));
    let mut stream = Seed(7).stream("copies");
    (0..500).for_each(|_| write(&mut ftl, stream.random_range(0..pages)));
    for _ in 0..2 {
        ftl.reset_counters();
        (0..3000).for_each(|step| write(&mut ftl, step % 8));
        let copied = ftl.placement_classes().last().expect("there are two classes");
        assert!(copied.erased_bytes > 0, "{copied:?}");
    }
}

/// Drops marked pages, of this weight.
struct Drops(Weight);

impl GcHook for Drops {
    coflash_ftl::has_no_slots!();

    fn decide<M: Media>(&mut self, _: Lpn, marks: Marks, _: &mut M) -> Decision {
        if marks.any() { Decision::Drop } else { Decision::COPY }
    }

    fn weights(&mut self) -> Weights {
        Weights::all(self.0)
    }
}

/// Block 0 holds 4 marked pages, block 1 holds 2 valid ones: which is cleaned first?
fn cleaned_first(weight: Weight, fractional: bool) -> usize {
    let mut ftl = Setup { fractional, ..Setup::small() }.build().expect("the setup is accepted");
    let mut hook = Drops(weight);
    let mut io = Io { media: &mut Untimed, hook: &mut hook, start: () };
    let mut write = |ftl: &mut Ftl, page| {
        ftl.write(page_write(Lpn::new(page), Place::Host, Cause::Host), (), &mut io).unwrap();
    };
    (0..8).for_each(|page| write(&mut ftl, page));
    (0..4).for_each(|page| ftl.set_mark(Lpn::new(page), Memory::Device, true));
    // The other blocks lose their pages one by one, later than block 1.
    let mut pages = [4, 5].into_iter().chain(8..32).chain((8..32).step_by(4)).chain((9..32).step_by(4));
    while ftl.counters().erases_blocks == 0 {
        write(&mut ftl, pages.next().expect("GC begins before that"));
    }
    ftl.assert_invariants();
    ftl.erase_counts().position(|erases| erases > 0).expect("one was erased")
}

#[test]
fn marked_pages_weigh_what_the_hook_says() {
    // 4 pages at 3/16 and at 7/16 cost less than 2 pages, at 9/16 and 15/16 more.
    for (sixteenths, first) in [(0, 0), (3, 0), (7, 0), (9, 1), (15, 1), (16, 1)] {
        assert_eq!(cleaned_first(Weight(sixteenths), true), first, "{sixteenths} sixteenths");
    }
    assert_eq!((cleaned_first(Weight::NONE, false), cleaned_first(Weight::FULL, false)), (0, 1));
    let nearest = [0.0, 0.02, 0.04, 0.5, 0.99, 2.0, 99.0, -1.0].map(|weight| Weight::nearest(weight).0);
    assert_eq!(nearest, [0, 0, 1, 8, 16, 32, 256, 0]);
}

/// Under DAC a page goes up one class with each write, down one with each copy, and begins at 0 when it is new.
struct Dac {
    setup: Setup,
    ftl: Ftl,
}

const PAGE: Lpn = Lpn::new(0);

impl Dac {
    /// The page has been written three times.
    fn new() -> Self {
        let mut setup = Setup::small();
        setup.geometry.blocks_per_plane = 60;
        let dac = PlacementConfig::by_name("dac").expect("it is registered");
        let setup = setup.with_placement(dac).with_least_spare();
        let mut dac = Self { ftl: setup.build().expect("the setup is accepted"), setup };
        assert_eq!([(); 3].map(|()| dac.write(WriteStream::Evict)), [0, 1, 2]);
        dac
    }

    /// Write the page, and return its class.
    fn write(&mut self, stream: WriteStream) -> u32 {
        let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
        let write = PageWrite { stream, ..page_write(PAGE, Place::Host, Cause::Evict) };
        self.ftl.write(write, (), &mut io).unwrap();
        let at = self.ftl.lookup(PAGE).expect("just written");
        self.ftl.class_of(self.setup.units().block_of(at)).expect("there are classes")
    }

    /// Write other pages until GC has erased the block where the page is or was.
    fn erase(&mut self) {
        let at = self.ftl.lookup(PAGE).expect("it is mapped");
        let block = self.setup.units().block_of(at).get() as usize;
        let erases = |ftl: &Ftl| ftl.erase_counts().nth(block);
        let before = erases(&self.ftl);
        let mut stream = Seed(1).stream("others");
        let mut drops = Drops(Weight::FULL);
        while erases(&self.ftl) == before {
            let other = Lpn::new(stream.random_range(1..self.ftl.logical_pages()));
            let mut io = Io { media: &mut Untimed, hook: &mut drops, start: () };
            self.ftl.write(page_write(other, Place::Host, Cause::Host), (), &mut io).unwrap();
        }
        self.ftl.assert_invariants();
    }
}

#[test]
fn a_page_overwritten_in_a_cache_is_not_new_when_the_cache_writes_it() {
    let mut dac = Dac::new();
    dac.ftl.supersede(PAGE);
    assert_eq!(dac.write(WriteStream::Evict), 3, "its old copy is still there");
    let at = dac.ftl.lookup(PAGE).expect("it is mapped");
    dac.ftl.supersede(PAGE);
    let (block, mut stream) = (dac.setup.units().block_of(at).get() as usize, Seed(1).stream("others"));
    while dac.ftl.erase_counts().nth(block) == Some(0) {
        let pages = dac.ftl.logical_pages();
        write(&mut dac.ftl, stream.random_range(1..pages));
    }
    assert_eq!(dac.write(WriteStream::Evict), 4, "its old copy is erased");
}

#[test]
fn a_page_that_gc_dropped_comes_back_as_a_copy_or_as_written_by_the_stream_that_the_cache_names() {
    for (stream, class) in [(WriteStream::Gc, 1), (WriteStream::Evict, 3)] {
        let mut dac = Dac::new();
        dac.ftl.set_mark(PAGE, Memory::Device, true);
        dac.erase();
        assert_eq!(dac.ftl.lookup(PAGE), None, "it was dropped");
        assert_eq!(dac.write(stream), class, "{stream:?}");
        assert_eq!(dac.write(WriteStream::Evict), class + 1);
    }
}

#[test]
fn a_page_that_was_trimmed_is_new() {
    for is_superseded in [false, true] {
        let mut dac = Dac::new();
        if is_superseded {
            dac.ftl.supersede(PAGE);
        }
        dac.ftl.invalidate(PAGE);
        assert_eq!(dac.write(WriteStream::Evict), 0);
    }
}
