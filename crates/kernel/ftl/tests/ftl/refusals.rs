//! Configurations that do not fit together are refused, each with its key in the scenario and the numbers.

use crate::setup::{PROVISIONING, Setup, page_write};
use coflash_base::{Lpn, Misfit, Share};
use coflash_ftl::{
    Chips, CopyAll, FreeMark, FtlConfig, GcConfig, GcMode, Io, Pools, Spare, Summary, WriteStream,
};
use coflash_media::{Cause, Geometry, Place, Untimed};

fn refused(change: impl FnOnce(&mut Setup)) -> Misfit {
    let mut setup = Setup::small();
    change(&mut setup);
    match setup.build() {
        Ok(_) => panic!("accepted: {setup:?}"),
        Err(refusal) => refusal,
    }
}

#[track_caller]
fn assert_names(refusal: Misfit, key: &str, parts: &[&str]) {
    assert_eq!(refusal.key, key, "{refusal:?}");
    for part in parts {
        assert!(refusal.problem.contains(part), "{part:?} is not in {:?}", refusal.problem);
    }
}

#[test]
fn each_refusal_names_its_key_and_the_numbers() {
    let summary_alone = refused(|setup| {
        setup.geometry.pages_per_block = 1;
        setup.ftl.summary = Summary::On;
    });
    assert_names(summary_alone, "flash.pages_per_block", &["1 is too few", "at least 2"]);
    let no_mark = refused(|setup| setup.gc.low_mark = FreeMark::Share(Share::percent(5)));
    assert_names(no_mark, "gc.low_mark", &["5% of 12 blocks"]);
    let no_mark = refused(|setup| setup.gc.low_mark = FreeMark::Blocks(0));
    assert_names(no_mark, "gc.low_mark", &["0 blocks of 12 blocks"]);
    let twice = |streams: Vec<Vec<WriteStream>>| refused(|setup| setup.ftl.shared_streams = streams);
    let key = "ftl.shared_streams";
    assert_names(twice(vec![vec![WriteStream::Gc, WriteStream::Gc]]), key, &["Gc"]);
    assert_names(
        twice(vec![vec![WriteStream::Host], vec![WriteStream::Evict, WriteStream::Host]]),
        key,
        &["Host"],
    );
    let in_mode = |mode, low_mark| {
        refused(|setup| {
            setup.gc = GcConfig { mode, low_mark: FreeMark::Blocks(low_mark), ..GcConfig::default() };
        })
    };
    let key = "gc.mode.mark";
    let not_higher = in_mode(GcMode::Background { mark: Some(FreeMark::Blocks(2)) }, 2);
    assert_names(not_higher, key, &["2 blocks is not more than gc.low_mark (2 blocks)"]);
    let too_high = in_mode(GcMode::Background { mark: Some(FreeMark::Blocks(9)) }, 1);
    assert_names(too_high, "ftl.spare.share", &["12 blocks back", "background mark 9", "lower gc.mode.mark"]);
    let too_low = in_mode(GcMode::Preemptive { steps_max: 8 }, 2);
    assert_names(too_low, "gc.low_mark", &["2 blocks of 12 blocks is 2", "at least 3"]);
    assert_names(in_mode(GcMode::Preemptive { steps_max: 0 }, 3), "gc.mode.steps_max", &["at least 1"]);
    for definition in PROVISIONING {
        let share = |share| refused(|setup| setup.ftl.spare = Spare { share, definition });
        assert_names(share(Share::ZERO), "ftl.spare.share", &["0%"]);
        assert_names(share(Share { ppb: u64::MAX }), "ftl.spare.share", &["leaves no page"]);
        let one = share(Share::percent(1));
        let numbers =
            ["12 blocks", "47 pages", "4 blocks back", "low mark 1, 2 active, 1 reserve", "room for 32"];
        assert_names(one, "ftl.spare.share", &numbers);
    }
}

#[test]
fn a_low_mark_beyond_all_blocks_is_refused() {
    for blocks in [8, 12, 1000, u32::MAX - 2, u32::MAX - 1, u32::MAX] {
        let refusal = refused(|setup| {
            setup.ftl.spare.share = Share::percent(200);
            setup.gc.low_mark = FreeMark::Blocks(blocks);
        });
        assert_names(refusal, "ftl.spare.share", &[&format!("low mark {blocks}")]);
    }
    // 2³² blocks and one: a share is not cut to 32 bits.
    let share = Share { ppb: ((1 << 32) + 1) * Share::ONE.ppb / 12 + 1 };
    let refusal = refused(|setup| setup.gc.low_mark = FreeMark::Share(share));
    assert_eq!(refusal.key, "ftl.spare.share");
}

/// The smallest spare that is accepted works however it is written; one billionth less is refused.
#[test]
fn the_smallest_spare_is_enough() {
    for definition in PROVISIONING {
        for chips in [Chips::Static, Chips::RoundRobin, Chips::LeastBusy] {
            for pools in [Pools::Plane, Pools::Die] {
                let mut setup = Setup::small();
                setup.geometry = Geometry { channels: 2, planes_per_die: 2, ..setup.geometry };
                setup.ftl =
                    FtlConfig { spare: Spare { definition, ..Spare::default() }, chips, pools, ..setup.ftl };
                let mut setup = setup.with_least_spare();
                let mut ftl = setup.build().expect("the setup is accepted");
                let pools = setup.geometry.blocks() / setup.blocks_per_pool();
                // Host and evict share a block, GC has one, one is free at the low mark, one is the reserve.
                let most = pools * (setup.blocks_per_pool() - 4) * 4;
                assert_eq!(ftl.logical_pages(), most, "as full as can be: {setup:?}");
                let mut io = Io { media: &mut Untimed, hook: &mut CopyAll, start: () };
                for step in 0..most * 20 {
                    ftl.write(page_write(Lpn::new(step * 7 % most), Place::Host, Cause::Host), (), &mut io)
                        .unwrap();
                }
                ftl.assert_invariants();
                setup.ftl.spare.share.ppb -= 1;
                let Misfit { key, problem } = setup.build().err().expect("one page too many");
                assert_eq!(key, "ftl.spare.share", "{problem}");
            }
        }
    }
}
