//! The timeline: simulated flash, represented by the times at which dies and channels are busy.
//!
//! Each die (each plane, where planes overlap) serves its operations first come, first served. With private
//! channels the end of an operation is known at its issue, so the state of a die is one number and there is
//! no event queue. With shared channels, read priority or a write buffer, the order of operations becomes
//! known only as time advances: they wait in the queues of [`crate::channel`], and a [`When`] may be relative
//! to the end of an operation. Levels see no difference.

mod measures;
mod recording;
#[cfg(test)]
mod tests;

use recording::Recording;

pub use measures::{BufferedPages, Busy, DieTime, DiskTime, FlashOperations, Suspensions};

use crate::behind::Behind;
use crate::channel::{Channels, Phases};
use crate::disk::Disks;
use crate::timing::CacheTimings;
use crate::write_buffer::WriteBuffer;
use crate::{
    Access, Backed, BlockId, CacheTiming, Cause, Channel, Clock, Contents, DieId, Finished, Flash,
    FlashOperation, Geometry, Memory, Mode, Nvm, Oob, OperationKind, Place, Planes, Ppn, ReadPriority, Run,
    SimulatedMedia, Slot, Tag, Timing, Transfer, When,
};
use coflash_base::measure::{Report, ratio};
use coflash_base::{Duration, Time};
use std::convert::Infallible;

/// The phases of each operation.
#[derive(Clone, Debug)]
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
#[derive(Clone, Copy, Debug)]
struct CostsOfPage {
    read: Phases,
    /// By [`Mode`].
    into: [CostsInto; 3],
}

/// The phases of operations that depend on the program mode.
#[derive(Clone, Copy, Debug)]
struct CostsInto {
    program: Phases,
    /// A copy within a plane.
    copy: Phases,
    /// A copy between planes: out to the controller and back, with or without copy-back.
    copy_across: Phases,
}

/// Simulated flash.
#[derive(Clone, Debug)]
pub struct Timeline {
    geometry: Geometry,
    planes: Planes,
    /// The number of pages of each die (or plane). They are contiguous, unless blocks are striped.
    pages_per_server: u32,
    /// The number of planes over which the pages of a block are striped; 1 if each block is in one plane.
    stripe_planes: u32,
    /// The blocks of each of these planes that are erased together.
    stripe_blocks: u32,
    timing: Timing,
    costs: Costs,
    caches: CacheTimings,
    /// The blocks with one bit a cell; empty until there is one.
    slc_blocks: Vec<bool>,
    servers: Servers,
    operations: FlashOperations,
    behind: Option<Box<Behind>>,
    /// Whether time must be advanced event by event.
    has_events: bool,
    /// Moments caused by a level and not reported yet.
    unreported: Vec<Finished>,
    recording: Option<Box<Recording>>,
}

/// Dies (or planes) and the times until which they are busy.
#[derive(Clone, Debug)]
struct Servers {
    /// The time at which each becomes idle. Unused with shared channels.
    free_at: Vec<Time>,
    by_events: bool,
    /// Dies with an unknown future, and moments that depend on others.
    channels: Channels,
    /// The end of the last program. Unused with shared channels.
    programmed_at: Time,
    busy: Busy,
}

impl Servers {
    #[inline(always)]
    fn count(&mut self, phases: &Phases, cause: Cause) {
        let busy = if cause == Cause::Gc { &mut self.busy.gc } else { &mut self.busy.other };
        *busy = *busy + phases.total;
        self.busy.bus = self.busy.bus + phases.bus;
    }

    /// The time that dies were busy, suspensions included.
    fn busy(&self) -> Busy {
        let (_, suspended) = self.channels.suspensions();
        Busy { other: self.busy.other + suspended, ..self.busy }
    }

    #[inline(always)]
    fn issue(&mut self, server: usize, phases: &Phases, cause: Cause, after: When) -> When {
        self.count(phases, cause);
        if self.by_events {
            When::end_of(self.channels.issue(server, *phases, after))
        } else {
            debug_assert!(after.op.is_none(), "with private channels every operation begins at a known time");
            let free_at = &mut self.free_at[server];
            *free_at = Time { ns: free_at.ns.max(after.ns) } + phases.total;
            When::at(*free_at)
        }
    }

    /// As `issue`, for operations one after another without followers.
    #[inline(always)]
    fn issue_run(&mut self, server: usize, phases: &Phases, count: u32, cause: Cause, after: When) {
        let times = |span: Duration| span * u64::from(count);
        let all = Phases { bus: times(phases.bus), total: times(phases.total), ..*phases };
        if self.by_events {
            self.count(&all, cause);
            self.channels.issue_run(server, *phases, count, after);
        } else {
            self.issue(server, &all, cause, after);
        }
    }

    /// As `issue`, for a read.
    #[inline(always)]
    fn issue_read(&mut self, server: usize, phases: &Phases, cause: Cause, after: When) -> When {
        if self.by_events {
            self.count(phases, cause);
            When::end_of(self.channels.issue_read(server, *phases, after))
        } else {
            self.issue(server, phases, cause, after)
        }
    }

    /// Record that the last issued operation is a program, so that a flush may wait for it.
    #[inline(always)]
    fn note_program(&mut self, done: When) {
        match done.op {
            Some(op) => self.channels.note_program(op),
            None => self.programmed_at.ns = self.programmed_at.ns.max(done.ns),
        }
    }
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
            pages_per_server,
            stripe_planes: 1,
            stripe_blocks: 1,
            timing: timing.clone(),
            costs,
            caches,
            slc_blocks: Vec::new(),
            servers: Servers {
                free_at: vec![Time::ZERO; servers as usize],
                by_events: false,
                channels: Channels::new(Vec::new(), timing, WriteBuffer::default()),
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
            timeline.by_events(WriteBuffer::default())
        } else {
            timeline
        }
    }

    /// Stripe each block over all planes: pages and blocks are those of [`Geometry::superblocks`].
    #[must_use]
    pub fn with_superblocks(self, blocks: u32) -> Self {
        Self { stripe_planes: self.geometry.planes(), stripe_blocks: blocks, ..self }
    }

    /// Add the write buffer of a controller, with room for `pages` pages; at most one page leaves in each
    /// `page_drain`.
    #[must_use]
    pub fn with_write_buffer(self, pages: u32, page_drain: Duration) -> Self {
        self.by_events(WriteBuffer::new(pages, page_drain))
    }

    /// Take the contents found at power on: blocks with one bit per cell are read faster.
    pub fn find(&mut self, contents: &Contents) {
        for (page, _) in contents.pages.iter().filter(|(_, oob)| oob.is_some_and(|oob| oob.mode == Mode::Slc))
        {
            self.set_slc(self.erase_unit(*page), true);
        }
    }

    /// Let dies work event by event.
    fn by_events(mut self, buffer: WriteBuffer) -> Self {
        let servers = self.servers.free_at.len() as u32;
        let per_die = servers / self.geometry.dies();
        let channel_of = |server| match self.timing.channel {
            Channel::Shared => self.geometry.channel_of(DieId::new(server / per_die)),
            Channel::Private => server,
        };
        self.servers.channels = Channels::new((0..servers).map(channel_of).collect(), &self.timing, buffer);
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
            (page.get() / self.pages_per_server) as usize
        } else {
            self.server_of_plane(page.get() % self.stripe_planes)
        }
    }

    /// The server of a plane of the stripe; the stripe goes round the dies first.
    fn server_of_plane(&self, plane: u32) -> usize {
        let (die, plane) = (plane % self.geometry.dies(), plane / self.geometry.dies());
        match self.planes {
            Planes::Serial => die as usize,
            Planes::Parallel => (die * self.geometry.planes_per_die + plane) as usize,
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

    #[inline(always)]
    fn read_costs(&self, page: Ppn) -> &Phases {
        if !self.slc_blocks.is_empty() && self.slc_blocks[self.erase_unit(page)] {
            return &self.costs.slc_read;
        }
        &self.costs_of(page).read
    }

    /// The index of the block of a page, or of its superblock.
    #[inline(always)]
    fn erase_unit(&self, page: Ppn) -> usize {
        (page.get() / (self.geometry.pages_per_block * self.stripe_planes * self.stripe_blocks)) as usize
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
            When::end_of(self.servers.channels.both(one, other))
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
        let done = read.plus(self.costs.ecc_decode);
        self.record(FlashOperation::new(OperationKind::Read, page, cause), after, done);
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
        let phases = if oob.lpn.is_some() {
            self.costs_of(page).into[oob.mode as usize].program
        } else {
            self.costs.summary
        };
        if oob.mode == Mode::Slc {
            self.set_slc(self.erase_unit(page), true);
        }
        self.operations.programs_pages += 1;
        self.operations.transfers_pages += 1;
        let done = self.servers.issue(self.server_of(page), &phases, cause, after);
        self.servers.note_program(done);
        let operation = FlashOperation::new(OperationKind::Program, page, cause);
        self.record(FlashOperation { lpn: oob.lpn, ..operation }, after, done);
        Ok(done)
    }

    #[inline]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, after: When) -> Result<When, Infallible> {
        let (source, target) = (self.server_of(from), self.server_of(to));
        self.operations.reads_pages += 1;
        self.operations.programs_pages += 1;
        let done = if self.stripe_planes > 1 && source != target {
            let (read, into) = (*self.read_costs(from), self.costs_of(to).into[oob.mode as usize]);
            self.operations.transfers_pages += 2;
            let read = self.servers.issue(source, &read, cause, after).plus(self.costs.ecc_decode);
            self.servers.issue(target, &into.program, cause, read)
        } else {
            let mut phases = self.copy_costs(from, to, oob.mode);
            if self.pages_differ() {
                phases = Phases::new(self.read_costs(from).array, phases.bus, phases.finish);
            }
            self.operations.transfers_pages += if phases.bus == Duration::ZERO { 0 } else { 2 };
            self.servers.issue(target, &phases, cause, after)
        };
        let operation = FlashOperation::new(OperationKind::Copy, to, cause);
        self.record(FlashOperation { from: Some(from), lpn: oob.lpn, ..operation }, after, done);
        Ok(done)
    }

    /// Without striping, and with equal pages, every copy between two blocks takes the same time. A recorder
    /// gets each copy.
    fn copy_run(
        &mut self,
        run: Run,
        oob: impl Fn(u32, Ppn) -> Oob,
        cause: Cause,
        after: When,
    ) -> (u32, Result<(), Infallible>) {
        let pages = run.pages.count_ones();
        if self.stripe_planes > 1 || self.pages_differ() || self.recording.is_some() {
            for (number, (from, to)) in (0..).zip(run.copies()) {
                let Ok(_) = self.copy(from, to, oob(number, from), cause, after);
            }
            return (pages, Ok(()));
        }
        let phases = self.copy_costs(run.first, run.to, oob(0, run.first).mode);
        let count = u64::from(pages);
        self.operations.reads_pages += count;
        self.operations.programs_pages += count;
        self.operations.transfers_pages += if phases.bus == Duration::ZERO { 0 } else { 2 * count };
        self.servers.issue_run(self.server_of(run.to), &phases, pages, cause, after);
        (pages, Ok(()))
    }

    #[inline]
    fn erase(&mut self, block: BlockId, cause: Cause, after: When) -> Result<When, Infallible> {
        self.operations.erases_blocks += u64::from(self.stripe_planes * self.stripe_blocks);
        if !self.slc_blocks.is_empty() {
            self.set_slc(block.get() as usize, false);
        }
        let first = self.first_page(block);
        let done = if self.stripe_planes * self.stripe_blocks > 1 {
            self.erase_superblock(cause, after)
        } else {
            self.servers.issue(self.server_of(first), &self.costs.erase, cause, after)
        };
        self.record(FlashOperation::new(OperationKind::Erase, first, cause), after, done);
        Ok(done)
    }

    fn await_programs(&mut self, parts: &mut Vec<When>) {
        if self.servers.by_events {
            self.servers.channels.await_programs(|op| parts.push(When::end_of(op)));
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

    fn buffer(&mut self, after: When) -> [When; 2] {
        self.servers.channels.take_room(after)
    }

    fn unbuffer(&mut self, done: When) {
        self.servers.channels.give_room(done);
    }

    fn fence(&mut self) {}
}

/// All methods but `tell_level`, `promise` and `keep` panic without disks.
impl Backed for Timeline {
    fn transfer(&mut self, transfer: Transfer, at: Time, tag: u32) {
        self.behind_mut().ask(transfer, at, tag);
    }

    fn tell_level(&mut self, when: When, tag: u32) {
        self.tell_as(when, Tag::Level(tag));
    }

    fn after_others(&mut self, tag: u32) {
        self.behind_mut().after_others(tag);
    }

    fn is_idle(&self, page: u64) -> bool {
        self.behind().disks().is_idle(page)
    }

    fn disk_time(&self, cause: Cause) -> Duration {
        self.behind().time(cause)
    }

    fn disks(&self) -> u32 {
        self.behind().disks().count()
    }

    fn promise(&mut self) -> When {
        When::end_of(self.servers.channels.promise())
    }

    fn keep(&mut self, promise: When, with: When) {
        let Self { servers: Servers { channels, .. }, unreported, .. } = self;
        let promise = promise.op.expect("a promise is not known before it is kept");
        match with.op {
            None => channels.keep(promise, Time { ns: with.ns }, unreported),
            Some(op) => channels.keep_after(promise, op, with.ns),
        }
    }
}

impl SimulatedMedia for Timeline {
    fn tell(&mut self, when: When, tag: u32) {
        self.tell_as(when, Tag::Part(tag));
    }

    #[inline]
    fn advance(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool {
        !self.has_events || self.advance_by_events(until, finished)
    }

    fn step(&mut self, finished: &mut Vec<Finished>) -> bool {
        let is_more = self.step_once(finished);
        self.record_ends();
        is_more
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        if !self.has_events {
            return None;
        }
        if let Some(Finished { at, .. }) = self.unreported.first() {
            return Some(*at);
        }
        let flash = self.servers.channels.next_event();
        let Some(behind) = &self.behind else { return flash };
        [flash, behind.next_event()].into_iter().flatten().min()
    }

    fn idle_since(&self, die: DieId) -> Option<Time> {
        let mut servers = self.servers_of(die);
        let Servers { free_at, by_events, channels, .. } = &self.servers;
        if *by_events {
            servers.all(|server| channels.is_idle(server)).then(|| channels.now())
        } else {
            servers.map(|server| free_at[server]).max()
        }
    }

    fn busy(&self) -> Busy {
        self.servers.busy()
    }

    fn backlog_max(&self, now: Time) -> Duration {
        let Servers { free_at, by_events, channels, .. } = &self.servers;
        let free_at = free_at.iter().map(|at| at.ns).max().unwrap_or(0);
        Duration { ns: if *by_events { channels.backlog_ns_max() } else { free_at.saturating_sub(now.ns) } }
    }

    fn busy_until(&self) -> Time {
        let Servers { free_at, by_events, channels, .. } = &self.servers;
        let flash =
            if *by_events { channels.ended_at() } else { free_at.iter().copied().max().unwrap_or_default() };
        self.behind.as_ref().map_or(flash, |behind| flash.max(behind.busy_until()))
    }

    fn report(&self, report: &mut Report) {
        let Busy { gc, other, bus } = self.servers.busy();
        let end = report.end().max(self.busy_until()).ns;
        let dies = self.servers.free_at.len() as u64;
        let channels = &self.servers.channels;
        let buses = if self.servers.by_events { channels.buses() } else { dies };
        report.add(&DieTime {
            gc_time_ns: gc.ns,
            service_time_ns: other.ns,
            channel_time_ns: bus.ns,
            die_utilisation: ratio(gc.ns.saturating_add(other.ns), dies.saturating_mul(end)),
            channel_utilisation: ratio(bus.ns, buses.saturating_mul(end)),
        });
        report.add(&self.operations);
        if self.timing.read_priority == ReadPriority::Suspend {
            report.add(&Suspensions { suspensions: channels.suspensions().0 });
        }
        if let Some(waits_pages) = channels.buffer().waits() {
            report.add(&BufferedPages { waits_pages });
        }
        if let Some(behind) = &self.behind {
            let (disks, end) = (behind.disks(), report.end().max(behind.busy_until()));
            let (counters, time_ns) = (disks.counters(), disks.busy().ns);
            let transfers = counters.disk_read_transfers + counters.disk_write_transfers;
            report.add(counters);
            report.add(&DiskTime {
                disk_time_ns: time_ns,
                disk_utilisation: ratio(time_ns, u64::from(disks.count()) * end.ns),
                disk_service_mean_ns: ratio(time_ns, transfers),
            });
        }
    }

    fn heap_bytes(&self) -> usize {
        self.servers.free_at.capacity() * size_of::<Time>()
            + self.servers.channels.heap_bytes()
            + self.slc_blocks.capacity()
            + self.behind.as_ref().map_or(0, |behind| behind.heap_bytes())
    }
}

impl Timeline {
    /// Erase the blocks of a unit, the first one of every plane first. `after` may be passed on once, so each
    /// erase begins when the first die may.
    fn erase_superblock(&mut self, cause: Cause, after: When) -> When {
        let mut done = None;
        for block in 0..self.stripe_blocks * self.stripe_planes {
            let plane = block % self.stripe_planes;
            let erased = self.servers.issue(self.server_of_plane(plane), &self.costs.erase, cause, after);
            done = Some(match done {
                None => erased,
                Some(before) => self.both(before, erased),
            });
        }
        done.expect("a device has planes")
    }

    /// Advance time to the next event of dies, channels or disks. Returns false if there is none.
    fn step_once(&mut self, finished: &mut Vec<Finished>) -> bool {
        if !self.unreported.is_empty() {
            finished.append(&mut self.unreported);
            return true;
        }
        let Some(behind) = &mut self.behind else { return self.servers.channels.step(finished) };
        // Disks see the results of flash before they choose their next transfer.
        match (self.servers.channels.next_event(), behind.next_event()) {
            (None, None) => return false,
            (Some(flash), disks) if disks.is_none_or(|disks| flash <= disks) => {
                behind.pass_to(flash);
                self.servers.channels.step(finished);
            }
            (_, disks) => {
                self.servers.channels.pass_to(disks.expect("the earlier event is of the disks"));
                behind.step(finished);
            }
        }
        true
    }

    #[inline(never)]
    fn advance_by_events(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool {
        if self.behind.is_none() {
            let is_reached = self.servers.channels.advance(until, finished);
            self.record_ends();
            return is_reached;
        }
        while self.next_event().is_some_and(|at| at <= until) || !self.unreported.is_empty() {
            self.step(finished);
            if !finished.is_empty() {
                return false;
            }
        }
        self.servers.channels.pass_to(until);
        self.behind_mut().pass_to(until);
        true
    }
}
