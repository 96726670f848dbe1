//! The effects of `removable_weight` on the choice of victims and of `rewrite_stream` on the blocks of evicted pages.

use crate::support::{Checked, FILLERS, Operation, PastCache, Setup, V, W, X, Y, Z, lpn};
use coflash_base::Lpn;
use coflash_ftl::{FreeMark, Trigger, VictimConfig, WriteStream};
use coflash_level::Device;
use coflash_media::BlockId;
use coflash_media::image::Done;

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

/// Of two blocks of equal cost, the one that has had it for longest is cleaned. A removable page of weight 0 makes its
/// block cheaper when it is marked, not only when GC first runs.
#[test]
fn removable_pages_have_their_weight_before_the_first_gc() {
    for (weight, cleaned) in [(0, 0), (1, 1)] {
        let scheme = format!(r#"{{"name": "cdm", "removable_weight": {weight}}}"#);
        let mut setup = Setup::tiny(8, 4).with_slots(4).with_scheme(&scheme);
        setup.ftl.shared_streams = vec![vec![WriteStream::Host, WriteStream::Evict, WriteStream::Gc]];
        setup.gc.low_mark = FreeMark::Blocks(2);
        setup.gc.trigger = Trigger::Operation;
        let mut device = Checked::device(&setup.fit(3, 0));
        // Three full blocks. Two pages of the first are read into the cache, then two of the second are trimmed.
        (0..12).for_each(|page| device.write_past_cache(lpn(page)));
        let [read, trim] = [Operation::Read, Operation::Trim];
        apply(&mut device, &[read(lpn(0)), read(lpn(1)), trim(lpn(4)), trim(lpn(5))]);
        // The block filled then gets that cost last.
        let mut pages = [4, 5, 8].into_iter().cycle();
        while !device.flash().pools_have_at_most(FreeMark::Blocks(2)) {
            device.write_past_cache(lpn(pages.next().expect("a cycle")));
        }
        device.media.log.clear();
        apply(&mut device, &[read(lpn(9))]);
        let erased = device.media.log.iter().find_map(|done| match *done {
            Done::Erase(block, _) => Some(block),
            _ => None,
        });
        assert_eq!(erased, Some(BlockId::new(cleaned)), "weight {weight}");
    }
}
