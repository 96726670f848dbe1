//! Spare space that garbage collection never recovers, and the note on it.

use crate::Settings;
use coflash_sim::{NoObserver, Scenario, run};

const SMALL: &str = r#"
    flash = { channels = 1, chips_per_channel = 1, blocks_per_plane = 512, pages_per_block = 32 }
    ftl.spare = { share = "7%", definition = "over_provisioning" }
    gc.low_mark = 2
    cache.size = "0B"
    cooperation = "none"
    precondition = { fill = "random", random_passes = 1.0 }
    workload.remap = "none"
    workload.synthetic = { generator = "uniform", requests = 40_000, space = "1224KiB" } # 2 %
"#;

/// Invalid pages, those in blocks never erased, and whether there is a note.
fn spare(settings: Settings<'_>) -> (u64, u64, bool) {
    let scenario =
        Scenario::from_toml(SMALL).and_then(|scenario| scenario.set(settings)).expect("it is valid");
    let result = run(&scenario, &mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    let count = |path| result.metrics.count(path);
    let noted = result.notes.iter().any(|note| note.contains("spare.frozen_pages"));
    assert_eq!(noted, result.to_reproducible_json().contains("(spare.frozen_pages)"));
    (count("spare.invalid_pages"), count("spare.frozen_pages"), noted)
}

#[test]
fn spare_space_in_cold_blocks_is_noted() {
    let (invalid, frozen, noted) = spare(&[]);
    assert!(noted && 2 * frozen > invalid);
}

#[test]
fn no_note_where_spare_space_is_at_work_or_may_yet_be() {
    for settings in [
        [("precondition.random_passes", "0.02")], // GC has enough without the cold blocks
        [("gc.victim", "cost-benefit")],          // it recovers them
        [("workload.synthetic.space", "59MiB")],  // none is cold
        [("workload.synthetic.space", "6124KiB")], // the lesser part lies in cold blocks
        [("workload.synthetic.requests", "1000")], // too few erases to say
    ] {
        assert!(!spare(&settings).2, "{settings:?}");
    }
}
