//! The states of a cached page as tables: for each scheme every state of a page and every event, with the state after it, all that flash
//! did, and all that was counted.

use crate::support::{
    Device, Operation, PAGE_BYTES, Page, Setup, W, X, Y, Z, cdm, content, cooperation, none, set_the_scene,
    use_up_free_blocks,
};
use coflash_base::Lpn;
use coflash_controller::{Controller, CooperationConfig};
use coflash_flash::image::Done;
use coflash_flash::{Cause, Ppn};
use coflash_ftl::Trigger;
use std::fmt::Write;

/// Where a page is, as map, mark and cache tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nowhere,
    /// S0: in flash, not cached.
    Flash,
    /// S1: in flash and cached clean; marked where flash knows of it.
    Clean,
    /// S2: cached dirty, no flash copy.
    Sole,
    /// S2 because GC dropped the flash copy.
    Orphan,
    /// Cached dirty over an old flash copy that is still valid: without cooperation only.
    Stale,
}

/// The state of a page; every combination that is not one of the scheme's states is refused.
fn state(controller: &Controller, page: Lpn, cooperative: bool) -> State {
    let (cache, ftl) = (controller.cache(), controller.ftl());
    let (mapped, marked) = (ftl.lookup(page).is_some(), ftl.is_marked(page));
    let cached = cache.lookup(page).map(|slot| (cache.is_dirty(slot), cache.is_orphan(slot)));
    match (mapped, marked, cached) {
        (false, false, None) => State::Nowhere,
        (true, false, None) => State::Flash,
        (true, marked, Some((false, false))) if marked == cooperative => State::Clean,
        (false, false, Some((true, false))) => State::Sole,
        (false, false, Some((true, true))) if cooperative => State::Orphan,
        (true, false, Some((true, false))) if !cooperative => State::Stale,
        illegal => panic!("{page:?} is (mapped, marked, cached (dirty, orphan)) = {illegal:?}"),
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Read,
    /// A write of the whole page.
    Write,
    /// A write of a part of it.
    Part,
    Trim,
    Flush,
    /// Reads of Y and Z, for which the cache of two slots has to evict X.
    Evict,
    /// GC of the oldest block, where X lies if it is in flash, before a read of Y.
    Gc,
}

/// From, event, to, flash operations, counters that rise.
type Row = (State, Event, State, &'static str, &'static str);

use Event::{Evict, Flush, Gc, Part, Read, Trim};
use State::{Clean, Flash, Nowhere, Orphan, Sole, Stale};
const WRITE: Event = Event::Write;

const EVICTS_NOTHING: &str = "read Y host, read Z host";
const PROGRAMS_X: &str = "read Y host, read Z host, program X evict";
const ERASES: &str = "erase gc, read Y host";
const COPIES_X: &str = "copy X gc, erase gc, read Y host";

/// Y and Z are read misses that are cached: each counts as `read_misses nvm_writes flash_reads`.
const CDM: &[Row] = &[
    (Nowhere, Read, Nowhere, "", "read_misses"),
    (Nowhere, WRITE, Sole, "", "write_misses nvm_writes"),
    (Nowhere, Part, Sole, "", "write_misses nvm_writes"),
    (Nowhere, Trim, Nowhere, "", ""),
    (Nowhere, Flush, Nowhere, "", ""),
    (Nowhere, Evict, Nowhere, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 flash_reads*2"),
    (Nowhere, Gc, Nowhere, ERASES, "read_misses nvm_writes flash_reads erases"),
    (Flash, Read, Clean, "read X host", "read_misses nvm_writes flash_reads"),
    (Flash, WRITE, Sole, "", "write_misses nvm_writes"),
    (Flash, Part, Sole, "read X host", "write_misses nvm_writes*2 flash_reads"),
    (Flash, Trim, Nowhere, "", ""),
    (Flash, Flush, Flash, "", ""),
    (Flash, Evict, Flash, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 flash_reads*2"),
    (Flash, Gc, Flash, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs"),
    (Clean, Read, Clean, "", "read_hits nvm_reads"),
    (Clean, WRITE, Sole, "", "write_hits nvm_writes"),
    (Clean, Part, Sole, "", "write_hits nvm_writes"),
    (Clean, Trim, Nowhere, "", ""),
    (Clean, Flush, Clean, "", ""),
    (Clean, Evict, Flash, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 clean_evictions flash_reads*2"),
    (Clean, Gc, Orphan, ERASES, "read_misses nvm_writes flash_reads drops erases"),
    (Sole, Read, Sole, "", "read_hits nvm_reads"),
    (Sole, WRITE, Sole, "", "write_hits nvm_writes"),
    (Sole, Part, Sole, "", "write_hits nvm_writes"),
    (Sole, Trim, Nowhere, "", ""),
    (Sole, Flush, Sole, "", ""),
    (
        Sole,
        Evict,
        Flash,
        PROGRAMS_X,
        "read_misses*2 nvm_reads nvm_writes*2 dirty_evictions flash_reads*2 evict_programs",
    ),
    (Sole, Gc, Sole, ERASES, "read_misses nvm_writes flash_reads erases"),
    (Orphan, Read, Orphan, "", "read_hits nvm_reads"),
    (Orphan, WRITE, Sole, "", "write_hits nvm_writes"),
    (Orphan, Part, Sole, "", "write_hits nvm_writes"),
    (Orphan, Trim, Nowhere, "", ""),
    (Orphan, Flush, Orphan, "", ""),
    (
        Orphan,
        Evict,
        Flash,
        PROGRAMS_X,
        "read_misses*2 nvm_reads nvm_writes*2 dirty_evictions drop_rewrites flash_reads*2 evict_programs",
    ),
    // Its block is gone; the oldest is now that of Y.
    (
        Orphan,
        Gc,
        Orphan,
        "copy Y gc, erase gc, read Y host",
        "read_misses nvm_writes flash_reads erases gc_programs",
    ),
];

/// NVM-basic: the same cache, but flash keeps and copies what it holds until the dirty copy is written.
const NONE: &[Row] = &[
    (Nowhere, Read, Nowhere, "", "read_misses"),
    (Nowhere, WRITE, Sole, "", "write_misses nvm_writes"),
    (Nowhere, Part, Sole, "", "write_misses nvm_writes"),
    (Nowhere, Trim, Nowhere, "", ""),
    (Nowhere, Flush, Nowhere, "", ""),
    (Nowhere, Evict, Nowhere, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 flash_reads*2"),
    (Nowhere, Gc, Nowhere, ERASES, "read_misses nvm_writes flash_reads erases"),
    (Flash, Read, Clean, "read X host", "read_misses nvm_writes flash_reads"),
    (Flash, WRITE, Stale, "", "write_misses nvm_writes"),
    (Flash, Part, Stale, "read X host", "write_misses nvm_writes*2 flash_reads"),
    (Flash, Trim, Nowhere, "", ""),
    (Flash, Flush, Flash, "", ""),
    (Flash, Evict, Flash, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 flash_reads*2"),
    (Flash, Gc, Flash, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs"),
    (Clean, Read, Clean, "", "read_hits nvm_reads"),
    (Clean, WRITE, Stale, "", "write_hits nvm_writes"),
    (Clean, Part, Stale, "", "write_hits nvm_writes"),
    (Clean, Trim, Nowhere, "", ""),
    (Clean, Flush, Clean, "", ""),
    (Clean, Evict, Flash, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 clean_evictions flash_reads*2"),
    (Clean, Gc, Clean, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs"),
    (Sole, Read, Sole, "", "read_hits nvm_reads"),
    (Sole, WRITE, Sole, "", "write_hits nvm_writes"),
    (Sole, Part, Sole, "", "write_hits nvm_writes"),
    (Sole, Trim, Nowhere, "", ""),
    (Sole, Flush, Sole, "", ""),
    (
        Sole,
        Evict,
        Flash,
        PROGRAMS_X,
        "read_misses*2 nvm_reads nvm_writes*2 dirty_evictions flash_reads*2 evict_programs",
    ),
    (Sole, Gc, Sole, ERASES, "read_misses nvm_writes flash_reads erases"),
    (Stale, Read, Stale, "", "read_hits nvm_reads"),
    (Stale, WRITE, Stale, "", "write_hits nvm_writes"),
    (Stale, Part, Stale, "", "write_hits nvm_writes"),
    (Stale, Trim, Nowhere, "", ""),
    (Stale, Flush, Stale, "", ""),
    (
        Stale,
        Evict,
        Flash,
        PROGRAMS_X,
        "read_misses*2 nvm_reads nvm_writes*2 dirty_evictions flash_reads*2 evict_programs",
    ),
    (Stale, Gc, Stale, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs"),
];

/// A device without a cache, whatever the scheme.
const UNCACHED: &[Row] = &[
    (Nowhere, Read, Nowhere, "", "read_misses"),
    (Nowhere, WRITE, Flash, "program X host", "write_misses host_programs"),
    (Nowhere, Part, Flash, "program X host", "write_misses host_programs"),
    (Nowhere, Trim, Nowhere, "", ""),
    (Nowhere, Flush, Nowhere, "", ""),
    (Nowhere, Gc, Nowhere, ERASES, "read_misses flash_reads erases"),
    (Flash, Read, Flash, "read X host", "read_misses flash_reads"),
    (Flash, WRITE, Flash, "program X host", "write_misses host_programs"),
    (Flash, Part, Flash, "read X host, program X host", "write_misses flash_reads host_programs"),
    (Flash, Trim, Nowhere, "", ""),
    (Flash, Flush, Flash, "", ""),
    (Flash, Gc, Flash, COPIES_X, "read_misses flash_reads erases gc_programs"),
];

/// A cache that only reads enter: a write past it is in flash at once, and a write to a cached page stays in the cache.
const WRITE_AROUND: &[Row] = &[
    (Nowhere, WRITE, Flash, "program X host", "write_misses host_programs"),
    (Nowhere, Part, Flash, "program X host", "write_misses host_programs"),
    (Flash, Read, Clean, "read X host", "read_misses nvm_writes flash_reads"),
    (Flash, WRITE, Flash, "program X host", "write_misses host_programs"),
    (Flash, Part, Flash, "read X host, program X host", "write_misses flash_reads host_programs"),
    (Clean, Read, Clean, "", "read_hits nvm_reads"),
    (Clean, WRITE, Sole, "", "write_hits nvm_writes"),
    (Clean, Part, Sole, "", "write_hits nvm_writes"),
];

/// A cache that only writes enter.
const READ_AROUND: &[Row] = &[
    (Nowhere, WRITE, Sole, "", "write_misses nvm_writes"),
    (Flash, Read, Flash, "read X host", "read_misses flash_reads"),
    (Flash, WRITE, Sole, "", "write_misses nvm_writes"),
    (Flash, Part, Sole, "read X host", "write_misses nvm_writes*2 flash_reads"),
    (Sole, Read, Sole, "", "read_hits nvm_reads"),
    (Sole, WRITE, Sole, "", "write_hits nvm_writes"),
];

/// One device, and what X should read as.
struct Scene {
    device: Device,
    cooperative: bool,
    expected: Page,
}

impl Scene {
    /// X lies in the first block, alone; Y, Z and W in later ones. No pool is low.
    fn new(setup: &Setup) -> Self {
        let mut device = Device::new(setup);
        set_the_scene(|page| device.write_past_cache(page, 100 + u64::from(page.get())));
        Self { device, cooperative: setup.cooperation.name() == "cdm", expected: content(100) }
    }

    /// Every way to bring X into `from`.
    fn routes(from: State) -> &'static [&'static [Event]] {
        match from {
            Nowhere => &[&[Trim], &[Read, Trim], &[WRITE, Trim]],
            Flash => &[&[]],
            Clean => &[&[Read]],
            // Under cdm a write makes the flash copy invalid at once; without cooperation there must be none before.
            Sole => &[&[Trim, WRITE], &[Trim, Part], &[WRITE], &[Part], &[Read, WRITE], &[Read, Part]],
            Orphan => &[&[Read, Gc]],
            Stale => &[&[WRITE], &[Part], &[Read, WRITE]],
        }
    }

    /// What it takes for an event to happen that is not a request for X.
    fn prepare(&mut self, event: Event) {
        if let Gc = event {
            use_up_free_blocks(&mut self.device.controller, &mut self.device.image);
        }
    }

    fn apply(&mut self, event: Event) {
        match event {
            Read => assert_eq!(self.device.read(X), self.expected),
            Event::Write => {
                self.device.write(X, 0..PAGE_BYTES, 7);
                self.expected = content(7);
            }
            Part => {
                self.device.write(X, 2..5, 8);
                self.expected[2..5].copy_from_slice(&content(8)[2..5]);
            }
            Trim => {
                self.device.controller.trim(X, &mut self.device.image);
                self.expected = [0; PAGE_BYTES];
            }
            Flush => self.device.apply(&Operation::Flush),
            Evict => {
                self.device.read(Y);
                self.device.read(Z);
            }
            Gc => {
                self.device.read(Y);
            }
        }
        self.device.controller.assert_invariants();
    }

    fn arrange(&mut self, route: &[Event]) {
        for &event in route {
            self.prepare(event);
            if let Gc = event {
                // As the event, but with a page that no event uses, which leaves its slot again.
                self.device.read(W);
                self.device.controller.trim(W, &mut self.device.image);
            } else {
                self.apply(event);
            }
        }
    }

    fn state(&self) -> State {
        state(&self.device.controller, X, self.cooperative)
    }
}

/// The operations after the first `skip`, in words.
fn flash_operations(log: &[Done], skip: usize) -> String {
    let mut owners = std::collections::BTreeMap::new();
    let mut words = Vec::new();
    let named = |page: Option<Lpn>| match page {
        Some(X) => "X".to_owned(),
        Some(Y) => "Y".to_owned(),
        Some(Z) => "Z".to_owned(),
        other => format!("{other:?}"),
    };
    let cause = |cause: Cause| Cause::ALL[cause as usize].1;
    for done in log {
        words.push(match *done {
            Done::Read(page, why) => format!("read {} {}", named(owners[&page]), cause(why)),
            Done::Program(page, oob, why) => {
                owners.insert(page, oob.lpn);
                format!("program {} {}", named(oob.lpn), cause(why))
            }
            Done::Copy(from, to, oob, why) => {
                assert_eq!(owners[&from], oob.lpn, "a copy keeps its logical page");
                owners.insert(to, oob.lpn);
                format!("copy {} {}", named(oob.lpn), cause(why))
            }
            Done::Erase(block, why) => {
                owners.retain(|page: &Ppn, _| page.get() / 4 != block.get());
                format!("erase {}", cause(why))
            }
        });
    }
    words[skip..].join(", ")
}

/// Every counter of the device by name.
pub(crate) fn counters(controller: &Controller) -> [(&'static str, u64); 16] {
    let (cache, ftl) = (controller.tally(), controller.ftl().tally());
    let programs = [Cause::Host, Cause::Evict, Cause::Gc].map(|cause| ftl.programs_for(cause));
    [
        ("read_hits", cache.read_hits),
        ("read_misses", cache.read_misses),
        ("write_hits", cache.write_hits),
        ("write_misses", cache.write_misses),
        ("nvm_reads", cache.nvm_reads_pages),
        ("nvm_writes", cache.nvm_writes_pages),
        ("clean_evictions", cache.clean_evictions_pages),
        ("dirty_evictions", cache.dirty_evictions_pages),
        ("drop_rewrites", cache.drop_rewrites_pages),
        ("flash_reads", ftl.reads_pages),
        ("drops", ftl.gc_drops_pages),
        ("erases", ftl.erases_blocks),
        ("host_programs", programs[0]),
        ("evict_programs", programs[1]),
        ("gc_programs", programs[2]),
        ("other_programs", ftl.programs() - programs.iter().sum::<u64>()),
    ]
}

pub(crate) fn risen<const N: usize>(
    before: [(&'static str, u64); N],
    after: [(&'static str, u64); N],
) -> String {
    let mut text = String::new();
    for ((name, before), (_, after)) in before.into_iter().zip(after) {
        match after - before {
            0 => {}
            1 => write!(text, " {name}").unwrap(),
            times => write!(text, " {name}*{times}").unwrap(),
        }
    }
    text.trim_start().to_owned()
}

/// A cache of two slots; reads look whether GC is due, too.
fn setup(cooperation: &CooperationConfig) -> Setup {
    let mut setup = Setup::oldest_first().with_slots(2).with_cooperation(cooperation);
    setup.gc.trigger = Trigger::Operation;
    setup
}

fn check(table: &[Row], setup: &Setup) {
    for &(from, event, to, flash, counted) in table {
        let mut arranged = 0;
        for route in Scene::routes(from) {
            let mut scene = Scene::new(setup);
            scene.arrange(route);
            if scene.state() != from {
                continue;
            }
            arranged += 1;
            scene.prepare(event);
            let (done, before) = (scene.device.image.log.len(), counters(&scene.device.controller));
            scene.apply(event);
            let row = format!("{} {from:?} (by {route:?}) {event:?}", setup.cooperation.name());
            assert_eq!(scene.state(), to, "{row}: state");
            assert_eq!(flash_operations(&scene.device.image.log, done), flash, "{row}: flash operations");
            assert_eq!(risen(before, counters(&scene.device.controller)), counted, "{row}: counters");
            assert_eq!(scene.device.read(X), scene.expected, "{row}: data");
        }
        assert!(arranged > 0, "no route leads to {from:?}");
    }
}

#[test]
fn cdm_follows_its_table() {
    for weight in ["0", "0.5", "1"] {
        let scheme = cooperation(&format!("{{\"name\": \"cdm\", \"removable_weight\": {weight}}}"));
        check(CDM, &setup(&scheme));
    }
}

/// Without evidence that drops pay the estimates have removable pages copied, and all else is as under plain cdm.
#[test]
fn cdm_with_an_estimate_follows_its_table() {
    let mut table: Vec<Row> = CDM.iter().copied().filter(|row| row.0 != Orphan).collect();
    for row in table.iter_mut().filter(|row| matches!(row, (Clean, Gc, ..))) {
        *row = (Clean, Gc, Clean, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs");
    }
    for weight in ["adaptive", "by-age"] {
        let scheme = cooperation(&format!("{{\"name\": \"cdm\", \"removable_weight\": \"{weight}\"}}"));
        check(&table, &setup(&scheme));
    }
}

#[test]
fn without_cooperation_flash_keeps_what_it_holds() {
    check(NONE, &setup(&none()));
}

#[test]
fn without_a_cache_all_schemes_are_the_same() {
    for scheme in [none(), cdm()] {
        check(UNCACHED, &setup(&scheme).with_slots(0));
    }
}

#[test]
fn reads_and_writes_enter_the_cache_only_where_they_may() {
    let mut around = setup(&cdm());
    around.cache.write_allocate = false;
    check(WRITE_AROUND, &around);
    let mut around = setup(&cdm());
    around.cache.read_allocate = false;
    check(READ_AROUND, &around);
}

/// X was cached first; once it is used again, Y leaves before it.
#[test]
fn every_hit_is_a_use() {
    for hit in [Read, WRITE, Part] {
        let mut scene = Scene::new(&setup(&cdm()));
        scene.apply(Read);
        scene.device.read(Y);
        scene.apply(hit);
        scene.device.read(Z);
        let cached = [X, Y, Z].map(|page| scene.device.controller.cache().lookup(page).is_some());
        assert_eq!(cached, [true, false, true], "{hit:?}");
    }
}

/// The tables cover what they claim: all events in all states of every scheme.
#[test]
fn the_tables_are_complete() {
    assert_eq!(
        CooperationConfig::NAMES,
        ["none", "cdm", "cdm-consistent", "ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc"],
        "a new scheme needs a table here, or in shadow_states.rs, and storms"
    );
    for (table, states) in
        [(CDM, &[Nowhere, Flash, Clean, Sole, Orphan]), (NONE, &[Nowhere, Flash, Clean, Sole, Stale])]
    {
        let mut rows: Vec<_> = table.iter().map(|row| format!("{:?} {:?}", row.0, row.1)).collect();
        let mut all = Vec::new();
        for state in states {
            all.extend(
                [Read, WRITE, Part, Trim, Flush, Evict, Gc].map(|event| format!("{state:?} {event:?}")),
            );
        }
        rows.sort();
        all.sort();
        assert_eq!(rows, all);
    }
}

/// Illegal states, forced past the controller: the invariants of each scheme refuse them.
mod illegal {
    use super::*;

    fn with_x(cooperation: &CooperationConfig, route: &[Event]) -> Scene {
        let mut scene = Scene::new(&setup(cooperation));
        scene.arrange(route);
        scene
    }

    #[test]
    #[should_panic(expected = "is removable, so it is cached")]
    fn marked_and_not_cached() {
        let mut scene = with_x(&cdm(), &[]);
        scene.device.controller.ftl_mut().mark(X);
        scene.device.controller.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "is cached dirty, so flash has no copy")]
    fn dirty_and_mapped() {
        let mut scene = with_x(&cdm(), &[WRITE]);
        scene.device.write_past_cache(X, 9);
        scene.device.controller.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "is cached clean, so its flash copy is removable")]
    fn clean_and_not_marked() {
        let mut scene = with_x(&cdm(), &[Read]);
        scene.device.controller.ftl_mut().unmark(X);
        scene.device.controller.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "is cached clean, so its flash copy is removable")]
    fn clean_and_not_mapped() {
        let mut scene = with_x(&cdm(), &[Read]);
        scene.device.controller.ftl_mut().invalidate(X);
        scene.device.controller.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "flash knows nothing of the cache")]
    fn marked_without_cooperation() {
        let mut scene = with_x(&none(), &[Read]);
        scene.device.controller.ftl_mut().mark(X);
        scene.device.controller.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "is cached clean, so mapped")]
    fn clean_and_not_mapped_without_cooperation() {
        let mut scene = with_x(&none(), &[Read]);
        scene.device.controller.ftl_mut().invalidate(X);
        scene.device.controller.assert_invariants();
    }
}
