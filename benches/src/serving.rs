//! The pace of a served device under fio, beside nbdkit's disk in memory, and its recovery by size. The container lies in
//! the folder for temporary files; `TMPDIR=/dev/shm` takes the disk out of it.

use crate::Measured;
use crate::row::{Row, row};
use coflash_device::{Address, Folder, Machine, ServedDevice};
use coflash_scenario::Scenario;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The size of the disks under fio: small, so that GC soon has work.
const SIZE: &str = "256MiB";

/// Rows for queue depths, and for recovery.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for depth in [1, 32] {
        for operation in ["randread", "randwrite"] {
            let name = |disk| format!("{disk}, 4 KiB {operation}, depth {depth}");
            rows.push(row(name("served"), move || device(operation, depth)));
            rows.push(row(name("nbdkit"), move || nbdkit(operation, depth)));
        }
    }
    rows.extend([1, 16].map(|gib| row(format!("recovery of {gib} GiB"), move || recovery(gib))));
    rows
}

/// A folder that is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let place = std::env::temp_dir().join(format!("coflash-serving-{}", std::process::id()));
        std::fs::create_dir(&place).expect("a new folder");
        Self(place)
    }

    fn machine(&self, size: &str) -> Machine {
        let scenario = Scenario::built_in("ssd").expect("it is built in");
        let size = size.parse().expect("it is a size");
        Machine::start(Folder::new(&self.0.join("ssd")), Some(&scenario), Some(size), None, None)
            .expect("a new device, or that one")
    }

    fn served(&self, size: &str) -> ServedDevice {
        let (folder, address) = (Folder::new(&self.0.join("ssd")), Address::Unix(self.0.join("nbd")));
        ServedDevice::start(self.machine(size), &folder, &address, false).expect("a socket")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A failure leaves the files in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// fio on a disk: its report as JSON.
fn fio(uri: &str, arguments: &[&str]) -> serde_json::Value {
    let fixed = ["--name=row", "--ioengine=nbd", "--output-format=json"];
    let output = Command::new("fio").args(fixed).arg(format!("--uri={uri}")).args(arguments).output();
    let output = output.expect("fio is installed: apt install fio");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Its nbd engine says first that it is connected.
    let report = output.stdout.iter().position(|&byte| byte == b'{').expect("fio's report");
    serde_json::from_slice(&output.stdout[report..]).expect("fio's report")
}

/// Written twice over in random order, so that GC has work, then measured for some seconds.
fn under_fio(uri: &str, server: u32, operation: &str, depth: u32) -> Measured {
    let size = format!("--size={SIZE}").replace("MiB", "m");
    fio(uri, &["--rw=randwrite", "--bs=64k", "--iodepth=8", &size, "--loops=2"]);
    let before = cpu_seconds(server);
    let depth = format!("--iodepth={depth}");
    let rw = format!("--rw={operation}");
    let report = fio(uri, &[&rw, "--bs=4k", &depth, &size, "--time_based", "--runtime=5", "--norandommap"]);
    let cpu = cpu_seconds(server) - before;
    let direction = &report["jobs"][0][if operation == "randread" { "read" } else { "write" }];
    let number = |value: &serde_json::Value| value.as_f64().expect("fio counts");
    let note = format!(
        "{:.0} µs each, {:.1} µs of CPU",
        number(&direction["clat_ns"]["mean"]) / 1e3,
        cpu * 1e6 / number(&direction["total_ios"]),
    );
    Measured { requests_per_second: number(&direction["iops"]), note, ..Measured::default() }
}

fn device(operation: &str, depth: u32) -> Measured {
    let place = Place::new();
    let served = place.served(SIZE);
    let mut measured = under_fio(&served.address(), std::process::id(), operation, depth);
    let waf = served.result().and_then(|result| result.metrics().number("waf_host"));
    measured.note += &waf.map(|waf| format!("; WAF {waf:.2}, the filling included")).unwrap_or_default();
    served.stop().expect("there is room");
    measured
}

/// A process that is ended.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn nbdkit(operation: &str, depth: u32) -> Measured {
    let place = Place::new();
    let socket = place.0.join("nbd");
    let command =
        Command::new("nbdkit").args(["--foreground", "--unix"]).arg(&socket).args(["memory", "256M"]).spawn();
    let Ok(server) = command.map(Ended) else {
        return Measured { note: "nbdkit is not installed".to_owned(), ..Measured::default() };
    };
    await_file(&socket);
    under_fio(&Address::Unix(socket).to_string(), server.0.id(), operation, depth)
}

fn await_file(path: &Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Power on of a device with all pages written. It holds zeros, so that its data file may lose its contents: a large device needs
/// no large disk.
fn recovery(gib: u32) -> Measured {
    let (place, size) = (Place::new(), format!("{gib}GiB"));
    let served = place.served(&size);
    for first in 0..gib {
        let range = [format!("--offset={first}g"), "--size=1g".to_owned()];
        fio(
            &served.address(),
            &["--rw=write", "--bs=1m", "--iodepth=4", "--zero_buffers", &range[0], &range[1]],
        );
        let data = File::options().write(true).open(place.0.join("ssd/data")).expect("it is there");
        let length = data.metadata().expect("it is open").len();
        let zeros = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&data, zeros, 0, length).expect("the file system knows holes");
    }
    let served_bytes = peak_bytes();
    served.stop().expect("there is room");
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak begins anew");
    let (start, before) = (Instant::now(), cpu_seconds(std::process::id()));
    let machine = place.machine(&size);
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds(std::process::id()) - before);
    let peak_rss_bytes = peak_bytes();
    machine.stop().expect("there is room");
    Measured {
        requests_per_second: f64::from(gib) * f64::from(1 << 18) / seconds,
        note: format!(
            "pages; {:.3} s for each GiB, {:.3} s of CPU; memory is at power on, {} MiB while it was served",
            seconds / f64::from(gib),
            cpu / f64::from(gib),
            served_bytes.unwrap_or(0) >> 20,
        ),
        peak_rss_bytes,
        ..Measured::default()
    }
}

/// The peak memory of this process.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// The time that a process has computed.
fn cpu_seconds(process: u32) -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0; // of Linux, on every machine
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    fields.map(|ticks| ticks.parse().unwrap_or(f64::NAN)).sum::<f64>() / TICKS_PER_SECOND
}
