//! The bound on sole copies: never exceeded, whatever the host and GC do, and no data is lost.

use crate::support::{
    Checked, Device, FILLERS, Look, Named, Operation, PAGE_BYTES, PastCache, Setup, X, Y, Z,
};
use coflash_base::Lpn;
use coflash_ftl::Trigger;
use coflash_level::Tower;

/// `cdm` with a bound of `max` sole copies.
fn bounded(max: u32) -> Setup {
    let bytes = max as usize * PAGE_BYTES;
    let scheme = format!(r#"{{"name": "cdm", "removable_weight": 0.5, "sole_copies_max": "{bytes}B"}}"#);
    let mut setup = Setup::oldest_first().with_slots(6).with_scheme(&scheme);
    setup.gc.trigger = Trigger::Operation;
    setup
}

/// The number of cached pages that are not in flash, counted without the cache's dirty flags.
pub(crate) fn sole_copies(level: &impl Look) -> usize {
    let (_, cache) = level.caches().pop().expect("there is a cache");
    cache.occupied().filter(|&slot| level.flash().lookup(cache.page_of(slot)).is_none()).count()
}

/// The events: an operation, or GC of the oldest block, X's.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Of(Operation),
    Gc,
}

/// A device and a naive model: sole copies in the order of their writes.
struct Scene {
    device: Checked<Device>,
    max: usize,
    recent: Vec<Lpn>,
    cleaned: u64,
}

const PAGES: [Lpn; 3] = [X, Y, Z];

impl Scene {
    fn new(max: u32) -> Self {
        let mut device = Checked::device(&bounded(max));
        device.set_the_scene();
        Self { device, max: max as usize, recent: Vec::new(), cleaned: 0 }
    }

    /// Applies a write to the model: at the bound the page written longest ago is cleaned first.
    fn note_write(&mut self, page: Lpn) {
        let known = self.recent.iter().position(|&sole| sole == page);
        if let Some(at) = known {
            self.recent.remove(at);
        } else if self.recent.len() == self.max {
            self.recent.remove(0);
            self.cleaned += 1;
        }
        self.recent.push(page);
    }

    fn apply(&mut self, event: Event) {
        let operations = match event {
            Event::Of(operation) => vec![operation],
            // Any operation on the die runs GC. The page is then removed from the cache.
            Event::Gc => {
                self.device.use_up_free_blocks(1);
                vec![Operation::Read(FILLERS[0]), Operation::Trim(FILLERS[0])]
            }
        };
        for operation in operations {
            self.device.apply(operation).expect("flash is sound");
            match operation {
                Operation::Write(page) | Operation::Part(page) => self.note_write(page),
                Operation::Trim(page) => self.recent.retain(|&sole| sole != page),
                _ => {}
            }
        }
        self.follow_drops();
    }

    /// GC drops a clean page only below the bound; that page is then the newest sole copy.
    fn follow_drops(&mut self) {
        let cache = self.device.level.cache();
        for page in PAGES {
            let orphan = cache.lookup(page).is_some_and(|slot| cache.is_orphan(slot));
            if orphan && !self.recent.contains(&page) {
                self.recent.push(page);
            }
        }
        self.device.assert_invariants();
        assert_eq!(sole_copies(&self.device.level), self.recent.len(), "{:?}", self.recent);
        assert!(self.recent.len() <= self.max, "{:?}", self.recent);
        assert_eq!(self.device.count("sole_copies.cleaned_pages"), self.cleaned, "cleaned");
        assert!(self.device.count("sole_copies.peak_pages") <= self.max as u64);
    }
}

/// Every sequence of four events, at each relevant bound, with GC between any two.
#[test]
fn every_short_sequence_keeps_the_bound() {
    let of_pages = [Operation::Read, Operation::Write, Operation::Part, Operation::Trim];
    let operations = PAGES.iter().flat_map(|&page| of_pages.map(|operation| Event::Of(operation(page))));
    let events: Vec<Event> = operations.chain([Event::Gc]).collect();
    let (mut cleaned, mut drops) = (0, 0);
    for max in 1..=3 {
        for number in 0..events.len().pow(4) {
            let digit = |place| events[number / events.len().pow(place) % events.len()];
            let sequence: [Event; 4] = std::array::from_fn(|place| digit(place as u32));
            let _named = Named((sequence, max));
            let mut scene = Scene::new(max);
            sequence.into_iter().for_each(|event| scene.apply(event));
            cleaned += scene.cleaned;
            drops += scene.device.count("gc_drops_pages");
        }
    }
    assert!(cleaned > 1000 && drops > 1000, "{cleaned} pages cleaned, {drops} dropped");
}

/// At the bound GC copies instead of dropping.
#[test]
fn at_the_bound_gc_copies() {
    for (room, dropped) in [(1, false), (2, true)] {
        let mut scene = Scene::new(room);
        scene.apply(Event::Of(Operation::Write(Y)));
        scene.apply(Event::Of(Operation::Read(X)));
        scene.apply(Event::Gc);
        let cache = scene.device.level.cache();
        let slot = cache.lookup(X).expect("it was read");
        assert_eq!(cache.is_orphan(slot), dropped, "room for {room}");
    }
}

#[test]
fn a_bound_without_room_is_refused() {
    let misfit = Tower::erased(bounded(0).stack_config()).err().expect("it is refused");
    let problem = "cooperation.sole_copies_max: 0B is less than a page: there must be room for one sole copy";
    assert_eq!(misfit.to_string(), problem);
}
