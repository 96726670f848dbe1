//! The text formats with their own parsers: the meaning of records, and all malformed fields.

use crate::common::{STRIDE, drain, named, parse, refuses, remarks};
use coflash_trace::{TraceEvent, TraceOptions, from_reader};
use coflash_workload::{Op, Source};
use proptest::prelude::*;
use std::io::Cursor;

#[test]
fn fio_version_3_has_a_time_on_every_line() {
    let text = "fio version 3 iolog\n0 sda add\n1 sda open\n10 sda read 4096 8192\n12 sda write 0 512\n\
                12 sda sync 0 0\n20 sda trim 1 1\n99 sda close\n";
    let expected = [
        (10_000, 4096, 8192, Op::Read),
        (12_000, 0, 512, Op::Write),
        (12_000, 0, 0, Op::Flush),
        (20_000, 1, 1, Op::Trim),
    ];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let synced = "fio version 3 iolog\n0 d read 0 1\n1 d datasync 77 88\n";
    assert_eq!(parse(synced, &named("fio")).unwrap()[1], (1000, 0, 0, Op::Flush));
}

#[test]
fn fio_version_2_waits() {
    let text = "fio version 2 iolog\nd add\nd open\nd wait 7\nd read 0 1\nd wait 3 0\nd write 1 2\nd sync 0 0\nd close\n";
    let expected = [(7000, 0, 1, Op::Read), (10_000, 1, 2, Op::Write), (10_000, 0, 0, Op::Flush)];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let source = from_reader("t", Box::new(Cursor::new(text)), &TraceOptions::default());
    let mut source = source.unwrap();
    drain(&mut source).unwrap();
    assert!(source.remarks()[0].contains("no times"), "{:?}", source.remarks());
}

#[test]
fn fio_refuses_malformed_records() {
    let fio = |line, field, parts: &[&str]| {
        refuses("fio", "fio version 3 iolog\n5 d read 0 1\n", line, field, parts)
    };
    fio("x d read 0 1", "time", &["\"x\" is not a whole number"]);
    fio("-1 d read 0 1", "time", &[]);
    fio("18446744073709551616 d read 0 1", "time", &["below 2^64"]);
    fio("18446744073709552 d read 0 1", "time", &["times 1000"]);
    fio("4 d read 0 1", "time", &["backwards", "4000 ns after 5000 ns", "skip"]);
    fio("6", "file", &["missing"]);
    fio("6 d", "action", &[]);
    fio("6 d raed 0 1", "action", &["\"raed\"", "did you mean \"read\"?", "datasync"]);
    fio("6 d wait 10", "action", &["version 2"]);
    fio("6 d read", "offset", &["missing"]);
    fio("6 d read 1.5 1", "offset", &["\"1.5\""]);
    fio("6 d read 0", "length", &["missing"]);
    fio("6 d read 0 4k", "length", &["\"4k\""]);
    fio("6 d read 9223372036854775807 2", "offset", &["2^63"]);
    fio("6 d read 18446744073709551615 18446744073709551615", "offset", &["2^63"]);
    fio("6 d read 0 1 7", "line", &["\"7\""]);
    fio("6 d open 0", "line", &["\"0\""]);
    fio("6 d sync a 0", "offset", &["\"a\""]);
    let fio = |line, field, parts: &[&str]| refuses("fio", "fio version 2 iolog\n", line, field, parts);
    fio("d wait", "wait", &["missing"]);
    fio("d wait 18446744073709551615", "wait", &["times 1000"]);
    fio("d wait 1 x", "length", &["\"x\""]);
    fio("d wiat 1", "action", &["did you mean \"wait\"?"]);
    refuses("fio", "fio version 2 iolog\nd wait 18446744073709551\n", "d wait 1", "wait", &["clock"]);
    refuses("fio", "", "fio version 4 iolog", "header", &["version 2", "version 3"]);
    refuses("fio", "", "0 d read 0 1", "header", &[]);
    // The largest allowed number.
    let last = parse("fio version 3 iolog\n0 d trim 0 9223372036854775808\n", &named("fio")).unwrap();
    assert_eq!(last, [(0, 0, 1 << 63, Op::Trim)]);
}

proptest! {
    #[test]
    fn whole_numbers_come_back_as_written(records in proptest::collection::vec((0..1_u64 << 40, 0..1_u64 << 50, 1..1_u64 << 32, any::<bool>()), 1..50)) {
        let mut records = records;
        records.sort_unstable();
        let kind = |read| if read { ("read", Op::Read) } else { ("write", Op::Write) };
        let text: String = records.iter().map(|(t, o, l, r)| format!("{t} d {} {o} {l}\n", kind(*r).0)).collect();
        let expected: Vec<_> = records.iter().map(|(t, o, l, r)| (t * 1000, *o, *l, kind(*r).1)).collect();
        prop_assert_eq!(parse(&format!("fio version 3 iolog\n{text}"), &TraceOptions::default()), Ok(expected));
    }
}

const MD5: &str = "98b9cb7e1dd888f9dac2bf08af1c3cb2";

#[test]
fn fiu_has_sectors_nanoseconds_and_sums() {
    let text = format!(
        "500 25 kjournald 16 8 W 6 0 {MD5}\n900 25 a 0 1 R 6 1 {MD5}{MD5} {MD5}\n901 1 a 1 1 r 6 0 {MD5}\n"
    );
    let expected = [(0, 8192, 4096, Op::Write), (400, STRIDE, 512, Op::Read), (401, 512, 512, Op::Read)];
    assert_eq!(parse(&text, &TraceOptions::default()).unwrap(), expected);
    assert!(remarks(&text, &named("fiu")).contains("0 is 6 0, 1 is 6 1"));
}

#[test]
fn fiu_refuses_malformed_records() {
    let fiu = |line: &str, field, parts: &[&str]| {
        let first = format!("500 25 kjournald 16 8 W 6 0 {MD5}\n");
        refuses("fiu", &first, &line.replace("MD5", MD5), field, parts);
    };
    fiu("x 1 a 0 1 R 6 0 MD5", "ts", &["\"x\""]);
    fiu("499 1 a 0 1 R 6 0 MD5", "ts", &["backwards"]);
    fiu("600 1", "op", &["missing"]);
    fiu("600 1 a 0.5 1 R 6 0 MD5", "lba", &["\"0.5\""]);
    fiu("600 1 a 36028797018963968 1 R 6 0 MD5", "lba", &["times 512"]);
    fiu("600 1 a 0 1 X 6 0 MD5", "op", &["allowed: R, r, W, w"]);
    fiu("600 1 a 0 1 R x 0 MD5", "major", &["\"x\""]);
    fiu("600 1 a 0 1 R 6 x MD5", "minor", &["\"x\""]);
    fiu("600 1 a 0 1 R 6", "minor", &["missing"]);
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
    assert!(said.contains("requests include a flush"), "{said}");
    let completed = event("0.1", "C   R 8 + 8 [0]");
    assert!(remarks(&completed, &TraceOptions::default()).contains("completion (C)"));
    let asked = TraceOptions { event: Some(TraceEvent::Issue), ..named("blkparse") };
    assert!(parse(&queued, &asked).unwrap_err().contains("no requests"));
}

#[test]
fn blkparse_refuses_malformed_records() {
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
        (400_000_000, 0, 40_960, Op::Trim),
    ];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let said = remarks(text, &TraceOptions::default());
    for part in
        ["lost events at 1 places", "write zeroes", "1 block_rq_complete, 1 block_rq_insert, 1 sched_switch"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let completed = TraceOptions { event: Some(TraceEvent::Complete), ..named("ftrace") };
    assert_eq!(parse(text, &completed).unwrap(), [(0, 4096, 4096, Op::Read)]);
    let queued = "rep-3 [007] .... 19654.9: block_bio_queue: 8,0 FWS 0 + 0 [rep]\n";
    assert_eq!(parse(queued, &TraceOptions::default()).unwrap(), [(0, 0, 0, Op::Flush)]);
    assert!(remarks(queued, &TraceOptions::default()).contains("taken at block_bio_queue"));
    // perf trace, with and without the names of its values.
    let traced = "  0.250 dd/7 block:block_rq_issue:8,0 W 4096 () 8 + 8 [dd]\n\
        0.500 kworker/u8:2/99 block:block_rq_issue(dev: 8388608, sector: 8, nr_sector: 8, bytes: 4096, rwbs: \"RA\", cmd: \"\")\n";
    let ops: Vec<_> = parse(traced, &TraceOptions::default()).unwrap().iter().map(|r| (r.0, r.3)).collect();
    assert_eq!(ops, [(0, Op::Write), (250_000, Op::Read)]);
}

#[test]
fn ftrace_refuses_malformed_records() {
    let first = "a-1 [001] .... 5.5: block_rq_issue: 259,0 W 4096 () 8 + 8 [a]\n";
    let ftrace = |line: &str, field, parts: &[&str]| refuses("ftrace", first, line, field, parts);
    ftrace("a remark", "time", &["\"a remark\""]);
    ftrace("a-1 [001] .... soon: block_rq_issue: 259,0 W 4096 () 8 + 8 [a]", "time", &["an event"]);
    ftrace("a-1 [001] .... 5.5.5: block_rq_issue: 259,0 W 4096 () 8 + 8 [a]", "time", &["\"5.5.5\""]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: sda W 4096 () 8 + 8 [a]", "device", &["\"sda\""]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: 8,0 Q 4096 () 8 + 8 [a]", "rwbs", &["\"Q\""]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: 8,0 W 4096 ()", "sectors", &["`sector + sectors`"]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: 8,0 W 4096 () x + 8 [a]", "sector", &["\"x\""]);
    ftrace("a-1 [001] .... 5.5: block_rq_issue: 8,0 W 4096 () 8 + x [a]", "sectors", &["\"x\""]);
}

#[test]
fn wpa_goes_by_its_header() {
    let text = "\u{feff}Disks;Size (B);Init Time (ms);IO Type;Min Offset\n1;\"4,096\";\"1,000.5\";Read;0x1,0000\n0;;1001;Flush;\n0;1;1000.25;Write;7\n";
    let expected = [
        (1_000_250_000, STRIDE + 7, 1, Op::Write),
        (1_000_500_000, 65_536, 4096, Op::Read),
        (1_001_000_000, 0, 0, Op::Flush),
    ];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let bare = "Path\tIO Type\tInit Time\tOffset\tSize\n\"C:\\a \"\"b\tc\"\"\"\tRead\t1\t0\t1\n";
    assert_eq!(parse(bare, &TraceOptions::default()).unwrap(), [(1_000_000_000, 0, 1, Op::Read)]);
    assert!(
        remarks(bare, &TraceOptions::default()).contains("times in s, addresses in bytes, sizes in bytes")
    );
}

#[test]
fn wpa_tables_of_any_language_are_read() {
    let german = "IO Type;Init Time (s);Min Offset;Size (B)\nRead;0,500001200;0x1000;4.096\n\
                  Write;1.234,567000000;512;512\nRead;1.234,600;0;16.384\nRead;1235,5;0;1\n";
    let expected = [
        (500_001_200, 4096, 4096, Op::Read),
        (1_234_567_000_000, 512, 512, Op::Write),
        (1_234_600_000_000, 0, 16_384, Op::Read),
        (1_235_500_000_000, 0, 1, Op::Read),
    ];
    assert_eq!(parse(german, &TraceOptions::default()).unwrap(), expected);
    assert!(remarks(german, &TraceOptions::default()).contains("read with a decimal comma"));
    // The first unambiguous number determines the decimal sign of the others.
    let times = |first: &str| {
        let text = format!("IO Type,Init Time,Offset,Size\nRead,\"{first}\",0,1\nRead,\"1,234\",0,1\n");
        parse(&text, &TraceOptions::default()).unwrap()[1].0
    };
    assert_eq!(times("0,5"), 1_234_000_000);
    assert_eq!(times("0.5"), 1_234_000_000_000);
    assert_eq!(times("1,000"), 1_234_000_000_000);
}

#[test]
fn wpa_refuses_malformed_records() {
    let header = "IO Type,Init Time (s),Min Offset,Size (B),Disk,Count\n";
    let wpa = |line, field, parts: &[&str]| refuses("wpa", header, line, field, parts);
    wpa("Raed,1,0,1,0,1", "op", &["\"Raed\" is not an operation", "did you mean"]);
    wpa("Read,x,0,1,0,1", "time", &["\"x\""]);
    wpa("Read,\"1,234.5,6\",0,1,0,1", "time", &["\"1,234.5,6\" is not a decimal number"]);
    wpa("Read,\"1.2,3.4\",0,1,0,1", "time", &["\"1.2,3.4\" is not a decimal number"]);
    wpa("Read,1,\"0x1,000\",1,0,1", "offset", &["\"0x1,000\" is not a whole number"]);
    wpa("Read,1,0,1.5,0,1", "size", &["\"1.5\""]);
    wpa("Read,1,0xg,1,0,1", "offset", &["\"0xg\""]);
    wpa("Read,1,0x,1,0,1", "offset", &["\"0x\""]);
    wpa("Read,1,0x10000000000000000,1,0,1", "offset", &["0x1000"]);
    wpa("Read,1,,1,0,1", "offset", &["missing"]);
    wpa("Read,1,0,4k,0,1", "size", &["\"4k\""]);
    wpa("Read,1,0,1,,1", "device", &["missing"]);
    wpa("Read,1,0,1,0,12", "word", &["\"12\"", "allowed: 1"]);
    wpa("Read", "time", &["missing"]);
    refuses("wpa", "", "IO Type,Init Time (s),Size", "header", &["is not a header that names", "Min Offset"]);
}
