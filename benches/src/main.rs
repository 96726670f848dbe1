//! The benchmark table: requests and page programs per second, bytes of state per physical page, peak memory; then the
//! pace of all readers and generators, of a container of bytes, and of a served device.
//!
//! Each row runs in its own process, so that its peak memory is isolated, and several times: the table shows
//! the median and the range. The machine is measured first, and each rate is also given in its unit,
//! dependent loads per request. Below the table is the load of the machine: other programs make the numbers
//! less reliable. `coflash-bench [ROW...]` runs the rows with names that begin with `ROW`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark speaks to the terminal")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod counting;
mod evicting;
mod generating;
mod machine;
mod parsing;
mod peers;
mod row;
mod rows;
mod serving;
mod simulating;
mod storing;

use machine::{Machine, cpu_seconds};
use row::Row;
use rows::{COUNTED, STANDARD, rows};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::process::Command;

const REPEATS: usize = 3;

/// The measurements of one run of a row; empty if they do not apply.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Requests (or accesses) per second.
    pub(crate) requests_per_second: f64,
    /// Processor time of the process, set-up and all threads included.
    pub(crate) cpu_seconds: f64,
    /// Page programs per second.
    pub(crate) programs_per_second: Option<f64>,
    /// Page programs of the run.
    pub(crate) programs: Option<f64>,
    /// Bytes of input per second.
    pub(crate) bytes_per_second: Option<f64>,
    /// Bytes of device state per physical page.
    pub(crate) state_bytes_per_page: Option<f64>,
    /// Peak memory of the process.
    pub(crate) peak_rss_bytes: Option<u64>,
    /// A note.
    pub(crate) note: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == "--row"
    {
        let Some(row) = rows().into_iter().find(|row| row.name == *name) else {
            let names: Vec<_> = rows().into_iter().map(|row| row.name).collect();
            eprintln!("no row {name:?}; there are: {}", names.join("; "));
            std::process::exit(2);
        };
        let measured = (row.run)();
        let measured = Measured { cpu_seconds: cpu_seconds(), ..measured };
        println!("{}", serde_json::to_string(&measured).expect("plain data"));
        return;
    }
    let wanted = |row: &&Row| arguments.is_empty() || arguments.iter().any(|name| row.name.starts_with(name));
    let machine = Machine::measure();
    machine.show();
    println!(
        "{:<34} {:>10} {:>17} {:>6} {:>7} {:>12} {:>9} {:>8} {:>9}  remarks",
        "", "requests/s", "range", "loads", "CPU s", "programs/s", "MB/s", "B/page", "peak MiB"
    );
    let mut programs_per_second = BTreeMap::new();
    for row in rows().iter().filter(wanted) {
        let mut runs: Vec<Measured> = (0..REPEATS).map(|_| in_a_process(&row.name)).collect();
        runs.sort_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
        show(row, &runs, &machine);
        programs_per_second.insert(row.name.clone(), runs[REPEATS / 2].programs_per_second);
        if let Some(instructions) = runs[0].programs.and_then(|pages| Some(instructions(&row.name)? / pages))
        {
            println!("{:<34} {instructions:.0} instructions a program, set-up included", "");
        }
    }
    let rate = |row: &str| programs_per_second.get(row).copied().flatten();
    if let (Some(ours), Some(limit)) = (rate(STANDARD), rate(COUNTED)) {
        println!("{STANDARD}: {:.2} × the programs per second of the counter that looks ahead", ours / limit);
    }
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        println!("load of the machine: {}", load.split(' ').take(3).collect::<Vec<_>>().join(" "));
    }
}

/// The instructions of a run of a row, where the system counts them.
fn instructions(row: &str) -> Option<f64> {
    let program = std::env::current_exe().expect("this program has a path");
    let perf = ["stat", "--field-separator", ",", "--event", "instructions:u"];
    let output = Command::new("perf").args(perf).arg(program).args(["--row", row]).output().ok()?;
    String::from_utf8_lossy(&output.stderr).lines().find_map(|line| line.split(',').next()?.parse().ok())
}

fn in_a_process(row: &str) -> Measured {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).args(["--row", row]).output().expect("this program runs");
    assert!(output.status.success(), "{row}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a row prints its numbers")
}

fn show(row: &Row, runs: &[Measured], machine: &Machine) {
    let median = &runs[runs.len() / 2];
    let millions = |rate: f64| format!("{:.2} M", rate / 1e6);
    let range = format!(
        "{:.2}–{:.2} M",
        runs[0].requests_per_second / 1e6,
        runs[runs.len() - 1].requests_per_second / 1e6
    );
    let optional = |value: Option<String>| value.unwrap_or_default();
    println!(
        "{:<34} {:>10} {:>17} {:>6.2} {:>7.2} {:>12} {:>9} {:>8} {:>9}  {}",
        row.name,
        millions(median.requests_per_second),
        range,
        1e9 / median.requests_per_second / machine.load_ns(),
        median.cpu_seconds,
        optional(median.programs_per_second.map(millions)),
        optional(median.bytes_per_second.map(|rate| format!("{:.0}", rate / 1e6))),
        optional(median.state_bytes_per_page.map(|bytes| format!("{bytes:.2}"))),
        optional(median.peak_rss_bytes.map(|bytes| format!("{:.0}", bytes as f64 / f64::from(1 << 20)))),
        median.note,
    );
}
