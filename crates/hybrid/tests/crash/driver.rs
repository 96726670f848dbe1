//! Serves random requests over a tier, with a disk that does what waits for it in any order that keeps conflicts in order;
//! and knows what each sector may read as.

use crate::jobs::Job;
use crate::media::{Data, Destage, Fragile, SECTORS, Sabotage, Written};
use crate::setup::Setup;
use coflash_base::Lpn;
use coflash_base::seed::{RngExt, Stream};
use coflash_cache::SlotId;
use coflash_flash::Cause;
use coflash_hybrid::{LeaveId, PartialWrites, Served, Tier};
use std::collections::BTreeMap;

/// The disk is not left behind by more than that.
const QUEUE_MAX: usize = 48;

/// Versions of a sector: counted through all writes, so that the newer is the larger. It may read as any that is neither
/// older than what was answered nor newer than what was issued; or, if power failed during a trim, as what that would have
/// left.
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

#[derive(Clone)]
pub(crate) struct Driver {
    setup: Setup,
    tier: Tier,
    pub(crate) media: Fragile,
    jobs: Vec<Job>,
    pages: Vec<[Versions; SECTORS]>,
    version: u64,
    /// How often each thing that is to be tested has happened.
    pub(crate) seen: BTreeMap<&'static str, u64>,
}

impl Driver {
    pub(crate) fn new(setup: &Setup, sabotage: Sabotage) -> Self {
        Self {
            tier: setup.tier(),
            media: Fragile::new(&setup.geometry, setup.disk_pages, sabotage),
            jobs: Vec::new(),
            pages: vec![Default::default(); setup.disk_pages as usize],
            version: 0,
            seen: BTreeMap::new(),
            setup: setup.clone(),
        }
    }

    /// One request, or one thing that the disk does.
    pub(crate) fn operate(&mut self, stream: &mut Stream) -> Result<(), String> {
        let disk_pages = self.setup.disk_pages;
        // Half of the requests are for a quarter of the pages.
        let near = if stream.random_range(0..2_u32) == 0 { disk_pages } else { disk_pages / 4 };
        let pages = if stream.random_range(0..6_u32) == 0 { stream.random_range(4..9) } else { 1 };
        let first = stream.random_range(0..near.max(9) - pages);
        let draw = stream.random_range(0..30_u32);
        // The first page of a request, whose end is in it; or any sector of a single one.
        let part = if pages > 1 { SECTORS - 1 } else { stream.random_range(0..SECTORS) };
        if self.media.is_dead() {
            return Ok(());
        }
        match draw {
            _ if self.jobs.len() >= QUEUE_MAX => self.work(stream)?,
            0..=6 => self.write(first, pages, None),
            7..=8 => self.write(first, pages, Some(part)),
            9..=13 => self.read(first, pages)?,
            14 => {
                self.trim(first, pages);
                // It may be written before older versions of it are on the disk.
                if !self.media.is_dead() && stream.random() {
                    self.write(first, 1, Some(part));
                }
            }
            _ => self.work(stream)?,
        }
        // Counting everything anew takes long on a large device.
        if !self.media.is_dead() && (disk_pages < 100 || self.version.is_multiple_of(256)) {
            self.tier.assert_invariants();
        }
        Ok(())
    }

    /// Blocks that hold clean pages and dirty ones.
    pub(crate) fn mixed_blocks(&self) -> usize {
        let (cache, ftl) = (self.tier.cache(), self.tier.ftl());
        let mut classes = BTreeMap::<u32, [bool; 2]>::new();
        for slot in (0..cache.capacity()).map(SlotId::new).filter(|&slot| cache.is_occupied(slot)) {
            let page = ftl.lookup(Lpn::new(slot.get())).expect("what is cached is in flash");
            let block = page.get() / self.setup.geometry.pages_per_block;
            classes.entry(block).or_default()[usize::from(cache.is_dirty(slot))] = true;
        }
        classes.values().filter(|&&class| class == [true, true]).count()
    }

    fn count(&mut self, what: &'static str, count: u64) {
        *self.seen.entry(what).or_default() += count;
    }

    /// Writes pages; of the first only a sector, where one is given.
    pub(crate) fn write(&mut self, first: u32, pages: u32, part: Option<usize>) {
        self.tier.begin(true, Lpn::new(first), pages);
        let mut run: Option<(Lpn, Vec<Written>)> = None;
        let mut in_flash = Vec::new();
        for page in (first..first + pages).map(Lpn::new) {
            let written = self.next_write(page, part.filter(|_| page.get() == first));
            let was_cached = self.tier.cache().lookup(page).is_some();
            self.media.host_writes = written;
            match self.tier.write(page, written.only.is_none(), (), &mut self.media) {
                Served::Flash(()) => {
                    self.count("merges", u64::from(was_cached && written.only.is_some()));
                    in_flash.push((page, written));
                    if let Some(run) = run.take() {
                        self.overwrite(run);
                    }
                }
                Served::Disk => {
                    self.count("parts to the disk", u64::from(written.only.is_some()));
                    run.get_or_insert((page, Vec::new())).1.push(written);
                }
                Served::Joined(fetch) => unreachable!("a write joins fetch {fetch}"),
            }
        }
        if let Some(run) = run {
            self.overwrite(run);
        }
        self.tier.end((), &mut self.media);
        self.take_destages();
        for (page, written) in in_flash {
            self.answer(page, written);
        }
    }

    fn next_write(&mut self, page: Lpn, only: Option<usize>) -> Written {
        self.version += 1;
        let versions = &mut self.pages[page.get() as usize];
        let data = std::array::from_fn(|sector| {
            if only.is_none_or(|only| only == sector) {
                versions[sector].issued = self.version;
                self.version
            } else if self.setup.hybrid.partial_writes == PartialWrites::Whole {
                // Whoever writes it knows the rest.
                versions[sector].issued
            } else {
                // Nobody may use it.
                u64::MAX
            }
        });
        Written { data, only }
    }

    /// What a trim promises: once it is answered, flash does not have the page, neither now nor after a power failure. It reads
    /// as what the disk has, and as what is on its way there already.
    pub(crate) fn trim(&mut self, first: u32, pages: u32) {
        for page in (first..first + pages).map(Lpn::new) {
            let cache = self.tier.cache();
            let dirty = cache.lookup(page).is_some_and(|slot| cache.is_dirty(slot));
            self.count("trims of dirty pages", u64::from(dirty));
            self.tier.trim(page);
        }
        self.media.trims = true;
        self.tier.end((), &mut self.media);
        self.media.trims = false;
        self.take_destages();
        for page in (first..first + pages).map(Lpn::new) {
            for sector in 0..SECTORS {
                // After a power failure the disk may have what is newer, was never answered, and is now overwritten.
                let to_come = self.jobs.iter().filter_map(|job| job.brings(page, sector));
                let may_be = || to_come.clone().chain([self.media.read_disk(page)[sector]]);
                let (oldest, newest) = (may_be().min().expect("one"), may_be().max().expect("one"));
                let versions = &mut self.pages[page.get() as usize][sector];
                if self.media.is_dead() {
                    versions.trimmed = Some((oldest, newest));
                } else {
                    *versions = Versions::between(oldest, newest);
                }
            }
        }
    }

    fn overwrite(&mut self, (first, data): (Lpn, Vec<Written>)) {
        let (id, ()) = self.tier.overwrite(first, data.len() as u32, (), &mut self.media);
        self.take_destages();
        self.jobs.push(Job::Overwrite { id, first, data, done: 0 });
    }

    fn take_destages(&mut self) {
        let destages = self.media.destages.drain(..);
        self.jobs.extend(destages.map(|destage| Job::Destage { destage, sent: false }));
        self.tier.started().for_each(drop);
    }

    fn answer(&mut self, page: Lpn, written: Written) {
        if self.media.is_dead() {
            return;
        }
        for (sector, versions) in self.pages[page.get() as usize].iter_mut().enumerate() {
            if written.writes(sector) {
                versions.answered = versions.answered.max(written.data[sector]);
            }
        }
    }

    pub(crate) fn read(&mut self, first: u32, pages: u32) -> Result<(), String> {
        self.tier.begin(false, Lpn::new(first), pages);
        let mut run: Option<(Lpn, u32)> = None;
        for page in (first..first + pages).map(Lpn::new) {
            match self.tier.read(page, (), &mut self.media) {
                Served::Flash(()) => {
                    self.check(page, self.media.host_reads, self.answered(page))?;
                    if let Some(run) = run.take() {
                        self.fetch(run);
                    }
                }
                Served::Disk => run.get_or_insert((page, 0)).1 += 1,
                Served::Joined(fetch) => {
                    self.join(fetch, page);
                    if let Some(run) = run.take() {
                        self.fetch(run);
                    }
                }
            }
        }
        if let Some(run) = run {
            self.fetch(run);
        }
        let groups = self.tier.tally().destage_groups;
        self.tier.end((), &mut self.media);
        // A read makes no page dirty.
        self.count("groups as a cache shrinks", self.tier.tally().destage_groups - groups);
        self.take_destages();
        Ok(())
    }

    fn fetch(&mut self, (first, pages): (Lpn, u32)) {
        let id = self.tier.fetches().then(|| self.tier.fetch(first, pages));
        let at_least = (first.get()..first.get() + pages).map(|page| self.answered(Lpn::new(page))).collect();
        self.jobs.push(Job::Fetch { id, first, at_least, joined: Vec::new(), data: None });
    }

    fn join(&mut self, fetch: u32, page: Lpn) {
        let at_least = self.answered(page);
        let mut joined = self.jobs.iter_mut().filter_map(|job| match job {
            Job::Fetch { id, joined, .. } if *id == Some(fetch) => Some(joined),
            _ => None,
        });
        joined.next().expect("it is under way").push((page, at_least));
        assert!(joined.next().is_none(), "fetch {fetch} is under way twice");
    }

    fn answered(&self, page: Lpn) -> Data {
        self.pages[page.get() as usize].map(|versions| versions.answered)
    }

    fn check(&self, page: Lpn, read: Data, at_least: Data) -> Result<(), String> {
        if self.media.is_dead() {
            return Ok(());
        }
        let versions = &self.pages[page.get() as usize];
        let is_right = |sector: usize| {
            let Versions { issued, trimmed, .. } = versions[sector];
            let within = |(oldest, newest)| (oldest..=newest).contains(&read[sector]);
            within((at_least[sector], issued)) || trimmed.is_some_and(within)
        };
        if !(0..SECTORS).all(is_right) {
            return Err(format!(
                "{page:?} reads as {read:?}; {at_least:?} or more was expected of {versions:?}"
            ));
        }
        Ok(())
    }

    /// The disk does all that waits.
    pub(crate) fn work_off(&mut self, stream: &mut Stream) -> Result<(), String> {
        while !self.jobs.is_empty() {
            self.work(stream)?;
        }
        Ok(())
    }

    /// The disk does something that waits, if anything does.
    fn work(&mut self, stream: &mut Stream) -> Result<(), String> {
        let draw = stream.random_range(0..64_usize);
        let may_go = |&index: &usize| {
            let job = &self.jobs[index];
            !self.jobs[..index].iter().any(|earlier| job.waits_for(earlier, self.media.sabotage))
        };
        let free: Vec<_> = (0..self.jobs.len()).filter(may_go).collect();
        free.get(draw % free.len().max(1)).map_or(Ok(()), |&index| self.work_on(index))
    }

    /// The disk reads all that is to be fetched, and does not say so yet.
    pub(crate) fn read_ahead(&mut self) {
        for index in 0..self.jobs.len() {
            if let Job::Fetch { data: None, .. } = self.jobs[index] {
                self.work_on(index).expect("nothing is delivered");
            }
        }
    }

    /// The disk writes all that is to be written.
    pub(crate) fn work_off_writes(&mut self) {
        while let Some(index) = self.jobs.iter().position(|job| !matches!(job, Job::Fetch { .. })) {
            self.work_on(index).expect("nothing is delivered");
        }
    }

    pub(crate) fn is_cached(&self, page: u32) -> bool {
        self.tier.cache().lookup(Lpn::new(page)).is_some()
    }

    fn work_on(&mut self, index: usize) -> Result<(), String> {
        match &mut self.jobs[index] {
            Job::Fetch { data: data @ None, first, at_least, .. } => {
                let pages = first.get()..first.get() + at_least.len() as u32;
                *data = Some(pages.map(|page| self.media.read_disk(Lpn::new(page))).collect());
            }
            Job::Fetch { .. } => self.deliver(index)?,
            Job::Destage { destage: Destage { group, page, .. }, sent: sent @ false } => {
                if self.tier.leaves(LeaveId::new(*group), *page) {
                    // Behind all that it has already.
                    *sent = true;
                    let job = self.jobs.remove(index);
                    self.jobs.push(job);
                } else {
                    let group = *group;
                    self.jobs.remove(index);
                    self.count("destages called off", 1);
                    self.end_destage(group);
                }
            }
            Job::Destage { destage, .. } => {
                let Destage { group, page, data } = *destage;
                if self.media.sabotage != Sabotage::DestageNothing {
                    self.media.write_disk(page, Written { data, only: None });
                }
                self.jobs.remove(index);
                self.end_destage(group);
            }
            Job::Overwrite { id, first, data, done } => {
                // A page at a time: power may fail in between.
                self.media.write_disk(Lpn::new(first.get() + *done as u32), data[*done]);
                *done += 1;
                if *done == data.len() {
                    let (id, first, data) = (*id, *first, std::mem::take(data));
                    self.jobs.remove(index);
                    self.tier.overwritten(id, (), &mut self.media);
                    for (page, written) in (first.get()..).map(Lpn::new).zip(data) {
                        self.answer(page, written);
                    }
                }
            }
        }
        Ok(())
    }

    /// The disk has read what was to be fetched.
    fn deliver(&mut self, index: usize) -> Result<(), String> {
        let Job::Fetch { id, first, at_least, joined, data: Some(data) } = self.jobs.remove(index) else {
            unreachable!("it is a fetch, and read");
        };
        for (page, at_least) in joined {
            self.check(page, data[(page.get() - first.get()) as usize], at_least)?;
        }
        for ((page, at_least), data) in (first.get()..).map(Lpn::new).zip(at_least).zip(data) {
            self.check(page, data, at_least)?;
            self.media.fetched.extend(id.map(|id| (id, page, data)));
        }
        if let Some(id) = id {
            self.tier.fetched(id, (), &mut self.media);
            self.media.fetched.retain(|&(of, ..)| of != id);
            self.take_destages();
        }
        Ok(())
    }

    /// The disk has a page of a group, or is not to have it.
    fn end_destage(&mut self, group: u32) {
        let more = |job: &Job| matches!(job, Job::Destage { destage, .. } if destage.group == group);
        if !self.jobs.iter().any(more) {
            self.tier.destaged(LeaveId::new(group), (), &mut self.media);
        }
    }

    /// All that is in memory is gone.
    pub(crate) fn power_off(&mut self) {
        let (tally, mapping, flash) = (self.tier.tally(), self.tier.mapping_tally(), self.tier.ftl().tally());
        let counts = [
            ("groups", tally.destage_groups),
            ("fills", tally.fills),
            ("joined reads", tally.joined_reads),
            ("overwrites", tally.bypassed_writes),
            ("divisions", tally.divisions),
            ("evictions", tally.clean_evictions),
            // The first is recovery's.
            ("checkpoints", mapping.checkpoints.saturating_sub(1)),
            ("GC copies", flash.programs_for(Cause::Gc)),
            ("drops", flash.gc_drops_pages),
        ];
        for (what, count) in counts {
            self.count(what, count);
        }
        self.jobs.clear();
        self.tier = self.setup.tier();
        self.media.power_on();
    }

    pub(crate) fn recover(&mut self) {
        let pages = self.media.programmed();
        self.tier.recover(&pages, (), &mut self.media);
    }

    /// Power fails and comes back; then every page must read as it may, twice, and after all has been written to disk.
    pub(crate) fn restart(&mut self, stream: &mut Stream) -> Result<(), String> {
        self.power_off();
        self.recover();
        self.tier.assert_invariants();
        let mut seen = Vec::new();
        for page in (0..self.setup.disk_pages).map(Lpn::new) {
            let read = self.look(page);
            self.check(page, read, self.answered(page))?;
            seen.push(read);
        }
        // What was not answered and did not survive is gone for good.
        for (versions, &read) in self.pages.iter_mut().zip(&seen) {
            *versions = read.map(|version| Versions::between(version, version));
        }
        if stream.random_range(0..2_u32) == 0 {
            return Ok(());
        }
        for _ in 0..40 {
            let page = stream.random_range(0..self.setup.disk_pages);
            self.read(page, 1)?;
            self.work(stream)?;
        }
        Ok(())
    }

    /// What a page holds, without any request.
    fn look(&self, page: Lpn) -> Data {
        let cached = self.tier.cache().lookup(page);
        let ppn = cached.map(|slot| self.tier.ftl().lookup(Lpn::new(slot.get())).expect("it is in flash"));
        ppn.map_or_else(|| self.media.read_disk(page), |ppn| self.media.look(ppn))
    }
}
