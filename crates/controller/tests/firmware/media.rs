//! The firmware decides the same whatever carries its decisions out: bytes, or time on private or shared channels.

use crate::support::{Device, Operation, Setup, content, cooperation, spare};
use coflash_base::{Duration, Seed, Time};
use coflash_controller::{CacheTally, Controller};
use coflash_flash::{
    Access, BlockId, Busy, Cause, Channel, DieId, Media, Oob, Place, Planes, Ppn, Timeline, Timing, Untimed,
    When,
};
use coflash_ftl::{Chips, Pools, Summary, Tally, Trigger};

/// One call of a media, with its arguments but for the time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Read(Ppn, Place, Cause),
    Program(Ppn, Oob, Place, Cause),
    Copy(Ppn, Ppn, Oob, Cause),
    Erase(BlockId, Cause),
    Access(u32, Access),
}

/// Another media, and everything that it was told.
struct Recorder<M> {
    inner: M,
    calls: Vec<Call>,
}

impl<M> Recorder<M> {
    fn new(inner: M) -> Self {
        Self { inner, calls: Vec::new() }
    }
}

impl<M: Media> Media for Recorder<M> {
    type When = M::When;

    fn read(&mut self, page: Ppn, to: Place, cause: Cause, after: M::When) -> M::When {
        self.calls.push(Call::Read(page, to, cause));
        self.inner.read(page, to, cause, after)
    }

    fn program(&mut self, page: Ppn, oob: Oob, from: Place, cause: Cause, after: M::When) -> M::When {
        self.calls.push(Call::Program(page, oob, from, cause));
        self.inner.program(page, oob, from, cause, after)
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, after: M::When) -> M::When {
        self.calls.push(Call::Copy(from, to, oob, cause));
        self.inner.copy(from, to, oob, cause, after)
    }

    fn erase(&mut self, block: BlockId, cause: Cause, after: M::When) -> M::When {
        self.calls.push(Call::Erase(block, cause));
        self.inner.erase(block, cause, after)
    }

    fn access(&mut self, slot: u32, access: Access, after: M::When) -> M::When {
        self.calls.push(Call::Access(slot, access));
        self.inner.access(slot, access, after)
    }

    fn later(&self, after: M::When, by: Duration) -> M::When {
        self.inner.later(after, by)
    }

    fn both(&mut self, one: M::When, other: M::When) -> M::When {
        self.inner.both(one, other)
    }

    fn backlog(&self, die: DieId, now: M::When) -> u64 {
        self.inner.backlog(die, now)
    }
}

/// What the firmware did, in every respect that does not depend on time.
#[derive(Debug, PartialEq)]
struct Outcome {
    calls: Vec<Call>,
    cache: CacheTally,
    ftl: Tally,
    erases: Vec<u32>,
}

impl Outcome {
    fn of(controller: &Controller, calls: Vec<Call>) -> Self {
        controller.assert_invariants();
        let (cache, ftl) = (*controller.tally(), *controller.ftl().tally());
        Self { calls, cache, ftl, erases: controller.ftl().erase_counts().to_vec() }
    }
}

fn over_bytes(setup: &Setup, operations: &[Operation]) -> Outcome {
    let Device { mut controller, image } = Device::new(setup);
    let mut media = Recorder::new(image);
    for operation in operations {
        if let Operation::Write(_, bytes, stamp) = operation {
            media.inner.host_writes(bytes.start, &content(*stamp)[bytes.clone()]);
        }
        operation.apply(&mut controller, (), &mut media);
    }
    Outcome::of(&controller, media.calls)
}

fn over_nothing(setup: &Setup, operations: &[Operation]) -> Outcome {
    let (mut controller, mut media) = (setup.controller(), Recorder::new(Untimed));
    for operation in operations {
        operation.apply(&mut controller, (), &mut media);
    }
    Outcome::of(&controller, media.calls)
}

/// Every operation ends once, and not before it began.
fn over_time(setup: &Setup, timing: Timing, operations: &[Operation]) -> (Outcome, Busy) {
    let mut controller = setup.controller();
    let mut media = Recorder::new(Timeline::new(&setup.geometry, &timing, setup.cache.timing()));
    let (mut finished, mut told) = (Vec::new(), 0);
    let begin = |tag: u32| Time { ns: u64::from(tag) * 90_000 };
    for (tag, operation) in (0..).zip(operations) {
        media.inner.advance(begin(tag), &mut finished);
        let done = operation.apply(&mut controller, When::at(begin(tag)), &mut media);
        match done.known() {
            Some(at) => assert!(at >= begin(tag), "{operation:?} is done before it began"),
            None => {
                told += 1;
                media.inner.tell(done, tag);
            }
        }
    }
    while media.inner.step(&mut finished) {}
    assert!(finished.iter().all(|part| part.at > begin(part.tag)), "flash takes time");
    finished.sort_by_key(|part| part.tag);
    finished.dedup_by_key(|part| part.tag);
    assert_eq!(finished.len(), told, "every operation ends once");
    (Outcome::of(&controller, media.calls), media.inner.busy())
}

#[test]
fn time_changes_nothing_but_times() {
    let schemes = ["none", "cdm"].map(|name| cooperation(&format!("\"{name}\"")));
    for seed in 0..96 {
        let bit = |index: u32| seed >> index & 1 == 1;
        let mut setup = Setup::tiny(10, 4).with_slots([0, 3, 12][seed as usize % 3]);
        setup = setup.with_cooperation(&schemes[usize::from(bit(0))]);
        setup.geometry.channels = 2;
        setup.geometry.chips_per_channel = 2;
        setup.geometry.planes_per_die = 2;
        setup.gc.trigger = if bit(1) { Trigger::Write } else { Trigger::Operation };
        setup.ftl.pools = if bit(2) { Pools::Plane } else { Pools::Die };
        setup.ftl.chips = if bit(3) { Chips::Static } else { Chips::RoundRobin };
        setup.ftl.summary = if bit(4) { Summary::On } else { Summary::Off };
        // The low mark, two open blocks, and the reserve.
        setup.ftl.spare = spare(4, setup.geometry.blocks_per_plane * if bit(2) { 1 } else { 2 });
        setup.seed = Seed(seed);
        let mut stream = Seed(seed).stream("operations");
        let pages = setup.controller().ftl().logical_pages();
        let operations: Vec<_> = (0..4000).map(|stamp| Operation::draw(&mut stream, pages, stamp)).collect();

        let bytes = over_bytes(&setup, &operations);
        assert!(bytes.ftl.erases_blocks > 50, "{} erases: enough to compare", bytes.ftl.erases_blocks);
        assert_eq!(over_nothing(&setup, &operations), bytes, "seed {seed}: no media at all");
        let planes = if bit(5) { Planes::Serial } else { Planes::Parallel };
        let timing = |channel| Timing { channel, planes, ..Timing::default() };
        let (private, private_busy) = over_time(&setup, timing(Channel::Private), &operations);
        assert_eq!(private, bytes, "seed {seed}: private channels");
        let (shared, shared_busy) = over_time(&setup, timing(Channel::Shared), &operations);
        assert_eq!(shared, bytes, "seed {seed}: shared channels");
        assert_eq!(private_busy, shared_busy, "seed {seed}: the same work");
    }
}
