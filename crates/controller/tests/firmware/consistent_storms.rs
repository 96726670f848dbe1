//! Random operations under `cdm-consistent`, with power, against an array of what was last written.

use crate::support::{Device, Named, Operation, PAGE_BYTES, Page, Setup, content, cooperation, lpn};
use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Seed, Time};
use coflash_cache::EvictionConfig;
use coflash_flash::Cause;
use coflash_ftl::{Pools, Trigger, VictimConfig};

const STEPS: u64 = 600;
const STEPS_BETWEEN_CHECKS: u64 = 8;

/// What the host did, counted where it was done.
#[derive(Default)]
struct Seen {
    reads: u64,
    writes: u64,
    flushes: u64,
    ticks: u64,
}

/// A device and what it should hold.
struct Storm {
    device: Device,
    model: Vec<Page>,
    seen: Seen,
    clock: u64,
}

impl Storm {
    fn new(setup: &Setup) -> Self {
        let device = Device::new(setup);
        let pages = device.controller.ftl().logical_pages() as usize;
        Self { device, model: vec![[0; PAGE_BYTES]; pages], seen: Seen::default(), clock: 0 }
    }

    fn apply(&mut self, operation: &Operation) {
        self.clock += 100;
        let before = *self.commits();
        self.device.controller.pass_time(Time { ns: self.clock }, (), &mut self.device.image);
        self.seen.ticks += self.commits().commits - before.commits;
        match operation {
            Operation::Read(page) => {
                self.seen.reads += 1;
                assert_eq!(self.device.read(*page), self.model[page.get() as usize], "{operation:?}");
                return;
            }
            Operation::Write(page, bytes, stamp) => {
                self.seen.writes += 1;
                self.model[page.get() as usize][bytes.clone()]
                    .copy_from_slice(&content(*stamp)[bytes.clone()]);
            }
            Operation::Trim(page) => {
                self.model[page.get() as usize] = [0; PAGE_BYTES];
            }
            Operation::Flush => self.seen.flushes += 1,
        }
        self.device.apply(operation);
    }

    fn commits(&self) -> &coflash_controller::CommitTally {
        self.device.controller.commits().expect("a scheme that commits")
    }

    /// Every eviction is a checkpoint, every commit has a reason.
    fn check(&self) {
        self.device.controller.assert_invariants();
        let Seen { reads, writes, flushes, ticks } = self.seen;
        self.device.assert_conserved(reads, writes);
        let (tally, commits) = (self.device.controller.tally(), self.commits());
        let by_host = self.device.controller.ftl().tally().programs_for(Cause::Host);
        assert_eq!(by_host, 0, "every write goes through the cache");
        assert_eq!(tally.dirty_evictions_pages, commits.checkpoints_pages, "pages that leave dirty");
        assert!(commits.early_commits <= commits.commits, "early commits");
        assert!(commits.commits <= commits.early_commits + flushes + ticks, "commits without a reason");
        assert!(commits.commits - commits.early_commits >= ticks, "commits by time");
        assert!(commits.copies_on_write_pages <= tally.write_hits, "copies on write");
    }

    fn run(&mut self, stream: &mut Stream, steps: u64) {
        for step in 1..=steps {
            self.apply(&Operation::draw(stream, self.model.len() as u32, step));
            if step % STEPS_BETWEEN_CHECKS == 0 {
                self.check();
            }
        }
        self.device.assert_map_can_be_rebuilt();
        self.apply(&Operation::Flush);
        for page in (0..self.model.len() as u32).map(lpn) {
            self.apply(&Operation::Read(page));
        }
        self.check();
    }
}

fn draw(seed: u64, slots: u32, stream: &mut Stream) -> Setup {
    let pick = |stream: &mut Stream, of: u32| stream.random_range(0..of) as usize;
    let interval = ["100ns", "3us", "1s"][pick(stream, 3)];
    let deletions = [1, 2, 100][pick(stream, 3)];
    let (low, high) = [(5, 10), (1, 100), (40, 50), (100, 100)][pick(stream, 4)];
    let scheme = format!(
        r#"{{"name": "cdm-consistent", "commit_interval": "{interval}", "deletions_max": {deletions},
             "low_watermark": "{low}%", "high_watermark": "{high}%"}}"#
    );
    let mut setup = Setup::tiny(12, 4).with_slots(slots).with_cooperation(&cooperation(&scheme));
    setup.seed = Seed(seed);
    setup.cache.read_allocate = pick(stream, 4) > 0;
    setup.gc.trigger = [Trigger::Write, Trigger::Operation][pick(stream, 2)];
    setup.geometry.planes_per_die = stream.random_range(1..3);
    setup.geometry.channels = stream.random_range(1..3);
    setup.ftl.pools = [Pools::Plane, Pools::Die][pick(stream, 2)];
    setup.draw_ftl(2, stream);
    setup
}

#[test]
fn pages_read_back_under_cdm_consistent() {
    let (mut drops, mut rewrites, mut copies, mut early, mut seed) = (0, 0, 0, 0, 0);
    for eviction in EvictionConfig::NAMES {
        for victim in VictimConfig::NAMES {
            for slots in [1, 2, 3, 9, 18].into_iter().flat_map(|slots| [slots; 24]) {
                seed += 1;
                let mut stream = Seed(seed).stream("consistent storm");
                let mut setup = draw(seed, slots, &mut stream);
                setup.cache.policy = EvictionConfig::by_name(eviction).expect("a policy");
                setup.gc.victim = VictimConfig::by_name(victim).expect("a policy");
                let _named = Named(&setup);
                let mut storm = Storm::new(&setup);
                storm.run(&mut stream, STEPS);
                drops += storm.device.controller.ftl().tally().gc_drops_pages;
                rewrites += storm.device.controller.tally().drop_rewrites_pages;
                copies += storm.commits().copies_on_write_pages;
                early += storm.commits().early_commits;
            }
        }
    }
    let reached = [drops, rewrites, copies, early];
    assert!(reached.iter().all(|&count| count > 1000), "{reached:?} drops, rewrites, copies, early commits");
}
