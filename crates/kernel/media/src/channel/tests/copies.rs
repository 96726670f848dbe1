//! Copies from die to die, among reads and programs, beside a model that is as simple as it can be: it searches all that waits.

use super::*;
use coflash_base::RandomStream;
use coflash_base::seed::{RngExt, Seed};

/// What a die does, in which span, and what follows.
#[derive(Clone, Debug)]
struct Task {
    die: usize,
    span: u64,
    issued: u64,
    ready: u64,
    /// The program of the page that it reads.
    program: Option<usize>,
    /// Whether it gives back the room of a page.
    gives_room: bool,
    tag: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Join(usize),
    /// The end of what a die does.
    End(usize),
}

#[derive(Default)]
struct Model {
    now: u64,
    tasks: Vec<Task>,
    current: Vec<Option<usize>>,
    queues: Vec<Vec<usize>>,
    events: Vec<(u64, u64, Event)>,
    scheduled: u64,
    room: u32,
    waiting: Vec<usize>,
    decode: u64,
    ends: Vec<(u32, u64)>,
}

impl Model {
    fn task(&mut self, die: usize, phases: &Phases, ready: u64) -> usize {
        let (span, issued) = (phases.total.ns, self.tasks.len() as u64);
        let (program, gives_room, tag) = (None, false, None);
        self.tasks.push(Task { die, span, issued, ready, program, gives_room, tag });
        self.tasks.len() - 1
    }

    fn copy(&mut self, [(source, read), (target, program)]: [(usize, &Phases); 2], ready: u64) -> usize {
        let program = self.task(target, program, 0);
        self.tasks[program].gives_room = true;
        let read = self.task(source, read, ready);
        self.tasks[read].program = Some(program);
        if self.room == 0 {
            self.waiting.push(read);
        } else {
            self.room -= 1;
            self.join_at(read, ready);
        }
        program
    }

    fn schedule(&mut self, span: u64, event: Event) {
        self.scheduled += 1;
        self.events.push((self.now + span, self.scheduled, event));
    }

    fn join_at(&mut self, task: usize, at: u64) {
        let known = &mut self.tasks[task];
        known.ready = known.ready.max(at);
        if known.ready > self.now {
            self.schedule(self.tasks[task].ready - self.now, Event::Join(task));
        } else {
            self.queues[known.die].push(task);
            self.engage(self.tasks[task].die);
        }
    }

    fn engage(&mut self, die: usize) {
        let first = self.queues[die].iter().copied().min_by_key(|&task| self.tasks[task].issued);
        if let (Some(task), None) = (first, self.current[die]) {
            self.queues[die].retain(|&other| other != task);
            self.current[die] = Some(task);
            self.schedule(self.tasks[task].span, Event::End(die));
        }
    }

    fn run(&mut self, until: u64) {
        let next =
            |events: &[(u64, u64, Event)]| (0..events.len()).min_by_key(|&at| (events[at].0, events[at].1));
        while let Some(index) = next(&self.events).filter(|&index| self.events[index].0 <= until) {
            let (at, _, event) = self.events.remove(index);
            self.now = at;
            match event {
                Event::Join(task) => self.join_at(task, at),
                Event::End(die) => self.end(die),
            }
        }
        self.now = until;
    }

    fn end(&mut self, die: usize) {
        let Task { program, gives_room, tag, .. } = self.tasks[self.current[die].expect("it does something")];
        if let Some(program) = program {
            self.join_at(program, self.now + self.decode);
        }
        if gives_room && self.waiting.is_empty() {
            self.room += 1;
        } else if gives_room {
            let next = self.waiting.remove(0);
            self.join_at(next, self.now);
        }
        self.ends.extend(tag.map(|tag| (tag, self.now)));
        self.current[die] = None;
        self.engage(die);
    }
}

/// Some phases, of so few spans that most events come at the same time as others.
fn phases(draws: &mut RandomStream) -> [Phases; 2] {
    let mut span = |most| Duration { ns: draws.random_range(0..=most) * 10 };
    let (bus, array, finish) = (span(2), span(3), span(5));
    [Phases::new(array, bus, Duration::ZERO), Phases::new(Duration::ZERO, bus, finish)]
}

#[test]
fn copies_end_as_in_a_model_that_searches_all_that_waits() {
    let mut ends = 0;
    for seed in 0..300 {
        let mut draws = Seed(seed).stream("copies");
        let dies = draws.random_range(2..6_usize);
        let room = draws.random_range(1..9);
        let decode = Duration { ns: draws.random_range(0..2) * 10 };
        let mut channels = Channels::new((0..dies as u32).collect(), &Timing::default());
        channels.serve_ready(room, decode);
        let mut model = Model { room, decode: decode.ns, current: vec![None; dies], ..Model::default() };
        model.queues.resize(dies, Vec::new());
        let (mut finished, kinds) = (Vec::new(), [(); 3].map(|()| phases(&mut draws)));
        let (gap, mut now) = (draws.random_range(1..30), 0);
        for tag in 0..200 {
            let [read, program] = kinds[draws.random_range(0..3)];
            let ready = now + draws.random_range(0..2) * draws.random_range(0..5) * 10;
            let after = When::at(Time { ns: ready });
            let (source, step) = (draws.random_range(0..dies), draws.random_range(0..dies));
            let (op, task) = match draws.random_range(0..4) {
                0 => (channels.issue_read(source, &read, after), model.task(source, &read, ready)),
                1 => {
                    (channels.issue_into(source, &program, None, after), model.task(source, &program, ready))
                }
                _ => {
                    let target = (source + step.clamp(1, dies - 1)) % dies;
                    let steps = [(source, &read), (target, &program)];
                    (channels.copy_across(steps, None, after, 0), model.copy(steps, ready))
                }
            };
            channels.tell(op, 0, Tag::Part(tag));
            model.tasks[task].tag = Some(tag);
            if !model.tasks[task].gives_room {
                model.join_at(task, ready);
            }
            if draws.random_range(0..3) == 0 {
                now += draws.random_range(0..gap) * 10;
                while !channels.run(Time { ns: now }, &mut finished) {}
                channels.pass_to(Time { ns: now });
                model.run(now);
            }
        }
        while channels.step(&mut finished) {}
        model.run(u64::MAX / 2);
        let seen = finished.iter().map(|&Finished { tag, at }| (tag, at.ns));
        let expected = model.ends.iter().map(|&(tag, at)| (Tag::Part(tag), at));
        assert!(seen.eq(expected), "seed {seed}");
        ends += model.ends.len();
    }
    assert_eq!(ends, 300 * 200);
}
