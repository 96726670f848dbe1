//! The states of consistent CDM as a table (beside this file): every state of a page and every event, with the state
//! after it, everything that flash and the cache's memory were told, in order, and everything that was counted.

use crate::noted::Noted;
use crate::support::{
    COUNTERS, Checked, Device, Operation, Page, PastCache, Setup, Tapped, V, W, X, Y, Z, assert_refused,
    device_of, risen,
};
use coflash_base::measure::Report;
use coflash_base::{Duration, Lpn};
use coflash_ftl::{CopyAll, Io, Trigger};
use coflash_level::Tower;
use coflash_media::{Contents, Memory};
use coflash_testing::Image;

const SLOTS: u32 = 4;
const DELETIONS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nowhere,
    S0,
    S1,
    S2,
    S3,
    /// S3 of a page that is noted as absent: it was deleted before it was written.
    S3Absent,
    /// S3 because GC dropped the flash copy.
    Dropped,
    S4,
    S4S5,
    /// S4 + S5; S5 because GC dropped the flash copy.
    S4Dropped,
    /// Deleted, and the committed version is in flash.
    Deleted,
    /// Deleted, and the committed version is in a slot.
    Condemned,
}

use State::{Condemned, Deleted, Dropped, Nowhere, S0, S1, S2, S3, S3Absent, S4, S4Dropped, S4S5};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Read,
    /// A write of the whole page.
    Write,
    /// A write of a part of it.
    Part,
    Trim,
    /// A flush by the host: it commits.
    Flush,
    /// Time for a commit.
    Time,
    /// Reads of Y, Z and W, for which a cache of four slots makes room: X is checkpointed, or its S5.
    Press,
    /// Reads of V, too: X leaves.
    Leave,
    /// Writes of Y, Z and W, for which it cannot without a commit.
    Crowd,
    /// GC of the oldest block, where X lies if it is in flash, before a read of Y.
    Gc,
    /// A power cut, all that was stored being durable, and recovery.
    Crash,
}

use Event::{Crash, Crowd, Flush, Gc, Leave, Part, Press, Read, Time as Tick, Trim, Write};

const STATES: [State; 12] =
    [Nowhere, S0, S1, S2, S3, S3Absent, Dropped, S4, S4S5, S4Dropped, Deleted, Condemned];
const EVENTS: [Event; 11] = [Read, Write, Part, Trim, Flush, Tick, Press, Leave, Crowd, Gc, Crash];

/// Every way to bring X into `from`; none leaves another page in the cache.
fn routes(from: State) -> &'static [&'static [Event]] {
    match from {
        Nowhere => &[&[Trim, Flush], &[Read, Trim, Tick], &[Write, Trim, Flush], &[Trim, Flush, Crash]],
        S0 => &[&[], &[Read, Crash], &[Write, Crash], &[Trim, Crash]],
        S1 => &[&[Read]],
        S2 => &[&[Write], &[Part], &[Read, Write], &[Read, Part], &[Trim, Write], &[Trim, Part]],
        S3 => &[
            &[Write, Flush],
            &[Part, Tick],
            &[Read, Write, Flush],
            &[Write, Flush, Write, Flush],
            &[Write, Flush, Write, Crash],
            &[Write, Flush, Trim, Crash],
        ],
        S3Absent => &[&[Trim, Flush, Write, Flush], &[Trim, Tick, Part, Tick, Crash]],
        Dropped => &[&[Read, Gc]],
        S4 => &[&[Trim, Flush, Write], &[Trim, Flush, Part], &[Write, Trim, Flush, Write]],
        S4S5 => &[&[Write, Flush, Write], &[Write, Flush, Part], &[Write, Flush, Trim, Write]],
        S4Dropped => &[&[Read, Gc, Write], &[Read, Gc, Part], &[Read, Gc, Trim, Write]],
        Deleted => &[&[Trim], &[Read, Trim], &[Write, Trim], &[Trim, Write, Trim]],
        Condemned => {
            &[&[Write, Flush, Trim], &[Write, Flush, Write, Trim], &[Write, Flush, Trim, Write, Trim]]
        }
    }
}

/// A device, and the expected data of X after a crash.
struct Scene {
    setup: Setup,
    device: Checked<Device, Tapped<Image, Noted>>,
    committed: Page,
}

impl Scene {
    /// X lies in the first block, alone; Y, Z, W and V in later ones. No pool is low.
    fn new() -> Self {
        let scheme = format!(
            r#"{{"name": "cdm-consistent", "deletions_max": {DELETIONS}, "commit_interval": "1us"}}"#
        );
        let mut setup = Setup::oldest_first().with_slots(SLOTS).with_scheme(&scheme);
        setup.gc.trigger = Trigger::Operation;
        let media = Tapped { inner: setup.image(), tap: Noted::new(setup.layout()) };
        let mut device = Checked::new(setup.device(), media, setup.geometry.dies());
        device.set_the_scene();
        device.write_past_cache(V);
        Self { setup, committed: device.model[0], device }
    }

    fn report(&self) -> Report {
        self.device.report()
    }

    /// The requests that make an event happen that is not a request for X.
    fn prepare(&mut self, event: Event) {
        if event == Gc {
            self.device.use_up_free_blocks(1);
        }
    }

    fn apply(&mut self, event: Event) {
        let (commits, before) = (self.device.count("consistency.commits"), self.device.model[0]);
        let others = |operation: fn(Lpn) -> Operation| [Y, Z, W].map(operation).to_vec();
        let operations = match event {
            Read => vec![Operation::Read(X)],
            Write => vec![Operation::Write(X)],
            Part => vec![Operation::Part(X)],
            Trim => vec![Operation::Trim(X)],
            Flush => vec![Operation::Flush],
            Tick => vec![Operation::Wait(Duration { ns: 1000 })],
            Press => others(Operation::Read),
            Leave => [Y, Z, W, V].map(Operation::Read).to_vec(),
            Crowd => others(Operation::Write),
            Gc => vec![Operation::Read(Y)],
            Crash => return self.crash(),
        };
        for operation in operations {
            self.device.apply(operation).expect("flash is sound");
        }
        if self.device.count("consistency.commits") > commits {
            self.committed = before;
        }
        self.device.assert_invariants();
    }

    fn crash(&mut self) {
        let Tapped { inner, tap } = &mut self.device.rig.media;
        let contents = Contents { words: tap.words.clone(), ..inner.contents() };
        let io = &mut Io { media: &mut self.device.rig.media, hook: CopyAll, start: () };
        let recovered = Tower::recover(self.setup.stack_config(), &contents, io);
        self.device.rig.level = device_of(&recovered.expect("what this device wrote"));
        self.device.rig.now = coflash_base::Time::ZERO;
        self.device.model[0] = self.committed;
        self.device.assert_invariants();
    }

    fn arrange(&mut self, route: &[Event]) {
        for &event in route {
            self.prepare(event);
            if event == Gc {
                // Like the event, but with a page that no event uses; it is deleted again.
                for operation in [Operation::Read(V), Operation::Trim(V)] {
                    self.device.apply(operation).expect("flash is sound");
                }
                self.apply(Flush);
            } else {
                self.apply(event);
            }
        }
    }

    /// Where X is; every combination that is none of the scheme's states is refused.
    fn state(&self) -> State {
        let (cache, ftl, noted) = (self.device.level.cache(), self.device.flash(), &self.device.media.tap);
        let flags = |slot| (cache.is_dirty(slot), cache.is_pinned(slot), cache.is_orphan(slot));
        let older = cache.occupied().find(|&slot| cache.is_detached(slot) && cache.page_of(slot) == X);
        let (mapped, marked) = (ftl.lookup(X).is_some(), ftl.is_marked(X));
        let deleted = noted.is_deleted(X);
        match (mapped, marked, deleted, cache.lookup(X).map(flags), older.map(flags)) {
            (false, false, false, None, None) => Nowhere,
            (true, false, false, None, None) => S0,
            (true, true, false, Some((false, _, false)), None) => S1,
            (true, false, false, Some((true, true, false)), None) => S2,
            (false, false, false, Some((true, false, false)), None) => {
                let (word, bit) = noted.layout.absence(X);
                if noted.words[word as usize] & bit == 0 { S3 } else { S3Absent }
            }
            (false, false, false, Some((true, false, true)), None) => Dropped,
            (false, false, false, Some((true, true, false)), None) => S4,
            (false, false, false, Some((true, true, false)), Some((true, false, false))) => S4S5,
            (false, false, false, Some((true, true, false)), Some((true, false, true))) => S4Dropped,
            (true, false, true, None, None) => Deleted,
            (false, false, true, None, Some((true, true, _))) => Condemned,
            illegal => panic!("X is (mapped, marked, deleted, newest, older) = {illegal:?}"),
        }
    }
}

/// The result of an event, as a line of the table.
fn line(from: State, event: Event, route: &[Event]) -> String {
    let mut scene = Scene::new();
    scene.arrange(route);
    let row = format!("{from:?} (by {route:?}) {event:?}");
    assert_eq!(scene.state(), from, "{row}: the route");
    scene.prepare(event);
    scene.device.media.tap.log.clear();
    let before = scene.report();
    scene.apply(event);
    let happened = scene.device.media.tap.log.join(", ");
    // A restart sets the counters to zero.
    let counted = if event == Crash { String::new() } else { risen(COUNTERS, &before, &scene.report()) };
    let line = format!("{from:?} | {event:?} | {:?} | {happened} | {counted}", scene.state());
    for event in [Read, Crash, Read] {
        scene.apply(event);
    }
    line
}

#[test]
fn the_table_is_complete_and_followed() {
    let table = include_str!("consistent_states.txt");
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let all = STATES.into_iter().flat_map(|state| EVENTS.map(|event| (state, event)));
    let mut expected = rows.iter();
    for (from, event) in all {
        let expected = expected.next().map(|row| row.trim_end()).unwrap_or_default();
        for route in routes(from) {
            assert_eq!(line(from, event, route).trim_end(), expected, "{from:?} by {route:?}");
        }
    }
    assert_eq!(expected.next(), None);
}

/// Illegal states, forced past the cache: the invariants refuse them.
#[test]
fn illegal_states_are_refused() {
    type Force = fn(&mut Checked<Device, Tapped<Image, Noted>>);
    let mark: Force = |device| device.level.below_mut().set_mark(X, Memory::Device, true);
    let unmark: Force = |device| device.level.below_mut().set_mark(X, Memory::Device, false);
    let invalidate: Force = |device| device.level.below_mut().invalidate(X);
    let map: Force = |device| device.write_past_cache(X);
    for (route, force, problem) in [
        (&[][..], mark, "Lpn(0) is removable: cached clean"),
        (&[Read], unmark, "Lpn(0) in S1: mapped and marked"),
        (&[Read], invalidate, "Lpn(0) in S1: mapped and marked"),
        (&[Write], mark, "Lpn(0) in S2: not removable"),
        (&[Write, Flush], map, "Lpn(0) in S3: no flash copy"),
        (&[Read, Gc], map, "Lpn(0) in S3: no flash copy"),
        (&[Write, Flush, Write], map, "Lpn(0) in S5, or condemned: no flash copy"),
        (&[Write, Flush, Trim], map, "Lpn(0) in S5, or condemned: no flash copy"),
        (&[Trim], mark, "Lpn(0) is removable: cached clean"),
        (&[Trim], invalidate, "Lpn(0) is deleted: its committed version is in flash or condemned"),
        (&[Trim, Flush], map, "Lpn(0) is noted as absent, and mapped"),
    ] {
        let mut scene = Scene::new();
        scene.arrange(route);
        force(&mut scene.device);
        assert_refused(|| scene.device.assert_invariants(), problem);
    }
}
