//! How fast traces are read: requests and bytes per second of one thread, for a made-up trace of each format (made-up
//! Parquet is written first, and that is measured too) or for the files given.
//!
//!     cargo run --release -p coflash-workload --example parse_speed [FILE...]

#![allow(clippy::print_stdout, reason = "it is what the program is for")]
#![allow(clippy::disallowed_methods, reason = "it measures wall time")]

use coflash_workload::tools::write;
use coflash_workload::{Source, TraceOptions, WorkloadError, trace};
use std::fmt::Write as _;
use std::io::{Cursor, Read};
use std::time::{Duration, Instant};

const REQUESTS: u64 = 2_000_000;
const REPEATS: usize = 5;

fn main() -> Result<(), WorkloadError> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let options = TraceOptions::default();
    for path in paths.iter() {
        let mut data = Vec::new();
        let read = std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut data));
        read.map_err(|error| WorkloadError::Trace { file: path.clone(), problem: error.to_string() })?;
        measure(path, &data, &options)?;
    }
    if paths.is_empty() {
        for (name, text) in made_up() {
            measure(name, text.as_bytes(), &options)?;
        }
        for (name, data) in made_up_binary() {
            measure(name, &data, &options)?;
        }
        measure_parquet(&options)?;
    }
    Ok(())
}

/// The best of several readings, from memory: the disk is not what is measured.
fn measure(name: &str, data: &[u8], options: &TraceOptions) -> Result<(), WorkloadError> {
    let copy = || Box::new(Cursor::new(data.to_vec()));
    best_of(name, data.len() as u64, copy, |input| trace::from_reader(name, input, options))
}

/// Writes and reads a Parquet file, from the cache of the file system.
fn measure_parquet(options: &TraceOptions) -> Result<(), WorkloadError> {
    let (_, text) = made_up().swap_remove(0);
    let input = Box::new(Cursor::new(text.into_bytes()));
    let path = std::env::temp_dir().join(format!("coflash-parse-speed-{}.parquet", std::process::id()));
    let path = path.to_string_lossy().into_owned();
    let start = Instant::now();
    let written = write(&mut trace::from_reader("fio", input, options)?, &path, None)?;
    println!("fio to parquet: {:.1} million/s", REQUESTS as f64 / start.elapsed().as_secs_f64() / 1e6);
    let result = best_of("parquet", written.bytes, || [path.clone()], |paths| trace::open(&paths, options));
    // It is only a copy.
    let _ = std::fs::remove_file(&path);
    result
}

fn best_of<I>(
    name: &str,
    bytes: u64,
    prepare: impl Fn() -> I,
    open: impl Fn(I) -> Result<trace::TraceSource, WorkloadError>,
) -> Result<(), WorkloadError> {
    let (mut best, mut requests) = (Duration::MAX, 0);
    for _ in 0..REPEATS {
        let input = prepare();
        let start = Instant::now();
        let mut source = open(input)?;
        let mut batch = Vec::new();
        requests = 0;
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            requests += batch.len();
        }
        best = best.min(start.elapsed());
    }
    let seconds = best.as_secs_f64();
    println!(
        "{name}: {requests} requests, {:.1} million/s, {:.0} MB/s of the file",
        requests as f64 / seconds / 1e6,
        bytes as f64 / seconds / 1e6
    );
    Ok(())
}

/// A trace of each format, with numbers as long as in real ones.
fn made_up() -> Vec<(&'static str, String)> {
    let mut texts = [String::from("fio version 3 iolog\n"), String::new(), String::new(), String::new()];
    for i in 0..REQUESTS {
        let sector = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 37;
        let (read, size, time_us) = (sector & 1 == 0, 4096 << (sector & 3), i * 97);
        let pick = |a, b| if read { a } else { b };
        let [fio, msr, spc, disksim] = &mut texts;
        let filetime = 128_166_385_295_514_663 + time_us * 10;
        let _ = writeln!(fio, "{time_us} disk0 {} {} {size}", pick("read", "write"), sector * 512);
        let _ = writeln!(msr, "{filetime},hm,0,{},{},{size},2833", pick("Read", "Write"), sector * 512);
        let _ = writeln!(
            spc,
            "0,{sector},{size},{},{}.{:06}",
            pick("r", "w"),
            time_us / 1_000_000,
            time_us % 1_000_000
        );
        let _ = writeln!(
            disksim,
            "{}.{:03}000\t0\t{sector}\t{}\t{}",
            time_us / 1000,
            time_us % 1000,
            size / 512,
            pick("1", "0")
        );
    }
    ["fio", "msr", "spc", "disksim"].into_iter().zip(texts).collect()
}

/// The same of each binary format.
fn made_up_binary() -> Vec<(&'static str, Vec<u8>)> {
    let mut files = [Vec::new(), Vec::new(), Vec::new()];
    for i in 0..REQUESTS {
        let sector = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 37;
        let (read, size, time_us) = (sector & 1 == 0, 4096_u32 << (sector & 3), i * 97);
        let [blktrace, vscsi, oracle] = &mut files;
        blktrace.extend([0x07, 0x74, 0x61, 0x65, 0, 0, 0, 0]);
        blktrace.extend((time_us * 1000).to_le_bytes());
        blktrace.extend(sector.to_le_bytes());
        let action = if read { 1_u32 << 16 | 7 } else { 1 << 17 | 7 };
        for number in [size, action, 1, 8 << 20, 0, 0] {
            blktrace.extend(number.to_le_bytes());
        }
        for number in [i as u32, size, 1, if read { 0x0100_0028 } else { 0x0100_002a }] {
            vscsi.extend(number.to_le_bytes());
        }
        vscsi.extend(sector.to_le_bytes());
        vscsi.extend(time_us.to_le_bytes());
        oracle.extend(((time_us / 1_000_000) as u32).to_le_bytes());
        oracle.extend(sector.to_le_bytes());
        oracle.extend(size.to_le_bytes());
        oracle.extend((-1_i64).to_le_bytes());
    }
    ["blktrace", "vscsi", "oracle-general"].into_iter().zip(files).collect()
}
