//! How fast traces are read: requests and bytes per second of one thread, for a made-up trace of each format (made-up
//! Parquet is written first, and that is measured too) or for the files given.
//!
//!     cargo run --release -p coflash-workload --example parse_speed [FILE...]

#![allow(clippy::print_stdout, reason = "it is what the program is for")]
#![allow(clippy::disallowed_methods, reason = "it measures wall time")]

use coflash_workload::tools::write;
use coflash_workload::{Source, TraceOptions, WorkloadError, formats, trace};
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
            let columns = "time:us,op,offset:sectors,size:bytes".parse().ok().filter(|_| name == "columns");
            let options = TraceOptions { format: Some(name.to_owned()), columns, ..options.clone() };
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
    let names = formats::names();
    let texts = names.into_iter().map(|name| {
        (
            name,
            (0..REQUESTS).fold(head(name).to_owned(), |mut text, i| {
                line(name, i, &mut text);
                text
            }),
        )
    });
    texts.filter(|(_, text)| !text.is_empty()).collect()
}

/// What comes before the first record.
fn head(format: &str) -> &'static str {
    match format {
        "fio" => "fio version 3 iolog\n",
        "wpa" => "IO Type,Priority,Process,Init Time (s),Complete Time (s),Size (B),Min Offset,Disk\n",
        _ => "",
    }
}

/// Appends the line of request `i`; nothing for a format not known here.
fn line(format: &str, i: u64, text: &mut String) {
    let sector = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 37;
    let (read, size, us) = (sector & 1 == 0, 4096 << (sector & 3), i * 97);
    let pick = |a: &'static str, b: &'static str| if read { a } else { b };
    let (rw, one_is_read, one_is_write) = (pick("R", "W"), pick("1", "0"), pick("0", "1"));
    let (word, lower) = (pick("Read", "Write"), pick("read", "write"));
    let (offset, sectors) = (sector * 512, size / 512);
    let (s, below) = (us / 1_000_000, us % 1_000_000);
    // Where several processors record, or requests complete, neighbours are out of order.
    let late = below.saturating_sub((i % 16) * 50);
    const MD5: &str = "98b9cb7e1dd888f9dac2bf08af1c3cb2";
    let _ = match format {
        "fio" => writeln!(text, "{us} disk0 {lower} {offset} {size}"),
        "msr" => {
            let filetime = 128_166_385_295_514_663 + us * 10;
            writeln!(text, "{filetime},hm,0,{word},{offset},{size},2833")
        }
        "spc" => writeln!(text, "0,{sector},{size},{},{s}.{below:06}", pick("r", "w")),
        "replay" => writeln!(text, "{}.{:03} 0 {offset} {size} {one_is_read}", us / 1000, us % 1000),
        "ssdsim" => writeln!(text, "{us}000 0 {sector} {sectors} {one_is_read}"),
        "disksim" => {
            writeln!(text, "{}.{:03}000\t0\t{sector}\t{sectors}\t{one_is_read}", us / 1000, us % 1000)
        }
        "systor" => {
            let s = s + 1_456_095_145;
            writeln!(text, "{s}.{late:06}000,0.000806000,{rw},0,{offset},{size}")
        }
        "fiu" => writeln!(text, "{us}000 2522 kjournald {sector} {sectors} {rw} 6 0 {MD5}"),
        "blkparse" => {
            let event = ["Q", "G", "I", "D", "C"][i as usize % 5];
            writeln!(
                text,
                "  8,16   3 {i:8} {s:5}.{late:06}683  3557  {event}   {rw} {sector} + {sectors} [java]"
            )
        }
        "ftrace" => writeln!(
            text,
            "     kworker/4:1H-533     [004] d..1. {s}.{late:06}: block_rq_issue: 259,0 {rw} {size} () {sector} + {sectors} [kworker/4:1H]"
        ),
        "cloudphysics" => writeln!(text, "1,{},{},{size},{sector}", s + 5_633_898, pick("28", "2a")),
        "diskmon" => writeln!(text, "{i}\t{s}.{late:06}\t0.00019073\t0\t{word}\t{sector}\t{sectors}\t"),
        "biotracer" => {
            let later = format!("{s}.{below:06}999");
            writeln!(
                text,
                "{sector}\t\t{sectors}\t\t{size}\t\t{}\t\t{s}.{late:06}312\t\t{later}\t\t{later}\t\t{later}",
                pick("4", "5")
            )
        }
        "tencent" => writeln!(text, "{},{sector},{sectors},{one_is_write},1063", s + 1_538_323_200),
        "alibaba" => writeln!(text, "419,{rw},{offset},{size},{}", us + 1_577_808_144_360_767),
        "wpa" => writeln!(
            text,
            "{word},Normal,System (4),{s}.{late:06}100,{s}.{below:06}900,\"{size}\",0x{offset:x},0"
        ),
        "wiscsee" => writeln!(text, "909 D {lower} {offset} {size} {s}.{below:06}389 0.000097000 False"),
        "columns" => writeln!(text, "{us},{rw},{sector},{size}"),
        _ => Ok(()),
    };
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
