//! The pace of a served device under fio, beside nbdkit's with the same backing, in memory and in files, and its recovery by size.
//! Files lie in the folder for temporary files.

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

/// Rows for queue depths beside nbdkit, and for recovery.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for backing in [Backing::Memory, Backing::File] {
        for depth in [1, 32] {
            for operation in ["randread", "randwrite"] {
                let name = format!("served, {}, {operation}, depth {depth}", backing.name());
                rows.push(row(name, move || beside_nbdkit(backing, operation, depth)));
            }
        }
    }
    rows.extend([1, 16].map(|gib| row(format!("recovery of {gib} GiB"), move || recovery(gib))));
    rows
}

/// Where the bytes are: of our device, and of nbdkit.
#[derive(Clone, Copy)]
enum Backing {
    /// Files in memory, and nbdkit's disk in memory.
    Memory,
    /// Files in the folder for temporary files, and nbdkit's on a file there.
    File,
}

impl Backing {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
        }
    }
}

/// A folder that is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        Self::under(&std::env::temp_dir())
    }

    fn under(folder: &Path) -> Self {
        let place = folder.join(format!("coflash-serving-{}", std::process::id()));
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

/// A server of a disk, and what fio has measured of it.
struct Server {
    uri: String,
    process: u32,
    requests: f64,
    seconds: f64,
    cpu_seconds: f64,
}

impl Server {
    /// Written twice over in random order, so that GC has work.
    fn filled(uri: String, process: u32) -> Self {
        let size = format!("--size={SIZE}").replace("MiB", "m");
        fio(&uri, &["--rw=randwrite", "--bs=64k", "--iodepth=8", &size, "--loops=2"]);
        Self { uri, process, requests: 0.0, seconds: 0.0, cpu_seconds: 0.0 }
    }

    fn measure(&mut self, operation: &str, depth: u32) {
        let before = cpu_seconds(self.process);
        let (size, depth) = (format!("--size={SIZE}").replace("MiB", "m"), format!("--iodepth={depth}"));
        let rw = format!("--rw={operation}");
        let report =
            fio(&self.uri, &[&rw, "--bs=4k", &depth, &size, "--time_based", "--runtime=3", "--norandommap"]);
        self.cpu_seconds += cpu_seconds(self.process) - before;
        let direction = &report["jobs"][0][if operation == "randread" { "read" } else { "write" }];
        let number = |value: &serde_json::Value| value.as_f64().expect("fio counts");
        self.requests += number(&direction["total_ios"]);
        self.seconds += number(&direction["total_ios"]) / number(&direction["iops"]);
    }

    fn rate(&self) -> f64 {
        self.requests / self.seconds
    }

    fn cpu_us(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.requests
    }
}

/// Our device and nbdkit in turn. Ratios above 1 are in our favour: of rates, and of the time that a server computes for a request.
fn beside_nbdkit(backing: Backing, operation: &str, depth: u32) -> Measured {
    let skipped = |missing: &str| Measured {
        note: format!("SKIPPED, NOT MEASURED: {missing} is not installed (apt install nbdkit fio)"),
        ..Measured::default()
    };
    if Command::new("fio").arg("--version").output().is_err() {
        return skipped("fio");
    }
    let place = match backing {
        Backing::Memory => Place::under(Path::new("/dev/shm")),
        Backing::File => Place::new(),
    };
    let (socket, disk) = (place.0.join("nbdkit"), place.0.join("disk"));
    let mut command = Command::new("nbdkit");
    command.args(["--foreground", "--unix"]).arg(&socket);
    match backing {
        Backing::Memory => command.args(["memory", "256M"]),
        Backing::File => {
            File::create(&disk).and_then(|disk| disk.set_len(256 << 20)).expect("there is room");
            command.arg("file").arg(&disk)
        }
    };
    let Ok(nbdkit) = command.spawn().map(Ended) else { return skipped("nbdkit") };
    await_file(&socket);
    let served = place.served(SIZE);
    let mut theirs = Server::filled(Address::Unix(socket).to_string(), nbdkit.0.id());
    let mut ours = Server::filled(served.address(), std::process::id());
    for _ in 0..2 {
        theirs.measure(operation, depth);
        ours.measure(operation, depth);
    }
    let waf = served.disk().machine().result().and_then(|result| result.metrics.number("waf_host"));
    served.stop().expect("there is room");
    let note = format!(
        "of nbdkit {}: rate {:.2}, CPU {:.2}; {:.1} µs of CPU each, nbdkit {:.1}; WAF {:.2}, the filling included",
        backing.name(),
        ours.rate() / theirs.rate(),
        theirs.cpu_us() / ours.cpu_us(),
        ours.cpu_us(),
        theirs.cpu_us(),
        waf.unwrap_or_default(),
    );
    Measured { requests_per_second: ours.rate(), note, ..Measured::default() }
}

/// A process that is ended.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
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
