//! The effects of `removable_weight` on the choice of victims and of `rewrite_stream` on the blocks of evicted pages.

use crate::support::{Checked, Device, FILLERS, Operation, PastCache, Setup, V, W, X, Y, Z, lpn};
use coflash_base::Lpn;
use coflash_ftl::{FreeMark, Trigger, VictimConfig, WriteStream};
use coflash_level::{Cooperates, Message};
use coflash_media::{BlockId, Memory};
use coflash_testing::Done;

fn apply(device: &mut Checked<Device>, operations: &[Operation]) {
    operations.iter().for_each(|&operation| device.apply(operation).expect("flash is sound"));
}

fn block_of(device: &Checked<Device>, page: Lpn) -> u32 {
    device.flash().lookup(page).expect("it lies in flash").get() / 4
}

/// GC drops X and copies Y beside it. X is evicted unmodified, then V, written by the host.
#[test]
fn a_dropped_page_is_rewritten_to_the_stream_that_is_asked_for() {
    for (stream, with_copies) in [("gc", true), ("evict", false)] {
        let scheme = format!(r#"{{"name": "cdm", "rewrite_stream": "{stream}"}}"#);
        let mut setup = Setup::tiny(9, 4).with_slots(2).with_scheme(&scheme);
        setup.gc.victim = VictimConfig::by_name("fifo").expect("a policy");
        setup.gc.trigger = Trigger::Operation;
        let mut device = Checked::device(&setup);
        let [f, g, h] = FILLERS;
        [X, Y, f, g, h, f, g, h, Z, W, f, g].into_iter().for_each(|page| device.write_past_cache(page));
        apply(&mut device, &[Operation::Read(X)]);
        device.use_up_free_blocks(1);
        apply(
            &mut device,
            &[Operation::Read(W), Operation::Write(V), Operation::Read(Z), Operation::Read(W)],
        );
        let counts = ["gc_drops_pages", "drop_rewrites_pages", "cache.dirty_evictions_pages"];
        assert_eq!(
            counts.map(|path| device.count(path)),
            [1, 1, 2],
            "{stream}: X is dropped, X and V are written"
        );
        let beside = |page| block_of(&device, X) == block_of(&device, page);
        assert_eq!(
            (beside(Y), beside(V)),
            (with_copies, !with_copies),
            "{stream}: beside GC's copy, beside V"
        );
    }
}

/// The block that is cleaned first. Three are full when `prepare` acts. The block filled then gets its cost last.
fn cleaned_first(scheme: &str, filled: &[u32], prepare: impl FnOnce(&mut Checked<Device>)) -> BlockId {
    let mut setup = Setup::tiny(8, 4).with_slots(4).with_scheme(scheme);
    setup.ftl.shared_streams = vec![vec![WriteStream::Host, WriteStream::Evict, WriteStream::Gc]];
    setup.gc.low_mark = FreeMark::Blocks(2);
    setup.gc.trigger = Trigger::Operation;
    let mut device = Checked::device(&setup.fit(3, 0));
    (0..12).for_each(|page| device.write_past_cache(lpn(page)));
    prepare(&mut device);
    let mut pages = filled.iter().cycle();
    while !device.flash().pools_have_at_most(FreeMark::Blocks(2)) {
        device.write_past_cache(lpn(*pages.next().expect("a cycle")));
    }
    device.media.log.clear();
    apply(&mut device, &[Operation::Read(lpn(9))]);
    let erased = device.media.log.iter().find_map(|done| match *done {
        Done::Erase(block, _) => Some(block),
        _ => None,
    });
    erased.expect("GC erases a block")
}

/// Of two blocks of equal cost, the one that has had it for longest is cleaned. A removable page of weight 0 makes its
/// block cheaper when it is marked, not only when GC first runs.
#[test]
fn removable_pages_have_their_weight_before_the_first_gc() {
    for (weight, cleaned) in [(0, 0), (1, 1)] {
        let scheme = format!(r#"{{"name": "cdm", "removable_weight": {weight}}}"#);
        // Two pages of the first block are read into the cache, then two of the second are trimmed.
        let [read, trim] = [Operation::Read, Operation::Trim];
        let operations = [read(lpn(0)), read(lpn(1)), trim(lpn(4)), trim(lpn(5))];
        let found = cleaned_first(&scheme, &[4, 5, 8], |device| apply(device, &operations));
        assert_eq!(found, BlockId::new(cleaned), "weight {weight}");
    }
}

/// Two shadows cost two pages and a half, or three and a half; in the second block three pages are valid.
#[test]
fn the_weight_of_a_shadow_may_be_a_fraction() {
    for (lambda, cleaned) in [(0.25, 0), (0.75, 1)] {
        let scheme = format!(r#"{{"name": "delay", "lambda": {lambda}}}"#);
        let found = cleaned_first(&scheme, &[2, 3, 4, 8], |device| {
            [0, 1]
                .into_iter()
                .for_each(|page| device.level.send(Message::Shadow(lpn(page), Memory::HostBuffer, true)));
            apply(device, &[2, 3, 4].map(|page| Operation::Trim(lpn(page))));
        });
        assert_eq!(found, BlockId::new(cleaned), "lambda {lambda}");
    }
}
