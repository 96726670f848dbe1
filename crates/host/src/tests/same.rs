//! Where messages cost nothing and each is sent at once, host and device know what they would know in one controller: flash
//! then sees the same operations in the same order.

use super::support::{Operation, Setup, content, cooperation, free_of_charge};
use crate::{Notices, Protecting};
use coflash_base::seed::RngExt;
use coflash_base::{Duration, Seed, Share, Time};
use coflash_controller::Controller;
use coflash_flash::image::Image;
use coflash_ftl::Trigger;

/// Applies the same operations to both placements, and returns how many pages GC dropped.
fn compare(setup: &Setup) -> u64 {
    let Setup { geometry, ftl, gc, cache, cooperation, seed, .. } = setup;
    let mut inside = Controller::new(geometry, ftl, gc, cache, cooperation, *seed).expect("a sound device");
    let mut host = setup.host_cache();
    let mut images = [0, 1].map(|_| Image::new(geometry, inside.cache().capacity()));
    let stream = &mut seed.stream("same");
    let pages = inside.ftl().logical_pages();
    let mut now = Time::ZERO;
    for step in 0..2000 {
        now += Duration { ns: stream.random_range(0..100) };
        let operation = Operation::draw(stream, pages, step);
        let [ours, theirs] = &mut images;
        host.pass_time(now);
        host.begin_request();
        match &operation {
            Operation::Read(page) => {
                inside.read(*page, (), ours);
                host.read(*page, (), theirs);
            }
            Operation::Write(page, bytes, stamp) => {
                for image in [&mut *ours, &mut *theirs] {
                    image.host_writes(bytes.start, &content(*stamp)[bytes.clone()]);
                }
                inside.write(*page, Operation::extent(bytes), (), ours);
                host.write(*page, Operation::extent(bytes), (), theirs);
            }
            Operation::Trim(page) => {
                inside.trim(*page, ours);
                host.trim(*page, (), theirs);
            }
        }
        let [ours, theirs] = &images;
        assert_eq!(ours.log.len(), theirs.log.len(), "{operation:?}, step {step} of {setup:?}");
    }
    assert_eq!(images[0].log, images[1].log, "{setup:?}");
    assert_eq!(inside.tally(), host.tally(), "{setup:?}");
    inside.ftl().tally().gc_drops_pages
}

#[test]
fn free_messages_sent_at_once_give_what_one_controller_gives() {
    for protecting in [Protecting::Request, Protecting::Grants] {
        let mut drops = 0;
        for scheme in ["\"none\"", "\"cdm\"", r#"{"name": "cdm", "removable_weight": 0}"#] {
            for seed in 0..20 {
                let mut setup = Setup::tiny(12, 5, [1, 4, 9, 12][seed as usize % 4]);
                setup.seed = Seed(seed);
                setup.cooperation = cooperation(scheme);
                setup.toll = free_of_charge();
                setup.gc.trigger = [Trigger::Write, Trigger::Operation][seed as usize % 2];
                setup.host.notices = Notices::Each;
                setup.host.protecting = protecting;
                setup.host.grants = Share::ONE;
                drops += compare(&setup);
            }
        }
        assert!(drops > 300, "{drops} drops: what is compared is cooperation");
    }
}
