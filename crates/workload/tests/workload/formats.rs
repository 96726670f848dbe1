//! Each format: what it means, and every way in which a record can be wrong.

use crate::common::{drain, named, parse, plain, refuses};
use coflash_base::{Bytes, Duration};
use coflash_workload::trace::{Units, from_reader};
use coflash_workload::{OnError, Op, Source, TraceOptions, formats};
use proptest::prelude::*;
use std::io::Cursor;

const GIB: u64 = 1 << 30;

/// One sample per format, each with four requests.
const SAMPLES: &[(&str, &str)] = &[
    (
        "fio",
        "fio version 3 iolog\n0 sda add\n1 sda open\n10 sda read 4096 8192\n12 sda write 0 512\n12 sda sync 0 0\n20 sda trim 1 1\n99 sda close\n",
    ),
    (
        "msr",
        "128166385295514663,hm,0,Write,4096,2048,2833\n128166385295514663,hm,0,Read,0,512,1\n128166385295514670,hm,0,Read,512,512,1\n128166385295514680,hm,0,Write,1,1,0\n",
    ),
    ("spc", "0,303567,3584,w,0.000000\n0,55590,3072,R,0.026214\n0,0,1,r,0.026214\n0,1,512,W,1\n"),
    (
        "replay",
        "0.000 0 200626176 4096 0\n0.5 0 512 1024 1\n223.412 0 0 512 0\n223.412 0 3159347200 36864 0\n",
    ),
    ("ssdsim", "0 0 303567 7 0\n0 0 55590 6 1\n26214000 0 0 1 0\n26214001 0 1 1 1\n"),
    ("disksim", "0.5 0 8 16 1\n0.75 0 24 8 0\n1 0 0 1 0\n1.000001 0 1 1 1\n"),
    (
        "systor",
        "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,R,0,4096,512\n1456095145.126285000,0.008044000,W,0,0,1\n1456095145.2,,R,0,1,1\n1456095145.3,0,R,0,7,2\n",
    ),
    (
        "fiu",
        "467651 2522 kjournald 644661632 8 W 6 0 98b9cb7e1dd888f9dac2bf08af1c3cb2\n520943 2522 (null) 0 1 R 6 0 98b9cb7e1dd888f9dac2bf08af1c3cb2\n520943 1 a 1 1 W 6 0 98B9cb7e1dd888f9dac2bf08af1c3cb298b9cb7e1dd888f9dac2bf08af1c3cb2\n600000 1 a 1 8 R 6 0 98b9cb7e1dd888f9dac2bf08af1c3cb2 98b9cb7e1dd888f9dac2bf08af1c3cb2\n",
    ),
    (
        "blkparse",
        "  8,16   3        1     0.000011950  3645  Q   R 4938888 + 256 [java]\n  8,16   3        2     0.000026421  3645  D   R 4938888 + 256 [java]\n  8,16   3        3     0.000030000  3645  D  FN [java]\n  8,16   1        1     0.000020000  3645  D  WS 8 + 16 [a b]\n  8,16   1        0     0.000021000     0  m   N cfq3645S / insert_request\n  8,16   1        2     0.000040000  3645  D   D 0 + 8 [java]\n",
    ),
    (
        "ftrace",
        "# tracer: nop\n#\n kworker/4:1H-533   [004] d..1. 543348.164811: block_rq_insert: 259,0 RM 4096 () 2564656 + 8 [kworker/4:1H]\n kworker/4:1H-533   [004] d..1. 543348.164815: block_rq_issue: 259,0 RM 4096 () 2564656 + 8 [kworker/4:1H]\n fio 801 [000] 543348.164816: block:block_rq_issue: 259,0 WS 65536 () 128 + 128 none,0,0 |65536| [fio]\n fio 801 [000] 543348.164814: block:block_rq_issue: 259,0 FF 0 () 18446744073709551615 + 0 [fio]\n dd-1 [002] .... 543348.2: block_rq_issue: 259,0 D 0 + 8 [dd]\n",
    ),
    (
        "cloudphysics",
        "version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633898,28,512,1\n1,5633899,88,6656,2\n2,5633900,35,0,0\n",
    ),
    (
        "diskmon",
        "0\t0.047339\t0.00019073\t0\tRead\t1320146\t8\t\n1\t0.531680\t0.00000000\t0\tWrite\t1080376\t8\t\n2\t0.531679\t0.0\t0\tWrite\t8\t1\n3\t1\t0\t0\tRead\t0\t1\n",
    ),
    (
        "biotracer",
        "0\t\t8\t\t4096\t\t4\t\t1.740780627\t\t1.740812815\t\t1.740851877\t\t1.741075471\n8 8 4096 5 1.740800000 1.740912815 1.75 1.76\n376834 2 1024 0 10363866.696462397 10363866.696538959 10363866.766490991 10363866.8\n376840 8 4096 1 10363866.7 10363866.8 10363866.8 10363866.9\n",
    ),
    (
        "tencent",
        "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1063\n1538323201,0,1,0,1063\n1538323205,8,8,1,1063\n",
    ),
    (
        "alibaba",
        "419,W,8792731648,16384,1577808144360767\n419,R,0,512,1577808144360768\n419,W,512,512,1577808144360768\n419,R,0,1,1577808144370000\n",
    ),
    (
        "wpa",
        "IO Type,Priority,Process,Init Time (s),Complete Time (s),Size (B),Min Offset,Disk,Count\nRead,Normal,\"a, b (4)\",0.500001,0.6,\"4,096\",0x1000,0,1\nWrite,Normal,c,0.5,0.7,512,\"0x1,0000\",0,1\nFlush,Normal,c,0.6,0.7,,,0,1\nRead,Low,c,\"1,000.5\",\"1,000.6\",1,0,0,1\n",
    ),
    (
        "wiscsee",
        "909 D read 0 4096 0.000000000 0 False\n909 D write 134217728 4096 0.023623389 0.023623389 True\n909 D discard 0 512 0.1 6.942e-06 False\n1 D flush 0 0 0.2 0.1 True\n",
    ),
    ("columns", "10,R,8,4096\n12,write,0,512\n12,trim,1,1\n20,flush,0,0\n"),
];

fn sample(format: &str) -> &'static str {
    SAMPLES.iter().find(|(name, _)| *name == format).map(|(_, text)| *text).unwrap()
}

#[test]
fn fio_version_3_has_a_time_on_every_line() {
    let text = SAMPLES[0].1;
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
fn fio_refuses_what_is_wrong() {
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
    fio("6 d read 0 0", "length", &["at least one byte"]);
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
    // The largest that is allowed.
    let last = parse("fio version 3 iolog\n0 d trim 0 9223372036854775808\n", &named("fio")).unwrap();
    assert_eq!(last, [(0, 0, 1 << 63, Op::Trim)]);
}

#[test]
fn msr_counts_from_its_first_request() {
    let expected = [
        (0, 4096, 2048, Op::Write),
        (0, 0, 512, Op::Read),
        (700, 512, 512, Op::Read),
        (1700, 1, 1, Op::Write),
    ];
    let text = SAMPLES[1].1;
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let headed = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n{text}");
    assert_eq!(parse(&headed, &TraceOptions::default()).unwrap(), expected);
    let two_disks = "10,a,0,read,0,1,0\n11,a,1,WRITE,5,1,0\n12,a,0,Read,7,1,0\n";
    let offsets: Vec<_> = parse(two_disks, &named("msr")).unwrap().iter().map(|r| r.1).collect();
    assert_eq!(offsets, [0, 64 * GIB + 5, 7]);
}

#[test]
fn msr_refuses_what_is_wrong() {
    let msr = |line, field, parts: &[&str]| refuses("msr", "50,h,0,Read,0,1,2\n", line, field, parts);
    msr("x,h,0,Read,0,1,2", "Timestamp", &["\"x\""]);
    msr("184467440737095517,h,0,Read,0,1,2", "Timestamp", &["times 100"]);
    msr("49,h,0,Read,0,1,2", "Timestamp", &["backwards"]);
    msr("50,,0,Read,0,1,2", "Hostname", &["missing"]);
    msr("50,h,disk,Read,0,1,2", "DiskNumber", &["\"disk\""]);
    msr("50,h,0,Trim,0,1,2", "Type", &["\"Trim\" is not Read or Write"]);
    msr("50,h,0,Read,-1,1,2", "Offset", &["\"-1\""]);
    msr("50,h,0,Read,9223372036854775808,1,2", "Offset", &["2^63"]);
    msr("50,h,0,Read,0,0,2", "Size", &["at least one byte"]);
    msr("50,h,0,Read,0,,2", "Size", &["missing"]);
    msr("50,h,0,Read,0,1", "ResponseTime", &["missing"]);
    msr("50,h,0,Read,0,1,slow", "ResponseTime", &["\"slow\""]);
    msr("50,h,0,Read,0,1,2,3", "ResponseTime", &["last of seven"]);
    msr("50", "Hostname", &["missing"]);
    msr("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime", "Timestamp", &[]);
}

#[test]
fn spc_has_sectors_bytes_and_seconds() {
    let expected = [
        (0, 303_567 * 512, 3584, Op::Write),
        (26_214_000, 55_590 * 512, 3072, Op::Read),
        (26_214_000, 0, 1, Op::Read),
        (1_000_000_000, 512, 512, Op::Write),
    ];
    assert_eq!(parse(SAMPLES[2].1, &TraceOptions::default()).unwrap(), expected);
    let units = "0,1,512,r,0,extra\n2 , 1, 512, w , 0.5 ,x,y\n";
    let offsets: Vec<_> = parse(units, &named("spc")).unwrap().iter().map(|r| r.1).collect();
    assert_eq!(offsets, [512, 128 * GIB + 512]);
    let near = TraceOptions { device_stride: Bytes { count: 4096 }, ..named("spc") };
    let offsets: Vec<_> = parse(units, &near).unwrap().iter().map(|r| r.1).collect();
    assert_eq!(offsets, [512, 8192 + 512]);
}

#[test]
fn spc_refuses_what_is_wrong() {
    let spc = |line, field, parts: &[&str]| refuses("spc", "0,0,512,r,1.5\n", line, field, parts);
    spc("a,0,512,r,1.5", "ASU", &["\"a\""]);
    spc("288230376151711744,0,512,r,1.5", "ASU", &["2^63", "64GiB"]);
    spc("134217728,0,512,r,1.5", "LBA", &["2^63"]);
    spc("0,,512,r,1.5", "LBA", &["missing"]);
    spc("0,36028797018963968,512,r,1.5", "LBA", &["times 512"]);
    spc("0,18014398509481983,1024,r,1.5", "LBA", &["2^63"]);
    spc("1,134217728,512,r,1.5", "ASU", &["overlap", "64GiB", "device_stride"]);
    spc("0,0,0,r,1.5", "Size", &["at least one byte"]);
    spc("0,0,1.0,r,1.5", "Size", &["\"1.0\""]);
    spc("0,0,512,x,1.5", "Opcode", &["\"x\"", "R (read)"]);
    spc("0,0,512,rr,1.5", "Opcode", &[]);
    spc("0,0,512,r,1e3", "Timestamp", &["decimal"]);
    spc("0,0,512,r,-1", "Timestamp", &[]);
    spc("0,0,512,r", "Timestamp", &["missing"]);
    spc("0,0,512,r,1.499999999", "Timestamp", &["backwards"]);
    spc("0,0,512,r,18446744073.709551616", "Timestamp", &["below 2^64"]);
}

#[test]
fn disksim_has_the_units_it_is_told() {
    let expected = [
        (500_000, 4096, 8192, Op::Read),
        (750_000, 12_288, 4096, Op::Write),
        (1_000_000, 0, 512, Op::Write),
        (1_000_001, 512, 512, Op::Read),
    ];
    assert_eq!(parse(sample("disksim"), &TraceOptions::default()).unwrap(), expected);
    let units = Units {
        time: Some(Duration { ns: 1 }),
        address: Some(Bytes { count: 1 }),
        size: Some(Bytes { count: 4096 }),
    };
    let options = TraceOptions { units, ..named("disksim") };
    let input = Box::new(Cursor::new("938513000\t4  2 16 0\n938828000 0 1 1 0x\n".replace("0x", "1f")));
    let mut source = from_reader("t", input, &options).unwrap();
    let requests = drain(&mut source).unwrap();
    assert_eq!(
        (requests[0].arrival.ns, requests[0].offset, requests[0].length),
        (938_513_000, 256 * GIB + 2, 65_536)
    );
    assert_eq!(requests[1].op, Op::Read, "bit 0 of a hexadecimal number");
    let remarks = source.remarks();
    assert!(remarks[0].contains("several devices"), "{remarks:?}");
    assert!(
        remarks[1].contains("read as disksim, times in 1ns, addresses in 1B, sizes in 4KiB"),
        "{remarks:?}"
    );
}

#[test]
fn disksim_refuses_what_is_wrong() {
    let disksim = |line, field, parts: &[&str]| refuses("disksim", "1.5 0 0 1 1\n", line, field, parts);
    disksim("x 0 0 1 1", "time", &["\"x\" is not a decimal number"]);
    disksim("1. 0 0 1 1", "time", &[]);
    disksim("1.4 0 0 1 1", "time", &["backwards"]);
    disksim("18446744073709.551616 0 0 1 1", "time", &["below 2^64"]);
    disksim("1.5", "device", &["missing"]);
    disksim("1.5 sda 0 1 1", "device", &["\"sda\""]);
    disksim("1.5 0 0.5 1 1", "lba", &["\"0.5\""]);
    disksim("1.5 0 36028797018963968 1 1", "lba", &["times 512"]);
    disksim("1.5 0 18014398509481984 1 1", "lba", &["2^63"]);
    disksim("1.5 0 0 0 1", "size", &["at least one byte"]);
    disksim("1.5 0 0 -8 1", "size", &["\"-8\""]);
    disksim("1.5 0 0 1", "flags", &["missing"]);
    disksim("1.5 0 0 1 R", "flags", &["hexadecimal"]);
    disksim("1.5 0 0 1 1 9", "flags", &["five fields"]);
}

#[test]
fn line_ends_blank_lines_and_a_missing_last_end_change_nothing() {
    for (format, text) in SAMPLES {
        let expected = parse(text, &named(format)).unwrap();
        let variants = [
            text.replace('\n', "\r\n"),
            text.trim_end().to_owned(),
            text.replace('\n', "\n\n \t\r\n"),
            format!("\n\n{text}\n\n"),
            text.replace('\n', "  \n"),
        ];
        for variant in variants {
            assert_eq!(parse(&variant, &plain(format)).as_ref(), Ok(&expected), "{format}: {variant:?}");
        }
    }
}

#[test]
fn skipping_leaves_no_trace_of_what_is_skipped() {
    for (format, text) in SAMPLES {
        let options = TraceOptions { on_error: OnError::Skip, ..named(format) };
        let expected = parse(text, &options).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        // After the header, which must come first.
        lines.insert(1, "nonsense");
        lines.insert(2, "99999999999999999999,9 9 9");
        lines.push("last nonsense");
        let input = Box::new(Cursor::new(lines.join("\n")));
        let mut source = from_reader("t", input, &options).unwrap();
        let got: Vec<_> =
            drain(&mut source).unwrap().iter().map(|r| (r.arrival.ns, r.offset, r.length, r.op)).collect();
        assert_eq!(got, expected, "{format}");
        let remark = source.remarks().pop().unwrap();
        assert!(remark.starts_with("t: 3 records were skipped, the first: t:2: "), "{remark}");
        let error = parse("x\ny\n", &options).unwrap_err();
        assert!(error.contains("no requests") && error.contains("2 records were skipped"), "{error}");
    }
}

#[test]
fn every_format_is_recognised_from_its_content() {
    for (format, text) in SAMPLES {
        let input = Box::new(Cursor::new(text.as_bytes()));
        let source = from_reader("no-extension", input, &plain(format)).unwrap();
        assert_eq!(source.formats(), [*format]);
    }
    let names: Vec<_> = SAMPLES.iter().map(|s| s.0).chain(crate::common::BINARY).collect();
    assert_eq!(formats::names(), names, "every registered format has a sample here");
}

#[test]
fn a_file_is_recognised_by_most_of_its_lines_where_the_first_is_wrong() {
    let skip = TraceOptions { on_error: OnError::Skip, ..TraceOptions::default() };
    assert_eq!(parse("# a remark\n0,0,512,r,1\n", &skip).unwrap().len(), 1);
    let error = parse("# a remark\n# another\n0,0,512,r,1\n", &skip).unwrap_err();
    assert!(error.contains("its first line is \"# a remark\""), "{error}");
}

#[test]
fn a_record_within_the_slack_arrives_with_the_one_before() {
    let slack = TraceOptions { time_slack: Duration { ns: 2000 }, ..TraceOptions::default() };
    let text = "fio version 3 iolog\n5 d read 0 1\n3 d read 1 1\n4 d read 2 1\n6 d read 3 1\n";
    let times: Vec<_> = parse(text, &slack).unwrap().iter().map(|r| r.0).collect();
    assert_eq!(times, [5000, 5000, 5000, 6000]);
    let source = from_reader("t", Box::new(Cursor::new(text)), &slack);
    let mut source = source.unwrap();
    drain(&mut source).unwrap();
    assert!(source.remarks()[0].contains("2 records are earlier than the one before, by up to 2us"));
    // The slack does not add up: it counts from the latest.
    let error = parse(&text.replace("4 d", "2 d"), &slack).unwrap_err();
    assert!(
        error.contains("t:4: time: time runs backwards by 3us") && error.contains("time_slack = \"3us\""),
        "{error}"
    );
}

#[test]
fn a_flush_collides_with_nothing() {
    let text = "fio version 3 iolog\n0 a read 0 137438953472\n1 b sync 0 0\n2 a read 137438953472 1\n";
    assert_eq!(parse(text, &TraceOptions::default()).unwrap().len(), 3);
}

#[test]
fn a_mistake_further_down_is_still_reported_with_its_line() {
    for (format, text) in SAMPLES {
        let error = parse(&format!("{text}nonsense\n"), &plain(format)).unwrap_err();
        assert!(error.starts_with(&format!("t:{}: ", text.lines().count() + 1)), "{error}");
    }
}

#[test]
fn what_no_format_knows_is_shown_with_what_is_known() {
    let error = parse("  8,16 what is this?\n", &TraceOptions::default()).unwrap_err();
    for part in
        ["its first line is \"8,16 what", "fio `", "msr `Timestamp,", "spc `ASU,", "disksim `time device"]
    {
        assert!(error.contains(part), "{error}");
    }
    let error = parse("\u{1}\u{2}binary", &TraceOptions::default()).unwrap_err();
    assert!(error.contains("\\x01\\x02binary"), "{error}");
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let error = parse("x", &named("fioo")).unwrap_err();
    let names = formats::names().join(", ");
    assert_eq!(
        error,
        format!("format: \"fioo\" is not a trace format; did you mean \"fio\"? (allowed: {names})")
    );
    let none = TraceOptions { device_stride: Bytes { count: 0 }, ..TraceOptions::default() };
    assert!(parse("x", &none).unwrap_err().starts_with("device_stride: 0 given"));
}

#[test]
fn options_are_written_as_in_a_scenario() {
    let given = r#"{ "format": "disksim", "on_error": "skip", "units": { "time": "1us", "size": "4KiB" } }"#;
    let options: TraceOptions = serde_json::from_str(given).unwrap();
    assert_eq!(options.units.size, Some(Bytes { count: 4096 }));
    assert_eq!(options.units.address, None);
    assert_eq!(options.on_error, OnError::Skip);
    assert!(
        serde_json::from_str::<TraceOptions>(r#"{ "formt": "fio" }"#)
            .unwrap_err()
            .to_string()
            .contains("format")
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(format in 0..=SAMPLES.len(), lines in proptest::collection::vec("[0-9a-zDRW +,.\t\r\n-]{0,60}", 0..6), tail: Vec<u8>, skip: bool) {
        let mut options = SAMPLES.get(format).map_or_else(TraceOptions::default, |(name, _)| named(name));
        options.on_error = if skip { OnError::Skip } else { OnError::Stop };
        let head = SAMPLES.get(format).map_or("", |(_, text)| *text);
        let data = [head.as_bytes(), lines.join("\n").as_bytes(), &tail].concat();
        if let Ok(mut source) = from_reader("t", Box::new(Cursor::new(data)), &options)
            && let Ok(requests) = drain(&mut source)
        {
            prop_assert!(requests.is_sorted_by_key(|r| r.arrival));
            prop_assert!(requests.iter().all(|r| r.offset.checked_add(r.length).is_some_and(|end| end <= 1 << 63)));
            prop_assert!(requests.iter().all(|r| (r.length == 0) == (r.op == Op::Flush)));
        }
    }

    #[test]
    fn no_damage_to_a_sample_panics(
        format in 0..SAMPLES.len(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        skip: bool,
    ) {
        let (name, text) = SAMPLES[format];
        let mut data = text.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(data.len());
            data[at] = byte;
        }
        let on_error = if skip { OnError::Skip } else { OnError::Stop };
        let options = TraceOptions { on_error, ..named(name) };
        if let Ok(mut source) = from_reader("t", Box::new(Cursor::new(data)), &options)
            && let Ok(requests) = drain(&mut source)
        {
            prop_assert!(requests.is_sorted_by_key(|r| r.arrival));
        }
    }

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
