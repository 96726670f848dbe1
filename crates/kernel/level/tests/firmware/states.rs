//! The states of a cached page as tables: for each scheme every state of a page and every event, with the state after
//! it, all that flash did, and all that was counted.

use crate::support::{
    COUNTERS, Checked, Device, Operation, PastCache, Setup, W, X, Y, Z, assert_refused, name, risen,
};
use coflash_base::Lpn;
use coflash_ftl::Trigger;
use coflash_media::{Cause, Memory, Ppn};
use coflash_testing::Done;

/// Where a page is, as map, mark and cache tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nowhere,
    /// S0: in flash, not cached.
    Flash,
    /// S1: in flash and cached clean; marked where it is removable.
    Clean,
    /// S2: cached dirty, no flash copy.
    Sole,
    /// S2 unmodified: GC dropped the flash copy, or the read that cached the page made it invalid.
    Orphan,
    /// Cached dirty over an old flash copy that is still valid: where flash is not told of overwrites.
    Stale,
}

/// Which states a scheme has.
#[derive(Clone, Copy)]
struct Scheme {
    marks_clean: bool,
    has_orphans: bool,
    has_stale: bool,
}

fn scheme(name: &str) -> Scheme {
    let [marks_clean, has_orphans, has_stale] = match name {
        "none" => [false, false, true],
        "cdm" => [true, true, false],
        "cdm-overwrites" => [false, false, false],
        "cdm-removable" => [true, true, true],
        "cdm-invalidate-on-cache" => [false, true, false],
        other => panic!("no table for {other}"),
    };
    Scheme { marks_clean, has_orphans, has_stale }
}

/// The state of a page; every combination that is not one of the scheme's states is refused.
fn state(device: &Device, page: Lpn, scheme: Scheme) -> State {
    let (cache, ftl) = (device.cache(), device.below());
    let (mapped, marked) = (ftl.lookup(page).is_some(), ftl.is_marked(page));
    let cached = cache.lookup(page).map(|slot| (cache.is_dirty(slot), cache.is_orphan(slot)));
    match (mapped, marked, cached) {
        (false, false, None) => State::Nowhere,
        (true, false, None) => State::Flash,
        (true, marked, Some((false, false))) if marked == scheme.marks_clean => State::Clean,
        (false, false, Some((true, false))) => State::Sole,
        (false, false, Some((true, true))) if scheme.has_orphans => State::Orphan,
        (true, false, Some((true, false))) if scheme.has_stale => State::Stale,
        illegal => panic!("{page:?} is (mapped, marked, cached (dirty, orphan)) = {illegal:?}"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

use Event::{Evict, Flush, Gc, Part, Read, Trim, Write};
use State::{Clean, Flash, Nowhere, Orphan, Sole, Stale};

const EVICTS_NOTHING: &str = "read Y host, read Z host";
const PROGRAMS_X: &str = "read Y host, read Z host, program X evict";
const ERASES: &str = "erase gc, read Y host";
const COPIES_X: &str = "copy X gc, erase gc, read Y host";

/// The part that is the same with and without cooperation. Y and Z are read misses that are cached: each counts as `read_misses
/// nvm_writes flash_reads`.
const COMMON: &[Row] = &[
    (Nowhere, Read, Nowhere, "", "read_misses"),
    (Nowhere, Write, Sole, "", "write_misses nvm_writes"),
    (Nowhere, Part, Sole, "", "write_misses nvm_writes"),
    (Nowhere, Trim, Nowhere, "", ""),
    (Nowhere, Flush, Nowhere, "", ""),
    (Nowhere, Evict, Nowhere, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 flash_reads*2"),
    (Nowhere, Gc, Nowhere, ERASES, "read_misses nvm_writes flash_reads erases"),
    (Flash, Read, Clean, "read X host", "read_misses nvm_writes flash_reads"),
    (Flash, Trim, Nowhere, "", ""),
    (Flash, Flush, Flash, "", ""),
    (Flash, Evict, Flash, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 flash_reads*2"),
    (Flash, Gc, Flash, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs"),
    (Clean, Read, Clean, "", "read_hits nvm_reads"),
    (Clean, Trim, Nowhere, "", ""),
    (Clean, Flush, Clean, "", ""),
    (Clean, Evict, Flash, EVICTS_NOTHING, "read_misses*2 nvm_writes*2 clean_evictions flash_reads*2"),
    (Sole, Read, Sole, "", "read_hits nvm_reads"),
    (Sole, Write, Sole, "", "write_hits nvm_writes absorbed"),
    (Sole, Part, Sole, "", "write_hits nvm_writes absorbed"),
    (Sole, Trim, Nowhere, "", "dropped"),
    (Sole, Flush, Sole, "", ""),
    (Sole, Evict, Flash, PROGRAMS_X, WRITTEN),
    (Sole, Gc, Sole, ERASES, "read_misses nvm_writes flash_reads erases"),
];

const WRITTEN: &str = "read_misses*2 nvm_reads nvm_writes*2 dirty_evictions flash_reads*2 evict_programs";

const CDM: &[Row] = &[
    (Flash, Write, Sole, "", "write_misses nvm_writes"),
    (Flash, Part, Sole, "read X host", "write_misses nvm_writes*2 merged flash_reads"),
    (Clean, Write, Sole, "", "write_hits nvm_writes"),
    (Clean, Part, Sole, "", "write_hits nvm_writes"),
    (Clean, Gc, Orphan, ERASES, "read_misses nvm_writes flash_reads drops erases"),
    (Orphan, Read, Orphan, "", "read_hits nvm_reads"),
    (Orphan, Write, Sole, "", "write_hits nvm_writes absorbed"),
    (Orphan, Part, Sole, "", "write_hits nvm_writes absorbed"),
    (Orphan, Trim, Nowhere, "", "dropped"),
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

/// NVM-basic: the same cache, but flash keeps and copies its version until the dirty copy is written.
const NONE: &[Row] = &[
    (Flash, Write, Stale, "", "write_misses nvm_writes"),
    (Flash, Part, Stale, "read X host", "write_misses nvm_writes*2 merged flash_reads"),
    (Clean, Write, Stale, "", "write_hits nvm_writes"),
    (Clean, Part, Stale, "", "write_hits nvm_writes"),
    (Clean, Gc, Clean, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs"),
    (Stale, Read, Stale, "", "read_hits nvm_reads"),
    (Stale, Write, Stale, "", "write_hits nvm_writes absorbed"),
    (Stale, Part, Stale, "", "write_hits nvm_writes absorbed"),
    (Stale, Trim, Nowhere, "", "dropped"),
    (Stale, Flush, Stale, "", ""),
    (Stale, Evict, Flash, PROGRAMS_X, WRITTEN),
    (Stale, Gc, Stale, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs"),
];

const COPIES_CLEAN: Row =
    (Clean, Gc, Clean, COPIES_X, "read_misses nvm_writes flash_reads erases gc_programs");

/// The first half of cdm: a page that is cached clean is one like any other.
fn overwrites() -> Vec<Row> {
    let same = CDM.iter().filter(|row| row.0 != Orphan && !matches!(row, (Clean, Gc, ..)));
    same.copied().chain([COPIES_CLEAN]).collect()
}

/// The second half: GC drops pages that are cached clean, and flash keeps overwritten ones as without cooperation.
fn removable() -> Vec<Row> {
    let dropped = CDM.iter().filter(|row| row.0 == Orphan || matches!(row, (Clean, Gc, ..)));
    dropped.chain(NONE.iter().filter(|row| !matches!(row, (Clean, Gc, ..)))).copied().collect()
}

/// The flash copy is invalid as soon as the page is cached: there is no clean page, and each one that leaves is written.
fn invalidate_on_cache() -> Vec<Row> {
    let same = COMMON.iter().chain(CDM).filter(|row| ![row.0, row.2].contains(&Clean));
    let rows = same.filter(|row| !matches!(row, (Orphan, Gc, ..))).copied();
    rows.chain([
        (Flash, Read, Orphan, "read X host", "read_misses nvm_writes flash_reads"),
        (Orphan, Gc, Orphan, ERASES, "read_misses nvm_writes flash_reads erases"),
    ])
    .collect()
}

/// A device without a cache, whatever the scheme.
const UNCACHED: &[Row] = &[
    (Nowhere, Read, Nowhere, "", "read_misses"),
    (Nowhere, Write, Flash, "program X host", "write_misses host_programs"),
    (Nowhere, Part, Flash, "program X host", "write_misses host_programs"),
    (Nowhere, Trim, Nowhere, "", ""),
    (Nowhere, Flush, Nowhere, "", ""),
    (Nowhere, Gc, Nowhere, ERASES, "read_misses flash_reads erases"),
    (Flash, Read, Flash, "read X host", "read_misses flash_reads"),
    (Flash, Write, Flash, "program X host", "write_misses host_programs"),
    (
        Flash,
        Part,
        Flash,
        "read X host, program X host",
        "write_misses flash_reads flash_merges host_programs",
    ),
    (Flash, Trim, Nowhere, "", ""),
    (Flash, Flush, Flash, "", ""),
    (Flash, Gc, Flash, COPIES_X, "read_misses flash_reads erases gc_programs"),
];

/// A cache that only reads enter: a write past it is in flash at once, and a write to a cached page stays in the cache.
const WRITE_AROUND: &[Row] = &[
    (Nowhere, Write, Flash, "program X host", "write_misses host_programs"),
    (Nowhere, Part, Flash, "program X host", "write_misses host_programs"),
    (Flash, Read, Clean, "read X host", "read_misses nvm_writes flash_reads"),
    (Flash, Write, Flash, "program X host", "write_misses host_programs"),
    (
        Flash,
        Part,
        Flash,
        "read X host, program X host",
        "write_misses flash_reads flash_merges host_programs",
    ),
    (Clean, Read, Clean, "", "read_hits nvm_reads"),
    (Clean, Write, Sole, "", "write_hits nvm_writes"),
    (Clean, Part, Sole, "", "write_hits nvm_writes"),
];

/// A cache that only writes enter.
const READ_AROUND: &[Row] = &[
    (Nowhere, Write, Sole, "", "write_misses nvm_writes"),
    (Flash, Read, Flash, "read X host", "read_misses flash_reads"),
    (Flash, Write, Sole, "", "write_misses nvm_writes"),
    (Flash, Part, Sole, "read X host", "write_misses nvm_writes*2 merged flash_reads"),
    (Sole, Read, Sole, "", "read_hits nvm_reads"),
    (Sole, Write, Sole, "", "write_hits nvm_writes absorbed"),
];

/// A device, and the name of its scheme.
struct Scene(Checked<Device>, &'static str);

impl Scene {
    /// X lies in the first block, alone; Y, Z and W in later ones. No pool is low.
    fn new(setup: &Setup) -> Self {
        let mut device = Checked::device(setup);
        device.set_the_scene();
        Self(device, setup.cooperation.name())
    }

    /// Every way to bring X into `from`.
    fn routes(from: State, scheme: &str) -> &'static [&'static [Event]] {
        match from {
            Nowhere => &[&[Trim], &[Read, Trim], &[Write, Trim]],
            Flash => &[&[]],
            Clean => &[&[Read]],
            // If flash is told of overwrites, a write makes its copy invalid at once; otherwise there must be none before.
            Sole => &[&[Trim, Write], &[Trim, Part], &[Write], &[Part], &[Read, Write], &[Read, Part]],
            Orphan if scheme == "cdm-invalidate-on-cache" => &[&[Read]],
            Orphan => &[&[Read, Gc]],
            Stale => &[&[Write], &[Part], &[Read, Write]],
        }
    }

    fn apply(&mut self, event: Event) {
        let read_y_and_z = [Operation::Read(Y), Operation::Read(Z)];
        let operations: &[Operation] = match event {
            Read => &[Operation::Read(X)],
            Write => &[Operation::Write(X)],
            Part => &[Operation::Part(X)],
            Trim => &[Operation::Trim(X)],
            Flush => &[Operation::Flush],
            Evict => &read_y_and_z,
            Gc => &read_y_and_z[..1],
        };
        for &operation in operations {
            self.0.apply(operation).expect("flash is sound");
        }
        self.0.assert_invariants();
    }

    /// The requests that make an event happen that is not a request for X.
    fn prepare(&mut self, event: Event) {
        if event == Gc {
            self.0.use_up_free_blocks(1);
        }
    }

    fn arrange(&mut self, route: &[Event]) {
        for &event in route {
            self.prepare(event);
            if event == Gc {
                // As the event, but with a page that no event uses, and that is removed again.
                for operation in [Operation::Read(W), Operation::Trim(W)] {
                    self.0.apply(operation).expect("flash is sound");
                }
            } else {
                self.apply(event);
            }
        }
    }

    fn state(&self) -> State {
        state(&self.0.level, X, scheme(self.1))
    }
}

/// The operations after the first `skip`, in words.
fn flash_operations(log: &[Done], skip: usize) -> String {
    let mut owners = std::collections::BTreeMap::new();
    let mut words = Vec::new();
    let named = |page: Option<Lpn>| name(page.expect("a page of data"));
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

const NO_COOPERATION: &str = "\"none\"";
const PLAIN: &str = "\"cdm\"";
const OVERWRITES: &str = "\"cdm-overwrites\"";
const REMOVABLE: &str = "\"cdm-removable\"";
const INVALIDATE: &str = "\"cdm-invalidate-on-cache\"";

/// A cache of two slots; reads look whether GC is due, too.
fn setup(scheme: &str) -> Setup {
    let mut setup = Setup::oldest_first().with_slots(2).with_scheme(scheme);
    setup.gc.trigger = Trigger::Operation;
    setup
}

fn check(table: &[Row], setup: &Setup) {
    for &(from, event, to, flash, counted) in table {
        let mut arranged = 0;
        for route in Scene::routes(from, setup.cooperation.name()) {
            let mut scene = Scene::new(setup);
            scene.arrange(route);
            if scene.state() != from {
                continue;
            }
            arranged += 1;
            scene.prepare(event);
            let (done, before) = (scene.0.media.log.len(), scene.0.report());
            scene.apply(event);
            let row = format!("{} {from:?} (by {route:?}) {event:?}", setup.cooperation.name());
            assert_eq!(scene.state(), to, "{row}: state");
            assert_eq!(flash_operations(&scene.0.media.log, done), flash, "{row}: flash operations");
            assert_eq!(risen(COUNTERS, &before, &scene.0.report()), counted, "{row}: counters");
            scene.apply(Read);
        }
        assert!(arranged > 0, "no route leads to {from:?}");
    }
}

#[test]
fn cdm_follows_its_table() {
    for weight in ["0", "0.5", "1"] {
        check(
            &[COMMON, CDM].concat(),
            &setup(&format!(r#"{{"name": "cdm", "removable_weight": {weight}}}"#)),
        );
    }
}

/// Without evidence that drops pay the estimates have removable pages copied, and all else is as under plain cdm.
#[test]
fn cdm_with_an_estimate_follows_its_table() {
    let mut table: Vec<Row> = [COMMON, CDM].concat().into_iter().filter(|row| row.0 != Orphan).collect();
    for row in table.iter_mut().filter(|row| matches!(row, (Clean, Gc, ..))) {
        *row = COPIES_CLEAN;
    }
    for weight in ["adaptive", "by-age"] {
        check(&table, &setup(&format!(r#"{{"name": "cdm", "removable_weight": "{weight}"}}"#)));
    }
}

#[test]
fn each_half_of_cdm_follows_its_table() {
    check(&[COMMON, &overwrites()].concat(), &setup(OVERWRITES));
    for weight in ["0", "0.5", "1"] {
        let scheme = format!(r#"{{"name": "cdm-removable", "removable_weight": {weight}}}"#);
        check(&[COMMON, &removable()].concat(), &setup(&scheme));
    }
}

#[test]
fn what_is_invalid_when_it_is_cached_is_written_when_it_leaves() {
    check(&invalidate_on_cache(), &setup(INVALIDATE));
}

/// X is overwritten in the cache, or read, and GC comes by: its invalid copy was spared if the cache has told of it and
/// has not written it yet.
#[test]
fn a_copy_is_spared_where_flash_was_told_and_the_page_is_not_written_yet() {
    for (scheme, route, spared, from_reads) in [
        (PLAIN, &[Write][..], 1, 0),
        (PLAIN, &[Read, Part], 1, 0),
        (PLAIN, &[Write, Evict], 0, 0),
        (PLAIN, &[Write, Trim], 0, 0),
        (PLAIN, &[Trim, Write], 0, 0),
        // Dropped, then overwritten: the drop counts.
        (PLAIN, &[Read, Gc, Write], 0, 0),
        (OVERWRITES, &[Write], 1, 0),
        (OVERWRITES, &[Read], 0, 0),
        (REMOVABLE, &[Write], 0, 0),
        (REMOVABLE, &[Read], 0, 0),
        (INVALIDATE, &[Read], 1, 1),
        (INVALIDATE, &[Write], 1, 0),
        (INVALIDATE, &[Read, Trim], 0, 1),
        (NO_COOPERATION, &[Write], 0, 0),
    ] {
        let mut scene = Scene::new(&setup(scheme));
        let before = scene.0.count("sole_copies.from_reads_pages");
        scene.arrange(route);
        let others = route.iter().map(|event| match event {
            Evict => 2,
            Gc => 1,
            _ => 0,
        });
        let others = if scheme == INVALIDATE { others.sum() } else { 0 };
        assert_eq!(
            scene.0.count("sole_copies.from_reads_pages") - before - others,
            from_reads,
            "{scheme} {route:?}"
        );
        scene.prepare(Gc);
        let spared_before = scene.0.count("gc_spared_pages");
        scene.apply(Gc);
        assert_eq!(scene.0.count("gc_spared_pages") - spared_before, spared, "{scheme} {route:?}");
    }
}

#[test]
fn without_cooperation_flash_keeps_what_it_holds() {
    check(&[COMMON, NONE].concat(), &setup(NO_COOPERATION));
}

#[test]
fn without_a_cache_all_schemes_are_the_same() {
    for scheme in [NO_COOPERATION, PLAIN, OVERWRITES, REMOVABLE, INVALIDATE] {
        check(UNCACHED, &setup(scheme).with_slots(0));
    }
}

#[test]
fn reads_and_writes_enter_the_cache_only_where_they_may() {
    let mut around = setup(PLAIN);
    around.cache.write_allocate = false;
    check(WRITE_AROUND, &around);
    let mut around = setup(PLAIN);
    around.cache.read_allocate = false;
    check(READ_AROUND, &around);
}

/// X was cached first; once it is used again, Y leaves before it.
#[test]
fn every_hit_is_a_use() {
    for hit in [Read, Write, Part] {
        let mut scene = Scene::new(&setup(PLAIN));
        scene.apply(Read);
        scene.0.read(Y).unwrap();
        scene.apply(hit);
        scene.0.read(Z).unwrap();
        let cached = [X, Y, Z].map(|page| scene.0.level.cache().lookup(page).is_some());
        assert_eq!(cached, [true, false, true], "{hit:?}");
    }
}

/// The tables are complete: all events in all states of every scheme.
#[test]
fn the_tables_are_complete() {
    for (table, states) in [
        ([COMMON, CDM].concat(), &[Nowhere, Flash, Clean, Sole, Orphan][..]),
        ([COMMON, NONE].concat(), &[Nowhere, Flash, Clean, Sole, Stale]),
        ([COMMON, &overwrites()].concat(), &[Nowhere, Flash, Clean, Sole]),
        ([COMMON, &removable()].concat(), &[Nowhere, Flash, Clean, Sole, Orphan, Stale]),
        (invalidate_on_cache(), &[Nowhere, Flash, Sole, Orphan]),
    ] {
        let mut rows: Vec<_> = table.iter().map(|row| format!("{:?} {:?}", row.0, row.1)).collect();
        let mut all = Vec::new();
        for state in states {
            all.extend(
                [Read, Write, Part, Trim, Flush, Evict, Gc].map(|event| format!("{state:?} {event:?}")),
            );
        }
        rows.sort();
        all.sort();
        assert_eq!(rows, all);
    }
}

/// Illegal states, forced past the cache: the invariants of each scheme refuse them.
#[test]
fn illegal_states_are_refused() {
    type Force = fn(&mut Checked<Device>);
    let mark: Force = |device| device.level.below_mut().set_mark(X, Memory::Device, true);
    let unmark: Force = |device| device.level.below_mut().set_mark(X, Memory::Device, false);
    let invalidate: Force = |device| device.level.below_mut().invalidate(X);
    let write: Force = |device| device.write_past_cache(X);
    for (scheme, route, force, problem) in [
        (PLAIN, &[][..], mark, "is removable, so it is cached"),
        (PLAIN, &[Write], write, "is cached dirty, so flash has no copy"),
        (PLAIN, &[Read], unmark, "is cached clean, so its flash copy is removable"),
        (PLAIN, &[Read], invalidate, "is cached clean, so its flash copy is removable"),
        (OVERWRITES, &[Read], mark, "is cached clean, so its flash copy is valid"),
        (OVERWRITES, &[Write], write, "is cached dirty, so flash has no copy"),
        (REMOVABLE, &[Read], unmark, "is cached clean, so its flash copy is removable"),
        (REMOVABLE, &[Write], mark, "is cached dirty, so its flash copy is not removable"),
        (INVALIDATE, &[Read], write, "is cached dirty, so flash has no copy"),
        (NO_COOPERATION, &[Read], mark, "flash knows nothing of the cache"),
        (NO_COOPERATION, &[Read], invalidate, "is cached clean, so mapped"),
    ] {
        let mut scene = Scene::new(&setup(scheme));
        scene.arrange(route);
        force(&mut scene.0);
        assert_refused(|| scene.0.assert_invariants(), problem);
    }
}
