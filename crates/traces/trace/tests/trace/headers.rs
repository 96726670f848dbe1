//! Random tables of requests whose headers tell the truth: none may be read as what it is not, and most are read without a question.
//! The same tables without a header: none is read without a question.

use crate::common::parse;
use coflash_trace::TraceOptions;
use coflash_workload::Op;

/// What is drawn next, from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn word<T: Copy>(&mut self, words: &[T]) -> T {
        words[self.below(words.len())]
    }
}

/// Names of times, and the unit that they tell; 0 where they tell none: seconds with a fraction, or a date.
const TIMES: [(&str, u64); 30] = [
    ("time_us", 1_000),
    ("t_us", 1_000),
    ("seconds", 1_000_000_000),
    ("timestamp", 0),
    ("ts_ns", 1),
    ("Time (ms)", 1_000_000),
    ("time(s)", 1_000_000_000),
    ("arrival_us", 1_000),
    ("elapsed_ms", 1_000_000),
    ("start_time", 0),
    ("usec", 1_000),
    ("when_s", 1_000_000_000),
    ("issue_ts_us", 1_000),
    ("req_time_ms", 1_000_000),
    ("relative_time_us", 1_000),
    ("t[ms]", 1_000_000),
    ("nanoseconds", 1),
    ("ms", 1_000_000),
    ("startTimeUs", 1_000),
    ("epoch_ms", 1_000_000),
    ("event.time_us", 1_000),
    ("sec", 1_000_000_000),
    ("Timestamp [s]", 1_000_000_000),
    ("submit_us", 1_000),
    ("clock", 0),
    ("request_arrival_time", 0),
    ("ts", 0),
    ("time_in_us", 1_000),
    ("us_since_start", 1_000),
    ("Zeit_ms", 1_000_000),
];

const OPS: [&str; 24] = [
    "op",
    "rw",
    "type",
    "io_op",
    "access",
    "kind",
    "RWFlag",
    "io_type",
    "operation",
    "cmd",
    "IOType",
    "request_type",
    "dir",
    "direction",
    "mode",
    "opcode",
    "read_write",
    "what",
    "verb",
    "io.kind",
    "Op Code",
    "accessType",
    "io_direction",
    "is_write",
];

/// Words for a read and a write.
const WORDS: [[&str; 2]; 9] = [
    ["R", "W"],
    ["read", "write"],
    ["Read", "Write"],
    ["RD", "WR"],
    ["0", "1"],
    ["r", "w"],
    ["READ", "WRITE"],
    ["RS", "WFS"],
    ["Lesen", "Schreiben"],
];

/// Names of places, and the bytes of their unit.
const PLACES: [(&str, u64); 26] = [
    ("offset", 1),
    ("offset_bytes", 1),
    ("lba", 512),
    ("sector", 512),
    ("addr", 1),
    ("address", 1),
    ("byte_offset", 1),
    ("start_sector", 512),
    ("pos", 1),
    ("location", 1),
    ("lbn", 512),
    ("slba", 512),
    ("file_offset", 1),
    ("offset_kb", 1024),
    ("LBA (512)", 512),
    ("disk_offset", 1),
    ("lpn", 4096),
    ("page_number", 4096),
    ("io.lba", 512),
    ("Start LBA", 512),
    ("logical_address", 1),
    ("startOffset", 1),
    ("first_sector", 512),
    ("target_offset_bytes", 1),
    ("req_sector", 512),
    ("ByteOffset", 1),
];

/// Names of sizes, and the bytes of their unit; 0 for a count in the unit of places.
const SIZES: [(&str, u64); 24] = [
    ("size", 1),
    ("bytes", 1),
    ("len", 1),
    ("length", 1),
    ("nbytes", 1),
    ("sectors", 512),
    ("nr_sectors", 512),
    ("size_kb", 1024),
    ("io_size", 1),
    ("req_size_bytes", 1),
    ("request_io_size_bytes", 1),
    ("xfer_bytes", 1),
    ("size_sectors", 512),
    ("len_bytes", 1),
    ("Length (bytes)", 1),
    ("sz", 1),
    ("num_sectors", 512),
    ("ioSizeBytes", 1),
    ("transfer_size", 1),
    ("request.size", 1),
    ("Size [B]", 1),
    ("payload_bytes", 1),
    ("count", 0),
    ("blocks", 0),
];

/// The text of a column in a row.
type Text = fn(&mut Draw, usize) -> String;

/// Names of what nobody needs, and how its values are made.
const OTHERS: [(&str, Text); 10] = [
    ("pid", |draw, _| (300 + draw.below(9000)).to_string()),
    ("process", |draw, _| draw.word(&["mysqld", "kworker", "fio"]).to_owned()),
    ("latency_us", |draw, _| (10 + draw.below(900)).to_string()),
    ("id", |_, row| (row + 1).to_string()),
    ("cpu", |draw, _| draw.below(8).to_string()),
    ("queue_depth", |draw, _| (1 + draw.below(32)).to_string()),
    ("crc", |draw, _| format!("{:08x}z", draw.below(1 << 30))),
    ("seq", |_, row| (1000 + 7 * row).to_string()),
    ("host", |_, _| "web1".to_owned()),
    ("cached", |_, _| "no".to_owned()),
];

type Rows = Vec<(u64, u64, u64, Op)>;

/// A table, and its requests.
fn table(draw: &mut Draw, has_header: bool) -> (String, Rows) {
    let (time, step_ns) = draw.word(&TIMES);
    let op = draw.word(&OPS);
    let (place, place_bytes) = draw.word(&PLACES);
    let (size, size_bytes) = draw.word(&SIZES);
    let size_bytes = if size_bytes == 0 { place_bytes } else { size_bytes };
    let mut words = draw.word(&WORDS);
    if op == "is_write" {
        words = draw.word(&[["0", "1"], ["false", "true"], ["no", "yes"]]);
    }
    let is_date = draw.below(2) == 0;
    let is_hex = draw.below(6) == 0;
    let mut names = vec![(0, time), (1, op), (2, place), (3, size)];
    for _ in 0..draw.below(4) {
        let at = draw.below(OTHERS.len());
        if !names.contains(&(4 + at, OTHERS[at].0)) {
            names.push((4 + at, OTHERS[at].0));
        }
    }
    for last in (1..names.len()).rev() {
        names.swap(last, draw.below(last + 1));
    }
    let mut separator = draw.word(&[",", ";", "\t", "|", " ", ", "]);
    if names.iter().any(|(_, name)| name.contains(' ')) && separator == " " {
        separator = "\t";
    }
    let is_quoted = draw.below(6) == 0;
    let line = |cells: Vec<String>| {
        let quoted = cells.into_iter().map(|cell| if is_quoted { format!("\"{cell}\"") } else { cell });
        quoted.collect::<Vec<_>>().join(separator) + "\n"
    };
    let header = line(names.iter().map(|&(_, name)| name.to_owned()).collect());
    let mut text = if has_header { header } else { String::new() };
    let (mut rows, mut now_us) = (Rows::new(), if draw.below(2) == 0 { 0 } else { draw.below(100_000) });
    let first_us = now_us;
    let unit = 4096.max(place_bytes).max(size_bytes);
    for row in 0..6 + draw.below(30) {
        let is_write = if row < 2 { row == 0 } else { draw.below(3) == 0 };
        let (offset, length) = (unit * draw.below(100_000) as u64, unit * (1 + draw.below(16) as u64));
        let time_ns = match step_ns {
            0 if is_date => 1_600_000_000_000_000_000 + now_us as u64 * 1000,
            _ => now_us as u64 * 1000,
        };
        let number = |value: u64| if is_hex { format!("{value:#x}") } else { value.to_string() };
        let cells = names.iter().map(|&(kind, _)| match kind {
            0 if step_ns == 0 || step_ns > 1000 => {
                let step_ns = if step_ns == 0 { 1_000_000_000 } else { step_ns };
                let digits = step_ns.ilog10() as usize;
                format!("{}.{:0digits$}", time_ns / step_ns, time_ns % step_ns)
            }
            0 => (time_ns / step_ns).to_string(),
            1 => words[usize::from(is_write)].to_owned(),
            2 => number(offset / place_bytes),
            3 => number(length / size_bytes),
            other => OTHERS[other - 4].1(draw, row),
        });
        let cells = cells.collect();
        text += &line(cells);
        let op = if is_write { Op::Write } else { Op::Read };
        rows.push(((now_us - first_us) as u64 * 1000, offset, length, op));
        now_us += 50 + draw.below(5000);
    }
    (text, rows)
}

/// The requests with times since the first one.
fn since_first(rows: Rows) -> Rows {
    let first = rows.first().map_or(0, |row| row.0);
    rows.into_iter().map(|(time, offset, length, op)| (time - first, offset, length, op)).collect()
}

/// How a table is taken: read rightly, proposed rightly, asked about.
fn taken(text: &str, rows: &Rows) -> Result<&'static str, String> {
    let told = |how: &str, read: Rows| format!("{how} as {:?} in place of {:?}", &read[..3], &rows[..3]);
    match parse(text, &TraceOptions::default()).map(since_first) {
        Ok(read) if read == *rows => return Ok("read"),
        Ok(read) => return Err(told("read", read)),
        Err(_) => {}
    }
    let auto = TraceOptions { columns: Some("auto".to_owned()), ..TraceOptions::default() };
    match parse(text, &auto).map(since_first) {
        Ok(read) if read == *rows => Ok("proposed"),
        Ok(read) => Err(told("proposed", read)),
        Err(_) => Ok("asked"),
    }
}

/// How the tables of some seeds are taken, and what went wrong.
fn all_taken(seeds: std::ops::Range<u64>, has_header: bool) -> ([usize; 3], Vec<String>) {
    let (mut counts, mut wrong) = ([0; 3], Vec::new());
    for seed in seeds {
        let (text, rows) = table(&mut Draw(seed), has_header);
        match taken(&text, &rows) {
            Ok(how) => {
                counts[["read", "proposed", "asked"].iter().position(|known| *known == how).unwrap()] += 1
            }
            Err(problem) => {
                let beginning: Vec<_> = text.lines().take(4).collect();
                wrong.push(format!("seed {seed}: {problem}\n  {}", beginning.join("\n  ")));
            }
        }
    }
    (counts, wrong)
}

#[test]
fn no_honest_header_is_taken_for_what_it_is_not() {
    let ([read, proposed, asked], wrong) = all_taken(0..600, true);
    eprintln!("seeds 0 to 599: {read} read, {proposed} proposed, {asked} asked about, {} wrong", wrong.len());
    assert!(
        wrong.is_empty(),
        "{} wrong of 600 ({read} read, {proposed} proposed, {asked} asked about):\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(read * 100 >= 80 * 600, "{read} read, {proposed} proposed, {asked} asked about");
}

#[test]
fn no_table_without_a_header_is_read_unasked() {
    let ([read, proposed, asked], wrong) = all_taken(1000..1300, false);
    let unasked: Vec<_> = wrong.iter().filter(|problem| problem.contains(": read as")).collect();
    eprintln!(
        "{read} read, {proposed} proposed rightly, {} proposed wrongly, {asked} asked about",
        wrong.len() - unasked.len()
    );
    if std::env::var("SHOW").is_ok() {
        eprintln!("{}", wrong.join("\n"));
    }
    assert!(unasked.is_empty(), "{unasked:?}");
}
