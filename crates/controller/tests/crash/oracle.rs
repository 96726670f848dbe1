//! What a page may read as after a power cut.

use crate::media::{Fragile, Page, Sabotage};
use crate::setup::Setup;
use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Lpn, Seed, Time};
use coflash_controller::nvm::{Epoch, Layout};
use coflash_controller::{Controller, Extent};
use coflash_flash::DieId;

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
    /// All dies have nothing to do for so many steps of GC.
    Idle(u32),
}

impl Operation {
    /// Every operation on the first so many pages.
    pub(crate) fn all(pages: u32) -> Vec<Self> {
        let on_pages = [Self::Read, Self::Write, Self::Part, Self::Trim];
        let each = (0..pages).flat_map(|page| on_pages.map(|operation| operation(page)));
        each.chain([Self::Flush, Self::Idle(1)]).collect()
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
            28..30 => Self::Flush,
            30 => Self::Wait,
            _ => Self::Idle(stream.random_range(1..8)),
        }
    }
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

    pub(crate) fn is_pinned(&self) -> bool {
        self.cached.is_some_and(|[_, pinned, _]| pinned)
    }

    /// In S3 because GC dropped the flash copy.
    pub(crate) fn is_orphan(&self) -> bool {
        self.cached.is_some_and(|[_, _, orphan]| orphan)
    }
}

/// A device, what it should read as now, and what it may read as after a cut.
#[derive(Clone)]
pub(crate) struct Subject {
    setup: Setup,
    pub(crate) controller: Controller,
    pub(crate) media: Fragile,
    pub(crate) now: Vec<Page>,
    /// The pages as of each commit, the last of which may be under way; the first is the last known to be complete.
    commits: Vec<Vec<Page>>,
    stamp: u64,
    clock: u64,
    /// Steps of GC in idle time.
    pub(crate) idle_steps: u64,
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
            idle_steps: 0,
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

    /// Where page 0 is.
    pub(crate) fn page_0(&self) -> Whereabouts {
        let (cache, page) = (self.controller.cache(), Lpn::new(0));
        let older = cache.occupied().find(|&slot| cache.is_detached(slot) && cache.page_of(slot) == page);
        Whereabouts {
            mapped: self.controller.ftl().lookup(page).is_some(),
            cached: cache
                .lookup(page)
                .map(|slot| [cache.is_dirty(slot), cache.is_pinned(slot), cache.is_orphan(slot)]),
            older: older.map(|slot| cache.is_pinned(slot)),
        }
    }

    /// Goes on as if there had been so many commits.
    pub(crate) fn skip_to(&mut self, epoch: Epoch) {
        self.media.restart(|_| true);
        let mut words = self.media.words();
        words[Layout::COMMITTED as usize] = u64::from(epoch.0);
        self.media.set_words(words);
        self.recover().unwrap_or_else(|problem| panic!("{problem}"));
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
            Operation::Flush => self.controller.flush((), &mut self.media, &mut Vec::new()),
            Operation::Wait => {
                self.clock += 1000;
                self.controller.pass_time(Time { ns: self.clock }, (), &mut self.media);
            }
            Operation::Idle(steps) => self.idle(steps),
        }
        for _ in before.0..self.media.commits_stored {
            self.commits.push(state.clone());
        }
        for _ in before.1..self.media.commits_fenced {
            self.commits.remove(0);
        }
    }

    /// Without power GC finds nothing more to do.
    fn idle(&mut self, steps: u32) {
        for die in (0..self.setup.geometry.dies()).map(DieId::new) {
            for _ in 0..steps {
                let had_work = self.controller.ftl().has_idle_work(die);
                if self.media.is_dead() || !self.controller.work_idle(die, (), &mut self.media) {
                    assert!(self.media.is_dead() || !had_work, "{die:?} had work and did none");
                    break;
                }
                self.idle_steps += 1;
            }
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

    fn come_back(&mut self) -> Result<(), String> {
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
        Ok(())
    }

    /// Comes back after a cut (the media has been restarted) and checks every page; tells what is wrong.
    pub(crate) fn recover(&mut self) -> Result<(), String> {
        self.come_back()?;
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

    /// Takes whatever memory and flash say for true.
    pub(crate) fn adopt(&mut self) -> Result<(), String> {
        self.come_back()?;
        self.controller.assert_invariants();
        self.now = (0..self.pages()).map(|page| self.clone().look(page)).collect();
        self.commits = vec![self.now.clone()];
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
