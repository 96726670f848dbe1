//! Restarts of all stacks over flash: each page reads as some version since the last flush, those of a durable cache as
//! the last one, all shadows are gone, and later requests are served as usual.

use crate::storms::setups;
use crate::support::{Checked, Look, Named, Operation, Page, Setup, Stack, lpn, pick};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Duration, Seed, Share};
use coflash_ftl::{FreeMark, Marks};
use coflash_level::{LostPages, Placement, Protecting};
use coflash_media::Memory;

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

/// Whether every answered write survives a restart.
fn is_durable(setup: &Setup) -> bool {
    let commits = setup.cooperation.name() == "cdm-consistent";
    !setup.buffer.exists() && !setup.cache.volatile && !commits
}

/// Restarts; the number of pages that have lost their newest version.
fn restart(setup: &Setup, storm: &mut Checked<Stack>, versions: &mut Versions) -> usize {
    let LostPages { host, device } = storm.rig.restart().expect("flash is sound");
    storm.assert_invariants();
    for (memory, cache) in storm.level.caches() {
        let is_volatile = memory == Memory::HostBuffer || setup.cache.volatile;
        let stays =
            |slot| !is_volatile && cache.is_dirty(slot) && !cache.is_pinned(slot) && !cache.is_detached(slot);
        assert!(
            cache.occupied().all(stays),
            "what flash lacks, and is durable, stays in the cache in {memory:?}"
        );
    }
    let flash = storm.level.flash();
    let is_no_shadow = |marks: Marks| !marks.host && (!setup.cache.volatile || !marks.device);
    assert!(flash.mapped().all(|page| flash.marks(page).is_some_and(is_no_shadow)), "no page is a shadow");
    let units = setup.ftl.erase_units(&setup.geometry);
    let mapped_in = |page| units.block_of(flash.lookup(page).expect("it is mapped"));
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
    assert!(
        lost as u64 <= host + device,
        "{lost} pages lost; {host} in the host and {device} in the device counted"
    );
    assert!(!is_durable(setup) || host + device == 0, "{host} and {device} pages lost of a durable cache");
    lost
}

fn storm(setup: &Setup, seed: u64) -> (usize, u64) {
    let stream = &mut Seed(seed).stream("operations");
    let mut storm = Checked::stack(setup);
    storm.pace = Duration { ns: pick(stream, &[0, 200, 10_000]) };
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
    // In these GC meets many pages that are dirty in the host.
    let fast = (0..200).map(|seed| {
        let mut setup = Setup::tiny(24, 6).with_scheme("\"sgc\"").with_slots(3).with_buffer(12);
        setup.gc.low_mark = FreeMark::Blocks(2);
        (seed, setup)
    });
    // In these flash has dropped pages under grants, and the host has not heard of it yet.
    let granted = (0..200).map(|seed| {
        let scheme =
            [r#""cdm""#, r#"{"name": "cdm-consistent", "commit_interval": "1us"}"#][seed as usize % 2];
        let mut setup = Setup::tiny(24, 6).with_scheme(scheme).with_slots(18);
        setup.cache.placement = Placement::Host;
        setup.host.protecting = Protecting::Grants { share: Share::percent(100) };
        setup.host.jitter = Duration { ns: 20_000 };
        (seed, setup)
    });
    for (seed, setup) in setups(1).chain(fast).chain(granted) {
        let _named = Named((seed, &setup));
        let (pages, programs) = storm(&setup, seed);
        (lost, refreshed) = (lost + pages, refreshed + programs);
    }
    assert!(lost > 1000 && refreshed > 100, "{lost} pages lost, {refreshed} refreshed");
}

#[test]
fn a_restart_leaves_what_recovery_finds() {
    let in_device = |setup: &Setup| setup.cache.placement == Placement::InStorage && !setup.buffer.exists();
    let mut cached = 0;
    for (seed, setup) in setups(2).filter(|(_, setup)| in_device(setup)) {
        let _named = Named((seed, &setup));
        let stream = &mut Seed(seed).stream("operations");
        let media = setup.image().with_power_switch(setup.layout().words());
        let mut storm = Checked::new(setup.device(), media, setup.geometry.dies());
        for _ in 0..stream.random_range(1..200) {
            storm.apply_drawn(stream).expect("flash is sound");
        }
        let mut recovered = storm.clone();
        recovered.restart(&setup).expect("it is its own contents");
        storm.rig.restart().expect("flash is sound");
        cached += storm.level.cache().len();
        for page in (0..storm.pages()).map(lpn) {
            assert_eq!(storm.look(page), recovered.look(page), "{page:?} after a restart, and as recovered");
        }
    }
    assert!(cached > 500, "{cached} pages stayed in caches");
}
