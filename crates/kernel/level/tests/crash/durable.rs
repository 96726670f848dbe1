//! Devices that keep every answered write and trim: those without a cache, and those with a non-volatile one,
//! under every scheme but `cdm-consistent`. Each word of an interrupted request is old or new.

use crate::subject::BLANK;
use crate::support::{
    Call, Checked, Device, Look, Named, Operation, PAGE_BYTES, Page, Setup, Tap, Tapped, Then, content, lpn,
    part,
};
use crate::{power, storms};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Lpn, Seed};
use coflash_ftl::{FreeMark, FtlConfig, SlcCacheConfig};
use coflash_level::Level;
use coflash_level::nvm::Layout;
use coflash_media::{Cell, Nvm, Place};
use coflash_testing::Image;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SCHEMES: [&str; 16] = [
    "\"none\"",
    "\"cdm\"",
    r#"{"name": "cdm", "removable_weight": 0}"#,
    r#"{"name": "cdm", "removable_weight": "adaptive"}"#,
    r#"{"name": "cdm", "removable_weight": "by-age"}"#,
    r#"{"name": "cdm", "sole_copies_max": "50%"}"#,
    "\"cdm-overwrites\"",
    "\"cdm-removable\"",
    "\"cdm-invalidate-on-cache\"",
    "\"cdm-hgc\"",
    "\"move-in\"",
    r#"{"name": "expected-cost", "removable_weight": 0}"#,
    "\"hgc\"",
    "\"dgc\"",
    r#"{"name": "separation", "shadows": "both"}"#,
    r#"{"name": "delay", "shadows": "both", "lambda": 3}"#,
];

/// A mistake that a correct test must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// No fence has an effect.
    NoFences,
    /// The label of a slot is freed before its page is in flash.
    FreeBeforeProgram,
    /// The fence before an erase has no effect: the page is erased before the label of the copy is durable.
    EraseBeforeLabel,
    /// Trims set no bit.
    NoAbsenceBits,
    /// A page in flash is noted as such before it is there.
    PresentBeforeProgram,
}

/// Listens to a device, and sabotages it.
#[derive(Clone, Debug)]
pub(crate) struct Saboteur {
    sabotage: Sabotage,
    layout: Layout,
    /// A fence that was called is carried out only at the next store.
    pub(crate) late_fence: bool,
}

impl Saboteur {
    /// The media of a setup, under its influence.
    pub(crate) fn over(setup: &Setup, sabotage: Sabotage) -> Tapped<Image, Self> {
        let layout = setup.layout();
        let tap = Self { sabotage, layout, late_fence: false };
        Tapped { inner: setup.image().with_power_switch(layout.words()), tap }
    }
}

impl Tap<Image> for Saboteur {
    fn hear(&mut self, call: Call, image: &mut Image) -> Then<coflash_testing::ImageError> {
        if image.is_dead() {
            return Then::Goes;
        }
        match (call, self.sabotage) {
            (Call::Fence, Sabotage::NoFences | Sabotage::EraseBeforeLabel) => {
                self.late_fence = self.sabotage == Sabotage::EraseBeforeLabel;
                image.power_for_a_step().expect("it is not dead");
                return Then::IsLost;
            }
            (Call::Program(_, _, Place::Slot(slot), _), Sabotage::FreeBeforeProgram) => {
                image.store_durably(self.layout.slot(slot.number), 0);
            }
            (Call::Program(_, oob, ..), Sabotage::PresentBeforeProgram) => {
                if let Some(lpn) = oob.lpn {
                    let (word, bit) = self.layout.absence(lpn);
                    let bits = image.words()[word as usize];
                    image.store_durably(word, bits & !bit);
                }
            }
            (Call::Store(word, _), Sabotage::NoAbsenceBits) if word >= self.layout.absence(lpn(0)).0 => {
                return Then::IsLost;
            }
            (Call::Store(..) | Call::Access(..), _) if std::mem::take(&mut self.late_fence) => image.fence(),
            _ => {}
        }
        Then::Goes
    }
}

/// A page with a write or trim under way: as it was and as it was to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    pub(crate) page: usize,
    old: Page,
    new: Page,
    /// Whether it may be half done.
    is_write: bool,
}

impl UnderWay {
    /// The page that an operation was about to change, over what pages were before.
    pub(crate) fn of(operation: Operation, stamp: u64, before: &[Page]) -> Option<Self> {
        let (page, covered) = match operation {
            Operation::Write(page) => (page, 0..PAGE_BYTES),
            Operation::Part(page) => (page, part(stamp)),
            Operation::Trim(page) => (page, 0..0),
            _ => return None,
        };
        let is_write = !covered.is_empty();
        let page = page.get() as usize;
        let old = before[page];
        let mut new = if is_write { old } else { BLANK };
        new[covered.clone()].copy_from_slice(&content(stamp)[covered]);
        Some(Self { page, old, new, is_write })
    }

    pub(crate) fn allows(&self, found: &Page) -> bool {
        let words = |page: &Page| page.chunks(8).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (old, new, found_words) = (words(&self.old), words(&self.new), words(found));
        let mut each = found_words.iter().zip(old.iter().zip(&new));
        *found == self.old
            || *found == self.new
            || self.is_write && each.all(|(found, (old, new))| found == old || found == new)
    }
}

/// A level and its model.
#[derive(Clone)]
pub(crate) struct Subject<L> {
    pub(crate) setup: Setup,
    pub(crate) stack: Checked<L, Tapped<Image, Saboteur>>,
    under_way: Option<UnderWay>,
}

impl<L: Level<Tapped<Image, Saboteur>> + Look> Subject<L> {
    pub(crate) fn new(setup: &Setup, level: L, sabotage: Sabotage) -> Self {
        let stack = Checked::new(level, Saboteur::over(setup, sabotage), setup.geometry.dies());
        Self { setup: setup.clone(), stack, under_way: None }
    }

    /// A level with all pages written.
    pub(crate) fn full(setup: &Setup, level: L, sabotage: Sabotage) -> Self {
        let mut subject = Self::new(setup, level, sabotage);
        (0..subject.stack.pages()).for_each(|page| subject.apply(Operation::Write(lpn(page))));
        subject
    }

    pub(crate) fn image(&mut self) -> &mut Image {
        &mut self.stack.rig.media.inner
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.stack.media.inner.is_dead()
    }

    /// Does one operation, as far as there is power.
    pub(crate) fn apply(&mut self, operation: Operation) {
        let before = self.stack.model.clone();
        let done = self.stack.apply(operation);
        assert!(self.is_dead() || done.is_ok(), "{operation:?} fails with power: {done:?}");
        self.image().log.clear();
        if !self.is_dead() {
            return;
        }
        self.under_way = UnderWay::of(operation, self.stack.stamp, &before);
        if self.under_way.is_some() {
            self.stack.model = before;
        }
    }

    /// Does operations until power is gone.
    fn apply_all(&mut self, operations: &[Operation]) {
        for &operation in operations {
            if !self.is_dead() {
                self.apply(operation);
            }
        }
    }

    /// Compares every page with what was found after a cut; returns the fault.
    pub(crate) fn compare(&mut self, mut look: impl FnMut(&mut Self, Lpn) -> Page) -> Result<(), String> {
        for page in 0..self.stack.pages() as usize {
            let found = look(self, lpn(page as u32));
            let expected = self.stack.model[page];
            match self.under_way.filter(|way| way.page == page) {
                Some(way) if way.allows(&found) => self.stack.model[page] = found,
                None if found == expected => {}
                way => return Err(format!("page {page} is {found:?}, not {expected:?}; under way: {way:?}")),
            }
        }
        self.under_way = None;
        Ok(())
    }
}

impl Subject<Device> {
    /// Comes back after a cut (the media has been restarted) and checks every page; returns the fault.
    fn recover(&mut self) -> Result<(), String> {
        self.stack.rig.media.tap.late_fence = false;
        if !power::recover(&mut self.stack, &self.setup)? {
            return Ok(());
        }
        let mut probe = self.stack.clone();
        self.compare(|_, page| probe.look(page).expect("there is power"))
    }
}

/// A device of the stream's choice.
fn draw(scheme: &str, stream: &mut RandomStream) -> Setup {
    let slots = stream.random_range(0..12);
    let bounded = scheme.contains("sole_copies_max");
    let mut setup = Setup::draw(scheme, if bounded { slots.max(2) } else { slots }, stream);
    setup.cache.volatile = false;
    setup
}

/// A device with a pSLC cache, otherwise of the stream's choice.
fn draw_slc(scheme: &str, stream: &mut RandomStream) -> Setup {
    let mut setup = draw(scheme, stream);
    setup.geometry.cell = Cell::Mlc;
    setup.geometry.pages_per_block = 4;
    setup.gc.low_mark = FreeMark::Blocks(1);
    setup.ftl = FtlConfig {
        slc_cache: SlcCacheConfig { blocks: FreeMark::Blocks(2), while_free: FreeMark::Blocks(5) },
        wear_levelling: setup.ftl.wear_levelling,
        ..FtlConfig::default()
    };
    let slots = stream.random_range(0..12);
    setup.fit(5, 4).with_slots(slots)
}

/// Stores since the last fence up to which every subset is tried.
const UNDECIDED_MAX: usize = 3;

/// Cuts the last operation of `sequence` at every step and returns the number of states tried, or the problem.
fn cut_everywhere(before: &Subject<Device>, sequence: &[Operation]) -> Result<u64, String> {
    let last = sequence[sequence.len() - 1];
    let mut states = 0;
    let mut whole = before.clone();
    whole.image().count_steps();
    whole.apply(last);
    // At the last one all is done and answered.
    for step in 1..=whole.image().steps() + 1 {
        let mut cut = before.clone();
        cut.image().cut_after(step);
        cut.apply(last);
        let undecided = cut.image().undecided();
        let mut lots = Seed(step).stream("lots");
        for subset in 0..1 << undecided.min(UNDECIDED_MAX) {
            states += 1;
            let mut back = cut.clone();
            back.image().restart(|store| match subset {
                0 => false,
                1 => true,
                _ if undecided <= UNDECIDED_MAX => (subset - 1) >> store & 1 == 1,
                _ => lots.random(),
            });
            let describe =
                |problem| format!("{sequence:?}, cut after step {step}, survivors {subset}: {problem}");
            back.recover().map_err(describe)?;
            // It works on, and nothing that it answers then is lost in another cut.
            back.apply_all(&[Operation::Part(lpn(0)), Operation::Read(lpn(1)), Operation::Write(lpn(2))]);
            back.image().restart(|_| false);
            back.recover().map_err(describe)?;
        }
    }
    Ok(states)
}

/// Every sequence of up to `length` operations on two pages of a device in use.
fn sequences(ready: &Subject<Device>, length: usize) -> Result<u64, String> {
    let on_pages = [Operation::Read, Operation::Write, Operation::Part, Operation::Trim];
    let each = [lpn(0), lpn(1)].into_iter().flat_map(|page| on_pages.map(|operation| operation(page)));
    let operations: Vec<_> = each.collect();
    power::cut_sequences(ready, &operations, length, Subject::apply, cut_everywhere)
}

#[test]
fn what_is_answered_survives_a_cut_at_every_step() {
    let mut states = 0;
    for scheme in SCHEMES {
        for slots in 0..3 {
            if scheme.contains("sole_copies_max") && slots < 2 {
                continue;
            }
            let setup = power::small(scheme, slots, false);
            let _named = Named(&setup);
            let length = if [SCHEMES[0], SCHEMES[1]].contains(&scheme) { 3 } else { 2 };
            let ready = Subject::full(&setup, setup.device(), Sabotage::None);
            states += sequences(&ready, length).unwrap_or_else(|problem| panic!("{problem}"));
        }
    }
    assert!(states > 40_000, "{states} states are too few");
}

#[test]
fn short_sequences_catch_a_device_that_breaks_the_order() {
    for sabotage in [Sabotage::NoFences, Sabotage::FreeBeforeProgram, Sabotage::NoAbsenceBits] {
        let goes_wrong = |slots| {
            let setup = power::small(SCHEMES[1], slots, false);
            sequences(&Subject::full(&setup, setup.device(), sabotage), 2).is_err()
        };
        assert!((1..3).any(goes_wrong), "{sabotage:?} is not caught");
    }
}

const CUTS_PER_STORM: u32 = 20;

/// The counts of a storm.
#[derive(Clone, Copy, Default)]
struct Done {
    cuts: u64,
    dropped: u64,
    /// Pages of these that GC moved into the cache.
    moved: u64,
    /// Pages that were copied out of SLC blocks.
    folded: u64,
}

/// A long random run, cut again and again, recovery included.
fn storm(scheme: &str, seed: u64, sabotage: Sabotage) -> Result<Done, String> {
    storm_on(draw, scheme, seed, sabotage)
}

fn storm_on(
    draw: impl Fn(&str, &mut RandomStream) -> Setup,
    scheme: &str,
    seed: u64,
    sabotage: Sabotage,
) -> Result<Done, String> {
    let mut stream = Seed(seed).stream("storm");
    let setup = draw(scheme, &mut stream);
    let _named = (sabotage == Sabotage::None).then(|| Named((seed, &setup)));
    let mut subject = Subject::full(&setup, setup.device(), sabotage);
    let mut done = Done::default();
    for _ in 0..CUTS_PER_STORM {
        subject.image().cut_after(stream.random_range(0..400));
        while !subject.is_dead() {
            let operation = Operation::draw(&mut stream, subject.stack.pages());
            subject.apply(operation);
            if !subject.is_dead() {
                subject.stack.assert_invariants();
            }
        }
        done.dropped += subject.stack.count("gc_drops_pages");
        done.moved += subject.stack.count("moving.moved_in_pages");
        if setup.ftl.slc_cache != SlcCacheConfig::default() {
            done.folded += subject.stack.count("slc_cache.folded_pages");
        }
        subject.image().restart(|_| stream.random());
        let describe = |problem| format!("storm {seed} of {scheme}, {setup:?}: {problem}");
        while stream.random_range(0..3_u32) == 0 {
            done.cuts += 1;
            subject.image().cut_after(stream.random_range(0..24));
            subject.recover().map_err(describe)?;
            subject.image().restart(|_| stream.random());
        }
        done.cuts += 1;
        subject.recover().map_err(describe)?;
    }
    Ok(done)
}

/// GC of the last free block had copied a page from its slot, and the label was free before the victim was erased: recovery gave
/// up the copy with the block, and took the older page in the victim.
#[test]
fn a_copy_from_a_slot_is_not_given_up_with_the_last_block() {
    storm("\"dgc\"", 3045, Sabotage::None).unwrap_or_else(|problem| panic!("{problem}"));
}

#[test]
fn what_is_answered_survives_storms() {
    let (mut cuts, mut dropped, mut moved) = (0, 0, 0);
    for seed in 0..storms::cuts() / u64::from(CUTS_PER_STORM) / SCHEMES.len() as u64 {
        for scheme in SCHEMES {
            let storm = storm(scheme, seed, Sabotage::None).unwrap_or_else(|problem| panic!("{problem}"));
            (cuts, dropped, moved) = (cuts + storm.cuts, dropped + storm.dropped, moved + storm.moved);
        }
    }
    assert!(cuts > storms::cuts() && dropped > storms::cuts() / 30, "{cuts} cuts, {dropped} pages dropped");
    assert!(moved > 0, "no page was moved into the cache");
}

#[test]
fn what_is_answered_survives_storms_over_a_pslc_cache() {
    let (mut cuts, mut folded) = (0, 0);
    for seed in 0..storms::cuts() / u64::from(CUTS_PER_STORM) / 4 {
        for scheme in [SCHEMES[0], SCHEMES[1]] {
            let storm = storm_on(draw_slc, scheme, seed, Sabotage::None);
            let storm = storm.unwrap_or_else(|problem| panic!("{problem}"));
            (cuts, folded) = (cuts + storm.cuts, folded + storm.folded);
        }
    }
    assert!(cuts > storms::cuts() / 2 && folded > cuts / 100, "{cuts} cuts, {folded} pages folded");
}

/// Panics unless each sabotage is caught in one of 200 storms: by what the storm finds, or by a check of the levels.
pub(crate) fn assert_caught<T, E>(storm: impl Fn(u64, Sabotage) -> Result<T, E>) {
    for sabotage in [
        Sabotage::NoFences,
        Sabotage::FreeBeforeProgram,
        Sabotage::EraseBeforeLabel,
        Sabotage::NoAbsenceBits,
        Sabotage::PresentBeforeProgram,
    ] {
        let caught = (0..200).any(|seed| {
            let storm = catch_unwind(AssertUnwindSafe(|| storm(seed, sabotage)));
            !matches!(storm, Ok(Ok(_)))
        });
        assert!(caught, "{sabotage:?} is not caught");
    }
}

#[test]
fn a_device_that_breaks_the_order_is_caught() {
    assert_caught(|seed, sabotage| storm("\"cdm\"", seed, sabotage));
}
