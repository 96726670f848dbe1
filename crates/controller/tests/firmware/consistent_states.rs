//! The states of consistent CDM as a table (beside this file): every state of a page and every event, with the state
//! after it, everything that flash and the cache's memory were told, in order, and everything that was counted.

use crate::states::{counters, risen};
use crate::support::{
    PAGE_BYTES, Page, Setup, W, X, Y, Z, content, cooperation, lpn, set_the_scene, use_up_free_blocks,
    write_past_cache,
};
use coflash_base::{Duration, Lpn, Time};
use coflash_controller::nvm::{Epoch, Label, Layout};
use coflash_controller::{Controller, Extent};
use coflash_flash::image::Image;
use coflash_flash::{Access, BlockId, Cause, DieId, Media, Oob, Place, Ppn};
use coflash_ftl::Trigger;

/// A page that makes GC run and is deleted after that.
const V: Lpn = Lpn::new(7);

const SLOTS: u32 = 4;
const DELETIONS: u32 = 3;

/// Flash, slots and words of memory, and in words what was done to them.
struct Noted {
    image: Image,
    words: Vec<u64>,
    layout: Layout,
    log: Vec<String>,
}

fn name(page: Lpn) -> String {
    [(X, "X"), (Y, "Y"), (Z, "Z"), (W, "W"), (V, "V")]
        .into_iter()
        .find(|(known, _)| *known == page)
        .map_or_else(|| format!("{page:?}"), |(_, name)| name.to_owned())
}

impl Noted {
    fn label(&self, word: u32) -> Label {
        Label::decode(self.words[word as usize]).expect("a label")
    }

    fn committed(&self) -> Epoch {
        Epoch(self.words[0] as u32)
    }

    /// The page that a label names.
    fn page(&self, word: u32) -> String {
        match self.label(word) {
            Label::Free => "nothing".to_owned(),
            Label::Clean(page) | Label::Data(page, _) | Label::Deleted(page, _) => name(page),
        }
    }

    fn note(&mut self, what: &str, page: &str) {
        self.log.push(format!("{what} {page}"));
    }

    fn note_flash(&mut self, what: &str, page: Ppn) {
        let owner = self.image.owner(page).expect("a page of data");
        self.note(what, &name(owner));
    }

    fn is_deleted(&self, page: Lpn) -> bool {
        (0..self.layout.deletions).any(
            |entry| matches!(self.label(self.layout.deletion(entry)), Label::Deleted(of, _) if of == page),
        )
    }
}

impl Media for Noted {
    type When = ();

    fn read(&mut self, page: Ppn, to: Place, cause: Cause, (): ()) {
        self.note_flash("read", page);
        if let Place::Cache { slot } = to {
            let page = self.page(self.layout.slot(slot));
            self.note("data", &page);
        }
        self.image.read(page, to, cause, ());
    }

    fn program(&mut self, page: Ppn, oob: Oob, from: Place, cause: Cause, (): ()) {
        self.image.program(page, oob, from, cause, ());
        self.note_flash("program", page);
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, (): ()) {
        self.image.copy(from, to, oob, cause, ());
        self.note_flash("copy", to);
    }

    fn erase(&mut self, block: BlockId, cause: Cause, (): ()) {
        self.log.push("erase".to_owned());
        self.image.erase(block, cause, ());
    }

    fn access(&mut self, slot: u32, access: Access, (): ()) {
        if access != Access::Read {
            let page = self.page(self.layout.slot(slot));
            self.note("data", &page);
        }
        self.image.access(slot, access, ());
    }

    fn store(&mut self, word: u32, value: u64) {
        let layout = self.layout;
        let (first_deletion, first_absence) = (layout.deletion(0), layout.absence(lpn(0)).0);
        let before = self.page_before(word, first_absence);
        let old = std::mem::replace(&mut self.words[word as usize], value);
        if word == Layout::COMMITTED {
            assert_eq!(value, old + 1, "one epoch after the other");
            self.log.push("commit".to_owned());
        } else if word >= first_absence {
            for bit in (0..64).filter(|bit| (old ^ value) >> bit & 1 == 1) {
                let what = if value >> bit & 1 == 1 { "absent" } else { "present" };
                self.note(what, &name(lpn((word - first_absence) * 64 + bit)));
            }
        } else {
            let (page, committed) = (self.page(word), self.committed());
            match self.label(word) {
                Label::Free if word < first_deletion => self.note("free", &before),
                Label::Free => self.note("forget", &before),
                Label::Clean(_) => self.note("clean", &page),
                Label::Data(_, epoch) if epoch <= committed => self.note("committed", &page),
                Label::Data(_, epoch) => {
                    assert_eq!(epoch, committed.next(), "the epoch to be committed next");
                    self.note("uncommitted", &page);
                }
                Label::Deleted(_, epoch) => {
                    assert_eq!(epoch, committed.next(), "the epoch to be committed next");
                    self.note("delete", &page);
                }
            }
        }
    }

    fn fence(&mut self) {
        self.log.push("fence".to_owned());
    }

    fn later(&self, (): (), _: Duration) {}

    fn both(&mut self, (): (), (): ()) {}

    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}

impl Noted {
    fn page_before(&self, word: u32, first_absence: u32) -> String {
        if word == 0 || word >= first_absence { String::new() } else { self.page(word) }
    }
}

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
    /// S4 + S5, the latter because GC dropped the flash copy.
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
    /// The host's, which commits.
    Flush,
    /// Time for a commit.
    Time,
    /// Reads of Y, Z and W, which a cache of four slots makes room for: X leaves, or its S5.
    Press,
    /// Writes of Y, Z and W, for which it cannot without a commit.
    Crowd,
    /// GC of the oldest block, where X lies if it is in flash, before a read of Y.
    Gc,
    /// A power cut, all that was stored being durable, and recovery.
    Crash,
}

use Event::{Crash, Crowd, Flush, Gc, Part, Press, Read, Time as Tick, Trim, Write};

const STATES: [State; 12] =
    [Nowhere, S0, S1, S2, S3, S3Absent, Dropped, S4, S4S5, S4Dropped, Deleted, Condemned];
const EVENTS: [Event; 10] = [Read, Write, Part, Trim, Flush, Tick, Press, Crowd, Gc, Crash];

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

/// A device, what X should read as, and what it should read as after a crash.
struct Scene {
    setup: Setup,
    controller: Controller,
    media: Noted,
    expected: Page,
    committed: Page,
    clock: u64,
}

impl Scene {
    /// X lies in the first block, alone; Y, Z, W and V in later ones. No pool is low.
    fn new() -> Self {
        let scheme = format!(
            r#"{{"name": "cdm-consistent", "deletions_max": {DELETIONS}, "commit_interval": "1us"}}"#
        );
        let mut setup = Setup::oldest_first().with_slots(SLOTS).with_cooperation(&cooperation(&scheme));
        setup.gc.trigger = Trigger::Operation;
        let mut controller = setup.controller();
        let layout =
            Layout { slots: SLOTS, deletions: DELETIONS, logical_pages: controller.ftl().logical_pages() };
        let mut media = Noted {
            image: Image::new(&setup.geometry, SLOTS),
            words: vec![0; layout.words() as usize],
            layout,
            log: Vec::new(),
        };
        let mut write = |page: Lpn| {
            media.image.host_writes(0, &content(100 + u64::from(page.get())));
            write_past_cache(&mut controller, page, &mut media, ());
        };
        set_the_scene(&mut write);
        write(V);
        Self { setup, controller, media, expected: content(100), committed: content(100), clock: 0 }
    }

    fn read(&mut self, page: Lpn) -> Page {
        self.media.image.host_writes(0, &[0; PAGE_BYTES]);
        self.controller.read(page, (), &mut self.media);
        self.media.image.host_reads().try_into().expect("a page")
    }

    fn write(&mut self, page: Lpn, stamp: u64) {
        self.media.image.host_writes(0, &content(stamp));
        self.controller.write(page, Extent::Whole, (), &mut self.media);
    }

    /// What it takes for an event to happen that is not a request for X.
    fn prepare(&mut self, event: Event) {
        if event == Gc {
            use_up_free_blocks(&mut self.controller, &mut self.media);
        }
    }

    fn apply(&mut self, event: Event) {
        let commits = self.controller.commits().expect("a scheme that commits").commits;
        let before = self.expected;
        match event {
            Read => assert_eq!(self.read(X), self.expected),
            Write => {
                self.write(X, 7);
                self.expected = content(7);
            }
            Part => {
                self.media.image.host_writes(2, &content(8)[2..5]);
                self.controller.write(X, Extent::Part, (), &mut self.media);
                self.expected[2..5].copy_from_slice(&content(8)[2..5]);
            }
            Trim => {
                self.controller.trim(X, &mut self.media);
                self.expected = [0; PAGE_BYTES];
            }
            Flush => self.controller.flush((), &mut self.media, &mut Vec::new()),
            Tick => {
                self.clock += 1000;
                self.controller.pass_time(Time { ns: self.clock }, (), &mut self.media);
            }
            Press => [Y, Z, W].into_iter().for_each(|page| assert_ne!(self.read(page), [0; PAGE_BYTES])),
            Crowd => [Y, Z, W].into_iter().for_each(|page| self.write(page, 9)),
            Gc => assert_ne!(self.read(Y), [0; PAGE_BYTES]),
            Crash => self.crash(),
        }
        if event != Crash && self.controller.commits().expect("a scheme that commits").commits > commits {
            self.committed = before;
        }
        self.controller.assert_invariants();
    }

    fn crash(&mut self) {
        let Setup { geometry, ftl, gc, cache, cooperation, seed } = &self.setup;
        let words = self.media.words.clone();
        let pages: Vec<_> = self.media.image.oob().map(|(page, oob)| (page, Some(oob))).collect();
        let pages = pages.into_iter();
        self.controller = Controller::recover(
            geometry,
            ftl,
            gc,
            cache,
            cooperation,
            *seed,
            &words,
            pages,
            (),
            &mut self.media,
        )
        .expect("what this device wrote");
        self.expected = self.committed;
        self.clock = 0;
    }

    fn arrange(&mut self, route: &[Event]) {
        for &event in route {
            self.prepare(event);
            if event == Gc {
                // As the event, but with a page that no event uses, which is deleted again.
                self.read(V);
                self.controller.trim(V, &mut self.media);
                self.apply(Flush);
            } else {
                self.apply(event);
            }
        }
    }

    /// Where X is; every combination that is none of the scheme's states is refused.
    fn state(&self) -> State {
        let (cache, ftl) = (self.controller.cache(), self.controller.ftl());
        let flags = |slot| (cache.is_dirty(slot), cache.is_pinned(slot), cache.is_orphan(slot));
        let older = cache.occupied().find(|&slot| cache.is_detached(slot) && cache.page_of(slot) == X);
        let (mapped, marked) = (ftl.lookup(X).is_some(), ftl.is_marked(X));
        let deleted = self.media.is_deleted(X);
        match (mapped, marked, deleted, cache.lookup(X).map(flags), older.map(flags)) {
            (false, false, false, None, None) => Nowhere,
            (true, false, false, None, None) => S0,
            (true, true, false, Some((false, false, false)), None) => S1,
            (true, false, false, Some((true, true, false)), None) => S2,
            (false, false, false, Some((true, false, false)), None) => {
                let (word, bit) = self.media.layout.absence(X);
                if self.media.words[word as usize] & bit == 0 { S3 } else { S3Absent }
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

    fn counters(&self) -> [(&'static str, u64); 20] {
        let commits = self.controller.commits().expect("a scheme that commits");
        let mut all = [("", 0); 20];
        all[..16].copy_from_slice(&counters(&self.controller));
        all[16..].copy_from_slice(&[
            ("commits", commits.commits),
            ("early_commits", commits.early_commits),
            ("checkpoints", commits.checkpoints_pages),
            ("copies_on_write", commits.copies_on_write_pages),
        ]);
        all
    }
}

/// What happens, as a line of the table.
fn line(from: State, event: Event, route: &[Event]) -> String {
    let mut scene = Scene::new();
    scene.arrange(route);
    let row = format!("{from:?} (by {route:?}) {event:?}");
    assert_eq!(scene.state(), from, "{row}: the route");
    scene.prepare(event);
    scene.media.log.clear();
    let before = scene.counters();
    scene.apply(event);
    let happened = scene.media.log.join(", ");
    // A device that comes back counts anew.
    let counted = if event == Crash { String::new() } else { risen(before, scene.counters()) };
    let line = format!("{from:?} | {event:?} | {:?} | {happened} | {counted}", scene.state());
    assert_eq!(scene.read(X), scene.expected, "{row}: data");
    scene.apply(Crash);
    assert_eq!(scene.read(X), scene.committed, "{row}: data after a crash");
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

/// Illegal states, forced past the controller: the invariants refuse them.
mod illegal {
    use super::*;

    fn forced(route: &[Event], force: impl Fn(&mut Controller, &mut Noted)) {
        let mut scene = Scene::new();
        scene.arrange(route);
        force(&mut scene.controller, &mut scene.media);
        scene.controller.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "Lpn(0) is removable: cached clean")]
    fn s0_marked() {
        forced(&[], |controller, _| controller.ftl_mut().mark(X));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) in S1: mapped and marked")]
    fn s1_not_marked() {
        forced(&[Read], |controller, _| controller.ftl_mut().unmark(X));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) in S1: mapped and marked")]
    fn s1_not_mapped() {
        forced(&[Read], |controller, _| controller.ftl_mut().invalidate(X));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) in S2: not removable")]
    fn s2_marked() {
        forced(&[Write], |controller, _| controller.ftl_mut().mark(X));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) in S3: no flash copy")]
    fn s3_mapped() {
        forced(&[Write, Flush], |controller, media| write_past_cache(controller, X, media, ()));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) in S3: no flash copy")]
    fn dropped_and_mapped() {
        forced(&[Read, Gc], |controller, media| write_past_cache(controller, X, media, ()));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) in S5, or condemned: no flash copy")]
    fn s4_and_s5_mapped() {
        forced(&[Write, Flush, Write], |controller, media| write_past_cache(controller, X, media, ()));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) in S5, or condemned: no flash copy")]
    fn condemned_and_mapped() {
        forced(&[Write, Flush, Trim], |controller, media| write_past_cache(controller, X, media, ()));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) is removable: cached clean")]
    fn deleted_and_marked() {
        forced(&[Trim], |controller, _| controller.ftl_mut().mark(X));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) is deleted: its committed version is in flash or condemned")]
    fn deleted_and_nowhere() {
        forced(&[Trim], |controller, _| controller.ftl_mut().invalidate(X));
    }

    #[test]
    #[should_panic(expected = "Lpn(0) is noted as absent, and mapped")]
    fn absent_and_mapped() {
        forced(&[Trim, Flush], |controller, media| write_past_cache(controller, X, media, ()));
    }
}
