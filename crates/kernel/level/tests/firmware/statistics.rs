//! The expected means of uniform random writes.

use crate::support::{Device, Rig, Setup, lpn, spare};
use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_ftl::Coverage;
use coflash_media::Untimed;

const BLOCKS: u32 = 512;
const BLOCK_PAGES: u32 = 32;
const SPARE_BLOCKS: u32 = 77;
const LOGICAL_PAGES: u32 = (BLOCKS - SPARE_BLOCKS) * BLOCK_PAGES;
const CACHED_PAGES: u32 = LOGICAL_PAGES / 5;
const WARM_WRITES: u32 = 150_000;
const WRITES: u32 = 150_000;

const NONE: &str = "\"none\"";

/// A full device with a warm cache; all counters start from here.
struct Uniform {
    rig: Rig<Device, Untimed>,
    stream: RandomStream,
}

impl Uniform {
    fn new(scheme: &str, slots: u32) -> Self {
        let mut setup = Setup::tiny(BLOCKS, SPARE_BLOCKS).with_slots(slots).with_scheme(scheme);
        setup.geometry.pages_per_block = BLOCK_PAGES;
        setup.ftl.spare = spare(SPARE_BLOCKS, BLOCKS);
        assert_eq!(setup.logical_pages(), LOGICAL_PAGES);
        let mut device = setup.device();
        device.below_mut().map_all();
        let mut uniform = Self { rig: Rig::new(device, Untimed), stream: Seed(5).stream("uniform") };
        let _ = uniform.write(WARM_WRITES, Coverage::Full);
        uniform
    }

    /// Writes pages; returns by how much a counter has risen.
    fn write(&mut self, times: u32, coverage: Coverage) -> impl Fn(&str) -> u64 + use<> {
        let before = self.rig.report();
        for _ in 0..times {
            let page = lpn(self.stream.random_range(0..LOGICAL_PAGES));
            let Ok(()) = self.rig.write(page, coverage);
        }
        let after = self.rig.report();
        move |path| after.count(path) - before.count(path)
    }

    /// Pages that arrive at the FTL for each host write, and all programs for each page that arrives.
    fn measure(&mut self) -> (f64, f64) {
        let risen = self.write(WRITES, Coverage::Full);
        let arrived = (risen("programs_pages.host") + risen("programs_pages.evict")) as f64;
        (arrived / f64::from(WRITES), (arrived + risen("programs_pages.gc") as f64) / arrived)
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
    let (arrivals, bare) = Uniform::new(NONE, 0).measure();
    assert_eq!(arrivals, 1.0);
    assert_near(bare, greedy(LOGICAL_PAGES), 0.01, "write amplification without a cache");

    let (arrivals, basic) = Uniform::new(NONE, CACHED_PAGES).measure();
    assert_near(arrivals, 1.0 - share, 0.01, "flash writes per host write, without cooperation");

    for weight in ["0", "0.5", "1", "\"adaptive\"", "\"by-age\""] {
        let scheme = format!(r#"{{"name": "cdm", "removable_weight": {weight}}}"#);
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
    let risen = Uniform::new(NONE, 0).write(PARTS, Coverage::Partial);
    let all = ["flash_reads_pages", "flash_merges_pages", "programs_pages.host"].map(risen);
    assert_eq!(all, [u64::from(PARTS); 3]);

    for scheme in [NONE, "\"cdm\""] {
        let risen = Uniform::new(scheme, CACHED_PAGES).write(PARTS, Coverage::Partial);
        let (hits, misses) = (risen("cache.write_hits"), risen("cache.write_misses"));
        assert_eq!(hits + misses, u64::from(PARTS));
        let reads = [risen("flash_reads_pages"), risen("cache.merged_pages")];
        assert_eq!(reads, [misses; 2], "a missing page is mapped, and read before it is modified");
        assert_eq!(risen("cache.nvm_writes_pages"), hits + 2 * misses, "filled, then written");
        assert_eq!(risen("cache.nvm_reads_pages"), misses, "each miss evicts a dirty page");
        assert_eq!(risen("programs_pages.host"), 0, "nothing past the cache");
    }
}
