//! Random operations against the stupidest correct model: an array of what was last written.

use crate::support::{Device, Named, Operation, PAGE_BYTES, Page, Setup, content, cooperation, lpn};
use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Lpn, Seed};
use coflash_cache::EvictionConfig;
use coflash_controller::{CooperationConfig, Eviction};
use coflash_ftl::{Pools, Trigger, VictimConfig};

const STEPS: u64 = 1000;
const STEPS_BETWEEN_CHECKS: u64 = 16;

/// What the host did, counted where it was done.
#[derive(Default)]
struct Seen {
    reads: u64,
    writes: u64,
    /// Orphans that the host overwrote or trimmed.
    orphans_saved: u64,
}

/// A device and what it should hold.
struct Storm {
    device: Device,
    model: Vec<Page>,
    seen: Seen,
}

impl Storm {
    fn new(setup: &Setup) -> Self {
        let device = Device::new(setup);
        let pages = device.controller.ftl().logical_pages() as usize;
        Self { device, model: vec![[0; PAGE_BYTES]; pages], seen: Seen::default() }
    }

    fn apply(&mut self, operation: &Operation) {
        let cache = self.device.controller.cache();
        let is_orphan = |page: Lpn| u64::from(cache.lookup(page).is_some_and(|slot| cache.is_orphan(slot)));
        match operation {
            Operation::Read(page) => {
                self.seen.reads += 1;
                assert_eq!(self.device.read(*page), self.model[page.get() as usize], "{operation:?}");
                return;
            }
            Operation::Write(page, bytes, stamp) => {
                self.seen.writes += 1;
                self.seen.orphans_saved += is_orphan(*page);
                self.model[page.get() as usize][bytes.clone()]
                    .copy_from_slice(&content(*stamp)[bytes.clone()]);
            }
            Operation::Trim(page) => {
                self.seen.orphans_saved += is_orphan(*page);
                self.model[page.get() as usize] = [0; PAGE_BYTES];
            }
            Operation::Flush => {}
        }
        self.device.apply(operation);
    }

    fn check(&self) {
        self.device.controller.assert_invariants();
        self.device.assert_map_can_be_rebuilt();
        let Seen { reads, writes, orphans_saved } = self.seen;
        let open = self.device.assert_conserved(reads, writes);
        assert_eq!(
            self.device.controller.tally().drop_rewrites_pages + orphans_saved + open,
            self.device.controller.ftl().tally().gc_drops_pages,
            "drops rewritten, saved and open"
        );
    }

    fn run(&mut self, stream: &mut Stream, steps: u64) {
        for step in 1..=steps {
            self.apply(&Operation::draw(stream, self.model.len() as u32, step));
            if step % STEPS_BETWEEN_CHECKS == 0 {
                self.check();
            }
        }
        for page in (0..self.model.len() as u32).map(lpn) {
            self.apply(&Operation::Read(page));
        }
        self.check();
    }
}

/// Every combination of what concerns the cache, each with its own device and operations.
fn storms(cooperation: &CooperationConfig, drops_min: u64) {
    let mut drops = 0;
    let mut seed = 0;
    for eviction in EvictionConfig::NAMES {
        for victim in VictimConfig::NAMES {
            for (slots, options) in
                [0, 1, 4, 9].into_iter().flat_map(|slots| (0..32).map(move |o| (slots, o)))
            {
                seed += 1;
                let bit = |index: u32| options >> index & 1 == 1;
                let mut stream = Seed(seed).stream("storm");
                let mut setup = Setup::tiny(10, 4).with_slots(slots).with_cooperation(cooperation);
                setup.seed = Seed(seed);
                setup.cache.policy = EvictionConfig::by_name(eviction).expect("a policy");
                setup.gc.victim = VictimConfig::by_name(victim).expect("a policy");
                setup.cache.read_allocate = bit(0);
                setup.cache.write_allocate = bit(1);
                setup.cache.eviction = if bit(2) { Eviction::Foreground } else { Eviction::Background };
                setup.gc.trigger = if bit(3) { Trigger::Write } else { Trigger::Operation };
                setup.ftl.pools = if bit(4) { Pools::Plane } else { Pools::Die };
                setup.geometry.planes_per_die = stream.random_range(1..3);
                setup.geometry.channels = stream.random_range(1..3);
                // What the loops do not cover.
                setup.draw_ftl(3, &mut stream);
                let _named = Named(&setup);
                let mut storm = Storm::new(&setup);
                storm.run(&mut stream, STEPS);
                drops += storm.device.controller.ftl().tally().gc_drops_pages;
            }
        }
    }
    assert!(drops >= drops_min, "{drops} drops: the storms reach what they should");
}

#[test]
fn pages_read_back_without_cooperation() {
    storms(&cooperation("\"none\""), 0);
}

#[test]
fn pages_read_back_under_cdm_with_removable_pages_free() {
    storms(&cooperation(r#"{"name": "cdm", "removable_weight": 0}"#), 2000);
}

#[test]
fn pages_read_back_under_cdm_with_removable_pages_at_half() {
    storms(&cooperation(r#"{"name": "cdm", "removable_weight": 0.5}"#), 2000);
}

#[test]
fn pages_read_back_under_cdm_with_removable_pages_in_full() {
    storms(&cooperation(r#"{"name": "cdm", "removable_weight": 1}"#), 2000);
}

#[test]
fn pages_read_back_under_cdm_with_an_adaptive_weight() {
    // A storm is hardly long enough for an estimate over all pages.
    storms(&cooperation(r#"{"name": "cdm", "removable_weight": "adaptive", "rewrite_stream": "gc"}"#), 10);
}

#[test]
fn pages_read_back_under_cdm_with_weights_by_age() {
    storms(&cooperation(r#"{"name": "cdm", "removable_weight": "by-age", "rewrite_stream": "gc"}"#), 2000);
}

/// The weights follow what happens to a thousand pages or so, longer than the storms above.
#[test]
fn the_less_a_removable_page_counts_the_more_are_dropped() {
    let drops = ["1", "0.5", "0", "\"adaptive\"", "\"by-age\""].map(|weight| {
        let options = format!(r#"{{"name": "cdm", "removable_weight": {weight}, "rewrite_stream": "gc"}}"#);
        let scheme = cooperation(&options);
        let mut setup = Setup::tiny(20, 4).with_slots(24).with_cooperation(&scheme);
        setup.gc.trigger = Trigger::Operation;
        let mut storm = Storm::new(&setup);
        storm.run(&mut Seed(1).stream("storm"), 200_000);
        storm.device.controller.ftl().tally().gc_drops_pages
    });
    assert!(drops.windows(2).take(2).all(|pair| pair[0] < pair[1]), "{drops:?} for 1, 0.5, 0 and estimates");
    for estimated in &drops[3..] {
        assert!((drops[0] + 1..drops[2]).contains(estimated), "{drops:?}: the estimate lies between");
    }
}
