//! What today's recorders write: a small file of each, and what it means.

use crate::common::{STRIDE, drain, named};
use coflash_trace::{TraceOptions, open};
use coflash_workload::{Op, Source};

type Requests = Vec<(u64, u64, u64, Op)>;

/// The requests of a file among the data of the tests, and all remarks.
fn read(name: &str, options: &TraceOptions) -> Result<(Requests, String), String> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut source = open(&[path], options).map_err(|error| error.to_string())?;
    let requests = drain(&mut source).map_err(|error| error.to_string())?;
    let requests = requests.iter().map(|r| (r.arrival.ns, r.offset, r.length, r.op)).collect();
    Ok((requests, source.remarks().join("\n")))
}

const SECTOR: u64 = 512;
const US: u64 = 1000;

/// A file, its requests, and parts of its remarks.
type Case = (&'static str, &'static [(u64, u64, u64, Op)], &'static [&'static str]);

const CASES: &[Case] = &[
    (
        "ufs.txt",
        &[
            (0, 300 * 4096, 4096, Op::Write),
            (2000 * US, 70 * 4096, 8192, Op::Read),
            (3000 * US, 0, 0, Op::Flush),
        ],
        &["requests are taken at ufshcd_command, in blocks of 4KiB (units.address)"],
    ),
    (
        "perf-calls.txt",
        &[(0, 2048 * SECTOR, 4096, Op::Write), (100 * US, 4096 * SECTOR, 8192, Op::Read)],
        &[],
    ),
    (
        "nvme-zones.txt",
        &[(0, 2048 * SECTOR, 4096, Op::Write)],
        &["commands to zones", "trims have ranges that the trace does not say"],
    ),
    (
        // The last one arrived 80 ms before it was complete.
        "biosnoop-clock-latency.txt",
        &[
            (39_537_799_500 * US, 2048 * SECTOR, 4096, Op::Write),
            (39_537_820_000 * US, 4096 * SECTOR, 4096, Op::Read),
            (39_537_849_900 * US, 0, 0, Op::Flush),
        ],
        &["time:iso,text,skip,device,op,offset:sectors,size:bytes,latency:ms"],
    ),
    (
        "xperf.csv",
        &[(40_100 * US, 1 << 20, 4096, Op::Write), (50_100 * US, STRIDE + (2 << 20), 8192, Op::Read)],
        &["rows of other events than DiskRead and DiskWrite are no requests", "0 is 0, 1 is 1"],
    ),
    (
        "biosnoop-bcc.txt",
        &[
            // By its latency the first one arrived before the recorder.
            (0, 2048 * SECTOR, 4096, Op::Write),
            (200 * US, 40_960 * SECTOR, 16_384, Op::Read),
            (480 * US, 0, 0, Op::Flush),
            (647 * US, 2056 * SECTOR, 8192, Op::Write),
        ],
        &[
            "columns=time:s,text,skip,device,op,offset:sectors,size:bytes,latency:ms",
            "1 record out of order by up to 167us",
        ],
    ),
    (
        "biosnoop-queue.txt",
        &[(0, 2048 * SECTOR, 4096, Op::Write), (200 * US, STRIDE + 40_960 * SECTOR, 16_384, Op::Read)],
        &["0 is nvme0n1, 1 is sda"],
    ),
    (
        // Past midnight.
        "biosnoop-clock.txt",
        &[
            (86_399_998_940 * US, 2048 * SECTOR, 4096, Op::Write),
            (86_400_000_290 * US, 40_960 * SECTOR, 16_384, Op::Read),
        ],
        &["time:iso"],
    ),
    (
        "bpftrace.txt",
        &[
            (0, 2048 * SECTOR, 4096, Op::Write),
            (410 * US, 40_960 * SECTOR, 16_384, Op::Read),
            (977 * US, 8192 * SECTOR, 65_536, Op::Trim),
        ],
        &["read with columns=time:ns,op,device,offset:sectors,size:bytes"],
    ),
    (
        "perf-trace.txt",
        &[
            (0, 2048 * SECTOR, 4096, Op::Write),
            (410 * US, 40_960 * SECTOR, 16_384, Op::Read),
            (977 * US, 8192 * SECTOR, 65_536, Op::Trim),
        ],
        &["other events are no requests: 1 block_rq_complete"],
    ),
    (
        "nvme.txt",
        &[
            (0, 2048 * SECTOR, 4096, Op::Write),
            (410 * US, 40_960 * SECTOR, 16_384, Op::Read),
            (500 * US, 0, 0, Op::Flush),
            (600 * US, 8 * SECTOR, 4096, Op::Trim),
        ],
        &[
            "taken at nvme_setup_cmd, in blocks of 512B (units.address)",
            "trims have ranges that the trace does not say",
            "write zeroes",
            "1 nvme_admin_get_log_page, 1 nvme_complete_rq",
        ],
    ),
    (
        "scsi.txt",
        &[(0, 2048 * SECTOR, 4096, Op::Write), (500 * US, 40_960 * SECTOR, 16_384, Op::Read)],
        &["scsi_dispatch_cmd_start"],
    ),
    (
        "zones.txt",
        &[
            (0, 524_288 * SECTOR, 8192, Op::Write),
            (100 * US, 64 * SECTOR, 4096, Op::Trim),
            (200 * US, 128 * SECTOR, 4096, Op::Trim),
            (400 * US, 256 * SECTOR, 4096, Op::Write),
        ],
        &[
            "zone appends are writes",
            "write zeroes",
            "secure erases are trims",
            "commands to zones",
            "requests include a flush",
            "requests have a length of 0",
        ],
    ),
    (
        "blktrace-v8.0",
        &[
            (0, 2048 * SECTOR, 4096, Op::Write),
            (US, 40_960 * SECTOR, 16_384, Op::Read),
            (2 * US, 524_288 * SECTOR, 8192, Op::Write),
            (3 * US, 64 * SECTOR, 4096, Op::Trim),
        ],
        &["zone appends", "write zeroes", "commands to zones"],
    ),
    (
        "log-writes.log",
        &[
            (0, 16 * SECTOR, 1024, Op::Write),
            (0, 0, 0, Op::Flush),
            (0, 64 * SECTOR, 4096, Op::Trim),
            (0, 32 * SECTOR, 512, Op::Write),
        ],
        &[
            "neither times nor reads",
            "marks: \"mkfs\" after 0 requests, \"end\" after 4 requests",
            "include a flush",
        ],
    ),
    (
        "door.csv",
        &[
            (0, 8 * SECTOR, 4096, Op::Write),
            (400 * US, 16 * SECTOR, 8192, Op::Read),
            (1_000_400 * US, 24 * SECTOR, 4096, Op::Trim),
            (1_100_400 * US, 0, 0, Op::Flush),
        ],
        &["columns=time:iso,op,offset:sectors,size:bytes,skip", "1 request of length 0"],
    ),
];

#[test]
fn each_recorder_is_read_to_its_right_value_and_says_how() {
    for (name, expected, parts) in CASES {
        let (requests, said) =
            read(name, &TraceOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(requests, *expected, "{name}: {said}");
        for part in *parts {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
}

#[test]
fn an_option_without_effect_is_an_error() {
    let options = |given: &str| serde_json::from_str::<TraceOptions>(given).unwrap();
    for (name, given, key) in [
        ("xperf.csv", r#"{ "units": { "address": "4KiB" } }"#, "units.address"),
        ("biosnoop-bcc.txt", r#"{ "event": "issue" }"#, "event"),
        ("zones.txt", r#"{ "header_lines": 1 }"#, "header_lines"),
        ("log-writes.log", r#"{ "device_stride": "1TiB" }"#, "device_stride"),
        ("blktrace-v8.0", r#"{ "columns": "auto" }"#, "columns"),
    ] {
        let error = read(name, &options(given)).unwrap_err();
        assert!(error.starts_with(&format!("{key}: has no effect on ")), "{name}: {error}");
    }
    let blocks = options(r#"{ "units": { "address": "4KiB" } }"#);
    assert_eq!(read("nvme.txt", &blocks).unwrap().0[0], (0, 2048 * 4096, 8 * 4096, Op::Write));
}

#[test]
fn a_log_of_writes_refuses_what_it_is_not() {
    let refuses = |change: &dyn Fn(&mut Vec<u8>), part: &str| {
        let path = format!("{}/tests/data/log-writes.log", env!("CARGO_MANIFEST_DIR"));
        let mut data = std::fs::read(path).unwrap();
        change(&mut data);
        let input = Box::new(std::io::Cursor::new(data));
        let read =
            coflash_trace::from_reader("t", input, &named("log-writes")).and_then(|mut s| drain(&mut s));
        let error = read.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    refuses(&|data| data[0] = 1, "magic");
    refuses(&|data| data[8] = 2, "version: 2 is not 1");
    refuses(&|data| data[25] = 0, "sectorsize: 0");
    refuses(&|data| data[16] = 0, "no requests");
    refuses(&|data| data.truncate(600), "truncated");
}
