//! ShadowGC's states as a table: every state of a flash page, every event, and the action of GC under each
//! scheme.

use crate::support::{Checked, Device, Operation, PastCache, Setup, W, X, Y, assert_refused};
use coflash_ftl::{FreeMark, FtlConfig, Marks, Trigger, WriteStream};
use coflash_level::{Cooperates, Message, Tower};
use coflash_media::{Cause, Memory, Mode};
use coflash_testing::Done;

/// The state of X's flash page, as the paper writes it: dirty in the device, dirty in the host, valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    S000,
    S001,
    S011,
    S101,
    S111,
}
use State::{S000, S001, S011, S101, S111};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    HostDirties,
    /// The host's copy goes to the device, or the host writes past its buffer: to the device it is the same.
    HostWrites,
    HostDrops,
    DeviceEvicts,
    Flush,
    Trim,
    Gc,
    Restart,
}
use Event::{DeviceEvicts, Flush, Gc, HostDirties, HostDrops, HostWrites, Restart, Trim};

/// Programs of X that an event costs, and how its data got there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    Nothing,
    /// From the buffer, because of an eviction or a flush.
    Written,
    /// By GC, from flash, into a normal block or fast into one for shadows.
    Copied,
    CopiedFast,
    /// By GC, from the buffer.
    Taken,
    TakenFast,
}
use Cost::{Copied, CopiedFast, Nothing, Taken, TakenFast, Written};

/// The schemes by their bits and actions: a column of the table for each line.
const SCHEMES: [&[&str]; 7] = [
    &["ggc"],
    &["separation", "delay", "zgc"],
    &["hgc"],
    &["dgc"],
    &["sgc"],
    &["hgc-dgc"],
    &["twin-discard"],
];

/// How the schemes of each column see a page in each state: without the bits that they do not keep.
const SEEN: [(State, [State; 7]); 5] = [
    (S000, [S000, S000, S000, S000, S000, S000, S000]),
    (S001, [S001, S001, S001, S001, S001, S001, S001]),
    (S011, [S001, S011, S011, S001, S011, S011, S011]),
    (S101, [S001, S001, S001, S101, S101, S101, S101]),
    (S111, [S001, S011, S011, S101, S111, S111, S111]),
];

/// Every event in every state: the next state as each column's schemes see it, and the cost. In S000
/// the page is nowhere. The device's buffer holds X in S101 and S111, and other events cannot happen: a page that is
/// not in the buffer is not evicted from it; without a flash page there is nothing for GC.
#[rustfmt::skip]
#[allow(clippy::type_complexity, reason = "it is a table")]
const TABLE: &[(State, Event, [(State, Cost); 7])] = &[
    //                     ggc                 separation, …       hgc                 dgc                 sgc                hgc-dgc             twin-discard
    (S000, HostDirties,   [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]), // a page without flash page has no state
    (S000, HostWrites,    [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]),
    (S000, HostDrops,     [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]),
    (S000, Flush,         [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]),
    (S000, Trim,          [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]),
    (S000, Restart,       [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]), // a trim is durable
    (S001, HostDirties,   [(S001, Nothing),    (S011, Nothing),    (S011, Nothing),    (S001, Nothing),    (S011, Nothing), (S011, Nothing),    (S011, Nothing)]),
    (S001, HostWrites,    [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S101, Nothing),    (S101, Nothing), (S101, Nothing),    (S101, Nothing)]),
    (S001, HostDrops,     [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing), (S001, Nothing),    (S001, Nothing)]),
    (S001, Flush,         [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing), (S001, Nothing),    (S001, Nothing)]),
    (S001, Trim,          [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]),
    (S001, Gc,            [(S001, Copied),     (S001, Copied),     (S001, Copied),     (S001, Copied),     (S001, Copied), (S001, Copied),     (S001, Copied)]),
    (S001, Restart,       [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing), (S001, Nothing),    (S001, Nothing)]),
    (S011, HostDirties,   [(S001, Nothing),    (S011, Nothing),    (S011, Nothing),    (S001, Nothing),    (S011, Nothing), (S011, Nothing),    (S011, Nothing)]),
    (S011, HostWrites,    [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S101, Nothing),    (S101, Nothing), (S101, Nothing),    (S101, Nothing)]),
    (S011, HostDrops,     [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing), (S001, Nothing),    (S001, Nothing)]),
    (S011, Flush,         [(S001, Nothing),    (S011, Nothing),    (S011, Nothing),    (S001, Nothing),    (S011, Nothing), (S011, Nothing),    (S011, Nothing)]),
    (S011, Trim,          [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]),
    (S011, Gc,            [(S001, Copied),     (S011, Copied),     (S011, CopiedFast), (S001, Copied),     (S011, CopiedFast), (S011, CopiedFast), (S011, Copied)]),
    (S011, Restart,       [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing), (S001, Nothing),    (S001, Nothing)]),
    (S101, HostDirties,   [(S001, Nothing),    (S011, Nothing),    (S011, Nothing),    (S101, Nothing),    (S111, Nothing), (S111, Nothing),    (S111, Nothing)]),
    (S101, HostWrites,    [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S101, Nothing),    (S101, Nothing), (S101, Nothing),    (S101, Nothing)]),
    (S101, HostDrops,     [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S101, Nothing),    (S101, Nothing), (S101, Nothing),    (S101, Nothing)]),
    (S101, DeviceEvicts,  [(S001, Written),    (S001, Written),    (S001, Written),    (S001, Written),    (S001, Written), (S001, Written),    (S001, Written)]),
    (S101, Flush,         [(S001, Written),    (S001, Written),    (S001, Written),    (S001, Written),    (S001, Written), (S001, Written),    (S001, Written)]),
    (S101, Trim,          [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]),
    (S101, Gc,            [(S001, Copied),     (S001, Copied),     (S001, Copied),     (S001, Taken),      (S001, Taken), (S001, Taken),      (S101, Copied)]),
    (S101, Restart,       [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing), (S001, Nothing),    (S001, Nothing)]),
    (S111, HostDirties,   [(S001, Nothing),    (S011, Nothing),    (S011, Nothing),    (S101, Nothing),    (S111, Nothing), (S111, Nothing),    (S111, Nothing)]),
    (S111, HostWrites,    [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S101, Nothing),    (S101, Nothing), (S101, Nothing),    (S101, Nothing)]),
    (S111, HostDrops,     [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S101, Nothing),    (S101, Nothing), (S101, Nothing),    (S101, Nothing)]),
    (S111, DeviceEvicts,  [(S001, Written),    (S011, Written),    (S011, Written),    (S001, Written),    (S011, Nothing), (S011, Written),    (S011, Nothing)]), // sgc discards it
    (S111, Flush,         [(S001, Written),    (S011, Written),    (S011, Written),    (S001, Written),    (S011, Written), (S011, Written),    (S011, Written)]), // a promise
    (S111, Trim,          [(S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing),    (S000, Nothing), (S000, Nothing),    (S000, Nothing)]),
    (S111, Gc,            [(S001, Copied),     (S011, Copied),     (S011, CopiedFast), (S001, Taken),      (S011, TakenFast), (S011, TakenFast),  (S111, Copied)]),
    (S111, Restart,       [(S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing),    (S001, Nothing), (S001, Nothing),    (S001, Nothing)]),
];

struct Scene {
    device: Checked<Device>,
    setup: Setup,
}

impl Scene {
    /// A device with X alone in its oldest block, in a state as seen by a scheme with all bits.
    fn new(scheme: &str, state: State) -> Self {
        let mut setup = Setup::oldest_first().with_slots(1).with_scheme(&format!("\"{scheme}\""));
        setup.ftl = FtlConfig::default();
        setup.gc.low_mark = FreeMark::Blocks(2);
        setup.gc.trigger = Trigger::Operation;
        setup.cache.volatile = true;
        setup.cache.read_allocate = false;
        let setup = setup.fit(5, 1);
        let media = setup.image().with_power_switch(setup.layout().words());
        let mut device = Checked::new(setup.device(), media, setup.geometry.dies());
        device.set_the_scene();
        let mut scene = Self { device, setup };
        let path: &[Event] = match state {
            S000 => &[Trim],
            S001 => &[],
            S011 => &[HostDirties],
            S101 => &[HostWrites],
            S111 => &[HostWrites, HostDirties],
        };
        path.iter().for_each(|&event| scene.apply(event));
        scene.device.media.log.clear();
        scene
    }

    fn state(&self) -> State {
        match self.device.flash().marks(X) {
            None => S000,
            Some(Marks { host: false, device: false }) => S001,
            Some(Marks { host: true, device: false }) => S011,
            Some(Marks { host: false, device: true }) => S101,
            Some(Marks { host: true, device: true }) => S111,
        }
    }

    fn apply(&mut self, event: Event) {
        let mut done = |operation| self.device.apply(operation).expect("flash is sound");
        match event {
            HostDirties => self.device.level.send(Message::Shadow(X, Memory::HostBuffer, true)),
            HostDrops => self.device.level.send(Message::Shadow(X, Memory::HostBuffer, false)),
            HostWrites => done(Operation::Write(X)),
            // The buffer has one slot.
            DeviceEvicts => done(Operation::Write(Y)),
            Flush => done(Operation::Flush),
            Trim => done(Operation::Trim(X)),
            Gc => self.collect(),
            Restart => self.device.restart(&self.setup).expect("it is volatile"),
        }
        self.device.assert_invariants();
    }

    /// Overwrites a filler past the cache until a read, without another effect, triggers GC; the oldest block
    /// is X's.
    fn collect(&mut self) {
        self.device.use_up_free_blocks(2);
        let before = self.device.flash().lookup(X);
        self.device.media.log.clear();
        self.device.read(W).expect("flash is sound");
        assert_ne!(self.device.flash().lookup(X), before, "GC came by");
    }

    fn cost(&self) -> Cost {
        let mut costs = self.device.media.log.iter().filter_map(|done| match *done {
            Done::Program(_, oob, cause) if oob.lpn == Some(X) => Some(match (cause, oob.mode) {
                (Cause::Gc, Mode::Normal) => Taken,
                (Cause::Gc, Mode::Fast) => TakenFast,
                _ => Written,
            }),
            Done::Copy(_, _, oob, _) if oob.lpn == Some(X) => {
                Some(if oob.mode == Mode::Fast { CopiedFast } else { Copied })
            }
            _ => None,
        });
        let cost = costs.next().unwrap_or(Nothing);
        assert_eq!(costs.next(), None, "X is programmed once at most");
        cost
    }
}

#[test]
fn every_event_in_every_state_under_every_scheme() {
    for &(state, event, expected) in TABLE {
        let (_, seen) = SEEN.iter().find(|row| row.0 == state).expect("a row for each state");
        for ((schemes, seen), expected) in SCHEMES.iter().zip(seen).zip(expected) {
            for scheme in *schemes {
                let mut scene = Scene::new(scheme, state);
                assert_eq!(scene.state(), *seen, "{scheme}: {state:?} as it sees it");
                scene.apply(event);
                assert_eq!((scene.state(), scene.cost()), expected, "{scheme}: {event:?} in {state:?}");
            }
        }
    }
    let possible = |state: State, event: Event| match event {
        Gc => state != S000,
        DeviceEvicts => matches!(state, S101 | S111),
        _ => true,
    };
    let events = [HostDirties, HostWrites, HostDrops, DeviceEvicts, Flush, Trim, Gc, Restart];
    for state in [S000, S001, S011, S101, S111] {
        for event in events {
            let rows = TABLE.iter().filter(|row| (row.0, row.1) == (state, event)).count();
            assert_eq!(rows, usize::from(possible(state, event)), "{state:?} {event:?}: rows in the table");
        }
    }
}

/// Pages that GC took from the buffer are clean there, and leave for nothing; the others are written, unless the
/// device may let go of it.
#[test]
fn an_eviction_after_gc_costs_what_gc_has_left_to_do() {
    for (schemes, written) in
        SCHEMES.iter().zip([[true, true], [true, true], [true, true], [false, false], [false, false]])
    {
        for scheme in *schemes {
            for (state, written) in [S101, S111].into_iter().zip(written) {
                let mut scene = Scene::new(scheme, state);
                scene.apply(Gc);
                scene.device.media.log.clear();
                scene.apply(DeviceEvicts);
                assert_eq!(scene.cost() == Written, written, "{scheme}: eviction after GC in {state:?}");
            }
        }
    }
}

#[test]
fn shadows_have_blocks_of_their_own_where_a_scheme_says_so() {
    let together = ["ggc", "delay", "dgc", "twin-discard", "cdm"].map(|scheme| (scheme, false));
    let apart = ["separation", "zgc", "hgc", "sgc", "hgc-dgc", "cdm-hgc"].map(|scheme| (scheme, true));
    for (scheme, apart) in together.into_iter().chain(apart) {
        let setup = Setup::oldest_first().with_slots(1).with_scheme(&format!("\"{scheme}\""));
        let flash = setup.fit(5, 1).flash();
        assert_eq!(!flash.share_blocks(WriteStream::Gc, WriteStream::Shadow), apart, "{scheme}");
    }
}

#[test]
fn illegal_states_are_refused() {
    for (scheme, state, memory, marked, problem) in [
        ("sgc", S001, Memory::Device, true, "device-shadow"),
        ("sgc", S101, Memory::Device, false, "device-shadow"),
        ("dgc", S001, Memory::HostBuffer, true, "host-shadow"),
    ] {
        let mut scene = Scene::new(scheme, state);
        let flash = scene.device.level.below_mut();
        flash.track_host();
        flash.set_mark(X, memory, marked);
        assert_refused(|| scene.device.assert_invariants(), problem);
    }
}

/// Invalid combinations are refused with the reason.
#[test]
fn volatile_and_durable_caches_have_their_schemes() {
    let refused = |scheme: &str, volatile| {
        let mut setup = Setup::tiny(16, 8).with_slots(1).with_scheme(scheme);
        setup.gc.low_mark = FreeMark::Blocks(2);
        setup.cache.volatile = volatile;
        Tower::erased(setup.stack_config()).err()
    };
    for scheme in ["none", "ggc", "separation", "delay", "zgc", "hgc", "dgc", "hgc-dgc"] {
        for volatile in [false, true] {
            assert_eq!(refused(&format!("\"{scheme}\""), volatile), None, "{scheme}, {volatile}");
        }
    }
    for (scheme, volatile) in
        [("cdm", true), ("cdm-consistent", true), ("sgc", false), ("twin-discard", false)]
    {
        assert_eq!(refused(&format!("\"{scheme}\""), !volatile), None, "{scheme}");
        let misfit = refused(&format!("\"{scheme}\""), volatile).expect("it is refused");
        assert!(misfit.key == "cache.volatile" && misfit.problem.contains(scheme), "{misfit}");
    }
    let misfit = refused(r#"{"name": "delay", "lambda": 16}"#, true).expect("it is refused");
    assert_eq!(misfit.to_string(), "cooperation.lambda: 16 was given; from 0 to 15 is allowed");
}
