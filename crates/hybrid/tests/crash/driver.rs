//! Serves random requests over a tier, with a disk that does what waits for it in any order that keeps conflicts in order;
//! and knows what each page may read as.

use crate::media::{Destage, Fragile, Sabotage};
use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Bytes, Duration, Lpn, Seed, Share};
use coflash_cache::SlotId;
use coflash_flash::{Cause, Geometry};
use coflash_ftl::{Chips, FreeMark, Ftl, FtlConfig, GcConfig, Pools, Provisioning, Spare, Summary, Trigger};
use coflash_hybrid::costmodel::{Costs, DiskCosts, FlashCosts};
use coflash_hybrid::{ActiveBlocks, HybridConfig, LeaveId, SchemeConfig, Served, Tier};
use std::collections::BTreeMap;

/// A device to test on.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) name: String,
    geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) hybrid: HybridConfig,
    disk_pages: u32,
}

const PAGE_BYTES: u64 = 64;

impl Setup {
    fn new(scheme: &str, blocks: u32, pages_per_block: u32, disk_pages: u32, variant: usize) -> Self {
        let geometry = Geometry {
            channels: 1,
            blocks_per_plane: blocks,
            pages_per_block,
            page_size: Bytes { count: PAGE_BYTES },
            sector_size: Bytes { count: PAGE_BYTES },
            ..Geometry::default()
        };
        let ftl = FtlConfig {
            spare: Spare { share: Share::percent(30), definition: Provisioning::SpareOfPhysical },
            chips: Chips::RoundRobin,
            pools: Pools::Die,
            summary: if variant.is_multiple_of(2) { Summary::On } else { Summary::Off },
            shared_streams: if variant.is_multiple_of(3) {
                vec![]
            } else {
                FtlConfig::default().shared_streams
            },
            ..FtlConfig::default()
        };
        // Where streams have blocks of their own, classes have, too.
        let active_blocks =
            if variant.is_multiple_of(3) { ActiveBlocks::ByClass } else { ActiveBlocks::Mixed };
        let trigger = if variant % 2 == 1 { Trigger::Operation } else { Trigger::Write };
        let low_mark = FreeMark::Blocks(1 + u32::from(active_blocks == ActiveBlocks::ByClass));
        let gc = GcConfig { low_mark, trigger, ..GcConfig::default() };
        let hybrid = HybridConfig {
            scheme: SchemeConfig::by_name(scheme).expect("a scheme"),
            segment: Bytes { count: PAGE_BYTES * u64::from(blocks * pages_per_block / 8) },
            period_requests: 20,
            sequential_unit: Bytes { count: 4 * PAGE_BYTES },
            sequential_streams: 2,
            destage_pages: 3,
            active_blocks,
            ..HybridConfig::default()
        };
        let name = format!("{scheme} on {blocks} blocks, variant {variant}");
        Self { name, geometry, ftl, gc, hybrid, disk_pages }
    }

    pub(crate) fn all() -> Vec<Self> {
        let schemes = SchemeConfig::NAMES.iter().enumerate();
        schemes
            .flat_map(|(number, scheme)| {
                [Self::new(scheme, 24, 5, 48, number), Self::new(scheme, 20, 6, 80, number + 1)]
            })
            .collect()
    }

    pub(crate) fn large() -> Self {
        Self::new("op-fcl", 256, 16, 6000, 1)
    }

    fn tier(&self) -> Tier {
        let ftl = Ftl::new(&self.geometry, &self.ftl, &self.gc, self.hybrid.active_blocks.demands(), Seed(1))
            .expect("a device that fits");
        let us = |us: u64| Duration { ns: us * 1000 };
        let costs = Costs {
            flash: FlashCosts {
                pages_per_block: self.geometry.pages_per_block,
                page_program: us(300),
                page_read: us(125),
                page_copy: us(225),
                block_erase: us(1500),
            },
            disk: DiskCosts {
                read_positioning: us(4500),
                write_positioning: us(4900),
                bandwidth_bytes_per_s: 72_000_000,
                page_bytes: PAGE_BYTES,
            },
        };
        Tier::new(ftl, &self.geometry, self.ftl.summary, &self.hybrid, costs, self.disk_pages)
            .expect("a tier that fits")
    }
}

/// What waits for the disk.
#[derive(Clone, Debug)]
enum Job {
    Fetch { id: Option<u32>, first: Lpn, pages: u32, at_least: Vec<u64> },
    Destage(Destage),
    Overwrite { id: LeaveId, first: Lpn, data: Vec<u64>, done: usize },
}

impl Job {
    fn range(&self) -> (u32, u32, bool) {
        match self {
            Self::Fetch { first, pages, .. } => (first.get(), first.get() + pages, false),
            Self::Destage(Destage { page, .. }) => (page.get(), page.get() + 1, true),
            Self::Overwrite { first, data, .. } => (first.get(), first.get() + data.len() as u32, true),
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        let ((first, end, writes), (other_first, other_end, other_writes)) = (self.range(), other.range());
        (writes || other_writes) && first < other_end && other_first < end
    }
}

/// Versions of a page: counted through all writes, so that the newer is the larger.
#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    answered: u64,
    issued: u64,
}

#[derive(Clone)]
pub(crate) struct Driver {
    setup: Setup,
    tier: Tier,
    pub(crate) media: Fragile,
    jobs: Vec<Job>,
    pages: Vec<Versions>,
    version: u64,
    /// How often each thing that is to be tested has happened.
    pub(crate) seen: [(&'static str, u64); 8],
}

impl Driver {
    pub(crate) fn new(setup: &Setup, sabotage: Sabotage) -> Self {
        Self {
            tier: setup.tier(),
            media: Fragile::new(&setup.geometry, setup.disk_pages, sabotage),
            jobs: Vec::new(),
            pages: vec![Versions::default(); setup.disk_pages as usize],
            version: 0,
            seen: Default::default(),
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
        let draw = stream.random_range(0..10_u32);
        if self.media.is_dead() {
            return Ok(());
        }
        match draw {
            0..=3 => self.write(first, pages),
            4..=5 => self.read(first, pages)?,
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

    pub(crate) fn write(&mut self, first: u32, pages: u32) {
        self.tier.begin(true, Lpn::new(first), pages);
        let mut run: Option<(Lpn, Vec<u64>)> = None;
        let mut in_flash = Vec::new();
        for page in (first..first + pages).map(Lpn::new) {
            self.version += 1;
            self.media.host_writes = self.version;
            self.pages[page.get() as usize].issued = self.version;
            match self.tier.write(page, true, (), &mut self.media) {
                Served::Flash(()) => {
                    in_flash.push((page, self.version));
                    if let Some(run) = run.take() {
                        self.overwrite(run);
                    }
                }
                Served::Disk => run.get_or_insert((page, Vec::new())).1.push(self.version),
            }
        }
        if let Some(run) = run {
            self.overwrite(run);
        }
        self.tier.end((), &mut self.media);
        self.take_destages();
        for (page, version) in in_flash {
            self.answer(page, version);
        }
    }

    fn overwrite(&mut self, (first, data): (Lpn, Vec<u64>)) {
        let (id, ()) = self.tier.overwrite(first, data.len() as u32, (), &mut self.media);
        self.take_destages();
        self.jobs.push(Job::Overwrite { id, first, data, done: 0 });
    }

    fn take_destages(&mut self) {
        self.jobs.extend(self.media.destages.drain(..).map(Job::Destage));
        self.tier.started().for_each(drop);
    }

    fn answer(&mut self, page: Lpn, version: u64) {
        if !self.media.is_dead() {
            let versions = &mut self.pages[page.get() as usize];
            versions.answered = versions.answered.max(version);
        }
    }

    fn read(&mut self, first: u32, pages: u32) -> Result<(), String> {
        self.tier.begin(false, Lpn::new(first), pages);
        let mut run: Option<(Lpn, u32)> = None;
        for page in (first..first + pages).map(Lpn::new) {
            match self.tier.read(page, (), &mut self.media) {
                Served::Flash(()) => {
                    let read = self.media.host_reads;
                    self.check(page, read, self.pages[page.get() as usize].answered)?;
                    if let Some(run) = run.take() {
                        self.fetch(run);
                    }
                }
                Served::Disk => run.get_or_insert((page, 0)).1 += 1,
            }
        }
        if let Some(run) = run {
            self.fetch(run);
        }
        self.tier.end((), &mut self.media);
        self.take_destages();
        Ok(())
    }

    fn fetch(&mut self, (first, pages): (Lpn, u32)) {
        let id = self.tier.fetches().then(|| self.tier.fetch(first, pages));
        let range = first.get() as usize..(first.get() + pages) as usize;
        let at_least = self.pages[range].iter().map(|versions| versions.answered).collect();
        self.jobs.push(Job::Fetch { id, first, pages, at_least });
    }

    fn check(&self, page: Lpn, read: u64, at_least: u64) -> Result<(), String> {
        if self.media.is_dead() {
            return Ok(());
        }
        let issued = self.pages[page.get() as usize].issued;
        if read < at_least || read > issued {
            return Err(format!("{page:?} reads as {read}; {at_least} to {issued} was expected"));
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
        let may_go =
            |&index: &usize| self.jobs[..index].iter().all(|earlier| !earlier.conflicts(&self.jobs[index]));
        let free: Vec<_> = (0..self.jobs.len()).filter(may_go).collect();
        let Some(&index) = free.get(draw % free.len().max(1)) else { return Ok(()) };
        match self.jobs[index].clone() {
            Job::Fetch { id, first, pages, at_least } => {
                self.jobs.remove(index);
                for (page, at_least) in (first.get()..first.get() + pages).map(Lpn::new).zip(at_least) {
                    let data = self.media.read_disk(page);
                    self.check(page, data, at_least).or_else(|problem| {
                        // Flash may have become dirty after the read was on its way, and be the only one to know.
                        if self.tier.cache().lookup(page).is_some() { Ok(()) } else { Err(problem) }
                    })?;
                    self.media.fetched.extend(id.map(|id| (id, page, data)));
                }
                if let Some(id) = id {
                    self.tier.fetched(id, (), &mut self.media);
                    self.media.fetched.retain(|&(of, ..)| of != id);
                    self.take_destages();
                }
            }
            Job::Destage(Destage { group, page, data }) => {
                self.media.write_disk(page, data, true);
                self.jobs.remove(index);
                let more = |job: &Job| matches!(job, Job::Destage(other) if other.group == group);
                if !self.jobs.iter().any(more) {
                    self.tier.destaged(LeaveId::new(group), (), &mut self.media);
                }
            }
            Job::Overwrite { id, first, data, done } => {
                // A page at a time: power may fail in between.
                self.media.write_disk(Lpn::new(first.get() + done as u32), data[done], false);
                if let Job::Overwrite { done, .. } = &mut self.jobs[index] {
                    *done += 1;
                }
                if done + 1 == data.len() {
                    self.jobs.remove(index);
                    self.tier.overwritten(id, (), &mut self.media);
                    for (page, &version) in (first.get()..).map(Lpn::new).zip(&data) {
                        self.answer(page, version);
                    }
                }
            }
        }
        Ok(())
    }

    /// All that is in memory is gone.
    pub(crate) fn power_off(&mut self) {
        let (tally, mapping, flash) = (self.tier.tally(), self.tier.mapping_tally(), self.tier.ftl().tally());
        let now = [
            ("groups", tally.destage_groups),
            ("fills", tally.fills),
            ("overwrites", tally.bypassed_writes),
            ("divisions", tally.divisions),
            ("evictions", tally.clean_evictions),
            // The first is recovery's.
            ("checkpoints", mapping.checkpoints.saturating_sub(1)),
            ("GC copies", flash.programs_for(Cause::Gc)),
            ("drops", flash.gc_drops_pages),
        ];
        for (sum, (name, count)) in self.seen.iter_mut().zip(now) {
            *sum = (name, sum.1 + count);
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
            self.check(page, read, self.pages[page.get() as usize].answered)?;
            seen.push(read);
        }
        // What was not answered and did not survive is gone for good.
        for (versions, &read) in self.pages.iter_mut().zip(&seen) {
            *versions = Versions { answered: read, issued: read };
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
    fn look(&self, page: Lpn) -> u64 {
        let cached = self.tier.cache().lookup(page);
        let ppn = cached.map(|slot| self.tier.ftl().lookup(Lpn::new(slot.get())).expect("it is in flash"));
        ppn.map_or_else(|| self.media.read_disk(page), |ppn| self.media.look(ppn))
    }
}
