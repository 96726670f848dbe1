//! The rules common to all formats: order of times, devices, malformed records.

use crate::common::{STRIDE, named, parse, remarks};
use coflash_base::{Bytes, Duration};
use coflash_trace::{OnError, TraceOptions};
use coflash_workload::Op;

fn times(text: &str, options: &TraceOptions) -> Result<Vec<u64>, String> {
    Ok(parse(text, options)?.iter().map(|request| request.0).collect())
}

#[test]
fn a_record_within_the_slack_arrives_with_the_one_before() {
    let slack = TraceOptions { time_slack: Duration { ns: 2000 }, ..TraceOptions::default() };
    let text = "fio version 3 iolog\n5 d read 0 1\n3 d read 1 1\n4 d read 2 1\n6 d read 3 1\n";
    assert_eq!(times(text, &slack).unwrap(), [5000, 5000, 5000, 6000]);
    let said = remarks(text, &slack);
    assert!(said.contains("2 records earlier than the one before, by up to 2us"), "{said}");
    // The slack does not accumulate: it is relative to the latest time.
    let error = times(&text.replace("4 d", "2 d"), &slack).unwrap_err();
    assert!(
        error.contains("t:4: time: time runs backwards by 3us") && error.contains("time_slack = \"3us\""),
        "{error}"
    );
}

#[test]
fn a_millisecond_of_slack_is_the_default_and_is_remarked() {
    let text = "fio version 3 iolog\n5000 d read 0 1\n4000 d read 1 1\n6000 d read 3 1\n";
    assert_eq!(times(text, &TraceOptions::default()).unwrap(), [5_000_000, 5_000_000, 6_000_000]);
    let said = remarks(text, &TraceOptions::default());
    assert!(said.contains("1 record earlier than the one before, by up to 1ms"), "{said}");
    assert!(
        times(&text.replace("4000", "3999"), &TraceOptions::default()).unwrap_err().contains("backwards")
    );
    let strict = TraceOptions { time_slack: Duration::ZERO, ..TraceOptions::default() };
    assert!(times(text, &strict).unwrap_err().contains("backwards by 1ms"));
}

#[test]
fn a_window_puts_records_in_order() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n5.5,0.1,R,0,4096,512\n5.3,0.9,W,0,0,1\n";
    let options = named("systor");
    assert_eq!(times(text, &options).unwrap(), [0, 200_000_000]);
    assert!(remarks(text, &options).contains("1 record out of order by up to 200ms"));
    let late = "6.5,0,R,0,0,1\n66.5,0,R,0,0,1\n6.4,0,R,0,0,1\n";
    let error = times(late, &options).unwrap_err();
    assert!(error.starts_with("t:3: Timestamp: time runs backwards by 100ms"), "{error}");
    assert!(error.contains("sort_window = \"60100ms\""), "{error}");
    let wide = TraceOptions { sort_window: Some(Duration { ns: 60_100_000_000 }), ..options.clone() };
    assert_eq!(times(late, &wide).unwrap().len(), 3);
    let none = TraceOptions { sort_window: Some(Duration::ZERO), ..options.clone() };
    assert!(times(text, &none).unwrap_err().starts_with("t:3: Timestamp: time runs backwards by 200ms"));
}

/// The advice is that of all records, not of those up to the first that is late.
#[test]
fn the_window_that_an_error_proposes_sorts_the_whole_file() {
    let times_s = [50, 49, 10, 60, 2, 61, 30];
    let text: String = times_s.iter().map(|at| format!("{at},0,R,0,0,1\n")).collect();
    for format in [
        named("systor"),
        TraceOptions {
            columns: Some("time:s,skip,op,skip,offset:bytes,size:bytes".to_owned()),
            ..TraceOptions::default()
        },
    ] {
        let narrow = TraceOptions { sort_window: Some(Duration { ns: 5_000_000_000 }), ..format };
        let error = times(&text, &narrow).unwrap_err();
        assert!(
            error.contains("sort_window = \"58s\" or more") && error.contains("time_slack = \"58s\""),
            "{error}"
        );
        let wide = |ns| TraceOptions { sort_window: Some(Duration { ns }), ..narrow.clone() };
        assert!(times(&text, &wide(40_000_000_000)).is_err());
        assert_eq!(times(&text, &wide(58_000_000_000)).unwrap().len(), 7);
        let slack = TraceOptions { time_slack: Duration { ns: 58_000_000_000 }, ..narrow };
        assert_eq!(times(&text, &slack).unwrap().len(), 7);
    }
}

#[test]
fn a_record_that_waits_is_blamed_by_its_own_line() {
    let text = "6,0,R,0,0,1\n5,0,R,0,9223372036854775808,1\n7,0,R,0,0,1\n";
    assert!(times(text, &named("systor")).unwrap_err().starts_with("t:2: Offset: a request of 1B"));
    let skip = TraceOptions { on_error: OnError::Skip, ..named("systor") };
    assert_eq!(times(text, &skip).unwrap(), [0, 1_000_000_000]);
    assert!(remarks(text, &skip).contains("1 record skipped, the first: t:2: Offset"));
}

#[test]
fn more_errors_than_requests_are_another_format_even_where_errors_are_skipped() {
    let skip = TraceOptions { on_error: OnError::Skip, ..named("systor") };
    let (good, bad) = ("6,0,R,0,0,1\n", "7,0,R,0,x,1\n");
    assert_eq!(times(&(good.repeat(2) + &bad.repeat(2)), &skip).unwrap().len(), 2, "as many are read");
    let error = times(&(good.repeat(2) + &bad.repeat(3)), &skip).unwrap_err();
    assert!(
        error.starts_with("t: 3 of 5 records are no requests, more than on_error = \"skip\" leaves out"),
        "{error}"
    );
    assert!(error.ends_with("the first: t:3: Offset: \"x\" is not a whole number"), "{error}");
}

#[test]
fn a_step_of_the_clock_is_left_out_where_the_user_says_so() {
    let text = "fio version 3 iolog\n5 d read 0 1\n7 d read 1 1\n5000007 d read 2 1\n5000008 d read 3 1\n";
    let options = TraceOptions { clock_jump: Some(Duration { ns: 1_000_000_000 }), ..named("fio") };
    assert_eq!(times(text, &options).unwrap(), [5000, 7000, 7000, 8000]);
    assert!(remarks(text, &options).contains("1 pause removed, 5s in all"));
    let back = text.to_owned() + "5000000 d read 0 1\n";
    assert!(times(&back, &options).unwrap_err().contains("backwards by 8us"));
    let there_and_back = "fio version 3 iolog\n0 d read 0 1\n5000000 d read 1 1\n1 d read 2 1\n";
    assert!(times(there_and_back, &options).unwrap_err().contains("backwards by 4999999us"));
}

#[test]
fn devices_of_any_size_have_room_and_a_remark_says_where_they_are() {
    let text = "0,0,512,r,0\n3,200000000000,512,r,1\n0,100000000000,512,r,2\n";
    let expected = [
        (0, 0, 512, Op::Read),
        (1_000_000_000, STRIDE + 200_000_000_000 * 512, 512, Op::Read),
        (2_000_000_000, 100_000_000_000 * 512, 512, Op::Read),
    ];
    assert_eq!(parse(text, &TraceOptions::default()).unwrap(), expected);
    let said = remarks(text, &TraceOptions::default());
    assert!(said.contains("2 devices share one address space: device n begins at n × 128TiB"), "{said}");
    assert!(said.contains("(device_stride); 0 is 0, 1 is 3"), "{said}");
    // The first device has the addresses of a single device.
    assert_eq!(parse("7,1,512,r,0\n", &TraceOptions::default()).unwrap(), [(0, 512, 512, Op::Read)]);
    assert!(!remarks("7,1,512,r,0\n", &TraceOptions::default()).contains("devices"));
}

#[test]
fn devices_a_given_stride_apart_must_not_overlap() {
    let near = TraceOptions { device_stride: Bytes { count: 4096 }, ..TraceOptions::default() };
    let text = "0,1,512,r,0\n2,1,512,w,0.5\n";
    let offsets: Vec<_> = parse(text, &near).unwrap().iter().map(|request| request.1).collect();
    assert_eq!(offsets, [512, 4096 + 512]);
    let error = parse(&(text.to_owned() + "2,7,1024,r,1\n"), &near).unwrap_err();
    assert!(
        error.starts_with("t:3: ASU: device 1 would overlap another") && error.contains("8KiB or more"),
        "{error}"
    );
    let text = "fio version 3 iolog\n0 a read 0 137438953472\n1 b sync 0 0\n2 a read 137438953472 1\n";
    assert_eq!(parse(text, &near).unwrap().len(), 3, "a flush collides with nothing");
}
