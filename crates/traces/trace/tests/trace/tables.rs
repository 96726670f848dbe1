//! The formats defined by columns: the meaning of records, and all malformed fields.

use crate::common::{STRIDE, drain, named, parse, refuses, remarks};
use coflash_base::{Bytes, Duration};
use coflash_trace::{TraceOptions, Units, from_reader};
use coflash_workload::{Op, Request};
use std::io::Cursor;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// A format, a file of it, and its requests: arrival in ns, offset, length, operation.
type Meaning = (&'static str, &'static str, &'static [(u64, u64, u64, Op)]);

const MEANINGS: &[Meaning] = &[
    (
        "msr",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n\
         128166385295514663,hm,0,Write,4096,2048,2833\n128166385295514663,hm,1,read,0,512,1\n\
         128166385295514670,hm,0,READ,512,512,1\n128166385295514680,src,0,WRITE,1,1,0\n",
        &[
            (0, 4096, 2048, Op::Write),
            (0, STRIDE, 512, Op::Read),
            (700, 512, 512, Op::Read),
            (1700, 2 * STRIDE + 1, 1, Op::Write),
        ],
    ),
    (
        "spc",
        "7,303567,3584,w,0.000000\n7,55590,3072,R,0.026214,extra\n2 , 0, 1, r , 0.5 ,x,y\n7,1,512,W,1\n",
        &[
            (0, 303_567 * 512, 3584, Op::Write),
            (26_214_000, 55_590 * 512, 3072, Op::Read),
            (500 * MS, STRIDE, 1, Op::Read),
            (S, 512, 512, Op::Write),
        ],
    ),
    (
        "replay",
        "0.000 0 200626176 4096 0\n223.412 0 512 36864 1\n",
        &[(0, 200_626_176, 4096, Op::Write), (223_412_000, 512, 36_864, Op::Read)],
    ),
    (
        "ssdsim",
        "10 3 303567 7 0\n11 3 1 1 1\n12 3 8 16 2\n",
        &[(10, 303_567 * 512, 3584, Op::Write), (11, 512, 512, Op::Read), (12, 4096, 8192, Op::Trim)],
    ),
    (
        "disksim",
        "0.5\t0\t8\t16\t1\n0.75 0 24 8 0\n1 0 0 1 1e\n1.000001 0 1 1 1f\n",
        &[
            (500_000, 4096, 8192, Op::Read),
            (750_000, 12_288, 4096, Op::Write),
            (MS, 0, 512, Op::Write),
            (1_000_001, 512, 512, Op::Read),
        ],
    ),
    (
        "systor",
        "Timestamp,Response,IOType,LUN,Offset,Size\n5.5,0.1,R,0,4096,512\n5.3,0.9,W,0,0,1\n66.5,,R,1,1,1\n",
        &[(0, 0, 1, Op::Write), (200 * MS, 4096, 512, Op::Read), (61_200 * MS, STRIDE + 1, 1, Op::Read)],
    ),
    (
        "cloudphysics",
        "version,time,op,size,lbn\n1,50,2a,512,3\n1,50,28,512,1\n2,52,8A,6656,2\n1,52,35,0,0\n",
        &[
            (0, 1536, 512, Op::Write),
            (0, 512, 512, Op::Read),
            (2 * S, 1024, 6656, Op::Write),
            (2 * S, 0, 0, Op::Flush),
        ],
    ),
    (
        "diskmon",
        "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength\n\
         0\t1.5\t0.1\t0\tRead\t8\t8\t\n1\t0.5\t0.1\t1\tWrite\t0\t1\t\n",
        &[(500 * MS, STRIDE, 512, Op::Write), (1500 * MS, 4096, 4096, Op::Read)],
    ),
    (
        // Out of order by a second, as published.
        "tencent",
        "1538323201,8,16,0,1063\n1538323200,0,1,1,7\n1538323201,0,1,0,1063\n",
        &[(0, STRIDE, 512, Op::Write), (S, 4096, 8192, Op::Read), (S, 0, 512, Op::Read)],
    ),
    (
        "alibaba",
        "device_id,opcode,offset,length,timestamp\n419,W,512,16384,1577808144360767\n3,R,0,1,1577808144360769\n",
        &[(0, 512, 16_384, Op::Write), (2000, STRIDE, 1, Op::Read)],
    ),
    (
        // Completions are skipped.
        "wiscsee",
        "9 D read 8 4096 0.5 0 False\n9 C read 8 4096 0.6 0.1 False\n9 D discard 0 1 0.7 6.942e-06 True\n\
         9 D flush 0 0 1.0 0.5 True\n",
        &[(500 * MS, 8, 4096, Op::Read), (700 * MS, 0, 1, Op::Trim), (S, 0, 0, Op::Flush)],
    ),
    (
        "coflash",
        "ns,op,offset,size\n7,write,512,8\n7,trim,0,4096\n9,flush,0,0\n",
        &[(7, 512, 8, Op::Write), (7, 0, 4096, Op::Trim), (9, 0, 0, Op::Flush)],
    ),
];

#[test]
fn each_means_what_its_table_says() {
    for (format, text, expected) in MEANINGS {
        for options in [named(format), TraceOptions::default()] {
            assert_eq!(parse(text, &options).as_deref(), Ok(*expected), "{format}");
        }
    }
}

/// A format, a valid record, and a malformed one after it with the field and a part of the message.
type Refusals = (&'static str, &'static str, &'static [(&'static str, &'static str, &'static str)]);

const REFUSALS: &[Refusals] = &[
    (
        "msr",
        "50,h,0,Read,0,1,2",
        &[
            ("x,h,0,Read,0,1,2", "Timestamp", "\"x\" is not a whole number"),
            ("184467440737095517,h,0,Read,0,1,2", "Timestamp", "times 100"),
            ("49,h,0,Read,0,1,2", "Timestamp", "backwards by 100ns"),
            ("50,,0,Read,0,1,2", "Hostname", "missing"),
            ("50", "Hostname", "missing"),
            ("50,h,disk,Read,0,1,2", "DiskNumber", "\"disk\""),
            ("50,h,0,Trim,0,1,2", "Type", "(allowed: Read, Write)"),
            ("50,h,0,Raed,0,1,2", "Type", "did you mean \"Read\"?"),
            ("50,h,0,Read,-1,1,2", "Offset", "\"-1\" is not a whole number from 0: it is negative"),
            ("50,h,0,Read,9223372036854775808,1,2", "Offset", "2^63"),
            ("50,h,0,Read,0,,2", "Size", "missing"),
            ("50,h,0,Read,0,1", "ResponseTime", "missing"),
            ("50,h,0,Read,0,1,2,3", "ResponseTime", "7 fields"),
            ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime", "Timestamp", "\"Timestamp\""),
        ],
    ),
    (
        "spc",
        "0,0,512,r,1.5",
        &[
            ("a,0,512,r,1.5", "ASU", "\"a\""),
            ("1,274877906944,512,r,1.5", "ASU", "device_stride of 256TiB or more"),
            ("0,,512,r,1.5", "LBA", "missing"),
            ("0,36028797018963968,512,r,1.5", "LBA", "times 512"),
            ("0,18014398509481983,1024,r,1.5", "LBA", "2^63"),
            ("0,0,512,x,1.5", "Opcode", "(allowed: r, R, w, W)"),
            ("0,0,512,rr,1.5", "Opcode", "\"rr\""),
            ("0,0,512,r,1x3", "Timestamp", "decimal"),
            ("0,0,512,r,-1", "Timestamp", "decimal"),
            ("0,0,512,r", "Timestamp", "missing"),
            ("0,0,512,r,1.499999999", "Timestamp", "backwards by 1ns"),
            ("0,0,512,r,18446744073.709551616", "Timestamp", "below 2^64"),
        ],
    ),
    (
        "replay",
        "1.5 0 0 512 1",
        &[
            ("x 0 0 512 1", "time", "\"x\""),
            ("2 a 0 512 1", "device", "\"a\""),
            ("2 0 513 512 1", "offset", "513 is not a multiple of 512"),
            ("2 0 0 8 1", "size", "multiple of 512"),
            ("2 0 0 512 r", "type", "(allowed: 0, 1)"),
            ("2 0 0 512 1 1", "type", "5 fields"),
        ],
    ),
    (
        "ssdsim",
        "10 0 0 1 1",
        &[
            ("10.5 0 0 1 1", "time", "\"10.5\" is not a whole number"),
            ("9 0 0 1 1", "time", "backwards by 1ns"),
            ("10 a 0 1 1", "device", "\"a\""),
            ("10 0 a 1 1", "lba", "\"a\""),
            ("10 0 0 1 3", "type", "(allowed: 0, 1, 2)"),
            ("10 0 0 1", "type", "missing"),
            ("10 0 0 1 1 1", "type", "5 fields"),
        ],
    ),
    (
        "disksim",
        "1.5 0 0 1 1",
        &[
            ("1.4 0 0 1 1", "time", "backwards by 100us"),
            ("18446744073709.551616 0 0 1 1", "time", "below 2^64"),
            ("1.5", "device", "missing"),
            ("1.5 sda 0 1 1", "device", "\"sda\""),
            ("1.5 0 0.5 1 1", "lba", "\"0.5\""),
            ("1.5 0 18014398509481984 1 1", "lba", "2^63"),
            ("1.5 0 0 -8 1", "size", "\"-8\""),
            ("1.5 0 0 1", "flags", "missing"),
            ("1.5 0 0 1 R", "flags", "hexadecimal"),
            ("1.5 0 0 1 1 9", "flags", "5 fields"),
        ],
    ),
    (
        "systor",
        "5.5,0.1,R,0,0,1",
        &[
            ("x,0,R,0,0,1", "Timestamp", "\"x\""),
            ("18446744074,0,R,0,0,1", "Timestamp", "below 2^64"),
            ("6,0,X,0,0,1", "IOType", "(allowed: R, W)"),
            ("6,0,R,a,0,1", "LUN", "\"a\""),
            ("6,0,R,0,-1,1", "Offset", "\"-1\""),
            ("6,0,R,0,0,", "Size", "missing"),
            ("6,0,R,0,0,1,9", "Size", "6 fields"),
        ],
    ),
    (
        "cloudphysics",
        "1,50,2a,512,3",
        &[
            ("3,50,2a,512,3", "version", "(allowed: 1, 2)"),
            ("1,x,2a,512,3", "time", "\"x\""),
            ("1,49,2a,512,3", "time", "backwards by 1s"),
            ("1,50,12,512,3", "op", "\"12\""),
            ("1,50,2a,x,3", "size", "\"x\""),
            ("1,50,2a,512,", "lbn", "missing"),
            ("1,50,2a,512,3,4", "lbn", "5 fields"),
        ],
    ),
    (
        "diskmon",
        "0 1.5 0.1 0 Read 8 8",
        &[
            ("1 x 0.1 0 Read 8 8", "Time", "\"x\""),
            ("1 1.5 0.1 C: Read 8 8", "Disk", "\"C:\""),
            ("1 1.5 0.1 0 Erase 8 8", "Request", "(allowed: Read, Write)"),
            ("1 1.5 0.1 0 Read x 8", "Sector", "\"x\""),
            ("1 1.5 0.1 0 Read 8", "Length", "missing"),
            ("1 1.5 0.1 0 Read 8 8 8", "Length", "7 fields"),
        ],
    ),
    (
        "tencent",
        "50,8,16,0,7",
        &[
            ("x,8,16,0,7", "Timestamp", "\"x\""),
            ("50,x,16,0,7", "Offset", "\"x\""),
            ("50,8,16,2,7", "IOType", "(allowed: 0, 1)"),
            ("50,8,16,0", "VolumeID", "missing"),
            ("50,8,16,0,7,7", "VolumeID", "5 fields"),
            ("50,8,274877906944,0,8", "VolumeID", "overlap"),
        ],
    ),
    (
        "alibaba",
        "7,W,0,1,50",
        &[
            (",W,0,1,50", "device_id", "missing"),
            ("7,X,0,1,50", "opcode", "\"X\""),
            ("7,W,x,1,50", "offset", "\"x\""),
            ("7,W,0,1,49", "timestamp", "backwards by 1us"),
            ("7,W,0,1", "timestamp", "missing"),
            ("7,W,0,1,50,1", "timestamp", "5 fields"),
        ],
    ),
    (
        "wiscsee",
        "9 D read 8 4096 0.5 0 False",
        &[
            ("9 Q read 8 4096 0.5 0 False", "action", "(allowed: D, C)"),
            ("9 D open 8 4096 0.5 0 False", "op", "\"open\""),
            ("9 D read -8388608 4096 0.5 0 False", "offset", "\"-8388608\""),
            ("9 D read 8 4096 0.4 0 False", "time", "backwards by 100ms"),
            ("9 D read 8 4096 0.5", "sync", "missing"),
            ("9 D read 8 4096 0.5 0 maybe", "sync", "\"maybe\""),
            ("9 D read 8 4096 0.5 0 True 1", "sync", "8 fields"),
        ],
    ),
    (
        "coflash",
        "ns,op,offset,size\n2000000,write,0,512",
        &[
            ("2000000.5,write,0,512", "ns", "\"2000000.5\""),
            ("2000000,W,0,512", "op", "\"W\""),
            ("2000000,write,-1,512", "offset", "\"-1\""),
            ("0,write,0,512", "ns", "backwards by 2ms"),
            ("2000000,write,0", "size", "missing"),
            ("2000000,write,0,512,1", "size", "4 fields"),
        ],
    ),
];

#[test]
fn each_refuses_malformed_records() {
    for (format, first, wrong) in REFUSALS {
        for (line, field, part) in *wrong {
            refuses(format, &format!("{first}\n"), line, field, &[part]);
        }
    }
    let names = |(format, ..): &Refusals| *format;
    assert_eq!(
        REFUSALS.iter().map(names).collect::<Vec<_>>(),
        MEANINGS.iter().map(|m| m.0).collect::<Vec<_>>()
    );
}

#[test]
fn whole_seconds_are_remarked_on() {
    for (format, text) in [("tencent", "50,8,16,0,7\n"), ("cloudphysics", "1,50,2a,512,3\n")] {
        assert!(remarks(text, &named(format)).contains("times are whole seconds"), "{format}");
    }
}

#[test]
fn similar_ascii_traces_are_told_apart_by_their_numbers() {
    let format_of = |text: &'static str| {
        let source = from_reader("t", Box::new(Cursor::new(text)), &TraceOptions::default());
        source.unwrap().formats()[0]
    };
    assert_eq!(format_of("0 0 303567 7 0\n10 1 512 1024 1\n"), "ssdsim");
    assert_eq!(format_of("0 0 303567 7 0\n10 1 512 1024 2\n"), "ssdsim", "a trim is no write of DiskSim's");
    assert_eq!(format_of("0.0 0 303567 7 0\n10 1 512 1024 1\n"), "disksim");
    assert_eq!(format_of("0 0 303567 7 0\n10 1 512 1024 1f\n"), "disksim");
    assert_eq!(format_of("0.000 0 200626176 4096 0\n223.412 0 512 36864 1\n"), "replay");
    let said = remarks("0 0 303567 7 0\n", &TraceOptions::default());
    assert!(said.contains("read as ssdsim, times in 1ns, addresses in 512B, sizes in 512B"), "{said}");
    let flagged = remarks("0.5 0 1 1 2\n", &TraceOptions::default());
    assert!(flagged.contains("flags other than 0 and 1 occurred"), "{flagged}");
}

#[test]
fn the_units_of_five_ascii_columns_are_options() {
    let units = Units {
        time: Some(Duration { ns: 1000 }),
        address: Some(Bytes { count: 1 }),
        size: Some(Bytes { count: 4096 }),
    };
    let options = TraceOptions { units, ..TraceOptions::default() };
    let mut source = from_reader("t", Box::new(Cursor::new("3 0 5 2 0\n")), &options).unwrap();
    let expected = Request {
        arrival: coflash_base::Time { ns: 3000 },
        offset: 5,
        length: 8192,
        op: Op::Write,
        placement: None,
    };
    assert_eq!(drain(&mut source).unwrap(), [expected]);
    let said = remarks("3 0 5 2 0\n", &options);
    assert!(said.contains("read as ssdsim, times in 1us, addresses in 1B, sizes in 4KiB"), "{said}");
    // The units of other formats are fixed.
    let error = parse("0,8,512,r,1\n", &options).unwrap_err();
    assert_eq!(error, "units.time: has no effect on t: its format spc takes device_stride");
}
