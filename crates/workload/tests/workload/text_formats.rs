//! The text formats of published traces and recorders: what each means, and every way in which a record can be wrong. Those
//! that came first are in `formats.rs`.

use crate::common::{drain, named, parse, refuses, refuses_with};
use coflash_base::{Bytes, Duration};
use coflash_workload::trace::{Columns, TraceEvent, Units, from_reader};
use coflash_workload::{OnError, Op, Source, TraceOptions};
use std::io::Cursor;

const GIB: u64 = 1 << 30;

/// The remarks on `text`, read to its end.
fn remarks(text: &str, options: &TraceOptions) -> String {
    let mut source = from_reader("t", Box::new(Cursor::new(text.as_bytes().to_vec())), options).unwrap();
    drain(&mut source).unwrap();
    source.remarks().join("\n")
}

fn format_of(text: &str) -> &'static str {
    let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
    from_reader("t", input, &TraceOptions::default()).unwrap().formats()[0]
}

#[test]
fn systor_is_put_in_the_order_of_arrival() {
    let text =
        "Timestamp,Response,IOType,LUN,Offset,Size\n5.5,0.1,R,0,4096,512\n5.3,0.9,W,0,0,1\n66.5,,R,0,1,1\n";
    let expected =
        [(0, 0, 1, Op::Write), (200_000_000, 4096, 512, Op::Read), (61_200_000_000, 1, 1, Op::Read)];
    let options = named("systor");
    assert_eq!(parse(text, &options).unwrap(), expected);
    assert!(remarks(text, &options).contains("1 records stand behind later ones, by up to 200ms"));
    let late = "6.5,0,R,0,0,1\n66.5,0,R,0,0,1\n6.4,0,R,0,0,1\n";
    let error = parse(late, &options).unwrap_err();
    assert!(error.starts_with("t:3: Timestamp: time runs backwards by 100ms"), "{error}");
    assert!(error.contains("sort_window = \"60100ms\""), "{error}");
    let wide = TraceOptions { sort_window: Some(Duration { ns: 60_100_000_000 }), ..options.clone() };
    assert_eq!(parse(late, &wide).unwrap().len(), 3);
    let none = TraceOptions { sort_window: Some(Duration::ZERO), ..options };
    assert!(parse(text, &none).unwrap_err().starts_with("t:3: Timestamp: time runs backwards by 200ms"));
}

#[test]
fn systor_refuses_what_is_wrong() {
    let systor = |line, field, parts: &[&str]| refuses("systor", "5.5,0.1,R,0,0,1\n", line, field, parts);
    systor("x,0,R,0,0,1", "Timestamp", &["\"x\""]);
    systor("18446744074,0,R,0,0,1", "Timestamp", &["below 2^64"]);
    systor("6,fast,R,0,0,1", "Response", &["\"fast\""]);
    systor("6,0,X,0,0,1", "IOType", &["R (read)"]);
    systor("6,0,R,a,0,1", "LUN", &["\"a\""]);
    systor("6,0,R,0,-1,1", "Offset", &["\"-1\""]);
    systor("6,0,R,0,0,", "Size", &["missing"]);
    systor("6,0,R,0,0,0", "Size", &["at least one byte"]);
    systor("6,0,R,0,0,1,9", "Size", &["six fields"]);
    systor("Timestamp,Response,IOType,LUN,Offset,Size", "Timestamp", &[]);
}

const MD5: &str = "98b9cb7e1dd888f9dac2bf08af1c3cb2";

#[test]
fn fiu_has_sectors_nanoseconds_and_sums() {
    let text = format!(
        "500 25 kjournald 16 8 W 6 0 {MD5}\n900 25 a 0 1 R 6 1 {MD5}{MD5} {MD5}\n901 1 a 1 1 r 6 0 {MD5}\n"
    );
    let expected = [(0, 8192, 4096, Op::Write), (400, 64 * GIB, 512, Op::Read), (401, 512, 512, Op::Read)];
    assert_eq!(parse(&text, &TraceOptions::default()).unwrap(), expected);
    assert!(remarks(&text, &named("fiu")).contains("0 is 6 0, 1 is 6 1"));
}

#[test]
fn fiu_refuses_what_is_wrong() {
    let fiu = |line: &str, field, parts: &[&str]| {
        let first = format!("500 25 kjournald 16 8 W 6 0 {MD5}\n");
        refuses("fiu", &first, &line.replace("MD5", MD5), field, parts);
    };
    fiu("x 1 a 0 1 R 6 0 MD5", "ts", &["\"x\""]);
    fiu("499 1 a 0 1 R 6 0 MD5", "ts", &["backwards"]);
    fiu("600 a a 0 1 R 6 0 MD5", "pid", &["\"a\""]);
    fiu("600 1", "process", &["missing"]);
    fiu("600 1 a 0.5 1 R 6 0 MD5", "lba", &["\"0.5\""]);
    fiu("600 1 a 36028797018963968 1 R 6 0 MD5", "lba", &["times 512"]);
    fiu("600 1 a 0 0 R 6 0 MD5", "size", &["at least one byte"]);
    fiu("600 1 a 0 1 X 6 0 MD5", "op", &["R (read)"]);
    fiu("600 1 a 0 1 R x 0 MD5", "major", &["\"x\""]);
    fiu("600 1 a 0 1 R 6 x MD5", "minor", &["\"x\""]);
    fiu("600 1 a 0 1 R 6 0", "md5", &["missing"]);
    fiu("600 1 a 0 1 R 6 0 98b9", "md5", &["32 hexadecimal"]);
    fiu("600 1 a 0 1 R 6 0 MD5 x", "md5", &["\"x\""]);
    fiu("600 1 a 0 1 R 6 0 g8b9cb7e1dd888f9dac2bf08af1c3cb2", "md5", &[]);
}

/// A line of blkparse.
fn event(time: &str, rest: &str) -> String {
    format!("  8,16   3        7     {time}  3557  {rest}\n")
}

#[test]
fn blkparse_takes_one_event_of_each_request() {
    let text = [
        event("0.1", "Q   R 8 + 8 [java]"),
        event("0.2", "M  WS 16 + 8 [a b]"),
        event("0.4", "D   R 8 + 16 [java]"),
        event("0.3", "D  FN [java]"),
        event("0.5", "D  WFS 1 + 1 [java]"),
        event("0.6", "D  DS 0 + 1 [java]"),
        event("0.6", "D   N 36 (12 00) [udevd]"),
        event("0.65", "D   R 36 (12 00) [udevd]"),
        event("0.7", "C  WS 8 [0]"),
        event("0.8", "C  FF 8 [0]"),
        event("0.9", "C   R 8 + 16 [0]"),
        event("0.9", "m   N cfq18615S / insert_request"),
        event("0.91", "UT   N [java] 3"),
        event("0.92", "A   R 1444645666 + 256 <- (8,17) 1444645632"),
        "CPU0 (8,16):\n Reads Queued:    0,    0KiB\n\nTotal (8,16):\nEvents (8,16): 9 entries\n".to_owned(),
        event("2.0", "D   R 0 + 1 [java]"),
    ]
    .concat();
    let issued = [
        (300_000_000, 0, 0, Op::Flush),
        (400_000_000, 4096, 8192, Op::Read),
        (500_000_000, 512, 512, Op::Write),
        (600_000_000, 0, 512, Op::Trim),
        (2_000_000_000, 0, 512, Op::Read),
    ];
    assert_eq!(parse(&text, &TraceOptions::default()).unwrap(), issued);
    let at = |event| parse(&text, &TraceOptions { event: Some(event), ..named("blkparse") }).unwrap();
    assert_eq!(at(TraceEvent::Queue), [(100_000_000, 4096, 4096, Op::Read)]);
    assert_eq!(
        at(TraceEvent::Complete),
        [(800_000_000, 0, 0, Op::Flush), (900_000_000, 4096, 8192, Op::Read)]
    );
}

#[test]
fn blkparse_falls_back_where_nothing_is_issued() {
    let queued = event("0.1", "Q   R 8 + 8 [java]") + &event("0.2", "Q FWS 8 + 8 [java]");
    assert_eq!(parse(&queued, &TraceOptions::default()).unwrap().len(), 2);
    let said = remarks(&queued, &TraceOptions::default());
    assert!(said.contains("has no issue (D): requests are taken at queueing (Q) (option event)"), "{said}");
    assert!(said.contains("1 requests carried a flush along"), "{said}");
    let completed = event("0.1", "C   R 8 + 8 [0]");
    assert!(remarks(&completed, &TraceOptions::default()).contains("completion (C)"));
    let asked = TraceOptions { event: Some(TraceEvent::Issue), ..named("blkparse") };
    assert!(parse(&queued, &asked).unwrap_err().contains("no requests"));
}

#[test]
fn blkparse_refuses_what_is_wrong() {
    let first = event("0.1", "D   R 8 + 8 [java]");
    let blk = |line: &str, field, parts: &[&str]| refuses("blkparse", &first, line.trim_end(), field, parts);
    blk("8:16 3 7 0.1 3557 D R 8 + 8 [java]", "device", &["as in `8,16`"]);
    blk("8,16 x 7 0.1 3557 D R 8 + 8 [java]", "cpu", &["\"x\""]);
    blk("8,16 3 x 0.1 3557 D R 8 + 8 [java]", "sequence", &["\"x\""]);
    blk(&event("now", "D R 8 + 8 [java]"), "time", &["\"now\""]);
    blk(&event("1.2.3", "D R 8 + 8 [java]"), "time", &["\"1.2.3\""]);
    blk("8,16 3 7 0.1 init D R 8 + 8 [java]", "pid", &["\"init\""]);
    blk(&event("0.2", "DDD R 8 + 8 [java]"), "action", &["\"DDD\""]);
    blk(&event("0.2", "D X 8 + 8 [java]"), "rwbs", &["\"X\""]);
    blk(&event("0.2", "D Rx 8 + 8 [java]"), "rwbs", &["\"Rx\""]);
    blk(&event("0.2", "D R a + 8 [java]"), "sector", &["\"a\""]);
    blk(&event("0.2", "D R 8 - 8 [java]"), "sectors", &["\"-\"", "`+`"]);
    blk(&event("0.2", "D R 8 + [java]"), "sectors", &["\"[java]\""]);
    blk(&event("0.2", "D R 36028797018963968 + 8 [java]"), "sector", &["times 512"]);
    blk(&event("0.2", "D R 18014398509481984 + 8 [java]"), "sector", &["2^63"]);
    blk(" Reads Queued:    0,    0KiB", "device", &["\"Reads\""]);
    refuses("blkparse", "", "CPU0 (8,16):", "device", &["\"CPU0\""]);
}

#[test]
fn ftrace_reads_trace_pipe_and_perf_script() {
    let text = "# tracer: nop\n# entries-in-buffer\n\
        sync-4844  [001] .... 343996.5: block_rq_insert: 259,0 WS 4096 () 2048 + 8 [sync]\n\
        a: b-4844  [001] .... 343996.5: block_rq_issue: 259,0 WS 4096 () 2048 + 8 [sync]\n\
        kworker/4:1H    533 [004] 343996.6:   block:block_rq_issue: 259,0 R 4096 () 8 + 8 be,0,4 [kworker/4:1H]\n\
        CPU:1 [LOST 3 EVENTS]\n\
        sync-4844  [001] .... 343996.7: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [kworker]\n\
        dd-1  (1) [001] .... 343996.8: block_rq_issue: 259,0 D 16 + 8 [dd]\n\
        blk-3 [030] ..... 343996.9: block_rq_issue: 259,0 NS 40960 () 0 + 80 be,0,4 [k]\n\
        dd-1  [001] .... 343997.5: block_rq_complete: 259,0 R () 8 + 8 [0]\n\
        dd-1  [001] .... 343997.6: sched_switch: prev_comm=a prev_pid=0\n";
    let expected = [
        (0, 1 << 20, 4096, Op::Write),
        (100_000_000, 4096, 4096, Op::Read),
        (200_000_000, 0, 0, Op::Flush),
        (300_000_000, 8192, 4096, Op::Trim),
    ];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    assert!(remarks(text, &TraceOptions::default()).contains("lost events at 1 places"));
    let completed = TraceOptions { event: Some(TraceEvent::Complete), ..named("ftrace") };
    assert_eq!(parse(text, &completed).unwrap(), [(0, 4096, 4096, Op::Read)]);
    let queued = "rep-3 [007] .... 19654.9: block_bio_queue: 8,0 FWS 0 + 0 [rep]\n";
    assert_eq!(parse(queued, &TraceOptions::default()).unwrap(), [(0, 0, 0, Op::Flush)]);
    assert!(remarks(queued, &TraceOptions::default()).contains("taken at block_bio_queue"));
}

#[test]
fn ftrace_refuses_what_is_wrong() {
    let first = "a-1 [001] .... 5.5: block_rq_issue: 259,0 W 4096 () 8 + 8 [a]\n";
    let ftrace = |line: &str, field, parts: &[&str]| refuses("ftrace", first, line, field, parts);
    ftrace("# a remark", "time", &["\"# a remark\""]);
    ftrace("a-1 [001] .... soon: block_rq_issue: 259,0 W 4096 () 8 + 8 [a]", "time", &["an event"]);
    ftrace("a-1 [001] .... 5.5.5: block_rq_issue: 259,0 W 4096 () 8 + 8 [a]", "time", &["\"5.5.5\""]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: sda W 4096 () 8 + 8 [a]", "device", &["\"sda\""]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: 8,0 Q 4096 () 8 + 8 [a]", "rwbs", &["\"Q\""]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: 8,0 W 4096 ()", "sectors", &["`sector + sectors`"]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: 8,0 W 4096 () x + 8 [a]", "sector", &["\"x\""]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: 8,0 W 4096 () 8 + x [a]", "sectors", &["\"x\""]);
}

#[test]
fn similar_ascii_traces_are_told_apart_by_their_numbers() {
    assert_eq!(format_of("0 0 303567 7 0\n10 1 512 1024 1\n"), "ssdsim");
    assert_eq!(format_of("0.0 0 303567 7 0\n10 1 512 1024 1\n"), "disksim");
    assert_eq!(format_of("0 0 303567 7 0\n10 1 512 1024 1f\n"), "disksim");
    assert_eq!(format_of("0.000 0 200626176 4096 0\n223.412 0 512 36864 1\n"), "replay");
    let said = remarks("0 0 303567 7 0\n", &TraceOptions::default());
    assert!(said.contains("read as ssdsim, times in 1ns, addresses in 512B, sizes in 512B"), "{said}");
    let bytes = parse("1.5 0 1024 512 1\n", &TraceOptions::default()).unwrap();
    assert_eq!(bytes, [(1_500_000, 1024, 512, Op::Read)]);
    let units =
        Units { time: Some(Duration { ns: 1000 }), size: Some(Bytes { count: 4096 }), ..Units::default() };
    let options = TraceOptions { units, ..TraceOptions::default() };
    assert_eq!(parse("3 0 5 2 0\n", &options).unwrap(), [(3000, 2560, 8192, Op::Write)]);
}

#[test]
fn ssdsim_and_replay_refuse_what_is_wrong() {
    let ssdsim = |line, field, parts: &[&str]| refuses("ssdsim", "10 0 0 1 1\n", line, field, parts);
    ssdsim("10.5 0 0 1 1", "time", &["\"10.5\" is not a whole number"]);
    ssdsim("9 0 0 1 1", "time", &["backwards"]);
    ssdsim("10 a 0 1 1", "device", &["\"a\""]);
    ssdsim("10 0 a 1 1", "lba", &["\"a\""]);
    ssdsim("10 0 0 0 1", "size", &["at least one byte"]);
    ssdsim("10 0 0 1 2", "type", &["1 (read) or 0 (write)"]);
    ssdsim("10 0 0 1", "type", &["missing"]);
    ssdsim("10 0 0 1 1 1", "type", &["five fields"]);
    let replay = |line, field, parts: &[&str]| refuses("replay", "1.5 0 0 512 1\n", line, field, parts);
    replay("x 0 0 512 1", "time", &["\"x\""]);
    replay("2 a 0 512 1", "device", &["\"a\""]);
    replay("2 0 513 512 1", "offset", &["\"513\" is not a multiple of 512"]);
    replay("2 0 0 8 1", "size", &["multiple of 512"]);
    replay("2 0 0 0 1", "size", &["at least one byte"]);
    replay("2 0 0 512 r", "type", &["1 (read)"]);
    replay("2 0 0 512 1 1", "type", &["five fields"]);
}

#[test]
fn cloudphysics_has_scsi_commands() {
    let text = "version,time,op,size,lbn\n1,50,2a,512,3\n1,50,28,512,1\n2,52,8A,6656,2\n1,52,35,0,0\n";
    let expected = [
        (0, 1536, 512, Op::Write),
        (0, 512, 512, Op::Read),
        (2_000_000_000, 1024, 6656, Op::Write),
        (2_000_000_000, 0, 0, Op::Flush),
    ];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    assert!(remarks(text, &TraceOptions::default()).contains("whole seconds"));
    let cloud = |line, field, parts: &[&str]| refuses("cloudphysics", "1,50,2a,512,3\n", line, field, parts);
    cloud("3,50,2a,512,3", "version", &["1 or 2"]);
    cloud("1,x,2a,512,3", "time", &["\"x\""]);
    cloud("1,49,2a,512,3", "time", &["backwards"]);
    cloud("1,50,12,512,3", "op", &["\"12\""]);
    cloud("1,50,2a,x,3", "size", &["\"x\""]);
    cloud("1,50,2a,0,3", "size", &["at least one byte"]);
    cloud("1,50,2a,512,", "lbn", &["missing"]);
    cloud("1,50,2a,512,3,4", "lbn", &["five fields"]);
}

#[test]
fn diskmon_has_sectors_and_a_clock_that_steps_back() {
    let text = "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength\n0\t1.5\t0.1\t0\tRead\t8\t8\t\n1\t0.5\t0.1\t1\tWrite\t0\t1\t\n";
    let expected = [(500_000_000, 64 * GIB, 512, Op::Write), (1_500_000_000, 4096, 4096, Op::Read)];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let diskmon =
        |line, field, parts: &[&str]| refuses("diskmon", "0 1.5 0.1 0 Read 8 8\n", line, field, parts);
    diskmon("x 1.5 0.1 0 Read 8 8", "#", &["\"x\""]);
    diskmon("1 x 0.1 0 Read 8 8", "Time", &["\"x\""]);
    diskmon("1 1.5 x 0 Read 8 8", "Duration", &["\"x\""]);
    diskmon("1 1.5 0.1 C: Read 8 8", "Disk", &["\"C:\""]);
    diskmon("1 1.5 0.1 0 Erase 8 8", "Request", &["Read or Write"]);
    diskmon("1 1.5 0.1 0 Read x 8", "Sector", &["\"x\""]);
    diskmon("1 1.5 0.1 0 Read 8", "Length", &["missing"]);
    diskmon("1 1.5 0.1 0 Read 8 0", "Length", &["at least one byte"]);
    diskmon("1 1.5 0.1 0 Read 8 8 8", "Length", &["seven fields"]);
}

#[test]
fn biotracer_arrives_when_it_was_generated_by_a_steady_clock() {
    let text = "0\t\t8\t\t4096\t\t4\t\t1.5\t\t1.7\t\t2\t\t3\n8 2 1024 5 1.6 1.8 2 3\n\
        8 2 1024 1 2.0 99999999.9 99999999.9 99999999.9\n8 2 1024 0 99999999.8 100000000.1 100000001 100000001\n";
    // The third was generated before its clock was set, so it arrives as it is taken up, with no time since the second.
    let expected = [
        (0, 0, 4096, Op::Read),
        (100_000_000, 4096, 1024, Op::Write),
        (300_000_000, 4096, 1024, Op::Write),
        (200_000_000, 4096, 1024, Op::Read),
    ];
    let mut sorted = expected;
    sorted.sort_by_key(|record| record.0);
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), sorted);
    assert!(remarks(text, &TraceOptions::default()).contains("the clock was set 1 times"));
    let trusted = TraceOptions { clock_jump: Some(Duration { ns: u64::MAX }), ..named("biotracer") };
    assert_eq!(parse(text, &trusted).unwrap()[3].0, 99_999_998_300_000_000);
}

#[test]
fn biotracer_refuses_what_is_wrong() {
    let biotracer =
        |line, field, parts: &[&str]| refuses("biotracer", "0 8 4096 4 1 2 3 4\n", line, field, parts);
    biotracer("x 8 4096 4 1 2 3 4", "lba", &["\"x\""]);
    biotracer("0 x 4096 4 1 2 3 4", "size_sectors", &["\"x\""]);
    biotracer("0 8 x 4 1 2 3 4", "size_bytes", &["\"x\""]);
    biotracer("0 8 8 4 1 2 3 4", "size_bytes", &["512 times"]);
    biotracer("0 0 0 4 1 2 3 4", "size_bytes", &["at least one byte"]);
    biotracer("0 8 4096 R 1 2 3 4", "type", &["\"R\""]);
    biotracer("0 8 4096 4 x 2 3 4", "t_generate", &["\"x\""]);
    biotracer("0 8 4096 4 1 x 3 4", "t_process", &["\"x\""]);
    biotracer("0 8 4096 4 1 2 x 4", "t_submit", &["\"x\""]);
    biotracer("0 8 4096 4 1 2 3", "t_finish", &["missing"]);
    biotracer("0 8 4096 4 1 2 3 4 5", "t_finish", &["eight fields"]);
}

#[test]
fn tencent_and_alibaba_number_their_volumes() {
    let tencent = "1538323200,8,16,0,1063\n1538323201,0,1,1,7\n1538323201,0,1,0,1063\n";
    let expected = [
        (0, 4096, 8192, Op::Read),
        (1_000_000_000, 64 * GIB, 512, Op::Write),
        (1_000_000_000, 0, 512, Op::Read),
    ];
    assert_eq!(parse(tencent, &TraceOptions::default()).unwrap(), expected);
    let alibaba = "device_id,opcode,offset,length,timestamp\n419,W,512,16384,1577808144360767\n3,R,0,1,1577808144360769\n";
    let expected = [(0, 512, 16_384, Op::Write), (2000, 64 * GIB, 1, Op::Read)];
    assert_eq!(parse(alibaba, &TraceOptions::default()).unwrap(), expected);
}

#[test]
fn tencent_and_alibaba_refuse_what_is_wrong() {
    let tencent = |line, field, parts: &[&str]| refuses("tencent", "50,8,16,0,7\n", line, field, parts);
    tencent("x,8,16,0,7", "Timestamp", &["\"x\""]);
    tencent("49,8,16,0,7", "Timestamp", &["backwards"]);
    tencent("50,x,16,0,7", "Offset", &["\"x\""]);
    tencent("50,8,0,0,7", "Size", &["at least one byte"]);
    tencent("50,8,16,2,7", "IOType", &["0 (read) or 1 (write)"]);
    tencent("50,8,16,0", "VolumeID", &["missing"]);
    tencent("50,8,16,0,7,7", "VolumeID", &["five fields"]);
    tencent("50,8,134217728,0,8", "VolumeID", &["overlap", "device_stride"]);
    let alibaba = |line, field, parts: &[&str]| refuses("alibaba", "7,W,0,1,50\n", line, field, parts);
    alibaba(",W,0,1,50", "device_id", &["missing"]);
    alibaba("7,w,0,1,50", "opcode", &["\"w\""]);
    alibaba("7,W,x,1,50", "offset", &["\"x\""]);
    alibaba("7,W,0,0,50", "length", &["at least one byte"]);
    alibaba("7,W,0,1,49", "timestamp", &["backwards"]);
    alibaba("7,W,0,1", "timestamp", &["missing"]);
    alibaba("7,W,0,1,50,1", "timestamp", &["five fields"]);
}

#[test]
fn wpa_goes_by_its_header() {
    let text = "\u{feff}Disks;Size (B);Init Time (ms);IO Type;Min Offset\n1;\"4,096\";\"1,000.5\";Read;0x1,0000\n0;;1001;Flush;\n0;1;1000.25;Write;7\n";
    let expected = [
        (1_000_250_000, 64 * GIB + 7, 1, Op::Write),
        (1_000_500_000, 65_536, 4096, Op::Read),
        (1_001_000_000, 0, 0, Op::Flush),
    ];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let bare = "Path\tIO Type\tInit Time\tOffset\tSize\n\"C:\\a \"\"b\tc\"\"\"\tRead\t1\t0\t1\n";
    assert_eq!(parse(bare, &TraceOptions::default()).unwrap(), [(1_000_000_000, 0, 1, Op::Read)]);
    assert!(remarks(bare, &TraceOptions::default()).contains("seconds were assumed"));
}

#[test]
fn wpa_refuses_what_is_wrong() {
    let header = "IO Type,Init Time (s),Min Offset,Size (B),Disk,Count\n";
    let wpa = |line, field, parts: &[&str]| refuses("wpa", header, line, field, parts);
    wpa("Erase,1,0,1,0,1", "IO Type", &["Read, Write or Flush"]);
    wpa("Read,x,0,1,0,1", "Init Time", &["\"x\""]);
    wpa("Read,\"0,500001\",0,1,0,1", "Init Time", &["\"0,500001\"", "export in English"]);
    wpa("Read,\"0,500\",0,1,0,1", "Init Time", &["English"]);
    wpa("Read,\"1,2345\",0,1,0,1", "Init Time", &["English"]);
    wpa("Read,\"1,234.5,6\",0,1,0,1", "Init Time", &["English"]);
    wpa("Read,\",123\",0,1,0,1", "Init Time", &["English"]);
    wpa("Read,1,\"0x1,000\",1,0,1", "Offset", &["English"]);
    wpa("Read,1,0xg,1,0,1", "Offset", &["hexadecimal"]);
    wpa("Read,1,0x,1,0,1", "Offset", &["hexadecimal"]);
    wpa("Read,1,0x10000000000000000,1,0,1", "Offset", &["hexadecimal"]);
    wpa("Read,1,,1,0,1", "Offset", &["missing"]);
    wpa("Read,1,0,0,0,1", "Size", &["at least one byte"]);
    wpa("Read,1,0,4k,0,1", "Size", &["\"4k\""]);
    wpa("Read,1,0,1,,1", "Disk", &["missing"]);
    wpa("Read,1,0,1,0,12", "Count", &["sums several requests"]);
    wpa("Read", "Count", &["missing"]);
    refuses("wpa", "", "IO Type,Init Time (s),Size", "header", &["no column Offset", "Min Offset"]);
    refuses("wpa", "", "IO Type,Init Time (days),Min Offset,Size", "header", &["\"(days)\""]);
}

#[test]
fn wiscsee_has_bytes_and_seconds() {
    let text =
        "9 D read 8 4096 0.5 0 False\n9 D discard 0 1 0.5 6.942e-06 True\n9 D flush 0 0 1.0 0.5 True\n";
    let expected =
        [(500_000_000, 8, 4096, Op::Read), (500_000_000, 0, 1, Op::Trim), (1_000_000_000, 0, 0, Op::Flush)];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let wiscsee =
        |line, field, parts: &[&str]| refuses("wiscsee", "9 D read 8 4096 0.5 0 False\n", line, field, parts);
    wiscsee("x D read 8 4096 0.5 0 False", "pid", &["\"x\""]);
    wiscsee("9 Q read 8 4096 0.5 0 False", "action", &["\"Q\""]);
    wiscsee("9 D open 8 4096 0.5 0 False", "op", &["\"open\""]);
    wiscsee("9 D read -8388608 4096 0.5 0 False", "offset", &["\"-8388608\""]);
    wiscsee("9 D read 8 0 0.5 0 False", "size", &["at least one byte"]);
    wiscsee("9 D read 8 4096 0.4 0 False", "time", &["backwards"]);
    wiscsee("9 D read 8 4096 0.5", "delta", &["missing"]);
    wiscsee("9 D read 8 4096 0.5 0 maybe", "sync", &["\"maybe\""]);
    wiscsee("9 D read 8 4096 0.5 0 True 1", "sync", &["eight fields"]);
}

fn columns(text: &str) -> TraceOptions {
    TraceOptions { columns: Some(text.parse().unwrap()), ..TraceOptions::default() }
}

#[test]
fn columns_mean_what_the_user_says() {
    let options = TraceOptions {
        header_lines: 1,
        ..columns("skip, device, op:28=read/2a=write/-=skip, size:pages, offset:sectors, time:filetime")
    };
    let text = "name;disk;op;size;offset;when\na b;x;28;1;8;1000\nc;y;2a;2;0;1001;more\n;y;-;0;0;1\n";
    let expected = [(0, 4096, 4096, Op::Read), (100, 64 * GIB, 8192, Op::Write)];
    assert_eq!(parse(text, &options).unwrap(), expected);
    let ssdtrace = "0 0 981649464 24 0\n10 0 401128832 8 1\n";
    let options = columns("time:us,skip,offset:sectors,size:512B,op");
    let expected = [(0, 981_649_464 * 512, 24 * 512, Op::Write), (10_000, 401_128_832 * 512, 4096, Op::Read)];
    assert_eq!(parse(ssdtrace, &options).unwrap(), expected);
    assert!(remarks(ssdtrace, &options).contains("op 1 was taken for a read"));
    let timeless = columns("op,offset:bytes,size:bytes");
    assert_eq!(
        parse("READ\t0\t1\nTrim\t1\t1\n", &timeless).unwrap(),
        [(0, 0, 1, Op::Read), (0, 1, 1, Op::Trim)]
    );
    assert!(remarks("w,0,1\n", &timeless).contains("no column is a time"));
}

#[test]
fn columns_refuse_what_is_wrong() {
    let options = columns("time:us,op,offset:sectors,size:bytes,device");
    let wrong = |line, field, parts: &[&str]| refuses_with(&options, "5,R,0,1,a\n", line, field, parts);
    wrong("x,R,0,1,a", "time", &["\"x\""]);
    wrong("4,R,0,1,a", "time", &["backwards"]);
    wrong("6,A,0,1,a", "op", &["\"A\"", "op:word=read"]);
    wrong("6,R,-1,1,a", "offset", &["\"-1\""]);
    wrong("6,R,0,0,a", "size", &["at least one byte"]);
    wrong("6,R,0,1", "device", &["missing"]);
    refuses_with(&options, "", "6 R 0 1", "line", &["5 columns between commas"]);
    refuses_with(
        &columns("op:a=read,offset:bytes,size:bytes"),
        "a 0 1\n",
        "b 0 1",
        "op",
        &["\"b\"", "allowed: a"],
    );
    let refused = |text: &str| text.parse::<Columns>().unwrap_err().to_string();
    assert!(refused("time,op,offset:bytes,size:bytes").contains("time has no unit, as in time:us"));
    assert!(refused("op,offset,size:bytes").contains("offset has no unit"));
    assert!(refused("op,offset:byte,size:bytes").contains("did you mean \"bytes\"?"));
    assert!(refused("op,offset:0B,size:bytes").contains("no unit of bytes"));
    assert!(refused("time:day,op,offset:bytes,size:bytes").contains("no unit of time"));
    assert!(refused("opp,offset:bytes,size:bytes").contains("did you mean \"op\"?"));
    assert!(refused("op:1=raed,offset:bytes,size:bytes").contains("did you mean \"read\"?"));
    assert!(refused("op:1,offset:bytes,size:bytes").contains("word and its meaning"));
    assert!(refused("device:x,op,offset:bytes,size:bytes").contains("device has no unit"));
    assert!(refused("op,size:bytes").contains("0 columns are offset, exactly one expected"));
    assert!(refused("time:s,time:s,op,offset:bytes,size:bytes").contains("2 columns are time, at most one"));
}

#[test]
fn columns_are_an_option_of_their_own() {
    let given = r#"{ "columns": "op,offset:bytes,size:bytes", "header_lines": 2 }"#;
    let options: TraceOptions = serde_json::from_str(given).unwrap();
    assert_eq!(options.columns.as_ref().unwrap().to_string(), "op,offset:bytes,size:bytes");
    let back = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<TraceOptions>(&back).unwrap(), options);
    assert!(serde_json::from_str::<TraceOptions>(r#"{ "columns": "op" }"#).is_err());
    let missing = TraceOptions { format: Some("columns".to_owned()), ..TraceOptions::default() };
    assert!(parse("x", &missing).unwrap_err().starts_with("columns: not given"));
    let both = TraceOptions { columns: options.columns, ..named("fio") };
    assert!(parse("x", &both).unwrap_err().contains("expected one of the two"));
}

#[test]
fn a_step_of_the_clock_is_left_out_where_the_user_says_so() {
    let text = "fio version 3 iolog\n5 d read 0 1\n7 d read 1 1\n5000007 d read 2 1\n5000008 d read 3 1\n";
    let options = TraceOptions { clock_jump: Some(Duration { ns: 1_000_000_000 }), ..named("fio") };
    let times: Vec<_> = parse(text, &options).unwrap().iter().map(|r| r.0).collect();
    assert_eq!(times, [5000, 7000, 7000, 8000]);
    assert!(remarks(text, &options).contains("1 pauses, 5s in all, were left out"));
    let back = text.to_owned() + "5000000 d read 0 1\n";
    assert!(parse(&back, &options).unwrap_err().contains("backwards by 8us"));
}

#[test]
fn what_waits_for_its_turn_is_blamed_by_its_own_line() {
    let text = "6,0,R,0,0,1\n5,0,R,0,0,0\n7,0,R,0,0,1\n";
    assert!(parse(text, &named("systor")).unwrap_err().starts_with("t:2: Size: 0 is not a length"));
    let skip = TraceOptions { on_error: OnError::Skip, ..named("systor") };
    let times: Vec<_> = parse(text, &skip).unwrap().iter().map(|r| r.0).collect();
    assert_eq!(times, [0, 1_000_000_000]);
    assert!(remarks(text, &skip).contains("1 records were skipped, the first: t:2: Size"));
}
