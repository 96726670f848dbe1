//! Superblocks: copies go from die to die, and no die waits while there is something that it can do.

use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{Duration, Lpn, Time};
use coflash_media::{
    BlockId, CacheTimings, Cause, Channel, Finished, Flash, Geometry, Mode, Oob, Place, Ppn, ReadPriority,
    Run, Tag, Timeline, Timing, When,
};
use std::collections::VecDeque;
use std::convert::Infallible;

const DATA: Oob = Oob { lpn: Some(Lpn::new(0)), sequence: 0, mode: Mode::Normal };

fn ok(result: Result<When, Infallible>) -> When {
    let Ok(when) = result;
    when
}

fn ns(ns: u64) -> Duration {
    Duration { ns }
}

/// Primes, so that two dies hardly ever do something at the same time.
fn timing(channel: Channel, sector_transfer: u64) -> Timing {
    Timing {
        page_read: ns(40_009),
        page_program: ns(200_017),
        block_erase: ns(2_000_003),
        sector_transfer: ns(sector_transfer),
        copy_back: false,
        channel,
        ..Timing::default()
    }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Read(u32),
    Program(u32),
    Copy(u32, u32),
    Erase(u32),
}

/// One step of an operation on one die: its phases, and what must have happened before it begins.
struct Task {
    die: usize,
    /// Array time, bus time, array time.
    phases: [u64; 3],
    issued_at: u64,
    /// Tasks that must have ended.
    after: Vec<usize>,
    /// The index of the copy that it reads for, among those from die to die.
    copy: Option<usize>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// In a phase, up to a time; the second number is the order of such states.
    Until {
        phase: usize,
        at: (u64, u32),
    },
    /// It waits for its bus.
    Asking,
    Ended(u64),
}

/// The rules, written down a second time, over all tasks at each step: a die begins, of the tasks that may begin, the one that was
/// issued first; a bus goes to who asks first; a given number of pages at most are on their way from die to die. What happens at one time
/// happens in the order in which it began.
struct Reference<'a> {
    geometry: &'a Geometry,
    timing: &'a Timing,
    copies_max: usize,
    tasks: Vec<Task>,
    /// The program of each copy from die to die, and how many of them have room.
    copies: Vec<usize>,
    admitted: usize,
    /// The tasks that wait for each bus, the holder first.
    buses: Vec<VecDeque<usize>>,
    begun: u32,
    now: u64,
}

impl Reference<'_> {
    fn die(&self, page: u32) -> usize {
        (page % self.geometry.dies()) as usize
    }

    fn unit(&self, page: u32) -> u32 {
        page / (self.geometry.dies() * self.geometry.pages_per_block)
    }

    fn bus(&self, die: usize) -> usize {
        match self.timing.channel {
            Channel::Private => die,
            Channel::Shared => die % self.geometry.channels as usize,
        }
    }

    fn task(&mut self, die: usize, phases: [u64; 3], issued_at: u64, after: Vec<usize>) -> usize {
        let [array, bus, finish] = phases;
        let phases = if bus == 0 { [0, 0, array + finish] } else { phases };
        self.tasks.push(Task { die, phases, issued_at, after, copy: None, state: State::Waiting });
        self.tasks.len() - 1
    }

    /// The last tasks of each operation.
    fn issue(&mut self, operations: &[(u64, Operation)]) -> Vec<Vec<usize>> {
        let Timing { page_read, page_program, block_erase, sector_transfer, .. } = self.timing;
        let [read, program, erase] = [page_read.ns, page_program.ns, block_erase.ns];
        let bus = sector_transfer.ns * (self.geometry.page_size.count / self.geometry.sector_size.count);
        let mut erases: Vec<(u32, usize)> = Vec::new();
        let mut last: Vec<Vec<usize>> = Vec::new();
        for &(at, operation) in operations {
            let erased = |page| {
                let of_unit = erases.iter().filter(|&&(unit, _)| unit == self.unit(page));
                of_unit.map(|&(_, task)| task).collect::<Vec<_>>()
            };
            last.push(match operation {
                Operation::Read(page) => vec![self.task(self.die(page), [read, bus, 0], at, Vec::new())],
                Operation::Program(page) => {
                    let erased = erased(page);
                    vec![self.task(self.die(page), [0, bus, program], at, erased)]
                }
                Operation::Copy(from, to) => {
                    let mut after = erased(to);
                    let program = if self.die(from) == self.die(to) {
                        self.task(self.die(to), [read, 2 * bus, program], at, after)
                    } else {
                        let source = self.task(self.die(from), [read, bus, 0], at, Vec::new());
                        self.tasks[source].copy = Some(self.copies.len());
                        after.push(source);
                        let program = self.task(self.die(to), [0, bus, program], at, after);
                        self.copies.push(program);
                        program
                    };
                    vec![program]
                }
                Operation::Erase(unit) => {
                    let is_erase = |task: &usize| erases.iter().any(|(_, part)| part == task);
                    let before: Vec<usize> =
                        last.iter().flatten().copied().filter(|task| !is_erase(task)).collect();
                    let dies = 0..self.geometry.dies() as usize;
                    let parts: Vec<_> =
                        dies.map(|die| self.task(die, [0, 0, erase], at, before.clone())).collect();
                    erases.extend(parts.iter().map(|&part| (unit, part)));
                    parts
                }
            });
        }
        last
    }

    fn has_ended(&self, task: usize) -> bool {
        matches!(self.tasks[task].state, State::Ended(_))
    }

    /// The task that a die can begin.
    fn next(&self, die: usize) -> Option<usize> {
        let is_under_way = |task: &Task| matches!(task.state, State::Until { .. } | State::Asking);
        if self.tasks.iter().any(|task| task.die == die && is_under_way(task)) {
            return None;
        }
        let may_begin = |task: &Task| {
            task.die == die
                && task.state == State::Waiting
                && task.issued_at <= self.now
                && task.after.iter().all(|&before| self.has_ended(before))
                && task.copy.is_none_or(|copy| copy < self.admitted)
        };
        self.tasks.iter().position(may_begin)
    }

    /// Enter the first phase from this one on that takes time, or end.
    fn enter(&mut self, task: usize, from: usize) {
        let Task { die, phases, .. } = self.tasks[task];
        let phase = (from..3).find(|&phase| phases[phase] > 0);
        let is_alone = || {
            !self
                .tasks
                .iter()
                .any(|other| matches!(other.state, State::Until { at: (at, _), .. } if at == self.now))
        };
        self.tasks[task].state = match phase {
            // A read that ends with its transfer ends after all else that happens now.
            None if from == 2 && !is_alone() => self.until(2, 0),
            None => State::Ended(self.now),
            Some(1) => {
                let bus = self.bus(die);
                self.buses[bus].push_back(task);
                if self.buses[bus].len() > 1 { State::Asking } else { self.until(1, phases[1]) }
            }
            Some(phase) => self.until(phase, phases[phase]),
        };
    }

    fn until(&mut self, phase: usize, span: u64) -> State {
        self.begun += 1;
        State::Until { phase, at: (self.now + span, self.begun) }
    }

    /// The end of each task.
    fn run(mut self) -> Vec<u64> {
        let dies = self.geometry.dies() as usize;
        loop {
            let under_way = self.tasks.iter().enumerate().filter_map(|(index, task)| match task.state {
                State::Until { phase, at } => Some((at, phase, index)),
                _ => None,
            });
            let next = under_way.min();
            let issue = self.tasks.iter().map(|task| task.issued_at).filter(|&at| at > self.now).min();
            let own = match (next, issue) {
                (None, None) => break,
                (Some(((at, _), phase, task)), issue) if issue.is_none_or(|issue| at <= issue) => {
                    self.now = at;
                    let die = self.tasks[task].die;
                    self.tasks[task].state = State::Waiting;
                    if phase == 1 {
                        let bus = self.bus(die);
                        self.buses[bus].pop_front();
                        if let Some(&next) = self.buses[bus].front() {
                            self.tasks[next].state = self.until(1, self.tasks[next].phases[1]);
                        }
                    }
                    self.enter(task, phase + 1);
                    Some(die)
                }
                (_, issue) => {
                    self.now = issue.expect("one of them is there");
                    None
                }
            };
            let on_the_way =
                |programs: &[usize]| programs.iter().filter(|&&program| !self.has_ended(program)).count();
            let room = self.copies_max - on_the_way(&self.copies[..self.admitted]);
            let arrived = |&&program: &&usize| self.tasks[program].issued_at <= self.now;
            let more = self.copies[self.admitted..].iter().take(room).take_while(arrived).count();
            let with_room = self.admitted..self.admitted + more;
            self.admitted += more;
            // First who waited for others, then who gets room, then the die itself.
            let begun = |die| {
                self.next(die).map(|task| {
                    let has_room = self.tasks[task].copy.is_some_and(|copy| with_room.contains(&copy));
                    (Some(die) == own, has_room, task)
                })
            };
            let mut begun: Vec<_> = (0..dies).filter_map(begun).collect();
            begun.sort_unstable();
            begun.into_iter().for_each(|(.., task)| self.enter(task, 0));
        }
        let end = |task: &Task| if let State::Ended(at) = task.state { at } else { panic!("it never ends") };
        self.tasks.iter().map(end).collect()
    }
}

fn issue(flash: &mut Timeline, operation: Operation, after: When) -> When {
    ok(match operation {
        Operation::Read(page) => flash.read(Ppn::new(page), Place::Host, Cause::Host, after),
        Operation::Program(page) => flash.program(Ppn::new(page), DATA, Place::Host, Cause::Host, after),
        Operation::Copy(from, to) => flash.copy(Ppn::new(from), Ppn::new(to), DATA, Cause::Gc, after),
        Operation::Erase(unit) => flash.erase(BlockId::new(unit), Cause::Gc, after),
    })
}

/// The end of each operation.
fn ends(flash: &mut Timeline, operations: &[(u64, Operation)]) -> Vec<u64> {
    let (mut finished, mut ends): (Vec<Finished>, _) = (Vec::new(), vec![0; operations.len()]);
    for (tag, &(at, operation)) in (0..).zip(operations) {
        while !flash.advance(Time { ns: at }, &mut finished) {}
        let done = issue(flash, operation, When::at(Time { ns: at }));
        flash.tell(done, tag);
    }
    while flash.step(&mut finished) {}
    for Finished { tag, at } in finished {
        let Tag::Part(tag) = tag else { panic!("{tag:?} is no operation") };
        assert_eq!(ends[tag as usize], 0, "operation {tag} is told once");
        ends[tag as usize] = at.ns;
    }
    ends
}

fn drawn(stream: &mut RandomStream, geometry: &Geometry) -> Vec<(u64, Operation)> {
    let pages = geometry.blocks() * geometry.pages_per_block;
    let pause = [2_000, 50_000, 400_000][stream.random_range(0..3)];
    let mut now = 0;
    let page = |stream: &mut RandomStream| stream.random_range(0..pages);
    let mut draw = |stream: &mut RandomStream| {
        now += stream.random_range(1..pause);
        let operation = match stream.random_range(0..10) {
            0..2 => Operation::Read(page(stream)),
            2..4 => Operation::Program(page(stream)),
            4..9 => Operation::Copy(page(stream), page(stream)),
            _ => Operation::Erase(stream.random_range(0..geometry.blocks_per_plane)),
        };
        (now, operation)
    };
    (0..120).map(|_| draw(stream)).collect()
}

#[test]
fn dies_of_superblocks_are_as_the_reference() {
    for channel in [Channel::Private, Channel::Shared] {
        for seed in 0..120 {
            let stream = &mut Seed(seed).stream("superblocks");
            let geometry = Geometry {
                channels: stream.random_range(1..4),
                chips_per_channel: stream.random_range(1..4),
                blocks_per_plane: 3,
                pages_per_block: 8,
                ..Geometry::default()
            };
            let timing = timing(channel, stream.random_range(0..4_000));
            let copies_max = stream.random_range(1..20);
            let operations = drawn(stream, &geometry);
            let mut reference = Reference {
                geometry: &geometry,
                timing: &timing,
                copies_max: copies_max as usize,
                tasks: Vec::new(),
                copies: Vec::new(),
                admitted: 0,
                buses: vec![VecDeque::new(); geometry.dies() as usize],
                begun: 0,
                now: 0,
            };
            let tasks = reference.issue(&operations);
            let expected = reference.run();
            let mut flash = Timeline::new(&geometry, &timing, CacheTimings::default())
                .with_superblocks(1, Some(copies_max));
            for (index, end) in ends(&mut flash, &operations).into_iter().enumerate() {
                let expected = tasks[index].iter().map(|&task| expected[task]).max();
                let operation = operations[index];
                assert_eq!(
                    Some(end),
                    expected,
                    "seed {seed}, {channel:?}, {index}: {operation:?}, {geometry:?}"
                );
            }
        }
    }
}

/// Copy the valid pages of a superblock and erase it; return the time, and the work of the busiest die.
fn victim(dies: u32, channel: Channel, valid_percent: u32, seed: u64, copies: Option<u32>) -> (u64, u64) {
    let chips_per_channel = if channel == Channel::Shared { dies.min(4) } else { 1 };
    let geometry = Geometry {
        channels: dies / chips_per_channel,
        chips_per_channel,
        blocks_per_plane: 2,
        pages_per_block: 256,
        ..Geometry::default()
    };
    let transfer = 500;
    let timing = timing(channel, transfer);
    let (read, program) = (timing.page_read.ns + 8 * transfer, timing.page_program.ns + 8 * transfer);
    let mut flash = Timeline::new(&geometry, &timing, CacheTimings::default()).with_superblocks(1, copies);
    let stream = &mut Seed(seed).stream("valid");
    let pages = dies * geometry.pages_per_block;
    let mut work = vec![timing.block_erase.ns; dies as usize];
    let mut to = pages + stream.random_range(0..dies);
    for from in 0..pages {
        if stream.random_range(0..100) < valid_percent && to < 2 * pages {
            issue(&mut flash, Operation::Copy(from, to), When::at(Time::ZERO));
            work[(from % dies) as usize] += read;
            work[(to % dies) as usize] += program;
            to += 1;
        }
    }
    issue(&mut flash, Operation::Erase(0), When::at(Time::ZERO));
    while flash.step(&mut Vec::new()) {}
    (flash.busy_until().ns, work.into_iter().max().expect("a die"))
}

/// No order could be faster than the work of the busiest die. By default it is a few per cent more.
#[test]
fn a_victim_takes_the_time_of_the_busiest_die() {
    for channel in [Channel::Private, Channel::Shared] {
        for dies in [1, 2, 4, 16, 64, 256] {
            for (valid_percent, seed) in [(10, 1), (30, 2), (70, 3), (95, 4)] {
                let (time, work) = victim(dies, channel, valid_percent, seed, None);
                let copy = 250_000;
                let most = work + work / 25 + copy;
                let case = format!("{channel:?}, {dies} dies, {valid_percent} % valid");
                assert!((work..=most).contains(&time), "{case}: {time} ns for {work} ns of work");
            }
        }
    }
}

/// One page at a time crosses the controller: copies take place one after the other.
#[test]
fn room_for_one_page_copies_one_page_at_a_time() {
    let (time, work) = victim(16, Channel::Private, 70, 3, Some(1));
    assert!(time > 10 * work, "{time} ns for {work} ns of work");
    let (more, _) = victim(16, Channel::Private, 70, 3, Some(16));
    assert!((work..time / 8).contains(&more), "{more} ns with room for a page of each die");
}

/// A copy begins when there is room and when it may begin, whichever is later, and takes room in the order of issue.
#[test]
fn a_copy_without_room_begins_after_both() {
    const COPY: u64 = 40_009 + 200_017;
    let geometry = Geometry { channels: 3, blocks_per_plane: 2, pages_per_block: 4, ..Geometry::default() };
    let copied = |waits_for: &dyn Fn(&mut Timeline) -> When| {
        let mut flash = Timeline::new(&geometry, &timing(Channel::Private, 0), CacheTimings::default())
            .with_superblocks(1, Some(1));
        let after = waits_for(&mut flash);
        let copies = [When::at(Time::ZERO), after, When::at(Time::ZERO)]
            .map(|after| issue(&mut flash, Operation::Copy(0, 13), after));
        copies.into_iter().zip(0..).for_each(|(when, tag)| flash.tell(when, tag));
        let mut finished = Vec::new();
        while flash.step(&mut finished) {}
        finished.into_iter().map(|Finished { at, .. }| at.ns).collect::<Vec<_>>()
    };
    let program = |flash: &mut Timeline| issue(flash, Operation::Program(2), When::at(Time::ZERO));
    assert_eq!(copied(&program), [COPY, 2 * COPY, 3 * COPY], "the program ends before there is room");
    let [first, second] = [1_000_000, 200_017 + 1_000_000];
    let later = |_: &mut Timeline| When::at(Time { ns: first });
    assert_eq!(copied(&later), [COPY, first + COPY, first + 2 * COPY]);
    let much_later = |flash: &mut Timeline| program(flash).plus(ns(first));
    assert_eq!(copied(&much_later), [COPY, second + COPY, second + 2 * COPY]);
}

/// What waits for an erase is programmed in the order of issue, although a copy waits for it only once its page is read.
#[test]
fn programs_after_an_erase_keep_their_order() {
    let geometry = Geometry { channels: 3, blocks_per_plane: 3, pages_per_block: 4, ..Geometry::default() };
    let mut flash = Timeline::new(&geometry, &timing(Channel::Private, 0), CacheTimings::default())
        .with_superblocks(1, Some(2));
    let operations = [
        Operation::Program(26),
        Operation::Erase(0),
        Operation::Copy(12, 1),
        Operation::Copy(15, 4),
        Operation::Program(7),
    ];
    let ends = ends(&mut flash, &operations.map(|operation| (0, operation)));
    let erased = 200_017 + 2_000_003;
    assert_eq!(ends[1..], [erased, erased + 200_017, erased + 2 * 200_017, erased + 3 * 200_017]);
}

/// Programs of the host wait for the erase of their superblock, and reads and other programs do not.
#[test]
fn a_superblock_is_programmed_after_its_erase() {
    let geometry = Geometry { channels: 2, blocks_per_plane: 2, pages_per_block: 4, ..Geometry::default() };
    let mut flash = Timeline::new(&geometry, &timing(Channel::Private, 0), CacheTimings::default())
        .with_superblocks(1, None);
    // Die 0 reads and programs, die 1 has nothing to do but an erase, which waits for the copy.
    let operations =
        [Operation::Copy(1, 8), Operation::Erase(0), Operation::Program(1), Operation::Program(9)];
    let [copied, erased, again, other] = ends(&mut flash, &operations.map(|operation| (0, operation)))[..]
    else {
        panic!("four were issued")
    };
    assert_eq!(copied, 40_009 + 200_017);
    assert_eq!(erased, copied + 2_000_003);
    assert_eq!(again, erased + 200_017);
    assert_eq!(other, 40_009 + 200_017, "it begins after the read, before the erase");
}

/// A superblock is erased after all that was issued before, although that may begin later.
#[test]
fn an_erase_waits_for_what_was_issued_before() {
    let geometry = Geometry { channels: 2, blocks_per_plane: 2, pages_per_block: 4, ..Geometry::default() };
    for before in [Operation::Read(0), Operation::Program(0), Operation::Copy(0, 8), Operation::Copy(0, 9)] {
        let mut flash = Timeline::new(&geometry, &timing(Channel::Private, 0), CacheTimings::default())
            .with_superblocks(1, None);
        let later = When::at(Time { ns: 500_000 });
        let first = issue(&mut flash, before, later);
        let erased = issue(&mut flash, Operation::Erase(0), When::at(Time::ZERO));
        flash.tell(first, 0);
        flash.tell(erased, 1);
        let mut finished = Vec::new();
        while flash.step(&mut finished) {}
        let [first, erased] = finished[..] else { panic!("{before:?}: {finished:?}") };
        assert_eq!((first.tag, erased.tag), (Tag::Part(0), Tag::Part(1)), "{before:?}");
        assert_eq!(erased.at.ns, first.at.ns + 2_000_003, "{before:?}");
    }
}

/// On one die as well, a run of copies is as its copies.
#[test]
fn a_run_of_copies_is_as_its_copies_on_one_die() {
    let geometry = Geometry { channels: 1, blocks_per_plane: 3, pages_per_block: 8, ..Geometry::default() };
    let ends = |in_runs: bool| {
        let timing = Timing {
            read_priority: ReadPriority::Overtake { overtaken_max: 16 },
            ..timing(Channel::Private, 0)
        };
        let mut flash = Timeline::new(&geometry, &timing, CacheTimings::default()).with_superblocks(1, None);
        let run = Run { first: Ppn::new(0), pages: 0b1011, to: Ppn::new(8) };
        let mut whens = Vec::new();
        for erased in [1, 0] {
            whens.push(issue(&mut flash, Operation::Erase(erased), When::at(Time { ns: 700_000 })));
            if in_runs {
                let (_, Ok(())) = flash.copy_run(run, |_, _| DATA, Cause::Gc, When::at(Time::ZERO));
            } else {
                for (from, to) in run.copies() {
                    issue(&mut flash, Operation::Copy(from.get(), to.get()), When::at(Time::ZERO));
                }
            }
            whens.push(issue(&mut flash, Operation::Program(1), When::at(Time::ZERO)));
            whens.push(issue(&mut flash, Operation::Read(9), When::at(Time { ns: 5_000 })));
        }
        whens.into_iter().zip(0..).for_each(|(when, tag)| flash.tell(when, tag));
        let mut finished = Vec::new();
        while flash.step(&mut finished) {}
        finished
    };
    assert_eq!(ends(true), ends(false));
}
