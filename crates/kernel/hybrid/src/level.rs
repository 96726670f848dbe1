//! The tier as a level: it submits the disk transfers that the tier requests, and reports their ends.

use crate::config::{ActiveBlocks, Destaging, HybridConfig};
use crate::costmodel::{Costs, FlashCosts};
use crate::counters::{Sizes, TierSize};
use crate::jobs::{Jobs, Purpose};
use crate::mapping_manager::Found;
use crate::media::TierMedia;
use crate::meter::DiskUse;
use crate::partition_resizer::Limits;
use crate::sizes::SizesOverTime;
use crate::tier::{FETCH_PAGES, ServedBy, Tier, TierAtWork};
use crate::write_policy::WritePolicy;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Misfit, Save, Time};
use coflash_cache::Cache;
use coflash_ftl::{CopyAll, Ftl, GcHook, Io, Marks, PageRead, PageWrite, WriteStream};
use coflash_level::{
    CacheCounters, Cached, Command, Cooperates, DeviceConfig, DropCounters, Elsewhere, Level, LostPages,
    Message, Op, RecoveryError,
};
use coflash_media::disk::{Direction, Disks};
use coflash_media::{Cause, DieId, Place, Ppn, Timing, Transfer};
use std::collections::VecDeque;

/// The operation of the disk on a run of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
enum Kind {
    Read,
    /// A write past the cache.
    Past,
    /// A write through the cache.
    Through,
}

/// A run of adjacent pages of the request, served by the disk.
#[derive(Clone, Copy, Debug, Save)]
struct Run<W> {
    job: u32,
    kind: Kind,
    first: Lpn,
    pages: u32,
    after: W,
}

/// A flash cache in front of disks.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct Hybrid<W> {
    tier: Tier,
    jobs: Jobs<W>,
    run: Option<Run<W>>,
    /// Under write-through: the writes that wait for flash, in order, with the end of the flash program if it
    /// is known. No write may overtake another, or the disk could be left with the older version of a page.
    line: VecDeque<(u32, Option<Time>)>,
    /// The number of writes that have left the line.
    left_line: u64,
    disk_pages: u32,
    destaging: Destaging,
    write_policy: WritePolicy,
    now: Time,
    sizes: SizesOverTime,
}

/// The maximal number of transfers that a group yields to in a row, so that it ends even if the disks are
/// never idle.
const YIELDS_MAX: u32 = 16;

impl<W: Copy> Hybrid<W> {
    /// Create an empty cache on the erased flash of a device, in front of disks. The cost model needs the timing of flash.
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn new(
        device: &DeviceConfig<'_>,
        timing: &Timing,
        hybrid: &HybridConfig,
        disks: &Disks,
    ) -> Result<Self, Misfit> {
        let DeviceConfig { geometry, ftl, gc, cooperation, seed, .. } = *device;
        let disk_pages = u32::try_from(disks.pages()).ok().filter(|&pages| pages < u32::MAX / 2);
        let disk_pages = disk_pages.ok_or_else(|| {
            let problem = format!("{} pages are too many: fewer than {}", disks.pages(), u32::MAX / 2);
            Misfit::new("hybrid.disks", problem)
        })?;
        let mixes =
            |group: &Vec<_>| group.contains(&WriteStream::Host) && group.contains(&WriteStream::Evict);
        if hybrid.active_blocks == ActiveBlocks::ByClass && ftl.shared_streams.iter().any(mixes) {
            let problem = "\"by-class\" was given, but ftl.shared_streams has \"host\" (dirty pages) and \"evict\" (clean \
                           ones) share a block: [[\"host\", \"gc\"]] is allowed, or []";
            return Err(Misfit::new("hybrid.active_blocks", problem));
        }
        let requirements = hybrid.active_blocks.requirements().and(cooperation.requirements());
        let flash = Ftl::new(geometry, ftl, gc, requirements, seed)?;
        let costs = Costs {
            flash: FlashCosts::new(geometry, timing),
            disk: disks.costs(geometry.page_size.count),
            write_policy: hybrid.write_policy,
        };
        let tier = Tier::new(flash, geometry, hybrid, costs, disk_pages);
        Ok(Self {
            tier: tier.map_err(|misfit| misfit.within("hybrid"))?,
            jobs: Jobs::new(),
            run: None,
            line: VecDeque::new(),
            left_line: 0,
            disk_pages,
            destaging: hybrid.destaging,
            write_policy: hybrid.write_policy,
            now: Time::ZERO,
            sizes: SizesOverTime::new(hybrid.period_requests),
        })
    }

    /// The number of flash pages that may hold data.
    #[must_use]
    pub fn flash_pages(&self) -> u32 {
        self.tier.flash_pages
    }

    /// The FTL, for uses that do not change its contents.
    pub fn flash_mut(&mut self) -> &mut Ftl {
        &mut self.tier.ftl
    }

    /// The current limits of the caches.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.tier.resizer.limits
    }

    /// Recover from all programmed pages and the erase counts of blocks after a power cut; torn pages have no
    /// content. What flash has of pages that `is_above` names is out of date: a cache above has them, or their trims. The tier must be new. No request may be served before the returned moment.
    ///
    /// # Errors
    /// Contents of another device, or a failed flash operation.
    pub fn recover<M: TierMedia<When = W>>(
        &mut self,
        pages: &[(Ppn, Option<Found>)],
        erases: &[u32],
        is_above: impl Fn(Lpn) -> bool,
        start: W,
        media: &mut M,
    ) -> Result<W, RecoveryError<M::Error>> {
        // Nobody above has said anything yet.
        self.at_work(&mut Io { media, hook: CopyAll, start }).recover(pages, erases, is_above)
    }

    #[inline(always)]
    fn at_work<'a, M: TierMedia<When = W>, H: GcHook>(
        &'a mut self,
        io: &'a mut Io<'_, M, H>,
    ) -> TierAtWork<'a, M, H> {
        let (tier, jobs) = (&mut self.tier, &mut self.jobs);
        TierAtWork { tier, media: &mut *io.media, hook: &mut io.hook, jobs, start: io.start }
    }

    /// Add a page to the run served by the disk. A page that is not adjacent begins a new run.
    fn extend<M: TierMedia<When = W>, H: GcHook>(
        &mut self,
        kind: Kind,
        (page, from): (Lpn, Place),
        mut after: W,
        io: &mut Io<'_, M, H>,
    ) -> Result<W, M::Error> {
        if kind == Kind::Past
            && let Some(&(older, _)) = self.tier.above.leaving.get(&page)
        {
            after = self.jobs.after(older, after, io.media);
        }
        // What goes past the cache is one transfer of any length: a disk positions once for it.
        let most = if kind == Kind::Read && !self.tier.bypass { FETCH_PAGES } else { u32::MAX };
        let fits =
            |run: &Run<W>| run.kind == kind && run.pages < most && run.first.get() + run.pages == page.get();
        let job = match self.run.as_mut().filter(|run| fits(run)) {
            Some(run) => {
                run.pages += 1;
                run.after = io.media.both(run.after, after);
                run.job
            }
            None => {
                self.end_run(io)?;
                let job = self.jobs.begin(Purpose::Answer);
                self.run = Some(Run { job, kind, first: page, pages: 1, after });
                job
            }
        };
        if kind != Kind::Read {
            io.media.to_disk(job, page, from);
        }
        if kind == Kind::Past && matches!(from, Place::Slot(_)) {
            self.tier.above.leaving.insert(page, (job, true));
        }
        Ok(self.jobs.wait_for(job, io.media))
    }

    fn end_run<M: TierMedia<When = W>, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        let Some(Run { job, kind, first, pages, after }) = self.run.take() else { return Ok(()) };
        let (purpose, cause, ready) = match kind {
            Kind::Read if !self.tier.bypass => {
                self.tier.fetches.begin(job, first, pages);
                (Purpose::Fetch(first), Cause::Evict, after)
            }
            Kind::Read => (Purpose::Read, Cause::Host, after),
            Kind::Past => {
                let (id, ready) = self.at_work(io).overwrite(first, pages)?;
                (Purpose::Overwrite(id), Cause::Host, io.media.both(ready, after))
            }
            Kind::Through => (Purpose::Through(self.tier.write_through(first, pages)), Cause::Destage, after),
        };
        self.jobs.get(job).purpose = purpose;
        let direction = if kind == Kind::Read { Direction::Read } else { Direction::Write };
        let transfer = Transfer { direction, first: first.get().into(), pages, cause };
        let in_line = kind != Kind::Read && self.write_policy == WritePolicy::WriteThrough;
        let known = io.media.known(ready);
        if let Some(at) = known.filter(|_| !in_line || self.line.is_empty()) {
            io.media.transfer(transfer, at, job);
            return Ok(());
        }
        self.jobs.get(job).postponed = Some(transfer);
        if in_line {
            self.jobs.get(job).in_line = Some(self.left_line + self.line.len() as u64);
            self.line.push_back((job, known));
        }
        if known.is_none() {
            io.media.tell_level(ready, job);
        }
        Ok(())
    }

    /// Begin the transfer of a job that waited for flash. In the line it begins after all before it.
    fn begin_postponed<M: TierMedia<When = W>>(&mut self, job: u32, at: Time, media: &mut M) {
        let Self { jobs, line, left_line, .. } = self;
        let in_line = jobs.get(job).in_line;
        let mut transfer =
            |job, at| media.transfer(jobs.get(job).postponed.take().expect("it waits"), at, job);
        let Some(number) = in_line else { return transfer(job, at) };
        line[(number - *left_line) as usize].1 = Some(at);
        while let Some(&(job, Some(ready))) = line.front() {
            line.pop_front();
            *left_line += 1;
            transfer(job, ready.max(at));
        }
    }

    /// Start the transfers of groups that are or will be in the buffer. Returns the last of their jobs.
    #[inline]
    fn send_groups<M: TierMedia<When = W>>(&mut self, media: &mut M) -> Option<u32> {
        let mut last = None;
        while let Some(job) = self.jobs.next_begun() {
            match self.jobs.get(job).reading.take() {
                Some(reading) => media.tell_level(reading, job),
                None => {
                    self.continue_group(job, media);
                }
            }
            last = Some(job);
        }
        last
    }

    /// The answer to who took room that a group makes: it waits for the group, unless that is destaged in the background.
    #[inline]
    fn after_group<M: TierMedia<When = W>>(&mut self, group: Option<u32>, when: W, media: &mut M) -> W {
        let group = group.filter(|_| self.destaging == Destaging::Foreground);
        group.map_or(when, |group| self.jobs.after(group, when, media))
    }

    /// Submit the next run of adjacent pages of a group, or yield to other transfers. Returns false if no
    /// page is left.
    fn continue_group<M: TierMedia<When = W>>(&mut self, id: u32, media: &mut M) -> bool {
        let Self { jobs, tier, .. } = self;
        let job = jobs.get(id);
        let Purpose::Group(group) = job.purpose else { return false };
        let rest = &job.pages[job.next..];
        let Some(skipped) = rest.iter().position(|&(page, _)| tier.replacer.is_evicted_by(group, page))
        else {
            return false;
        };
        let rest = &rest[skipped..];
        let ((first, mut at), mut pages) = (rest[0], 1);
        if tier.shrinking_group == Some(group)
            && job.yielded < YIELDS_MAX
            && !media.is_idle(first.get().into())
        {
            job.yielded += 1;
            media.after_others(id);
            return true;
        }
        job.yielded = 0;
        for &(page, read) in &rest[1..] {
            if page.get() != first.get() + pages || !tier.replacer.is_evicted_by(group, page) {
                break;
            }
            at = at.max(read);
            pages += 1;
        }
        job.next += skipped + pages as usize;
        let transfer =
            Transfer { direction: Direction::Write, first: first.get().into(), pages, cause: Cause::Destage };
        media.transfer(transfer, at, id);
        true
    }

    /// Continue a job at `io.start`, the moment it waited for.
    fn go_on<M: TierMedia<When = W>, H: GcHook>(
        &mut self,
        id: u32,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        if self.continue_group(id, io.media) {
            return Ok(());
        }
        let purpose = std::mem::replace(&mut self.jobs.get(id).purpose, Purpose::Answer);
        let mut answer = io.start;
        match purpose {
            Purpose::Read | Purpose::Answer => {}
            Purpose::Fetch(first) => {
                self.at_work(io).fetched(id, first)?;
                // No write past the cache: a flush does not wait for it.
                self.jobs.get(id).purpose = Purpose::Read;
                let group = self.send_groups(io.media);
                answer = self.after_group(group, answer, io.media);
            }
            Purpose::Group(group) => {
                // Requests that wait for room need not wait for the journal.
                self.at_work(io).destaged(group)?;
            }
            Purpose::Overwrite(group) => {
                answer = self.at_work(io).evict(group)?;
                self.tier.above.leaving.retain(|_, leaving| leaving.0 != id);
            }
            Purpose::Through(group) => self.at_work(io).written_through(group)?,
        }
        if io.media.known(answer).is_some() {
            for waiter in self.jobs.end(id).waiters {
                io.media.keep(waiter, answer);
            }
        } else {
            io.media.tell_level(answer, id);
        }
        self.send_groups(io.media);
        Ok(())
    }
}

impl<M: TierMedia> Level<M> for Hybrid<M::When> {
    fn logical_pages(&self) -> u32 {
        self.disk_pages
    }

    fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        self.tier.look_ahead(lpn, ahead);
    }

    #[inline]
    fn is_timed(&self) -> bool {
        true
    }

    #[inline]
    fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        self.now = self.now.max(now);
        self.at_work(io).pass_time(now)
    }

    fn next_due(&self) -> Option<Time> {
        None
    }

    #[inline]
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
        if let (Op::Read | Op::Write, Some(first)) = (command.op, command.first) {
            self.tier.begin(command.op == Op::Write, first, command.pages);
            self.sizes.tick(&self.tier, self.now);
        }
        io.start
    }

    #[inline]
    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<Option<M::When>, M::Error> {
        let served = self.at_work(io).read(page, after)?;
        self.tier.above.brought = (!matches!(served, ServedBy::Flash(_))).then_some(page.lpn);
        match served {
            ServedBy::Flash(done) => Ok(Some(done)),
            ServedBy::Disk => self.extend(Kind::Read, (page.lpn, page.to), after, io).map(Some),
            ServedBy::Joined(job) => Ok(Some(self.jobs.after(job, after, io.media))),
        }
    }

    #[inline]
    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        let cached = self.at_work(io).write(page, after)?;
        let group = self.send_groups(io.media);
        let Some(done) = cached else { return self.extend(Kind::Past, (page.lpn, page.from), after, io) };
        let done = match self.write_policy {
            WritePolicy::WriteBack => done,
            WritePolicy::WriteThrough => self.extend(Kind::Through, (page.lpn, page.from), done, io)?,
        };
        Ok(self.after_group(group, done, io.media))
    }

    fn trim<H: GcHook>(
        &mut self,
        lpn: Lpn,
        after: M::When,
        _: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        self.tier.trim(lpn);
        Ok(after)
    }

    /// Data in flash is durable. What left a memory above and went past flash is so when the disk is done.
    fn flush<H: GcHook>(
        &mut self,
        _: M::When,
        io: &mut Io<'_, M, H>,
        parts: &mut Vec<M::When>,
    ) -> Result<(), M::Error> {
        parts.extend(self.jobs.past().into_iter().map(|job| self.jobs.wait_for(job, io.media)));
        Ok(())
    }

    #[inline]
    fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        self.end_run(io)?;
        if self.tier.period_ends {
            let time_ns = |cause| io.media.disk_time(cause).ns;
            self.tier.meter.disks = DiskUse {
                at: self.now,
                fetched_ns: time_ns(Cause::Evict),
                destaged_ns: time_ns(Cause::Destage),
                past_ns: time_ns(Cause::Host),
                disks: io.media.disks(),
            };
        }
        self.at_work(io).end()?;
        self.send_groups(io.media);
        Ok(Duration::ZERO)
    }

    fn notify<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        self.now = self.now.max(at);
        if self.jobs.get(tag).postponed.is_some() {
            self.begin_postponed(tag, at, io.media);
            return Ok(());
        }
        self.go_on(tag, io)
    }

    fn joins_pages(&self) -> bool {
        true
    }

    fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error> {
        self.at_work(io).work_idle(die)
    }

    fn restart<H: GcHook>(&mut self, _: Time, _: &mut Io<'_, M, H>) -> Result<LostPages, M::Error> {
        unreachable!("requests wait for transfers of disks, which a restart would end: no scenario has both")
    }

    fn report(&self, report: &mut Report) {
        let Tier { ftl, counters, .. } = &self.tier;
        Level::<M>::report(ftl, report);
        report.add(&CacheCounters {
            read_hits: counters.read_hits(),
            read_misses: counters.read_misses_pages,
            write_hits: counters.write_hits_pages,
            write_misses: counters.write_misses_pages,
            clean_evictions_pages: counters.clean_evictions_pages,
            dirty_evictions_pages: counters.destages_pages,
            capacity_pages: self.tier.cache().capacity(),
            ..CacheCounters::default()
        });
        // The disk holds the pages that GC drops, so a drop never causes a write. A cache above tells of its own instead.
        report.add(&DropCounters::default());
        report.add(counters);
        report.add(&self.tier.mapping.counters);
        if let Some(above) = self.tier.above.counters() {
            report.add(above);
        }
        report.add(&TierSize {
            flash_pages: self.tier.flash_pages,
            tracker_bytes: self.tier.tracker_bytes() as u64,
        });
        // Disks may still be busy when all requests are answered.
        let sizes = self.sizes.until(&self.tier, self.now.max(report.end()));
        report.add_list(&Sizes::INFO, sizes.iter());
    }

    fn ftl(&self) -> &Ftl {
        &self.tier.ftl
    }

    fn elsewhere(&self, page: Lpn) -> Option<Elsewhere> {
        self.tier.is_on_disk(page).then_some(Elsewhere::Same)
    }

    fn assert_invariants(&self) {
        self.tier.assert_invariants();
    }
}

/// What is said of pages of the disks concerns their flash copies. The disks have every page, so that they keep all that flash lacks,
/// but for a version that GC has left to the cache above.
impl<W> Cooperates for Hybrid<W> {
    coflash_level::arrives_at_once!();

    #[inline(always)]
    fn send(&mut self, message: Message) {
        self.tier.hear(message);
    }

    fn shadows(&self, lpn: Lpn) -> Marks {
        self.tier.shadows(lpn)
    }

    fn may_hold(&self, _: Lpn) -> bool {
        true
    }

    fn admits(&self, lpn: Lpn, rest: bool) -> bool {
        self.tier.admits(lpn, rest)
    }

    fn seen_as(&self, page: Lpn) -> Option<Lpn> {
        self.tier.seen_as(page)
    }

    fn keeps(&mut self, page: Cached) -> bool {
        !self.tier.above.is_sole(page.lpn)
    }

    fn assert_agrees(&self, cache: &Cache, _: impl FnOnce(&Cache, &Ftl)) {
        self.tier.assert_agrees(cache);
    }

    fn flash(&self) -> &Ftl {
        &self.tier.ftl
    }
}
