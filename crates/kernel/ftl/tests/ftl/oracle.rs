//! Random operations against a plain map of last writes: every page reads back its last write.

use crate::ledger::Ledger;
use crate::setup::{Reproduce, SLOT, Setup, page_write, pick, victims};
use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{Index, Lpn};
use coflash_ftl::{AgeClass, Decision, Ftl, GcHook, GcMode, Io, Marks, PageRead, Trigger, Weight, Weights};
use coflash_media::{Access, Cause, DieId, Flash, HostPage, Media, Nvm, Oob, Place};
use coflash_testing::{Done, Image};

const PAGE: usize = 16;
type Bytes = [u8; PAGE];

#[derive(Clone, Copy, Debug)]
enum Operation {
    Write(Lpn),
    /// From a cache slot, for any cause but the host's.
    Evict(Lpn),
    /// A range of bytes; the rest stays.
    WritePart(Lpn, usize, usize),
    Read(Lpn),
    Trim(Lpn),
    /// Marks the page, or takes its mark back.
    Mark(Lpn),
    /// Gives the mark, if there is one, another class.
    AgeClass(Lpn, AgeClass),
    Weigh(Weights),
    /// A die is idle for this number of GC steps.
    Idle(DieId, u32),
}

/// The tier beside flash: it holds a copy of every marked page, and the only copy of each page that GC
/// dropped.
struct Memory {
    drops: bool,
    weights: Weights,
    marked: Vec<Option<AgeClass>>,
    dropped: Vec<Lpn>,
}

impl GcHook for Memory {
    coflash_ftl::has_no_slots!();

    fn decide<M: Media>(&mut self, page: Lpn, marks: Marks, _: &mut M) -> Decision {
        let mark = self.marked[page.index()];
        assert_eq!(marks.any(), mark.is_some(), "{page:?}: the FTL's mark");
        // Pages of full weight may be copied: the last class has it.
        let is_dropped =
            |class: AgeClass| class != AgeClass::LAST || self.weights.0[class.index()] < Weight::FULL;
        if self.drops && mark.is_some_and(is_dropped) {
            self.marked[page.index()] = None;
            self.dropped.push(page);
            return Decision::Drop;
        }
        Decision::COPY
    }

    fn weights(&mut self) -> Weights {
        self.weights
    }
}

/// A page as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Truth {
    /// The last write of each page; none where it was trimmed, or never written.
    data: Option<Bytes>,
    /// GC dropped it from flash.
    elsewhere: bool,
}

struct Checked {
    setup: Setup,
    ftl: Ftl,
    image: Image,
    tier: Memory,
    truth: Vec<Truth>,
    ledger: Ledger,
    drops: u64,
}

impl Checked {
    fn new(setup: &Setup, drops: bool) -> Self {
        let ftl = setup.build().expect("the setup is accepted");
        let pages = ftl.logical_pages();
        Self {
            image: Image::new(&setup.units(), 1),
            tier: Memory {
                drops,
                weights: Weights::all(Weight::FULL),
                marked: vec![None; pages as usize],
                dropped: Vec::new(),
            },
            truth: vec![Truth::default(); pages as usize],
            ledger: Ledger::new(setup, pages),
            drops: 0,
            setup: setup.clone(),
            ftl,
        }
    }

    fn draw(&self, stream: &mut RandomStream, marks: bool) -> Operation {
        let pages = self.ftl.logical_pages();
        // Half of all operations go to the first tenth.
        let range = if stream.random() { pages.div_ceil(10) } else { pages };
        let page = Lpn::new(stream.random_range(0..range));
        if matches!(self.setup.gc.mode, GcMode::Background { .. }) && stream.random_range(0..4) == 0 {
            let die = DieId::new(stream.random_range(0..self.setup.geometry.dies()));
            return Operation::Idle(die, stream.random_range(1..20));
        }
        match stream.random_range(0..if marks { 22 } else { 14 }) {
            0..6 => Operation::Write(page),
            6..8 => Operation::Evict(page),
            8..10 => {
                let (from, to) = (stream.random_range(0..PAGE), stream.random_range(0..PAGE));
                Operation::WritePart(page, from.min(to), from.abs_diff(to) + 1)
            }
            10..13 => Operation::Read(page),
            13 => Operation::Trim(page),
            14..19 => Operation::Mark(page),
            19..21 => {
                let classes: Vec<_> = AgeClass::all().collect();
                Operation::AgeClass(page, pick(stream, &classes))
            }
            _ => Operation::Weigh(Weights(std::array::from_fn(|_| match self.setup.fractional {
                true => Weight(stream.random_range(0..=16)),
                false => pick(stream, &[Weight::FULL, Weight::NONE]),
            }))),
        }
    }

    fn apply(&mut self, operation: Operation, stream: &mut RandomStream) {
        let bytes = Bytes::from(std::array::from_fn(|_| stream.random()));
        match operation {
            Operation::Write(page) => self.write(page, 0, &bytes, Place::Host, Cause::Host),
            Operation::Evict(page) => {
                self.image.host_writes(0, &bytes);
                self.image.access(SLOT, Access::WriteNew { from: Place::Host }, ());
                let causes = [Cause::Evict, Cause::Destage, Cause::Refresh, Cause::WearLevelling];
                self.write(page, 0, &bytes, Place::Slot(SLOT), pick(stream, &causes));
            }
            Operation::WritePart(page, start, len) => {
                if self.read(page, Place::Merged) {
                    self.write(page, start, &bytes[..len], Place::Merged, Cause::Host);
                } else {
                    // Nothing is in flash to merge with: the tier's copy, or zeros.
                    let mut whole = self.truth[page.index()].data.unwrap_or_default();
                    whole[start..start + len].copy_from_slice(&bytes[..len]);
                    self.write(page, 0, &whole, Place::Host, Cause::Host);
                }
            }
            Operation::Read(page) => {
                if self.read(page, Place::Host) {
                    assert_eq!(
                        Some(self.image.host_reads()),
                        self.truth[page.index()].data.as_ref().map(|b| &b[..])
                    );
                }
            }
            Operation::Trim(page) => {
                self.ftl.invalidate(page);
                self.ledger.invalidate(page);
                self.truth[page.index()] = Truth::default();
                self.tier.marked[page.index()] = None;
            }
            Operation::Mark(page) if self.ftl.lookup(page).is_some() => {
                self.ledger.marks = true;
                let marked = &mut self.tier.marked[page.index()];
                *marked = if marked.is_none() { Some(AgeClass::FIRST) } else { None };
                self.ftl.set_mark(page, coflash_media::Memory::Device, marked.is_some());
            }
            Operation::Mark(page) => {
                self.ftl.set_mark(page, coflash_media::Memory::Device, true);
                assert!(!self.ftl.is_marked(page), "a page that is not mapped has no mark");
            }
            Operation::AgeClass(page, class) => {
                if let Some(mark) = &mut self.tier.marked[page.index()] {
                    *mark = class;
                    self.ftl.age(page, class);
                }
            }
            Operation::Weigh(weights) => self.tier.weights = weights,
            Operation::Idle(die, steps) => self.idle(die, steps),
        }
    }

    /// Each step is a copy, with the summary of the block it fills, or an erase.
    fn idle(&mut self, die: DieId, steps: u32) {
        for _ in 0..steps {
            let had_work = self.ftl.has_idle_work(die);
            let mut io = Io { media: &mut self.image, hook: &mut self.tier, start: () };
            let worked = self.ftl.work_idle(die, &mut io).unwrap();
            assert_eq!(worked, had_work, "{die:?}");
            let step = |done: &&Done| !matches!(done, Done::Program(_, Oob { lpn: None, .. }, _));
            assert_eq!(
                self.image.log.iter().filter(step).count(),
                usize::from(worked),
                "{:?}",
                self.image.log
            );
            self.settle();
        }
    }

    fn write(&mut self, page: Lpn, start: usize, bytes: &[u8], from: Place, cause: Cause) {
        self.image.host_writes(start, bytes);
        let mut io = Io { media: &mut self.image, hook: &mut self.tier, start: () };
        self.ftl.write(page_write(page, from, cause), (), &mut io).unwrap();
        self.settle();
        let truth = &mut self.truth[page.index()];
        truth.elsewhere = false;
        truth.data.get_or_insert_default()[start..start + bytes.len()].copy_from_slice(bytes);
        self.tier.marked[page.index()] = None;
    }

    /// Reads a page, if flash has it.
    fn read(&mut self, page: Lpn, to: Place) -> bool {
        let mapped = self.ftl.lookup(page).is_some();
        let mut io = Io { media: &mut self.image, hook: &mut self.tier, start: () };
        let read =
            self.ftl.read(PageRead { lpn: page, to, cause: Cause::Host }, (), &mut io).unwrap().is_some();
        match self.setup.gc.trigger {
            Trigger::Write => {
                assert_eq!(read, mapped, "{page:?} is read where it is mapped");
                let reads = self.image.log.iter().filter(|done| matches!(done, Done::Read(..)));
                assert_eq!((reads.count(), self.image.log.len()), (usize::from(read), usize::from(read)));
                self.settle();
            }
            Trigger::Operation => {
                self.settle();
                if let Some(page) = self.ftl.lookup(page) {
                    assert!(self.ledger.free_near(page) > self.setup.reserve(), "a read collects");
                }
            }
        }
        assert_eq!(read, self.truth[page.index()].data.is_some() && !self.truth[page.index()].elsewhere);
        read
    }

    /// A device at rest has no victim that is partly cleaned.
    fn finish_victims(&mut self) {
        let mut io = Io { media: &mut self.image, hook: &mut self.tier, start: () };
        self.ftl.finish_victims(&mut io).unwrap();
        self.settle();
        self.check();
        self.ledger.assert_no_victims();
    }

    /// Records the effect of an operation on flash and tier.
    fn settle(&mut self) {
        for page in self.tier.dropped.drain(..) {
            let truth = &mut self.truth[page.index()];
            assert!(truth.data.is_some() && !truth.elsewhere, "{page:?} is not in flash and is dropped");
            truth.elsewhere = true;
            self.ledger.invalidate(page);
            self.drops += 1;
        }
        self.ledger.enter(self.image.log.drain(..));
    }

    fn check(&mut self) {
        self.ftl.assert_invariants();
        self.ledger.check(&self.ftl, self.drops);
        let rebuilt = self.image.rebuild_map(self.truth.len());
        let mut mapped = Vec::new();
        for (index, truth) in self.truth.iter().enumerate() {
            let page = Lpn::from_index(index);
            let place = self.ftl.lookup(page);
            assert_eq!(place.is_some(), truth.data.is_some() && !truth.elsewhere, "{page:?}: {truth:?}");
            assert_eq!(self.ftl.age_of(page), self.tier.marked[index], "{page:?}: mark");
            if let (Some(place), Some(data)) = (place, truth.data) {
                mapped.push(page);
                assert_eq!(rebuilt[index], Some(place), "{page:?}: out-of-band data gives the map");
                self.image.read(place, Place::Host, Cause::Host, ()).unwrap();
                self.image.log.pop();
                assert_eq!(self.image.host_reads(), data, "{page:?} at {place:?}");
            }
        }
        assert_eq!(self.ftl.mapped().collect::<Vec<_>>(), mapped);
    }
}

/// How the tier beside flash behaves in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Marking {
    None,
    /// There are marks, but GC copies the pages all the same.
    Copied,
    Dropped,
}

/// Pages copied and dropped by GC.
fn storm(seed: u64, marks: Marking) -> (u64, u64) {
    let mut sum = (0, 0);
    for victim in victims() {
        let mut stream = Seed(seed).stream("storm");
        let setup = Setup::draw(&mut stream, victim);
        let _reproduce = Reproduce(&setup);
        let mut checked = Checked::new(&setup, marks == Marking::Dropped);
        let pages = setup.geometry.pages();
        // Full first, so that GC has something to do.
        for page in 0..checked.ftl.logical_pages() {
            checked.apply(Operation::Write(Lpn::new(page)), &mut stream);
        }
        for step in 0..pages * 3 {
            let mut operation = checked.draw(&mut stream, marks != Marking::None);
            if let (Operation::Weigh(_), Marking::Copied) = (operation, marks) {
                // Marked pages count less only where they are dropped.
                operation = Operation::Weigh(Weights::all(Weight::FULL));
            }
            checked.apply(operation, &mut stream);
            if step % (pages / 8) == 0 {
                checked.check();
            }
        }
        checked.check();
        assert!(checked.ftl.counters().erases_blocks > 0, "GC had something to do");
        checked.finish_victims();
        sum.0 += checked.ftl.programs().by_cause(Cause::Gc);
        sum.1 += checked.drops;
    }
    sum
}

/// Storms of these seeds; GC must have copied, and dropped or not, as the marks say.
fn storms(seeds: std::ops::Range<u64>, marks: Marking) {
    let (copies, drops) = seeds.map(|seed| storm(seed, marks)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert!(copies > 1000 && (drops > 1000) == (marks == Marking::Dropped), "{copies} copies, {drops} drops");
}

#[test]
fn what_is_written_reads_back() {
    storms(0..200, Marking::None);
}

#[test]
fn marked_pages_that_are_copied_stay_marked() {
    storms(1000..1060, Marking::Copied);
}

#[test]
fn dropped_pages_live_elsewhere() {
    storms(2000..2120, Marking::Dropped);
}
