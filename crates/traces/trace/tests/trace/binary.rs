//! The binary formats: the meaning of records, and all malformed fields.

use crate::common::{BINARY, STRIDE, drain, file, named};
use coflash_base::{Bytes, Duration};
use coflash_trace::{Arrangement, TraceEvent, from_reader, open};
use coflash_trace::{OnError, TraceOptions};
use coflash_workload::{Op, Source};
use proptest::prelude::*;
use std::io::Cursor;

const READ: u32 = 1 << 16;
const WRITE: u32 = 2 << 16;
const FLUSH: u32 = 4 << 16;
const PASS_THROUGH: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;

/// A record of blktrace: time, sector, bytes, action, and the data after it.
fn event(time: u64, sector: u64, bytes: u32, action: u32, pdu: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(time.to_le_bytes());
    record.extend(sector.to_le_bytes());
    for number in [bytes, action, 77, 8 << 20 | 16, 0] {
        record.extend(number.to_le_bytes());
    }
    record.extend(0_u16.to_le_bytes());
    record.extend((pdu.len() as u16).to_le_bytes());
    record.extend(pdu);
    record
}

/// The same in the other byte order.
fn swapped(record: &[u8]) -> Vec<u8> {
    let fields = [4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2];
    let (mut rest, mut out) = (record, Vec::new());
    for size in fields {
        let (field, tail) = rest.split_at(size);
        out.extend(field.iter().rev());
        rest = tail;
    }
    out.extend(rest);
    out
}

fn blktrace() -> Vec<Vec<u8>> {
    vec![
        event(1000, 0, 0, NOTIFY | 7, b"a name"),
        event(1000, 8, 4096, READ | 1, b""),
        event(2000, 8, 4096, READ | 7, b"pdu"),
        event(2500, 8, 4096, WRITE | FLUSH | 0x107, b""),
        event(3000, 16, 512, WRITE | DISCARD | 7, b""),
        event(3500, 0, 0, WRITE | FLUSH | 7, b""),
        event(3600, 0, 0, READ | 7, b""),
        event(3700, 0, 36, PASS_THROUGH | READ | 7, b""),
        event(9000, 8, 4096, READ | 8, b""),
    ]
}

fn vscsi(version: u16, command: u16, length: u32, sector: u64, time_us: u64) -> Vec<u8> {
    let (command, version) = (command.to_le_bytes(), (version << 8).to_le_bytes());
    let numbers = [1_u32.to_le_bytes(), length.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    let places = [sector.to_le_bytes(), time_us.to_le_bytes()].concat();
    match version[1] {
        1 => [&numbers[..], &command, &version, &places].concat(),
        _ => [&command[..], &version, &numbers, &places, &9_u64.to_le_bytes()].concat(),
    }
}

fn object(time: u32, id: u64, size: u32, next: i64) -> Vec<u8> {
    [&time.to_le_bytes()[..], &id.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
}

/// One sample per format that can be read from memory, cut into its records, with the header in the first.
fn samples() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    vec![
        ("blktrace", blktrace()),
        ("blktrace", blktrace().iter().map(|record| swapped(record)).collect()),
        ("vscsi", vec![vscsi(1, 0x28, 512, 8, 70), vscsi(1, 0x35, 0, 0, 71), vscsi(1, 0x2a, 4096, 1, 72)]),
        ("vscsi", vec![vscsi(2, 0x88, 512, 8, 70), vscsi(2, 0x8a, 4096, 1, 72)]),
        (
            "oracle-general",
            vec![object(5, 3, 100, 2), object(5, (1 << 60) + 7, 5000, -1), object(7, 3, 100, -1)],
        ),
    ]
}

type Read = Result<(Vec<(u64, u64, u64, Op)>, Vec<String>), String>;

fn parse(data: &[u8], options: &TraceOptions) -> Read {
    let read = || {
        let mut source = from_reader("t", Box::new(Cursor::new(data.to_vec())), options)?;
        let requests = drain(&mut source)?;
        let tuples = requests.iter().map(|r| (r.arrival.ns, r.offset, r.length, r.op)).collect();
        Ok((tuples, source.remarks()))
    };
    read().map_err(|error: coflash_workload::WorkloadError| error.to_string())
}

fn requests(data: &[u8]) -> Vec<(u64, u64, u64, Op)> {
    parse(data, &TraceOptions::default()).unwrap().0
}

#[test]
fn each_is_recognised_from_its_content() {
    for (format, records) in samples() {
        let source = from_reader("x", Box::new(Cursor::new(records.concat())), &TraceOptions::default());
        assert_eq!(source.unwrap().formats(), [format]);
        assert!(BINARY.contains(&format));
    }
}

#[test]
fn blktrace_takes_one_kind_of_event_in_either_order_of_bytes() {
    let expected = [
        (0, 4096, 4096, Op::Read),
        (500, 4096, 4096, Op::Write),
        (1000, 8192, 512, Op::Trim),
        (1500, 0, 0, Op::Flush),
    ];
    for (_, records) in &samples()[..2] {
        let (requests, remarks) = parse(&records.concat(), &TraceOptions::default()).unwrap();
        assert_eq!(requests, expected);
        assert_eq!(remarks.len(), 3);
        assert!(remarks[0].starts_with("requests have a length of 0"), "{remarks:?}");
        assert!(remarks[1].starts_with("requests include a flush"), "{remarks:?}");
        assert!(remarks[2].starts_with("1 command passed through"), "{remarks:?}");
        for event in [TraceEvent::Queue, TraceEvent::Complete] {
            let options = TraceOptions { event: Some(event), ..TraceOptions::default() };
            assert_eq!(parse(&records.concat(), &options).unwrap().0, [(0, 4096, 4096, Op::Read)]);
        }
    }
}

#[test]
fn vscsi_has_two_layouts() {
    let (read, write) = ((0, 4096, 512, Op::Read), (2000, 512, 4096, Op::Write));
    let samples = samples();
    let (requests, remarks) = parse(&samples[2].1.concat(), &TraceOptions::default()).unwrap();
    assert_eq!(requests, [read, write]);
    assert_eq!(remarks, ["commands that are neither read nor write are omitted (0x35 × 1)"]);
    assert_eq!(self::requests(&samples[3].1.concat()), [read, write]);
}

#[test]
fn objects_lie_a_stride_apart() {
    let data = samples()[4].1.concat();
    let (requests, remarks) = parse(&data, &TraceOptions::default()).unwrap();
    assert_eq!(
        requests,
        [(0, 12_288, 100, Op::Read), (0, 7 * 4096, 5000, Op::Read), (2_000_000_000, 12_288, 100, Op::Read)]
    );
    assert!(remarks[1].contains("1 request longer than the object_stride of 4KiB"), "{remarks:?}");
    let wide = TraceOptions { object_stride: Bytes { count: 10_000 }, ..TraceOptions::default() };
    let (requests, remarks) = parse(&data, &wide).unwrap();
    assert_eq!((requests[0].1, remarks.len()), (30_000, 1));
}

/// Check that `record` after the first one of the sample is refused as `field`.
fn refuses(sample: usize, record: Vec<u8>, field: &str, part: &str) {
    let (format, records) = &samples()[sample];
    let data = [records[0].clone(), record].concat();
    let error = parse(&data, &named(format)).unwrap_err();
    assert!(error.starts_with(&format!("t:2: {field}: ")) && error.contains(part), "{error}");
}

#[test]
fn records_that_are_wrong_are_refused() {
    refuses(0, event(1, 1 << 60, 1, READ | 7, b""), "sector", "times 512");
    refuses(0, event(1, 1 << 54, 512, READ | 7, b""), "sector", "2^63");
    refuses(0, b"not a record of any kind, but long enough for one".to_vec(), "magic", "\"not \"");
    refuses(0, swapped(&event(1, 1, 1, READ | 7, b"")), "magic", "that of a record");
    refuses(
        0,
        event(1, 1, 1, READ | 7, b"pdu")[..50].to_vec(),
        "record",
        "ends after 50 of at least 51 bytes",
    );
    refuses(2, vscsi(1, 0x28, 1, 1 << 60, 80), "lbn", "times 512");
    refuses(2, vscsi(1, 0x28, 1, 1, u64::MAX), "ts", "times 1000");
    refuses(2, vscsi(1, 0x28, 1, 1, 69), "ts", "backwards by 1us");
    refuses(2, vscsi(2, 0x28, 1, 1, 80), "ver", "not 1, the version of the file");
    refuses(4, object(4, 1, 1, -1), "time", "backwards");
    refuses(4, object(5, 1, 1, -2), "next_access_vtime", "-2");
    refuses(4, object(5, 1, 1, 9)[..23].to_vec(), "record", "ends after 23 of at least 24 bytes");
}

#[test]
fn headers_that_are_wrong_are_refused() {
    let refused = |format: &str, data: &[u8], field: &str, part: &str| {
        let error = parse(data, &named(format)).unwrap_err();
        assert!(error.starts_with(&format!("t:1: {field}: ")) && error.contains(part), "{error}");
    };
    let mut old = event(1, 1, 1, READ | 7, b"");
    old[0] = 6;
    refused("blktrace", &old, "magic", "version 6 is not version 7");
    refused("blktrace", b"text", "magic", "0x65617407");
    refused("vscsi", &[7; 40], "ver", "version 1 or 2");
    for format in BINARY {
        let error = parse(b"", &named(format)).unwrap_err();
        assert!(error.starts_with("t: "), "{error}");
    }
}

#[test]
fn skipping_continues_after_a_malformed_record() {
    let skip = TraceOptions { on_error: OnError::Skip, ..TraceOptions::default() };
    let data = [object(5, 1, 1, -1), object(4, 1, 1, -1), object(6, 1, 1, -1), vec![0; 7]].concat();
    let options = TraceOptions { format: Some("oracle-general".to_owned()), ..skip.clone() };
    let (requests, remarks) = parse(&data, &options).unwrap();
    assert_eq!(requests.len(), 2);
    assert!(remarks[1].starts_with("t: 2 records skipped, the first: t:2: time: "), "{remarks:?}");
    // After a malformed length, the begin of the next record is unknown.
    let lost = [event(1, 1, 1, READ | 7, b""), vec![1; 48]].concat();
    assert!(parse(&lost, &skip).unwrap_err().starts_with("t:2: magic: "));
}

/// A tar archive of the files.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 1).unwrap()
}

fn read_files(paths: &[String], options: &TraceOptions) -> Read {
    let read = || {
        let mut source = open(paths, options)?;
        let requests = drain(&mut source)?;
        assert_eq!(source.progress(), Some(1.0));
        let tuples = requests.iter().map(|r| (r.arrival.ns, r.offset, r.length, r.op)).collect();
        Ok((tuples, source.remarks()))
    };
    read().map_err(|error: coflash_workload::WorkloadError| error.to_string())
}

#[test]
fn files_of_processors_are_merged_by_time_wherever_they_lie() {
    let cpus: Vec<Vec<u8>> = (0..3_u64)
        .map(|cpu| (0..5).flat_map(|i| event(100 + i * 3 + cpu, i * 3 + cpu, 1, READ | 7, b"")).collect())
        .collect();
    let expected: Vec<_> = (0..15).map(|i| (i, i * 512, 1, Op::Read)).collect();
    let options = TraceOptions::default();
    let mut paths: Vec<_> =
        cpus.iter().enumerate().map(|(i, data)| file("cpus", &format!("t.blktrace.{i}"), data)).collect();
    // A processor without events.
    paths.insert(0, file("cpus", "t.blktrace.idle", b""));
    let (requests, remarks) = read_files(&paths, &options).unwrap();
    assert_eq!(requests, expected);
    assert!(remarks[0].ends_with("it is empty") && remarks[1] == "files merged by time: 3", "{remarks:?}");

    let archive = tar(&[("t/0", &cpus[0]), ("t/idle", b""), ("t/1", &zstd(&cpus[1])), ("t/2", &cpus[2])]);
    for (name, data) in [("a.tar", archive.clone()), ("a.tar.zst", zstd(&archive))] {
        let path = file("cpus", name, &data);
        assert_eq!(read_files(std::slice::from_ref(&path), &options).unwrap().0, expected);
        let sequence = TraceOptions { merge: Some(Arrangement::Sequence), ..TraceOptions::default() };
        let times: Vec<_> = read_files(&[path], &sequence).unwrap().0.iter().map(|r| r.0).collect();
        assert_eq!(times, [0, 3, 6, 9, 12, 12, 15, 18, 21, 24, 24, 27, 30, 33, 36]);
    }
    let error = from_reader("t", Box::new(Cursor::new(archive)), &options).err().unwrap().to_string();
    assert!(error.contains("an archive: give it as a file"), "{error}");
    let bad = file("cpus", "bad.tar", tar(&[("0", &cpus[0]), ("1", &cpus[1][..50])]));
    let error = read_files(&[bad], &options).unwrap_err();
    assert!(error.contains("bad.tar/1:2: record: the file ends after 2 of"), "{error}");
    let nothing = file("cpus", "nothing.tar", tar(&[("0", b"")]));
    assert!(read_files(&[nothing], &options).unwrap_err().contains("only empty ones"));
}

#[test]
fn any_files_are_merged_by_time_if_asked() {
    let by_time = TraceOptions { merge: Some(Arrangement::Time), ..TraceOptions::default() };
    let msr = |name: &str, time: u64, host: &str| {
        let text = format!("{time},{host},0,Read,0,1,0\n{},{host},0,Read,1,1,0\n", time + 10);
        file("by-time", name, text)
    };
    let (one, two) = (msr("a.csv", 128_166_385_295_514_663, "a"), msr("b.csv", 128_166_385_295_514_668, "b"));
    let fio = file("by-time", "c.log", "fio version 3 iolog\n0 d read 0 1\n1 a,0, read 0 1\n");
    let (requests, remarks) = read_files(&[two.clone(), one.clone()], &by_time).unwrap();
    let second = STRIDE;
    let seen: Vec<_> = requests.iter().map(|r| (r.0, r.1)).collect();
    assert_eq!(seen, [(0, second), (500, 0), (1000, second + 1), (1500, 1)], "{remarks:?}");
    let (requests, remarks) = read_files(&[one, two, fio], &by_time).unwrap();
    assert_eq!(requests.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 0, 500, 1000, 1000, 1500]);
    assert!(remarks.iter().any(|remark| remark.contains("the earliest date is at time 0")), "{remarks:?}");
}

#[test]
fn a_clock_that_was_set_moves_merged_files_together() {
    let options = TraceOptions {
        merge: Some(Arrangement::Time),
        clock_jump: Some(Duration { ns: 1000 }),
        ..TraceOptions::default()
    };
    let cpu = |name: &str, times: [u64; 3]| {
        let data: Vec<u8> = times.iter().flat_map(|&time| event(time, time, 1, READ | 7, b"")).collect();
        file("jumps", name, data)
    };
    let paths = [cpu("0", [10_000, 10_900, 90_000]), cpu("1", [10_100, 10_200, 90_010])];
    let (requests, remarks) = read_files(&paths, &options).unwrap();
    assert_eq!(requests.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 100, 200, 900, 900, 910]);
    assert!(remarks.iter().any(|r| r.starts_with("1 pause removed, 79100ns in all")), "{remarks:?}");
}

proptest! {
    #[test]
    fn no_bytes_panic(sample in 0..5_usize, cut in 0..200_usize, flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4), tail: Vec<u8>, skip: bool) {
        let (format, records) = &samples()[sample];
        let mut data = records.concat();
        data.truncate(data.len().saturating_sub(cut));
        data.extend(tail);
        for (at, value) in flips {
            if !data.is_empty() {
                let at = at % data.len();
                data[at] ^= value;
            }
        }
        let on_error = if skip { OnError::Skip } else { OnError::Stop };
        for format in [Some((*format).to_owned()), None] {
            let options = TraceOptions { on_error, format, ..TraceOptions::default() };
            if let Ok((requests, _)) = parse(&data, &options) {
                prop_assert!(requests.is_sorted_by_key(|r| r.0));
                prop_assert!(requests.iter().all(|r| r.1.checked_add(r.2).is_some_and(|end| end <= 1 << 63)));
                prop_assert!(requests.iter().all(|r| (r.2 == 0) == (r.3 == Op::Flush)));
            }
        }
    }

    #[test]
    fn a_merge_is_a_stable_sort(times in proptest::collection::vec(proptest::collection::vec(0..50_u64, 1..40), 1..6)) {
        let (mut expected, mut parts) = (Vec::new(), Vec::new());
        for (index, part) in times.iter().enumerate() {
            let mut part = part.clone();
            part.sort_unstable();
            expected.extend(part.iter().map(|time| (*time, index)));
            parts.push(part.iter().flat_map(|&time| event(time, index as u64, 1, READ | 7, b"")).collect::<Vec<_>>());
        }
        expected.sort_by_key(|(time, _)| *time);
        let names: Vec<_> = (0..parts.len()).map(|i| i.to_string()).collect();
        let files: Vec<_> = names.iter().zip(&parts).map(|(name, part)| (name.as_str(), part.as_slice())).collect();
        let path = file("stable", "t.tar", tar(&files));
        let origin = expected[0].0;
        let expected: Vec<_> = expected.iter().map(|(time, part)| (time - origin, *part as u64 * 512)).collect();
        let got: Vec<_> = read_files(&[path], &TraceOptions::default()).unwrap().0.iter().map(|r| (r.0, r.1)).collect();
        prop_assert_eq!(got, expected);
    }
}
