//! A device that was written out and read back goes on as it would have.

use crate::setup::{Reproduce, Setup, page_write, victims};
use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{Lpn, Save};
use coflash_ftl::placement::{Copies, FdpConfig, Idle};
use coflash_ftl::{CopyAll, Decision, Ftl, GcHook, Io, Marks, Weight, Weights};
use coflash_media::{Cause, DieId, Media, Memory, Place, Untimed};

/// Drops marked pages, and lets them count half: a weight that changes the costs of blocks.
struct Dropping {
    fractional: bool,
}

impl GcHook for Dropping {
    coflash_ftl::has_no_slots!();

    fn decide<M: Media>(&mut self, _: Lpn, marks: Marks, _: &mut M) -> Decision {
        if marks.any() { Decision::Drop } else { Decision::COPY }
    }

    fn weights(&mut self) -> Weights {
        Weights::all(if self.fractional { Weight(8) } else { Weight::NONE })
    }
}

fn write<A: GcHook>(ftl: &mut Ftl, hook: &mut A, lpn: Lpn, cause: Cause) {
    ftl.write(page_write(lpn, Place::Host, cause), (), &mut Io { media: &mut Untimed, hook, start: () })
        .unwrap();
}

/// Fills the device, or maps it, and writes at random.
fn warm(setup: &Setup, stream: &mut RandomStream) -> Ftl {
    let mut ftl = setup.build().expect("the setup is accepted");
    let pages = ftl.logical_pages();
    if stream.random() {
        ftl.map_all();
    } else {
        // Up to all of it: part of it may never have been written.
        let filled = stream.random_range(0..=pages);
        (0..filled).for_each(|page| write(&mut ftl, &mut CopyAll, Lpn::new(page), Cause::Host));
    }
    for _ in 0..stream.random_range(0..3000) {
        let cause = if stream.random() { Cause::Host } else { Cause::Evict };
        write(&mut ftl, &mut CopyAll, Lpn::new(stream.random_range(0..pages)), cause);
    }
    ftl.finish_victims(&mut Io { media: &mut Untimed, hook: &mut CopyAll, start: () }).unwrap();
    ftl.reset_counters();
    ftl
}

fn saved(ftl: &Ftl) -> Vec<u8> {
    let mut bytes = Vec::new();
    ftl.save(&mut bytes).expect("memory takes everything");
    bytes
}

fn restored(setup: &Setup, mut bytes: &[u8]) -> Result<Ftl, String> {
    let mut ftl = setup.build().expect("the setup is accepted");
    ftl.restore(&mut bytes).map_err(|error| error.to_string())?;
    assert!(bytes.is_empty(), "all of it is read");
    Ok(ftl)
}

/// Runs a random operation of a controller.
fn act(ftl: &mut Ftl, setup: &Setup, stream: &mut RandomStream) -> Lpn {
    let lpn = Lpn::new(stream.random_range(0..ftl.logical_pages()));
    let hook = &mut Dropping { fractional: setup.fractional };
    let mapped = ftl.lookup(lpn).is_some();
    match stream.random_range(0..9) {
        0 if mapped && !ftl.is_marked(lpn) => ftl.set_mark(lpn, Memory::Device, true),
        1 if mapped && ftl.is_marked(lpn) => ftl.set_mark(lpn, Memory::Device, false),
        2 => ftl.invalidate(lpn),
        3 => write(ftl, hook, lpn, Cause::Evict),
        4 => {
            let die = DieId::new(stream.random_range(0..setup.geometry.dies()));
            ftl.work_idle(die, &mut Io { media: &mut Untimed, hook, start: () }).unwrap();
        }
        _ => write(ftl, hook, lpn, Cause::Host),
    }
    lpn
}

#[test]
fn a_restored_device_goes_on_as_the_saved_one() {
    for victim in victims() {
        for seed in 0..60 {
            let mut stream = Seed(seed).stream("snapshot");
            let setup = Setup::draw(&mut stream, victim.clone());
            let _reproduce = Reproduce(&setup);
            let mut before = warm(&setup, &mut stream);
            let bytes = saved(&before);
            let mut after = restored(&setup, &bytes).expect("it was just saved");
            after.assert_invariants();
            assert!(saved(&after) == bytes, "a second snapshot is the same");
            for _ in 0..2000 {
                let mut same = stream.clone();
                let lpn = act(&mut before, &setup, &mut stream);
                assert_eq!(act(&mut after, &setup, &mut same), lpn);
                assert_eq!(after.lookup(lpn), before.lookup(lpn));
            }
            assert_eq!(after.counters(), before.counters());
            assert!(after.erase_counts().eq(before.erase_counts()));
            assert!(before.mapped().all(|lpn| after.lookup(lpn) == before.lookup(lpn)));
            after.assert_invariants();
        }
    }
}

#[test]
fn half_a_device_is_refused() {
    let setup = Setup::small();
    let bytes = saved(&warm(&setup, &mut Seed(1).stream("half")));
    for len in 0..bytes.len() {
        assert!(restored(&setup, &bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
    }
}

/// A new device has opened a block for each handle; in the one that was saved others are open.
#[test]
fn a_device_that_opens_blocks_at_first_is_restored_with_others_open() {
    let setup = Setup::of_handles(Copies::OfUnit, FdpConfig { idle: Idle::Open, ..FdpConfig::default() });
    for seed in 0..20 {
        let mut stream = Seed(seed).stream("opened");
        let mut before = warm(&setup, &mut stream);
        let bytes = saved(&before);
        let mut after = restored(&setup, &bytes).expect("it was just saved");
        after.assert_invariants();
        assert!(saved(&after) == bytes, "a second snapshot is the same, seed {seed}");
        for _ in 0..2000 {
            let mut same = stream.clone();
            assert_eq!(
                act(&mut before, &setup, &mut stream),
                act(&mut after, &setup, &mut same),
                "seed {seed}"
            );
        }
        assert_eq!(after.counters(), before.counters(), "seed {seed}");
        after.assert_invariants();
    }
}
