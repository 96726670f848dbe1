//! Every short sequence of operations, cut at every step, with every set of surviving stores while there are few.

use crate::media::Sabotage;
use crate::oracle::{Operation, Subject};
use crate::setup::Setup;
use coflash_base::Seed;
use coflash_base::seed::RngExt;
use coflash_controller::nvm::Epoch;
use coflash_ftl::{GcMode, Trigger};

/// Stores since the last fence up to which every subset is tried.
const UNDECIDED_MAX: usize = 4;

/// Cuts `sequence` at every step and tells how many states were tried, or what went wrong.
fn cut_everywhere(ready: &Subject, sequence: &[Operation]) -> Result<u64, String> {
    let mut states = 0;
    let mut whole = ready.clone();
    whole.media.steps = 0;
    sequence.iter().for_each(|&operation| whole.apply(operation));
    for step in 0..=whole.media.steps {
        let mut cut = ready.clone();
        cut.media.steps_left = step;
        sequence.iter().for_each(|&operation| cut.apply(operation));
        let undecided = cut.media.undecided();
        let subsets = if undecided <= UNDECIDED_MAX { 1 << undecided } else { 1 << UNDECIDED_MAX };
        let mut lots = Seed(step).stream("lots");
        for subset in 0..subsets {
            states += 1;
            let mut back = cut.clone();
            if undecided <= UNDECIDED_MAX {
                back.media.restart(|store| subset >> store & 1 == 1);
            } else {
                back.media.restart(|_| match subset {
                    0 => false,
                    1 => true,
                    _ => lots.random_range(0..2_u32) == 0,
                });
            }
            let describe =
                |problem| format!("{sequence:?}, cut after step {step}, survivors {subset}: {problem}");
            back.recover().map_err(describe)?;
            // It works on, and what it then commits survives another cut.
            back.apply(Operation::Write(0));
            back.apply(Operation::Flush);
            back.apply(Operation::Read(1));
            back.media.restart(|_| false);
            back.recover().map_err(describe)?;
        }
    }
    Ok(states)
}

/// Every sequence of `length` operations on two pages of a device that is in use.
fn sequences(ready: &Subject, length: u32) -> Result<u64, String> {
    let operations = Operation::all(2);
    let mut states = 0;
    for number in 0..operations.len().pow(length) {
        let digit = |place| operations[number / operations.len().pow(place) % operations.len()];
        let sequence: Vec<Operation> = (0..length).map(digit).collect();
        states += cut_everywhere(ready, &sequence)?;
    }
    Ok(states)
}

fn full(setup: &Setup, sabotage: Sabotage) -> Subject {
    let mut subject = Subject::new(setup, sabotage);
    subject.fill();
    subject
}

/// Does what chance wants until page 0 is as it should be, and tells what that was.
fn reach(ready: &Subject, state: impl Fn(&Subject) -> bool) -> (Subject, Vec<Operation>) {
    let mut best: Option<(Subject, Vec<Operation>)> = None;
    for seed in 0..1000 {
        let (mut subject, mut route) = (ready.clone(), Vec::new());
        let mut stream = Seed(seed).stream("route");
        let limit = best.as_ref().map_or(60, |(_, route)| route.len() - 1);
        while !state(&subject) && route.len() < limit {
            route.push(Operation::draw(&mut stream, subject.pages()));
            subject.apply(route[route.len() - 1]);
        }
        if state(&subject) {
            best = Some((subject, route));
        }
    }
    best.expect("a route is found")
}

type Check = fn(&Subject) -> bool;

/// Where page 0 may be that three operations on a full device do not bring it to.
const DEEP: [(&str, Check); 8] = [
    ("S1", |subject| subject.page_0().is_clean()),
    ("S1, not durable yet, and GC's next victim", |subject| {
        let mut next = subject.clone();
        next.apply(Operation::Read(1));
        subject.page_0().is_clean() && subject.media.undecided() > 0 && next.page_0().is_orphan()
    }),
    ("S2", |subject| subject.page_0().is_pinned() && subject.page_0().mapped),
    ("S3 as GC dropped it", |subject| subject.page_0().is_orphan()),
    ("S4 alone", |subject| {
        subject.page_0().is_pinned() && !subject.page_0().mapped && subject.page_0().older.is_none()
    }),
    ("S4 and S5", |subject| subject.page_0().is_pinned() && subject.page_0().older == Some(false)),
    ("deleted, with a condemned slot", |subject| subject.page_0().older == Some(true)),
    ("deleted, with the committed version in flash", |subject| {
        subject.now[0] == [0; 2] && subject.page_0().mapped && !subject.page_0().is_cached()
    }),
];

/// GC in steps: while dies are idle, and before each operation.
#[test]
fn every_short_sequence_with_gc_in_steps() {
    let (mut states, mut steps) = (0, 0);
    for mode in [GcMode::Background, GcMode::Preemptive] {
        for setup in setups().map(|setup| setup.with_mode(mode)) {
            let mut ready = full(&setup, Sabotage::None);
            // Until a victim is partly cleaned, wherever that is possible.
            for page in (0..setup.layout.logical_pages).cycle().take(60) {
                ready.apply(Operation::Write(page));
                ready.apply(Operation::Flush);
                ready.apply(Operation::Idle(1));
            }
            steps += ready.controller.ftl().tally().gc_steps;
            states += sequences(&ready, 2).unwrap_or_else(|problem| panic!("{setup:?}\n{problem}"));
        }
    }
    // Page 0 is clean, not durable yet, and dropped by the next step of GC, which erases its block.
    let setup = Setup::new(7, 3, 5, 2, Trigger::Operation).with_mode(GcMode::Background);
    let (ready, route) = reach(&full(&setup, Sabotage::None), |subject| {
        let mut next = subject.clone();
        next.apply(Operation::Idle(1));
        subject.page_0().is_clean() && subject.media.undecided() > 0 && next.page_0().is_orphan()
    });
    states += sequences(&ready, 3).unwrap_or_else(|problem| panic!("by {route:?}, {setup:?}\n{problem}"));
    assert!(states > 20_000 && steps > 80, "{states} states, {steps} steps are too few");
}

fn setups() -> [Setup; 3] {
    [
        Setup::new(6, 2, 3, 2, Trigger::Write),
        Setup::new(6, 2, 2, 1, Trigger::Operation),
        Setup::new(7, 3, 5, 1, Trigger::Operation),
    ]
}

#[test]
fn every_short_sequence_cut_at_every_step() {
    let mut states = 0;
    for setup in setups() {
        let ready = full(&setup, Sabotage::None);
        states += sequences(&ready, 3).unwrap_or_else(|problem| panic!("{setup:?}\n{problem}"));
    }
    assert!(states > 100_000, "{states} states are too few");
}

#[test]
fn every_short_sequence_from_states_that_take_long_to_reach() {
    let setup = Setup::new(7, 3, 5, 2, Trigger::Operation);
    let mut states = 0;
    for (name, state) in DEEP {
        let (ready, route) = reach(&full(&setup, Sabotage::None), state);
        states += sequences(&ready, 3)
            .unwrap_or_else(|problem| panic!("{name} by {route:?}, {setup:?}\n{problem}"));
    }
    assert!(states > 100_000, "{states} states are too few");
}

/// Epochs run out at every possible place: while what was committed in the last one is renumbered, and after a cut there.
#[test]
fn every_short_sequence_when_epochs_run_out() {
    let mut states = 0;
    for setup in setups() {
        for left in 0..3 {
            let mut ready = full(&setup, Sabotage::None);
            ready.apply(Operation::Write(0));
            ready.apply(Operation::Flush);
            ready.skip_to(Epoch(Epoch::MAX.0 - left));
            states +=
                sequences(&ready, 2).unwrap_or_else(|problem| panic!("{left} left, {setup:?}\n{problem}"));
        }
    }
    assert!(states > 20_000, "{states} states are too few");
}

#[test]
fn a_device_that_breaks_the_order_is_caught() {
    for sabotage in [Sabotage::CommitOvertakes, Sabotage::NoFences] {
        let caught = setups().iter().any(|setup| sequences(&full(setup, sabotage), 2).is_err());
        assert!(caught, "{sabotage:?} is not caught");
    }
}
