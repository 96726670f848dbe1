//! The tools: slice, merge, and round trips of written traces.

use crate::common::table_files::provide_plain;
use crate::common::{drain, file};
use coflash_base::{Bytes, Duration, PlacementId, Time};
use coflash_trace::TraceOptions;
use coflash_trace::open;
use coflash_trace::tools::{Slice, Steps, head::head, write};
use coflash_workload::{BATCH_REQUESTS, Op, Request, Source, WorkloadError};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// A source with batches of a given size.
struct Fixed {
    requests: Vec<Request>,
    next: usize,
    step: usize,
}

impl Source for Fixed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        let end = (self.next + self.step).min(self.requests.len());
        batch.clear();
        batch.extend_from_slice(&self.requests[self.next..end]);
        self.next = end;
        Ok(())
    }
    fn progress(&self) -> Option<f64> {
        None
    }
}

/// A source of these requests, which may be written as any file.
fn fixed(requests: &[Request]) -> Fixed {
    provide_plain();
    Fixed { requests: requests.to_vec(), next: 0, step: BATCH_REQUESTS }
}

fn folder(test: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path.to_str().unwrap().to_owned()
}

fn read(path: &str) -> Vec<Request> {
    drain(&mut open(&[path.to_owned()], &TraceOptions::default()).unwrap()).unwrap()
}

fn refused<T>(result: Result<T, WorkloadError>) -> String {
    result.err().expect("it should be refused").to_string()
}

/// The trace of `text` after `steps`: arrival in us, offset, length.
fn after(test: &str, text: &str, steps: &Steps) -> Result<Vec<(u64, u64, u64)>, WorkloadError> {
    let path = file(test, "t.iolog", format!("fio version 3 iolog\n{text}"));
    let mut source = steps.open(&[path], &TraceOptions::default())?;
    let requests = drain(&mut source)?;
    Ok(requests.iter().map(|r| (r.arrival.ns / 1000, r.offset, r.length)).collect())
}

/// Requests of every kind at increasing times, some of them beyond 2^63.
fn any_requests(count: usize) -> impl Strategy<Value = Vec<Request>> {
    let gap = prop_oneof![Just(0), 0..5000_u64, 0..1_u64 << 52];
    // Most have no hint.
    let hint = (0..1000_u64).prop_map(PlacementId::new);
    let one = (0..4_usize, 0..1_u64 << 62, 1..1_u64 << 40, gap, hint);
    proptest::collection::vec(one, 1..count).prop_map(|all| {
        let mut ns = 0;
        let request = |(op, offset, length, gap, placement): (usize, u64, u64, u64, _)| {
            ns += gap;
            let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][op];
            let (offset, length) = if op == Op::Flush { (0, 0) } else { (offset, length) };
            Request { arrival: Time { ns }, offset, length, op, placement }
        };
        all.into_iter().map(request).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_file_of_a_table_reads_back_as_written(requests in any_requests(300), late: bool) {
        let mut requests = requests;
        if late {
            for request in &mut requests {
                request.arrival.ns += 1 << 63;
            }
        }
        let path = format!("{}/any.parquet", env!("CARGO_TARGET_TMPDIR"));
        let written = write(&mut fixed(&requests), &path, None).unwrap();
        prop_assert_eq!((written.format, written.requests), ("parquet", requests.len() as u64));
        prop_assert_eq!(written.bytes, fs::metadata(&path).unwrap().len());
        prop_assert_eq!(read(&path), requests);
    }

    #[test]
    fn an_iolog_reads_back_to_the_microsecond(requests in any_requests(300), compressed: bool) {
        let name = if compressed { "any.iolog.zst" } else { "any.iolog" };
        let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
        let written = write(&mut fixed(&requests), &path, None).unwrap();
        let cut = |request: &Request| {
            Request { arrival: Time { ns: request.arrival.ns / 1000 * 1000 }, placement: None, ..*request }
        };
        let expected: Vec<_> = requests.iter().map(cut).collect();
        let times = requests.iter().filter(|request| request.arrival.ns % 1000 > 0).count();
        let hints = requests.iter().filter(|request| request.placement.is_some()).count();
        let remarks = [
            format!("{times} time{} cut to whole microseconds, as the format has no finer ones", if times == 1 { "" } else { "s" }),
            format!("{hints} placement hint{} left out, as the format has none", if hints == 1 { "" } else { "s" }),
        ];
        prop_assert_eq!(written.remarks, remarks.into_iter().filter(|remark| !remark.starts_with("0 ")).collect::<Vec<_>>());
        prop_assert_eq!(read(&path), expected);
    }
}

#[test]
fn many_batches_read_back() {
    let requests: Vec<_> = (0..3_000_000_u64)
        .map(|i| Request {
            arrival: Time { ns: i * 997 },
            offset: (i * 7919) << 12,
            length: 4096 << (i % 3),
            op: Op::Write,
            // A third of the rows has hints throughout, one in part, and one none.
            placement: if i < 1 << 20 || i % 3 == 0 && i < 1 << 21 { PlacementId::new(i % 8) } else { None },
        })
        .collect();
    let path = format!("{}/groups.parquet", folder("groups"));
    write(&mut fixed(&requests), &path, None).unwrap();
    let mut source = open(std::slice::from_ref(&path), &TraceOptions::default()).unwrap();
    assert!(source.progress().unwrap() < 1.0);
    assert!(drain(&mut source).unwrap() == requests);
    assert_eq!((source.progress(), source.formats()), (Some(1.0), &["parquet"][..]));
}

#[test]
fn a_file_of_a_table_needs_a_file_of_its_own() {
    let folder = folder("own");
    let path = format!("{folder}/t.parquet");
    let one = Request { arrival: Time::ZERO, offset: 0, length: 1, op: Op::Read, placement: None };
    write(&mut fixed(&[one]), &path, None).unwrap();
    let compressed = format!("{path}.zst");
    fs::write(&compressed, zstd::encode_all(&fs::read(&path).unwrap()[..], 1).unwrap()).unwrap();
    let error = refused(open(&[compressed], &TraceOptions::default()));
    assert!(
        error.contains("t.parquet.zst: parquet is read from the end: give it as a plain file"),
        "{error}"
    );
    // In a sequence it is an ordinary trace.
    let both = drain(&mut open(&[path.clone(), path], &TraceOptions::default()).unwrap()).unwrap();
    assert_eq!(both, [one, one]);
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = folder("whole");
    let path = format!("{folder}/t.parquet");
    fs::write(&path, "what was there before").unwrap();
    let bad = file("whole", "bad.log", "fio version 3 iolog\n5 d read 0 1\nbad\n");
    let mut source = open(std::slice::from_ref(&bad), &TraceOptions::default()).unwrap();
    let error = refused(write(&mut source, &path, None));
    assert!(error.contains("bad.log:3: "), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"what was there before");
    let none = refused(write(&mut fixed(&[]), &path, None));
    assert!(none.contains("no requests are left"), "{none}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no temporary file stays");

    let one = Request { arrival: Time::ZERO, offset: 0, length: 1, op: Op::Read, placement: None };
    let refuse = |path: &str, format| refused(write(&mut fixed(&[one]), path, format));
    assert!(
        refuse(&format!("{folder}/t.csv"), None)
            .contains("known: .parquet, .arrow, .feather, .ipc, .iolog, .fio")
    );
    assert!(refuse(&format!("{folder}/t.csv"), Some("parket")).contains("did you mean \"parquet\"?"));
    assert!(refuse(&format!("{folder}/t.parquet.zst"), None).contains("leave .zst out"));
    assert!(refuse(&folder, Some("fio")).contains("is a folder"));
    assert!(refuse("/nowhere/t.parquet", None).contains("/nowhere/t.parquet: cannot be written"));
    // The output may replace the input, and the target of a link.
    let link = format!("{folder}/link.iolog");
    std::os::unix::fs::symlink(&bad, &link).unwrap();
    write(&mut fixed(&[one]), &link, None).unwrap();
    assert_eq!(read(&bad), [one]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(write(&mut fixed(&[one]), "/dev/null", Some("parquet")).unwrap().bytes, 0);
}

#[test]
fn the_head_is_the_first_requests() {
    let path = file("head", "t.log", "fio version 3 iolog\n5 d read 0 1\n6 d read 7 1\n");
    let first = |count| {
        head(&mut open(std::slice::from_ref(&path), &TraceOptions::default()).unwrap(), count).unwrap()
    };
    assert_eq!((first(0).len(), first(1).len(), first(9).len()), (0, 1, 2));
    assert_eq!(first(9)[1].offset, 7);
}

const TRACE: &str =
    "10 d read 0 4096\n20 d write 4096 8192\n30 d sync 0 0\n30 d read 100 1\n40 d trim 0 16384\n";

#[test]
fn a_slice_is_cut_by_time_then_address_then_count() {
    let us = |count: u64| Duration { ns: count * 1000 };
    let bytes = |count| Bytes { count };
    let slice = |slice: Slice| after("slice", TRACE, &Steps { slice, ..Steps::default() }).unwrap();
    let all = Slice::default();
    assert_eq!(slice(all.clone())[0].0, 10, "without a slice times are left alone");
    let by_time = slice(Slice { time_from: us(20), time_to: Some(us(40)), ..all.clone() });
    assert_eq!(by_time, [(0, 4096, 8192), (10, 0, 0), (10, 100, 1)]);
    let by_address = slice(Slice { address_from: bytes(4000), address_to: Some(bytes(5000)), ..all.clone() });
    assert_eq!(by_address, [(0, 4000, 96), (10, 4096, 904), (20, 0, 0), (30, 4000, 1000)]);
    let by_count = slice(Slice { skip: 1, count: Some(2), ..all.clone() });
    assert_eq!(by_count, [(0, 4096, 8192), (10, 0, 0)]);
    let of_the_rest =
        slice(Slice { time_from: us(15), address_to: Some(bytes(4096)), skip: 1, count: Some(9), ..all });
    assert_eq!(of_the_rest, [(0, 100, 1), (10, 0, 4096)]);
}

#[test]
fn a_merge_moves_each_trace_to_its_place() {
    let path = |name, text: &str| file("merge", name, format!("fio version 3 iolog\n{text}"));
    let paths =
        [path("a.log", "1 d read 0 1\n5 d sync 0 0\n"), path("b.log", "1 d read 0 2\n3 d write 9 1\n")];
    let merge = |offsets: &[u64]| {
        let offsets = offsets.iter().map(|&count| Bytes { count }).collect();
        Steps { offsets, ..Steps::default() }.open(&paths, &TraceOptions::default())
    };
    let requests = drain(&mut merge(&[0, 4096]).unwrap()).unwrap();
    let seen: Vec<_> = requests.iter().map(|r| (r.arrival.ns, r.offset, r.length)).collect();
    assert_eq!(seen, [(1000, 0, 1), (1000, 4096, 2), (3000, 4105, 1), (5000, 0, 0)]);
    assert!(refused(merge(&[1])).contains("offsets: 1 given for 2 traces"));
    let beyond = refused(drain(&mut merge(&[0, 1 << 63]).unwrap()));
    assert!(beyond.contains("b.log: a request at byte 0 moved by"), "{beyond}");
}

#[test]
fn the_first_requests_are_those_before_a_bad_line() {
    let path =
        file("head", "bad.log", "fio version 3 iolog\n1 d read 0 1\n2 d read 9 1\nbad\n3 d read 0 1\n");
    let first =
        |count| head(&mut open(std::slice::from_ref(&path), &TraceOptions::default()).unwrap(), count);
    assert_eq!(first(2).unwrap().len(), 2);
    assert!(refused(first(3)).contains("bad.log:4"), "the third is behind it");
}

#[test]
fn steps_that_mean_nothing_are_refused() {
    let error = |steps: Steps| refused(after("nothing", TRACE, &steps));
    let slice = |slice| Steps { slice, ..Steps::default() };
    let backwards =
        Slice { time_from: Duration { ns: 5 }, time_to: Some(Duration { ns: 5 }), ..Slice::default() };
    assert_eq!(error(slice(backwards)), "slice.time_to: 5ns is not above 5ns");
    assert!(error(slice(Slice { count: Some(0), ..Slice::default() })).contains("slice.count: 0 was given"));
    assert!(
        error(slice(Slice { address_to: Some(Bytes::ZERO), ..Slice::default() }))
            .contains("slice.address_to: 0B is not above 0B")
    );
}
