//! Levels over a media, and requests to them.

use super::media::Tapped;
use super::stack::Look;
use super::{FILLERS, PAGE_BYTES, W, X, Y, Z};
use coflash_base::measure::Report;
use coflash_base::{Duration, Lpn, Time};
use coflash_ftl::{CopyAll, Coverage, FreeMark, Ftl, Io, PageRead, PageWrite};
use coflash_level::{Command, Crossing, Level, LostPages, Op};
use coflash_media::{Clock, DieId, Media, Timeline, Untimed, When};
use coflash_testing::Image;

/// A media with the present as a moment.
pub(crate) trait Moments: Clock {
    fn moment(now: Time) -> Self::When;
}

impl Moments for Image {
    fn moment(_: Time) {}
}

impl Moments for Untimed {
    fn moment(_: Time) {}
}

impl Moments for Timeline {
    fn moment(now: Time) -> When {
        When::at(now)
    }
}

impl<M: Moments, T> Moments for Tapped<M, T> {
    fn moment(now: Time) -> M::When {
        M::moment(now)
    }
}

/// Levels, a media and the clock.
#[derive(Clone)]
pub(crate) struct Rig<L, M> {
    pub(crate) level: L,
    pub(crate) media: M,
    pub(crate) now: Time,
}

impl<M: Media + Moments, L: Level<M>> Rig<L, M> {
    pub(crate) fn new(level: L, media: M) -> Self {
        Self { level, media, now: Time::ZERO }
    }

    /// The level, and the world as it is at present.
    fn act<T>(&mut self, act: impl FnOnce(&mut L, &mut Io<'_, M, CopyAll>) -> T) -> T {
        let start = M::moment(self.now);
        act(&mut self.level, &mut Io { media: &mut self.media, hook: CopyAll, start })
    }

    /// Passes time, and does the work that falls due on the way.
    pub(crate) fn pass(&mut self, by: Duration) -> Result<(), M::Error> {
        let until = self.now + by;
        while let Some(due) = self.level.next_due().filter(|&due| due < until) {
            self.now = self.now.max(due);
            let now = self.now;
            self.act(|level, io| level.pass_time(now, io))?;
        }
        self.now = until;
        self.act(|level, io| level.pass_time(until, io))
    }

    /// Serves a request of pages. Returns the moment of its answer.
    pub(crate) fn request(&mut self, op: Op, pages: &[(Lpn, Coverage)]) -> Result<M::When, M::Error> {
        let command = Command {
            op,
            bytes: (pages.len() * PAGE_BYTES) as u64,
            first: pages.first().map(|&(page, _)| page),
            pages: pages.len() as u32,
            crossing: Crossing::Whole,
        };
        let now = self.now;
        self.act(|level, io| {
            // A failure on the way does not belong to the request.
            let _ = level.pass_time(now, io);
            let mut after = level.begin(&command, io);
            let mut parts = Vec::new();
            if op == Op::Flush {
                level.flush(after, io, &mut parts)?;
            }
            for &(lpn, coverage) in pages {
                match op {
                    Op::Read => parts.push(level.read(PageRead::host(lpn), after, io)?.unwrap_or(after)),
                    Op::Write => parts.push(level.write(PageWrite::host(lpn, coverage), after, io)?),
                    Op::Trim => after = level.trim(lpn, after, io)?,
                    Op::Flush => unreachable!("a flush has no pages"),
                }
            }
            let tail = level.end(io)?;
            parts.push(after);
            let last = parts.into_iter().fold(io.start, |last, part| io.media.both(last, part));
            Ok(io.media.later(last, tail))
        })
    }

    pub(crate) fn read(&mut self, page: Lpn) -> Result<M::When, M::Error> {
        self.request(Op::Read, &[(page, Coverage::Full)])
    }

    pub(crate) fn write(&mut self, page: Lpn, coverage: Coverage) -> Result<M::When, M::Error> {
        self.request(Op::Write, &[(page, coverage)])
    }

    pub(crate) fn trim(&mut self, page: Lpn) -> Result<M::When, M::Error> {
        self.request(Op::Trim, &[(page, Coverage::Full)])
    }

    pub(crate) fn flush(&mut self) -> Result<M::When, M::Error> {
        self.request(Op::Flush, &[])
    }

    /// Host and device lose volatile state.
    pub(crate) fn restart(&mut self) -> Result<LostPages, M::Error> {
        let now = self.now;
        self.act(|level, io| level.pass_time(now, io).and_then(|()| level.restart(now, io)))
    }

    /// Lets a die that is idle do one step; false where there is nothing to do.
    pub(crate) fn work_idle(&mut self, die: DieId) -> Result<bool, M::Error> {
        self.act(|level, io| level.work_idle(die, io))
    }

    pub(crate) fn has_idle_work(&self, die: DieId) -> bool {
        self.level.ftl().has_idle_work(die)
    }

    pub(crate) fn report(&self) -> Report {
        let mut report = Report::default();
        self.level.report(&mut report);
        report
    }

    pub(crate) fn count(&self, path: &str) -> u64 {
        self.report().count(path)
    }

    pub(crate) fn assert_invariants(&self) {
        self.level.assert_invariants();
    }

    /// The same levels, as they are now, over another media.
    pub(crate) fn over<N: Media + Moments>(self, media: N) -> Rig<L, N>
    where
        L: Level<N>,
    {
        Rig { level: self.level, media, now: self.now }
    }
}

/// The operations past the caches.
pub(crate) trait PastCache {
    fn flash(&self) -> &Ftl;

    /// Writes a page past all caches, as warming up does.
    fn write_past_cache(&mut self, page: Lpn);

    /// Fills three blocks so that X is in the first, with only invalid pages beside it; Y, Z and W are in later ones.
    fn set_the_scene(&mut self) {
        let [f, g, h] = FILLERS;
        for page in [X, f, g, h, f, g, h, Y, Z, W, f, g] {
            self.write_past_cache(page);
        }
    }

    /// Overwrites fillers until at most `left` blocks are free: the next operation runs GC.
    fn use_up_free_blocks(&mut self, left: u32) {
        let mut fillers = FILLERS.iter().cycle();
        while !self.flash().pools_have_at_most(FreeMark::Blocks(left)) {
            self.write_past_cache(*fillers.next().expect("a cycle"));
        }
    }
}

impl<M: Media + Moments, L: Level<M> + Look> PastCache for Rig<L, M> {
    fn flash(&self) -> &Ftl {
        self.level.flash()
    }

    fn write_past_cache(&mut self, page: Lpn) {
        let start = M::moment(self.now);
        let io = &mut Io { media: &mut self.media, hook: CopyAll, start };
        self.level
            .flash_mut()
            .write(PageWrite::host(page, Coverage::Full), start, io)
            .expect("flash is sound");
    }
}
