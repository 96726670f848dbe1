//! The timeline: simulated flash, represented by the times at which dies and channels are busy.
//!
//! Each die (each plane, where planes overlap) serves its operations first come, first served. With private channels the end of
//! an operation is known at its issue, so the state of a die is one number and there is no event queue. With shared channels,
//! superblocks, read priority or a write buffer, the order of operations becomes known only as time advances: they wait in the
//! queues of [`crate::channel`], and a [`When`] may be relative to the end of an operation. Levels see no difference.

mod measures;
mod recording;
mod servers;
mod simulated;
#[cfg(test)]
mod tests;

use recording::Recording;
use servers::Servers;

pub use measures::{BufferedPages, DieTime, DiskTime, FlashOperations, Suspensions};
pub use servers::Busy;
pub use simulated::SimulatedMedia;

use crate::behind::Behind;
use crate::channel::{Awaited, Channels, Phases};
use crate::disk::Disks;
use crate::page_buffer::PageBuffer;
use crate::timing::CacheTimings;
use crate::{
    Access, BlockId, CacheTiming, Cause, Channel, Clock, Contents, DieId, Finished, Flash, FlashOperation,
    FoundPage, Geometry, Memory, Mode, Nvm, Oob, OperationKind, Place, Planes, Ppn, ReadPriority, Run, Slot,
    Tag, Timing, When,
};
use coflash_base::exponential::exponential;
use coflash_base::{Divisor, Duration, RandomStream, Save, Seed, Time};
use std::convert::Infallible;

/// The pages that may be on their way from die to die, for each die. With four, dies seldom wait for each other.
const COPIES_PER_DIE: u32 = 4;

/// The phases of each operation.
#[derive(Clone, Debug, Save)]
struct Costs {
    summary: Phases,
    erase: Phases,
    ecc_decode: Duration,
    /// A read of a page with one bit a cell in flash with several.
    slc_read: Phases,
    /// By the place of the page in its word line: one, unless its pages differ.
    by_place: Vec<CostsOfPage>,
}

/// The phases of operations on a page.
#[derive(Clone, Copy, Debug, Save)]
struct CostsOfPage {
    read: Phases,
    /// By [`Mode`].
    into: [CostsInto; 3],
}

/// The phases of operations that depend on the program mode.
#[derive(Clone, Copy, Debug, Save)]
struct CostsInto {
    program: Phases,
    /// A copy within a plane.
    copy: Phases,
    /// A copy between planes: out to the controller and back, with or without copy-back.
    copy_across: Phases,
}

/// Simulated flash.
#[derive(Clone, Debug, Save)]
pub struct Timeline {
    geometry: Geometry,
    planes: Planes,
    /// Divides by the number of pages of each die (or plane). They are contiguous, unless blocks are striped.
    by_pages_per_server: Divisor,
    /// The number of planes over which the pages of a block are striped; 1 if each block is in one plane.
    stripe_planes: u32,
    /// The server of each of these planes. The stripe goes round the dies first.
    stripe: Vec<u32>,
    /// The blocks of each of these planes that are erased together.
    stripe_blocks: u32,
    /// The first group of erases after the last one of each superblock.
    erased: Vec<u64>,
    timing: Timing,
    costs: Costs,
    caches: CacheTimings,
    /// The blocks with one bit a cell; empty until there is one.
    slc_blocks: Vec<bool>,
    /// Draws the times of programs, if they are random.
    program_times: Option<RandomStream>,
    /// Whether programs of data are alike, but for their mode: by the place of the page, by chance, in superblocks.
    has_alike: bool,
    servers: Servers,
    operations: FlashOperations,
    #[save(each)]
    behind: Option<Box<Behind>>,
    /// Whether time must be advanced event by event.
    has_events: bool,
    /// Moments caused by a level and not reported yet.
    unreported: Vec<Finished>,
    #[save(skip)]
    recording: Option<Box<Recording>>,
}

impl Timeline {
    /// Create the timeline of an idle device.
    #[must_use]
    pub fn new(geometry: &Geometry, timing: &Timing, caches: CacheTimings) -> Self {
        let transfer = timing.sector_transfer * (geometry.page_size.count / geometry.sector_size.count);
        let none = Duration::ZERO;
        let out_and_in = transfer * 2 + timing.ecc_decode;
        let of_place = |place| {
            let (page_read, page_program) = timing.of_page(place);
            let into = |finish| {
                let copy = |bus| Phases::new(page_read, bus, finish);
                CostsInto {
                    program: Phases::new(none, transfer, finish),
                    copy: copy(if timing.copy_back { none } else { out_and_in }),
                    copy_across: copy(out_and_in),
                }
            };
            let fast = timing.page_program_fast.filter(|_| page_program > none).unwrap_or(page_program);
            CostsOfPage {
                read: Phases::new(page_read, transfer, none),
                into: [page_program, fast, timing.slc_page_program.unwrap_or(timing.page_program)].map(into),
            }
        };
        let costs = Costs {
            // A summary is one sector long.
            summary: Phases::new(none, timing.sector_transfer, timing.page_program),
            erase: Phases::new(none, none, timing.block_erase),
            ecc_decode: timing.ecc_decode,
            slc_read: Phases::new(timing.slc_page_read.unwrap_or(timing.page_read), transfer, none),
            by_place: (0..timing.word_line_pages()).map(of_place).collect(),
        };
        let (servers, per_die) = match timing.planes {
            Planes::Serial => (geometry.dies(), 1),
            Planes::Parallel => (geometry.dies() * geometry.planes_per_die, geometry.planes_per_die),
        };
        let pages_per_server = geometry.blocks_per_die() / per_die * geometry.pages_per_block;
        let timeline = Self {
            geometry: geometry.clone(),
            planes: timing.planes,
            by_pages_per_server: Divisor::new(pages_per_server),
            stripe_planes: 1,
            stripe: Vec::new(),
            stripe_blocks: 1,
            erased: Vec::new(),
            timing: timing.clone(),
            costs,
            caches,
            slc_blocks: Vec::new(),
            program_times: None,
            has_alike: timing.word_line_pages() == 1,
            servers: Servers {
                free_at: vec![Time::ZERO; servers as usize],
                by_events: false,
                channels: Channels::new(Vec::new(), timing),
                programmed_at: Time::ZERO,
                busy: Busy::default(),
            },
            operations: FlashOperations::default(),
            behind: None,
            has_events: false,
            unreported: Vec::new(),
            recording: None,
        };
        if timing.channel == Channel::Shared || timing.read_priority != ReadPriority::None {
            timeline.by_events()
        } else {
            timeline
        }
    }

    /// Stripe each block over all planes: pages and blocks are those of [`Geometry::superblocks`]. A page that is copied from
    /// die to die is in the controller from the start of its read to the end of its program; there is room for `copies` pages, by
    /// default four for each die (or plane).
    #[must_use]
    pub fn with_superblocks(self, blocks: u32, copies: Option<u32>) -> Self {
        let units = (self.geometry.blocks_per_plane / blocks) as usize;
        let copies = copies.unwrap_or(COPIES_PER_DIE * self.servers.free_at.len() as u32);
        let (dies, planes) = (self.geometry.dies(), self.geometry.planes_per_die);
        let stripe = (0..dies * planes).map(|plane| match self.planes {
            Planes::Serial => plane % dies,
            Planes::Parallel => plane % dies * planes + plane / dies,
        });
        let (stripe, stripe_planes, erased) = (stripe.collect(), dies * planes, vec![0; units]);
        let striped = Self { stripe, stripe_planes, stripe_blocks: blocks, erased, ..self.by_events() };
        let mut timeline = Self { has_alike: false, ..striped };
        timeline.servers.channels.serve_ready(copies, timeline.costs.ecc_decode);
        timeline
    }

    /// Add the write buffer of a controller, with room for `pages` pages; at most one page leaves in each
    /// `page_drain`.
    #[must_use]
    pub fn with_write_buffer(self, pages: u32, page_drain: Duration) -> Self {
        let mut timeline = self.by_events();
        timeline.servers.channels.set_buffer(PageBuffer::new(pages, page_drain));
        timeline
    }

    /// Draw a time for each program: exponentially distributed, with the fixed time as its mean.
    #[must_use]
    pub fn with_exponential_programs(self, seed: Seed) -> Self {
        Self { program_times: Some(seed.stream("flash/programs")), has_alike: false, ..self }
    }

    /// Take the contents found at power on: blocks with one bit per cell are read faster.
    pub fn find(&mut self, contents: &Contents) {
        let is_slc = |found: &&FoundPage| found.oob().is_some_and(|oob| oob.mode == Mode::Slc);
        for found in contents.pages.iter().filter(is_slc) {
            self.set_slc(self.erase_unit(found.page()), true);
        }
    }

    /// Let dies work event by event.
    fn by_events(mut self) -> Self {
        if self.servers.by_events {
            return self;
        }
        let servers = self.servers.free_at.len() as u32;
        let per_die = servers / self.geometry.dies();
        let channel_of = |server| match self.timing.channel {
            Channel::Shared => self.geometry.channel_of(DieId::new(server / per_die)),
            Channel::Private => server,
        };
        self.servers.channels = Channels::new((0..servers).map(channel_of).collect(), &self.timing);
        (self.servers.by_events, self.has_events) = (true, true);
        self
    }

    /// Add disks behind flash.
    #[must_use]
    pub fn with_disks(self, disks: Disks) -> Self {
        Self { behind: Some(Box::new(Behind::new(disks))), has_events: true, ..self }
    }

    fn tell_as(&mut self, when: When, tag: Tag) {
        let op = when.op.expect("only a time that is not known yet is told");
        self.servers.channels.tell(op, when.ns, tag);
    }

    fn behind(&self) -> &Behind {
        self.behind.as_ref().expect("there are disks")
    }

    fn behind_mut(&mut self) -> &mut Behind {
        self.behind.as_mut().expect("there are disks")
    }

    fn servers_of(&self, die: DieId) -> std::ops::Range<usize> {
        let (die, planes) = (die.get() as usize, self.geometry.planes_per_die as usize);
        match self.planes {
            Planes::Serial => die..die + 1,
            Planes::Parallel => die * planes..(die + 1) * planes,
        }
    }

    #[inline(always)]
    fn cache(&self, slot: Slot) -> CacheTiming {
        match slot.memory {
            Memory::HostBuffer => self.caches.host_buffer,
            Memory::Host => self.caches.host,
            Memory::Device => self.caches.device,
        }
    }

    #[inline(always)]
    fn server_of(&self, page: Ppn) -> usize {
        if self.stripe_planes == 1 {
            self.by_pages_per_server.divide(page.get()) as usize
        } else {
            self.stripe[(page.get() % self.stripe_planes) as usize] as usize
        }
    }

    /// The costs of operations on a page.
    #[inline(always)]
    fn costs_of(&self, page: Ppn) -> &CostsOfPage {
        let places = self.costs.by_place.len();
        // Blocks begin with a word line.
        let row = || (page.get() / self.stripe_planes) as usize;
        &self.costs.by_place[if places == 1 { 0 } else { row() % places }]
    }

    /// The costs of a copy between pages of a server, where all pages are equal.
    #[inline(always)]
    fn copy_costs(&self, from: Ppn, to: Ppn, mode: Mode) -> Phases {
        let into = &self.costs_of(to).into[mode as usize];
        if self.share_plane(from, to) { into.copy } else { into.copy_across }
    }

    /// Whether the costs of an operation depend on its page.
    #[inline(always)]
    fn pages_differ(&self) -> bool {
        self.costs.by_place.len() > 1 || !self.slc_blocks.is_empty()
    }

    /// The phases of a program or a copy, with a time of its own if program times are random.
    #[inline(always)]
    fn drawn(&mut self, phases: Phases) -> Phases {
        let Some(stream) = &mut self.program_times else { return phases };
        let finish_ns = phases.finish.ns as f64 * exponential(stream);
        Phases::new(phases.array, phases.bus, Duration { ns: (finish_ns + 0.5) as u64 })
    }

    #[inline(always)]
    fn read_costs(&self, page: Ppn) -> &Phases {
        if !self.slc_blocks.is_empty() && self.slc_blocks[self.erase_unit(page)] {
            return &self.costs.slc_read;
        }
        &self.costs_of(page).read
    }

    /// The number of pages of a block, or of a superblock.
    #[inline(always)]
    fn pages_per_unit(&self) -> u32 {
        self.geometry.pages_per_block * self.stripe_planes * self.stripe_blocks
    }

    /// The index of the block of a page, or of its superblock.
    #[inline(always)]
    fn erase_unit(&self, page: Ppn) -> usize {
        (page.get() / self.pages_per_unit()) as usize
    }

    /// Note whether a block has one bit a cell.
    #[inline(never)]
    fn set_slc(&mut self, unit: usize, is_slc: bool) {
        if self.slc_blocks.is_empty() {
            self.slc_blocks = vec![false; self.geometry.blocks() as usize];
        }
        self.slc_blocks[unit] = is_slc;
    }

    /// Whether both pages are in one plane.
    #[inline(always)]
    fn share_plane(&self, one: Ppn, other: Ppn) -> bool {
        if self.stripe_planes > 1 {
            return one.get() % self.stripe_planes == other.get() % self.stripe_planes;
        }
        let plane = |page| self.geometry.plane_of(self.geometry.block_of(page));
        self.geometry.planes_per_die == 1 || plane(one) == plane(other)
    }
}

impl Clock for Timeline {
    type When = When;

    #[inline]
    fn later(&self, after: When, by: Duration) -> When {
        after.plus(by)
    }

    #[inline]
    fn both(&mut self, one: When, other: When) -> When {
        if one.op.is_some() || other.op.is_some() {
            self.servers.channels.both(one, other)
        } else {
            When { op: None, ns: one.ns.max(other.ns) }
        }
    }

    #[inline]
    fn known(&self, when: When) -> Option<Time> {
        when.known()
    }
}

impl Flash for Timeline {
    type Error = Infallible;

    #[inline]
    fn read(&mut self, page: Ppn, _: Place, cause: Cause, after: When) -> Result<When, Infallible> {
        self.operations.reads_pages += 1;
        self.operations.transfers_pages += 1;
        let phases = *self.read_costs(page);
        let read = self.servers.issue_read(self.server_of(page), &phases, cause, after);
        if !self.erased.is_empty() {
            self.servers.note(read, Awaited::Read);
        }
        let done = read.plus(self.costs.ecc_decode);
        self.record(after, done, || FlashOperation::new(OperationKind::Read, page, cause));
        Ok(done)
    }

    #[inline(always)]
    fn program(
        &mut self,
        page: Ppn,
        oob: Oob,
        from: Place,
        cause: Cause,
        after: When,
    ) -> Result<When, Infallible> {
        let after = if let Place::Slot(slot) = from { after.plus(self.cache(slot).read) } else { after };
        self.operations.programs_pages += 1;
        self.operations.transfers_pages += 1;
        let apart;
        let (server, phases, row, after) = if self.has_alike && oob.lpn.is_some() && oob.mode != Mode::Slc {
            let phases = &self.costs.by_place[0].into[oob.mode as usize].program;
            (self.by_pages_per_server.divide(page.get()) as usize, phases, None, after)
        } else {
            apart = self.apart(page, oob, after);
            (apart.0, &apart.1, apart.2, apart.3)
        };
        let done = self.servers.issue_into(server, phases, row, cause, after);
        self.servers.note_program(done);
        self.record(after, done, || {
            let operation = FlashOperation::new(OperationKind::Program, page, cause);
            FlashOperation { lpn: oob.lpn, ..operation }
        });
        Ok(done)
    }

    #[inline]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, after: When) -> Result<When, Infallible> {
        let (source, target) = (self.server_of(from), self.server_of(to));
        self.operations.reads_pages += 1;
        self.operations.programs_pages += 1;
        let done = if self.stripe_planes > 1 && source != target {
            let (read, program) = (*self.read_costs(from), self.costs_of(to).into[oob.mode as usize].program);
            self.operations.transfers_pages += 2;
            let program = self.drawn(program);
            let erases = self.erased[self.erase_unit(to)];
            let steps = [(source, &read), (target, &program)];
            self.servers.count(&read, cause);
            self.servers.count(&program, cause);
            When::end_of(self.servers.channels.copy_across(steps, self.row(to), after, erases))
        } else {
            let mut phases = self.copy_costs(from, to, oob.mode);
            if self.pages_differ() {
                phases = Phases::new(self.read_costs(from).array, phases.bus, phases.finish);
            }
            self.operations.transfers_pages += if phases.bus == Duration::ZERO { 0 } else { 2 };
            let phases = self.drawn(phases);
            let after = self.once_erased(to, after);
            let done = self.servers.issue_into(target, &phases, self.row(to), cause, after);
            if !self.erased.is_empty() {
                self.servers.note(done, Awaited::Copy);
            }
            done
        };
        self.record(after, done, || {
            let operation = FlashOperation::new(OperationKind::Copy, to, cause);
            FlashOperation { from: Some(from), lpn: oob.lpn, ..operation }
        });
        Ok(done)
    }

    /// With equal pages and programs the copies of a run are looked up and counted at once. A recorder gets each.
    fn copy_run(
        &mut self,
        run: Run,
        oob: impl Fn(u32, Ppn) -> Oob,
        cause: Cause,
        after: When,
    ) -> (u32, Result<(), Infallible>) {
        let pages = run.pages.count_ones();
        let is_each_apart = self.pages_differ() || self.program_times.is_some() || self.recording.is_some();
        if is_each_apart {
            for (number, (from, to)) in (0..).zip(run.copies()) {
                let Ok(_) = self.copy(from, to, oob(number, from), cause, after);
            }
        } else if !self.erased.is_empty() {
            self.copy_striped(run, oob(0, run.first), cause, after);
        } else {
            let phases = self.copy_costs(run.first, run.to, oob(0, run.first).mode);
            let count = u64::from(pages);
            self.operations.reads_pages += count;
            self.operations.programs_pages += count;
            self.operations.transfers_pages += if phases.bus == Duration::ZERO { 0 } else { 2 * count };
            self.servers.issue_run(self.server_of(run.to), &phases, pages, cause, after);
        }
        (pages, Ok(()))
    }

    #[inline]
    fn erase(&mut self, block: BlockId, cause: Cause, after: When) -> Result<When, Infallible> {
        self.operations.erases_blocks += u64::from(self.stripe_planes * self.stripe_blocks);
        if !self.slc_blocks.is_empty() {
            self.set_slc(block.get() as usize, false);
        }
        let first = Ppn::new(block.get() * self.pages_per_unit());
        let done = if self.erased.is_empty() {
            self.servers.issue(self.server_of(first), &self.costs.erase, cause, after)
        } else {
            self.erase_superblock(block.get() as usize, cause, after)
        };
        self.record(after, done, || FlashOperation::new(OperationKind::Erase, first, cause));
        Ok(done)
    }

    fn await_programs(&mut self, parts: &mut Vec<When>) {
        if self.servers.by_events {
            parts.extend(self.servers.channels.all_ended(Awaited::Program, None));
        } else {
            parts.push(When::at(self.servers.programmed_at));
        }
    }

    fn backlog(&self, die: DieId, now: When) -> u64 {
        let backlog_ns = |server: usize| {
            if self.servers.by_events {
                self.servers.channels.backlog_ns(server)
            } else {
                self.servers.free_at[server].ns.saturating_sub(now.ns)
            }
        };
        self.servers_of(die).map(backlog_ns).fold(0, u64::saturating_add)
    }
}

impl Nvm for Timeline {
    #[inline]
    fn access(&mut self, slot: Slot, access: Access, after: When) -> When {
        let timing = self.cache(slot);
        after.plus(match access {
            Access::Read { .. } => timing.read,
            Access::Write { from: Place::Slot(other) } | Access::WriteNew { from: Place::Slot(other) } => {
                self.cache(other).read + timing.write
            }
            Access::Write { .. } | Access::WriteNew { .. } | Access::Fill { .. } => timing.write,
        })
    }

    fn store(&mut self, _: u32, _: u64) {}

    fn buffer(&mut self, after: When) -> When {
        self.servers.channels.take_room(after)
    }

    fn unbuffer(&mut self, done: When) {
        self.servers.channels.give_room(done);
    }

    fn fence(&mut self) {}
}

impl Timeline {
    /// The row of programs of a page ([`Channels::issue_into`]): where pages differ, the pages of its superblock on its die.
    #[inline(always)]
    fn row(&self, page: Ppn) -> Option<usize> {
        let has_rows = self.costs.by_place.len() > 1 && !self.erased.is_empty();
        has_rows.then(|| self.erase_unit(page) * self.servers.free_at.len() + self.server_of(page))
    }

    /// Copy pages of superblocks, where pages and programs are equal: what is equal for all is looked up and counted once.
    fn copy_striped(&mut self, run: Run, oob: Oob, cause: Cause, after: When) {
        let costs = self.costs_of(run.to);
        let (read, program) = (costs.read, costs.into[oob.mode as usize].program);
        let erases = self.erased[self.erase_unit(run.to)];
        let mut across = 0;
        for (from, to) in run.copies() {
            let (source, target) = (self.server_of(from), self.server_of(to));
            if source == target {
                let Ok(_) = self.copy(from, to, oob, cause, after);
            } else {
                self.servers.channels.copy_across([(source, &read), (target, &program)], None, after, erases);
                across += 1;
            }
        }
        self.operations.reads_pages += across;
        self.operations.programs_pages += across;
        self.operations.transfers_pages += 2 * across;
        self.servers.count(&read.many(across), cause);
        self.servers.count(&program.many(across), cause);
    }

    /// The moment at which the page of a superblock is erased, and not before `after`.
    #[inline(always)]
    fn once_erased(&mut self, page: Ppn, after: When) -> When {
        if self.erased.is_empty() {
            return after;
        }
        let number = self.erased[self.erase_unit(page)];
        let erased = self.servers.channels.all_ended(Awaited::Erase, Some(number));
        erased.map_or(after, |erased| self.both(after, erased))
    }

    /// Erase the blocks of a superblock, the first one of every plane first, after all that was issued before.
    fn erase_superblock(&mut self, unit: usize, cause: Cause, mut after: When) -> When {
        for kind in [Awaited::Read, Awaited::Program, Awaited::Copy] {
            let ended = self.servers.channels.all_ended(kind, None);
            after = ended.map_or(after, |ended| self.both(after, ended));
        }
        let mut done = None;
        for block in 0..self.stripe_blocks * self.stripe_planes {
            let server = self.stripe[(block % self.stripe_planes) as usize] as usize;
            let erased = self.servers.issue(server, &self.costs.erase, cause, after);
            self.servers.note(erased, Awaited::Erase);
            done = Some(done.map_or(erased, |before| self.both(before, erased)));
        }
        self.erased[unit] = self.servers.channels.noted(Awaited::Erase);
        done.expect("a device has planes")
    }
}
