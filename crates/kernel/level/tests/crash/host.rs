//! `cdm-consistent` in the host: power cuts of the host, of the device and of both. A host that restarts finds every page
//! as of the last commit; one that goes on finds every page as it was, whatever the device has forgotten.

use crate::cable::Cable;
use crate::power;
use crate::subject::{Commits, Sabotage, scheme};
use crate::support::{Checked, Look, Named, Operation, Page, Setup, Tapped, lpn, pick};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Bytes, Duration, Misfit, Seed, Share};
use coflash_ftl::{CopyAll, GcMode, Io, Trigger};
use coflash_level::{Notices, Protecting, WriteBack};
use coflash_media::Side;
use coflash_testing::{Image, ImageError};
use std::num::NonZeroU32;
use std::rc::Rc;

const BATCHED: Notices = Notices::Batched { max: NonZeroU32::MIN, wait: Duration::ZERO };
const WAYS: [Notices; 3] = [Notices::Each, BATCHED, Notices::Piggybacked { bytes_max: Bytes { count: 64 } }];
const REQUEST: Protecting = Protecting::Request { answer_time: Duration { ns: 5_000 } };
const GRANTS: Protecting = Protecting::Grants { share: Share::ONE };
const PROTECTING: [Protecting; 2] = [REQUEST, GRANTS];

/// Host and device, their expected contents now, and those allowed after a cut of the host.
struct Subject {
    setup: Setup,
    sabotage: Sabotage,
    stack: Checked<WriteBack<Cable>, Tapped<Image, Commits>>,
    /// As of each commit. The last may be under way; the first is the last known to be complete.
    commits: Vec<Vec<Page>>,
    /// The sides that have lost power and are not back yet.
    down: Option<Side>,
}

/// A copy has a cable of its own.
impl Clone for Subject {
    fn clone(&self) -> Self {
        let Self { setup, sabotage, stack, commits, down } = self;
        let (setup, stack, commits) = (setup.clone(), stack.clone(), commits.clone());
        let mut copy = Self { setup, sabotage: *sabotage, stack, commits, down: *down };
        copy.plug_in();
        copy
    }
}

impl Subject {
    fn new(setup: &Setup, sabotage: Sabotage) -> Self {
        let media = setup.image().with_power_switch(setup.layout().words());
        let media = Tapped { inner: media, tap: Commits::new(sabotage) };
        let level = setup.host_cache(setup.flash(), |link| Cable::new(link, sabotage));
        let stack = Checked::new(level, media, setup.geometry.dies());
        let commits = vec![stack.model.clone()];
        let mut subject = Self { setup: setup.clone(), sabotage, stack, commits, down: None };
        subject.plug_in();
        subject
    }

    /// Host and device with all pages written and committed.
    fn full(setup: &Setup, sabotage: Sabotage) -> Self {
        let mut subject = Self::new(setup, sabotage);
        (0..subject.pages()).for_each(|page| subject.apply(Operation::Write(lpn(page))));
        subject.apply(Operation::Flush);
        subject
    }

    /// The cable and the host's memory agree on whether the host has power.
    fn plug_in(&mut self) {
        let is_cut = Rc::default();
        self.stack.rig.media.tap.host_is_cut = Rc::clone(&is_cut);
        self.stack.rig.level.below_mut().is_cut = is_cut;
    }

    fn pages(&self) -> u32 {
        self.stack.pages()
    }

    fn image(&mut self) -> &mut Image {
        &mut self.stack.rig.media.inner
    }

    fn is_dead(&self) -> bool {
        self.stack.media.inner.is_dead()
    }

    /// Does one operation, as far as there is power.
    fn apply(&mut self, operation: Operation) {
        let Commits { stored, fenced, .. } = self.stack.media.tap;
        let state = self.stack.model.clone();
        let done = self.stack.apply(operation);
        assert!(self.is_dead() || done.is_ok(), "{operation:?} fails with power: {done:?}");
        let tap = &self.stack.rig.media.tap;
        self.commits.extend(std::iter::repeat_n(state, tap.stored - stored));
        self.commits.drain(..tap.fenced - fenced);
        self.image().log.clear();
    }

    fn apply_all(&mut self, operations: &[Operation]) {
        for &operation in operations {
            if !self.is_dead() {
                self.apply(operation);
            }
        }
    }

    /// Messages on their way to the device arrive although the host has no power.
    fn deliver(&mut self) {
        let now = self.stack.now + Duration { ns: 1_000_000_000 };
        let io = &mut Io { media: &mut self.stack.rig.media, hook: CopyAll, start: () };
        let link = &mut self.stack.rig.level.below_mut().link;
        coflash_level::Level::pass_time(link, now, io).expect("it moves no page");
    }

    /// Messages on their way in either direction are lost.
    fn lose_messages(&mut self) {
        let flash = std::mem::replace(self.stack.level.flash_mut(), self.setup.flash());
        self.stack.rig.level.below_mut().link.restart_device(self.setup.port(flash));
    }

    /// Power is gone and back.
    fn restart(&mut self, side: Side, survives: impl FnMut(usize) -> bool) {
        self.down = Some(match self.down {
            Some(other) if other != side => Side::Both,
            _ => side,
        });
        if side != Side::Device {
            self.image().restart(survives);
        } else {
            self.image().restart_device();
        }
    }

    /// The sides without power come back, and every page is checked; returns the fault.
    fn recover(&mut self) -> Result<(), String> {
        let side = self.down.expect("something has lost power");
        match self.come_back(side) {
            // Cut again, while recovering.
            _ if self.is_dead() => return Ok(()),
            Ok(()) => self.down = None,
            Err(error) => return Err(error),
        }
        self.image().cut_after(u64::MAX);
        self.stack.assert_invariants();
        let mut probe = self.clone();
        let found: Vec<Page> =
            (0..self.pages()).map(|page| probe.stack.look(lpn(page)).expect("there is power")).collect();
        if side == Side::Device {
            return if found == self.stack.model {
                Ok(())
            } else {
                Err(format!("found: {found:?}\nnot what it was: {:?}", self.stack.model))
            };
        }
        if !self.commits.contains(&found) {
            return Err(format!("after the cut: {found:?}\nis none of {:?}", self.commits));
        }
        self.stack.model.clone_from(&found);
        self.commits = vec![found];
        self.stack.rig.media.tap.settle();
        Ok(())
    }

    fn come_back(&mut self, side: Side) -> Result<(), String> {
        let failed = |error: ImageError| format!("{error:?} with power");
        let flash = if side.has_device() {
            let mut flash = self.setup.flash();
            flash.recover(&self.image().contents(), |_| true).map_err(|misfit| misfit.to_string())?;
            let io = &mut Io { media: &mut self.stack.rig.media, hook: CopyAll, start: () };
            flash.finish_gc(io).map_err(failed)?;
            flash
        } else {
            std::mem::replace(self.stack.level.flash_mut(), self.setup.flash())
        };
        if side != Side::Device {
            let sabotage = self.sabotage;
            self.stack.rig.level = self.setup.host_cache(flash, |link| Cable::new(link, sabotage));
            self.stack.rig.now = coflash_base::Time::ZERO;
            let words = self.image().words().to_vec();
            let media = &mut self.stack.rig.media;
            let recovered = self.stack.rig.level.recover_over(&words, media, |_, _, _| Ok::<_, Misfit>(()));
            recovered.map_err(|misfit| misfit.to_string())?;
        } else {
            self.stack.rig.level.below_mut().link.restart_device(self.setup.port(flash));
        }
        self.plug_in();
        if self.sabotage == Sabotage::NoHandshake {
            return Ok(());
        }
        let io = &mut Io { media: &mut self.stack.rig.media, hook: CopyAll, start: () };
        self.stack.rig.level.connect(io).map_err(failed)
    }
}

/// Stores since the last fence up to which every subset is tried.
const UNDECIDED_MAX: usize = 3;

/// Cuts a side at every step of the last operation of `sequence`; returns the number of states tried, or the problem.
fn cut_everywhere(before: &Subject, side: Side, sequence: &[Operation]) -> Result<u64, String> {
    let last = sequence[sequence.len() - 1];
    let mut states = 0;
    let mut whole = before.clone();
    whole.image().count_steps();
    whole.apply(last);
    // At the last one all is done.
    for step in 1..=whole.stack.media.inner.steps() + 1 {
        let mut cut = before.clone();
        cut.image().cut_side_after(side, step);
        cut.apply(last);
        if !cut.is_dead() {
            cut.image().cut_side_after(side, 0);
        }
        let undecided =
            if side != Side::Device { cut.stack.media.inner.undecided().min(UNDECIDED_MAX) } else { 0 };
        for subset in 0..1 << undecided {
            states += 1;
            let mut back = cut.clone();
            if subset % 2 == 1 {
                back.deliver();
            }
            back.restart(side, |store| subset >> (store % UNDECIDED_MAX) & 1 == 1);
            let describe =
                |problem| format!("{sequence:?}, {side:?} cut after step {step}, {subset}: {problem}");
            back.recover().map_err(describe)?;
            // They keep working, and later commits survive another cut.
            back.apply_all(&[Operation::Write(lpn(0)), Operation::Flush, Operation::Read(lpn(1))]);
            back.restart(Side::Both, |_| false);
            back.recover().map_err(describe)?;
        }
    }
    Ok(states)
}

/// Every sequence of up to `length` operations on two pages, with every side cut at every step.
fn sequences(ready: &Subject, length: usize) -> Result<u64, String> {
    let on_pages = [Operation::Read, Operation::Write, Operation::Part, Operation::Trim];
    let each = [lpn(0), lpn(1)].into_iter().flat_map(|page| on_pages.map(|operation| operation(page)));
    let operations: Vec<_> = each.chain([Operation::Flush, Operation::Idle(1)]).collect();
    power::cut_sequences(ready, &operations, length, Subject::apply, |before, sequence| {
        Side::ALL.iter().map(|&side| cut_everywhere(before, side, sequence)).sum()
    })
}

/// A cache in the host over a device in a bad way.
fn small(notices: Notices, protecting: Protecting, trigger: Trigger, mode: GcMode) -> Setup {
    let mut setup = crate::subject::setup(3, 3, 5, 2, trigger, mode).in_host();
    (setup.host.notices, setup.host.protecting) = (notices, protecting);
    setup
}

#[test]
fn every_short_sequence_cut_at_every_step() {
    let mut count = 0;
    for (notices, protecting) in WAYS.into_iter().flat_map(|way| PROTECTING.map(|how| (way, how))) {
        for (trigger, mode) in
            [(Trigger::Write, GcMode::Foreground), (Trigger::Operation, GcMode::Background { mark: None })]
        {
            let setup = small(notices, protecting, trigger, mode);
            let _named = Named(&setup);
            let mut ready = Subject::full(&setup, Sabotage::None);
            // Clean pages in the cache, dirty ones, and one that is deleted.
            ready.apply_all(&[Operation::Read(lpn(0)), Operation::Write(lpn(3)), Operation::Trim(lpn(4))]);
            count += sequences(&ready, 2).unwrap_or_else(|problem| panic!("{problem}"));
        }
    }
    assert!(count > 50_000, "{count} states are too few");
}

#[test]
fn short_sequences_catch_a_protocol_that_breaks_its_promises() {
    let setup = small(Notices::Each, REQUEST, Trigger::Write, GcMode::Foreground);
    for sabotage in [Sabotage::CommitOvertakes, Sabotage::NoFences] {
        assert!(sequences(&Subject::full(&setup, sabotage), 2).is_err(), "{sabotage:?} is not caught");
    }
}

/// A host and a device of the stream's choice.
fn draw(stream: &mut RandomStream) -> Setup {
    let watermarks = [(5, 10), (5, 100), (30, 60)][stream.random_range(0..3)];
    let scheme = scheme(stream.random_range(1..6), watermarks);
    let slots = stream.random_range(1..24);
    let mut setup = Setup::draw(&scheme, slots, stream).in_host();
    setup.host.notices = pick(stream, &WAYS);
    setup.host.protecting = pick(stream, &PROTECTING);
    let share = Share::percent(pick(stream, &[30, 100]));
    if setup.host.protecting == GRANTS {
        setup.host.protecting = Protecting::Grants { share };
    }
    let max = NonZeroU32::new(pick(stream, &[1, 3, 40])).expect("not zero");
    let wait = Duration { ns: pick(stream, &[0, 500, 50_000]) };
    if let Notices::Batched { .. } = setup.host.notices {
        setup.host.notices = Notices::Batched { max, wait };
    }
    setup.host.jitter = Duration { ns: pick(stream, &[0, 1000, 20_000]) };
    setup
}

/// Runs through `cuts` power cuts of random sides; returns the number of states, or the problem.
fn storm(seed: u64, cuts: u32, sabotage: Sabotage) -> Result<u64, String> {
    let mut states = 0;
    let mut stream = Seed(seed).stream("host storm");
    let setup = draw(&mut stream);
    let _named = (sabotage == Sabotage::None).then(|| Named((seed, &setup)));
    let mut subject = Subject::full(&setup, sabotage);
    subject.stack.pace = Duration { ns: pick(&mut stream, &[0, 2000]) };
    for cut in 0..cuts {
        let mut side = pick(&mut stream, &Side::ALL);
        subject.image().cut_side_after(side, stream.random_range(0..400));
        let loses = stream.random::<bool>();
        while !subject.is_dead() {
            subject.apply(Operation::draw(&mut stream, subject.pages()));
            if loses && stream.random_range(0..8_u32) == 0 {
                subject.lose_messages();
            }
            // The link takes it amiss when a notice about a grant is lost; no page may be.
            if !subject.is_dead() && !loses {
                subject.stack.assert_invariants();
            }
        }
        let describe = |problem| format!("storm {seed} of {setup:#?}, cut {cut}: {problem}");
        loop {
            if stream.random() {
                subject.deliver();
            }
            subject.restart(side, |_| stream.random());
            states += 1;
            // Recovery is cut, too, sometimes.
            if stream.random_range(0..3_u32) == 0 {
                side = pick(&mut stream, &Side::ALL);
                subject.image().cut_side_after(side, stream.random_range(0..24));
            }
            subject.recover().map_err(describe)?;
            if subject.down.is_none() {
                break;
            }
        }
    }
    Ok(states)
}

const CUTS_PER_STORM: u32 = 40;

/// Cuts in the test suite: 200 storms, which find each planted fault. `COFLASH_STORM_CUTS` asks for more.
fn cuts() -> u64 {
    std::env::var("COFLASH_STORM_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(8_000)
}

#[test]
fn storms_of_the_host_pages_survive_as_committed() {
    let mut states = 0;
    for seed in 0..cuts() / u64::from(CUTS_PER_STORM) {
        states += storm(seed, CUTS_PER_STORM, Sabotage::None).unwrap_or_else(|problem| panic!("{problem}"));
    }
    assert!(states > cuts(), "{states} states: recovery is cut, too");
}

/// Every page that goes on standby has flash drop another one, and the high watermark asks for all slots.
#[test]
fn room_is_made_although_flash_drops_pages_on_standby() {
    storm(22_141, CUTS_PER_STORM, Sabotage::None).unwrap_or_else(|problem| panic!("{problem}"));
}

#[test]
fn a_protocol_that_breaks_its_promises_is_caught() {
    for sabotage in [
        Sabotage::EraseBeforeProtect,
        Sabotage::NoProtection,
        Sabotage::CommitOvertakes,
        Sabotage::NoFences,
        Sabotage::TrustMarks,
        Sabotage::NoRevocation,
        Sabotage::TrustGrants,
        Sabotage::LateInvalidate,
        Sabotage::NoHandshake,
    ] {
        let caught = (0..200).any(|seed| {
            let quiet = std::panic::catch_unwind(|| storm(seed, CUTS_PER_STORM, sabotage));
            !matches!(quiet, Ok(Ok(_)))
        });
        assert!(caught, "{sabotage:?} is not caught");
    }
}
