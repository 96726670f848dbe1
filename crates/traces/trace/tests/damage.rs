//! Every format with simple damages: truncated at each byte, each byte changed, trailing data, extreme compression.
//! The result is an error or a valid trace, in bounded memory.

mod common;

use coflash_trace::from_reader;
use coflash_trace::{OnError, TraceOptions, formats};
use coflash_workload::{Op, Request, WorkloadError};
use common::{drain, named};
use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

/// The samples of a format: the seeds of fuzzing with the name of the format in the first line.
fn samples(format: &str) -> Vec<Vec<u8>> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/seeds");
    let whole = fs::read_dir(seeds).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    let found: Vec<_> = whole.filter_map(|seed| content(seed, format)).collect();
    assert!(!found.is_empty(), "fuzz/seeds has none for {format}");
    found
}

/// The data after the name of the format, and for `columns` after the columns.
fn content(seed: Vec<u8>, format: &str) -> Option<Vec<u8>> {
    let data = seed.strip_prefix(format.as_bytes())?.strip_prefix(b"\n")?;
    let skipped = if format == "columns" { data.iter().position(|&byte| byte == b'\n')? + 1 } else { 0 };
    Some(data[skipped..].to_vec())
}

fn read(format: &str, data: Vec<u8>, on_error: OnError) -> Result<Vec<Request>, WorkloadError> {
    let options = TraceOptions { on_error, ..named(format) };
    drain(&mut from_reader("t", Box::new(Cursor::new(data)), &options)?)
}

/// Read the trace in both ways, and check the contract of traces.
fn check(format: &str, data: &[u8], what: &str) {
    for on_error in [OnError::Stop, OnError::Skip] {
        let Ok(requests) = read(format, data.to_vec(), on_error) else { continue };
        assert!(!requests.is_empty(), "{format}, {what}");
        assert!(requests.is_sorted_by_key(|request| request.arrival), "{format}, {what}");
        for Request { offset, length, op, .. } in requests {
            assert!(offset.checked_add(length).is_some_and(|end| end <= 1 << 63), "{format}, {what}");
            assert_eq!(length == 0, op == Op::Flush, "{format}, {what}");
        }
    }
}

/// The formats but those of files of tables, which a library reads.
fn parsed() -> impl Iterator<Item = &'static str> {
    formats::names().into_iter().filter(|format| !["parquet", "arrow"].contains(format))
}

#[test]
fn no_damage_to_any_format_does_harm() {
    for format in parsed() {
        for sound in samples(format) {
            read(format, sound.clone(), OnError::Stop).unwrap_or_else(|error| panic!("{format}: {error}"));
            for at in 0..sound.len() {
                check(format, &sound[..at], &format!("cut at {at}"));
                for change in [0x01, 0x80] {
                    let mut data = sound.clone();
                    data[at] ^= change;
                    check(format, &data, &format!("byte {at} changed by {change}"));
                }
            }
            for behind in [&b"\0\0\0\0\0\0\0\0"[..], b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"nonsense\n"] {
                check(format, &[&sound, behind].concat(), "something behind it");
            }
        }
    }
}

/// The peak memory of this process.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

const ALLOWED_BYTES: u64 = 256 << 20;

#[test]
fn a_bomb_is_defused() {
    // A gigabyte of zeros, compressed as a stream.
    let mut bomb = Vec::new();
    zstd::stream::copy_encode(std::io::repeat(0).take(1 << 30), &mut bomb, 1).unwrap();
    let before = peak_bytes();
    for format in parsed() {
        assert!(read(format, bomb.clone(), OnError::Stop).is_err(), "{format}");
    }
    assert!(from_reader("t", Box::new(Cursor::new(bomb)), &TraceOptions::default()).is_err());
    if let (Some(before), Some(after)) = (before, peak_bytes()) {
        assert!(after - before < ALLOWED_BYTES, "{} MiB were needed", (after - before) >> 20);
    }
}
