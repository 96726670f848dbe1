//! The hook's decisions about valid pages are carried out: the source (slot or flash), the stream, the mode;
//! and blocks programmed fast are refreshed in time.

use crate::setup::{Reproduce, Setup, page_write, victims};
use coflash_base::seed::{RandomStream as Draws, RngExt, Seed};
use coflash_base::{Duration, Index, Lpn, Misfit, Time};
use coflash_ftl::PlacementConfig;
use coflash_ftl::{
    Candidate, CopySource, Decision, FreeMark, Ftl, FtlConfig, GcHook, GcMode, Io, Marks, RecordsDecisions,
    RefreshConfig, Requirements, Spare, WearLevelling, Weight, Weights, WriteStream,
};
use coflash_media::{Access, BlockId, Cause, Flash, HostPage, Media, Memory, Mode, Nvm, Place, Slot};
use coflash_testing::{Done, Image};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The slot of a page in the device's memory.
fn slot(page: Lpn) -> Slot {
    Slot { memory: Memory::Device, number: page.get() }
}

const PAGE: usize = 16;
type Bytes = [u8; PAGE];

/// Two memories above flash, and the expected contents of flash.
struct TwoMemories {
    /// Of a page that flash lacks, the mark of its next copy.
    marks: Vec<Marks>,
    /// The contents of the device's slot of each page; newer than flash where the page is marked so.
    slots: Vec<Bytes>,
    flash: Vec<Option<Bytes>>,
    weight: Weight,
    /// The marks of each page, in order.
    decisions: VecDeque<(Lpn, Decision)>,
}

impl GcHook for TwoMemories {
    coflash_ftl::has_no_slots!();

    fn decide<M: Media>(&mut self, page: Lpn, marks: Marks, _: &mut M) -> Decision {
        assert_eq!(marks, self.marks[page.index()], "{page:?}: the FTL's marks");
        let source = if marks.device { CopySource::Slot(slot(page)) } else { CopySource::Flash };
        if marks.device {
            self.flash[page.index()] = Some(self.slots[page.index()]);
            self.marks[page.index()].device = false;
        }
        let decision = if marks.host {
            Decision::Copy { source, stream: WriteStream::Shadow, mode: Mode::Fast }
        } else {
            Decision::Copy { source, stream: WriteStream::Gc, mode: Mode::Normal }
        };
        self.decisions.push_back((page, decision));
        decision
    }

    fn weights(&mut self) -> Weights {
        Weights::all(self.weight)
    }
}

/// The victims that GC picked among the blocks for shadows, and their valid pages.
#[derive(Debug, Default)]
struct Picks {
    group_of: BTreeMap<BlockId, u32>,
    of_shadows: (u64, u64),
    /// The answers for pages of victims: copies, drops.
    answers: (u64, u64),
}

/// With no stream shared, the last of the groups: host, eviction, GC, shadows.
const SHADOWS: u32 = 3;

impl RecordsDecisions for Picks {
    fn answered(&mut self, _: BlockId, _: u32, _: Lpn, decision: Decision) {
        let (copies, drops) = &mut self.answers;
        *if decision == Decision::Drop { drops } else { copies } += 1;
    }

    fn opened(&mut self, block: BlockId, group: u32) {
        self.group_of.insert(block, group);
    }

    fn picked(
        &mut self,
        _: u32,
        block: BlockId,
        _: Option<Time>,
        candidates: &mut dyn Iterator<Item = Candidate>,
    ) {
        if self.group_of.get(&block) == Some(&SHADOWS) {
            self.of_shadows.0 += 1;
            self.of_shadows.1 +=
                candidates.filter(|one| one.block == block).map(|one| u64::from(one.valid)).sum::<u64>();
        }
    }
}

struct Checked {
    ftl: Ftl,
    image: Image,
    tiers: TwoMemories,
    now: Time,
    /// Programs of fast blocks since their last erase, by block.
    begun_fast: BTreeMap<u32, Time>,
    picks: Arc<Mutex<Picks>>,
    setup: Setup,
    refreshed: u64,
    from_slots: u64,
}

const RETENTION: Duration = Duration { ns: 1000 };
const POWER_OFF: Duration = Duration { ns: 400 };
/// The longest pause between two requests: a block may be refreshed this late.
const PAUSE_NS: u64 = 20;

impl Checked {
    fn new(setup: &Setup, weight: Weight) -> Self {
        let requirements = Requirements {
            fractional_costs: !weight.0.is_multiple_of(16),
            weight_max: weight,
            shadow_stream: true,
            ..Requirements::NONE
        };
        let mut ftl =
            Ftl::new(&setup.geometry, &setup.ftl, &setup.gc, requirements, Seed(1)).expect("it is accepted");
        ftl.track_host();
        let picks = Arc::new(Mutex::new(Picks::default()));
        ftl.record_in(picks.clone());
        let pages = ftl.logical_pages() as usize;
        Self {
            image: Image::new(&setup.units(), pages as u32),
            tiers: TwoMemories {
                marks: vec![Marks::NONE; pages],
                slots: vec![[0; PAGE]; pages],
                flash: vec![None; pages],
                weight,
                decisions: VecDeque::new(),
            },
            ftl,
            now: Time::ZERO,
            begun_fast: BTreeMap::new(),
            picks,
            setup: setup.clone(),
            refreshed: 0,
            from_slots: 0,
        }
    }

    fn step(&mut self, stream: &mut Draws) {
        self.now += Duration { ns: stream.random_range(0..=PAUSE_NS) };
        let mut io = Io { media: &mut self.image, hook: &mut self.tiers, start: () };
        self.ftl.pass_time(self.now, &mut io).unwrap();
        self.settle();
        let pages = self.ftl.logical_pages();
        let page = Lpn::new(stream.random_range(0..pages));
        let bytes = Bytes::from(std::array::from_fn(|_| stream.random()));
        match stream.random_range(0..16) {
            0..6 => {
                self.image.host_writes(0, &bytes);
                let mut io = Io { media: &mut self.image, hook: &mut self.tiers, start: () };
                self.ftl.write(page_write(page, Place::Host, Cause::Host), (), &mut io).unwrap();
                self.tiers.flash[page.index()] = Some(bytes);
                self.tiers.marks[page.index()] = Marks::NONE;
            }
            // Of a page that is newer in the host an older state comes, and the mark stays.
            6..8 => {
                self.image.host_writes(0, &bytes);
                let mut io = Io { media: &mut self.image, hook: &mut self.tiers, start: () };
                self.ftl.write(page_write(page, Place::Host, Cause::Evict), (), &mut io).unwrap();
                self.tiers.flash[page.index()] = Some(bytes);
                self.tiers.marks[page.index()].device = false;
            }
            8..11 => {
                self.image.host_writes(0, &bytes);
                self.image.access(slot(page), Access::WriteNew { from: Place::Host }, ());
                self.tiers.slots[page.index()] = bytes;
                self.mark(page, Memory::Device, true);
            }
            11..13 => self.mark(page, Memory::Host, true),
            13 => self.mark(page, Memory::Host, false),
            14 => self.mark(page, Memory::Device, false),
            _ => {
                self.ftl.invalidate(page);
                self.tiers.flash[page.index()] = None;
                self.tiers.marks[page.index()] = Marks::NONE;
            }
        }
        self.settle();
    }

    fn mark(&mut self, page: Lpn, tier: Memory, marked: bool) {
        self.ftl.set_mark(page, tier, marked);
        if tier == Memory::Host || self.ftl.lookup(page).is_some() {
            let marks = &mut self.tiers.marks[page.index()];
            *marks = marks.with(tier, marked);
        }
    }

    /// Replays the operations of flash against the hook's answers.
    fn settle(&mut self) {
        for done in std::mem::take(&mut self.image.log) {
            let moved = match done {
                Done::Copy(_, to, oob, cause) => Some((to, oob, cause, false)),
                Done::Program(to, oob, cause @ (Cause::Gc | Cause::Refresh | Cause::WearLevelling)) => {
                    Some((to, oob, cause, true))
                }
                Done::Erase(block, _) => {
                    self.begun_fast.remove(&block.get());
                    None
                }
                _ => None,
            };
            let Some((to, oob, cause, from_slot)) = moved else { continue };
            let fast = oob.mode == Mode::Fast;
            self.refreshed += u64::from(cause == Cause::Refresh);
            self.from_slots += u64::from(from_slot);
            let lpn = oob.lpn.expect("data");
            let Some((asked, Decision::Copy { source, mode, .. })) = self.tiers.decisions.pop_front() else {
                panic!("{lpn:?} is moved and nobody was asked");
            };
            assert_eq!(
                (lpn, from_slot),
                (asked, matches!(source, CopySource::Slot(_))),
                "where it is taken from"
            );
            assert!(mode == oob.mode || cause == Cause::WearLevelling, "{lpn:?}: its mode");
            let block = self.setup.units().block_of(to);
            if fast {
                self.begun_fast.entry(block.get()).or_insert(self.now);
            } else {
                assert!(!self.begun_fast.contains_key(&block.get()), "{block:?} is for shadows alone");
            }
        }
        assert!(self.tiers.decisions.is_empty(), "every page asked about is moved");
        for block in 0..self.setup.units().blocks() {
            let begun = self.begun_fast.get(&block);
            let is_fast = self.ftl.is_fast(BlockId::new(block));
            assert_eq!(is_fast, begun.is_some(), "block {block} is known to be fast");
            let late = RETENTION.ns - POWER_OFF.ns + PAUSE_NS;
            assert!(
                begun.is_none_or(|begun| self.now.since(*begun).ns <= late),
                "block {block} is refreshed too late"
            );
        }
    }

    fn check(&mut self) {
        self.ftl.assert_invariants();
        let counted = self.ftl.fast_block_counters().expect("shadows are apart");
        assert_eq!(counted.states_bytes, self.ftl.state_bytes() as u64);
        let Picks { of_shadows: picked, answers, .. } = *self.picks.lock().expect("nobody panicked");
        let programs = [Cause::Gc, Cause::WearLevelling, Cause::Refresh]
            .map(|cause| self.ftl.programs().by_cause(cause));
        assert_eq!(
            answers,
            (programs.iter().sum(), self.ftl.counters().gc_drops_pages),
            "every page is told of once"
        );
        // A block that takes over cold data is not opened, and its last group says nothing.
        if !matches!(self.setup.ftl.wear_levelling, WearLevelling::Static { .. }) {
            assert_eq!((counted.victims_blocks, counted.victims_valid_pages), picked, "fast victims");
        }
        for page in (0..self.ftl.logical_pages()).map(Lpn::new) {
            let marks = self.ftl.marks(page);
            assert_eq!(marks, self.tiers.flash[page.index()].map(|_| self.tiers.marks[page.index()]));
            let Some(at) = self.ftl.lookup(page) else { continue };
            self.image.read(at, Place::Host, Cause::Host, ()).unwrap();
            assert_eq!(self.image.host_reads(), self.tiers.flash[page.index()].expect("it is there"));
        }
        self.image.log.clear();
    }
}

#[test]
fn pages_go_where_the_hook_says_and_fast_blocks_are_refreshed() {
    let (mut refreshed, mut from_slots, mut victims_valid) = (0, 0, 0);
    for (number, victim) in (0..8).flat_map(|_| victims()).enumerate() {
        let mut stream = Seed(number as u64).stream("decisions");
        let mut setup = Setup::draw(&mut stream, victim);
        setup.ftl.refresh =
            RefreshConfig { fast_retention: Some(RETENTION), power_off: POWER_OFF, retention: None };
        if matches!(setup.gc.mode, GcMode::Preemptive { .. }) {
            setup.gc.low_mark = FreeMark::Blocks(4);
        } else {
            setup.gc.low_mark = FreeMark::Blocks(2);
            if let GcMode::Background { mark } = &mut setup.gc.mode {
                *mark = None;
            }
        }
        setup.geometry.blocks_per_plane += 8;
        setup.ftl.placement = PlacementConfig::default();
        setup.ftl.shared_streams.clear();
        // As full as the FTL lets it be, with a stream for shadows.
        setup.ftl.spare = Spare { share: coflash_base::Share::percent(150), ..Spare::default() };
        let _reproduce = Reproduce(&setup);
        let weight = [Weight::FULL, Weight(32), Weight(24), Weight(80)][number % 4];
        let mut checked = Checked::new(&setup, weight);
        for step in 0..3000 {
            checked.step(&mut stream);
            if step % 50 == 0 {
                checked.check();
            }
        }
        checked.check();
        refreshed += checked.refreshed;
        from_slots += checked.from_slots;
        victims_valid += checked.picks.lock().expect("nobody panicked").of_shadows.1;
    }
    assert!(refreshed > 1000 && from_slots > 1000, "{refreshed} refreshed, {from_slots} from slots");
    assert!(victims_valid > 100, "{victims_valid} pages of fast victims");
}

#[test]
fn what_does_not_fit_is_refused_with_the_numbers() {
    let requirements = Requirements { shadow_stream: true, ..Requirements::NONE };
    let setup = Setup::small();
    let refused = |ftl: &FtlConfig, mark| {
        let gc = coflash_ftl::GcConfig { low_mark: FreeMark::Blocks(mark), ..setup.gc.clone() };
        Ftl::new(&setup.geometry, ftl, &gc, requirements, Seed(1)).map(|_| ()).unwrap_err()
    };
    let Misfit { key, problem } = refused(&setup.ftl, 1);
    assert_eq!(key, "gc.low_mark");
    assert!(problem.contains("fills 2 blocks at once"), "{problem}");
    let refresh = RefreshConfig { retention: Some(RETENTION), power_off: RETENTION, fast_retention: None };
    let Misfit { key, problem } = refused(&FtlConfig { refresh, ..setup.ftl.clone() }, 2);
    assert_eq!(
        (key.as_str(), problem.as_str()),
        ("ftl.refresh.power_off", "1us was given; less than the retention of 1us is allowed")
    );
}

#[test]
fn states_take_three_bits_a_page_and_four_bytes_a_block() {
    let mut setup = Setup::small();
    setup.geometry.pages_per_block = 512;
    setup.geometry.blocks_per_plane = 128;
    let Setup { geometry, ftl, gc, .. } = setup.with_least_spare();
    let mut ftl = Ftl::new(&geometry, &ftl, &gc, Requirements::NONE, Seed(1)).expect("it is accepted");
    ftl.track_host();
    let (pages, blocks) = (128 * 512, 128);
    assert_eq!(ftl.state_bytes(), pages * 3 / 8 + blocks * 4);
    assert!(ftl.fast_block_counters().is_none(), "shadows have no blocks of their own");
}
