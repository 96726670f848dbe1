//! A link that breaks its promises loses pages, and a link that keeps them does not.

use super::wire::Wire;
use crate::support::{Checked, Named, Operation, Setup, lpn, pick};
use crate::{May, Notices, Protecting};
use coflash_base::{Bytes, Duration, Save, Seed, Share};
use coflash_ftl::Trigger;
use std::num::NonZeroU32;

const BATCHED: Notices = Notices::Batched { max: NonZeroU32::MIN, wait: Duration::ZERO };
const WAYS: [Notices; 3] = [Notices::Each, BATCHED, Notices::Piggybacked { bytes_max: Bytes { count: 64 } }];
const REQUEST: Protecting = Protecting::Request { answer_time: Duration { ns: 5_000 } };
const GRANTS: Protecting = Protecting::Grants { share: Share { ppb: 500_000_000 } };

/// Deliberate faults of the link that the tests must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(super) enum Sabotage {
    None,
    /// The device drops marked pages without asking.
    TrustMarks,
    /// The host evicts granted pages without revoking the grant.
    NoRevocation,
    /// The host does not wait for its last notice about a page.
    NoWaiting,
}

/// The promises that the faults break.
impl Wire {
    pub(super) fn trusts_marks(&self) -> bool {
        self.sabotage == Sabotage::TrustMarks
    }

    pub(super) fn revokes(&self) -> bool {
        self.sabotage != Sabotage::NoRevocation
    }

    pub(super) fn waits(&self) -> bool {
        self.sabotage != Sabotage::NoWaiting
    }
}

/// Whether some storm loses a page, by its content.
fn loses_pages(sabotage: Sabotage, notices: Notices, protecting: Protecting) -> bool {
    (0..100).any(|seed| {
        let lost = std::panic::catch_unwind(|| storm(seed, sabotage, notices, protecting)).err();
        lost.and_then(|problem| problem.downcast::<String>().ok())
            .is_some_and(|problem| problem.contains("as it lies") || problem.contains("Read("))
    })
}

fn storm(seed: u64, sabotage: Sabotage, notices: Notices, protecting: Protecting) {
    let stream = &mut Seed(seed).stream("storm");
    let scheme = pick(stream, &[r#""cdm""#, r#"{"name": "cdm", "removable_weight": 0}"#]);
    let slots = pick(stream, &[2, 5, 9, 14]);
    let mut setup = Setup::draw(scheme, slots, stream).in_host();
    setup.gc.trigger = Trigger::Operation;
    (setup.host.notices, setup.host.protecting) = (notices, protecting);
    let max = NonZeroU32::new(pick(stream, &[1, 3, 40])).expect("not zero");
    let wait = Duration { ns: pick(stream, &[0, 30_000, 3_000_000]) };
    if let Notices::Batched { .. } = setup.host.notices {
        setup.host.notices = Notices::Batched { max, wait };
    }
    setup.host.jitter = Duration { ns: pick(stream, &[0, 50_000, 1_000_000]) };
    let _named = (sabotage == Sabotage::None).then(|| Named((seed, &setup)));
    let mut storm = Checked::stack(&setup);
    storm.pace = Duration { ns: 20_000 };
    let May::Have(cache) = storm.rig.level.below_mut() else { panic!("the cache is in the host") };
    let May::Have(link) = cache.below_mut() else { panic!("it is over a link") };
    link.wire.sabotage = sabotage;
    for _ in 0..600 {
        let operation = Operation::draw(stream, storm.pages());
        storm.apply(operation).expect("flash is sound");
        storm.assert_nothing_is_lost();
    }
    // An *evicted* notice may be overtaken by the next *cached* one. The result is a missing mark: it costs a
    // copy.
    if sabotage == Sabotage::None && protecting == REQUEST && !matches!(notices, Notices::Batched { .. }) {
        // Commands take the waiting notices along; then all have time to arrive.
        for _ in 0..100 {
            storm.apply(Operation::Trim(lpn(0))).expect("flash is sound");
        }
        storm.apply(Operation::Wait(Duration { ns: 1_000_000_000 })).expect("flash is sound");
        storm.assert_as_in_one_device();
    }
}

#[test]
fn a_link_that_breaks_its_promises_loses_pages() {
    for notices in WAYS {
        assert!(loses_pages(Sabotage::TrustMarks, notices, REQUEST), "{notices:?}");
        assert!(loses_pages(Sabotage::NoRevocation, notices, GRANTS), "{notices:?}");
    }
    for protecting in [REQUEST, GRANTS] {
        assert!(loses_pages(Sabotage::NoWaiting, BATCHED, protecting), "{protecting:?}");
    }
}

#[test]
fn one_that_keeps_them_loses_none() {
    for (notices, protecting) in WAYS.into_iter().flat_map(|way| [(way, REQUEST), (way, GRANTS)]) {
        (0..100).for_each(|seed| storm(seed, Sabotage::None, notices, protecting));
    }
}
