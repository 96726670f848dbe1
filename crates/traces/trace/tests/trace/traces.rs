//! Whole traces: files on disk, sequences of files, and published traces compared with their manifests.

use crate::common::{STRIDE, drain, file, named};
use coflash_base::{Bytes, Duration};
use coflash_trace::info::{InfoOptions, WorkloadInfo, summarise};
use coflash_trace::{Arrangement, OnError, TraceOptions};
use coflash_trace::{TraceEvent, Units, from_reader, open};
use coflash_workload::{Op, ReadAhead, Repeat, Request, Source, WorkloadError};
use std::fs;
use std::path::{Path, PathBuf};

fn recorded() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/traces/pgbench-oltp-400k.iolog.zst").to_owned()
}

fn inspect(paths: &[String], options: &TraceOptions) -> Result<WorkloadInfo, WorkloadError> {
    let mut source = open(paths, options)?;
    let info = summarise(&mut source, InfoOptions::default())?;
    Ok(WorkloadInfo { formats: source.formats().iter().map(ToString::to_string).collect(), ..info })
}

fn refusal(paths: &[String]) -> String {
    match open(paths, &TraceOptions::default()) {
        Ok(mut source) => drain(&mut source).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_recorded_trace_is_read_whole() {
    let info = inspect(&[recorded()], &TraceOptions::default()).unwrap();
    assert_eq!(info.formats, ["fio"]);
    let counts = [&info.read, &info.write, &info.trim, &info.flush].map(|op| op.requests);
    assert_eq!(counts, [164_158, 186_664, 10, 49_168]);
    assert_eq!(info.requests, 400_000);
    assert_eq!((info.read.bytes as f64 / 1e9 * 100.0).round(), 172.0);
    assert_eq!((info.write.bytes as f64 / 1e9 * 100.0).round(), 289.0);
    assert_eq!((footprint_gib(&info) * 100.0).round(), 140.0);
    assert_eq!((info.span_ns as f64 / 1e8).round(), 399.0);
    assert_eq!(info.flush.bytes, 0);
    assert_eq!(info.remarks, [""; 0]);
    let sizes = info.read.size_bytes.as_ref().unwrap();
    assert_eq!((sizes.min, sizes.p50), (4096, 8192));
    assert_eq!(sizes.mean, info.read.bytes as f64 / info.read.requests as f64);
    serde_json::to_string(&info).unwrap();
}

#[test]
fn reading_ahead_changes_nothing() {
    let mut direct = open(&[recorded()], &TraceOptions::default()).unwrap();
    let mut ahead = ReadAhead::new(open(&[recorded()], &TraceOptions::default()).unwrap()).unwrap();
    assert!(direct.progress().unwrap() < 0.5);
    assert_eq!(drain(&mut direct).unwrap(), drain(&mut ahead).unwrap());
    assert_eq!((direct.progress(), ahead.progress()), (Some(1.0), Some(1.0)));
}

#[test]
fn a_sequence_goes_on_where_the_file_before_ended() {
    let fio = file("sequence", "a.log", "fio version 3 iolog\n5 sda read 0 1\n9 sda write 0 1\n");
    let spc = file("sequence", "b.log", "0,0,512,r,0.5\n");
    let other = file("sequence", "c.log", "fio version 3 iolog\n1 sdb read 0 1\n2 sda read 0 1\n");
    let mut source = open(&[fio, spc, other], &TraceOptions::default()).unwrap();
    let requests = drain(&mut source).unwrap();
    let times: Vec<_> = requests.iter().map(|r| r.arrival.ns).collect();
    assert_eq!(times, [5_000, 9_000, 500_009_000, 500_010_000, 500_011_000]);
    let offsets: Vec<_> = requests.iter().map(|r| r.offset).collect();
    assert_eq!(offsets, [0, 0, STRIDE, 2 * STRIDE, 0], "a device keeps its place in every file");
    assert_eq!(source.formats(), ["fio", "spc"]);
    assert!(source.remarks()[0].contains("0 is sda, 1 is 0, 2 is sdb"), "{:?}", source.remarks());
    assert_eq!(source.progress(), Some(1.0));
}

#[test]
fn dates_of_one_file_do_not_move_the_next() {
    let msr =
        file("dates", "a.csv", "128166385295514663,h,0,Read,0,1,0\n128166385295514673,h,0,Read,0,1,0\n");
    let mut source = open(&[msr.clone(), msr], &TraceOptions::default()).unwrap();
    let times: Vec<_> = drain(&mut source).unwrap().iter().map(|r| r.arrival.ns).collect();
    assert_eq!(times, [0, 1000, 1000, 2000]);
}

#[test]
fn a_trace_repeated_is_the_trace_named_so_many_times() {
    let rows = "128166372003061629,hm,0,Read,383496192,32768,113736\n\
                128166372016382155,hm,0,Write,2822144,4096,2909\n\
                128166372026382245,hm,0,Write,not a number,4096,5\n\
                128166372036382245,hm,0,Write,2826240,4096,5\n";
    let path = file("repeat", "t.csv", rows);
    let options = TraceOptions { on_error: OnError::Skip, ..TraceOptions::default() };
    let once = || open(std::slice::from_ref(&path), &options);
    let mut repeated = Repeat::new(once().unwrap(), 3, once);
    let named = drain(&mut open(&vec![path.clone(); 3], &options).unwrap()).unwrap();
    assert_eq!(named.len(), 9);
    assert_eq!(drain(&mut repeated).unwrap(), named);
    let remarks = repeated.remarks();
    assert_eq!(remarks.iter().filter(|remark| remark.contains("1 record skipped")).count(), 1, "{remarks:?}");
}

#[test]
fn files_whose_dates_overlap_are_read_one_after_the_other_and_told() {
    let row =
        |second: u64| format!("{},hm,0,Write,4096,4096,5\n", 128_166_372_000_000_000 + second * 10_000_000);
    let part = |name: &str, seconds: &[u64]| {
        file("dates", name, seconds.iter().map(|second| row(*second)).collect::<String>())
    };
    let (first, inner, later) = (part("a.csv", &[0, 10]), part("b.csv", &[4, 8]), part("c.csv", &[60, 70]));
    let read = |paths: &[&String], merge| {
        let paths: Vec<_> = paths.iter().map(|path| (*path).clone()).collect();
        let mut source = open(&paths, &TraceOptions { merge, ..TraceOptions::default() }).unwrap();
        let last_ns = drain(&mut source).unwrap().last().unwrap().arrival.ns;
        (last_ns / 1_000_000_000, source.remarks().join("; "))
    };
    let (last, said) = read(&[&first, &inner], None);
    assert_eq!(last, 14);
    assert!(said.contains("1 of 2 files began before the file before them ended, by up to 6s"), "{said}");
    let (last, said) = read(&[&first, &later], None);
    assert_eq!(last, 20);
    assert!(said.contains("pauses between the files, 50s in all, were left out"), "{said}");
    let (last, said) = read(&[&first, &inner, &later], Some(Arrangement::Time));
    assert_eq!(last, 70);
    assert!(!said.contains("begin before") && !said.contains("pauses"), "{said}");
}

#[test]
fn a_sequence_longer_than_the_clock_is_refused() {
    let long = file("long", "a.log", "fio version 3 iolog\n18446744073709551 d read 0 1\n");
    let error = refusal(&[long.clone(), long]);
    assert!(error.contains("a.log:2: time: the trace is longer than 2^64 ns"), "{error}");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let good = file("unusable", "good.log", "fio version 3 iolog\n5 sda read 0 1\n");
    let missing = refusal(&[good.clone(), "/nowhere/x.csv".to_owned()]);
    assert_eq!(missing, "/nowhere/x.csv: no such file");
    let directory = Path::new(&good).parent().unwrap().to_str().unwrap().to_owned();
    let told = refusal(std::slice::from_ref(&directory));
    assert!(
        told.starts_with(&format!("{directory}: is a folder; give a file, such as {directory}/")),
        "{told}"
    );
    assert!(refusal(&[]).contains("at least one expected"));
    for (name, content) in
        [("empty.log", ""), ("blank.log", "\n \n"), ("header.log", "fio version 3 iolog\n0 d add\n")]
    {
        let path = file("unusable", name, content);
        let error = refusal(std::slice::from_ref(&path));
        assert!(error.starts_with(&path) && error.contains("no requests"), "{error}");
        let error = refusal(&[good.clone(), path.clone()]);
        assert!(error.starts_with(&path) && error.contains("no requests"), "{error}");
    }
}

#[test]
fn nothing_follows_an_error() {
    let path = file("fused", "bad.log", "fio version 3 iolog\n5 d read 0 1\nbad\n6 d read 0 1\n");
    let mut source = open(&[path], &TraceOptions::default()).unwrap();
    let mut batch = Vec::new();
    assert!(source.next_batch(&mut batch).is_ok() && batch.len() == 1, "what precedes it is read");
    assert!(source.next_batch(&mut batch).is_err());
    assert!(batch.is_empty());
    assert!(source.next_batch(&mut batch).is_ok() && batch.is_empty());
}

#[test]
fn a_damaged_file_has_a_specific_error() {
    let whole = fs::read(recorded()).unwrap();
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("damaged");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("cut.zst");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let error = refusal(&[path.to_str().unwrap().to_owned()]);
    assert!(error.contains("cut.zst: the zstd data ends early: the file is truncated"), "{error}");
}

/// A truncated file under `on_error = "skip"`: its requests, and its remarks.
fn of_truncated(name: &str, data: &[u8]) -> (Vec<Request>, Vec<String>) {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("truncated");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    fs::write(&path, data).unwrap();
    let options = TraceOptions { on_error: OnError::Skip, ..TraceOptions::default() };
    let mut source = open(&[path.to_str().unwrap().to_owned()], &options).unwrap();
    let (mut batch, mut requests) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch).unwrap();
        if batch.is_empty() {
            return (requests, source.remarks());
        }
        requests.extend_from_slice(&batch);
    }
}

#[test]
fn of_a_truncated_file_the_whole_records_are_read_if_errors_are_skipped() {
    let lines: String = (0..60_000).map(|at| format!("{at} d write {}000 4096\n", at * 4)).collect();
    let log = format!("fio version 3 iolog\n{lines}");
    let whole = zstd::encode_all(log.as_bytes(), 1).unwrap();
    for kept in [whole.len() - 1, whole.len() / 2, whole.len() / 3] {
        let (requests, remarks) = of_truncated("cut.zst", &whole[..kept]);
        assert!((1000..=60_000).contains(&requests.len()), "{}", requests.len());
        let expected =
            |(at, request): (usize, &Request)| request.offset == at as u64 * 4000 && request.length == 4096;
        assert!(requests.iter().enumerate().all(expected), "a line that was cut is not a request");
        assert!(remarks.iter().any(|remark| remark.contains("the file is truncated")), "{remarks:?}");
    }
}

fn footprint_gib(info: &WorkloadInfo) -> f64 {
    (info.footprint_pages.unwrap() * info.page_bytes) as f64 / f64::from(1 << 30)
}

/// The folder of traces that are too large, or not permitted, to be distributed with the project.
fn elsewhere(name: &str) -> Option<String> {
    let given = std::env::var_os("COFLASH_TRACES").map(PathBuf::from);
    let root =
        given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/traces"));
    let path = root.join(name);
    path.exists().then(|| path.to_str().expect("a path of text").to_owned())
}

#[test]
#[allow(clippy::print_stdout, reason = "a test that is skipped must say so")]
fn the_whole_recording_is_read_as_well() {
    let Some(path) = elsewhere("recorded/pgbench-oltp.iolog.zst") else {
        println!("skipped: the whole recording is not here");
        return;
    };
    // One of its three million records is late by two microseconds.
    let strict = TraceOptions { time_slack: Duration::ZERO, ..TraceOptions::default() };
    let error = inspect(std::slice::from_ref(&path), &strict).unwrap_err().to_string();
    assert!(error.contains(":1439772: time: time runs backwards by 2us"), "{error}");
    let info = inspect(&[path], &TraceOptions::default()).unwrap();
    assert!(
        info.remarks[0].contains("1 record earlier than the one before, by up to 2us"),
        "{:?}",
        info.remarks
    );
    let counts = [&info.read, &info.write, &info.trim, &info.flush].map(|op| op.requests);
    assert_eq!(counts, [1_262_112, 1_307_620, 96, 402_450]);
    assert_eq!((footprint_gib(&info) * 100.0).round(), 233.0);
    assert_eq!((info.address_end.unwrap() as f64 / f64::from(1 << 30) * 100.0).round(), 415.0);
}

/// A published trace: its file, its options, and from its manifest the requests, the percentages of reads and writes,
/// and the GiB of footprint, read and written.
type Published = (&'static str, TraceOptions, u64, f64, f64, f64, f64, f64);

fn units(time: u64, size: u64) -> TraceOptions {
    let units = Units { time: Some(Duration { ns: time }), address: None, size: Some(Bytes { count: size }) };
    TraceOptions { units, ..TraceOptions::default() }
}

/// An hour is longer than any pause in these traces, and shorter than any step of their clocks.
fn clock_set() -> TraceOptions {
    TraceOptions { clock_jump: Some(Duration { ns: 3_600_000_000_000 }), ..TraceOptions::default() }
}

fn skipping() -> TraceOptions {
    TraceOptions { on_error: OnError::Skip, ..TraceOptions::default() }
}

fn queued() -> TraceOptions {
    TraceOptions { event: Some(TraceEvent::Queue), ..TraceOptions::default() }
}

fn published() -> Vec<Published> {
    const MS: u64 = 1_000_000;
    let plain = TraceOptions::default;
    vec![
        ("TRIM_fio_v3_iolog_t0038.iolog.zst", plain(), 20, 0.0, 50.0, 0.0, 0.0, 0.0),
        ("msr_hm_0_1000records.csv.zst", plain(), 1000, 50.8, 49.2, 0.0073, 0.006, 0.003),
        ("pcmark_56088.trace.zst", plain(), 56_088, 74.6, 25.4, 2.2185, 3.071, 2.879),
        ("msr_prxy_0_reads_29360.trace.zst", plain(), 29_360, 100.0, 0.0, 0.0764, 0.272, 0.0),
        ("desktop_32527.trace.zst", units(MS, 4096), 32_527, 38.3, 61.7, 0.7454, 0.3, 0.732),
        (
            "umass_Financial1_first50000_fin1.trace.zst",
            units(MS, 4096),
            50_000,
            58.4,
            41.6,
            0.1188,
            0.208,
            0.126,
        ),
        (
            "umass_WebSearch1_first50000_web1.trace.zst",
            units(MS, 4096),
            50_000,
            100.0,
            0.0,
            0.7075,
            0.722,
            0.0,
        ),
        ("umass_Financial1_first10000_example.ascii.zst", plain(), 10_000, 40.8, 59.2, 0.0279, 0.024, 0.028),
        ("microsoft_DTRS_5min_DTRS1K.trace.zst", units(1000, 512), 127_043, 89.0, 11.0, 4.8533, 5.995, 0.709),
        ("microsoft_TPCC_6999_tpcc-small.trace.zst", plain(), 6999, 62.6, 37.4, 0.0781, 0.034, 0.022),
        ("msr_cut.per_10k.rw_20_80.105.trace.zst", plain(), 10_000, 20.2, 79.8, 0.0282, 0.004, 0.048),
        ("ycsb_rocksdb_ssdtrace_writes_87487.txt.zst", plain(), 87_487, 0.0, 100.0, 1.8443, 0.0, 6.791),
        ("systor17-traces-sample.csv.gz", plain(), 999, 82.7, 17.3, 0.0375, 0.034, 0.003),
        ("fiu_homes_home1sample_1000.blkparse.zst", plain(), 1000, 0.0, 100.0, 0.0018, 0.0, 0.004),
        ("blktrace_text_ycsb_ext4.txt.zst", clock_set(), 9887, 91.4, 8.6, 1.2099, 0.976, 0.235),
        ("blktrace_text_hadoop_apress_50000lines.txt.zst", queued(), 15_524, 0.5, 99.5, 0.0683, 0.009, 0.059),
        ("cloudphysics_2h_cloudPhysicsIO.csv.zst", plain(), 113_872, 41.3, 58.7, 1.0270, 1.674, 2.243),
        ("diskmon_sys1.trace.zst", plain(), 58_818, 50.3, 49.7, 0.6666, 0.463, 0.844),
        // One of its 20,000 offsets is negative: before the partition.
        ("TRIM_wiscsee_ext4_mkfs_reqscale_events.txt.zst", skipping(), 19_999, 0.2, 95.2, 0.0631, 0.0, 0.168),
        ("cloudphysics_2h_cloudPhysicsIO.vscsi.zst", plain(), 113_872, 41.3, 58.7, 1.027, 1.674, 2.243),
        // The manifest counts the flushes of this trace (without data) as reads.
        ("TRIM_blktrace_bin_keks.tar.zst", plain(), 1192, 0.0, 97.1, 0.0087, 0.0, 0.012),
    ]
}

#[test]
#[allow(clippy::print_stdout, reason = "a test that is skipped must say so")]
fn published_traces_are_what_they_are_known_to_be() {
    let mut found = 0;
    for (name, options, requests, reads, writes, footprint, read, written) in published() {
        let Some(path) = elsewhere(&format!("third-party/{name}")) else { continue };
        found += 1;
        let info = inspect(&[path], &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(info.requests, requests, "{name}");
        let of_each = [&info.read, &info.write, &info.trim, &info.flush].map(|op| op.requests);
        println!(
            "{name}: {}, {requests} requests (read, write, trim, flush: {of_each:?})",
            info.formats.join(" ")
        );
        let near = |got: f64, known: f64, step: f64, what: &str| {
            assert!((got - known).abs() <= step * 0.51, "{name}: {what} is {got}, known to be {known}");
        };
        near(info.read.requests as f64 * 100.0 / requests as f64, reads, 0.1, "share of reads");
        near(info.write.requests as f64 * 100.0 / requests as f64, writes, 0.1, "share of writes");
        near(footprint_gib(&info), footprint, 0.0001, "footprint");
        near(info.read.bytes as f64 / f64::from(1 << 30), read, 0.001, "read");
        near(info.write.bytes as f64 / f64::from(1 << 30), written, 0.001, "written");
    }
    println!("{found} of {} published traces were here", published().len());
    let Some(folder) = elsewhere("third-party") else {
        println!("skipped: no published traces here (COFLASH_TRACES names the folder that has them)");
        return;
    };
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_known = published().iter().any(|known| known.0 == name) || OTHERS.contains(&name.as_str());
        assert!(is_known, "{name} is there, and nothing is known of it");
    }
}

/// Files in formats that are not read: service times of a disk, without arrival times; SRT; BioTracer.
const OTHERS: [&str; 3] =
    ["hdd_validate_atlas10k.trace.zst", "hp_ajw_1week_1992.srt.zst", "nexus5_Booting_log176.txt.zst"];

#[test]
#[allow(clippy::print_stdout, reason = "a test that is skipped must say so")]
fn clocks_that_were_set_do_not_stretch_a_trace() {
    let known = [
        ("blktrace_text_ycsb_ext4.txt.zst", clock_set(), 810.0, "1 pause removed"),
        ("systor17-traces-sample.csv.gz", TraceOptions::default(), 2.0, "287 records out of order"),
        ("diskmon_sys1.trace.zst", TraceOptions::default(), 1204.0, "3489 records out of order"),
    ];
    for (name, options, seconds, remark) in known {
        let Some(path) = elsewhere(&format!("third-party/{name}")) else {
            println!("skipped: {name} is not here");
            continue;
        };
        let info = inspect(&[path], &options).unwrap();
        assert_eq!((info.span_ns as f64 / 1e9).floor(), seconds, "{name}");
        assert!(info.remarks.iter().any(|r| r.contains(remark)), "{name}: {:?}", info.remarks);
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "a test that is skipped must say so")]
fn published_traces_of_other_formats_are_refused() {
    for name in OTHERS {
        let Some(path) = elsewhere(&format!("third-party/{name}")) else {
            println!("skipped: {name} is not here");
            continue;
        };
        let error = refusal(&[path]);
        assert!(error.contains("not a trace of any known format"), "{name}: {error}");
        let path = elsewhere(&format!("third-party/{name}")).expect("it was there");
        assert!(open(&[path], &named("fio")).and_then(|mut s| drain(&mut s)).is_err(), "{name}");
    }
}

#[test]
fn every_operation_is_in_the_recorded_trace_and_within_its_device() {
    let requests = drain(&mut open(&[recorded()], &TraceOptions::default()).unwrap()).unwrap();
    for op in [Op::Read, Op::Write, Op::Trim, Op::Flush] {
        assert!(requests.iter().any(|r| r.op == op));
    }
    assert!(requests.is_sorted_by_key(|r| r.arrival));
    let info = inspect(&[recorded()], &TraceOptions::default()).unwrap();
    assert_eq!(info.address_end, requests.iter().map(|r| r.offset + r.length).max());
}

#[test]
fn a_text_of_unknown_columns_leads_to_the_options_that_name_them() {
    let error =
        from_reader("t.csv", Box::new("when,what,where\n1,2,3\n".as_bytes()), &TraceOptions::default());
    let text = error.err().expect("it is no trace").to_string();
    for part in
        ["t.csv: ", "\"when,what,where\"", "--read", "time:us,op,offset:sectors,size:bytes", "header_lines=1"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.len() < 300, "{text}");
}
