//! Texts as spreadsheets, scripts and other people write them: whatever they mean is read, or refused for a true reason.

use crate::common::{STRIDE, parse, remarks};
use coflash_trace::{TraceOptions, from_reader};
use coflash_workload::Op;
use std::io::Cursor;

fn columns(text: &str) -> TraceOptions {
    TraceOptions { columns: Some(text.parse().unwrap()), ..TraceOptions::default() }
}

const USUAL: &str = "time:us,op,offset:bytes,size:bytes";

#[test]
fn a_number_may_be_written_in_any_usual_way() {
    let expected = [(0, 4096, 4096, Op::Write), (1000, 8192, 512, Op::Read)];
    for text in [
        "0,W,4096,4096\n1,R,8192,512\n",
        "0.0,W,4096.0,4096.0\n1.0,R,8192.0,512.0\n",
        "0,W,4.096e3,4096\n1E0,R,8.192E+03,512\n",
        "0x0,W,0x1000,0x1000\n0x1,R,0X2000,512\n",
        "\"0\",\"W\",\"4096\",\"4096\"\n\"1\",\"R\",\"8192\",\"512\"\n",
        "0, W, \"4,096\", 4096\n1, R, \"8,192\", 512\n",
        "0;W;4.096,0;4096\n1,0;R;8.192,0;512\n",
        "0\tW\t4096\t4096\n1\tR\t8192\t512\n",
        "0|W|4096|4096\n1|R|8192|512\n",
        "0 W 4096 4096\n1 R 8192 512\n",
        "# a remark\n0,W,4096,4096,\"C:\\\\a, b.mdf\"\n\n# another\n1,R,8192,512,\"x\"\n",
        "\u{feff}0,W,4096,4096\r\n1,R,8192,512\r\n\0\0\0",
        "0,Write,4096,4096\n1,read,8192,512\n",
        "0,WS,4096,4096\n1,RA,8192,512\n",
        "0,1,4096,4096\n1,0,8192,512\n",
    ] {
        assert_eq!(parse(text, &columns(USUAL)).as_deref(), Ok(&expected[..]), "{text:?}");
    }
    let words = "0,ZA,0,512\n0,WZ,0,512\n0,DS,0,512\n0,unmap,0,512\n0,fsync,,\n0,ZR,0,0\n0,R,0,0\n";
    let ops: Vec<_> = parse(words, &columns(USUAL)).unwrap().iter().map(|request| request.3).collect();
    assert_eq!(ops, [Op::Write, Op::Trim, Op::Trim, Op::Trim, Op::Flush]);
    let said = remarks(words, &columns(USUAL));
    for part in ["zone appends are writes", "write zeroes", "commands to zones", "1 request of length 0"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_time_may_be_a_date_or_a_time_of_day() {
    for text in [
        "2025-11-02T10:15:01.000123Z,W,0,512\n2025-11-02T10:15:01.000523Z,R,0,512\n",
        "2025-11-02 10:15:01.000123 W 0 512\n2025-11-02 10:15:01.000523 R 0 512\n",
        "2025/11/02 10:15:01,000123;W;0;512\n2025/11/02 10:15:01,000523;R;0;512\n",
        "23:59:59.999900,W,0,512\n00:00:00.000300,R,0,512\n",
        "1762078501.000123,W,0,512\n1762078501.000523,R,0,512\n",
    ] {
        let options = columns("time:s,op,offset:bytes,size:bytes");
        let times: Vec<_> = parse(text, &options).unwrap().iter().map(|request| request.0).collect();
        assert_eq!(times, [0, 400_000], "{text}");
    }
}

#[test]
fn a_header_tells_the_columns() {
    for (header, row, offset) in [
        ("time_us,op,offset,size", ["0,W,4096,4096", "1,R,8192,512"], 4096),
        ("timestamp (us),rw,lba,bytes", ["0,W,8,4096", "1,R,16,512"], 4096),
        ("Time[us];Operation;Start LBA;Length (bytes)", ["0;W;8;4096", "1;R;16;512"], 4096),
        ("size;sector;ts_us;iotype", ["4096;8;0;Write", "512;16;1;Read"], 4096),
        ("time_us is_write address nbytes", ["0 true 4096 4096", "1 false 8192 512"], 4096),
        ("# time_us,op,sector,nr_sectors", ["0,W,8,8", "1,R,16,1"], 4096),
        ("time_us,op_type,offset_kb,size_kb", ["0,W,4,4", "1,R,8,0.5"], 4096),
        ("time_us,op,offset,size", ["0,1,8,4096", "1,0,17,512"], 8 * 512),
    ] {
        let text = format!("{header}\n{}\n{}\n", row[0], row[1]);
        let Ok(requests) = parse(&text, &TraceOptions::default()) else {
            assert!(header.contains("kb"), "{header}: {:?}", parse(&text, &TraceOptions::default()));
            continue;
        };
        assert_eq!(requests[0], (0, offset, 4096, Op::Write), "{header}");
        assert_eq!((requests[1].0, requests[1].2, requests[1].3), (1000, 512, Op::Read), "{header}");
        assert!(remarks(&text, &TraceOptions::default()).contains("read with columns="), "{header}");
    }
    // Names told no unit: values did.
    for (header, assumed) in [
        ("time_us,op,offset,size", "addresses in sectors, sizes in sectors (assumed)"),
        ("time_us,op,lba,size", "addresses in sectors, sizes in sectors (assumed)"),
        ("time_us,op,sector,nr_sectors", "addresses in sectors, sizes in sectors"),
    ] {
        let said = remarks(&format!("{header}\n0,W,8,8\n1,R,16,4\n2,W,1024,64\n"), &TraceOptions::default());
        assert!(said.trim_end().ends_with(assumed), "{header}: {said}");
    }
    let said = remarks("us,is_read,sector,size_kb\n0,1,8,4\n5,0,16,4\n", &TraceOptions::default());
    assert!(said.contains("=read/0") && !said.contains("0 is a read"), "{said}");
    let two = "time_ms,disk,op,sector,bytes\n0,sda,W,8,4096\n1,sdb,R,8,4096\n";
    assert_eq!(parse(two, &TraceOptions::default()).unwrap()[1], (1_000_000, STRIDE + 4096, 4096, Op::Read));
    let dates = [
        ("128166372003061629", "filetime"),
        ("1762078501", "s"),
        ("1762078501000", "ms"),
        ("1762078501000000000", "ns"),
    ];
    for (time, unit) in dates {
        let said = remarks(&format!("timestamp,op,lba,size\n{time},R,8,4096\n"), &TraceOptions::default());
        assert!(said.contains(&format!("time:{unit},op,offset:sectors,size:bytes")), "{time}: {said}");
    }
}

#[test]
fn an_unknown_text_is_proposed_with_its_first_lines_and_auto_reads_it() {
    let text = "0,W,4096,4096,x\n1,R,8192,512,y\n2,W,4096,1024,z\n9,R,0,512,z\n";
    let error = parse(text, &TraceOptions::default()).unwrap_err();
    for part in [
        "--read columns=time:us,op,offset:bytes,size:bytes,skip",
        "columns=auto",
        "\"2,W,4096,1024,z\" is a write of 1KiB",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("9,R"), "three lines are shown: {error}");
    let read = parse(text, &columns("auto")).unwrap();
    assert_eq!(read[1], (1000, 8192, 512, Op::Read));
    let unclear = "time,op,offset,size\n0,W,4096,4096\n7,R,8192,512\n";
    assert!(parse(unclear, &TraceOptions::default()).unwrap_err().contains("times in us (assumed)"));
    assert_eq!(parse(unclear, &columns("auto")).unwrap()[1].0, 7000);
    assert!(parse("a b c\nd e f\n", &columns("auto")).unwrap_err().contains("neither names nor values"));
}

#[test]
fn columns_that_are_given_skip_a_header() {
    let rows = "0,read,8,4096\n12.5,WS,16,8192\n";
    let given = columns("time:us,op,offset:sectors,size:bytes");
    let expected = [(0, 4096, 4096, Op::Read), (12_500, 8192, 8192, Op::Write)];
    for header in
        ["time_us,op_type,lba,size", "# a remark\n\n\"t [us]\",rw,LBA (512),n", "when;op;where;long"]
    {
        let text =
            format!("{header}\n{}", if header.contains(';') { rows.replace(',', ";") } else { rows.into() });
        assert_eq!(parse(&text, &given).as_deref(), Ok(&expected[..]), "{header}");
        let said = remarks(&text, &given);
        let last = header.lines().last().unwrap();
        assert!(said.contains("is a header and was left out") && said.contains(&last[..3]), "{said}");
    }
    assert!(!remarks(rows, &given).contains("header"));
    for (text, part) in [
        ("a,b,c,d\nx,op,lba,size\n0,read,8,4096\n", "t:2: time"),
        ("x,read,8,4096\n0,read,8,4096\n", "t:1: time"),
        ("0,read,8,4096\nt,op,lba,size\n", "t:2: time"),
    ] {
        let error = parse(text, &given).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let both = TraceOptions { header_lines: 1, ..given };
    assert_eq!(parse(&format!("t,op,lba,size\n{rows}"), &both).as_deref(), Ok(&expected[..]));
    // A unit without a number is one of it.
    let given = columns("time:us,op,offset:sectors,size:KiB");
    assert_eq!(parse("0,R,8,4\n", &given).as_deref(), Ok(&[(0, 4096, 4096, Op::Read)][..]));
}

#[test]
fn auto_goes_by_every_name_that_it_knows() {
    let (r, w) = (Op::Read, Op::Write);
    for (text, expected) in [
        (
            "host\tstart_us\tlatency_us\tis_read\tsector\tkb\nh1\t100\t80\t1\t8\t4\nh1\t300\t90\t0\t16\t8\n",
            [(0, 4096, 4096, r), (200_000, 8192, 8192, w)],
        ),
        (
            "# exported by our tool\nissue_time [s]|rw|LBA (4k)|len_sectors|device\n0.5|R|10|8|a\n0.75|W|20|16|a\n",
            [(0, 40_960, 4096, r), (250_000_000, 81_920, 8192, w)],
        ),
        (
            "Timestamp,Op,Page,Count\n1700000000000,0,10,1\n1700000000250,1,20,2\n",
            [(0, 40_960, 4096, r), (250_000_000, 81_920, 8192, w)],
        ),
        (
            "End Time (us),Response Time (us),Read?,Address,Bytes\n1000,100,yes,4096,4096\n2000,300,no,8192,4096\n",
            [(0, 4096, 4096, r), (800_000, 8192, 4096, w)],
        ),
        ("time_us,op,sector,kb\n0,R,8,4\n5,W,16,4\n", [(0, 4096, 4096, r), (5000, 8192, 4096, w)]),
        ("time_us,op,sector,sizeKiB\n0,R,8,4\n5,W,16,4\n", [(0, 4096, 4096, r), (5000, 8192, 4096, w)]),
        ("time_ms,rw,page,pages\n0,R,1,1\n5,W,2,3\n", [(0, 4096, 4096, r), (5_000_000, 8192, 12_288, w)]),
        (
            "time_ms,rw,page_id,page_size,pages\n0,R,1,16,1\n5,W,2,16,3\n",
            [(0, 4096, 4096, r), (5_000_000, 8192, 12_288, w)],
        ),
        // Some names are not known.
        ("a_us,is_read,blk,xfer_kb\n0,1,8,4\n5,0,17,4\n", [(0, 4096, 4096, r), (5000, 8704, 4096, w)]),
        ("# a_us,is_read,sector,foo\n0,1,8,8\n5,0,17,8\n", [(0, 4096, 4096, r), (5000, 8704, 4096, w)]),
    ] {
        assert_eq!(parse(text, &columns("auto")).as_deref(), Ok(&expected[..]), "{text}");
    }
    for (header, name) in [
        ("time_us,op,lba (clusters),bytes", "lba (clusters)"),
        ("time_us,op,lba,size_blocks", "size_blocks"),
        ("time (ticks),op,sector,bytes", "time (ticks)"),
        ("time_us,op,lba_extents,foo", "lba_extents"),
    ] {
        let text = format!("{header}\n0,R,8,4096\n5,W,16,512\n");
        for options in [columns("auto"), TraceOptions::default()] {
            let error = parse(&text, &options).unwrap_err();
            assert!(error.contains(&format!("the unit in \"{name}\" is not known")), "{error}");
            assert!(
                error.contains("known are ns, us, ms, s, min, h of times, and bytes, sectors"),
                "{error}"
            );
            assert!(error.contains("as in columns=time:us,op,offset:"), "{error}");
        }
    }
}

#[test]
fn an_encoding_that_is_not_read_is_named() {
    let wide = |bom: &[u8], big: bool| {
        let units = "0,W,4096,4096\n"
            .encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
        let input = Box::new(Cursor::new([bom, &units.collect::<Vec<_>>()].concat()));
        from_reader("t", input, &columns(USUAL)).err().expect("it is refused").to_string()
    };
    for (bom, big) in [(&[0xff, 0xfe][..], false), (&[0xfe, 0xff], true), (&[], false), (&[], true)] {
        let error = wide(bom, big);
        assert!(error.contains("UTF-16") && error.contains("iconv"), "{error}");
    }
}

#[test]
fn what_nothing_uses_refuses_no_trace() {
    for (text, requests) in [
        (
            "128166372003061629,h,0,Read,0,512,-1\n128166372003061630,h,0,Read,0,512,99999999999999999999.5\n",
            2,
        ),
        ("9 D read 8 4096 0.5 0 False\n? D read 8 4096 0.5 nan True\n", 2),
        ("500 x k 16 8 W 6 0 98b9\n", 1),
    ] {
        assert_eq!(parse(text, &TraceOptions::default()).map(|all| all.len()), Ok(requests), "{text}");
    }
}

#[test]
fn one_odd_row_does_not_change_the_unit_of_the_others() {
    let rows = |odd: &str| format!("time_us,op,offset,size\n0,W,4096,4096\n1,W,8192,4096\n{odd}\n");
    for odd in ["2,W,4097,512", "2,W,4097,513", "2,W,12288,81"] {
        let read = parse(&rows(odd), &TraceOptions::default()).unwrap();
        assert_eq!(read[0], (0, 4096, 4096, Op::Write), "{odd}");
    }
    for grouped in [
        "time_ms;op;offset;bytes\n1,5;R;4,096;4,096\n2,5;W;8,192;8,192\n",
        "time_ms;op;offset;size\n1;R;4,096;4,096\n",
    ] {
        let read = parse(grouped, &TraceOptions::default()).unwrap();
        assert_eq!((read[0].1, read[0].2), (4096, 4096), "{grouped}");
    }
}

#[test]
fn a_request_arrived_before_its_completion_by_its_latency() {
    let expected =
        [(0, 4096, 4096, Op::Write), (400_000, 0, 4096, Op::Read), (2_400_000, 8192, 4096, Op::Write)];
    let rows = "1000,100,R,0,4096\n2000,1500,W,4096,4096\n3000,100,W,8192,4096\n";
    for header in ["end_time_us,response_us", "Completion Time (us),Latency (us)"] {
        let text = format!("{header},op,offset,size\n{rows}");
        assert_eq!(parse(&text, &columns("auto")).as_deref(), Ok(&expected[..]), "{header}");
    }
    let given = columns("time:us,latency:us,op,offset:bytes,size:bytes");
    assert_eq!(parse(rows, &given).as_deref(), Ok(&expected[..]));
    // Where a column has the time of arrival, a latency changes nothing.
    let text = format!("start_us,response_us,op,offset,size\n{rows}");
    let times: Vec<_> = parse(&text, &columns("auto")).unwrap().iter().map(|request| request.0).collect();
    assert_eq!(times, [0, 1_000_000, 2_000_000]);
}

#[test]
fn times_may_be_minutes_hours_and_days() {
    const MINUTE_NS: u64 = 60_000_000_000;
    for (header, first, second, step_ns) in [
        ("time_min", "0.5", "1.0", MINUTE_NS / 2),
        ("time (h)", "0.5", "1.0", 30 * MINUTE_NS),
        ("time_days", "1.5", "2.0", 720 * MINUTE_NS),
        // A spreadsheet counts days: by its name, or by more digits than any clock has.
        ("Date", "45234.5", "45234.75", 360 * MINUTE_NS),
        ("time", "45234.5", "45234.5000000001", 8640),
    ] {
        let text = format!("{header},op,offset,size\n{first},R,0,4096\n{second},W,4096,4096\n");
        let read = parse(&text, &columns("auto")).unwrap();
        assert_eq!((read[0].0, read[1].0), (0, step_ns), "{header}");
    }
}

#[test]
fn names_of_rows_need_no_name_of_their_own() {
    // As R's write.table writes them.
    for separator in [" ", ",", "\t"] {
        let lines =
            ["\"time_s\" \"op\" \"offset\" \"size\"", "\"1\" 0.1 \"R\" 0 4096", "\"2\" 0.2 \"W\" 4096 4096"];
        let text = lines.join("\n").replace(' ', separator) + "\n";
        let expected = [(0, 0, 4096, Op::Read), (100_000_000, 4096, 4096, Op::Write)];
        assert_eq!(parse(&text, &columns("auto")).as_deref(), Ok(&expected[..]), "{separator:?}");
    }
}

#[test]
fn a_trace_may_use_one_address_alone() {
    let expected = [(0, 0, 4096, Op::Write), (1000, 0, 4096, Op::Read)];
    assert_eq!(parse("0,W,0,4096\n1,R,0,4096\n", &columns("auto")).as_deref(), Ok(&expected[..]));
}

/// What is said of a text that is not read.
fn problem(text: &str) -> String {
    parse(text, &TraceOptions::default()).expect_err(text)
}

#[test]
fn the_words_of_coflash_without_its_header_are_no_nanoseconds() {
    for text in ["0,write,4096,4096\n125,read,8192,4096\n", "0;write;8;8\n125;read;16;8\n"] {
        assert!(problem(text).contains("columns=time:us,op,offset:"), "{}", problem(text));
    }
    let own = format!("ns,op,offset,size\n{}", "125,read,8192,4096\n");
    assert_eq!(parse(&own, &TraceOptions::default()).unwrap(), [(125, 8192, 4096, Op::Read)]);
}

#[test]
fn values_deny_what_a_shape_says() {
    for (text, columns) in [
        // A tick has no fraction.
        (
            "0.0,usr,0,Read,7014609920,24576,41286\n3.5,usr,0,Write,2822144,4096,1000\n",
            "time:s,skip,skip,op,offset:bytes",
        ),
        // Seconds since 1970 are no microseconds.
        ("5,W,4096,4096,1577808144\n5,R,8192,4096,1577808145\n", "op,offset:bytes,size:bytes,time:s"),
        // Fractions are no whole seconds.
        ("0.5,8,8,1,1283\n1.25,16,8,0,1283\n", "time:s,"),
    ] {
        assert!(problem(text).contains(columns), "{}", problem(text));
    }
    let said = |text: &str| remarks(text, &TraceOptions::default());
    assert!(
        said("0,W,4096,4096,125\n0,R,8192,4096,250\n")
            .contains("times are no dates, as those of alibaba are")
    );
    assert!(!said("0,W,4096,4096,1577808144360767\n").contains("no dates"));
    assert!(said("0,8,4096,W,0.125\n").contains("read as spc, addresses in sectors of 512 bytes"));
}

#[test]
fn a_role_that_is_not_clear_is_asked_for() {
    // The second column rises as a time does, and says more than the first one.
    let volume =
        "17,1596.123456,R,4096000,8192\n17,1596.223456,W,4104192,4096\n18,1597.223456,W,8192,65536\n";
    let proposed = "columns=device,time:s,op,offset:bytes,size:bytes";
    assert!(problem(volume).contains(proposed), "{}", problem(volume));
    let zeros = "0,1,0,4096\n1,0,4096,4096\n";
    for part in ["columns=time:us,op,offset:bytes,size:bytes", "a write, else op:1=read/0=write (assumed)"] {
        assert!(problem(zeros).contains(part), "{}", problem(zeros));
    }
    let unknown = "time_us,what,offset,size\n0,hin,4096,4096\n7,her,8192,4096\n";
    for options in [TraceOptions::default(), columns("auto")] {
        let error = parse(unknown, &options).unwrap_err();
        assert!(
            error.contains("column 2 (her, hin) may say what a request does, as in op:her=read"),
            "{error}"
        );
    }
    let ends = "time_us,op,start_sector,end_sector\n0,W,8,15\n1,R,16,31\n";
    assert!(problem(ends).contains("column 4 says where a request ends"), "{}", problem(ends));
    // Sectors: the second address is no multiple of 512.
    let bare = "0.000000 mysqld 1200 nvme0n1 W 16217088 4096 0.08\n0.000306 mysqld 1200 nvme0n1 W 145944280 4096 0.39\n";
    assert!(problem(bare).contains("op,offset:sectors,size:bytes"), "{}", problem(bare));
    let later = "0,R,4096,4096,x\n5,W,8192,4096,x\n9,Q,8192,4096,x\n";
    assert!(!problem(later).contains("which columns=auto takes"), "{}", problem(later));
}

#[test]
fn a_shape_that_is_known_and_not_read_is_named_and_nothing_is_proposed() {
    for (text, what) in [
        ("{\"ts\": 1, \"op\": \"R\"}\n{\"ts\": 2, \"op\": \"W\"}\n", "it is JSON"),
        ("{\"timestamp\": 0, \"hash_ids\": [1, 2]}\n", "python examples/kv_traces/convert.py FILE"),
        ("1, 53248, 0, 4096\n2, 61440, 1, 8192\n", "it is a latency log of fio"),
        ("1, 53248, 0, 4096, 8192, 0\n2, 61440, 1, 8192, 0, 0x0001\n", "it is a latency log of fio"),
        ("7  12:00:01.1 pread64(3, \"\"..., 4096, 8192) = 4096\n", "it is an output of strace"),
        (
            "\"Time of Day\",\"Process Name\",\"Operation\",\"Path\"\n1,x,ReadFile,a\n",
            "it is a log of Process Monitor",
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n1,374,44\n2,396,109\n",
            "it is a log of requests to a language model",
        ),
        ("0,a,10,120,3,get,0\n0,b,12,400,4,set,3600\n", "it is a log of a key-value store"),
        (
            "key,op,size,op_count,key_size\nk,GET,100,1,10\nl,SET,200,1,10\n",
            "it is a log of a key-value store",
        ),
        ("PK\u{3}\u{4}rest", "it is a zip archive"),
        ("Smart Log for NVME device:nvme0\n", "it is a report of nvme smart-log"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:a\n", "it is a pointer of Git LFS"),
        ("[global]\nbs=4k\n[a]\nrw=read\n", "it is a job file of fio"),
    ] {
        assert!(
            problem(text).contains(what) && !problem(text).contains("columns=auto takes"),
            "{}",
            problem(text)
        );
    }
}
