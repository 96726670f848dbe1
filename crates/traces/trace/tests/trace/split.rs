//! A trace that is split in parts gives what it gives in one piece.

use crate::common::table_files::provide_plain;
use crate::common::{drain, file};
use coflash_trace::tools::split::{Gathered, Spilled};
use coflash_trace::{Arrangement, OnError, Parts, TraceOptions, open};
use coflash_workload::{Request, Source, WorkloadError};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

type Volumes = BTreeMap<String, (u64, Vec<Request>)>;

/// The requests of each device of the whole trace.
fn expected(paths: &[String], options: &TraceOptions) -> (Volumes, Vec<String>) {
    let mut source = open(paths, options).unwrap();
    let mut found = Volumes::new();
    let (requests, stride) = (drain(&mut source).unwrap(), options.device_stride.count);
    let names = source.device_names();
    for mut request in requests {
        let name = &names[(request.offset / stride) as usize];
        let (base, of) = found
            .entry(String::from_utf8_lossy(name).into_owned())
            .or_insert((request.arrival.ns, Vec::new()));
        request.offset %= stride;
        request.arrival.ns -= *base;
        of.push(request);
    }
    (found, names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// The same from parts; `None` where the file must be read as a whole.
fn split(
    test: &str,
    paths: &[String],
    options: &TraceOptions,
    cut_bytes: Option<u64>,
) -> Result<Option<(Volumes, Vec<String>, usize)>, WorkloadError> {
    provide_plain();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test).join("volumes");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let trace = Parts::divide(paths, options, cut_bytes)?;
    let mut parts = Vec::new();
    for number in 0..trace.len() {
        let mut source = trace.open(number)?;
        let place = folder.join(number.to_string());
        let mut part = Spilled::read(&mut source, options.device_stride.count, &place)?;
        (part.names, part.remarks) = (source.device_names(), source.remarks());
        parts.push(part);
    }
    let Some(gathered) = Gathered::gather(&trace, parts)? else { return Ok(None) };
    let (mut found, mut names) = (Volumes::new(), Vec::new());
    for number in 0..gathered.len() {
        let volume = gathered.write(number, &folder)?;
        let mut read = open(&[volume.written.file], &TraceOptions::default()).unwrap();
        names.push(volume.name.clone());
        found.insert(volume.name, (volume.begins_ns, drain(&mut read).unwrap()));
    }
    Ok(Some((found, names, trace.len())))
}

fn is_the_same(test: &str, paths: &[String], options: &TraceOptions, cut_bytes: Option<u64>) -> usize {
    let (found, names, parts) = split(test, paths, options, cut_bytes).unwrap().expect("it fits");
    let (volumes, all) = expected(paths, options);
    assert_eq!(names, all.into_iter().filter(|name| volumes.contains_key(name)).collect::<Vec<_>>());
    assert_eq!(found, volumes);
    parts
}

/// Lines of Alibaba's kind: the first device occurs late in other files.
fn cloud(lines: u64, begin: u64) -> String {
    let line = |n: u64| {
        let device = (n * n + begin) % 7;
        let op = if n.is_multiple_of(3) { "R" } else { "W" };
        format!("v{device},{op},{},{},{}\n", n % 5 * 4096, (n % 4 + 1) * 512, 1_000_000 + begin + n / 2 * 10)
    };
    (0..lines).map(line).collect()
}

#[test]
fn files_of_a_sequence_are_parts() {
    let test = "split_files";
    let named = |name: &str, text: String| file(test, name, text);
    let mut paths = [(3, 400), (500, 90), (40, 5000)]
        .map(|(lines, begin)| named(&format!("{begin}.csv"), cloud(lines, begin)));
    let options = TraceOptions::default();
    assert_eq!(is_the_same(test, &paths, &options, None), 3);
    paths.reverse();
    assert_eq!(is_the_same(test, &paths, &options, None), 3);
    assert!(is_the_same(test, &paths, &options, Some(500)) > 10);
    // Merged by time, they are one.
    let merged = TraceOptions { merge: Some(Arrangement::Time), ..options };
    assert_eq!(is_the_same(test, &paths, &merged, Some(500)), 1);
}

#[test]
fn flushes_are_of_the_first_device_of_the_whole_trace() {
    let test = "split_flushes";
    let log = |lines: &str| format!("fio version 3 iolog\n{lines}");
    let one = log("0 /dev/b add\n0 /dev/b open\n5 /dev/b write 0 4096\n9 /dev/b sync 0 0\n");
    let two = log(
        "0 /dev/a add\n0 /dev/a open\n0 /dev/b add\n0 /dev/b open\n1 /dev/a write 0 4096\n2 /dev/a sync 0 0\n3 /dev/b write 4096 4096\n",
    );
    let paths = [file(test, "1.iolog", one), file(test, "2.iolog", two)];
    assert_eq!(is_the_same(test, &paths, &TraceOptions::default(), Some(1)), 2);
}

#[test]
fn a_text_is_cut_between_lines_wherever_that_is() {
    let test = "split_cut";
    let header = "device_id,opcode,offset,length,timestamp\n";
    let text = cloud(60, 7);
    let options = TraceOptions::default();
    for (name, text) in [
        ("plain.csv", text.clone()),
        ("headed.csv", format!("{header}{text}")),
        ("windows.csv", text.replace('\n', "\r\n")),
        ("open.csv", text.trim_end().to_owned()),
        ("blank.csv", text.replace("v3", "\n\nv3")),
    ] {
        let path = [file(test, name, text)];
        for bytes in [64, 65, 100, 333, 1000] {
            assert!(is_the_same(test, &path, &options, Some(bytes)) > 1, "{name} {bytes}");
        }
        assert_eq!(is_the_same(test, &path, &options, Some(1 << 20)), 1);
    }
    // Times that count from a start stay what they are; records of other formats need those before them.
    let spc: String = (0..90).map(|n| format!("{},{},512,W,{}.5\n", n % 3, n * 8, n)).collect();
    assert!(is_the_same(test, &[file(test, "t.spc", spc)], &options, Some(100)) > 5);
    let log: String = (1..90).map(|n| format!("{n} /dev/a write {} 4096\n", n * 4096)).collect();
    let log = format!("fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n{log}");
    assert_eq!(is_the_same(test, &[file(test, "t.iolog", log)], &options, Some(100)), 1);
}

#[test]
fn a_file_is_read_as_a_whole_where_its_parts_say_something_else() {
    let test = "split_whole";
    let line = |n: u64, length: u64, time: u64| format!("v{},W,0,{length},{}\n", n % 2, 1_000_000 + time);
    let text = |odd: &str| {
        let some = |range: std::ops::Range<u64>| range.map(|n| line(n, 4096, n)).collect::<String>();
        format!("{}{odd}{}", some(0..50), some(50..100))
    };
    let slack = "time_slack = \"1ms\"\non_error = \"skip\"";
    let options: TraceOptions = toml::from_str(slack).unwrap();
    assert_eq!(options.on_error, OnError::Skip);
    for (name, odd) in
        [("empty", line(0, 0, 49)), ("late", line(0, 4096, 10)), ("broken", "v1,W,x,1,1\n".to_owned())]
    {
        let path = [file(test, &format!("{name}.csv"), text(&odd))];
        for bytes in [100, 150, 700] {
            assert_eq!(split(test, &path, &options, Some(bytes)).unwrap(), None, "{name} {bytes}");
        }
        is_the_same(test, &path, &options, None);
    }
    // A part alone is in order, but not behind the one before.
    let blocks = [0, 50].map(|late| (0..50).map(|n| line(n, 4096, 100 - late + n)).collect::<String>());
    let path = [file(test, "steps.csv", blocks.concat())];
    let half = blocks[0].len() as u64 - 3;
    assert_eq!(split(test, &path, &options, Some(half)).unwrap(), None);
}

#[test]
fn a_device_beyond_its_stride_is_refused_in_whatever_part_it_is() {
    let (test, options) = ("split_stride", toml::from_str("device_stride = \"1MiB\"").unwrap());
    let refused = |name: &str, text: &str, bytes| {
        let error = split(test, &[file(test, name, text)], &options, bytes).unwrap_err().to_string();
        assert!(error.contains("expected device_stride of"), "{error}");
    };
    refused("far.csv", "a,W,0,512,1\na,W,2097152,512,2\n", None);
    // It reaches into the next one, which is in another part; a device that is named only has no place.
    for text in
        ["a,W,0,512,1\nb,W,0,512,2\na,W,1048064,1024,3\n", "a,W,0,512,1\nb,W,0,0,2\na,W,1048576,512,3\n"]
    {
        for bytes in [None, Some(12), Some(24)] {
            refused("next.csv", text, bytes);
        }
    }
}

#[test]
fn the_beginning_of_a_part_is_read_as_lines_within_the_file() {
    let (test, text, options) = ("split_within", cloud(40, 7), TraceOptions::default());
    for odd in ["\u{feff}", "BZh9"] {
        // The name of a device.
        let path = [file(test, "odd.csv", format!("{text}{odd}{}", cloud(40, 5000)))];
        assert_eq!(is_the_same(test, &path, &options, Some(text.len() as u64 - 1)), 2, "{odd}");
    }
    let header = "device_id,opcode,offset,length,timestamp\n";
    let path = [file(test, "header.csv", format!("{text}{header}{}", cloud(40, 5000)))];
    let error = split(test, &path, &options, Some(text.len() as u64 - 1)).unwrap_err().to_string();
    assert!(error.contains("opcode"), "{error}");
}

#[test]
fn names_that_are_no_text_are_kept_apart() {
    let (test, options) = ("split_names", TraceOptions::default());
    let names = [&b"v\xff"[..], b"v\xfe", b"v\\xff", "v\u{fffd}".as_bytes()];
    let lines =
        names.iter().enumerate().flat_map(|(n, name)| [name, format!(",W,0,512,{n}\n").as_bytes()].concat());
    let path = [file(test, "names.csv", lines.collect::<Vec<_>>())];
    let (_, names, _) = split(test, &path, &options, None).unwrap().expect("it fits");
    assert_eq!(names, ["v\\xff", "v\\xfe", "v\\\\xff", "v\u{fffd}"]);
}
