//! A cable between a cache in the host and its link: messages of a host without power do not cross. It may be sabotaged.

use crate::subject::{Commits, Sabotage};
use crate::support::{Look, Tapped};
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Decision, Ftl, GcHook, Io, Marks, PageRead, PageWrite};
use coflash_level::{
    Cached, Command, Cooperates, DevicePort, Elsewhere, Level, Linked, LostPages, Message, WriteBack,
};
use coflash_media::{DieId, Media, Memory, Slot};
use coflash_testing::{Image, ImageError};
use std::cell::Cell;
use std::rc::Rc;

type World = Tapped<Image, Commits>;
type Down<'a, H> = (&'a mut Linked<DevicePort<Ftl>>, Io<'a, World, FarEnd<'a, H>>);

/// See the module.
#[derive(Clone)]
pub(crate) struct Cable {
    pub(crate) link: Linked<DevicePort<Ftl>>,
    sabotage: Sabotage,
    /// Whether the host has no power.
    pub(crate) is_cut: Rc<Cell<bool>>,
    /// By sabotage: messages that the next write overtakes.
    late: Vec<Cached>,
}

impl Cable {
    pub(crate) fn new(link: Linked<DevicePort<Ftl>>, sabotage: Sabotage) -> Self {
        Self { link, sabotage, is_cut: Rc::default(), late: Vec::new() }
    }

    fn descend<'a, 'm, H>(&'a mut self, io: &'a mut Io<'m, World, H>) -> Result<Down<'a, H>, ImageError> {
        if self.is_cut.get() {
            return Err(ImageError::PowerCut);
        }
        let hook = FarEnd { above: &mut io.hook, is_cut: &self.is_cut, sabotage: self.sabotage };
        Ok((&mut self.link, Io { media: &mut *io.media, hook, start: io.start }))
    }

    fn is_up(&self) -> bool {
        !self.is_cut.get()
    }
}

/// GC's hook: a question to a host without power has no answer, so the page is copied.
struct FarEnd<'a, H> {
    above: &'a mut H,
    is_cut: &'a Cell<bool>,
    sabotage: Sabotage,
}

impl<H: GcHook> GcHook for FarEnd<'_, H> {
    fn decide<M: Media>(&mut self, page: Lpn, marks: Marks, media: &mut M) -> Decision {
        if self.sabotage == Sabotage::TrustMarks {
            return Decision::Drop;
        }
        if self.is_cut.get() {
            return Decision::CopyUnmarked;
        }
        let decision = self.above.decide(page, marks, media);
        // It may have lost power before it could answer.
        if self.is_cut.get() { Decision::CopyUnmarked } else { decision }
    }

    fn moved_in<M: Media>(&mut self, page: Lpn, slot: Slot, media: &mut M) -> Lpn {
        self.above.moved_in(page, slot, media)
    }

    fn programmed_from(&mut self, slot: Slot) {
        self.above.programmed_from(slot);
    }

    fn moved<M: Media>(&mut self, media: &mut M) {
        self.above.moved(media);
    }

    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        self.above.before_erase(after, media)
    }

    fn cached_at(&self, page: Lpn) -> Option<Slot> {
        if self.is_cut.get() { None } else { self.above.cached_at(page) }
    }
}

impl Level<World> for Cable {
    fn logical_pages(&self) -> u32 {
        Level::<World>::logical_pages(&self.link)
    }

    fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        Level::<World>::look_ahead(&self.link, lpn, ahead);
    }

    fn is_timed(&self) -> bool {
        Level::<World>::is_timed(&self.link)
    }

    fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, World, H>) -> Result<(), ImageError> {
        let (link, mut inner) = self.descend(io)?;
        link.pass_time(now, &mut inner)
    }

    fn next_due(&self) -> Option<Time> {
        Level::<World>::next_due(&self.link)
    }

    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, World, H>) {
        if let Ok((link, mut inner)) = self.descend(io) {
            link.begin(command, &mut inner);
        }
    }

    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        (): (),
        io: &mut Io<'_, World, H>,
    ) -> Result<Option<()>, ImageError> {
        let (link, mut inner) = self.descend(io)?;
        link.read(page, (), &mut inner)
    }

    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        (): (),
        io: &mut Io<'_, World, H>,
    ) -> Result<(), ImageError> {
        let (link, mut inner) = self.descend(io)?;
        let written = link.write(page, (), &mut inner);
        for page in std::mem::take(&mut self.late) {
            self.link.below_mut().send(Message::Invalidate(page));
        }
        written
    }

    fn trim<H: GcHook>(&mut self, lpn: Lpn, (): (), io: &mut Io<'_, World, H>) -> Result<(), ImageError> {
        let (link, mut inner) = self.descend(io)?;
        link.trim(lpn, (), &mut inner)
    }

    fn flush<H: GcHook>(
        &mut self,
        (): (),
        io: &mut Io<'_, World, H>,
        parts: &mut Vec<()>,
    ) -> Result<(), ImageError> {
        let (link, mut inner) = self.descend(io)?;
        link.flush((), &mut inner, parts)
    }

    fn end<H: GcHook>(&mut self, io: &mut Io<'_, World, H>) -> Result<Duration, ImageError> {
        let (link, mut inner) = self.descend(io)?;
        link.end(&mut inner)
    }

    fn notify<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, World, H>) -> Result<(), ImageError> {
        let (link, mut inner) = self.descend(io)?;
        link.notify(tag, at, &mut inner)
    }

    fn joins_pages(&self) -> bool {
        Level::<World>::joins_pages(&self.link)
    }

    fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, World, H>) -> Result<bool, ImageError> {
        let (link, mut inner) = self.descend(io)?;
        link.work_idle(die, &mut inner)
    }

    fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, World, H>) -> Result<LostPages, ImageError> {
        let (link, mut inner) = self.descend(io)?;
        link.restart(now, &mut inner)
    }

    fn report(&self, report: &mut Report) {
        Level::<World>::report(&self.link, report);
    }

    fn ftl(&self) -> &Ftl {
        Level::<World>::ftl(&self.link)
    }

    fn elsewhere(&self, page: Lpn) -> Option<Elsewhere> {
        Level::<World>::elsewhere(&self.link, page)
    }

    fn assert_invariants(&self) {
        Level::<World>::assert_invariants(&self.link);
    }
}

impl Cooperates for Cable {
    fn lags(&self) -> bool {
        true
    }

    fn send(&mut self, message: Message) {
        match message {
            Message::Invalidate(page) if self.sabotage == Sabotage::LateInvalidate => self.late.push(page),
            // The host's own records.
            Message::Moved(..) | Message::Disconnect => self.link.send(message),
            _ if self.is_up() => self.link.send(message),
            _ => {}
        }
    }

    fn shadows(&self, lpn: Lpn) -> Marks {
        self.link.shadows(lpn)
    }

    fn may_hold(&self, lpn: Lpn) -> bool {
        self.link.may_hold(lpn)
    }

    fn admits(&self, lpn: Lpn, rest: bool) -> bool {
        self.link.admits(lpn, rest)
    }

    fn seen_as(&self, page: Lpn) -> Option<Lpn> {
        self.link.seen_as(page)
    }

    fn is_granted(&self, page: Cached) -> bool {
        self.sabotage != Sabotage::TrustGrants && self.link.is_granted(page)
    }

    fn keeps(&mut self, page: Cached) -> bool {
        !self.is_up() || self.sabotage == Sabotage::NoRevocation || self.link.keeps(page)
    }

    fn next_dropped(&mut self, cache: &Cache) -> Option<SlotId> {
        self.link.next_dropped(cache)
    }

    fn take_pending_wait(&mut self) -> Duration {
        self.link.take_pending_wait()
    }

    fn flash(&self) -> &Ftl {
        self.link.flash()
    }

    fn assert_agrees(&self, cache: &Cache, check: impl FnOnce(&Cache, &Ftl)) {
        self.link.assert_agrees(cache, check);
    }
}

impl Look for WriteBack<Cable> {
    fn flash(&self) -> &Ftl {
        self.below().link.flash()
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self.below_mut().link.below_mut().device_mut().below_mut()
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        vec![(Memory::Host, self.cache())]
    }
}
