//! Requests are split and completed with their parts. Idle time is exact to the nanosecond: GC begins a step
//! before a request arrives, or not at all.

use super::{Engine, GROUP};
use crate::observer::NoObserver;
use crate::precondition::precondition;
use crate::traces::Traces;
use coflash_base::measure::Report;
use coflash_base::seed::RngExt;
use coflash_base::{Ahead, Duration, Lpn, Save, Seed, Time};
use coflash_ftl::{Ftl, GcHook, Io, PageRead, PageWrite};
use coflash_level::{Command, Elsewhere, Level, LostPages, Tower};
use coflash_media::{BlockId, Cause, Channel, Clock, DieId, Flash, Place, SimulatedMedia, Timeline, When};
use coflash_scenario::Scenario;
use coflash_workload::{Op, Request};
use std::cell::RefCell;
use std::io;

const READ_NS: u64 = 25_000 + 8 * 13_200;
const COPY_NS: u64 = 25_000 + 200_000;
const ERASE_NS: u64 = 1_500_000;

/// Flash below a host without memory.
fn plain(scenario: &Scenario, flash: Ftl) -> Tower<Ftl> {
    scenario.levels(flash.logical_pages()).expect("levels").over(flash)
}

/// One die, full and written over, so that GC has much to do.
fn engine(channel: &str) -> (Engine<Timeline>, Tower<Ftl>) {
    let scenario = Scenario::default()
        .set(&[
            ("flash.channels", "1"),
            ("flash.chips_per_channel", "1"),
            ("flash.blocks_per_plane", "64"),
            ("timing.channel", channel),
            ("gc.low_mark", "2"),
            ("gc.mode", "background"),
            ("gc.mode.mark", "4"),
            ("precondition.random_passes", "2.0"),
        ])
        .expect("a scenario");
    let flash = scenario.erased_flash().expect("a device");
    let flash = precondition(flash, &scenario, Traces::NONE, &mut NoObserver).expect("nobody stops it").ftl;
    let levels = plain(&scenario, flash);
    (Engine::new(&scenario, &levels, scenario.timeline()), levels)
}

/// The completion time of a read that arrives at `arrival`.
fn answer((engine, levels): &mut (Engine<Timeline>, Tower<Ftl>), arrival: u64) -> u64 {
    let request =
        Request { arrival: Time { ns: arrival }, offset: 0, length: 4096, op: Op::Read, placement: None };
    let known = engine.issue(levels, &request, request.arrival, (), |_| {}).expect("it fits");
    let mut answers: Vec<u64> = known.iter().map(|at| at.ns).collect();
    let Ok(()) = engine
        .advance(levels, Time { ns: arrival + READ_NS + ERASE_NS }, |answer| answers.push(answer.at.ns));
    assert_eq!(answers.len(), 1);
    answers[0]
}

/// The ends of the first GC steps, as observed by reads that arrive one nanosecond after their begins.
fn steps(channel: &str, count: usize) -> Vec<u64> {
    let mut ends = vec![0];
    for _ in 0..count {
        let begin = ends[ends.len() - 1];
        ends.push(answer(&mut engine(channel), begin + 1) - READ_NS);
        let span = ends[ends.len() - 1] - begin;
        assert!([COPY_NS, ERASE_NS].contains(&span), "a step is a copy or an erase: {span} ns");
    }
    ends
}

#[test]
fn a_request_waits_for_the_step_that_has_begun_and_for_no_other() {
    for channel in ["private", "shared"] {
        let ends = steps(channel, 60);
        assert!(ends.windows(2).any(|pair| pair[1] - pair[0] == ERASE_NS), "{channel}: no erase among them");
        for pair in ends.windows(2) {
            let (begin, end) = (pair[0], pair[1]);
            let cases = [(begin, begin), (begin + 1, end), (end - 1, end), (end, end)];
            for (arrival, served_from) in cases {
                let answered = answer(&mut engine(channel), arrival);
                assert_eq!(
                    answered,
                    served_from + READ_NS,
                    "{channel}: at {arrival}, a step is {begin}–{end}"
                );
            }
        }
    }
}

#[test]
fn private_and_shared_channels_know_the_same_idle_time() {
    assert_eq!(steps("private", 100), steps("shared", 100));
}

#[test]
fn after_the_last_request_nothing_is_idle() {
    let mut engine = engine("shared");
    let (engine, levels) = &mut engine;
    let before = engine.report(levels).count("gc_steps");
    while engine.drain(levels, 1) == Ok(true) {}
    assert_eq!(engine.report(levels).count("gc_steps"), before);
}

/// A stack that records its calls; the test sets the completion of each part.
struct Script {
    /// The completions of the next parts, in reverse order.
    done: Vec<When>,
    asked: Vec<String>,
    looks: RefCell<Vec<(u32, Ahead)>>,
    ftl: Ftl,
}

impl Default for Script {
    fn default() -> Self {
        let ftl = Scenario::default().erased_flash().expect("the default device");
        Self { done: Vec::new(), asked: Vec::new(), looks: RefCell::default(), ftl }
    }
}

impl Script {
    fn next(&mut self, asked: String) -> When {
        self.asked.push(asked);
        self.done.pop().expect("no more parts were expected")
    }
}

/// It is never saved.
impl Save for Script {
    fn save(&self, _: &mut dyn io::Write) -> io::Result<()> {
        unreachable!("it has no state of a run")
    }

    fn restore(&mut self, _: &mut dyn io::Read) -> io::Result<()> {
        unreachable!("it has no state of a run")
    }
}

impl<M: SimulatedMedia> Level<M> for Script {
    fn logical_pages(&self) -> u32 {
        64
    }

    fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        self.looks.borrow_mut().push((lpn.get(), ahead));
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn pass_time<H: GcHook>(&mut self, _: Time, _: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        Ok(())
    }

    fn next_due(&self) -> Option<Time> {
        None
    }

    fn begin<H: GcHook>(&mut self, _: &Command, io: &mut Io<'_, M, H>) -> When {
        io.start
    }

    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        _: When,
        _: &mut Io<'_, M, H>,
    ) -> Result<Option<When>, M::Error> {
        Ok(Some(self.next(format!("read {}", page.lpn.get()))))
    }

    fn write<H: GcHook>(&mut self, page: PageWrite, _: When, _: &mut Io<'_, M, H>) -> Result<When, M::Error> {
        Ok(self.next(format!("write {} {:?}", page.lpn.get(), page.coverage)))
    }

    fn trim<H: GcHook>(&mut self, lpn: Lpn, _: When, _: &mut Io<'_, M, H>) -> Result<When, M::Error> {
        Ok(self.next(format!("trim {}", lpn.get())))
    }

    fn flush<H: GcHook>(
        &mut self,
        _: When,
        _: &mut Io<'_, M, H>,
        parts: &mut Vec<When>,
    ) -> Result<(), M::Error> {
        parts.append(&mut self.done);
        Ok(())
    }

    fn end<H: GcHook>(&mut self, _: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        Ok(Duration::ZERO)
    }

    fn notify<H: GcHook>(&mut self, tag: u32, _: Time, _: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        unreachable!("it asked for nothing, and is told {tag}")
    }

    fn joins_pages(&self) -> bool {
        false
    }

    fn work_idle<H: GcHook>(&mut self, _: DieId, _: &mut Io<'_, M, H>) -> Result<bool, M::Error> {
        Ok(false)
    }

    fn restart<H: GcHook>(&mut self, _: Time, _: &mut Io<'_, M, H>) -> Result<LostPages, M::Error> {
        unreachable!("no restart is due")
    }

    fn report(&self, _: &mut Report) {}

    fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    fn elsewhere(&self, _: Lpn) -> Option<Elsewhere> {
        None
    }

    fn assert_invariants(&self) {}
}

const PAGE: u64 = 4096;

fn request(op: Op, offset: u64, length: u64) -> Request {
    Request { arrival: Time::ZERO, offset, length, op, placement: None }
}

/// The calls that a request makes to a stack.
fn asked(op: Op, offset: u64, length: u64) -> Vec<String> {
    let mut script = Script { done: vec![When::at(Time::ZERO); 9], ..Script::default() };
    let scenario = Scenario::default();
    let mut engine = Engine::new(&scenario, &script, scenario.timeline());
    engine.issue(&mut script, &request(op, offset, length), Time::ZERO, (), |_| {}).expect("it fits");
    script.asked
}

#[test]
fn a_page_is_written_whole_where_the_request_covers_all_of_it_and_trimmed_only_then() {
    let cases = [
        (0, PAGE, &["write 0 Full"][..], &["trim 0"][..]),
        (0, 2 * PAGE, &["write 0 Full", "write 1 Full"], &["trim 0", "trim 1"]),
        // It begins inside a page, ends inside one, both.
        (512, 2 * PAGE - 512, &["write 0 Partial", "write 1 Full"], &["trim 1"]),
        (PAGE, 2 * PAGE - 512, &["write 1 Full", "write 2 Partial"], &["trim 1"]),
        (512, 512, &["write 0 Partial"], &[]),
        (PAGE - 512, 1024, &["write 0 Partial", "write 1 Partial"], &[]),
        (PAGE - 512, 1024 + PAGE, &["write 0 Partial", "write 1 Full", "write 2 Partial"], &["trim 1"]),
        (0, PAGE - 1, &["write 0 Partial"], &[]),
        (1, PAGE - 1, &["write 0 Partial"], &[]),
    ];
    for (offset, length, writes, trims) in cases {
        assert_eq!(asked(Op::Write, offset, length), writes, "{length} bytes at {offset}");
        assert_eq!(asked(Op::Trim, offset, length), trims, "{length} bytes at {offset}");
        let reads: Vec<_> = writes.iter().map(|write| format!("read {}", &write[6..7])).collect();
        assert_eq!(asked(Op::Read, offset, length), reads, "{length} bytes at {offset}");
    }
}

/// The answer to a request of three parts, each given by its completion in nanoseconds after the arrival and
/// whether that is known at once.
fn answered(op: Op, parts: [(u64, bool); 3]) -> Time {
    let mut scenario = Scenario::default();
    scenario.timing.channel = Channel::Shared;
    let mut media = scenario.timeline();
    // A moment that is unknown until it comes: the end of a read alone on its channel, and a delay.
    let mut moment = |channel: u32, ns: u64, known: bool| {
        let at = When::at(Time { ns });
        if known {
            return at;
        }
        let first = channel * scenario.flash.blocks() / scenario.flash.channels;
        let page = scenario.flash.page(BlockId::new(first), 0);
        let Ok(read) = media.read(page, Place::Host, Cause::Host, When::at(Time::ZERO));
        media.later(read, Duration { ns: ns - READ_NS })
    };
    let mut done: Vec<_> =
        (0..).zip(parts).map(|(channel, (ns, known))| moment(channel, ns, known)).collect();
    done.reverse();
    let script = &mut Script { done, ..Script::default() };
    let mut engine = Engine::new(&scenario, script, media);
    let mut answers: Vec<_> = engine
        .issue(script, &request(op, 0, 3 * PAGE), Time::ZERO, (), |_| {})
        .expect("it fits")
        .into_iter()
        .collect();
    engine.advance(script, Time { ns: 1_000_000_000 }, |answer| answers.push(answer.at));
    assert_eq!(answers.len(), 1, "it is answered once");
    answers[0]
}

#[test]
fn a_request_is_answered_when_the_last_of_its_parts_is_done_whichever_that_is() {
    let (early, middle, late) = (READ_NS + 1_000, READ_NS + 5_000, READ_NS + 70_000);
    let orders = [[early, middle, late], [late, early, middle], [early, late, middle], [late, late, early]];
    for times in orders {
        for known in 0..8_u32 {
            let parts = std::array::from_fn(|part| (times[part], known >> part & 1 == 1));
            for op in [Op::Read, Op::Write, Op::Flush] {
                assert_eq!(answered(op, parts), Time { ns: late }, "{op:?}, {parts:?}");
            }
        }
    }
}

#[test]
fn looking_ahead_changes_nothing() {
    let mut draws = Seed(3).stream("requests");
    let ops = [Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush];
    let mut requests: Vec<Request> = (0..500)
        .map(|number| Request {
            arrival: Time { ns: number * 100_000 },
            offset: draws.random_range(0..3000) * 4096 + draws.random_range(0..4096),
            length: draws.random_range(1..40_000),
            op: ops[draws.random_range(0..ops.len())],
            placement: None,
        })
        .collect();
    // Looked up ahead, and refused at its turn.
    requests.push(Request { offset: 1 << 60, ..requests[0] });
    let replay = |looks_ahead| {
        let (engine, mut levels) = engine("shared");
        let mut engine = Engine { looks_ahead, looks_at_last: looks_ahead, ..engine };
        let answers: Vec<_> = (0..requests.len())
            .map(|next| {
                if next % GROUP == 0 {
                    engine.look_ahead(&levels, &requests[next..]);
                }
                engine.issue(&mut levels, &requests[next], requests[next].arrival, (), |_| {})
            })
            .collect();
        Level::<Timeline>::assert_invariants(&levels);
        (answers, engine.report(&levels))
    };
    assert_eq!(replay(true), replay(false));
}

#[test]
fn a_page_is_looked_at_thrice_before_its_request_is_issued() {
    // Pages apart: one that continues the one before it is not looked at.
    let requests: Vec<Request> =
        (0..4 * GROUP as u64).map(|number| request(Op::Read, 2 * number * PAGE, PAGE)).collect();
    let scenario = Scenario::default();
    let looks = |looks_at_last| {
        let levels = Script::default();
        let engine = Engine::new(&scenario, &levels, scenario.timeline());
        let mut engine = Engine { looks_ahead: true, looks_at_last, ..engine };
        (0..requests.len()).step_by(GROUP).for_each(|next| engine.look_ahead(&levels, &requests[next..]));
        levels.looks.into_inner()
    };
    for page in (4 * GROUP as u32..8 * GROUP as u32).step_by(2) {
        let of_page = |looks: Vec<(u32, Ahead)>| -> Vec<Ahead> {
            looks.into_iter().filter_map(|(lpn, ahead)| (lpn == page).then_some(ahead)).collect()
        };
        assert_eq!(of_page(looks(true)), [Ahead::Far, Ahead::Near, Ahead::Last], "page {page}");
        assert_eq!(of_page(looks(false)), [Ahead::Far, Ahead::Near], "page {page}");
    }
}

#[test]
fn only_large_devices_look_ahead() {
    assert!(!engine("private").0.looks_ahead, "64 blocks stay in the processor's cache");
    let scenario = Scenario::built_in("random-5g").expect("a built-in scenario");
    let levels = plain(&scenario, scenario.erased_flash().expect("a device"));
    assert!(Engine::new(&scenario, &levels, scenario.timeline()).looks_ahead);
}
