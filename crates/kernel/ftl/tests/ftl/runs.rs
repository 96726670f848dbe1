//! Pages that no tier has marked are copied in runs, or asked about one by one: flash is told the same.

use crate::setup::{Reproduce, Setup, page_write, victims};
use coflash_base::Lpn;
use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_ftl::{Decision, Ftl, GcHook, Io, Marks, Weight, Weights};
use coflash_media::{Cause, DieId, Media, Memory, Place};
use coflash_testing::Image;

/// Of marked pages every other one is dropped; unmarked ones are copied.
struct Dropping {
    fractional: bool,
    in_runs: bool,
    copied_in_runs: u32,
    asked: u32,
}

impl GcHook for Dropping {
    coflash_ftl::has_no_slots!();

    fn decide<M: Media>(&mut self, page: Lpn, marks: Marks, _: &mut M) -> Decision {
        self.asked += 1;
        match marks.any() {
            true if page.get().is_multiple_of(2) => Decision::Drop,
            true => Decision::CopyUnmarked,
            false => Decision::COPY,
        }
    }

    fn copies_unmarked(&mut self, pages: u32) -> bool {
        self.copied_in_runs += if self.in_runs { pages } else { 0 };
        self.in_runs
    }

    fn weights(&mut self) -> Weights {
        Weights::all(if self.fractional { Weight(8) } else { Weight::NONE })
    }
}

struct Device {
    ftl: Ftl,
    image: Image,
    hook: Dropping,
}

impl Device {
    fn new(setup: &Setup, in_runs: bool) -> Self {
        let hook = Dropping { fractional: setup.fractional, in_runs, copied_in_runs: 0, asked: 0 };
        Self {
            ftl: setup.build().expect("the setup is accepted"),
            image: Image::new(&setup.units(), 0),
            hook,
        }
    }

    fn act(&mut self, dies: u32, stream: &mut RandomStream) {
        let Self { ftl, image, hook } = self;
        image.log.clear();
        let lpn = Lpn::new(stream.random_range(0..ftl.logical_pages()));
        let io = &mut Io { media: image, hook, start: () };
        match stream.random_range(0..12) {
            0..3 if ftl.marks(lpn) == Some(Marks::NONE) => ftl.set_mark(lpn, Memory::Device, true),
            0..3 if ftl.is_marked(lpn) => ftl.set_mark(lpn, Memory::Device, false),
            3 => ftl.invalidate(lpn),
            4 => drop(ftl.work_idle(DieId::new(stream.random_range(0..dies)), io).unwrap()),
            5 => ftl.finish_victims(io).unwrap(),
            6..8 => ftl.write(page_write(lpn, Place::Host, Cause::Evict), (), io).unwrap(),
            _ => ftl.write(page_write(lpn, Place::Host, Cause::Host), (), io).unwrap(),
        }
    }
}

#[test]
fn flash_is_told_the_same() {
    let (mut copied_in_runs, mut asked) = (0, 0);
    for victim in victims() {
        for seed in 0..40 {
            let mut stream = Seed(seed).stream("runs");
            let setup = Setup::draw(&mut stream, victim.clone());
            let _reproduce = Reproduce(&setup);
            let [mut one, mut other] = [true, false].map(|in_runs| Device::new(&setup, in_runs));
            for step in 0..1500 {
                let mut same = stream.clone();
                one.act(setup.geometry.dies(), &mut stream);
                other.act(setup.geometry.dies(), &mut same);
                assert_eq!(one.image.log, other.image.log, "step {step}");
            }
            assert_eq!(one.ftl.counters(), other.ftl.counters());
            one.ftl.assert_invariants();
            assert_eq!(one.hook.copied_in_runs + one.hook.asked, other.hook.asked, "seed {seed}");
            copied_in_runs += one.hook.copied_in_runs;
            asked += one.hook.asked;
        }
    }
    assert!(copied_in_runs > 10_000 && asked > 10_000, "{copied_in_runs} in runs, {asked} asked");
}
