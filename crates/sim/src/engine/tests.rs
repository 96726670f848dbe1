//! Idle time to the nanosecond: GC begins a step before a request arrives, or not at all.

use super::Engine;
use crate::build::build;
use crate::device::Device;
use crate::observer::Silent;
use crate::precondition::precondition;
use crate::scenario::Scenario;
use crate::target::Target;
use coflash_base::{Seed, Time};
use coflash_workload::{Op, Request};

const READ_NS: u64 = 25_000 + 8 * 13_200;
const COPY_NS: u64 = 25_000 + 200_000;
const ERASE_NS: u64 = 1_500_000;

/// One die, full and written over, so that GC has much to do.
fn engine(channel: &str) -> Engine<Device> {
    let scenario = Scenario::default()
        .set(&[
            ("flash.channels", "1"),
            ("flash.chips_per_channel", "1"),
            ("flash.blocks_per_plane", "64"),
            ("timing.channel", channel),
            ("gc.low_mark", "2"),
            ("gc.mode", "background"),
            ("gc.background_mark", "4"),
            ("precondition.random_passes", "2.0"),
        ])
        .expect("a scenario");
    let mut controller = build(&scenario).expect("a device");
    precondition(controller.ftl_mut(), &scenario.precondition, Seed(1), &mut Silent)
        .expect("nobody stops it");
    let logical_pages = controller.ftl().logical_pages();
    Engine::new(&scenario, Device::new(&scenario, controller), logical_pages)
}

/// When a read that arrives at `arrival` is answered.
fn answer(engine: &mut Engine<Device>, arrival: u64) -> u64 {
    let request = Request { arrival: Time { ns: arrival }, offset: 0, length: 4096, op: Op::Read };
    let known = engine.issue(&request, request.arrival).expect("it fits");
    let mut answers: Vec<u64> = known.iter().map(|at| at.ns).collect();
    engine.advance(Time { ns: arrival + READ_NS + ERASE_NS }, |at| answers.push(at.ns));
    assert_eq!(answers.len(), 1);
    answers[0]
}

/// When the first steps of GC end, as reads see them that arrive one nanosecond after each has begun.
fn steps(channel: &str, count: usize) -> Vec<u64> {
    let mut ends = vec![0];
    for _ in 0..count {
        let begin = ends[ends.len() - 1];
        ends.push(answer(&mut engine(channel), begin + 1) - READ_NS);
        let span = ends[ends.len() - 1] - begin;
        assert!([COPY_NS, ERASE_NS].contains(&span), "a step is a copy or an erase: {span} ns");
    }
    ends
}

#[test]
fn a_request_waits_for_the_step_that_has_begun_and_for_no_other() {
    for channel in ["private", "shared"] {
        let ends = steps(channel, 60);
        assert!(ends.windows(2).any(|pair| pair[1] - pair[0] == ERASE_NS), "{channel}: no erase among them");
        for pair in ends.windows(2) {
            let (begin, end) = (pair[0], pair[1]);
            let cases = [(begin, begin), (begin + 1, end), (end - 1, end), (end, end)];
            for (arrival, served_from) in cases {
                let answered = answer(&mut engine(channel), arrival);
                assert_eq!(
                    answered,
                    served_from + READ_NS,
                    "{channel}: at {arrival}, a step is {begin}–{end}"
                );
            }
        }
    }
}

#[test]
fn private_and_shared_channels_know_the_same_idle_time() {
    assert_eq!(steps("private", 100), steps("shared", 100));
}

#[test]
fn after_the_last_request_nothing_is_idle() {
    let mut engine = engine("shared");
    let before = engine.target.ftl().tally().gc_steps;
    while engine.drain(1) {}
    assert_eq!(engine.target.ftl().tally().gc_steps, before);
}
