//! Levels over flash that keeps bytes, against the simplest correct model: an array of the data last written.

use super::lpn;
use super::media::Bytes;
use super::rig::{Moments, PastCache, Rig};
use super::setup::Setup;
use super::stack::{Device, Look, Stack, device_of};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Duration, Lpn, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{CopyAll, Coverage, Ftl, Io};
use coflash_level::cooperation::Scheme;
use coflash_level::{Level, May, RecoveryError, Tower};
use coflash_media::{Access, DieId, HostPage, Nvm, Place, Slot};
use coflash_testing::Image;
use std::ops::{Deref, DerefMut, Range};

/// Bytes of a page: two stores, so that a page can be torn; as few as partial writes need to overlap in every way.
pub(crate) const PAGE_BYTES: usize = 16;
pub(crate) type Page = [u8; PAGE_BYTES];

/// The bytes that a write with this stamp puts into a page, wherever it writes.
pub(crate) fn content(stamp: u64) -> Page {
    let word = |stamp: u64| stamp.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    [word(2 * stamp), word(2 * stamp + 1)].concat().try_into().expect("two words are a page")
}

/// The bytes that a partial write with this stamp covers: any, but not all.
pub(crate) fn part(stamp: u64) -> Range<usize> {
    let [start, length, ..] = content(stamp).map(usize::from);
    let start = start % PAGE_BYTES;
    let most = (PAGE_BYTES - start).min(PAGE_BYTES - 1);
    start..start + 1 + length % most
}

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read(Lpn),
    /// The page becomes a function of a stamp that counts operations.
    Write(Lpn),
    /// So does a part of it.
    Part(Lpn),
    Trim(Lpn),
    Flush,
    /// Time passes.
    Wait(Duration),
    /// All dies are idle for this number of GC steps.
    Idle(u32),
}

impl Operation {
    /// Mostly writes; half of all accesses go to an eighth of the pages, so that a small cache hits.
    pub(crate) fn draw(stream: &mut RandomStream, pages: u32) -> Self {
        let hot = stream.random_range(0..2) == 0;
        let page = lpn(stream.random_range(0..if hot { pages.div_ceil(8) } else { pages }));
        match stream.random_range(0..64) {
            0..18 => Self::Read(page),
            18..42 => Self::Write(page),
            42..54 => Self::Part(page),
            54..58 => Self::Trim(page),
            58..60 => Self::Flush,
            60..62 => Self::Wait(Duration { ns: 1000 }),
            _ => Self::Idle(stream.random_range(1..8)),
        }
    }
}

/// The host's accesses, counted at their source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// Writes of a part of a page that the topmost cache did not hold.
    pub(crate) part_misses: u64,
    /// Writes and trims of orphans in the topmost cache.
    pub(crate) orphans_saved: u64,
    pub(crate) flushes: u64,
    pub(crate) idle_steps: u64,
}

/// Levels, and their expected contents.
#[derive(Clone)]
pub(crate) struct Checked<L, M = Image> {
    pub(crate) rig: Rig<L, M>,
    pub(crate) model: Vec<Page>,
    pub(crate) seen: Seen,
    /// The longest time that passes before each operation.
    pub(crate) pace: Duration,
    pub(crate) stamp: u64,
    dies: u32,
}

impl<L, M> Deref for Checked<L, M> {
    type Target = Rig<L, M>;
    fn deref(&self) -> &Rig<L, M> {
        &self.rig
    }
}

impl<L, M> DerefMut for Checked<L, M> {
    fn deref_mut(&mut self) -> &mut Rig<L, M> {
        &mut self.rig
    }
}

impl Checked<Device> {
    pub(crate) fn device(setup: &Setup) -> Self {
        Self::new(setup.device(), setup.image(), setup.geometry.dies())
    }
}

impl<M: Bytes + Moments> Checked<Device, M> {
    /// The device comes back with its durable state. The model stays as it is.
    pub(crate) fn restart(&mut self, setup: &Setup) -> Result<(), RecoveryError<M::Error>> {
        let image = self.rig.media.image();
        let contents = image.contents();
        let io = &mut Io { media: &mut self.rig.media, hook: CopyAll, start: () };
        self.rig.level = device_of(&Tower::recover(setup.stack_config(), &contents, io)?);
        self.rig.now = Time::ZERO;
        let worn = Level::<M>::ftl(&self.rig.level).erase_counts().collect::<Vec<_>>();
        let erases = self.rig.media.image().contents().erases;
        // A superblock is a block of every plane.
        worn.chunks(erases.len()).for_each(|plane| assert_eq!(plane, erases, "erase counts"));
        Ok(())
    }
}

impl Checked<Stack> {
    pub(crate) fn stack(setup: &Setup) -> Self {
        Self::new(setup.stack(), setup.image(), setup.geometry.dies())
    }
}

impl<M: Bytes + Moments, L: Level<M> + Look> Checked<L, M> {
    pub(crate) fn new(level: L, media: M, dies: u32) -> Self {
        let pages = level.logical_pages() as usize;
        Self {
            rig: Rig::new(level, media),
            model: vec![[0; PAGE_BYTES]; pages],
            seen: Seen::default(),
            pace: Duration::ZERO,
            stamp: 0,
            dies,
        }
    }

    pub(crate) fn pages(&self) -> u32 {
        self.model.len() as u32
    }

    /// Does one operation. A read must return the data last written, unless power is gone.
    pub(crate) fn apply(&mut self, operation: Operation) -> Result<(), M::Error> {
        self.stamp += 1;
        if self.pace > Duration::ZERO {
            let lot = u64::from(content(self.stamp)[0]);
            self.rig.pass(Duration { ns: self.pace.ns * lot / 256 })?;
        }
        match operation {
            Operation::Read(page) => {
                self.seen.reads += 1;
                let found = self.look(page)?;
                let expected = self.model[page.get() as usize];
                assert!(
                    self.media.image().is_dead() || found == expected,
                    "{operation:?}: {found:?}, not {expected:?}"
                );
            }
            Operation::Write(page) => self.write_bytes(page, 0..PAGE_BYTES)?,
            Operation::Part(page) => {
                self.seen.part_misses += u64::from(self.cached(page).is_none());
                self.write_bytes(page, part(self.stamp))?;
            }
            Operation::Trim(page) => {
                self.note_orphan(page);
                self.rig.trim(page)?;
                self.model[page.get() as usize] = [0; PAGE_BYTES];
            }
            Operation::Flush => {
                self.seen.flushes += 1;
                self.rig.flush()?;
            }
            Operation::Wait(time) => self.rig.pass(time)?,
            Operation::Idle(steps) => self.idle(steps)?,
        }
        Ok(())
    }

    /// The bytes that the host reads.
    pub(crate) fn look(&mut self, page: Lpn) -> Result<Page, M::Error> {
        // Flash is not asked for a page that is nowhere: the host finds its own earlier data.
        self.media.image_mut().host_writes(0, &[0; PAGE_BYTES]);
        self.rig.read(page)?;
        Ok(self.media.image().host_reads().try_into().expect("a page"))
    }

    /// Writes these bytes of a page as the stamp says.
    pub(crate) fn write_bytes(&mut self, page: Lpn, bytes: Range<usize>) -> Result<(), M::Error> {
        self.seen.writes += 1;
        self.note_orphan(page);
        let data = content(self.stamp);
        // Bytes outside of the request are arbitrary.
        self.media.image_mut().host_writes(0, &[0xee; PAGE_BYTES]);
        self.media.image_mut().host_writes(bytes.start, &data[bytes.clone()]);
        let coverage = if bytes.len() == PAGE_BYTES { Coverage::Full } else { Coverage::Partial };
        self.rig.write(page, coverage)?;
        self.model[page.get() as usize][bytes.clone()].copy_from_slice(&data[bytes]);
        Ok(())
    }

    /// Where the topmost cache has a page.
    fn cached(&self, page: Lpn) -> Option<(&Cache, SlotId)> {
        let (_, cache) = self.level.caches().into_iter().next()?;
        Some((cache, cache.lookup(page)?))
    }

    fn note_orphan(&mut self, page: Lpn) {
        let is_orphan = self.cached(page).is_some_and(|(cache, slot)| cache.is_orphan(slot));
        self.seen.orphans_saved += u64::from(is_orphan);
    }

    fn idle(&mut self, steps: u32) -> Result<(), M::Error> {
        for die in (0..self.dies).map(DieId::new) {
            for _ in 0..steps {
                let had_work = self.rig.has_idle_work(die);
                if !self.rig.work_idle(die)? {
                    assert!(!had_work, "{die:?} had work and did none");
                    break;
                }
                self.seen.idle_steps += 1;
            }
        }
        Ok(())
    }

    /// Runs a random operation.
    pub(crate) fn apply_drawn(&mut self, stream: &mut RandomStream) -> Result<Operation, M::Error> {
        let operation = Operation::draw(stream, self.pages());
        self.apply(operation).map(|()| operation)
    }

    /// Reads every page.
    pub(crate) fn read_all(&mut self) -> Result<(), M::Error> {
        (0..self.pages()).map(lpn).try_for_each(|page| self.apply(Operation::Read(page)))
    }

    /// Writes every page.
    pub(crate) fn fill(&mut self) -> Result<(), M::Error> {
        (0..self.pages()).map(lpn).try_for_each(|page| self.apply(Operation::Write(page)))
    }

    /// Every page is somewhere at this moment, and every clean copy of it equals the data below; the levels
    /// are not asked.
    pub(crate) fn assert_nothing_is_lost(&mut self) {
        for page in (0..self.pages()).map(lpn) {
            // From the bottom up, whether it is the only one to be found there or not.
            let mut below = self.level.flash().lookup(page).map(|at| self.media.image().data(at).to_vec());
            let caches = self.level.caches();
            let copies = caches.into_iter().rev().filter_map(|(memory, cache)| {
                let slot = cache.lookup(page)?;
                Some((cache.is_dirty(slot), Slot { memory, number: slot.get() }))
            });
            for (is_dirty, slot) in copies.collect::<Vec<_>>() {
                let image = self.media.image_mut();
                image.access(slot, Access::Read { to: Place::Host }, ());
                let copy = image.host_reads().to_vec();
                assert!(
                    is_dirty || below.is_none_or(|below| below == copy),
                    "{page:?}: the clean copy in {slot:?}"
                );
                below = Some(copy);
            }
            let (found, expected) =
                (below.unwrap_or_else(|| vec![0; PAGE_BYTES]), self.model[page.get() as usize]);
            // A trimmed page may lie there until the trim is committed.
            assert!(
                found == expected || expected == [0; PAGE_BYTES],
                "{page:?} as it lies: {found:?}, not {expected:?}"
            );
        }
    }

    /// The out-of-band data of flash gives the place of each mapped page.
    pub(crate) fn assert_map_can_be_rebuilt(&self) {
        let rebuilt = self.media.image().rebuild_map(self.model.len());
        for page in self.level.flash().mapped() {
            assert_eq!(self.level.flash().lookup(page), rebuilt[page.get() as usize], "{page:?} as rebuilt");
        }
    }
}

impl Checked<Stack> {
    /// Panics unless a cache in the host and flash agree as the scheme promises in one device.
    pub(crate) fn assert_as_in_one_device(&self) {
        let May::Have(cache) = self.rig.level.below() else {
            panic!("a write-back cache in the host is asked for")
        };
        cache.scheme().assert_invariants(cache.cache(), self.rig.flash());
    }
}

impl<M: Bytes + Moments, L: Level<M> + Look> PastCache for Checked<L, M> {
    fn flash(&self) -> &Ftl {
        self.level.flash()
    }

    fn write_past_cache(&mut self, page: Lpn) {
        self.stamp += 1;
        let data = content(self.stamp);
        self.media.image_mut().host_writes(0, &data);
        self.rig.write_past_cache(page);
        self.model[page.get() as usize] = data;
    }
}
