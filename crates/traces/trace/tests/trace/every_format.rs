//! The contract of every text format, each with a sample.

use crate::common::{drain, named, parse, plain};
use coflash_base::Bytes;
use coflash_trace::{OnError, TraceOptions, formats, from_reader};
use coflash_workload::{Op, Source};
use proptest::prelude::*;
use std::io::Cursor;

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
        "tencent",
        "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1063\n1538323201,0,1,0,1063\n1538323205,8,8,1,1063\n",
    ),
    (
        "alibaba",
        "419,W,8792731648,16384,1577808144360767\n419,R,0,512,1577808144360768\n419,W,512,512,1577808144360768\n419,R,0,1,1577808144370000\n",
    ),
    (
        "xperf",
        "BeginHeader\n DiskRead,  TimeStamp\nEndHeader\nOS Version: 6.0.6001, Trace Size: 3072KB\n\
         DiskWriteInit,  40100,  System ( 4),  100, 0xf1\n\
         DiskWrite,  40400,  System ( 4),  100, 0xf1, 0x1a2b000, 0x1000,  300,  0, 0x060043,  290,  Normal\n\
         DiskRead,  50900,  sqlservr.exe (2012),  7704, 0xf2, 0x0101a2b000, 0x2000,  800,  0, 0x060043,  790\n\
         DiskRead,  50950,  sqlservr.exe (2012),  7704, 0xf3, 0x0000a2b000, 0x2000,  10,  0, 0x060043,  7\n\
         DiskWrite,  50960,  System ( 4),  100, 0xf4, 0x0000a2b000, 0x200,  5,  0, 0x060043,  5\n",
    ),
    (
        "wpa",
        "IO Type,Priority,Process,Init Time (s),Complete Time (s),Size (B),Min Offset,Disk,Count\nRead,Normal,\"a, b (4)\",0.500001,0.6,\"4,096\",0x1000,0,1\nWrite,Normal,c,0.5,0.7,512,\"0x1,0000\",0,1\nFlush,Normal,c,0.6,0.7,,,0,1\nRead,Low,c,\"1,000.5\",\"1,000.6\",1,0,0,1\n",
    ),
    (
        "biosnoop",
        "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n0.000000    mysqld  1200  nvme0n1  W 16217088 4096 0.08\n0.000306 my sql thread 1201 nvme0n1 R 8 16384 0.69\n0.001 jbd2/vda1-8 422 nvme0n1 FF 0 0 1.11\n0.002 ? 0 nvme0n1 W 0 512 0.12\n",
    ),
    ("coflash", "ns,op,offset,size\n0,read,8,4096\n12,write,0,512\n13,trim,4096,8192\n20,flush,0,0\n"),
    (
        "wiscsee",
        "909 D read 0 4096 0.000000000 0 False\n909 D write 134217728 4096 0.023623389 0.023623389 True\n909 D discard 0 512 0.1 6.942e-06 False\n1 D flush 0 0 0.2 0.1 True\n",
    ),
    ("columns", "10,R,8,4096\n12,write,0,512\n12,trim,1,1\n20,flush,0,0\n"),
];

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
        // After the mandatory header.
        let at = lines.iter().position(|line| line.starts_with("OS Version")).unwrap_or(0) + 1;
        lines.insert(at, "nonsense");
        lines.insert(at + 1, "99999999999999999999,9 9 9");
        lines.push("last nonsense");
        let input = Box::new(Cursor::new(lines.join("\n")));
        let mut source = from_reader("t", input, &options).unwrap();
        let got: Vec<_> =
            drain(&mut source).unwrap().iter().map(|r| (r.arrival.ns, r.offset, r.length, r.op)).collect();
        assert_eq!(got, expected, "{format}");
        let remark = source.remarks().pop().unwrap();
        let first = format!("t: 3 records skipped, the first: t:{}: ", at + 1);
        assert!(remark.starts_with(&first), "{remark}");
        let error = parse("x\ny\n", &options).unwrap_err();
        assert!(error.contains("no requests") && error.contains("2 records skipped"), "{error}");
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
fn a_file_with_a_malformed_first_line_is_recognised_by_most_lines() {
    let skip = TraceOptions { on_error: OnError::Skip, ..TraceOptions::default() };
    assert_eq!(parse("a remark\n0,0,512,r,1\n", &skip).unwrap().len(), 1);
    let error = parse("a remark\nanother\n0,0,512,r,1\n", &skip).unwrap_err();
    assert!(error.contains("its first line is \"a remark\""), "{error}");
}

#[test]
fn a_mistake_further_down_is_still_reported_with_its_line() {
    for (format, text) in SAMPLES {
        let error = parse(&format!("{text}nonsense\n"), &plain(format)).unwrap_err();
        assert!(error.starts_with(&format!("t:{}: ", text.lines().count() + 1)), "{error}");
    }
}

#[test]
fn what_no_format_knows_is_shown_with_what_helps() {
    let error = parse("  8,16 what is this?\n", &TraceOptions::default()).unwrap_err();
    for part in ["its first line is \"8,16 what", "--read", "header_lines"] {
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
}
