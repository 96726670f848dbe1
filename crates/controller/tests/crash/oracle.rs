//! What a page may read as after a power cut.

use crate::media::{Fragile, Page, Sabotage};
use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Bytes, Lpn, Seed, Share, Time};
use coflash_controller::nvm::Layout;
use coflash_controller::{CacheConfig, CacheSize, Controller, CooperationConfig, Extent};
use coflash_flash::Geometry;
use coflash_ftl::{FreeMark, FtlConfig, GcConfig, Provisioning, Spare, Trigger};

/// What the host may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read(u32),
    Write(u32),
    /// One half of the page.
    Part(u32),
    Trim(u32),
    Flush,
    /// The interval between commits passes.
    Wait,
}

impl Operation {
    /// Every operation on the first so many pages.
    pub(crate) fn all(pages: u32) -> Vec<Self> {
        let on_pages = [Self::Read, Self::Write, Self::Part, Self::Trim];
        let each = (0..pages).flat_map(|page| on_pages.map(|operation| operation(page)));
        each.chain([Self::Flush]).collect()
    }

    pub(crate) fn draw(stream: &mut Stream, pages: u32) -> Self {
        // Half of all go to a quarter of the pages, so that a small cache hits.
        let hot = stream.random_range(0..2_u32) == 0;
        let page = stream.random_range(0..if hot { pages.div_ceil(4) } else { pages });
        match stream.random_range(0..32_u32) {
            0..8 => Self::Read(page),
            8..20 => Self::Write(page),
            20..25 => Self::Part(page),
            25..28 => Self::Trim(page),
            28..31 => Self::Flush,
            _ => Self::Wait,
        }
    }
}

/// Everything a device is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) cache: CacheConfig,
    pub(crate) cooperation: CooperationConfig,
    pub(crate) layout: Layout,
}

impl Setup {
    /// One plane of `blocks` blocks of `pages_per_block` pages, four blocks of them spare, and so many slots.
    pub(crate) fn new(
        blocks: u32,
        pages_per_block: u32,
        slots: u32,
        deletions: u32,
        trigger: Trigger,
    ) -> Self {
        let geometry = Geometry {
            channels: 1,
            blocks_per_plane: blocks,
            pages_per_block,
            page_size: Bytes { count: 16 },
            sector_size: Bytes { count: 8 },
            ..Geometry::default()
        };
        let share = Share { ppb: 4 * Share::ONE.ppb / u64::from(blocks) };
        let ftl = FtlConfig {
            spare: Spare { share, definition: Provisioning::SpareOfPhysical },
            ..FtlConfig::default()
        };
        let cache = CacheConfig {
            size: CacheSize::Bytes(Bytes { count: u64::from(slots) * 16 }),
            ..CacheConfig::default()
        };
        let cooperation = serde_json::from_value(serde_json::json!({
            "name": "cdm-consistent", "deletions_max": deletions, "commit_interval": "1us",
        }));
        Self {
            layout: Layout { slots, deletions, logical_pages: ftl.logical_pages(&geometry) },
            gc: GcConfig { low_mark: FreeMark::Blocks(1), trigger, ..GcConfig::default() },
            cooperation: cooperation.expect("a configuration"),
            geometry,
            ftl,
            cache,
        }
    }

    fn controller(&self) -> Controller {
        Controller::new(&self.geometry, &self.ftl, &self.gc, &self.cache, &self.cooperation, Seed(1))
            .unwrap_or_else(|(key, problem)| panic!("{key}: {problem}"))
    }
}

/// A device, what it should read as now, and what it may read as after a cut.
#[derive(Clone)]
pub(crate) struct Subject {
    setup: Setup,
    controller: Controller,
    pub(crate) media: Fragile,
    now: Vec<Page>,
    /// The pages as of each commit, the last of which may be under way; the first is the last known to be complete.
    commits: Vec<Vec<Page>>,
    stamp: u64,
    clock: u64,
}

impl Subject {
    pub(crate) fn new(setup: &Setup, sabotage: Sabotage) -> Self {
        let controller = setup.controller();
        let blank = vec![[0; 2]; setup.layout.logical_pages as usize];
        Self {
            media: Fragile::new(&setup.geometry, setup.layout, sabotage),
            setup: setup.clone(),
            controller,
            now: blank.clone(),
            commits: vec![blank],
            stamp: 0,
            clock: 0,
        }
    }

    pub(crate) fn pages(&self) -> u32 {
        self.setup.layout.logical_pages
    }

    /// Writes every page and commits.
    pub(crate) fn fill(&mut self) {
        for page in 0..self.pages() {
            self.apply(Operation::Write(page));
        }
        self.apply(Operation::Flush);
    }

    /// Does one operation; with power, a read must give what was last written.
    pub(crate) fn apply(&mut self, operation: Operation) {
        let before = (self.media.commits_stored, self.media.commits_fenced);
        // Whatever is committed in the course of an operation is committed before its own effect.
        let state = self.now.clone();
        self.stamp += 1;
        match operation {
            Operation::Read(page) => {
                self.media.host_writes([0; 2], [true; 2]);
                self.controller.read(Lpn::new(page), (), &mut self.media);
                if !self.media.is_dead() {
                    assert_eq!(self.media.host_reads(), self.now[page as usize], "{operation:?} with power");
                }
            }
            Operation::Write(page) => self.write(page, [true; 2]),
            Operation::Part(page) => {
                self.write(page, [self.stamp.is_multiple_of(2), !self.stamp.is_multiple_of(2)])
            }
            Operation::Trim(page) => {
                self.controller.trim(Lpn::new(page), &mut self.media);
                self.now[page as usize] = [0; 2];
            }
            Operation::Flush => self.controller.flush((), &mut self.media),
            Operation::Wait => {
                self.clock += 1000;
                self.controller.pass_time(Time { ns: self.clock }, &mut self.media);
            }
        }
        for _ in before.0..self.media.commits_stored {
            self.commits.push(state.clone());
        }
        for _ in before.1..self.media.commits_fenced {
            self.commits.remove(0);
        }
    }

    fn write(&mut self, page: u32, covered: [bool; 2]) {
        self.media.host_writes([self.stamp; 2], covered);
        let extent = if covered == [true; 2] { Extent::Whole } else { Extent::Part };
        self.controller.write(Lpn::new(page), extent, (), &mut self.media);
        for half in (0..2).filter(|&half| covered[half]) {
            self.now[page as usize][half] = self.stamp;
        }
    }

    /// Comes back after a cut (the media has been restarted) and checks every page; tells what is wrong.
    pub(crate) fn recover(&mut self) -> Result<(), String> {
        let Setup { geometry, ftl, gc, cache, cooperation, .. } = &self.setup;
        let (words, pages) = (self.media.words(), self.media.programmed().into_iter());
        let recovered = Controller::recover(
            geometry,
            ftl,
            gc,
            cache,
            cooperation,
            Seed(1),
            &words,
            pages,
            (),
            &mut self.media,
        );
        self.controller = recovered.map_err(|(key, problem)| format!("{key}: {problem}"))?;
        if self.media.is_dead() {
            // Cut again, while recovering.
            return Ok(());
        }
        // Power stays for the look at what came back.
        self.media.steps_left = u64::MAX;
        self.controller.assert_invariants();
        self.clock = 0;
        // A look at a copy, so that reading does not change what is looked at.
        let mut probe = self.clone();
        let found: Vec<Page> = (0..self.pages()).map(|page| probe.look(page)).collect();
        if !self.commits.contains(&found) {
            return Err(format!("after the cut: {found:?}\nis none of {:?}", self.commits));
        }
        self.now.clone_from(&found);
        self.commits = vec![found];
        self.media.commits_fenced = self.media.commits_stored;
        Ok(())
    }

    fn look(&mut self, page: u32) -> Page {
        self.media.host_writes([0; 2], [true; 2]);
        self.controller.read(Lpn::new(page), (), &mut self.media);
        self.media.host_reads()
    }

    pub(crate) fn check(&self) {
        self.controller.assert_invariants();
    }
}
