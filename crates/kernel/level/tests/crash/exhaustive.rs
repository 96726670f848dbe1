//! Every short sequence of operations, cut at every step, with every set of surviving stores while there are few.

use crate::power;
use crate::subject::{BLANK, Sabotage, Subject, setup};
use crate::support::{Named, Operation, Setup, lpn};
use coflash_base::Seed;
use coflash_base::seed::RngExt;
use coflash_ftl::{GcMode, Trigger};
use coflash_level::nvm::Epoch;

/// Stores since the last fence up to which every subset is tried.
const UNDECIDED_MAX: usize = 4;

/// Cuts the last operation of `sequence` at every step and returns the number of states tried, or the problem.
fn cut_everywhere(before: &Subject, sequence: &[Operation]) -> Result<u64, String> {
    let last = sequence[sequence.len() - 1];
    let mut states = 0;
    let mut whole = before.clone();
    whole.image().count_steps();
    whole.apply(last);
    // At the last one all is done.
    for step in 1..=whole.image().steps() + 1 {
        let mut cut = before.clone();
        cut.image().cut_after(step);
        cut.apply(last);
        let undecided = cut.image().undecided();
        let subsets = if undecided <= UNDECIDED_MAX { 1 << undecided } else { 1 << UNDECIDED_MAX };
        let mut lots = Seed(step).stream("lots");
        for subset in 0..subsets {
            states += 1;
            let mut back = cut.clone();
            if undecided <= UNDECIDED_MAX {
                back.image().restart(|store| subset >> store & 1 == 1);
            } else {
                back.image().restart(|_| match subset {
                    0 => false,
                    1 => true,
                    _ => lots.random(),
                });
            }
            let describe =
                |problem| format!("{sequence:?}, cut after step {step}, survivors {subset}: {problem}");
            back.recover().map_err(describe)?;
            // It works on, and its next commit survives another cut.
            back.apply_all(&[Operation::Write(lpn(0)), Operation::Flush, Operation::Read(lpn(1))]);
            back.image().restart(|_| false);
            back.recover().map_err(describe)?;
        }
    }
    Ok(states)
}

/// Every sequence of up to `length` operations on two pages of a device that is in use.
fn sequences(ready: &Subject, length: usize) -> Result<u64, String> {
    let on_pages = [Operation::Read, Operation::Write, Operation::Part, Operation::Trim];
    let each = [lpn(0), lpn(1)].into_iter().flat_map(|page| on_pages.map(|operation| operation(page)));
    let operations: Vec<_> = each.chain([Operation::Flush, Operation::Idle(1)]).collect();
    power::cut_sequences(ready, &operations, length, Subject::apply, cut_everywhere)
}

/// Every sequence; none may go wrong.
fn states(ready: &Subject, length: usize) -> u64 {
    sequences(ready, length).unwrap_or_else(|problem| panic!("{problem}"))
}

fn full(setup: &Setup) -> Subject {
    Subject::full(setup, Sabotage::None)
}

/// Runs random operations until page 0 is in the wanted state, and returns them.
fn reach(ready: &Subject, state: impl Fn(&Subject) -> bool) -> (Subject, Vec<Operation>) {
    let mut best: Option<(Subject, Vec<Operation>)> = None;
    // The shortest of a thousand, or the first.
    for seed in 0..50_000 {
        if seed > 1000 && best.is_some() {
            break;
        }
        let (mut subject, mut route) = (ready.clone(), Vec::new());
        let mut stream = Seed(seed).stream("route");
        let limit = best.as_ref().map_or(60, |(_, route)| route.len() - 1);
        while !state(&subject) && route.len() < limit {
            route.push(Operation::draw(&mut stream, subject.pages()));
            subject.apply_all(&route[route.len() - 1..]);
        }
        if state(&subject) {
            best = Some((subject, route));
        }
    }
    best.expect("a route is found")
}

type Check = fn(&Subject) -> bool;

/// Where page 0 may be that three operations on a full device do not bring it to.
const DEEP: [(&str, Check); 9] = [
    ("S1", |subject| subject.page_0().is_clean()),
    ("S1, as it stands by to leave", |subject| subject.page_0().stands_by()),
    ("S1, not durable yet, and GC's next victim", |subject| subject.drops_page_0_in(Operation::Read(lpn(1)))),
    ("S2", |subject| subject.page_0().is_uncommitted() && subject.page_0().mapped),
    ("S3 as GC dropped it", |subject| subject.page_0().is_orphan()),
    ("S4 alone", |subject| {
        subject.page_0().is_uncommitted() && !subject.page_0().mapped && subject.page_0().older.is_none()
    }),
    ("S4 and S5", |subject| subject.page_0().is_uncommitted() && subject.page_0().older == Some(false)),
    ("deleted, with a condemned slot", |subject| subject.page_0().older == Some(true)),
    ("deleted, with the committed version in flash", |subject| {
        subject.device.model[0] == BLANK && subject.page_0().mapped && !subject.page_0().is_cached()
    }),
];

/// GC in steps: while dies are idle, and before each operation.
#[test]
fn every_short_sequence_with_gc_in_steps() {
    let (mut count, mut steps) = (0, 0);
    for mode in [GcMode::Background { mark: None }, GcMode::Preemptive { steps_max: 1 }] {
        for setup in setups(mode) {
            let _named = Named(&setup);
            let mut ready = full(&setup);
            // Until a victim is partly cleaned, wherever that is possible.
            for page in (0..setup.logical_pages()).cycle().take(60) {
                ready.apply_all(&[Operation::Write(lpn(page)), Operation::Flush, Operation::Idle(1)]);
            }
            steps += ready.device.count("gc_steps");
            count += states(&ready, 2);
        }
    }
    // Page 0 is clean, not durable yet, and dropped by the next step of GC, which erases its block.
    let setup = setup(3, 3, 5, 2, Trigger::Operation, GcMode::Background { mark: None });
    let (ready, route) = reach(&full(&setup), |subject| subject.drops_page_0_in(Operation::Idle(1)));
    let _named = Named((route, setup));
    count += states(&ready, 3);
    assert!(count > 20_000 && steps > 80, "{count} states, {steps} steps are too few");
}

fn setups(mode: GcMode) -> [Setup; 3] {
    [
        setup(2, 2, 3, 2, Trigger::Write, mode),
        setup(2, 2, 2, 1, Trigger::Operation, mode),
        setup(3, 3, 5, 1, Trigger::Operation, mode),
    ]
}

#[test]
fn every_short_sequence_cut_at_every_step() {
    let mut count = 0;
    for setup in setups(GcMode::Foreground) {
        let _named = Named(&setup);
        count += states(&full(&setup), 3);
    }
    assert!(count > 80_000, "{count} states are too few");
}

#[test]
fn every_short_sequence_from_states_that_take_long_to_reach() {
    let setup = setup(3, 3, 5, 2, Trigger::Operation, GcMode::Foreground);
    let mut count = 0;
    for (name, state) in DEEP {
        let _reached = Named(name);
        let (ready, route) = reach(&full(&setup), state);
        let _named = Named((name, route, &setup));
        count += states(&ready, 3);
    }
    assert!(count > 100_000, "{count} states are too few");
}

/// Epochs run out at every possible place: while the pages of the last commit are renumbered, and after a cut
/// there.
#[test]
fn every_short_sequence_when_epochs_run_out() {
    let mut count = 0;
    for setup in setups(GcMode::Foreground) {
        for left in 0..3 {
            let _named = Named((left, &setup));
            let mut ready = full(&setup);
            ready.apply_all(&[Operation::Write(lpn(0)), Operation::Flush]);
            ready.skip_to(Epoch(Epoch::MAX.0 - left));
            count += states(&ready, 2);
        }
    }
    assert!(count > 20_000, "{count} states are too few");
}

#[test]
fn a_device_that_breaks_the_order_is_caught() {
    for sabotage in [Sabotage::CommitOvertakes, Sabotage::NoFences] {
        let goes_wrong = |setup: &Setup| sequences(&Subject::full(setup, sabotage), 2).is_err();
        assert!(setups(GcMode::Foreground).iter().any(goes_wrong), "{sabotage:?} is not caught");
    }
}
