//! The pace of readers: from memory, on one thread, without a simulation.

use crate::Measured;
use crate::machine::cpu_seconds;
use crate::peers;
use coflash_trace::info::{InfoOptions, summarise};
use coflash_trace::{TraceOptions, TraceSource, from_reader};
use coflash_workload::Source;
use std::fmt::Write as _;
use std::io::Cursor;
use std::time::Instant;

const REQUESTS: u64 = 2_000_000;

/// The formats that the core reads from files; those of Arrow and Parquet are read around it.
pub(crate) fn formats() -> Vec<&'static str> {
    coflash_trace::formats::names()
        .into_iter()
        .filter(|format| !["arrow", "parquet"].contains(format))
        .collect()
}

/// A generated trace of a format.
pub(crate) fn generated(format: &str) -> Measured {
    generated_of(format, REQUESTS)
}

fn generated_of(format: &str, requests: u64) -> Measured {
    let columns = "time:us,op,offset:sectors,size:bytes".parse().ok().filter(|_| format == "columns");
    let options = TraceOptions { format: Some(format.to_owned()), columns, ..TraceOptions::default() };
    let measured = from_memory(format, data(format, requests), &options);
    // Of the five events of a request blkparse has one line each.
    Measured { note: format!("{} of {requests} records", measured.note), ..measured }
}

/// Polars with the same text.
pub(crate) fn msr_of_peer() -> Measured {
    peers::measured("csv", text("msr", REQUESTS).as_bytes(), REQUESTS)
}

/// A file, compressed or not.
pub(crate) fn file(path: &str) -> Measured {
    from_memory(path, std::fs::read(path).expect("the trace that ships"), &TraceOptions::default())
}

/// The statistics of a generated trace, or of a file if no generator has the name, and their cost in addition
/// to reading.
pub(crate) fn inspected(name: &str) -> Measured {
    let data = match name {
        file if file.contains('/') => std::fs::read(file).expect("the trace that ships"),
        format => data(format, REQUESTS),
    };
    let options = TraceOptions::default();
    let input = || from_reader(name, Box::new(Cursor::new(data.clone())), &options).expect("a trace");
    let begin = cpu_seconds();
    read(0, input);
    let reading = cpu_seconds() - begin;
    let (mut source, start, begin) = (input(), Instant::now(), cpu_seconds());
    let info = summarise(&mut source, InfoOptions::default()).expect("a trace");
    let cost = (cpu_seconds() - begin) / reading;
    Measured {
        requests_per_second: info.requests as f64 / start.elapsed().as_secs_f64(),
        note: format!("{cost:.2} × the processor time of reading; {} pages followed", info.sampling.pages),
        ..Measured::default()
    }
}

fn from_memory(name: &str, data: Vec<u8>, options: &TraceOptions) -> Measured {
    let bytes = data.len() as u64;
    read(bytes, || from_reader(name, Box::new(Cursor::new(data)), options).expect("a trace"))
}

fn read(bytes: u64, open: impl FnOnce() -> TraceSource) -> Measured {
    let start = Instant::now();
    let mut source = open();
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

/// Request `i` of all traces: time, sector, whether it is a read, and bytes.
fn request(i: u64) -> (u64, u64, bool, u64) {
    let sector = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 37;
    (i * 97, sector, sector & 1 == 0, 4096 << (sector & 3))
}

fn data(format: &str, requests: u64) -> Vec<u8> {
    binary(format, requests).unwrap_or_else(|| text(format, requests).into_bytes())
}

/// Numbers with as many digits as in real traces.
fn text(format: &str, requests: u64) -> String {
    let mut text = head(format).to_owned();
    (0..requests).for_each(|i| line(format, i, &mut text));
    text
}

/// The text before the first record.
fn head(format: &str) -> &'static str {
    match format {
        "fio" => "fio version 3 iolog\n",
        "wpa" => "IO Type,Priority,Process,Init Time (s),Complete Time (s),Size (B),Min Offset,Disk\n",
        "xperf" => {
            "BeginHeader\n                DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     \
             IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri\nEndHeader\nOS Version: 6.0.6001\n"
        }
        "coflash" => "ns,op,offset,size\n",
        "biosnoop" => "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n",
        _ => "",
    }
}

/// Append the line of request `i`.
fn line(format: &str, i: u64, text: &mut String) {
    let (us, sector, read, size) = request(i);
    let pick = |a: &'static str, b: &'static str| if read { a } else { b };
    let (rw, one_is_read, one_is_write) = (pick("R", "W"), pick("1", "0"), pick("0", "1"));
    let (word, lower) = (pick("Read", "Write"), pick("read", "write"));
    let (offset, sectors) = (sector * 512, size / 512);
    let (s, below) = (us / 1_000_000, us % 1_000_000);
    // Recordings of several processors, or in the order of completion, are slightly out of order.
    let late = below.saturating_sub((i % 16) * 50);
    const MD5: &str = "98b9cb7e1dd888f9dac2bf08af1c3cb2";
    let written = match format {
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
        "tencent" => writeln!(text, "{},{sector},{sectors},{one_is_write},1063", s + 1_538_323_200),
        "alibaba" => writeln!(text, "419,{rw},{offset},{size},{}", us + 1_577_808_144_360_767),
        "wpa" => writeln!(
            text,
            "{word},Normal,System (4),{s}.{late:06}100,{s}.{below:06}900,\"{size}\",0x{offset:x},0"
        ),
        "biosnoop" => writeln!(text, "{s}.{late:06}    mysqld  1200  nvme0n1  {rw} {sector} {size} 0.08"),
        "coflash" => writeln!(text, "{us}000,{lower},{offset},{size}"),
        "wiscsee" => writeln!(text, "909 D {lower} {offset} {size} {s}.{below:06}389 0.000097000 False"),
        "xperf" => writeln!(
            text,
            "{:>24}, {us:10},        System (   4),        100, 0xfffffa8001234560, 0x{offset:010x}, 0x{size:08x},         300,        0, \
             0x060043,         290,  Normal",
            pick("DiskRead", "DiskWrite")
        ),
        "columns" => writeln!(text, "{us},{rw},{sector},{size}"),
        other => unreachable!("{other} needs a line here"),
    };
    written.expect("a text takes what is written");
}

/// A trace of a binary format; `None` for text formats.
fn binary(format: &str, requests: u64) -> Option<Vec<u8>> {
    let mut file = Vec::new();
    match format {
        "blktrace" | "vscsi" | "oracle-general" => (),
        "log-writes" => {
            for number in [0x6a_7366_7773_6872, 1, requests, 512] {
                file.extend(number.to_le_bytes());
            }
            file.resize(512, 0);
        }
        _ => return None,
    }
    for i in 0..requests {
        let (time_us, sector, read, size) = request(i);
        let size = size as u32;
        match format {
            "blktrace" => {
                file.extend([0x07, 0x74, 0x61, 0x65, 0, 0, 0, 0]);
                file.extend((time_us * 1000).to_le_bytes());
                file.extend(sector.to_le_bytes());
                let action = if read { 1_u32 << 16 | 7 } else { 1 << 17 | 7 };
                for number in [size, action, 1, 8 << 20, 0, 0] {
                    file.extend(number.to_le_bytes());
                }
            }
            "vscsi" => {
                for number in [i as u32, size, 1, if read { 0x0100_0028 } else { 0x0100_002a }] {
                    file.extend(number.to_le_bytes());
                }
                file.extend(sector.to_le_bytes());
                file.extend(time_us.to_le_bytes());
            }
            // Discards have no data, which would be most of the file.
            "log-writes" => {
                let discard = 4_u64;
                for number in [sector, u64::from(size / 512), discard, 0] {
                    file.extend(number.to_le_bytes());
                }
                file.resize(file.len().next_multiple_of(512), 0);
            }
            "oracle-general" => {
                file.extend(((time_us / 1_000_000) as u32).to_le_bytes());
                file.extend(sector.to_le_bytes());
                file.extend(size.to_le_bytes());
                file.extend((-1_i64).to_le_bytes());
            }
            _ => {
                let (s, us) = ((time_us / 1_000_000) as u32, (time_us % 1_000_000) as u32);
                let flags = 26 + u32::from(read);
                let fields = [56, 1, s, us, 1, 2, size, sector as u32, 0x0800_0008, 4, 1, flags, 0, 1];
                file.extend(fields.into_iter().flat_map(u32::to_be_bytes));
            }
        }
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_format_has_a_generated_trace() {
        for format in super::formats() {
            let note = super::generated_of(format, 100).note;
            assert!(!note.starts_with("0 requests"), "{format}: {note}");
        }
    }
}
