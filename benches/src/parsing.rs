//! Parsing alone: from memory, on one thread, without a simulation.

use crate::Measured;
use coflash_workload::{Source, TraceOptions, trace};
use std::fmt::Write as _;
use std::io::Cursor;
use std::time::Instant;

const REQUESTS: u64 = 2_000_000;

/// A made-up trace of a format.
pub(crate) fn made_up(format: &str) -> Measured {
    parse(format, text(format).into_bytes())
}

/// A file as it is, compressed or not.
pub(crate) fn file(path: &str) -> Measured {
    parse(path, std::fs::read(path).expect("the trace that ships"))
}

fn parse(name: &str, data: Vec<u8>) -> Measured {
    let bytes = data.len();
    let start = Instant::now();
    let mut source =
        trace::from_reader(name, Box::new(Cursor::new(data)), &TraceOptions::default()).expect("a trace");
    let (mut batch, mut requests) = (Vec::new(), 0);
    loop {
        source.next_batch(&mut batch).expect("a trace");
        if batch.is_empty() {
            break;
        }
        requests += batch.len();
    }
    let seconds = start.elapsed().as_secs_f64();
    Measured {
        requests_per_second: requests as f64 / seconds,
        bytes_per_second: Some(bytes as f64 / seconds),
        note: format!("{requests} requests"),
        ..Measured::default()
    }
}

/// Numbers as long as in real traces.
fn text(format: &str) -> String {
    let mut text = String::from(if format == "fio" { "fio version 3 iolog\n" } else { "" });
    for i in 0..REQUESTS {
        let sector = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 37;
        let (read, size, time_us) = (sector & 1 == 0, 4096 << (sector & 3), i * 97);
        let pick = |a, b| if read { a } else { b };
        let line = match format {
            "fio" => writeln!(text, "{time_us} disk0 {} {} {size}", pick("read", "write"), sector * 512),
            "msr" => {
                let filetime = 128_166_385_295_514_663 + time_us * 10;
                writeln!(text, "{filetime},hm,0,{},{},{size},2833", pick("Read", "Write"), sector * 512)
            }
            "spc" => {
                let (s, us) = (time_us / 1_000_000, time_us % 1_000_000);
                writeln!(text, "0,{sector},{size},{},{s}.{us:06}", pick("r", "w"))
            }
            "disksim" => {
                let (ms, us) = (time_us / 1000, time_us % 1000);
                writeln!(text, "{ms}.{us:03}000\t0\t{sector}\t{}\t{}", size / 512, pick("1", "0"))
            }
            other => unreachable!("{other} is not in the table"),
        };
        line.expect("a string takes what is written");
    }
    text
}
