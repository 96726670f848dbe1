//! Write-back caches in the host, across a link, under every scheme but `cdm-consistent`: every answered write and trim
//! survives power cuts of the device alone, which the host lives through, and of both sides.

use crate::durable::{Sabotage, Subject, assert_caught};
use crate::storms;
use crate::support::{Look, Named, Operation, Setup, Stack, pick};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Duration, Seed, Time};
use coflash_ftl::{CopyAll, Io};
use coflash_level::{Notices, RecoveryError};
use coflash_media::Side;
use coflash_testing::ImageError;
use std::num::NonZeroU32;

const SCHEMES: [&str; 8] = [
    "\"none\"",
    "\"cdm\"",
    r#"{"name": "cdm", "removable_weight": 0}"#,
    r#"{"name": "cdm", "removable_weight": "adaptive"}"#,
    r#"{"name": "cdm", "sole_copies_max": "50%"}"#,
    "\"cdm-overwrites\"",
    "\"cdm-removable\"",
    "\"cdm-invalidate-on-cache\"",
];

impl Subject<Stack> {
    /// A side has power again, and comes back. Every page is checked; returns the fault.
    fn recover(&mut self, side: Side, stream: &mut RandomStream) -> Result<(), String> {
        let restarted = self.come_back(side, stream);
        if self.is_dead() {
            return Ok(());
        }
        restarted.map_err(|error| format!("{error:?} with power"))?;
        self.image().cut_after(u64::MAX);
        self.stack.assert_invariants();
        self.compare(|subject, page| subject.stack.look(page).expect("there is power"))
    }

    fn come_back(&mut self, side: Side, stream: &mut RandomStream) -> Result<(), RecoveryError<ImageError>> {
        let cut_again = stream.random_range(0..3_u32) == 0;
        let steps = stream.random_range(0..24);
        if side == Side::Device {
            self.image().restart_device();
        } else {
            self.image().restart(|_| stream.random());
            self.stack.rig.media.tap.late_fence = false;
            self.stack.rig.now = Time::ZERO;
        }
        if cut_again {
            self.image().cut_side_after(side, steps);
        }
        let contents = self.image().contents();
        let io = &mut Io { media: &mut self.stack.rig.media, hook: CopyAll, start: () };
        let level = &mut self.stack.rig.level;
        let config = self.setup.stack_config();
        if side == Side::Device {
            return level.recover_device(&config, &contents, io);
        }
        Stack::recover(config, &contents, io).map(|recovered| *level = recovered)
    }
}

/// A host and a device of the stream's choice.
fn draw(scheme: &str, stream: &mut RandomStream) -> Setup {
    let slots = stream.random_range(2..16);
    let mut setup = Setup::draw(scheme, slots, stream).in_host();
    setup.cache.volatile = false;
    setup.host.notices = pick(
        stream,
        &[Notices::Each, Notices::Batched { max: NonZeroU32::MIN, wait: Duration::ZERO }, Notices::default()],
    );
    let max = NonZeroU32::new(pick(stream, &[1, 3, 40])).expect("not zero");
    let wait = Duration { ns: pick(stream, &[0, 500, 50_000]) };
    if let Notices::Batched { .. } = setup.host.notices {
        setup.host.notices = Notices::Batched { max, wait };
    }
    setup.host.jitter = Duration { ns: pick(stream, &[0, 1000, 20_000]) };
    setup
}

const CUTS_PER_STORM: u32 = 20;

/// Runs through power cuts of random sides; returns the number of states and of pages dropped, or the problem.
fn storm(scheme: &str, seed: u64, sabotage: Sabotage) -> Result<(u64, u64), String> {
    let mut stream = Seed(seed).stream("host storm");
    let setup = draw(scheme, &mut stream);
    let _named = (sabotage == Sabotage::None).then(|| Named((seed, &setup)));
    let mut subject = Subject::full(&setup, setup.stack(), sabotage);
    subject.stack.pace = Duration { ns: pick(&mut stream, &[0, 2000]) };
    let (mut states, mut dropped) = (0, 0);
    for cut in 0..CUTS_PER_STORM {
        let side = pick(&mut stream, &[Side::Device, Side::Both]);
        subject.image().cut_side_after(side, stream.random_range(0..400));
        while !subject.is_dead() {
            subject.apply(Operation::draw(&mut stream, subject.stack.pages()));
            if !subject.is_dead() {
                subject.stack.assert_invariants();
            }
        }
        dropped += subject.stack.level.flash().counters().gc_drops_pages;
        let describe = |problem| format!("storm {seed} of {scheme}, {setup:#?}, cut {cut}: {problem}");
        while subject.is_dead() {
            states += 1;
            subject.recover(side, &mut stream).map_err(describe)?;
        }
    }
    Ok((states, dropped))
}

#[test]
fn what_is_answered_survives_storms() {
    let (mut states, mut dropped, cuts) = (0, 0, storms::cuts() / 4);
    for seed in 0..cuts / u64::from(CUTS_PER_STORM) / SCHEMES.len() as u64 {
        for scheme in SCHEMES {
            let storm = storm(scheme, seed, Sabotage::None).unwrap_or_else(|problem| panic!("{problem}"));
            (states, dropped) = (states + storm.0, dropped + storm.1);
        }
    }
    assert!(states > cuts && dropped > cuts / 20, "{states} states, {dropped} pages dropped");
}

#[test]
fn a_host_that_breaks_the_order_is_caught() {
    assert_caught(|seed, sabotage| storm("\"cdm\"", seed, sabotage));
}
