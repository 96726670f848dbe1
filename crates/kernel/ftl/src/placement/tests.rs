//! Tests of the contract of every registered policy, in any state.

use super::{
    CLASSES_MAX, Class, Classes, Cleaned, GcWrite, Isolation, Placed, Placement, PlacementConfig, Shape,
    UserWrite,
};
use crate::groups::Groups;
use crate::placement::FdpConfig;
use crate::requirements::Requirements;
use crate::stream::WriteStream;
use coflash_base::Save;
use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{IdVec, Lpn, PlacementId, Share};

const PAGES: u32 = 200;

fn shape() -> Shape {
    let groups = Groups::new(&Vec::new(), Requirements::NONE).expect("streams");
    Shape { pages: PAGES, pages_per_block: 8, pools: 1, blocks: 30, free_blocks: 2, groups }
}

/// A block that was opened at the beginning.
fn placed(class: Class) -> Placed {
    Placed { class, opened_at: 0 }
}

/// A policy, and the class of each page's block.
#[derive(Clone)]
struct Checked {
    classes: Classes,
    placement: Placement,
    class: IdVec<Lpn, Option<Class>>,
    now: u64,
}

impl Checked {
    fn new(config: &PlacementConfig) -> Self {
        Self {
            classes: config.classes().expect("the defaults are allowed"),
            placement: config.build(shape()),
            class: IdVec::filled(None, PAGES as usize),
            now: 0,
        }
    }

    /// Simulate a random event; return the chosen class, if any.
    fn act(&mut self, stream: &mut RandomStream) -> Option<Class> {
        let lpn = Lpn::new(stream.random_range(0..PAGES) / stream.random_range(1..=8));
        let now = self.now;
        let (count, gc) = match &self.classes {
            Classes::Streams => (3, 0..3),
            Classes::Own { count, gc } => (*count, gc.clone()),
        };
        let hint = PlacementId::new(stream.random_range(0..300));
        let event = stream.random_range(0..8);
        let class = match (event, self.class[lpn]) {
            (0, _) => {
                self.class[lpn] = None;
                return None;
            }
            (1, _) => {
                let class = Class::new(stream.random_range(0..count));
                let valid = stream.random_range(0..8);
                self.placement.cleaned(Cleaned { class, opened_at: now / 2, now, valid, lazily: false });
                return None;
            }
            (2..4, Some(from)) => {
                let class = self.placement.gc_write(GcWrite { lpn, stream: WriteStream::Gc, now, from });
                assert!(gc.contains(&class.get()), "{class:?} of a copy, of {gc:?}");
                class
            }
            (_, replaces) => {
                self.now += 1;
                self.placement.user_write(UserWrite {
                    lpn,
                    stream: WriteStream::Host,
                    now,
                    replaces: replaces.map(placed),
                    placement: hint,
                })
            }
        };
        assert!(class.get() < count, "{class:?} of {count}");
        self.class[lpn] = Some(class);
        Some(class)
    }
}

/// Every policy with its defaults, and other valid configurations.
const PERSISTENTLY: Isolation = Isolation::Persistently { copies: super::fdp::Copies::OfUnit };

fn configs() -> impl Iterator<Item = PlacementConfig> {
    let fdp = |handles, isolation, percent: &[u64]| {
        let shares = percent.iter().map(|&percent| Share::percent(percent)).collect();
        PlacementConfig::Fdp(FdpConfig { handles, isolation, shares, ..FdpConfig::default() })
    };
    let more = [fdp(1, Isolation::Initially, &[]), fdp(3, PERSISTENTLY, &[10, 90])];
    PlacementConfig::NAMES
        .iter()
        .map(|name| PlacementConfig::by_name(name).expect("it is registered"))
        .chain(more)
}

#[test]
fn classes_are_in_range_and_the_state_is_all_that_a_policy_knows() {
    for config in configs() {
        for seed in 0..20 {
            let mut stream = Seed(seed).stream("placement");
            let mut one = Checked::new(&config);
            for _ in 0..5000 {
                one.act(&mut stream);
            }
            let mut other = Checked { placement: config.build(shape()), ..one.clone() };
            let mut saved = Vec::new();
            one.placement.save(&mut saved).unwrap();
            other.placement.restore(&mut saved.as_slice()).unwrap();
            for step in 0..5000 {
                let mut same = stream.clone();
                assert_eq!(
                    one.act(&mut stream),
                    other.act(&mut same),
                    "{config:?}, seed {seed}, step {step}"
                );
            }
        }
    }
}

#[test]
fn no_policy_has_too_many_classes() {
    for config in configs() {
        if let Classes::Own { count, gc } = config.classes().unwrap() {
            assert!(count <= CLASSES_MAX && !gc.is_empty() && gc.end <= count, "{config:?}");
        }
    }
}

#[test]
fn what_is_not_allowed_is_refused_with_its_key() {
    let refused = |json: &str| {
        let config: PlacementConfig =
            coflash_base::read::read(&serde_json::from_str::<serde_json::Value>(json).expect("it is JSON"))
                .expect(json);
        config.classes().expect_err(json).to_string()
    };
    for (json, error) in [
        (r#"{"name":"dac","regions":1}"#, "ftl.placement.regions: 1 was given; from 2 to 16 is allowed"),
        (r#"{"name":"sepbit","classes":17}"#, "ftl.placement.classes: 17 was given; from 4 to 16 is allowed"),
        (r#"{"name":"fdp","handles":0}"#, "ftl.placement.handles: 0 was given; from 1 to 15 is allowed"),
        (
            r#"{"name":"fdp","handles":9,"isolation":"persistently"}"#,
            "ftl.placement.handles: 9 was given; from 1 to 8 is allowed",
        ),
        (
            r#"{"name":"fdp","shares":["1%","1%","1%"]}"#,
            "ftl.placement.shares: shares for 3 handles were given; there are 2",
        ),
        (r#"{"name":"score","classes":0}"#, "ftl.placement.classes: 0 was given; from 1 to 16 is allowed"),
        (
            r#"{"name":"score","classes":3,"gc_classes":4}"#,
            "ftl.placement.gc_classes: 4 was given; from 1 to 3 is allowed",
        ),
        (
            r#"{"name":"external"}"#,
            "ftl.placement.code: it must be given: \"module:Class\" for a class of Python",
        ),
        (r#"{"name":"fdp","shares":["90%","11%"]}"#, "ftl.placement.shares: they add up to more than 100%"),
    ] {
        assert_eq!(refused(json), error);
    }
}

/// The decisions of SepBIT, by hand: ℓ is 10 after 16 blocks of class 0 have lived for 10 pages each.
#[test]
fn sepbit_separates_by_age() {
    let mut sepbit = PlacementConfig::by_name("sepbit").unwrap().build(shape());
    let lpn = Lpn::new(3);
    let write = |sepbit: &mut Placement, now, replaces| {
        let class =
            sepbit.user_write(UserWrite { lpn, stream: WriteStream::Host, now, replaces, placement: None });
        class.get()
    };
    assert_eq!(write(&mut sepbit, 0, None), 1, "what is new has no age");
    assert_eq!(
        write(&mut sepbit, 1000, Some(placed(Class::new(1)))),
        0,
        "at first everything is short-lived"
    );
    for _ in 0..16 {
        sepbit.cleaned(Cleaned { class: Class::new(0), opened_at: 990, now: 1000, valid: 1, lazily: false });
    }
    assert_eq!(write(&mut sepbit, 1009, Some(placed(Class::new(0)))), 0);
    assert_eq!(write(&mut sepbit, 1019, Some(placed(Class::new(0)))), 1);
    let mut copy =
        |now, from| sepbit.gc_write(GcWrite { lpn, stream: WriteStream::Gc, now, from: Class::new(from) });
    let copies = [(1020, 0), (1020, 1), (1058, 1), (1059, 3), (1178, 4), (1179, 1)]
        .map(|(now, from)| copy(now, from).get());
    assert_eq!(copies, [2, 3, 3, 4, 4, 5]);
}

/// A score makes the same decisions as a policy of the family, given the same facts by the FTL.
#[test]
fn scores_decide_as_other_policies() {
    let life = "if(gc, if(class < 1, 2, 3 + (age >= 4 * life) + (age >= 16 * life)), age >= life)";
    for (same, score, gc_classes) in [("sepgc", "gc", 1), ("sepbit", life, 4)] {
        let same = PlacementConfig::by_name(same).unwrap();
        let Classes::Own { count: classes, .. } = same.classes().unwrap() else { unreachable!() };
        let score = serde_json::json!({ "name": "score", "score": score, "classes": classes, "gc_classes": gc_classes });
        let score: PlacementConfig = coflash_base::read::read(&score).unwrap();
        assert_eq!(score.classes(), same.classes());
        for seed in 0..20 {
            let stream = &mut Seed(seed).stream("scores");
            let (mut one, mut other) = (Checked::new(&score), Checked::new(&same));
            for step in 0..5000 {
                let expected = other.act(&mut stream.clone());
                assert_eq!(one.act(stream), expected, "{same:?}, seed {seed}, step {step}");
            }
        }
    }
}

/// An invalid class becomes the nearest valid one; NaN becomes the first.
#[test]
fn a_score_is_a_class() {
    let chosen = |score: &str| {
        let config = serde_json::json!({ "name": "score", "score": score, "classes": 4, "gc_classes": 2 });
        let config: PlacementConfig = coflash_base::read::read(&config).unwrap();
        let (mut placement, lpn) = (config.build(shape()), Lpn::new(50));
        let mut write = |replaces| {
            let class = placement.user_write(UserWrite {
                lpn,
                stream: WriteStream::Evict,
                now: 7,
                replaces,
                placement: None,
            });
            class.get()
        };
        let written = [write(None), write(Some(placed(Class::new(3))))];
        let from = Class::new(2);
        let copied = placement.gc_write(GcWrite { lpn, stream: WriteStream::Shadow, now: 9, from }).get();
        (written, copied)
    };
    assert_eq!(chosen("2.9"), ([2, 2], 2));
    assert_eq!(chosen("-1"), ([0, 0], 2));
    assert_eq!(chosen("if(writes > 999, 1, log(-1))"), ([0, 0], 2));
    assert_eq!(chosen("99"), ([3, 3], 3));
    assert_eq!(chosen("class"), ([0, 3], 2));
    assert_eq!(chosen("writes + 2 * gc"), ([0, 1], 3));
    assert_eq!(chosen("3 * (age > 1)"), ([3, 0], 3));
    assert_eq!(chosen("4 * share + evicted"), ([2, 2], 2));
    assert_eq!(chosen("copies + 3 * gc"), ([0, 0], 3));
}

/// DAC moves a page up with each overwrite and down with each copy.
#[test]
fn dac_goes_up_and_down() {
    let mut dac = PlacementConfig::by_name("dac").unwrap().build(shape());
    let lpn = Lpn::new(3);
    let write = |dac: &mut Placement, replaces| {
        dac.user_write(UserWrite { lpn, stream: WriteStream::Host, now: 0, replaces, placement: None }).get()
    };
    let some = Some(placed(Class::new(0)));
    let up = [None, some, some, some, some, some, some].map(|replaces| write(&mut dac, replaces));
    assert_eq!(up, [0, 1, 2, 3, 4, 5, 5]);
    let mut copy =
        || dac.gc_write(GcWrite { lpn, stream: WriteStream::Gc, now: 0, from: Class::new(5) }).get();
    assert_eq!([copy(), copy()], [4, 3]);
    assert_eq!(write(&mut dac, None), 0, "a trimmed page is new");
}

#[test]
fn handles_have_their_shares_of_the_address_space() {
    let mut fdp = PlacementConfig::Fdp(FdpConfig {
        handles: 4,
        isolation: PERSISTENTLY,
        shares: vec![Share::percent(10)],
        ..FdpConfig::default()
    })
    .build(shape());
    let mut handle = |lpn| {
        let (lpn, stream) = (Lpn::new(lpn), WriteStream::Host);
        fdp.user_write(UserWrite { lpn, stream, now: 0, replaces: None, placement: None }).get()
    };
    let found = [0, 19, 20, 79, 80, 139, 140, 199].map(&mut handle);
    assert_eq!(found, [0, 0, 1, 1, 2, 2, 3, 3]);
}

/// The hint overrides the address, and GC keeps the handle of the unit.
#[test]
fn a_hint_is_the_handle_and_a_copy_stays_with_it() {
    for isolation in [Isolation::Initially, PERSISTENTLY] {
        let mut fdp =
            PlacementConfig::Fdp(FdpConfig { handles: 4, isolation, ..FdpConfig::default() }).build(shape());
        let lpn = Lpn::new(0);
        for hint in 0..4 {
            let placement = PlacementId::new(hint.into());
            let write = UserWrite { lpn, stream: WriteStream::Host, now: 0, replaces: None, placement };
            assert_eq!(fdp.user_write(write).get(), hint);
            for from in [hint, 4 + hint] {
                let copy = GcWrite { lpn, stream: WriteStream::Gc, now: 0, from: Class::new(from) };
                let apart = if isolation == PERSISTENTLY { hint } else { 0 };
                assert_eq!(fdp.gc_write(copy).get(), 4 + apart, "{isolation:?}, {hint} from {from}");
            }
        }
    }
}
