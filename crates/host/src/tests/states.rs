//! The states of a cached page with a device that lags behind: every state of a page on both sides and every event, with the state after it,
//! and what was asked, copied and written on the way.
//!
//! Notices wait until they are let go, so each row is what happens before the device, or the host, has heard.

use super::support::{Operation, PAGE_BYTES, Setup, Subject};
use crate::{Notices, Protecting};
use coflash_base::{Duration, Lpn, Share};
use coflash_flash::Cause;
use coflash_ftl::{FreeMark, Stream, Trigger, VictimConfig};
use std::num::NonZeroU32;

/// What the host has of a page, and what the device has.
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

/// What is the same however pages are protected.
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
        (Orphan, _) if protecting == Protecting::Request => &[Read, Arrive, Gc],
        (Orphan, _) => &[Read, Arrive, Gc, Arrive],
    }
}

/// The page that stories are told of, pages that are overwritten to get on, and pages that help.
const X: Lpn = Lpn::new(0);
const FILLERS: [Lpn; 3] = [Lpn::new(1), Lpn::new(2), Lpn::new(3)];
const Y: Lpn = Lpn::new(4);
const Z: Lpn = Lpn::new(5);
const W: Lpn = Lpn::new(6);
const V: Lpn = Lpn::new(7);

struct Scene(Subject);

impl Scene {
    /// X lies in the first block, alone with invalid pages; the others in later ones. No pool is low. It is known which
    /// block goes when: there is one open block, and the oldest one is cleaned first.
    fn new(protecting: Protecting) -> Self {
        let mut setup = Setup::tiny(9, 4, 2);
        setup.ftl.shared_streams = vec![vec![Stream::Host, Stream::Evict, Stream::Gc]];
        setup.gc.victim = VictimConfig::by_name("fifo").expect("a policy");
        setup.gc.trigger = Trigger::Operation;
        setup.host.notices = Notices::Batched;
        setup.host.batch_max = NonZeroU32::MAX;
        setup.host.batch_wait = Duration { ns: u64::MAX };
        setup.host.protecting = protecting;
        setup.host.grants = Share::ONE;
        let mut subject = Subject::new(&setup);
        let [f, g, h] = FILLERS;
        for page in [X, f, g, h, f, g, h, Y, Z, W, V, f] {
            subject.write_past_cache(page, u64::from(page.get()));
        }
        Self(subject)
    }

    /// What it takes for GC to happen.
    fn prepare(&mut self, event: Event) {
        let mut fillers = FILLERS.iter().cycle();
        while event == Gc && !self.0.host.remote().ftl().pools_have_at_most(FreeMark::Blocks(1)) {
            self.0.write_past_cache(*fillers.next().expect("a cycle"), 50);
        }
    }

    fn read(&mut self, page: Lpn) {
        self.0.apply(&Operation::Read(page));
    }

    fn apply(&mut self, event: Event) {
        match event {
            Read => self.read(X),
            Write => self.0.apply(&Operation::Write(X, 0..PAGE_BYTES, 77)),
            Trim => self.0.apply(&Operation::Trim(X)),
            Evict => [Y, Z].into_iter().for_each(|page| self.read(page)),
            Gc => self.read(Y),
            Arrive => self.0.settle(),
        }
        self.0.assert_nothing_is_lost();
        self.0.host.assert_invariants();
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
            others.iter().for_each(|&page| self.read(page));
            others.iter().for_each(|&page| self.0.apply(&Operation::Trim(page)));
        }
    }

    fn state(&self) -> State {
        let (cache, ftl) = (self.0.host.cache(), self.0.host.remote().ftl());
        let host = match cache.lookup(X) {
            None => No,
            Some(slot) if cache.is_orphan(slot) => Orphan,
            Some(slot) if cache.is_dirty(slot) => Dirty,
            Some(_) => Clean,
        };
        let flash = match ftl.lookup(X) {
            None => Unmapped,
            Some(_) if ftl.is_marked(X) => Marked,
            Some(_) => Valid,
        };
        (host, flash)
    }

    /// Counters, by name.
    fn counters(&self) -> [(&'static str, u64); 9] {
        let remote = self.0.host.remote();
        let (tally, flash) = (remote.tally(), remote.ftl().tally());
        [
            ("asked", tally.protect.pages),
            ("refused", tally.protect.refused),
            ("obsolete", tally.protect_obsolete_pages),
            ("revoked", tally.revoke.pages),
            ("too-late", tally.revoke.refused),
            ("withdrawn", remote.to_device().withdrawn),
            ("written", flash.programs_for(Cause::Evict)),
            ("copied", flash.programs_for(Cause::Gc)),
            ("dropped", flash.gc_drops_pages),
        ]
    }
}

fn check(rows: &[Row], protecting: Protecting) {
    for &(from, event, to, counted) in rows {
        let what = format!("{protecting:?}: {from:?}, {event:?}");
        let mut scene = Scene::new(protecting);
        scene.arrange(route(from, protecting));
        assert_eq!(scene.state(), from, "{what}: the state before");
        scene.prepare(event);
        let before = scene.counters();
        scene.apply(event);
        assert_eq!(scene.state(), to, "{what}: the state after");
        let rose = std::iter::zip(before, scene.counters()).filter(|(before, after)| after.1 > before.1);
        let rose: Vec<_> = rose.map(|(_, (name, _))| name).collect();
        assert_eq!(rose.join(" "), counted, "{what}: what was counted");
        scene.0.settle();
        scene.0.assert_nothing_is_lost();
        scene.0.host.assert_as_in_one_device();
    }
}

#[test]
fn states_under_request() {
    check(BOTH, Protecting::Request);
    check(REQUEST, Protecting::Request);
}

#[test]
fn states_under_grants() {
    check(BOTH, Protecting::Grants);
    check(GRANTS, Protecting::Grants);
}

#[test]
fn what_was_not_said_is_not_taken_back() {
    for (route, evicted, withdrawn) in [(&[Read, Evict][..], 0, 1), (&[Read, Arrive, Evict], 1, 0)] {
        let mut scene = Scene::new(Protecting::Request);
        route.iter().for_each(|&event| scene.apply(event));
        scene.0.settle();
        let remote = scene.0.host.remote();
        assert_eq!(
            (remote.tally().notices.evicted, remote.to_device().withdrawn),
            (evicted, withdrawn),
            "{route:?}"
        );
    }
}

/// No pair of state and event is missing; GC of an orphan's block, which is gone, is that of another page.
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
