//! The requests of job files against those of fio itself (`write_iolog`), one by one.
//!
//! Skipped, with a message, where fio is not installed (`scripts/clients` installs it where it may).

use coflash_base::Seed;
use coflash_fio::{Job, JobFile, JobRequests};
use coflash_workload::Op;
use coflash_workload::jobs::JobSource;
use std::path::PathBuf;
use std::process::Command;

/// The size of the file that stands for a device.
const DEVICE_BYTES: u64 = 64 << 20;

/// A request: operation, offset, length.
type Line = (Op, u64, u64);

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("coflash-fio-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Whether fio can be compared with; says why not.
fn fio_is_here() -> bool {
    let version = Command::new("fio").arg("--version").output();
    let text = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let known = text.as_deref().is_ok_and(|text| text.starts_with("fio-3.3"));
    if !known {
        eprintln!(
            "skipped: fio 3.30 to 3.39 is needed, and {text:?} is installed (scripts/clients installs it)"
        );
    }
    known
}

/// The device that the jobs share, and a log of requests for each.
fn text_of(jobs: &[(&str, &str)]) -> String {
    let section = |(name, options): &(&str, &str)| format!("[{name}]\n{options}\nwrite_iolog={name}.log\n");
    format!("[global]\nfilename=dev\n{}", jobs.iter().map(section).collect::<String>())
}

/// The requests of a log.
fn logged(log: &str) -> Vec<Line> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').skip_while(|word| *word != "dev").collect();
        let op = match *words.get(1)? {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            "sync" | "datasync" => return Some((Op::Flush, 0, 0)),
            _ => return None,
        };
        Some((op, words[2].parse().unwrap(), words[3].parse().unwrap()))
    };
    log.lines().filter_map(line).collect()
}

/// Run all jobs with fio and compare the requests of each; return the differences.
fn differences(jobs: &[(&str, &str)]) -> Vec<String> {
    let (folder, text) = (Folder::new(jobs[0].0), text_of(jobs));
    let device = std::fs::File::create(folder.0.join("dev")).unwrap();
    device.set_len(DEVICE_BYTES).unwrap();
    std::fs::write(folder.0.join("job.fio"), &text).unwrap();
    let output = Command::new("fio").arg("job.fio").current_dir(&folder.0).output().unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let file = JobFile::read("job.fio", &mut |_| Ok(text.clone())).unwrap();
    let difference = |job: &Job| {
        let name = &job.name;
        let fio = logged(&std::fs::read_to_string(folder.0.join(format!("{name}.log"))).unwrap());
        let mut requests = JobRequests::new(job, DEVICE_BYTES, Seed(1)).unwrap();
        let draw = || requests.draw().map(|request| (request.op, request.offset, request.length));
        let own: Vec<Line> = std::iter::from_fn(draw).take(2 * fio.len()).collect();
        let at = fio.iter().zip(&own).position(|(fio, own)| fio != own);
        match at {
            _ if fio.len() <= 50 => Some(format!("{name}: fio made {} requests only", fio.len())),
            Some(at) => Some(format!("{name}: request {at} is {:?} with fio, not {:?}", fio[at], own[at])),
            None if fio.len() == own.len() => None,
            None => Some(format!("{name}: {} requests, {} with fio", own.len(), fio.len())),
        }
    };
    file.jobs.iter().filter_map(difference).collect()
}

/// Jobs with described and deterministic generators: (name, job).
const JOBS: &[(&str, &str)] = &[
    ("read", "rw=read\nbs=64k"),
    ("write-part", "rw=write\nbs=12k\nsize=50%\noffset=10%"),
    ("write-holes", "rw=write:8k\nbs=8k"),
    ("mixed-sequential", "rw=rw\nrwmixread=70\nbs=16k"),
    ("random", "rw=randread\nbs=4k"),
    ("random-repeated", "rw=randwrite\nbs=4k\nsize=8m\nloops=3"),
    ("random-no-map", "rw=randwrite\nbs=4k\nnorandommap\nio_size=96m\nsize=30m"),
    ("random-mixed", "rw=randrw\nrwmixwrite=30\nbs=8k"),
    ("random-mixed-sizes", "rw=randrw\nbs=4k,16k"),
    ("size-of-file", "rw=randread\nbs=8k\nfilesize=24m"),
    ("part", "rw=randread\nbs=4k\nsize=10%"),
    ("seed", "rw=randread\nbs=4k\nrandseed=42\nsize=16m\nloops=2"),
    ("seed-of-places", "rw=randrw\nbs=4k\nrandseed=42\nrandrepeat=0\nsize=16m\nloops=2"),
    ("lfsr-repeated", "rw=randwrite\nbs=4k\nrandom_generator=lfsr\nloops=2\nsize=5m"),
    ("no-map-repeated", "rw=randwrite\nbs=4k\nnorandommap\nloops=2\nsize=5m"),
    ("sizes-repeated", "rw=randwrite\nbsrange=4k-16k\nsize=5m\nloops=2\nrandseed=413"),
    ("flushes-repeated", "rw=randwrite\nbs=4k\nfsync=32\nloops=3\nsize=4m"),
    ("random-sizes-beyond", "rw=randrw:2\nbs=4k,8k\nbs_is_seq_rand=1\nsize=10m\nio_size=20m"),
    ("beyond-map", "rw=randrw:2\nbs=4k,8k\nbs_is_seq_rand=1\nsize=9996k\nio_size=20m"),
    ("read-repeated", "rw=read\nbs=12k\nloops=3\nsize=5m"),
    ("all-repeat-seed", "rw=randrw\nallrandrepeat=1\nrandseed=42\nbs=4k\nsize=8m"),
    ("all-repeat-seed-sequential", "rw=rw\nbs=4k\nsize=2m\nrandseed=42\nallrandrepeat=1"),
    ("all-repeat", "rw=randrw\nallrandrepeat=1\nbs=4k"),
    ("long", "rw=randread\nbs=4k\nrandom_generator=tausworthe64"),
    ("lfsr", "rw=randread\nbs=4k\nrandom_generator=lfsr"),
    ("range", "rw=randwrite\nbsrange=4k-64k"),
    ("range-no-map", "rw=randwrite\nbsrange=4k-60k\nnorandommap"),
    ("range-sequential", "rw=write\nbsrange=512-64k"),
    ("split", "rw=randwrite\nbssplit=4k/60:64k/10:16k/30"),
    ("split-mixed", "rw=randrw\nbssplit=4k/50:16k/,8k\nnorandommap"),
    ("unaligned", "rw=randwrite\nbsrange=1k-9k\nbs_unaligned\nnorandommap"),
    ("aligned-otherwise", "rw=randread\nbs=64k\nba=4k\nnumber_ios=5000"),
    ("percentage", "rw=randread\nbs=4k\npercentage_random=40"),
    ("runs", "rw=randread:8\nbs=4k\nnorandommap"),
    ("runs-identical", "rw=randread:4\nrw_sequencer=identical\nbs=4k\nnorandommap"),
    ("flush", "rw=randwrite\nbs=4k\nfsync=10\nsize=4m"),
    ("flush-mixed", "rw=randrw\nbs=4k\nfdatasync=7\nsize=4m"),
    ("number", "rw=randread\nbs=4k\nnumber_ios=777"),
    ("beyond-size", "rw=randwrite\nbs=4k\nsize=1m\nio_size=5m"),
    ("beyond-size-sequential", "rw=write\nbs=4k\nsize=1m\nio_size=5m"),
    ("zoned", "rw=randread\nbs=4k\nrandom_distribution=zoned:60/10:30/20:8/30:2/40"),
    ("zoned-absolute", "rw=randwrite\nbs=4k\nrandom_distribution=zoned_abs:60/20m:30/2m:10/12m"),
    ("zoned-blank", "rw=randwrite\nbs=4k\nrandom_distribution=zoned:50/5:30/15:20/"),
    ("zoned-blanks", "rw=randwrite\nbs=4k\nrandom_distribution=zoned:50/:30/15:20/"),
    ("split-blanks", "rw=randwrite\nbssplit=4k/:8k/50:16k/\nnorandommap"),
    ("defaults", "rw=randwrite\nbs=4k\nverify=0\nnrfiles=1\nzonemode=none\nsync=0\nthreads=1"),
    ("zipf", "rw=randwrite\nbs=4k\nrandom_distribution=zipf:1.2"),
    ("zipf-below-one", "rw=randwrite\nbs=4k\nrandom_distribution=zipf:0.8"),
    ("zipf-center", "rw=randwrite\nbs=4k\nrandom_distribution=zipf:1.1:0.25"),
    ("pareto", "rw=randread\nbs=4k\nrandom_distribution=pareto:0.2"),
    ("normal", "rw=randread\nbs=4k\nrandom_distribution=normal"),
    ("normal-moved", "rw=randread\nbs=4k\nrandom_distribution=normal:12.5:0.75"),
];

#[test]
fn every_option_of_fio_is_known() {
    if !fio_is_here() {
        return;
    }
    let output = Command::new("fio").arg("--cmdhelp=all").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split([' ', ':']).next()).filter(|name| !name.is_empty());
    let unknown: Vec<&str> = names
        .filter(|name| {
            let text = format!("[j]\n{name}=1\n");
            JobFile::read("job.fio", &mut |_| Ok(text.clone()))
                .is_err_and(|error| error.to_string().contains("no such"))
        })
        .collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

/// Jobs with clones.
const CLONES: &[&str] = &[
    "rw=randwrite\nbsrange=4k-16k\nsize=5m\nloops=2\nrandseed=413\nnumjobs=3\noffset_increment=16m",
    "rw=randwrite\nbs=4k\nsize=5m\nnumjobs=4\noffset_increment=10m",
    "rw=randrw\nbsrange=4k-16k\nsize=5m\nloops=2\nrandseed=7\nrandrepeat=0\nnumjobs=2\noffset_increment=16m",
    "rw=randread\nbssplit=4k/60:16k/40\nsize=6m\nnumjobs=3\noffset=5%\noffset_increment=7m\nallrandrepeat=1",
];

/// Each clone's requests by fio's log of response times, which has their places.
#[test]
fn requests_of_clones_are_those_of_fio() {
    for (number, options) in CLONES.iter().enumerate().filter(|_| fio_is_here()) {
        let folder = Folder::new(&format!("clones-{number}"));
        let text = format!("[j]\nfilename=dev\n{options}\n");
        std::fs::File::create(folder.0.join("dev")).unwrap().set_len(DEVICE_BYTES).unwrap();
        std::fs::write(folder.0.join("job.fio"), format!("{text}write_lat_log=j\nlog_offset=1\n")).unwrap();
        let output = Command::new("fio").arg("job.fio").current_dir(&folder.0).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let jobs = JobFile::read("job.fio", &mut |_| Ok(text.clone())).unwrap().jobs;
        for (number, job) in (1..).zip(&jobs) {
            let log = std::fs::read_to_string(folder.0.join(format!("j_clat.{number}.log"))).unwrap();
            let line = |line: &str| {
                let [_, _, op, length, offset, _] =
                    line.split(", ").map(|word| word.parse::<u64>().unwrap()).collect::<Vec<_>>()[..]
                else {
                    panic!("{line}");
                };
                ([Op::Read, Op::Write][op as usize], offset, length)
            };
            let fio: Vec<Line> = log.lines().map(line).collect();
            let mut requests = JobRequests::new(job, DEVICE_BYTES, Seed(1)).unwrap();
            let draw = || requests.draw().map(|request| (request.op, request.offset, request.length));
            let own: Vec<Line> = std::iter::from_fn(draw).collect();
            let at = fio.iter().zip(&own).position(|(fio, own)| fio != own);
            assert_eq!(at.map(|at| (fio[at], own[at])), None, "{text} job {number}, request {at:?}");
            assert_eq!(own.len(), fio.len(), "{text} job {number}");
        }
    }
}

#[test]
fn requests_are_those_of_fio_one_by_one() {
    if fio_is_here() {
        let wrong = differences(JOBS);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
