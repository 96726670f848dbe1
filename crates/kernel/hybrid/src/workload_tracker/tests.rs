use super::stack::tests::Plain;
use super::*;
use coflash_base::Seed;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_cache::Cache;

#[test]
fn the_curve_is_the_hit_rate_that_caches_of_each_size_have() {
    let mut tracker = WorkloadTracker::new(&EvictionConfig::default(), 4, 3, 0.25, 40, 0.5);
    let mut plain = [(); 4].map(|()| Plain::default());
    let mut hits = [0.0; 4];
    let mut stream = Seed(5).stream("tracker");
    for _ in 0..10_000 {
        let lpn = Lpn::new(stream.random_range(0..7) * stream.random_range(0..6));
        tracker.read(lpn, false);
        for (size, (plain, hits)) in (1..).zip(std::iter::zip(&mut plain, &mut hits)) {
            *hits += f64::from(u8::from(plain.touch(lpn, 3 * size).is_some()));
        }
    }
    let demand = tracker.demand();
    assert_eq!((demand.reads, demand.writes), (1.0, 0.0));
    for (size, hits) in (1..).zip(hits) {
        let rate = demand.read_hits.at(0.25 * f64::from(size));
        assert!((rate - hits / 10_000.0).abs() < 1e-12, "{size} segments: {rate}");
    }
    tracker.fade();
    assert_eq!(tracker.demand(), demand, "all fades alike");
    assert_eq!(tracker.reads.uses, 5000.0);
}

#[test]
fn reads_of_dirty_pages_are_hits_of_the_write_cache() {
    let mut tracker = WorkloadTracker::new(&EvictionConfig::default(), 2, 2, 0.5, 9, 0.0);
    tracker.read(Lpn::new(1), false);
    tracker.write(Lpn::new(1));
    tracker.read(Lpn::new(1), true);
    tracker.write(Lpn::new(1));
    tracker.read(Lpn::new(2), false);
    let demand = tracker.demand();
    assert_eq!((demand.reads, demand.writes), (0.4, 0.6));
    assert_eq!(demand.reads_of_write_hits, 0.5);
    assert!((demand.write_hits.at(0.5) - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(demand.read_hits.at(1.0), 0.0);
    tracker.fade();
    assert_eq!(tracker.demand().reads, 0.0);
}

/// Caches of one size, with the number of pages assumed by the tracker.
struct Beside {
    reads: Cache,
    writes: Cache,
    most: u32,
    read_hits: f64,
    write_hits: f64,
}

impl Beside {
    fn new(policy: &EvictionConfig, most: u32, disk_pages: usize) -> Self {
        let cache = || Cache::new(policy, most, disk_pages);
        Self { reads: cache(), writes: cache(), most, read_hits: 0.0, write_hits: 0.0 }
    }

    fn take(cache: &mut Cache, most: u32, lpn: Lpn, dirty: bool) -> f64 {
        if let Some(slot) = cache.lookup(lpn) {
            cache.touch(slot);
            return 1.0;
        }
        if cache.len() == most {
            let victim = cache.victim_for(lpn).expect("it is full");
            cache.remove(victim);
        }
        cache.insert(lpn, dirty);
        0.0
    }

    fn forget(cache: &mut Cache, lpn: Lpn) {
        if let Some(slot) = cache.lookup(lpn) {
            cache.remove(slot);
        }
    }
}

/// Requests for some pages more than for others, in runs; a fifth of them cycles over a part of the disk.
struct Requests {
    stream: RandomStream,
    disk_pages: u32,
    at: u32,
}

impl Requests {
    fn next_run(&mut self) -> (u32, u32) {
        let pages = self.stream.random_range(1..8_u32);
        if self.stream.random_range(0..5_u32) == 0 {
            self.at = (self.at + pages) % (self.disk_pages / 16);
            return (self.at, pages);
        }
        let place: f64 = self.stream.random();
        let rank = (place.powi(4) * f64::from(self.disk_pages)) as u64;
        // Adjacent ranks are not adjacent on the disk, but groups of 8 pages are, so that blocks have an
        // effect.
        let (unit, units) = (rank / 8, u64::from(self.disk_pages / 8));
        ((unit * 40_503 % units * 8 + rank % 8) as u32, pages)
    }
}

/// The greatest difference between a curve of the tracker and real caches.
fn error(policy: &EvictionConfig, segments: u32, segment_pages: u32, uses: u32) -> f64 {
    let disk_pages = segments * segment_pages * 4;
    let segment = 1.0 / f64::from(segments);
    let mut tracker =
        WorkloadTracker::new(policy, segments, segment_pages, segment, disk_pages as usize, 0.0);
    let mut beside: Vec<_> =
        (1..=segments).map(|n| Beside::new(policy, n * segment_pages, disk_pages as usize)).collect();
    let mut requests = Requests { stream: Seed(11).stream("beside"), disk_pages, at: 0 };
    let mut left = uses;
    while left > 0 {
        let (first, pages) = requests.next_run();
        let kind = requests.stream.random_range(0..20_u32);
        for page in (first..first + pages).map(|page| Lpn::new(page % disk_pages)) {
            left = left.saturating_sub(1);
            match kind {
                0 => {
                    tracker.forget(page);
                    for Beside { reads, writes, .. } in &mut beside {
                        Beside::forget(reads, page);
                        Beside::forget(writes, page);
                    }
                }
                1..10 => {
                    tracker.write(page);
                    for Beside { reads, writes, most, write_hits, .. } in &mut beside {
                        Beside::forget(reads, page);
                        *write_hits += Beside::take(writes, *most, page, true);
                    }
                }
                _ => {
                    // Half of flash is the write cache.
                    let dirty = beside[segments as usize / 2].writes.lookup(page).is_some();
                    tracker.read(page, dirty);
                    for Beside { reads, writes, most, write_hits, read_hits } in &mut beside {
                        if dirty {
                            *write_hits += Beside::take(writes, *most, page, true);
                        } else {
                            *read_hits += Beside::take(reads, *most, page, false);
                        }
                    }
                }
            }
        }
    }
    let demand = tracker.demand();
    let mut most = (0.0_f64, 0.0_f64, 0.0_f64);
    for (n, beside) in (1..).zip(&beside) {
        let share = segment * f64::from(n);
        most.0 = most.0.max(beside.read_hits / tracker.reads.uses);
        most.1 = most.1.max(beside.write_hits / tracker.writes.uses);
        let (reads, writes) = (demand.read_hits.at(share), demand.write_hits.at(share));
        most.2 = most.2.max((reads - most.0).abs()).max((writes - most.1).abs());
    }
    most.2
}

/// Set the block size of policies that evict blocks.
fn of_blocks(name: &str, block_pages: u16) -> EvictionConfig {
    let policy = EvictionConfig::by_name(name).expect("a registered name");
    if policy.unit_pages() == 1 {
        return policy;
    }
    coflash_base::read::read(&serde_json::json!({ "name": name, "block_pages": block_pages }))
        .expect("blocks")
}

#[test]
fn small_flash_is_tracked_exactly_under_every_policy() {
    for name in EvictionConfig::NAMES {
        let error = error(&of_blocks(name, 8), 6, 64, 30_000);
        assert!(error < 1e-9, "{name}: {error}");
    }
}

#[test]
fn a_sample_tells_the_hit_rates_of_every_policy_within_four_points() {
    for name in EvictionConfig::NAMES {
        let error = error(&of_blocks(name, 4), 8, 4096, 250_000);
        assert!(error < 0.04, "{name}: {error}");
        // The result must not come from tracking all pages.
        let exact = EvictionConfig::by_name(name).unwrap().is_lru_of_one_kind();
        assert_eq!(error < 1e-9, exact, "{name}: {error}");
    }
}

/// L. A. Belady, R. A. Nelson & G. S. Shedler, "An Anomaly in Space-Time Characteristics of Certain Programs Running in
/// a Paging Machine", CACM 12(6), 1969: with one page more, FIFO hits once less.
#[test]
fn a_curve_does_not_fall_where_the_policy_does() {
    let fifo = EvictionConfig::by_name("fifo").unwrap();
    let mut tracker = WorkloadTracker::new(&fifo, 4, 1, 0.25, 6, 0.0);
    for page in [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5] {
        tracker.read(Lpn::new(page), false);
    }
    let Ghosts::Sampled(sampled) = &tracker.reads.ghosts else { panic!("FIFO is no stack algorithm") };
    assert_eq!(sampled.miniature.misses().collect::<Vec<_>>(), [12.0, 12.0, 9.0, 10.0]);
    let curve = tracker.demand().read_hits;
    assert_eq!([0.25, 0.5, 0.75, 1.0].map(|share| curve.at(share)), [0.0, 0.0, 0.25, 0.25]);
}

#[test]
fn memory_is_what_the_module_says() {
    const DISK_PAGES: usize = 1 << 18;
    let bytes = |name: &str| {
        let policy = EvictionConfig::by_name(name).unwrap();
        let tracker = WorkloadTracker::new(&policy, 16, 4096, 1.0 / 16.0, DISK_PAGES, 0.0);
        let index = DISK_PAGES * 4;
        (tracker.heap_bytes() / 2 - index) as f64 / f64::from(16 * 4096)
    };
    assert!((bytes("lru") - 17.0).abs() < 0.1, "{}", bytes("lru"));
    for (name, slot_bytes) in [("fifo", 17.0), ("clock", 18.0), ("pt-lru", 19.0)] {
        // Sixteen caches of one to sixteen sixteenths, a sixteenth as large.
        let expected = slot_bytes * 17.0 / 32.0;
        // A byte and the length of a vector for each run of pages.
        assert!((bytes(name) - expected).abs() < 0.5, "{name}: {} and not {expected}", bytes(name));
    }
}
