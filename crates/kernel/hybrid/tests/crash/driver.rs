//! Serves random requests over the level while disks run pending transfers, and knows the allowed contents of
//! each sector.

use crate::disk::{Data, SECTORS, Written};
use crate::media::{Event, Fragile, PAGE_BYTES, Sabotage};
use crate::moments::{Moments, When};
use crate::setup::Setup;
use crate::stack::{FoundAll, Stack};
use coflash_base::Lpn;
use coflash_base::measure::{Report, Value};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_ftl::{CopyAll, Coverage, GcMode, Io, PageRead, PageWrite};
use coflash_hybrid::{PartialWrites, SlotLabel};
use coflash_level::{Command, Crossing, Level, Op};
use coflash_media::disk::Direction;
use coflash_media::{DieId, Place};
use coflash_testing::ImageError;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The disks are not left behind by more than that.
const QUEUE_MAX: usize = 48;

/// Events and their counters.
const COUNTERS: [(&str, &str); 10] = [
    ("groups", "hybrid.destage_groups"),
    ("groups given up", "hybrid.given_up_pages"),
    ("fills", "hybrid.fills_pages"),
    ("writes through", "hybrid.written_through_pages"),
    ("joined reads", "hybrid.joined_reads_pages"),
    ("overwrites", "hybrid.bypassed_writes_pages"),
    ("divisions", "hybrid.divisions"),
    ("evictions", "hybrid.clean_evictions_pages"),
    ("GC copies", "programs_pages.gc"),
    ("drops", "gc_drops_pages"),
];

/// The same with a cache above.
const COUNTERS_ABOVE: [(&str, &str); 2] =
    [("given up to a cache above", "hybrid.superseded_pages"), ("rewritten drops", "drop_rewrites_pages")];

/// Versions of a sector: counted through all writes, so that the newer is the larger. It may read as any that is neither
/// older than the last one answered nor newer than the last one issued; or, if power failed during a trim, as after that
/// trim.
#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    answered: u64,
    issued: u64,
    trimmed: Option<(u64, u64)>,
}

impl Versions {
    fn between(oldest: u64, newest: u64) -> Self {
        Self { answered: oldest, issued: newest, trimmed: None }
    }
}

/// A page of a request that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Part {
    page: Lpn,
    when: When,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A read by the disk of data answered before, or newer.
    Read(Data),
    Write(Written),
}

#[derive(Clone)]
pub(crate) struct Driver {
    setup: Setup,
    level: Stack,
    pub(crate) media: Fragile,
    sabotage: Sabotage,
    parts: Vec<Part>,
    pages: Vec<[Versions; SECTORS]>,
    version: u64,
    /// The data of the host's last read.
    last_read: Data,
    /// Flushes that are not answered yet: what each waits for, and what it promises.
    flushes: Vec<(Vec<When>, Vec<Data>)>,
    /// What answered flushes have promised. Only a volatile cache needs them.
    flushed: Vec<Data>,
}

impl Driver {
    pub(crate) fn new(setup: &Setup, sabotage: Sabotage, moments: Moments) -> Self {
        Self {
            level: setup.level(),
            media: Fragile::new(setup, sabotage, moments),
            sabotage,
            parts: Vec::new(),
            pages: vec![Default::default(); setup.disk_pages as usize],
            version: 0,
            last_read: Data::default(),
            flushes: Vec::new(),
            flushed: vec![Data::default(); setup.disk_pages as usize],
            setup: setup.clone(),
        }
    }

    /// The same after a number of random operations.
    pub(crate) fn after(mut self, operations: u64, stream: &mut RandomStream) -> Self {
        (0..operations).for_each(|_| self.operate(stream));
        self
    }

    /// The level, and its surroundings at present.
    fn act<T>(&mut self, act: impl FnOnce(&mut Stack, &mut Io<'_, Fragile, CopyAll>) -> T) -> T {
        let start = When::At(self.media.ends.now());
        act(&mut self.level, &mut Io { media: &mut self.media, hook: CopyAll, start })
    }

    /// Only a power cut makes an operation fail.
    fn expect_power<E: Debug>(&self, result: Result<(), E>) {
        assert!(result.is_ok() || self.media.is_dead(), "{result:?} with power");
    }

    /// One request, or one thing that happens otherwise.
    pub(crate) fn operate(&mut self, stream: &mut RandomStream) {
        let disk_pages = self.setup.disk_pages;
        // Half of the requests are for a quarter of the pages.
        let near = if stream.random_range(0..2_u32) == 0 { disk_pages } else { disk_pages / 4 };
        let pages = if stream.random_range(0..6_u32) == 0 { stream.random_range(4..9) } else { 1 };
        let first = stream.random_range(0..near.max(9) - pages);
        let draw = stream.random_range(0..30_u32);
        // The first page of a request that ends within it; or any sector of a single one.
        let part = if pages > 1 { SECTORS - 1 } else { stream.random_range(0..SECTORS) };
        if self.media.is_dead() {
            return;
        }
        match draw {
            _ if self.media.waiting() >= QUEUE_MAX => self.work(stream),
            0..=6 => self.write(first, pages, None),
            7..=8 => self.write(first, pages, Some(part)),
            9..=13 => self.read(first, pages),
            14 => {
                self.trim(first, pages);
                // It may be written before older versions of it are on the disk.
                if !self.media.is_dead() && stream.random() {
                    self.write(first, 1, Some(part));
                }
            }
            16 if self.setup.is_volatile() => self.flush(),
            15 => self.idle(stream.random_range(1..8)),
            _ => self.work(stream),
        }
        // Counting everything anew takes long on a large device.
        if !self.media.is_dead() && (disk_pages < 100 || self.version.is_multiple_of(256)) {
            Level::<Fragile>::assert_invariants(&self.level);
        }
    }

    /// Serves a request; `page` serves each of its pages, and tells of the part that has to be waited for.
    fn request(
        &mut self,
        op: Op,
        (first, pages): (u32, u32),
        mut page: impl FnMut(&mut Self, Lpn) -> Result<Option<Part>, ImageError>,
    ) {
        let command = Command {
            op,
            bytes: u64::from(pages) * PAGE_BYTES,
            first: Some(Lpn::new(first)),
            pages,
            crossing: Crossing::Whole,
        };
        let now = self.media.ends.now();
        let served = self
            .act(|level, io| {
                level.pass_time(now, io)?;
                level.begin(&command, io);
                Ok(())
            })
            .and_then(|()| {
                (first..first + pages).map(Lpn::new).try_for_each(|lpn| {
                    let part = page(self, lpn)?;
                    self.parts.extend(part);
                    Ok(())
                })
            })
            .and_then(|()| self.act(|level, io| level.end(io)).map(drop));
        self.expect_power(served);
        self.answer();
    }

    /// Writes pages; of the first only a sector, where one is given. Of two writes at once that go past the cache either may be
    /// the last, so they come one after the other. Under write-through the level keeps their order.
    /// A volatile cache takes in pages that a disk brings, which these media cannot: to it all writes are of whole pages.
    pub(crate) fn write(&mut self, first: u32, pages: u32, part: Option<usize>) {
        let part = part.filter(|_| !self.setup.is_volatile());
        while !self.setup.writes_through()
            && !self.media.is_dead()
            && (first..first + pages).any(|page| self.media.disk.is_held_back(Lpn::new(page)))
        {
            let event = self.media.possible().into_iter().find(|event| !matches!(event, Event::Disk(_)));
            self.happens(event.expect("a held-back request waits for flash"));
        }
        self.request(Op::Write, (first, pages), |driver, lpn| {
            let written = driver.next_write(lpn, part.filter(|_| lpn.get() == first));
            driver.media.host_writes(written);
            let coverage = if written.only.is_none() { Coverage::Full } else { Coverage::Partial };
            let when = driver.act(|level, io| level.write(PageWrite::host(lpn, coverage), io.start, io))?;
            Ok(Some(Part { page: lpn, when, kind: Kind::Write(written) }))
        });
    }

    fn next_write(&mut self, page: Lpn, only: Option<usize>) -> Written {
        self.version += 1;
        let versions = &mut self.pages[page.get() as usize];
        let data = std::array::from_fn(|sector| {
            if only.is_none_or(|only| only == sector) {
                versions[sector].issued = self.version;
                self.version
            } else if self.setup.hybrid.partial_writes == PartialWrites::Whole {
                // The writer knows the rest.
                versions[sector].issued
            } else {
                // This value must not be used.
                u64::MAX
            }
        });
        Written { data, only }
    }

    pub(crate) fn read(&mut self, first: u32, pages: u32) {
        self.request(Op::Read, (first, pages), |driver, page| {
            driver.media.host_reads = None;
            let when = driver.act(|level, io| level.read(PageRead::host(page), io.start, io))?;
            let when = when.expect("the disks have every page");
            let at_least = driver.answered(page);
            match driver.media.host_reads {
                Some(read) => {
                    driver.check(page, read, at_least);
                    Ok(None)
                }
                None => Ok(Some(Part { page, when, kind: Kind::Read(at_least) })),
            }
        });
    }

    /// The guarantee of a trim: once it is answered, flash does not have the page, neither now nor after a
    /// power failure. It reads as the disk has it, or as a pending write will leave it.
    pub(crate) fn trim(&mut self, first: u32, pages: u32) {
        let pages = (first, pages);
        let range = || (pages.0..pages.0 + pages.1).map(Lpn::new);
        let dirty =
            self.cached().filter(|label| label.dirty && range().any(|page| page == label.page)).count();
        self.media.count("trims of dirty pages", dirty as u64);
        self.media.trims = true;
        self.request(Op::Trim, pages, |driver, lpn| {
            driver.act(|level, io| level.trim(lpn, io.start, io))?;
            Ok(None)
        });
        self.media.trims = false;
        for page in range() {
            let to_come: Vec<_> = self.media.disk.on_the_way(page).collect();
            // Who still waits for a write to flash is promised nothing any more.
            self.parts.retain(|part| match part.kind {
                Kind::Write(written) => part.page != page || to_come.contains(&(written, Place::Host)),
                Kind::Read(_) => true,
            });
            for sector in 0..SECTORS {
                // After a power failure the disk may have newer data that was never answered and is now overwritten.
                let written = to_come.iter().filter(|(written, _)| written.writes(sector));
                let versions = written.map(|(written, _)| written.data[sector]);
                let may_be = || versions.clone().chain([self.media.disk.at(page)[sector]]);
                let (oldest, newest) = (may_be().min().expect("one"), may_be().max().expect("one"));
                for (_, promised) in &mut self.flushes {
                    promised[page.get() as usize][sector] = oldest.min(promised[page.get() as usize][sector]);
                }
                let flushed = &mut self.flushed[page.get() as usize][sector];
                *flushed = oldest.min(*flushed);
                let versions = &mut self.pages[page.get() as usize][sector];
                if self.media.is_dead() {
                    versions.trimmed = Some((oldest, newest));
                } else {
                    *versions = Versions::between(oldest, newest);
                }
            }
        }
    }

    /// All that was answered before must last, once this is answered.
    fn flush(&mut self) {
        let promised = (0..self.setup.disk_pages).map(|page| self.answered(Lpn::new(page))).collect();
        let command = Command { op: Op::Flush, bytes: 0, first: None, pages: 0, crossing: Crossing::Whole };
        let now = self.media.ends.now();
        let mut parts = Vec::new();
        let served = self.act(|level, io| {
            level.pass_time(now, io)?;
            level.begin(&command, io);
            level.flush(io.start, io, &mut parts)?;
            level.end(io)
        });
        self.expect_power(served.map(drop));
        self.flushes.push((parts, promised));
        self.answer();
    }

    /// Lets an idle die do a number of steps of GC.
    fn idle(&mut self, steps: u32) {
        for _ in 0..steps {
            let die = DieId::new(0);
            let has_work = Level::<Fragile>::ftl(&self.level).has_idle_work(die);
            assert!(!has_work || matches!(self.setup.gc.mode, GcMode::Background { .. }));
            let worked = self.act(|level, io| level.work_idle(die, io));
            self.media.count("steps of GC in idle time", u64::from(worked == Ok(true)));
            self.expect_power(worked.map(drop));
        }
    }

    /// Records the parts that have arrived.
    fn answer(&mut self) {
        let (come, left): (Vec<_>, Vec<_>) =
            self.parts.iter().partition(|part| self.media.ends.has_come(part.when));
        self.parts = left;
        if self.media.is_dead() {
            return;
        }
        self.answer_flushes();
        for Part { page, when, kind } in come {
            match kind {
                Kind::Read(at_least) => {
                    let read = self.media.brought(when, page).expect("the disk has it");
                    self.check(page, read, at_least);
                }
                Kind::Write(written) => {
                    for (sector, versions) in self.pages[page.get() as usize].iter_mut().enumerate() {
                        if written.writes(sector) {
                            versions.answered = versions.answered.max(written.data[sector]);
                        }
                    }
                }
            }
        }
    }

    fn answer_flushes(&mut self) {
        let ends = &self.media.ends;
        let is_done = |flush: &mut (Vec<When>, _)| flush.0.iter().all(|&part| ends.has_come(part));
        let mut answered = 0;
        for (_, promised) in self.flushes.extract_if(.., is_done) {
            answered += 1;
            for (flushed, promised) in self.flushed.as_flattened_mut().iter_mut().zip(promised.as_flattened())
            {
                *flushed = promised.max(flushed).to_owned();
            }
        }
        if answered > 0 {
            self.media.count("flushes", answered);
        }
    }

    fn answered(&self, page: Lpn) -> Data {
        self.pages[page.get() as usize].map(|versions| versions.answered)
    }

    fn check(&mut self, page: Lpn, read: Data, at_least: Data) {
        self.last_read = read;
        let versions = &self.pages[page.get() as usize];
        let is_right = |sector: usize| {
            let Versions { issued, trimmed, .. } = versions[sector];
            let within = |(oldest, newest)| (oldest..=newest).contains(&read[sector]);
            within((at_least[sector], issued)) || trimmed.is_some_and(within)
        };
        assert!(
            (0..SECTORS).all(is_right),
            "{page:?} reads as {read:?}; {at_least:?} or more was expected of {versions:?}"
        );
    }

    /// Something happens that can, if anything.
    fn work(&mut self, stream: &mut RandomStream) {
        let possible = self.media.possible();
        let draw = stream.random_range(0..64_usize);
        if let Some(&event) = possible.get(draw % possible.len().max(1)) {
            self.happens(event);
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Flash => self.media.pass_time(),
            Event::Disk(index) => self.media.work_disk(index),
            Event::Tell { index, .. } => {
                let (tag, now) = (self.media.tell(index), self.media.ends.now());
                let told = self.act(|level, io| level.notify(tag, now, io));
                self.expect_power(told);
            }
        }
        self.answer();
    }

    /// Everything happens that is to happen: then all is answered.
    pub(crate) fn work_off(&mut self, stream: &mut RandomStream) {
        while !self.media.possible().is_empty() {
            self.work(stream);
        }
        assert!(self.media.is_dead() || self.parts.is_empty(), "these are never answered: {:?}", self.parts);
    }

    /// Process all pending events without reporting the ends of reads.
    pub(crate) fn work_off_untold(&mut self) {
        let is_untold = |event: &Event| matches!(event, Event::Tell { direction: Some(Direction::Read), .. });
        while let Some(event) = self.media.possible().into_iter().find(|event| !is_untold(event)) {
            self.happens(event);
        }
    }

    /// The labels of the cached pages in the spare areas.
    fn cached(&self) -> impl Iterator<Item = SlotLabel> {
        let ftl = Level::<Fragile>::ftl(&self.level);
        ftl.mapped().filter_map(|lpn| ftl.lookup(lpn)).filter_map(|page| self.media.label_of(page))
    }

    pub(crate) fn is_cached(&self, page: u32) -> bool {
        self.cached().any(|label| label.page.get() == page)
    }

    /// Blocks that hold clean pages and dirty ones.
    pub(crate) fn mixed_blocks(&self) -> usize {
        let mut classes = BTreeMap::<_, [bool; 2]>::new();
        let ftl = Level::<Fragile>::ftl(&self.level);
        for page in ftl.mapped().filter_map(|lpn| ftl.lookup(lpn)) {
            let Some(label) = self.media.label_of(page) else { continue };
            let block = self.setup.geometry.block_of(page);
            classes.entry(block).or_default()[usize::from(label.dirty)] = true;
        }
        classes.values().filter(|&&class| class == [true, true]).count()
    }

    /// All that is in memory is gone.
    pub(crate) fn power_off(&mut self) {
        let mut report = Report::default();
        Level::<Fragile>::report(&self.level, &mut report);
        let above: &[_] = if self.setup.has_above() { &COUNTERS_ABOVE } else { &[] };
        for &(what, path) in COUNTERS.iter().chain(above) {
            if let Some(Value::Count(count)) = report.value(path) {
                self.media.count(what, count);
            }
        }
        if self.setup.is_volatile() {
            for (versions, &flushed) in
                self.pages.as_flattened_mut().iter_mut().zip(self.flushed.as_flattened())
            {
                versions.answered = flushed;
            }
        }
        // The first is recovery's.
        self.media.count("checkpoints", report.count("hybrid.checkpoints").saturating_sub(1));
        self.parts.clear();
        self.flushes.clear();
        self.level = self.setup.level();
        self.media.restart();
    }

    pub(crate) fn recover(&mut self) {
        let found = FoundAll {
            pages: self.media.programmed(),
            erases: self.media.erases(),
            words: self.media.flash.contents().words,
            nobody_above: self.sabotage == Sabotage::NobodyAbove,
        };
        let recovered = self.act(|level, io| found.recover(level, io));
        self.expect_power(recovered);
    }

    /// Power fails and comes back; then every page must read as it may, and goes on doing so.
    pub(crate) fn restart(&mut self, stream: &mut RandomStream) {
        self.power_off();
        self.recover();
        Level::<Fragile>::assert_invariants(&self.level);
        // Checked on a copy, so that it leaves no trace. Backwards, or it would be a sequential run.
        let mut other = self.clone();
        for page in (0..self.setup.disk_pages).rev() {
            other.read(page, 1);
            other.work_off(stream);
            // A write that was not answered and did not survive is gone for good.
            self.pages[page as usize] = other.last_read.map(|version| Versions::between(version, version));
            self.flushed[page as usize] = other.last_read;
        }
        if stream.random_range(0..2_u32) == 0 {
            return;
        }
        for _ in 0..40 {
            self.read(stream.random_range(0..self.setup.disk_pages), 1);
            self.work(stream);
        }
    }
}
