//! Random operations against an array of what was last written, while notices wait, go in batches and overtake each other.

use super::support::{Operation, Setup, Subject, cooperation};
use crate::remote::Sabotage;
use crate::{Notices, Protecting};
use coflash_base::seed::RngExt;
use coflash_base::{Bytes, Duration, Seed, Share};
use coflash_cache::EvictionConfig;
use coflash_controller::Eviction;
use coflash_flash::DieId;
use coflash_ftl::{FreeMark, GcMode, Trigger, VictimConfig};
use std::num::NonZeroU32;

const STEPS: u64 = 600;

/// What the storms have met with, summed, to see that they meet with everything.
#[derive(Debug, Default)]
struct Met {
    drops: u64,
    refused: u64,
    obsolete: u64,
    used: u64,
    revoked_too_late: u64,
    waited_ns: u64,
    withdrawn: u64,
    weights: u64,
}

/// A configuration drawn from its number.
fn draw(seed: u64, notices: Notices, protecting: Protecting) -> Setup {
    let stream = &mut Seed(seed).stream("setup");
    let mut pick = |of: u32| stream.random_range(0..of) as usize;
    let mut setup = Setup::tiny(12, 6, [1, 2, 5, 9, 14][pick(5)]);
    setup.seed = Seed(seed);
    setup.geometry.channels = 1 + pick(2) as u32;
    setup.cache.policy =
        EvictionConfig::by_name(EvictionConfig::NAMES[pick(EvictionConfig::NAMES.len() as u32)])
            .expect("a policy");
    setup.gc.victim =
        VictimConfig::by_name(VictimConfig::NAMES[pick(VictimConfig::NAMES.len() as u32)]).expect("a policy");
    setup.cache.read_allocate = pick(8) > 0;
    setup.cache.write_allocate = pick(4) > 0;
    setup.cache.eviction = [Eviction::Foreground, Eviction::Background][pick(2)];
    setup.gc.trigger = [Trigger::Write, Trigger::Operation][pick(2)];
    setup.gc.mode = [GcMode::Foreground, GcMode::Background, GcMode::Preemptive][pick(3)];
    if setup.gc.mode == GcMode::Preemptive {
        setup.gc.low_mark = FreeMark::Blocks(3);
    }
    setup.cooperation = cooperation(
        [
            "\"cdm\"",
            r#"{"name": "cdm", "removable_weight": 0}"#,
            r#"{"name": "cdm", "removable_weight": "adaptive"}"#,
        ][pick(3)],
    );
    setup.host.notices = notices;
    setup.host.protecting = protecting;
    setup.host.grants = [Share::ONE, Share::percent(50), Share::percent(20)][pick(3)];
    setup.host.batch_max = NonZeroU32::new([1, 3, 40][pick(3)]).expect("not zero");
    setup.host.batch_wait = Duration { ns: [0, 30_000, 3_000_000][pick(3)] };
    setup.host.piggyback_max = Bytes { count: [8, 64][pick(2)] };
    setup.host.jitter = Duration { ns: [0, 50_000, 1_000_000][pick(3)] };
    setup
}

/// Prints what a storm was when it fails.
struct Named<'a>(&'a Setup, bool);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if self.1 && std::thread::panicking() {
            eprintln!("the storm was {:#?}", self.0);
        }
    }
}

fn storm(setup: &Setup, sabotage: Sabotage, met: &mut Met) {
    let sound = sabotage == Sabotage::None;
    let _named = Named(setup, sound);
    let mut subject = Subject::new(setup);
    subject.host.remote.sabotage(sabotage);
    let stream = &mut setup.seed.stream("storm");
    for step in 1..=STEPS {
        subject.pass(stream.random_range(0..20_000));
        subject.apply(&Operation::draw(stream, subject.model.len() as u32, step));
        if setup.gc.mode == GcMode::Background && step % 3 == 0 {
            subject.host.work_idle(DieId::new(0), (), &mut subject.image);
        }
        subject.assert_nothing_is_lost();
        if sound && step % 8 == 0 {
            subject.host.assert_invariants();
        }
    }
    for page in subject.pages() {
        subject.apply(&Operation::Read(page));
    }
    subject.settle();
    subject.assert_nothing_is_lost();
    if sound {
        subject.host.assert_invariants();
        // A note that a page has gone may be overtaken by one that it is back: then a mark is missing, which costs a copy.
        if setup.host.protecting == Protecting::Request && setup.host.notices != Notices::Batched {
            subject.host.assert_as_in_one_device();
        }
    }
    let remote = subject.host.remote();
    let tally = remote.tally();
    met.drops += remote.ftl().tally().gc_drops_pages;
    met.refused += tally.protect.refused;
    met.obsolete += tally.protect_obsolete_pages;
    met.used += tally.grants_used;
    met.revoked_too_late += tally.revoke.refused;
    met.waited_ns += tally.waited.ns;
    met.withdrawn += remote.to_device().withdrawn;
    met.weights += tally.notices.weights;
}

const WAYS: [Notices; 3] = [Notices::Each, Notices::Batched, Notices::Piggybacked];

#[test]
fn no_page_is_lost_whatever_is_delayed_or_overtaken() {
    for protecting in [Protecting::Request, Protecting::Grants] {
        let mut met = Met::default();
        for notices in WAYS {
            for seed in 0..300 {
                storm(&draw(seed, notices, protecting), Sabotage::None, &mut met);
            }
        }
        assert!(met.drops > 1000 && met.withdrawn > 1000 && met.waited_ns > 0, "{protecting:?}: {met:?}");
        let expected = match protecting {
            Protecting::Request => met.refused > 100 && met.obsolete > 50 && met.used == 0,
            Protecting::Grants => met.used == met.drops && met.revoked_too_late > 100 && met.refused == 0,
        };
        assert!(expected, "{protecting:?}: the storms reach what they should: {met:?}");
    }
}

/// Whether some storm loses a page, and is told so by what a page holds.
fn loses_pages(sabotage: Sabotage, notices: Notices, protecting: Protecting) -> bool {
    (0..100).any(|seed| {
        let setup = draw(seed, notices, protecting);
        let lost = std::panic::catch_unwind(|| storm(&setup, sabotage, &mut Met::default())).err();
        lost.and_then(|problem| problem.downcast::<String>().ok())
            .is_some_and(|problem| problem.contains("as it lies") || problem.contains("Read("))
    })
}

#[test]
fn a_device_that_trusts_its_marks_loses_pages() {
    for notices in WAYS {
        assert!(loses_pages(Sabotage::TrustMarks, notices, Protecting::Request), "{notices:?}");
    }
}

#[test]
fn a_host_that_forgets_its_promises_loses_pages() {
    for notices in WAYS {
        assert!(loses_pages(Sabotage::NoRevocation, notices, Protecting::Grants), "{notices:?}");
    }
}

#[test]
fn a_host_that_does_not_wait_for_what_it_said_loses_pages() {
    for protecting in [Protecting::Request, Protecting::Grants] {
        assert!(loses_pages(Sabotage::NoWaiting, Notices::Batched, protecting), "{protecting:?}");
    }
}
