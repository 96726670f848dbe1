//! Pages that no tier has marked are copied in runs, or asked about one by one: flash is told the same.

use crate::setup::{Reproduce, Setup, victims};
use coflash_base::Lpn;
use coflash_base::seed::{RngExt, Seed, Stream};
use coflash_flash::image::Image;
use coflash_flash::{Cause, DieId, Media, Place};
use coflash_ftl::{Advisor, Fate, Ftl, Io, Marks, Weight, Weights};

/// Of marked pages every other one is dropped; unmarked ones are copied.
struct Dropping {
    fractional: bool,
    in_runs: bool,
    copied_in_runs: u32,
    asked: u32,
}

impl Advisor for Dropping {
    fn fate<M: Media>(&mut self, page: Lpn, marks: Marks, _: &mut M) -> Fate {
        self.asked += 1;
        match marks.any() {
            true if page.get().is_multiple_of(2) => Fate::Drop,
            true => Fate::CopyUnmarked,
            false => Fate::COPY,
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
    advisor: Dropping,
}

impl Device {
    fn new(setup: &Setup, in_runs: bool) -> Self {
        let advisor = Dropping { fractional: setup.fractional, in_runs, copied_in_runs: 0, asked: 0 };
        Self {
            ftl: setup.build().expect("the setup is accepted"),
            image: Image::new(&setup.geometry, 0),
            advisor,
        }
    }

    fn act(&mut self, dies: u32, stream: &mut Stream) {
        let Self { ftl, image, advisor } = self;
        image.log.clear();
        let lpn = Lpn::new(stream.random_range(0..ftl.logical_pages()));
        let io = &mut Io { media: image, advisor, start: () };
        match stream.random_range(0..12) {
            0..3 if ftl.marks(lpn) == Some(Marks::NONE) => ftl.mark(lpn),
            0..3 if ftl.is_marked(lpn) => ftl.unmark(lpn),
            3 => ftl.invalidate(lpn),
            4 => drop(ftl.work_idle(DieId::new(stream.random_range(0..dies)), io)),
            5 => ftl.finish_victims(io),
            6..8 => ftl.write(lpn, Place::Host, Cause::Evict, (), io),
            _ => ftl.write(lpn, Place::Host, Cause::Host, (), io),
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
            assert_eq!(one.ftl.tally(), other.ftl.tally());
            one.ftl.assert_invariants();
            assert_eq!(one.advisor.copied_in_runs + one.advisor.asked, other.advisor.asked, "seed {seed}");
            copied_in_runs += one.advisor.copied_in_runs;
            asked += one.advisor.asked;
        }
    }
    assert!(copied_in_runs > 10_000 && asked > 10_000, "{copied_in_runs} in runs, {asked} asked");
}
