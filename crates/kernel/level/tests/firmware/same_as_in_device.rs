//! If messages cost nothing and are sent at once, host and device have the same knowledge as in one
//! controller: flash then sees the same operations in the same order.

use crate::support::{COUNTERS, Checked, Named, Operation, Setup, risen};
use coflash_base::measure::Report;
use coflash_base::{Duration, Seed, Share};
use coflash_ftl::Trigger;
use coflash_level::{LinkCost, Notices, Protecting};

/// Applies the same operations to both placements, and returns how many pages GC dropped.
fn compare(setup: &Setup) -> u64 {
    let mut stacks = [setup.clone(), setup.clone().in_host()].map(|setup| Checked::stack(&setup));
    let stream = &mut setup.seed.stream("same");
    for _ in 0..2000 {
        let operation = Operation::draw(stream, setup.logical_pages());
        let [inside, outside] = &mut stacks;
        for stack in [&mut *inside, &mut *outside] {
            stack.media.log.clear();
            stack.apply(operation).expect("flash is sound");
        }
        assert_eq!(inside.media.log, outside.media.log, "{operation:?}");
    }
    let [inside, outside] = stacks;
    let counted = |stack: &Checked<_>| risen(COUNTERS, &Report::default(), &stack.report());
    assert_eq!(counted(&inside), counted(&outside));
    inside.count("gc_drops_pages")
}

#[test]
fn free_messages_sent_at_once_give_what_one_controller_gives() {
    for protecting in [Protecting::default(), Protecting::Grants { share: Share::ONE }] {
        let mut drops = 0;
        for scheme in [
            r#""none""#,
            r#""cdm""#,
            r#"{"name": "cdm", "removable_weight": 0}"#,
            r#""cdm-overwrites""#,
            r#""cdm-removable""#,
            r#""cdm-invalidate-on-cache""#,
        ] {
            for seed in 0..20 {
                let slots = [1, 4, 9, 12][seed as usize % 4];
                let mut setup = Setup::tiny(12, 5).with_slots(slots).with_scheme(scheme);
                setup.seed = Seed(seed);
                setup.cost = LinkCost::new(Duration::ZERO, 0.0);
                setup.gc.trigger = [Trigger::Write, Trigger::Operation][seed as usize % 2];
                setup.host.notices = Notices::Each;
                setup.host.protecting = protecting;
                let _named = Named(&setup);
                drops += compare(&setup);
            }
        }
        assert!(drops > 250, "{drops} drops: cooperation is compared");
    }
}
