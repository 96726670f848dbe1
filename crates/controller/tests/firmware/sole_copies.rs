//! The bound on sole copies: never exceeded, whatever the host and GC do, and no page pays for it with its data.

use crate::support::{
    Device, FILLERS, Named, Operation, PAGE_BYTES, Page, Setup, X, Y, Z, content, cooperation, lpn,
    set_the_scene, spare, use_up_free_blocks,
};
use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Lpn, Seed};
use coflash_cache::EvictionConfig;
use coflash_controller::{Controller, CooperationConfig, Eviction};
use coflash_ftl::{Trigger, VictimConfig};

/// `cdm` with room for so many sole copies.
fn bounded(weight: &str, max: u32) -> CooperationConfig {
    let bytes = u64::from(max) * PAGE_BYTES as u64;
    cooperation(&format!(
        r#"{{"name": "cdm", "removable_weight": {weight}, "rewrite_stream": "gc", "sole_copies_max": "{bytes}B"}}"#
    ))
}

/// Cached pages that flash does not have, counted without asking the cache what is dirty.
fn sole_copies(controller: &Controller) -> u32 {
    let cache = controller.cache();
    cache.occupied().filter(|&slot| controller.ftl().lookup(cache.page_of(slot)).is_none()).count() as u32
}

/// What may happen to three pages of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Read(Lpn),
    Write(Lpn),
    Part(Lpn),
    Trim(Lpn),
    /// GC cleans the oldest block, in which X lies.
    Gc,
}

/// The stupidest correct model: sole copies in the order in which they were written, and what pages hold.
struct Model {
    max: usize,
    recent: Vec<Lpn>,
    cleaned: u64,
    data: [Page; 3],
}

struct Scene {
    device: Device,
    model: Model,
    stamp: u64,
}

const PAGES: [Lpn; 3] = [X, Y, Z];

impl Scene {
    fn new(max: u32) -> Self {
        let mut setup = Setup::oldest_first().with_slots(6).with_cooperation(&bounded("0.5", max));
        setup.gc.trigger = Trigger::Operation;
        let mut device = Device::new(&setup);
        set_the_scene(|page| device.write_past_cache(page, 100 + u64::from(page.get())));
        let data = PAGES.map(|page| content(100 + u64::from(page.get())));
        let model = Model { max: max as usize, recent: Vec::new(), cleaned: 0, data };
        Self { device, model, stamp: 0 }
    }

    /// What a write makes of the model: at the bound the page written longest ago is cleaned first.
    fn note_write(&mut self, page: Lpn) {
        let known = self.model.recent.iter().position(|&sole| sole == page);
        if let Some(at) = known {
            self.model.recent.remove(at);
        } else if self.model.recent.len() == self.model.max {
            self.model.recent.remove(0);
            self.model.cleaned += 1;
        }
        self.model.recent.push(page);
    }

    fn apply(&mut self, event: Event) {
        self.stamp += 1;
        let at = |page: Lpn| PAGES.iter().position(|&other| other == page).expect("one of three");
        match event {
            Event::Read(page) => assert_eq!(self.device.read(page), self.model.data[at(page)], "{event:?}"),
            Event::Write(page) => {
                self.device.write(page, 0..PAGE_BYTES, self.stamp);
                self.note_write(page);
                self.model.data[at(page)] = content(self.stamp);
            }
            Event::Part(page) => {
                self.device.write(page, 2..5, self.stamp);
                self.note_write(page);
                self.model.data[at(page)][2..5].copy_from_slice(&content(self.stamp)[2..5]);
            }
            Event::Trim(page) => {
                self.device.controller.trim(page, &mut self.device.image);
                self.model.recent.retain(|&sole| sole != page);
                self.model.data[at(page)] = [0; PAGE_BYTES];
            }
            Event::Gc => {
                use_up_free_blocks(&mut self.device.controller, &mut self.device.image);
                // Whatever looks at the die runs GC; the page leaves the cache again.
                self.device.read(FILLERS[0]);
                self.device.controller.trim(FILLERS[0], &mut self.device.image);
            }
        }
        self.follow_drops();
    }

    /// GC drops a clean page only where there is room, and that page is then the youngest sole copy.
    fn follow_drops(&mut self) {
        let controller = &self.device.controller;
        let cache = controller.cache();
        for page in PAGES {
            let orphan = cache.lookup(page).is_some_and(|slot| cache.is_orphan(slot));
            if orphan && !self.model.recent.contains(&page) {
                self.model.recent.push(page);
            }
        }
        controller.assert_invariants();
        assert_eq!(sole_copies(controller) as usize, self.model.recent.len(), "{:?}", self.model.recent);
        assert!(self.model.recent.len() <= self.model.max, "{:?}", self.model.recent);
        assert_eq!(controller.tally().cleaned_pages, self.model.cleaned, "cleaned");
        assert!(controller.sole_copies_peak() <= Some(self.model.max as u32));
    }
}

/// Every sequence of four events, at each bound that matters; GC may come between any two.
#[test]
fn every_short_sequence_keeps_the_bound() {
    let of_pages = [Event::Read, Event::Write, Event::Part, Event::Trim];
    let events: Vec<Event> =
        PAGES.iter().flat_map(|&page| of_pages.map(|event| event(page))).chain([Event::Gc]).collect();
    let (mut cleaned, mut drops) = (0, 0);
    for max in 1..=3 {
        for number in 0..events.len().pow(4) {
            let digit = |place| events[number / events.len().pow(place) % events.len()];
            let sequence: [Event; 4] = std::array::from_fn(|place| digit(place as u32));
            let _named = Named(format!("{sequence:?} with room for {max}"));
            let mut scene = Scene::new(max);
            sequence.into_iter().for_each(|event| scene.apply(event));
            cleaned += scene.model.cleaned;
            drops += scene.device.controller.ftl().tally().gc_drops_pages;
        }
    }
    assert!(cleaned > 1000 && drops > 1000, "{cleaned} pages cleaned, {drops} dropped");
}

/// At the bound GC copies what it would have dropped.
#[test]
fn at_the_bound_gc_copies() {
    for (room, dropped) in [(1, false), (2, true)] {
        let mut scene = Scene::new(room);
        scene.apply(Event::Write(Y));
        scene.apply(Event::Read(X));
        scene.apply(Event::Gc);
        let cache = scene.device.controller.cache();
        let slot = cache.lookup(X).expect("it was read");
        assert_eq!(cache.is_orphan(slot), dropped, "room for {room}");
    }
}

fn draw(seed: u64, stream: &mut Stream) -> (Setup, u32) {
    let pick = |stream: &mut Stream, of: usize| stream.random_range(0..of as u32) as usize;
    let slots = stream.random_range(1..16);
    let max = stream.random_range(1..=slots);
    let weight = ["0", "0.5", "1", "\"adaptive\"", "\"by-age\""][pick(stream, 5)];
    let mut setup = Setup::tiny(12, 4).with_slots(slots).with_cooperation(&bounded(weight, max));
    setup.seed = Seed(seed);
    setup.cache.policy =
        EvictionConfig::by_name(EvictionConfig::NAMES[seed as usize % EvictionConfig::NAMES.len()])
            .expect("a policy");
    setup.gc.victim = VictimConfig::by_name(VictimConfig::NAMES[pick(stream, VictimConfig::NAMES.len())])
        .expect("a policy");
    setup.gc.trigger = [Trigger::Write, Trigger::Operation][pick(stream, 2)];
    setup.cache.eviction = [Eviction::Foreground, Eviction::Background][pick(stream, 2)];
    setup.cache.read_allocate = pick(stream, 4) > 0;
    setup.cache.write_allocate = pick(stream, 4) > 0;
    setup.geometry.channels = stream.random_range(1..3);
    setup.ftl.spare = spare(4 + stream.random_range(0..3), 12);
    (setup, max)
}

#[test]
fn storms_keep_the_bound_and_their_data() {
    let (mut drops, mut cleaned, mut at_bound) = (0, 0, 0);
    for seed in 0..300 {
        let mut stream = Seed(seed).stream("sole copies");
        let (setup, max) = draw(seed, &mut stream);
        let _named = Named(format!("storm {seed}, room for {max}, {setup:#?}"));
        let mut device = Device::new(&setup);
        let pages = device.controller.ftl().logical_pages();
        let mut model = vec![[0; PAGE_BYTES]; pages as usize];
        for stamp in 0..600 {
            let operation = Operation::draw(&mut stream, pages, stamp);
            match &operation {
                Operation::Read(page) => assert_eq!(device.read(*page), model[page.get() as usize]),
                Operation::Write(page, bytes, stamp) => {
                    model[page.get() as usize][bytes.clone()]
                        .copy_from_slice(&content(*stamp)[bytes.clone()]);
                    device.apply(&operation);
                }
                Operation::Trim(page) => {
                    model[page.get() as usize] = [0; PAGE_BYTES];
                    device.apply(&operation);
                }
                Operation::Flush => {}
            }
            let sole = sole_copies(&device.controller);
            assert!(sole <= max, "{sole} sole copies after {operation:?}");
            at_bound += u32::from(sole == max);
            if stamp % 16 == 0 {
                device.controller.assert_invariants();
            }
        }
        for page in 0..pages {
            assert_eq!(device.read(lpn(page)), model[page as usize], "{page}");
        }
        let peak = device.controller.sole_copies_peak().expect("cdm keeps account");
        assert!(peak <= max, "{peak} sole copies at most");
        drops += device.controller.ftl().tally().gc_drops_pages;
        cleaned += device.controller.tally().cleaned_pages;
    }
    assert!(drops > 300 && cleaned > 5000, "{drops} drops, {cleaned} pages cleaned");
    assert!(at_bound > 50_000, "{at_bound} steps at the bound");
}

#[test]
fn a_bound_without_room_is_refused() {
    let setup = Setup::tiny(12, 4).with_slots(4).with_cooperation(&bounded("1", 0));
    let refused =
        Controller::new(&setup.geometry, &setup.ftl, &setup.gc, &setup.cache, &setup.cooperation, setup.seed);
    let (key, problem) = refused.err().expect("it is refused");
    assert_eq!(key, "cooperation.sole_copies_max");
    assert_eq!(problem, "0B is less than a page: there must be room for one sole copy");
}
