//! The timeline against a brute-force reference: random operations and chains of them, from a seed.

use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{Duration, Lpn, Time};
use coflash_media::{
    BlockId, CacheTimings, Cause, Channel, Finished, Flash, Geometry, Mode, Oob, Place, Planes, Ppn, Tag,
    Timeline, Timing, When,
};
use std::convert::Infallible;

fn ok(result: Result<When, Infallible>) -> When {
    let Ok(when) = result;
    when
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    Program,
    Summary,
    Copy,
    Erase,
}

/// When an operation may begin.
#[derive(Clone, Copy, Debug)]
enum After {
    /// At a time, not before it is issued.
    Time(u64),
    /// So long after the end of an earlier operation.
    Operation(usize, u64),
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    kind: Kind,
    block: BlockId,
    /// A copy's source.
    from: BlockId,
    issued_at: u64,
    after: After,
}

fn geometry(stream: &mut RandomStream) -> Geometry {
    Geometry {
        channels: stream.random_range(1..3),
        chips_per_channel: stream.random_range(1..4),
        dies_per_chip: stream.random_range(1..3),
        planes_per_die: stream.random_range(1..3),
        blocks_per_plane: 2,
        pages_per_block: 4,
        ..Geometry::default()
    }
}

/// Primes and near-primes, so that two dies hardly ever ask for a bus at the same time.
fn timing(stream: &mut RandomStream, channel: Channel) -> Timing {
    let ns = |ns| Duration { ns };
    Timing {
        page_read: ns(25_013),
        page_program: ns(200_017),
        page_program_fast: None,
        block_erase: ns(1_500_007),
        sector_transfer: ns(stream.random_range(1000..30_000)),
        ecc_decode: ns(if stream.random() { 0 } else { 1_009 }),
        copy_back: stream.random(),
        channel,
        planes: if stream.random() { Planes::Serial } else { Planes::Parallel },
        ..Timing::default()
    }
}

/// Batches of operations, each issued at one time; an operation may follow an earlier one of its batch.
fn operations(stream: &mut RandomStream, geometry: &Geometry) -> Vec<Operation> {
    let mut operations = Vec::new();
    let mut now = 0;
    // From idle to overloaded.
    let pause = [20_000, 300_000, 3_000_000][stream.random_range(0..3)];
    for _ in 0..40 {
        now += stream.random_range(1..pause);
        let mut unfollowed: Vec<usize> = Vec::new();
        for _ in 0..stream.random_range(1..6) {
            let block = stream.random_range(0..geometry.blocks());
            let plane = block / geometry.blocks_per_plane;
            let die = block / geometry.blocks_per_die();
            let from = match stream.random() {
                true => plane * geometry.blocks_per_plane,
                false => die * geometry.blocks_per_die(),
            };
            let later = stream.random_range(0..50_000);
            let follows = !unfollowed.is_empty() && stream.random();
            let after = if follows {
                let earlier = stream.random_range(0..unfollowed.len());
                After::Operation(unfollowed.swap_remove(earlier), later)
            } else {
                After::Time(now + later)
            };
            let kind = match stream.random_range(0..8) {
                0..3 => Kind::Read,
                3..5 => Kind::Program,
                5 => Kind::Summary,
                6 => Kind::Copy,
                _ => Kind::Erase,
            };
            unfollowed.push(operations.len());
            let (block, from) = (BlockId::new(block), BlockId::new(from));
            operations.push(Operation { kind, block, from, issued_at: now, after });
        }
    }
    operations
}

/// The rules, written down a second time: of all dies' next operations, the one that asks for its bus first gets it.
struct Reference<'a> {
    geometry: &'a Geometry,
    timing: &'a Timing,
    /// When the die of each operation is done with it.
    end: Vec<Option<u64>>,
}

impl Reference<'_> {
    fn server(&self, block: BlockId) -> u32 {
        match self.timing.planes {
            Planes::Serial => self.geometry.die_of(block).get(),
            Planes::Parallel => self.geometry.plane_of(block),
        }
    }

    /// Array time, bus time, array time.
    fn phases(&self, operation: &Operation) -> [u64; 3] {
        let timing = self.timing;
        let sectors = self.geometry.page_size.count / self.geometry.sector_size.count;
        let (sector, page) = (timing.sector_transfer.ns, timing.sector_transfer.ns * sectors);
        let (read, program) = (timing.page_read.ns, timing.page_program.ns);
        match operation.kind {
            Kind::Read => [read, page, 0],
            Kind::Program => [0, page, program],
            Kind::Summary => [0, sector, program],
            Kind::Copy => {
                let inside =
                    self.geometry.plane_of(operation.from) == self.geometry.plane_of(operation.block);
                let out_and_in = if timing.copy_back && inside { 0 } else { 2 * page + timing.ecc_decode.ns };
                [read, out_and_in, program]
            }
            Kind::Erase => [0, 0, timing.block_erase.ns],
        }
    }

    /// When the waiting request sees the end of an operation, given when its die is done with it.
    fn heard(&self, operation: &Operation, end: u64) -> u64 {
        let decode = if matches!(operation.kind, Kind::Read) { self.timing.ecc_decode.ns } else { 0 };
        end + decode
    }

    /// When the first waiting operation of a die asks for its bus; none where that is not known yet.
    fn asks_at(&self, operations: &[Operation], index: usize) -> Option<u64> {
        let operation = &operations[index];
        let mut start = operation.issued_at;
        for (earlier, end) in operations.iter().zip(&self.end).take(index) {
            if self.server(earlier.block) == self.server(operation.block) {
                start = start.max((*end)?);
            }
        }
        start = start.max(match operation.after {
            After::Time(at) => at,
            After::Operation(earlier, ns) => self.heard(&operations[earlier], self.end[earlier]?) + ns,
        });
        Some(start + self.phases(operation)[0])
    }

    /// The end of each operation; `None` if two operations request a bus at the same time (their order is not
    /// modelled here).
    fn run(mut self, operations: &[Operation]) -> Option<Vec<u64>> {
        let buses = self.geometry.dies() as usize * self.geometry.planes_per_die as usize;
        let mut bus_free = vec![0; buses];
        let mut asked_last = vec![None; buses];
        while self.end.contains(&None) {
            let waiting = (0..operations.len()).filter(|&index| self.end[index].is_none());
            let (asks_at, index) = waiting
                .filter_map(|index| Some((self.asks_at(operations, index)?, index)))
                .min()
                .expect("some operation can go on");
            let operation = &operations[index];
            let [_, bus, finish] = self.phases(operation);
            let owner = match self.timing.channel {
                Channel::Shared => self.geometry.channel_of(self.geometry.die_of(operation.block)),
                Channel::Private => self.server(operation.block),
            };
            let free = &mut bus_free[owner as usize];
            let granted = if bus == 0 { asks_at } else { asks_at.max(*free) };
            if bus > 0 {
                *free = granted + bus;
                if asked_last[owner as usize].replace(asks_at) == Some(asks_at) {
                    return None;
                }
            }
            self.end[index] = Some(granted + bus + finish);
        }
        let ends = operations.iter().zip(&self.end);
        Some(ends.map(|(operation, end)| self.heard(operation, end.expect("all have ended"))).collect())
    }
}

fn issue(flash: &mut Timeline, geometry: &Geometry, operation: &Operation, after: When) -> When {
    let page = geometry.page(operation.block, 0);
    let data = Oob { lpn: Some(Lpn::new(0)), sequence: 0, mode: Mode::Normal };
    let summary = Oob { lpn: None, sequence: 0, mode: Mode::Normal };
    match operation.kind {
        Kind::Read => ok(flash.read(page, Place::Host, Cause::Host, after)),
        Kind::Program => ok(flash.program(page, data, Place::Host, Cause::Host, after)),
        Kind::Summary => ok(flash.program(page, summary, Place::Host, Cause::Metadata, after)),
        Kind::Copy => ok(flash.copy(geometry.page(operation.from, 1), page, data, Cause::Gc, after)),
        Kind::Erase => ok(flash.erase(operation.block, Cause::Gc, after)),
    }
}

/// The end of each operation by the timeline. Only ends without a follower can be reported; the others are
/// `None`.
fn by_timeline(geometry: &Geometry, timing: &Timing, operations: &[Operation]) -> Vec<Option<u64>> {
    let mut flash = Timeline::new(geometry, timing, CacheTimings::default());
    let mut finished: Vec<Finished> = Vec::new();
    let mut ends = vec![None; operations.len()];
    let mut issued = 0;
    while issued < operations.len() {
        let now = operations[issued].issued_at;
        while !flash.advance(Time { ns: now }, &mut finished) {}
        assert!(
            finished.iter().all(|part| part.at.ns <= now + timing.ecc_decode.ns),
            "nothing is told early"
        );
        let batch = issued;
        let mut whens: Vec<Option<When>> = Vec::new();
        while issued < operations.len() && operations[issued].issued_at == now {
            let after = match operations[issued].after {
                After::Time(ns) => When::at(Time { ns }),
                After::Operation(earlier, ns) => {
                    whens[earlier - batch].take().expect("followed once").plus(Duration { ns })
                }
            };
            whens.push(Some(issue(&mut flash, geometry, &operations[issued], after)));
            issued += 1;
        }
        for (tag, when) in (batch..).zip(whens) {
            match when.map(|when| (when, when.known())) {
                Some((_, Some(at))) => ends[tag] = Some(at.ns),
                Some((when, None)) => flash.tell(when, tag as u32),
                None => {}
            }
        }
    }
    while flash.step(&mut finished) {}
    for part in finished {
        let Tag::Part(tag) = part.tag else { panic!("{part:?} is no operation") };
        let end = &mut ends[tag as usize];
        assert_eq!(*end, None, "operation {tag} is told once");
        *end = Some(part.at.ns);
    }
    ends
}

/// Whether the comparison could be made.
fn compare(channel: Channel, seed: u64) -> bool {
    let stream = &mut Seed(seed).stream("timeline");
    let geometry = geometry(stream);
    let timing = timing(stream, channel);
    let operations = operations(stream, &geometry);
    let reference = Reference { geometry: &geometry, timing: &timing, end: vec![None; operations.len()] };
    let Some(expected) = reference.run(&operations) else {
        return false;
    };
    let mut followed = vec![false; operations.len()];
    for operation in &operations {
        if let After::Operation(earlier, _) = operation.after {
            followed[earlier] = true;
        }
    }
    let ends = by_timeline(&geometry, &timing, &operations);
    for (index, end) in ends.iter().enumerate() {
        let expected = (!followed[index]).then_some(expected[index]);
        assert_eq!(
            *end, expected,
            "seed {seed}, {channel:?}: operation {index} of {geometry:?}, {timing:?}: {:?}",
            operations[index]
        );
    }
    true
}

#[test]
fn shared_channels_are_as_the_reference() {
    let compared = (0..400).filter(|&seed| compare(Channel::Shared, seed)).count();
    assert!(compared >= 200, "{compared} of 400 without a tie are too few");
}

#[test]
fn private_channels_are_as_the_reference() {
    let compared = (0..200).filter(|&seed| compare(Channel::Private, seed)).count();
    assert_eq!(compared, 200, "nobody shares a bus");
}

/// A device of two chips on one channel with two planes each, in round numbers.
fn round(timing: Timing) -> (Geometry, Timeline) {
    let geometry = Geometry {
        channels: 1,
        chips_per_channel: 2,
        planes_per_die: 2,
        blocks_per_plane: 2,
        pages_per_block: 4,
        ..Geometry::default()
    };
    let ns = |ns| Duration { ns };
    let timing = Timing {
        page_read: ns(10_000),
        page_program: ns(20_000),
        block_erase: ns(100_000),
        sector_transfer: ns(500),
        ..timing
    };
    let flash = Timeline::new(&geometry, &timing, CacheTimings::default());
    (geometry, flash)
}

const DATA: Oob = Oob { lpn: Some(Lpn::new(0)), sequence: 0, mode: Mode::Normal };
fn start() -> When {
    When::at(Time::ZERO)
}

fn end_of(flash: &mut Timeline, when: When) -> u64 {
    if let Some(at) = when.known() {
        return at.ns;
    }
    flash.tell(when, 0);
    let mut finished = Vec::new();
    while flash.step(&mut finished) {}
    finished[0].at.ns
}

#[test]
fn parallel_planes_overlap_and_serial_ones_queue() {
    for channel in [Channel::Private, Channel::Shared] {
        for (planes, expected) in [(Planes::Parallel, 100_000), (Planes::Serial, 200_000)] {
            let (_, mut flash) = round(Timing { planes, channel, ..Timing::default() });
            ok(flash.erase(BlockId::new(0), Cause::Gc, start()));
            let other_plane = ok(flash.erase(BlockId::new(2), Cause::Gc, start()));
            assert_eq!(end_of(&mut flash, other_plane), expected, "{planes:?}, {channel:?}");
        }
    }
}

#[test]
fn parallel_planes_share_the_bus_of_their_channel() {
    let (geometry, mut flash) =
        round(Timing { planes: Planes::Parallel, channel: Channel::Shared, ..Timing::default() });
    let page = |block| geometry.page(BlockId::new(block), 0);
    ok(flash.program(page(0), DATA, Place::Host, Cause::Host, start()));
    let other_plane = ok(flash.program(page(2), DATA, Place::Host, Cause::Host, start()));
    assert_eq!(end_of(&mut flash, other_plane), 28_000, "[4–8] 8–28");
}

#[test]
fn a_copy_needs_the_bus_unless_it_stays_in_its_plane_and_copy_back_is_on() {
    for channel in [Channel::Private, Channel::Shared] {
        for (copy_back, from, expected) in
            [(true, 0, 30_000), (true, 2, 39_000), (false, 0, 39_000), (false, 2, 39_000)]
        {
            let ecc_decode = Duration { ns: 1000 };
            let (geometry, mut flash) = round(Timing { copy_back, channel, ecc_decode, ..Timing::default() });
            let page = |block| geometry.page(BlockId::new(block), 0);
            let copy = ok(flash.copy(page(from), page(1), DATA, Cause::Gc, start()));
            assert_eq!(end_of(&mut flash, copy), expected, "from block {from}, copy-back {copy_back}");
        }
    }
}

#[test]
fn equals_get_the_bus_in_the_order_in_which_they_were_issued() {
    let (geometry, mut flash) = round(Timing { channel: Channel::Shared, ..Timing::default() });
    for (tag, block) in [(0, 4), (1, 0)] {
        let read = ok(flash.read(geometry.page(BlockId::new(block), 0), Place::Host, Cause::Host, start()));
        flash.tell(read, tag);
    }
    let mut finished = Vec::new();
    while flash.step(&mut finished) {}
    let told: Vec<_> = finished.iter().map(|part| (part.tag, part.at.ns)).collect();
    assert_eq!(told, [(Tag::Part(0), 14_000), (Tag::Part(1), 18_000)]);
}

#[test]
fn backlog_is_what_a_die_still_has_to_do_and_busy_adds_up_by_cause() {
    let (geometry, mut flash) = round(Timing { channel: Channel::Shared, ..Timing::default() });
    let die = |page: Ppn| geometry.die_of(geometry.block_of(page));
    let (first, second) = (Ppn::new(0), Ppn::new(16));
    ok(flash.read(first, Place::Host, Cause::Host, start()));
    ok(flash.erase(geometry.block_of(first), Cause::Gc, start()));
    ok(flash.program(second, DATA, Place::Host, Cause::Evict, start()));
    assert_eq!((flash.backlog(die(first), start()), flash.backlog(die(second), start())), (114_000, 24_000));
    while !flash.advance(Time { ns: 20_000 }, &mut Vec::new()) {}
    assert_eq!((flash.backlog(die(first), start()), flash.backlog(die(second), start())), (100_000, 24_000));
    while !flash.advance(Time { ns: 200_000 }, &mut Vec::new()) {}
    assert_eq!((flash.backlog(die(first), start()), flash.backlog(die(second), start())), (0, 0));
    assert_eq!((flash.busy().gc.ns, flash.busy().other.ns), (100_000, 38_000));
}
