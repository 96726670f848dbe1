//! The allowed contents of a page after a power cut.

use crate::power;
use crate::support::{
    Call, Checked, Device, Operation, PAGE_BYTES, Page, PastCache, Setup, Tap, Tapped, Then, lpn,
};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_ftl::{GcMode, Trigger};
use coflash_level::nvm::{Epoch, Label, Layout};
use coflash_media::{Access, Nvm, Side};
use coflash_testing::{Image, ImageError};
use std::cell::Cell;
use std::rc::Rc;

/// A mistake that a correct test must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// The fence before an erase has no effect: pages are erased before their copies are protected.
    EraseBeforeProtect,
    /// The commit's one word overtakes the stores before it.
    CommitOvertakes,
    /// No fence has an effect.
    NoFences,
    /// The label that protects a copy is not stored.
    NoProtection,
    /// Across the link: GC drops marked pages without asking.
    TrustMarks,
    /// Grants are not revoked.
    NoRevocation,
    /// Granted pages are taken to be in flash after the device has restarted.
    TrustGrants,
    /// The message that flash is out of date is overtaken by the write that brings it up to date.
    LateInvalidate,
    /// No side sends a message after a restart.
    NoHandshake,
}

/// Records commits and fences, and may sabotage them.
#[derive(Clone, Debug)]
pub(crate) struct Commits {
    sabotage: Sabotage,
    /// By sabotage, a fence that was called is carried out only at the next store (other than a commit's).
    late_fence: bool,
    /// The number of commits with a stored word, and the number of fenced ones among them.
    pub(crate) stored: usize,
    pub(crate) fenced: usize,
    /// The committed epoch.
    committed: u64,
    /// Whether the host has used its cache without power.
    pub(crate) host_is_cut: Rc<Cell<bool>>,
}

impl Commits {
    pub(crate) fn new(sabotage: Sabotage) -> Self {
        Self { sabotage, late_fence: false, stored: 0, fenced: 0, committed: 0, host_is_cut: Rc::default() }
    }

    /// Goes on after a restart as if all that was stored had been fenced.
    pub(crate) fn settle(&mut self) {
        (self.fenced, self.late_fence) = (self.stored, false);
    }
}

impl Tap<Image> for Commits {
    fn hear(&mut self, call: Call, image: &mut Image) -> Then<ImageError> {
        if image.is_cut(Side::Host) {
            let is_the_hosts = matches!(call, Call::Store(..) | Call::Fence | Call::Access(..));
            self.host_is_cut.set(self.host_is_cut.get() || is_the_hosts);
            return Then::Goes;
        }
        let is_commit = matches!(call, Call::Store(Layout::COMMITTED, _));
        self.stored += usize::from(is_commit);
        if let Call::Store(Layout::COMMITTED, epoch) = call {
            self.committed = epoch;
        }
        match (call, self.sabotage) {
            (Call::Fence, Sabotage::EraseBeforeProtect | Sabotage::CommitOvertakes | Sabotage::NoFences) => {
                self.late_fence = self.sabotage != Sabotage::NoFences;
                image.power_for_a_step().expect("it is not dead");
                return Then::IsLost;
            }
            (Call::Fence, _) => self.fenced = self.stored,
            (Call::Store(_, label), Sabotage::NoProtection) if matches!(Label::decode(label), Some(Label::Data(_, epoch)) if u64::from(epoch.0) <= self.committed) =>
            {
                return Then::IsLost;
            }
            (Call::Store(word, value), Sabotage::CommitOvertakes) if is_commit => {
                image.power_for_a_step().expect("it is not dead");
                image.store_durably(word, value);
                return Then::IsLost;
            }
            (Call::Access(_, Access::Read { .. }), _) => {}
            (Call::Store(..) | Call::Access(..), _) if std::mem::take(&mut self.late_fence) => {
                image.fence();
                self.fenced = self.stored;
            }
            _ => {}
        }
        Then::Goes
    }
}

/// A `cdm-consistent` device of `data_blocks` blocks of data, and otherwise as small as it may be.
pub(crate) fn setup(
    data_blocks: u32,
    pages_per_block: u32,
    slots: u32,
    deletions: u32,
    trigger: Trigger,
    mode: GcMode,
) -> Setup {
    let mut setup = Setup::tiny(8, 4).with_scheme(&scheme(deletions, (5, 10))).with_slots(slots);
    setup.geometry.pages_per_block = pages_per_block;
    (setup.gc.trigger, setup.gc.mode) = (trigger, mode);
    setup.fit(data_blocks, 0)
}

/// A device of the stream's choice.
pub(crate) fn draw(stream: &mut RandomStream) -> Setup {
    let watermarks = [(5, 10), (5, 100), (30, 60)][stream.random_range(0..3)];
    let slots = stream.random_range(1..24);
    Setup::draw(&scheme(stream.random_range(1..6), watermarks), slots, stream)
}

/// The scheme with its watermarks in percent.
pub(crate) fn scheme(deletions: u32, (low, high): (u32, u32)) -> String {
    format!(
        r#"{{"name": "cdm-consistent", "deletions_max": {deletions}, "commit_interval": "1us",
             "low_watermark": "{low}%", "high_watermark": "{high}%"}}"#
    )
}

/// Where a page is, as map and cache tell.
pub(crate) struct Whereabouts {
    pub(crate) mapped: bool,
    /// Dirty, pinned and orphan.
    cached: Option<[bool; 3]>,
    /// An older version: whether it is condemned.
    pub(crate) older: Option<bool>,
}

impl Whereabouts {
    pub(crate) fn is_cached(&self) -> bool {
        self.cached.is_some()
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.cached.is_some_and(|[dirty, ..]| !dirty)
    }

    /// Clean, and about to leave.
    pub(crate) fn stands_by(&self) -> bool {
        self.cached.is_some_and(|[dirty, pinned, _]| !dirty && pinned)
    }

    pub(crate) fn is_uncommitted(&self) -> bool {
        self.cached.is_some_and(|[dirty, pinned, _]| dirty && pinned)
    }

    /// In S3 because GC dropped the flash copy.
    pub(crate) fn is_orphan(&self) -> bool {
        self.cached.is_some_and(|[_, _, orphan]| orphan)
    }
}

/// A device, its model now, and the models that it may equal after a cut.
#[derive(Clone)]
pub(crate) struct Subject {
    setup: Setup,
    pub(crate) device: Checked<Device, Tapped<Image, Commits>>,
    /// The pages as of each commit. The last may be under way; the first is the last known to be complete.
    commits: Vec<Vec<Page>>,
}

impl Subject {
    pub(crate) fn new(setup: &Setup, sabotage: Sabotage) -> Self {
        let tap = Commits::new(sabotage);
        let media = Tapped { inner: setup.image().with_power_switch(setup.layout().words()), tap };
        let device = Checked::new(setup.device(), media, setup.geometry.dies());
        Self { commits: vec![device.model.clone()], device, setup: setup.clone() }
    }

    /// A device with all pages written and committed.
    pub(crate) fn full(setup: &Setup, sabotage: Sabotage) -> Self {
        let mut subject = Self::new(setup, sabotage);
        (0..subject.pages()).for_each(|page| subject.apply(Operation::Write(lpn(page))));
        subject.apply(Operation::Flush);
        subject
    }

    pub(crate) fn pages(&self) -> u32 {
        self.device.pages()
    }

    pub(crate) fn image(&mut self) -> &mut Image {
        &mut self.device.rig.media.inner
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.device.media.inner.is_dead()
    }

    /// Where page 0 is.
    pub(crate) fn page_0(&self) -> Whereabouts {
        let (cache, page) = (self.device.level.cache(), lpn(0));
        let older = cache.occupied().find(|&slot| cache.is_detached(slot) && cache.page_of(slot) == page);
        let flags = |slot| [cache.is_dirty(slot), cache.is_pinned(slot), cache.is_orphan(slot)];
        Whereabouts {
            mapped: self.device.flash().lookup(page).is_some(),
            cached: cache.lookup(page).map(flags),
            older: older.map(|slot| cache.is_pinned(slot)),
        }
    }

    /// Whether page 0 is clean, not durable yet, and dropped by GC in the course of an operation, which erases its
    /// block.
    pub(crate) fn drops_page_0_in(&self, operation: Operation) -> bool {
        let is_ready = self.page_0().is_clean() && self.device.media.inner.undecided() > 0;
        is_ready && {
            let mut next = self.clone();
            next.apply(operation);
            next.page_0().is_orphan()
        }
    }

    /// Goes on as after a number of commits.
    pub(crate) fn skip_to(&mut self, epoch: Epoch) {
        self.image().restart(|_| true);
        let mut words = self.image().words().to_vec();
        words[Layout::COMMITTED as usize] = u64::from(epoch.0);
        self.image().set_words(&words);
        self.recover().unwrap_or_else(|problem| panic!("{problem}"));
    }

    /// Does one operation, as far as there is power.
    pub(crate) fn apply(&mut self, operation: Operation) {
        let Commits { stored, fenced, .. } = self.device.media.tap;
        // Whatever is committed in the course of an operation is committed before its own effect.
        let state = self.device.model.clone();
        let done = self.device.apply(operation);
        assert!(self.is_dead() || done.is_ok(), "{operation:?} fails with power: {done:?}");
        let tap = &self.device.rig.media.tap;
        self.commits.extend(std::iter::repeat_n(state, tap.stored - stored));
        self.commits.drain(..tap.fenced - fenced);
        self.image().log.clear();
    }

    /// Does operations until power is gone.
    pub(crate) fn apply_all(&mut self, operations: &[Operation]) {
        for &operation in operations {
            if !self.is_dead() {
                self.apply(operation);
            }
        }
    }

    /// Runs a random operation.
    pub(crate) fn apply_drawn(&mut self, stream: &mut RandomStream) {
        self.apply(Operation::draw(stream, self.pages()));
    }

    /// Power is gone, and back: of the stores since the last fence those survive that the lots say.
    pub(crate) fn restart_by_lot(&mut self, stream: &mut RandomStream) {
        self.image().restart(|_| stream.random());
    }

    /// Comes back after a cut (the media has been restarted) and checks every page; returns the fault.
    pub(crate) fn recover(&mut self) -> Result<(), String> {
        if !power::recover(&mut self.device, &self.setup)? {
            return Ok(());
        }
        // On a copy: reads change the device.
        let mut probe = self.device.clone();
        let found = (0..self.pages()).map(|page| probe.look(lpn(page)).expect("there is power")).collect();
        if !self.commits.contains(&found) {
            return Err(format!("after the cut: {found:?}\nis none of {:?}", self.commits));
        }
        self.take_for_true(found);
        Ok(())
    }

    /// Takes whatever memory and flash say for true.
    pub(crate) fn adopt(&mut self) -> Result<(), String> {
        power::recover(&mut self.device, &self.setup)?;
        let look = |page| self.device.clone().look(lpn(page)).expect("there is power");
        let found = (0..self.pages()).map(look).collect();
        self.take_for_true(found);
        Ok(())
    }

    fn take_for_true(&mut self, found: Vec<Page>) {
        self.device.model.clone_from(&found);
        self.commits = vec![found];
        self.device.rig.media.tap.settle();
    }
}

/// A page that reads as it does where it is nowhere.
pub(crate) const BLANK: Page = [0; PAGE_BYTES];
