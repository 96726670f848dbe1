//! How fast traces are read: requests and bytes per second of one thread, for a made-up trace of each format or for
//! the files given.
//!
//!     cargo run --release -p coflash-workload --example parse_speed [FILE...]

#![allow(clippy::print_stdout, reason = "it is what the program is for")]
#![allow(clippy::disallowed_methods, reason = "it measures wall time")]

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
    }
    Ok(())
}

/// The best of several readings, from memory: the disk is not what is measured.
fn measure(name: &str, data: &[u8], options: &TraceOptions) -> Result<(), WorkloadError> {
    let (mut best, mut requests) = (Duration::MAX, 0);
    for _ in 0..REPEATS {
        let input = Box::new(Cursor::new(data.to_vec()));
        let start = Instant::now();
        let mut source = trace::from_reader(name, input, options)?;
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
        data.len() as f64 / seconds / 1e6
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
