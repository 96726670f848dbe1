//! Text with columns given by the user.

use crate::common::{STRIDE, drain, named, parse, refuses_with, remarks};
use coflash_base::PlacementId;
use coflash_trace::{Columns, TraceOptions};
use coflash_workload::Op;
use std::io::Cursor;

fn columns(text: &str) -> TraceOptions {
    TraceOptions { columns: Some(text.parse().unwrap()), ..named("columns") }
}

#[test]
fn columns_mean_what_the_user_says() {
    let options = TraceOptions {
        header_lines: 1,
        ..columns("skip, device, op:28=read/2a=write/-=skip, size:pages, offset:sectors, time:filetime")
    };
    let text = "name;disk;op;size;offset;when\na b;x;28;1;8;1000\nc;y;2a;2;0;1001;more\n;y;-;0;0;1\n";
    let expected = [(0, 4096, 4096, Op::Read), (100, STRIDE, 8192, Op::Write)];
    assert_eq!(parse(text, &options).unwrap(), expected);
    let ssdtrace = "0 0 981649464 24 0\n10 0 401128832 8 1\n";
    let options = columns("time:us,skip,offset:sectors,size:512B,op");
    let expected = [(0, 981_649_464 * 512, 24 * 512, Op::Read), (10_000, 401_128_832 * 512, 4096, Op::Write)];
    assert_eq!(parse(ssdtrace, &options).unwrap(), expected);
    assert!(remarks(ssdtrace, &options).contains("op 0 is read as a read, 1 as a write"));
    let timeless = columns("op,offset:bytes,size:bytes");
    assert_eq!(
        parse("READ\t0\t1\nTrim\t1\t1\n", &timeless).unwrap(),
        [(0, 0, 1, Op::Read), (0, 1, 1, Op::Trim)]
    );
    assert!(remarks("w,0,1\n", &timeless).contains("no column is a time"));
}

#[test]
fn columns_refuse_malformed_records() {
    let options = columns("time:us,op,offset:sectors,size:bytes,device");
    let wrong = |line, field, parts: &[&str]| refuses_with(&options, "5,R,0,1,a\n", line, field, parts);
    wrong("x,R,0,1,a", "time", &["\"x\""]);
    wrong("4,R,0,1,a", "time", &["backwards"]);
    wrong("6,A,0,1,a", "op", &["\"A\"", "op:word=read"]);
    wrong("6,R,-1,1,a", "offset", &["\"-1\""]);
    wrong("6,R,0,1", "device", &["missing"]);
    refuses_with(&options, "", "6 R 0 1", "line", &["5 columns between commas"]);
    refuses_with(
        &columns("op:a=read,offset:bytes,size:bytes"),
        "a 0 1\n",
        "b 0 1",
        "op",
        &["\"b\"", "allowed: a"],
    );
    let refused = |text: &str| text.parse::<Columns>().unwrap_err().to_string();
    assert!(refused("time,op,offset:bytes,size:bytes").contains("time has no unit, as in time:us"));
    assert!(refused("op,offset,size:bytes").contains("offset has no unit"));
    assert!(refused("op,offset:byte,size:bytes").contains("did you mean \"bytes\"?"));
    assert!(refused("op,offset:0B,size:bytes").contains("not a unit of bytes"));
    assert!(refused("time:day,op,offset:bytes,size:bytes").contains("not a unit of time"));
    assert!(refused("opp,offset:bytes,size:bytes").contains("did you mean \"op\"?"));
    assert!(refused("op:1=raed,offset:bytes,size:bytes").contains("did you mean \"read\"?"));
    assert!(refused("op:1,offset:bytes,size:bytes").contains("word and its meaning"));
    assert!(refused("device:x,op,offset:bytes,size:bytes").contains("device has no unit"));
    assert!(refused("op,size:bytes").contains("0 columns are offset, exactly one expected"));
    assert!(refused("time:s,time:s,op,offset:bytes,size:bytes").contains("2 columns are time, at most one"));
}

#[test]
fn a_header_that_names_another_unit_is_not_overridden_unseen() {
    let rows = "1,2,W,4096,512\n5,2,W,8192,512\n";
    let refused = |names: &str, given: &str| parse(&format!("{names}\n{rows}"), &columns(given)).err();
    let names = "time_us,latency_us,op,offset_bytes,size_sectors";
    for (given, problem) in [
        (
            "time:ns,skip,op,offset:bytes,size:sectors",
            "time: \"time_us\" is not time in the unit of columns=",
        ),
        (
            "time:us,latency:ns,op,offset:bytes,size:sectors",
            "latency: \"latency_us\" is not latency in the unit of columns=",
        ),
        (
            "skip,time:us,op,offset:bytes,size:sectors",
            "time: \"latency_us\" is not time in the unit of columns=",
        ),
        (
            "time:us,skip,op,offset:sectors,size:sectors",
            "offset: \"offset_bytes\" is not offset in the unit of columns=",
        ),
        (
            "time:us,skip,op,offset:bytes,size:bytes",
            "size: \"size_sectors\" is not size in the unit of columns=",
        ),
    ] {
        let said = refused(names, given).unwrap();
        assert!(said.contains(problem) && said.contains("header_lines=1 passes over it"), "{said}");
        let passed = TraceOptions { header_lines: 1, ..columns(given) };
        assert_eq!(parse(&format!("{names}\n{rows}"), &passed).map(|requests| requests.len()), Ok(2));
    }
    assert_eq!(refused(names, "time:us,latency:us,op,offset:bytes,size:sectors"), None);
    // The blocks of a drive may have 4 KiB.
    assert_eq!(refused("time_us,latency_us,op,lba,blocks", "time:us,skip,op,offset:4KiB,size:4KiB"), None);
}

#[test]
fn columns_of_one_name_are_asked_about() {
    let refused = |names: &str| {
        parse(&format!("{names}\n1,W,4096,8192,512\n5,W,8192,0,512\n"), &TraceOptions::default()).err()
    };
    let said = refused("time_us,op,offset_bytes,Offset (bytes),size_bytes").unwrap();
    assert!(said.contains("several columns are named \"offset\", so --read must say it, as in columns=time:us,op,offset:bytes,skip,size:bytes"), "{said}");
    assert_eq!(refused("time_us,op,offset_bytes,host,size_bytes"), None);
    assert_eq!(
        refused("time_us,op,offset_bytes,offset_sectors,size_bytes"),
        None,
        "their units tell them apart"
    );
}

#[test]
fn a_column_is_the_placement_hint() {
    let options = columns("op=write,offset:bytes,size:bytes,placement");
    let placements = |text: &str| {
        let mut source =
            coflash_trace::from_reader("t", Box::new(Cursor::new(text.to_owned())), &options).unwrap();
        let requests = drain(&mut source).unwrap();
        requests.iter().map(|request| request.placement.map(PlacementId::get)).collect::<Vec<_>>()
    };
    assert_eq!(placements("0,1,0\n0,1,-\n0,1,\n0,1,254\n"), [Some(0), None, None, Some(254)]);
    refuses_with(&options, "0,1,0\n", "0,1,255", "placement", &["255", "0 to 254; empty or - is none"]);
    refuses_with(&options, "0,1,0\n", "0,1,x", "placement", &["\"x\""]);
}

#[test]
fn columns_are_an_option_of_their_own() {
    let given = r#"{ "columns": "op,offset:bytes,size:bytes", "header_lines": 2 }"#;
    let options: TraceOptions = serde_json::from_str(given).unwrap();
    assert_eq!(options.columns.as_deref(), Some("op,offset:bytes,size:bytes"));
    let back = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<TraceOptions>(&back).unwrap(), options);
    assert!(parse("x", &columns("op")).unwrap_err().starts_with("columns: \"op\" is not columns such as"));
    let missing = TraceOptions { format: Some("columns".to_owned()), ..TraceOptions::default() };
    assert!(parse("x", &missing).unwrap_err().starts_with("columns: not given"));
    let both = TraceOptions { columns: options.columns, ..named("fio") };
    assert!(parse("x", &both).unwrap_err().contains("expected one of the two"));
}

#[test]
fn a_size_in_the_place_of_an_offset_is_refused_by_the_header_or_by_its_mean() {
    let rows: String = (0..200).map(|at| format!("{at},W,{},4096\n", at << 22)).collect();
    let (right, swapped) =
        (columns("time:us,op,offset:bytes,size:bytes"), columns("time:us,op,size:bytes,offset:bytes"));
    let headed = format!("time_us,op,offset,length\n{rows}");
    assert_eq!(parse(&headed, &right).map(|requests| requests.len()), Ok(200));
    let said = parse(&headed, &swapped).unwrap_err();
    assert!(
        said.contains(":1: size: \"offset\" is not size in the unit of columns= (header_lines=1"),
        "{said}"
    );
    for (text, header_lines) in [(&rows, 0), (&headed, 1)] {
        let said = parse(text, &TraceOptions { header_lines, ..swapped.clone() }).unwrap_err();
        assert!(
            said.contains("offset has 1 values and size has 199, up to 796MiB: they are in each other's"),
            "{said}"
        );
        assert!(said.contains("the option columns= says which is which"), "{said}");
        assert!(said.contains("as in columns=time:us,op,offset:bytes,size:bytes; beside it"), "{said}");
    }
    // Names tell the units.
    let with_names =
        format!("time_us,op,offset,size\n{}", rows.replace(",W,", ",W,4096,").replace(",4096\n", "\n"));
    let said = parse(&with_names, &TraceOptions::default()).unwrap_err();
    assert!(said.contains("as in columns=time:us,op,size:bytes,offset:bytes; beside it"), "{said}");
    let large: String = (0..200_u64).map(|at| format!("{at},W,{},{}\n", at << 29, 400_u64 << 20)).collect();
    let said = parse(&large, &right).unwrap_err();
    assert!(said.contains("400 MiB on average: offset and size may be in each other's place"), "{said}");
    // Also in a small volume, and in a format that names its columns; where a request begins at 0, it is none of them.
    let msr = |offset: u64| -> String {
        let row = |at: u64| format!("{at},h,0,Write,{},{},9\n", offset << (at % 3), (at % 150 + 1) << 13);
        (0..300).map(row).collect()
    };
    let said = parse(&msr(4096), &named("msr")).unwrap_err();
    assert!(
        said.contains("Offset has 3 values and Size has 150, up to 1200KiB: they are in each other's"),
        "{said}"
    );
    // Devices in turn, each at another place of the address space, are as easily seen.
    let turns = |(at, row): (usize, &str)| row.replace(",h,0,", &format!(",h,{},", at % 3)) + "\n";
    let several: String = msr(4096).lines().enumerate().map(turns).collect();
    assert!(parse(&several, &named("msr")).unwrap_err().contains("Offset has 3 values and Size has 150"));
    for honest in [0, 1 << 20] {
        assert_eq!(parse(&msr(honest), &named("msr")).map(|requests| requests.len()), Ok(300));
    }
    // A format that names its columns may be right: its trace is read, and said to be odd.
    let log: String = (0..200).map(|at| format!("{at},h,0,Write,4096,{},9\n", 400_u64 << 20)).collect();
    assert!(
        remarks(&log, &named("msr")).contains("400 MiB on average: Offset and Size may be in each other's")
    );
    // A few large requests are a trace, and so are trims of a whole device.
    let few: String = (0..5).map(|at| format!("{at},W,0,{}\n", 1_u64 << 30)).collect();
    assert_eq!(parse(&few, &right).map(|requests| requests.len()), Ok(5));
    assert_eq!(parse(&rows.replace('W', "trim"), &swapped).map(|requests| requests.len()), Ok(199));
}

#[test]
fn a_column_named_op_is_one_though_nearly_all_requests_are_alike() {
    let ops = |counts: &[(u8, usize)]| -> String {
        let every = counts.iter().flat_map(|&(op, count)| std::iter::repeat_n(op, count)).enumerate();
        every.map(|(at, op)| format!("{},{op},{},4096\n", at * 7, (at * 37 % 50) << 12)).collect()
    };
    for counts in [
        &[(0, 5), (3, 1), (1, 44)][..],
        &[(1, 30), (3, 1), (1, 10)],
        &[(0, 5), (1, 45)],
        &[(0, 50)],
        &[(1, 50)],
    ] {
        let requests =
            parse(&format!("time_us,op,offset,size\n{}", ops(counts)), &TraceOptions::default()).unwrap();
        let writes = counts.iter().filter(|&&(op, _)| op == 1).map(|&(_, count)| count).sum::<usize>();
        assert_eq!(requests.iter().filter(|request| request.3 == Op::Write).count(), writes, "{counts:?}");
        assert_eq!(requests.len(), counts.iter().map(|&(_, count)| count).sum::<usize>());
    }
}
