//! Restarts of volatile stacks: each page reads as some version since the last flush, all shadows are gone,
//! and later requests are served as usual.

use crate::storms::setups;
use crate::support::{Checked, Look, Named, Operation, Page, Setup, Stack, lpn};
use coflash_base::Seed;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_ftl::{FreeMark, Marks};
use coflash_level::Placement;

/// The allowed contents of each page after a restart, the newest last.
type Versions = Vec<Vec<Page>>;

fn apply(storm: &mut Checked<Stack>, versions: &mut Versions, stream: &mut RandomStream) {
    let operation = storm.apply_drawn(stream).expect("flash is sound");
    for (versions, &now) in std::iter::zip(versions, &storm.model) {
        if operation == Operation::Flush {
            *versions = vec![now];
        } else if versions.last() != Some(&now) {
            versions.push(now);
        }
    }
}

/// Restarts; the number of pages that have lost their newest version.
fn restart(setup: &Setup, storm: &mut Checked<Stack>, versions: &mut Versions) -> usize {
    storm.rig.restart().expect("flash is sound");
    storm.assert_invariants();
    assert!(storm.level.caches().iter().all(|(_, cache)| cache.is_empty()), "buffers are empty");
    let flash = storm.level.flash();
    assert!(flash.mapped().all(|page| flash.marks(page) == Some(Marks::NONE)), "no page is a shadow");
    let mapped_in = |page| setup.geometry.block_of(flash.lookup(page).expect("it is mapped"));
    assert!(flash.mapped().all(|page| !flash.is_fast(mapped_in(page))), "no data of fast programs is left");
    let mut lost = 0;
    for page in 0..storm.pages() {
        let found = storm.look(lpn(page)).expect("flash is sound");
        let may = &mut versions[page as usize];
        assert!(may.contains(&found), "page {page} is {found:?}, which is none of {may:?}");
        lost += usize::from(may.last() != Some(&found));
        *may = vec![found];
        storm.model[page as usize] = found;
    }
    // Commands have crossed since: messages from before the restart have not arrived with them.
    storm.assert_invariants();
    lost
}

fn storm(setup: &Setup, seed: u64) -> (usize, u64) {
    let stream = &mut Seed(seed).stream("operations");
    let mut storm = Checked::stack(setup);
    storm.fill().expect("flash is sound");
    let mut versions: Versions = storm.model.iter().map(|&page| vec![[0; _], page]).collect();
    let mut lost = 0;
    for _ in 0..6 {
        for _ in 0..stream.random_range(1..100) {
            apply(&mut storm, &mut versions, stream);
        }
        lost += restart(setup, &mut storm, &mut versions);
    }
    (lost, storm.count("programs_pages.refresh"))
}

#[test]
fn a_restart_loses_what_was_not_flushed_and_nothing_else() {
    let (mut lost, mut refreshed) = (0, 0);
    let volatile = |setup: &Setup| setup.cache.placement == Placement::InStorage && setup.cache.volatile;
    // In these GC meets many pages that are dirty in the host.
    let fast = (0..200).map(|seed| {
        let mut setup = Setup::tiny(24, 6).with_scheme("\"sgc\"").with_slots(3).with_buffer(12);
        setup.gc.low_mark = FreeMark::Blocks(2);
        (seed, setup)
    });
    for (seed, setup) in setups(2).filter(|(_, setup)| volatile(setup)).chain(fast) {
        let _named = Named((seed, &setup));
        let (pages, programs) = storm(&setup, seed);
        (lost, refreshed) = (lost + pages, refreshed + programs);
    }
    assert!(lost > 1000 && refreshed > 100, "{lost} pages lost, {refreshed} refreshed");
}
