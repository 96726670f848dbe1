//! The timeline: flash in simulation, as the times at which dies and channels are busy.
//!
//! Each die (each plane, where planes overlap) serves its operations first come, first served. With private channels an
//! operation's end is known when it is issued, so a die is one number and there is no event queue. With shared channels
//! the order of transfers is known only as time passes: operations wait in the queues of [`crate::channel`], and a
//! [`When`] may be "so long after operation n". Both answer the same calls.

use crate::channel::{Channels, OpId, Phases};
use crate::{
    Access, BlockId, CacheTiming, Cause, Channel, DieId, Geometry, Media, Oob, Place, Planes, Ppn, Timing,
};
use coflash_base::{Duration, Time};

/// A moment on the timeline: a time, or a span after an operation that has not ended yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    pub(crate) op: Option<OpId>,
    pub(crate) ns: u64,
}

impl When {
    /// A known time.
    #[must_use]
    pub fn at(time: Time) -> Self {
        Self { op: None, ns: time.ns }
    }

    /// `span` later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self { ns: self.ns.saturating_add(span.ns), ..self }
    }

    /// The time, unless it depends on an operation that has not ended.
    #[inline]
    #[must_use]
    pub fn known(self) -> Option<Time> {
        if self.op.is_none() { Some(Time { ns: self.ns }) } else { None }
    }
}

/// A part of request `tag` that ended at `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What [`Timeline::tell`] was given.
    pub tag: u32,
    /// When it ended.
    pub at: Time,
}

/// Time that dies have spent, by what for (nanoseconds, summed over dies).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// For garbage collection.
    pub gc: Duration,
    /// For everything else.
    pub other: Duration,
}

/// The phases of each operation, ready to be issued.
#[derive(Clone, Debug)]
struct Costs {
    read: Phases,
    summary: Phases,
    erase: Phases,
    ecc_decode: Duration,
    /// By [`Mode`].
    into: [CostsInto; 2],
}

/// What depends on how a page is programmed.
#[derive(Clone, Copy, Debug)]
struct CostsInto {
    program: Phases,
    /// Between blocks of a plane.
    copy: Phases,
    /// Between planes: out to the controller and back in, copy-back or not.
    copy_across: Phases,
}

/// Simulated flash.
#[derive(Clone, Debug)]
pub struct Timeline {
    geometry: Geometry,
    planes: Planes,
    /// Pages of each die (or plane), which follow one another.
    pages_per_server: u32,
    costs: Costs,
    cache: CacheTiming,
    servers: Servers,
}

/// Dies (or planes), and until when they are busy.
#[derive(Clone, Debug)]
struct Servers {
    /// When each will have done all it was given; unused where channels are shared.
    free_at: Vec<Time>,
    channels: Option<Channels>,
    /// When the last of all programs will be done; unused where channels are shared.
    programmed_at: Time,
    busy: Busy,
}

impl Servers {
    #[inline(always)]
    fn issue(&mut self, server: usize, phases: &Phases, cause: Cause, after: When) -> When {
        let busy = if cause == Cause::Gc { &mut self.busy.gc } else { &mut self.busy.other };
        *busy = *busy + phases.total;
        if let Some(channels) = &mut self.channels {
            When { op: Some(channels.issue(server, *phases, after)), ns: 0 }
        } else {
            let free_at = &mut self.free_at[server];
            *free_at = Time { ns: free_at.ns.max(after.ns) } + phases.total;
            When::at(*free_at)
        }
    }

    /// What was just issued is a program: a flush may wait for it.
    #[inline(always)]
    fn note_program(&mut self, done: When) {
        match (&mut self.channels, done.op) {
            (Some(channels), Some(op)) => channels.note_program(op),
            _ => self.programmed_at.ns = self.programmed_at.ns.max(done.ns),
        }
    }
}

impl Timeline {
    /// An idle device.
    #[must_use]
    pub fn new(geometry: &Geometry, timing: &Timing, cache: CacheTiming) -> Self {
        let transfer = timing.sector_transfer * (geometry.page_size.count / geometry.sector_size.count);
        let none = Duration::ZERO;
        let out_and_in = transfer * 2 + timing.ecc_decode;
        let into = |finish| {
            let copy = |bus| Phases::new(timing.page_read, bus, finish);
            CostsInto {
                program: Phases::new(none, transfer, finish),
                copy: copy(if timing.copy_back { none } else { out_and_in }),
                copy_across: copy(out_and_in),
            }
        };
        let costs = Costs {
            read: Phases::new(timing.page_read, transfer, none),
            // A summary is one sector long.
            summary: Phases::new(none, timing.sector_transfer, timing.page_program),
            erase: Phases::new(none, none, timing.block_erase),
            ecc_decode: timing.ecc_decode,
            into: [timing.page_program, timing.page_program_fast.unwrap_or(timing.page_program)].map(into),
        };
        let (servers, per_die) = match timing.planes {
            Planes::Serial => (geometry.dies(), 1),
            Planes::Parallel => (geometry.dies() * geometry.planes_per_die, geometry.planes_per_die),
        };
        let pages_per_server = geometry.blocks_per_die() / per_die * geometry.pages_per_block;
        let channels = (timing.channel == Channel::Shared).then(|| {
            Channels::new(
                (0..servers).map(|server| geometry.channel_of(DieId::new(server / per_die))).collect(),
            )
        });
        Self {
            geometry: geometry.clone(),
            planes: timing.planes,
            pages_per_server,
            costs,
            cache,
            servers: Servers {
                free_at: vec![Time::ZERO; servers as usize],
                channels,
                programmed_at: Time::ZERO,
                busy: Busy::default(),
            },
        }
    }

    /// Time that dies have spent so far.
    #[must_use]
    pub fn busy(&self) -> Busy {
        self.servers.busy
    }

    /// Whether operations end only as [`Timeline::advance`] passes time.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.servers.channels.is_some()
    }

    /// Has `tag` reported by [`Timeline::advance`] when `when` has come.
    pub fn tell(&mut self, when: When, tag: u32) {
        match (&mut self.servers.channels, when.op) {
            (Some(channels), Some(op)) => channels.tell(op, when.ns, tag),
            _ => unreachable!("only a time that is not known yet is told"),
        }
    }

    /// Passes time up to `until`, reporting every part whose last operation ended on the way, in that order. What follows
    /// the operation off the die (error correction, a cache access) is in the reported time, which may lie after `until`.
    pub fn advance(&mut self, until: Time, finished: &mut Vec<Finished>) {
        if let Some(channels) = &mut self.servers.channels {
            channels.advance(until, finished);
        }
    }

    /// Passes time to the next event; false where nothing is under way.
    pub fn step(&mut self, finished: &mut Vec<Finished>) -> bool {
        self.servers.channels.as_mut().is_some_and(|channels| channels.step(finished))
    }

    /// When the next event is due; none where nothing is under way, or nothing waits for events.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.servers.channels.as_ref().and_then(Channels::next_event)
    }

    /// Since when a die has nothing to do, as far as it is known: with private channels that may be a time to come, with
    /// shared ones it is the present, or none.
    #[must_use]
    pub fn idle_since(&self, die: DieId) -> Option<Time> {
        let mut servers = self.servers_of(die);
        match &self.servers.channels {
            Some(channels) => servers.all(|server| channels.is_idle(server)).then(|| channels.now()),
            None => servers.map(|server| self.servers.free_at[server]).max(),
        }
    }

    fn servers_of(&self, die: DieId) -> std::ops::Range<usize> {
        let (die, planes) = (die.get() as usize, self.geometry.planes_per_die as usize);
        match self.planes {
            Planes::Serial => die..die + 1,
            Planes::Parallel => die * planes..(die + 1) * planes,
        }
    }

    /// The bytes the timeline holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.servers.free_at.capacity() * size_of::<Time>()
            + self.servers.channels.as_ref().map_or(0, Channels::heap_bytes)
    }

    #[inline(always)]
    fn server_of(&self, page: Ppn) -> usize {
        (page.get() / self.pages_per_server) as usize
    }

    /// Whether both pages lie in one plane. A copy does not leave its die.
    #[inline(always)]
    fn share_plane(&self, one: Ppn, other: Ppn) -> bool {
        let plane = |page| self.geometry.plane_of(self.geometry.block_of(page));
        self.geometry.planes_per_die == 1 || plane(one) == plane(other)
    }
}

impl Media for Timeline {
    type When = When;

    #[inline]
    fn read(&mut self, page: Ppn, _: Place, cause: Cause, after: When) -> When {
        self.servers.issue(self.server_of(page), &self.costs.read, cause, after).plus(self.costs.ecc_decode)
    }

    #[inline]
    fn program(&mut self, page: Ppn, oob: Oob, from: Place, cause: Cause, after: When) -> When {
        let after = if let Place::Cache { .. } = from { after.plus(self.cache.read) } else { after };
        let into = &self.costs.into[oob.mode as usize];
        let phases = if oob.lpn.is_some() { &into.program } else { &self.costs.summary };
        let done = self.servers.issue(self.server_of(page), phases, cause, after);
        self.servers.note_program(done);
        done
    }

    #[inline]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, after: When) -> When {
        let into = &self.costs.into[oob.mode as usize];
        let phases = if self.share_plane(from, to) { &into.copy } else { &into.copy_across };
        self.servers.issue(self.server_of(to), phases, cause, after)
    }

    #[inline]
    fn erase(&mut self, block: BlockId, cause: Cause, after: When) -> When {
        let server = self.server_of(self.geometry.page(block, 0));
        self.servers.issue(server, &self.costs.erase, cause, after)
    }

    #[inline]
    fn access(&mut self, _: u32, access: Access, after: When) -> When {
        after.plus(match access {
            Access::Read => self.cache.read,
            Access::Write | Access::WriteNew | Access::Fill => self.cache.write,
            Access::CopyOf { .. } => self.cache.read + self.cache.write,
        })
    }

    fn await_programs(&mut self, parts: &mut Vec<When>) {
        match &mut self.servers.channels {
            Some(channels) => channels.await_programs(|op| parts.push(When { op: Some(op), ns: 0 })),
            None => parts.push(When::at(self.servers.programmed_at)),
        }
    }

    #[inline]
    fn later(&self, after: When, by: Duration) -> When {
        after.plus(by)
    }

    #[inline]
    fn both(&mut self, one: When, other: When) -> When {
        match &mut self.servers.channels {
            Some(channels) if one.op.is_some() || other.op.is_some() => {
                When { op: Some(channels.both(one, other)), ns: 0 }
            }
            _ => When { op: None, ns: one.ns.max(other.ns) },
        }
    }

    fn backlog(&self, die: DieId, now: When) -> u64 {
        let servers = self.servers_of(die);
        match &self.servers.channels {
            Some(channels) => servers.map(|server| channels.backlog_ns(server)).fold(0, u64::saturating_add),
            None => servers
                .map(|server| self.servers.free_at[server].ns.saturating_sub(now.ns))
                .fold(0, u64::saturating_add),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    const START: When = When { op: None, ns: 0 };

    fn device(channel: Channel) -> Timeline {
        // Two chips on one channel; round numbers: read 10 + 4, program 4 + 20, erase 100, copy 30.
        let geometry =
            Geometry { channels: 1, chips_per_channel: 2, blocks_per_plane: 4, ..Geometry::default() };
        let ns = |ns| Duration { ns };
        let timing = Timing {
            page_read: ns(10_000),
            page_program: ns(20_000),
            block_erase: ns(100_000),
            sector_transfer: ns(500),
            channel,
            ..Timing::default()
        };
        Timeline::new(&geometry, &timing, CacheTiming { read: ns(50), write: ns(70) })
    }

    fn oob() -> Oob {
        Oob { lpn: Some(coflash_base::Lpn::new(0)), sequence: 0, mode: Mode::Normal }
    }

    /// The first page of chip 0 or 1.
    fn on(chip: u32) -> Ppn {
        Ppn::new(chip * 4 * 64)
    }

    #[test]
    fn private_channels_keep_each_die_in_order() {
        let mut flash = device(Channel::Private);
        let end = |when: When| when.known().unwrap().ns;
        assert_eq!(end(flash.program(on(0), oob(), Place::Host, Cause::Host, START)), 24_000);
        assert_eq!(end(flash.read(on(0), Place::Host, Cause::Host, START)), 38_000);
        assert_eq!(end(flash.read(on(1), Place::Host, Cause::Host, START)), 14_000);
        assert_eq!(end(flash.copy(on(1), on(1), oob(), Cause::Gc, START)), 44_000);
        assert_eq!(end(flash.erase(BlockId::new(4), Cause::Gc, START)), 144_000);
        assert_eq!(flash.busy(), Busy { gc: Duration { ns: 130_000 }, other: Duration { ns: 52_000 } });
        assert_eq!(end(flash.access(0, Access::Read, START)), 50);
    }

    /// Hand-computed, two chips A and B on one shared channel (transfers in brackets, µs):
    ///
    /// ```text
    /// A  program at 0: [0–4] 4–24, then read: 24–34 [34–38]
    /// B  program at 0:      [4–8] 8–28, then read: 28–38 [38–42]   (the bus is free exactly when B asks)
    /// A  erase at 30: 38–138
    /// B  program at 35:  [42–46] 46–66
    /// ```
    #[test]
    fn a_shared_channel_is_done_at_t_and_not_at_t_minus_one() {
        let mut flash = device(Channel::Shared);
        let at = |us: u64| When::at(Time { ns: us * 1000 });
        let issued = [
            flash.program(on(0), oob(), Place::Host, Cause::Host, at(0)),
            flash.program(on(1), oob(), Place::Host, Cause::Host, at(0)),
            flash.read(on(0), Place::Host, Cause::Host, at(0)),
            flash.read(on(1), Place::Host, Cause::Host, at(0)),
            flash.erase(BlockId::new(0), Cause::Gc, at(30)),
            flash.program(on(1), oob(), Place::Host, Cause::Host, at(35)),
        ];
        for (tag, when) in (0..).zip(issued) {
            flash.tell(when, tag);
        }
        let expected = [(0, 24_000), (1, 28_000), (2, 38_000), (3, 42_000), (5, 66_000), (4, 138_000)];
        let mut finished = Vec::new();
        for (tag, ns) in expected {
            flash.advance(Time { ns: ns - 1 }, &mut finished);
            assert_eq!(finished, [], "operation {tag} is not complete at t - 1");
            flash.advance(Time { ns }, &mut finished);
            assert_eq!(finished, [Finished { tag, at: Time { ns } }], "operation {tag} is complete at t");
            finished.clear();
        }
        assert!(!flash.step(&mut finished), "nothing is left");
    }

    #[test]
    fn a_fast_program_ends_sooner_alone_and_in_a_copy() {
        let ns = |ns| Duration { ns };
        let timing = Timing {
            page_read: ns(10_000),
            page_program: ns(20_000),
            page_program_fast: Some(ns(7_000)),
            sector_transfer: ns(500),
            ecc_decode: ns(300),
            copy_back: false,
            ..Timing::default()
        };
        let geometry = Geometry { channels: 1, blocks_per_plane: 4, ..Geometry::default() };
        for channel in [Channel::Private, Channel::Shared] {
            let timing = Timing { channel, ..timing.clone() };
            let cache = CacheTiming { read: ns(20), write: ns(20) };
            let end = |operation: &dyn Fn(&mut Timeline) -> When| {
                let mut flash = Timeline::new(&geometry, &timing, cache);
                let when = operation(&mut flash);
                let mut finished = Vec::new();
                if when.known().is_none() {
                    flash.tell(when, 0);
                    while flash.step(&mut finished) {}
                }
                when.known().unwrap_or_else(|| finished[0].at).ns
            };
            let ends = [Mode::Normal, Mode::Fast].map(|mode| {
                let oob = Oob { mode, ..oob() };
                [
                    end(&|flash| flash.program(on(0), oob, Place::Host, Cause::Host, START)),
                    // A page that GC takes from a buffer is neither read from flash nor decoded.
                    end(&|flash| flash.program(on(0), oob, Place::Cache { slot: 0 }, Cause::Gc, START)),
                    end(&|flash| flash.copy(on(0), Ppn::new(64), oob, Cause::Gc, START)),
                ]
            });
            assert_eq!(ends, [[24_000, 24_020, 38_300], [11_000, 11_020, 25_300]], "{channel:?}");
            // A summary is never fast.
            let summary = Oob { lpn: None, mode: Mode::Fast, ..oob() };
            let summary = end(&|flash| flash.program(on(0), summary, Place::Host, Cause::Metadata, START));
            assert_eq!(summary, 20_500);
        }
    }

    #[test]
    fn a_transfer_waits_for_the_bus_and_an_operation_for_the_one_it_follows() {
        let mut flash = device(Channel::Shared);
        // Chip 0 reads 0–10, wants the bus at 10; chip 1's program has it 8–12.
        let read = flash.read(on(0), Place::Host, Cause::Host, START);
        let program = flash.program(on(1), oob(), Place::Host, Cause::Host, When::at(Time { ns: 8_000 }));
        // The read's data is merged and programmed on chip 1, 1 µs after the read: [33–37] 37–57.
        let merged =
            flash.program(on(1), oob(), Place::Merged, Cause::Host, read.plus(Duration { ns: 1000 }));
        flash.tell(program, 1);
        flash.tell(merged, 2);
        let mut finished = Vec::new();
        while flash.step(&mut finished) {}
        assert_eq!(
            finished,
            [Finished { tag: 1, at: Time { ns: 32_000 } }, Finished { tag: 2, at: Time { ns: 56_000 } },]
        );
    }

    /// Chip 0 reads 0–10 [10–14], chip 1 programs [0–4] 4–24.
    #[test]
    fn both_moments_are_waited_for() {
        let us = |us: u64| Duration { ns: us * 1000 };
        for (late_us, known_us, end_us) in [(0, 0, 24), (9, 0, 24), (11, 0, 25), (0, 30, 30)] {
            let mut flash = device(Channel::Shared);
            let read = flash.read(on(0), Place::Host, Cause::Host, START).plus(us(late_us));
            let program = flash.program(on(1), oob(), Place::Host, Cause::Host, START);
            let mut both = flash.both(program, read);
            if known_us > 0 {
                both = flash.both(When::at(Time::ZERO + us(known_us)), both);
            }
            // What follows begins then: 4 and 20 more. The die of the read is free meanwhile.
            let next = flash.program(on(0), oob(), Place::Merged, Cause::Host, both.plus(us(1)));
            flash.tell(next, 7);
            let mut finished = Vec::new();
            while flash.step(&mut finished) {}
            let at = Time::ZERO + us(end_us + 1 + 24);
            assert_eq!(finished, [Finished { tag: 7, at }], "{late_us} {known_us}");
        }
        let mut flash = device(Channel::Private);
        let read = flash.read(on(0), Place::Host, Cause::Host, START);
        let program = flash.program(on(1), oob(), Place::Host, Cause::Host, START);
        assert_eq!(flash.both(read, program).known(), Some(Time { ns: 24_000 }));
    }

    #[test]
    fn one_chip_to_a_channel_is_the_same_shared_or_private() {
        let geometry = Geometry { channels: 4, blocks_per_plane: 4, ..Geometry::default() };
        let end_times = |channel| {
            let timing = Timing { channel, ..Timing::default() };
            let mut flash = Timeline::new(&geometry, &timing, CacheTiming::default());
            let mut ends = vec![Time::ZERO; 100];
            let mut finished = Vec::new();
            for tag in 0..100_u32 {
                let start = When::at(Time { ns: u64::from(tag) * 37_000 });
                flash.advance(Time { ns: start.ns }, &mut finished);
                let page = Ppn::new(tag * 7919 % geometry.pages());
                let when = match tag % 3 {
                    0 => flash.read(page, Place::Host, Cause::Host, start),
                    1 => flash.program(page, oob(), Place::Host, Cause::Host, start),
                    _ => flash.copy(page, page, oob(), Cause::Gc, start),
                };
                match when.known() {
                    Some(at) => ends[tag as usize] = at,
                    None => flash.tell(when, tag),
                }
            }
            while flash.step(&mut finished) {}
            for end in finished {
                ends[end.tag as usize] = end.at;
            }
            ends
        };
        assert_eq!(end_times(Channel::Shared), end_times(Channel::Private));
    }
}
