//! What uniform random writes must come to on average.

use crate::support::{Setup, cdm, cooperation, lpn, none, spare};
use coflash_base::seed::RngExt;
use coflash_base::{Lpn, Seed};
use coflash_controller::{Controller, CooperationConfig, Extent};
use coflash_flash::{Cause, Untimed};
use coflash_ftl::FreeMark;

const BLOCKS: u32 = 512;
const BLOCK_PAGES: u32 = 32;
const SPARE_BLOCKS: u32 = 77;
const LOGICAL_PAGES: u32 = (BLOCKS - SPARE_BLOCKS) * BLOCK_PAGES;
const CACHED_PAGES: u32 = LOGICAL_PAGES / 5;
const WARM_WRITES: u32 = 150_000;
const WRITES: u32 = 150_000;

/// A full device with a warm cache, of which every counter is taken as zero.
struct Uniform {
    controller: Controller,
    stream: coflash_base::Stream,
}

impl Uniform {
    fn new(cooperation: &CooperationConfig, slots: u32) -> Self {
        let mut setup = Setup::tiny(BLOCKS, SPARE_BLOCKS).with_slots(slots).with_cooperation(cooperation);
        setup.geometry.pages_per_block = BLOCK_PAGES;
        setup.ftl.spare = spare(SPARE_BLOCKS, BLOCKS);
        setup.gc.low_mark = FreeMark::Blocks(1);
        let mut controller = setup.controller();
        assert_eq!(controller.ftl().logical_pages(), LOGICAL_PAGES);
        controller.ftl_mut().map_all();
        let mut uniform = Self { controller, stream: Seed(5).stream("uniform") };
        uniform.write(WARM_WRITES, Extent::Whole);
        uniform
    }

    fn draw(&mut self) -> Lpn {
        lpn(self.stream.random_range(0..LOGICAL_PAGES))
    }

    fn write(&mut self, times: u32, extent: Extent) {
        for _ in 0..times {
            let page = self.draw();
            self.controller.write(page, extent, (), &mut Untimed);
        }
    }

    /// Pages that arrive at the FTL for each host write, and all programs for each page that arrives.
    fn measure(&mut self) -> (f64, f64) {
        let before = *self.controller.ftl().tally();
        self.write(WRITES, Extent::Whole);
        let after = self.controller.ftl().tally();
        let risen = |cause| (after.programs_for(cause) - before.programs_for(cause)) as f64;
        let arrived = risen(Cause::Host) + risen(Cause::Evict);
        (arrived / f64::from(WRITES), (arrived + risen(Cause::Gc)) / arrived)
    }
}

/// Write amplification of greedy GC with `pages` live pages.
fn greedy(pages: u32) -> f64 {
    let n = f64::from(BLOCK_PAGES);
    // Without the block kept free, and one and a half for the frontier.
    let physical = f64::from(BLOCKS - 1) * n - 1.5 * n;
    let alpha = physical / f64::from(pages);
    let harmonic = |x: f64| {
        let whole = x.floor();
        let sum: f64 = (1..=whole as u32).map(|i| 1.0 / f64::from(i)).sum();
        sum + (x - whole) / (whole + 1.0)
    };
    let (mut low, mut high) = (0.0, n - 1e-6);
    for _ in 0..100 {
        let v = (low + high) / 2.0;
        let more_valid = n * (harmonic(n) - harmonic(v)) / (n - v) > alpha;
        *if more_valid { &mut low } else { &mut high } = v;
    }
    n / (n - low)
}

fn assert_near(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value / expected - 1.0).abs() < tolerance, "{what}: {value} and not {expected}");
}

/// With C of U pages dirty in the cache a write misses with 1 − C/U, and GC finds U − C pages in flash.
#[test]
fn dirty_pages_in_the_cache_are_out_of_the_way_of_gc() {
    let share = f64::from(CACHED_PAGES) / f64::from(LOGICAL_PAGES);
    let (arrivals, bare) = Uniform::new(&none(), 0).measure();
    assert_eq!(arrivals, 1.0);
    assert_near(bare, greedy(LOGICAL_PAGES), 0.01, "write amplification without a cache");

    let (arrivals, basic) = Uniform::new(&none(), CACHED_PAGES).measure();
    assert_near(arrivals, 1.0 - share, 0.01, "flash writes per host write, without cooperation");

    for weight in ["0", "0.5", "1", "\"adaptive\"", "\"by-age\""] {
        let scheme = cooperation(&format!("{{\"name\": \"cdm\", \"removable_weight\": {weight}}}"));
        let (arrivals, cooperative) = Uniform::new(&scheme, CACHED_PAGES).measure();
        assert_near(arrivals, 1.0 - share, 0.01, "flash writes per host write, under cdm");
        let expected = greedy(LOGICAL_PAGES - CACHED_PAGES);
        assert_near(cooperative, expected, 0.01, "write amplification under cdm");
        assert!(cooperative < basic, "GC copies per flash write: {cooperative} under cdm, {basic} without");
    }
}

/// A write of a part reads the rest unless it is cached.
#[test]
fn read_modify_write_is_counted() {
    const PARTS: u32 = 20_000;
    let mut bare = Uniform::new(&none(), 0);
    let before = *bare.controller.ftl().tally();
    bare.write(PARTS, Extent::Part);
    let after = bare.controller.ftl().tally();
    assert_eq!(after.reads_pages - before.reads_pages, u64::from(PARTS));
    assert_eq!(after.programs_for(Cause::Host) - before.programs_for(Cause::Host), u64::from(PARTS));

    for scheme in [none(), cdm()] {
        let mut cached = Uniform::new(&scheme, CACHED_PAGES);
        let (ftl, cache) = (*cached.controller.ftl().tally(), *cached.controller.tally());
        cached.write(PARTS, Extent::Part);
        let reads = cached.controller.ftl().tally().reads_pages - ftl.reads_pages;
        let now = cached.controller.tally();
        let (hits, misses) = (now.write_hits - cache.write_hits, now.write_misses - cache.write_misses);
        assert_eq!(hits + misses, u64::from(PARTS));
        assert_eq!(reads, misses, "what is not cached is mapped, and read before it is modified");
        assert_eq!(now.nvm_writes_pages - cache.nvm_writes_pages, hits + 2 * misses, "filled, then written");
        assert_eq!(now.nvm_reads_pages - cache.nvm_reads_pages, misses, "each miss evicts a dirty page");
        assert_eq!(cached.controller.ftl().tally().programs_for(Cause::Host), 0, "nothing past the cache");
    }
}
