//! Every short sequence of operations, cut at every step, with every set of surviving stores while there are few.

use crate::media::Sabotage;
use crate::oracle::{Operation, Setup, Subject};
use coflash_base::Seed;
use coflash_base::seed::RngExt;
use coflash_ftl::Trigger;

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

/// Every sequence of `length` operations on two pages of a full device.
fn sequences(setup: &Setup, sabotage: Sabotage, length: u32) -> Result<u64, String> {
    let mut ready = Subject::new(setup, sabotage);
    ready.fill();
    let operations = Operation::all(2);
    let mut states = 0;
    for number in 0..operations.len().pow(length) {
        let digit = |place| operations[number / operations.len().pow(place) % operations.len()];
        let sequence: Vec<Operation> = (0..length).map(digit).collect();
        states += cut_everywhere(&ready, &sequence)?;
    }
    Ok(states)
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
        states +=
            sequences(&setup, Sabotage::None, 3).unwrap_or_else(|problem| panic!("{setup:?}\n{problem}"));
    }
    assert!(states > 100_000, "{states} states are too few");
}

#[test]
fn a_device_that_breaks_the_order_is_caught() {
    for sabotage in [Sabotage::CommitOvertakes, Sabotage::NoFences] {
        let caught = setups().iter().any(|setup| sequences(setup, sabotage, 2).is_err());
        assert!(caught, "{sabotage:?} is not caught");
    }
}
