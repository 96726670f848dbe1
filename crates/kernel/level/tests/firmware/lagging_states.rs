//! The states of a cached page with a lagging device: every state of a page on both sides and every event,
//! with the next state and the questions, copies and writes on the way.
//!
//! Notices wait until they are released, so each row is the result before the device, or the host, has
//! received them.

use crate::support::{Checked, Counters, Look, Operation, PastCache, Setup, Stack, V, W, X, Y, Z, risen};
use coflash_base::{Duration, Lpn, Share};
use coflash_ftl::Trigger;
use coflash_level::{Notices, Protecting};
use std::num::NonZeroU32;

/// The state of a page in the host, and its state in the device.
type State = (Host, Flash);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    No,
    Clean,
    Dirty,
    /// Dirty because GC dropped the flash copy.
    Orphan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flash {
    Unmapped,
    Valid,
    Marked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Read,
    Write,
    Trim,
    /// Reads of Y and Z, for which the cache of two slots has to evict X.
    Evict,
    /// GC of the oldest block, where X lies if it is in flash, before a read of Y.
    Gc,
    /// Every notice arrives.
    Arrive,
}

use Event::{Arrive, Evict, Gc, Read, Trim, Write};
use Flash::{Marked, Unmapped, Valid};
use Host::{Clean, Dirty, No, Orphan};

type Row = (State, Event, State, &'static str);

/// The part that is the same however pages are protected.
const BOTH: &[Row] = &[
    ((No, Unmapped), Read, (No, Unmapped), ""),
    ((No, Unmapped), Write, (Dirty, Unmapped), ""),
    ((No, Unmapped), Trim, (No, Unmapped), ""),
    ((No, Unmapped), Evict, (No, Unmapped), ""),
    ((No, Unmapped), Gc, (No, Unmapped), ""),
    ((No, Unmapped), Arrive, (No, Unmapped), ""),
    ((No, Valid), Read, (Clean, Valid), ""),
    ((No, Valid), Write, (Dirty, Valid), ""),
    ((No, Valid), Trim, (No, Unmapped), ""),
    ((No, Valid), Evict, (No, Valid), ""),
    ((No, Valid), Gc, (No, Valid), "copied"),
    ((No, Valid), Arrive, (No, Valid), ""),
    // Cached, and the device has not heard.
    ((Clean, Valid), Read, (Clean, Valid), ""),
    ((Clean, Valid), Write, (Dirty, Valid), "withdrawn"),
    ((Clean, Valid), Trim, (No, Unmapped), "withdrawn"),
    ((Clean, Valid), Evict, (No, Valid), "withdrawn"),
    ((Clean, Valid), Gc, (Clean, Valid), "copied"),
    ((Clean, Valid), Arrive, (Clean, Marked), ""),
    ((Clean, Marked), Read, (Clean, Marked), ""),
    ((Clean, Marked), Write, (Dirty, Marked), ""),
    ((Clean, Marked), Trim, (No, Unmapped), ""),
    ((Clean, Marked), Arrive, (Clean, Marked), ""),
    // Dirtied, and the device has not heard.
    ((Dirty, Valid), Read, (Dirty, Valid), ""),
    ((Dirty, Valid), Write, (Dirty, Valid), ""),
    ((Dirty, Valid), Trim, (No, Unmapped), "withdrawn"),
    ((Dirty, Valid), Evict, (No, Valid), "withdrawn written"),
    ((Dirty, Valid), Gc, (Dirty, Valid), "copied"),
    ((Dirty, Valid), Arrive, (Dirty, Unmapped), ""),
    ((Dirty, Marked), Read, (Dirty, Marked), ""),
    ((Dirty, Marked), Write, (Dirty, Marked), ""),
    ((Dirty, Marked), Trim, (No, Unmapped), "withdrawn"),
    ((Dirty, Marked), Evict, (No, Valid), "withdrawn written"),
    ((Dirty, Marked), Arrive, (Dirty, Unmapped), ""),
    ((Dirty, Unmapped), Read, (Dirty, Unmapped), ""),
    ((Dirty, Unmapped), Write, (Dirty, Unmapped), ""),
    ((Dirty, Unmapped), Trim, (No, Unmapped), ""),
    ((Dirty, Unmapped), Evict, (No, Valid), "written"),
    ((Dirty, Unmapped), Gc, (Dirty, Unmapped), ""),
    ((Dirty, Unmapped), Arrive, (Dirty, Unmapped), ""),
    ((Orphan, Unmapped), Read, (Orphan, Unmapped), ""),
    ((Orphan, Unmapped), Write, (Dirty, Unmapped), ""),
    ((Orphan, Unmapped), Trim, (No, Unmapped), ""),
    ((Orphan, Unmapped), Evict, (No, Valid), "written"),
    ((Orphan, Unmapped), Arrive, (Orphan, Unmapped), ""),
];

const REQUEST: &[Row] = &[
    ((Clean, Marked), Evict, (No, Marked), ""),
    ((Clean, Marked), Gc, (Orphan, Unmapped), "asked dropped"),
    ((Dirty, Marked), Gc, (Dirty, Unmapped), "asked obsolete withdrawn dropped"),
    // Evicted, and the device has not heard: its mark is out of date.
    ((No, Marked), Read, (Clean, Marked), ""),
    ((No, Marked), Write, (Dirty, Marked), ""),
    ((No, Marked), Trim, (No, Unmapped), ""),
    ((No, Marked), Evict, (No, Marked), ""),
    ((No, Marked), Gc, (No, Valid), "asked refused copied"),
    ((No, Marked), Arrive, (No, Valid), ""),
];

const GRANTS: &[Row] = &[
    ((Clean, Marked), Evict, (No, Valid), "revoked"),
    ((Clean, Marked), Gc, (Clean, Unmapped), "dropped"),
    ((Dirty, Marked), Gc, (Dirty, Unmapped), "dropped"),
    // Dropped, and the host has not heard.
    ((Clean, Unmapped), Read, (Clean, Unmapped), ""),
    ((Clean, Unmapped), Write, (Dirty, Unmapped), ""),
    ((Clean, Unmapped), Trim, (No, Unmapped), ""),
    ((Clean, Unmapped), Evict, (No, Valid), "revoked too-late written"),
    ((Clean, Unmapped), Arrive, (Orphan, Unmapped), ""),
];

/// How X comes into a state.
fn route((host, flash): State, protecting: Protecting) -> &'static [Event] {
    match (host, flash) {
        (No, Unmapped) => &[Trim],
        (No, Valid) => &[],
        (No, Marked) => &[Read, Arrive, Evict],
        (Clean, Valid) => &[Read],
        (Clean, Marked) => &[Read, Arrive],
        (Clean, Unmapped) => &[Read, Arrive, Gc],
        (Dirty, Valid) => &[Write],
        (Dirty, Marked) => &[Read, Arrive, Write],
        (Dirty, Unmapped) => &[Write, Arrive],
        (Orphan, _) if protecting == Protecting::default() => &[Read, Arrive, Gc],
        (Orphan, _) => &[Read, Arrive, Gc, Arrive],
    }
}

/// How long a notice waits for others, unless time is passed.
const PATIENCE: Duration = Duration { ns: 1_000_000_000 };

struct Scene(Checked<Stack>);

impl Scene {
    /// X lies in the first block, alone with invalid pages; the others in later ones. No pool is low.
    fn new(protecting: Protecting) -> Self {
        let mut setup = Setup::oldest_first().with_slots(2).in_host().with_scheme("\"cdm\"");
        setup.gc.trigger = Trigger::Operation;
        setup.host.notices = Notices::Batched { max: NonZeroU32::MAX, wait: PATIENCE };
        setup.host.protecting = protecting;
        let mut stack = Checked::stack(&setup);
        stack.set_the_scene();
        stack.write_past_cache(V);
        Self(stack)
    }

    /// The requests that make GC happen.
    fn prepare(&mut self, event: Event) {
        if event == Gc {
            self.0.use_up_free_blocks(1);
        }
    }

    fn done(&mut self, operations: &[Operation]) {
        operations.iter().for_each(|&operation| self.0.apply(operation).expect("flash is sound"));
        self.0.assert_nothing_is_lost();
        self.0.assert_invariants();
    }

    fn apply(&mut self, event: Event) {
        self.done(match event {
            Read => &[Operation::Read(X)],
            Write => &[Operation::Write(X)],
            Trim => &[Operation::Trim(X)],
            Evict => &[Operation::Read(Y), Operation::Read(Z)],
            Gc => &[Operation::Read(Y)],
            // There, and whatever comes of it.
            Arrive => &[Operation::Wait(Duration { ns: 2 * PATIENCE.ns }); 3],
        });
    }

    /// As the events, but with pages that no event uses and that leave their slots again.
    fn arrange(&mut self, route: &[Event]) {
        for &event in route {
            self.prepare(event);
            let others: &[Lpn] = match event {
                Evict => &[W, V],
                Gc => &[W],
                _ => &[],
            };
            if others.is_empty() {
                self.apply(event);
            }
            others.iter().for_each(|&page| self.done(&[Operation::Read(page)]));
            others.iter().for_each(|&page| self.done(&[Operation::Trim(page)]));
        }
    }

    fn state(&self) -> State {
        let [(_, cache)] = self.0.level.caches()[..] else { panic!("there is one cache") };
        let host = match cache.lookup(X) {
            None => No,
            Some(slot) if cache.is_orphan(slot) => Orphan,
            Some(slot) if cache.is_dirty(slot) => Dirty,
            Some(_) => Clean,
        };
        let flash = match self.0.flash().lookup(X) {
            None => Unmapped,
            Some(_) if self.0.flash().is_marked(X) => Marked,
            Some(_) => Valid,
        };
        (host, flash)
    }
}

const COUNTED: &Counters = &[
    ("asked", "host.protect.pages"),
    ("refused", "host.protect.refused_pages"),
    ("obsolete", "host.protect_obsolete_pages"),
    ("revoked", "host.revoke.pages"),
    ("too-late", "host.revoke.refused_pages"),
    ("withdrawn", "host.to_device.withdrawn"),
    ("written", "programs_pages.evict"),
    ("copied", "programs_pages.gc"),
    ("dropped", "gc_drops_pages"),
];

fn check(rows: &[Row], protecting: Protecting) {
    for &(from, event, to, counted) in rows {
        let what = format!("{protecting:?}: {from:?}, {event:?}");
        let mut scene = Scene::new(protecting);
        scene.arrange(route(from, protecting));
        assert_eq!(scene.state(), from, "{what}: the state before");
        scene.prepare(event);
        let before = scene.0.report();
        scene.apply(event);
        assert_eq!(scene.state(), to, "{what}: the state after");
        assert_eq!(risen(COUNTED, &before, &scene.0.report()), counted, "{what}: counters");
        scene.apply(Arrive);
        scene.0.assert_as_in_one_device();
    }
}

#[test]
fn states_under_request() {
    check(&[BOTH, REQUEST].concat(), Protecting::default());
}

#[test]
fn states_under_grants() {
    check(&[BOTH, GRANTS].concat(), Protecting::Grants { share: Share::ONE });
}

#[test]
fn what_was_not_said_is_not_taken_back() {
    for (route, evicted, withdrawn) in [(&[Read, Evict][..], 0, 1), (&[Read, Arrive, Evict], 1, 0)] {
        let mut scene = Scene::new(Protecting::default());
        route.iter().chain(&[Arrive]).for_each(|&event| scene.apply(event));
        let counts = ["host.notices.evicted", "host.to_device.withdrawn"].map(|path| scene.0.count(path));
        assert_eq!(counts, [evicted, withdrawn], "{route:?}");
    }
}

/// No pair of state and event is missing. The block of an orphan is gone, so GC of it is GC of another page.
#[test]
fn the_tables_are_whole() {
    for (rows, states) in [(REQUEST, 9), (GRANTS, 9)] {
        let rows = || BOTH.iter().chain(rows).map(|row| (row.0, row.1));
        let mut from: Vec<State> = rows().map(|row| row.0).collect();
        from.dedup();
        from.sort_by_key(|state| format!("{state:?}"));
        from.dedup();
        assert_eq!(from.len(), states, "{from:?}");
        for state in from {
            for event in [Read, Write, Trim, Evict, Gc, Arrive] {
                let given = rows().filter(|&row| row == (state, event)).count();
                let gone = event == Gc && matches!(state, (Orphan | Clean, Unmapped));
                assert_eq!(given, usize::from(!gone), "{state:?}, {event:?}");
            }
        }
    }
}
