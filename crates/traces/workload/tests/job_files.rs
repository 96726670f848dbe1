//! Job files: accepted and refused text, with the errors.

use coflash_base::{PlacementId, Seed};
use coflash_workload::fio::{JobFile, JobRequests};
use coflash_workload::{Op, WorkloadError};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

const DEVICE_BYTES: u64 = 1 << 30;

/// Read a job file among others, by their names.
fn read_of(files: &[(&str, &str)]) -> Result<JobFile, WorkloadError> {
    let files: BTreeMap<&Path, &str> = files.iter().map(|&(name, text)| (Path::new(name), text)).collect();
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no such file");
    JobFile::read("job.fio", &mut |path| files.get(path).map(|&text| text.to_owned()).ok_or_else(missing))
}

fn read(text: &str) -> Result<JobFile, WorkloadError> {
    read_of(&[("job.fio", text)])
}

/// The problem of a job file, on reading it or on laying its jobs out.
fn problem(text: &str) -> String {
    let file = match read(text) {
        Ok(file) => file,
        Err(error) => return error.to_string(),
    };
    let laid_out = file.jobs.iter().map(|job| JobRequests::new(job, DEVICE_BYTES, Seed(1)));
    laid_out.filter_map(Result::err).map(|error| error.to_string()).next().expect("it is refused")
}

#[test]
fn options_that_are_not_honoured_are_named_with_the_reason() {
    for (text, expected) in [
        ("[j]\nrw=randraed", "job.fio:2: rw: \"randraed\" is not known; did you mean \"randread\"?"),
        ("[j]\nrwmixraed=3", "job.fio:2: rwmixraed: no such option; did you mean \"rwmixread\"?"),
        ("[j]\nverify=crc32c", "job.fio:2: verify: this option of fio is not simulated: flash holds no data"),
        ("[j]\nzonemode=zbd", "the device has no zones"),
        ("[j]\nplids=0,255", "plids: \"255\" was given; a whole number from 0 to 254 is allowed"),
        ("[j]\nfdp_pli_select=random", "roundrobin is allowed"),
        ("[j]\nbs=0", "bs: \"0\" was given; at least 1 is allowed"),
        ("[j]\nbs=4q", "bs: \"4q\" was given; a size such as 4k"),
        ("[j]\nsize=99999999999999999999", "size: \"99999999999999999999\" was given"),
        ("[j]\nsize=9999999p", "at most 1024p is allowed"),
        ("[j]\nsize=101%", "a whole number from 0 to 100 is allowed"),
        ("[j]\nsize=${SIZE}", "size: variables of the environment are not read"),
        ("[j]\nbssplit=4k/60:8k/60", "its percentages sum to 120; 100 is allowed"),
        ("[j]\nbs=1k,2k,3k,4k", "one value, or one each for reads, writes and trims"),
        ("[j]\ntime_based", "[j]: time_based was given without runtime"),
        (
            "[j]\nrwmixread=70\nrwmixwrite=70",
            "[j]: rwmixread=70 and rwmixwrite=70 were given; one of them is allowed",
        ),
        ("[j]\nrate=1m\nrate_iops=10", "[j]: rate and rate_iops were given; one of them is allowed"),
        ("[j]\nrandom_distribution=zipf:1", "any other exponent is allowed"),
        ("[j]\nrandom_distribution=pareto:2", "\"2\" was given; a number from"),
        ("[j]\nrandom_distribution=zoned:50/5:40/95", "its requests sum to 90 percent"),
        ("[j]\nrandom_distribution=zoned_abs:100/5g", "random_distribution: a zone of"),
        ("[j]\nrandom_generator=lfsr\nbsrange=4k-8k", "with one size (bs) only is it allowed"),
        (
            "[j]\nrandom_generator=lfsr\nrandom_distribution=zipf:1.2",
            "random_generator=lfsr and random_distribution were given; one of them is allowed",
        ),
        ("[j]\nsize=2g", "[j]: size: it is 2GiB; from a request, 4KiB, to what is left of the device, 1GiB"),
        ("[j]\nsize=1k", "[j]: size: it is 1KiB; from a request, 4KiB"),
        ("[j]\noffset=1g", "[j]: offset: it begins at 1GiB; less than the device"),
        ("[j]\noffset=1%\noffset_increment=1024p\nnumjobs=3", "[j]: offset: it begins at"),
        ("[j]\nnumjobs=5000", "a whole number from 1 to 4096 is allowed"),
        ("[j\nrw=read", "a section such as [name] is allowed"),
        ("rw=read", "stands before the first section"),
        ("[global]\nrw=read", "job.fio: it has no job"),
        ("", "job.fio: it has no job"),
    ] {
        let problem = problem(text);
        assert!(problem.contains(expected), "{text:?}: {problem}");
    }
}

#[test]
fn writes_have_the_placement_identifiers_of_their_job_in_turn() {
    let hints = |options: &str, handles| {
        let mut file = read(&format!("[j]\nrw=randrw\nsize=64k\n{options}")).unwrap();
        file.jobs[0].bind_placements(handles).map_err(|error| error.to_string())?;
        let mut requests = JobRequests::new(&file.jobs[0], DEVICE_BYTES, Seed(1)).unwrap();
        let drawn: Vec<_> = std::iter::from_fn(|| requests.draw()).collect();
        assert!(drawn.iter().all(|request| request.op == Op::Write || request.placement.is_none()));
        let writes = drawn.iter().filter(|request| request.op == Op::Write);
        Ok(writes.map(|request| request.placement.map(PlacementId::get)).take(4).collect::<Vec<_>>())
    };
    let in_turn = Ok(vec![Some(3), Some(1), Some(3), Some(1)]);
    assert_eq!(hints("fdp=1\nfdp_pli=3,1", Some(4)), in_turn);
    assert_eq!(hints("dataplacement=streams\nplids=3,1", None), in_turn, "hints that are ignored stay");
    assert_eq!(hints("fdp=1", Some(2)), Ok(vec![Some(0), Some(1), Some(0), Some(1)]), "all handles");
    for none in ["plids=3,1", "dataplacement=none\nplids=3"] {
        assert_eq!(hints(none, Some(4)), Ok(vec![None; 4]), "{none}");
    }
    let refused: Result<Vec<Option<u32>>, String> =
        Err("job.fio:1: [j]: plids: placement 3 was given; ftl.placement has the handles 0 to 2".to_owned());
    assert_eq!(hints("fdp=1\nplids=3", Some(3)), refused);
}

#[test]
fn includes_are_read_from_beside_their_file_and_never_in_circles() {
    let files =
        [("job.fio", "include common/all.fio\n[j]\nrw=write\n"), ("common/all.fio", "[global]\nbs=8k\n")];
    let file = read_of(&files).unwrap();
    assert_eq!(file.files, ["job.fio", "common/all.fio"]);
    let mut requests = JobRequests::new(&file.jobs[0], DEVICE_BYTES, Seed(1)).unwrap();
    assert_eq!(requests.draw().unwrap().length, 8 << 10);
    let circle = [("job.fio", "include a.fio"), ("a.fio", "[a]\ninclude job.fio")];
    assert_eq!(read_of(&circle).unwrap_err().to_string(), "a.fio:2: job.fio includes itself");
    let gone = [("job.fio", "[j]\ninclude b.fio")];
    assert_eq!(read_of(&gone).unwrap_err().to_string(), "job.fio:2: b.fio: no such file");
    let mut read = |path: &Path| {
        let depth: usize =
            path.file_stem().unwrap().to_str().unwrap().trim_start_matches('d').parse().unwrap_or(0);
        Ok(format!("include d{}.fio", depth + 1))
    };
    let deep = JobFile::read("d0.fio", &mut read).unwrap_err().to_string();
    assert!(deep.contains("includes 16 deep"), "{deep}");
}

#[test]
fn units_and_comments_are_those_of_fio() {
    let length = |options: &str| {
        let file = read(&format!("; a comment\n[j] # another\nrw=read\n{options}\n")).unwrap();
        JobRequests::new(&file.jobs[0], DEVICE_BYTES, Seed(1)).unwrap().draw().unwrap().length
    };
    for (options, bytes) in [
        ("bs=4k", 4096),
        ("bs=4K ; yes", 4096),
        ("bs = 4kb", 4096),
        ("bs=4kib", 4000),
        ("kb_base=1000\nbs=4k", 4000),
        ("bs=4kib\nkb_base=1000", 4096),
        ("bs=0x200", 512),
        ("bs=1m", 1 << 20),
        ("blocksize=16k,4k", 16 << 10),
    ] {
        assert_eq!(length(options), bytes, "{options}");
    }
}

#[test]
fn what_has_no_effect_is_told_once() {
    let file = read(
        "[global]\niodepth=4\nioengine=psync\n[a]\ngtod_reduce=1\nnumjobs=2\n[b]\nthread\ngtod_reduce=1",
    )
    .unwrap();
    assert_eq!(file.jobs.len(), 3);
    let remarks = file.remarks.join("\n");
    for expected in [
        "fio, gtod_reduce, thread: options without an effect",
        "fio, a, b: a synchronous ioengine",
        "without direct=1",
    ] {
        assert_eq!(remarks.matches(expected).count(), 1, "{expected} in {remarks}");
    }
}

#[test]
fn trims_are_written_afterwards_at_the_same_places() {
    for rw in ["trimwrite", "randtrimwrite"] {
        let file = read(&format!("[j]\nrw={rw}\nbs=4k\nsize=1m\nnorandommap=0\n")).unwrap();
        let mut requests = JobRequests::new(&file.jobs[0], DEVICE_BYTES, Seed(1)).unwrap();
        let all: Vec<_> = std::iter::from_fn(|| requests.draw()).take(1000).collect();
        assert_eq!(all.len(), 512, "{rw}");
        for pair in all.chunks(2) {
            assert_eq!([pair[0].op, pair[1].op], [Op::Trim, Op::Write], "{rw}");
            assert_eq!((pair[0].offset, pair[0].length), (pair[1].offset, pair[1].length), "{rw}");
        }
    }
}

/// Lines of job files, some of them wrong.
fn line() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("rw"),
        Just("bs"),
        Just("bsrange"),
        Just("bssplit"),
        Just("size"),
        Just("io_size"),
        Just("offset"),
        Just("numjobs"),
        Just("iodepth"),
        Just("rate"),
        Just("rate_iops"),
        Just("thinktime"),
        Just("random_distribution"),
        Just("norandommap"),
        Just("randseed"),
        Just("time_based"),
        Just("runtime"),
        Just("loops"),
        Just("stonewall"),
        Just("fsync"),
        Just("include"),
        Just("percentage_random"),
        Just("rwmixread"),
        Just("number_ios"),
        Just("random_generator"),
        Just("offset_increment"),
    ];
    let value = prop_oneof![
        "[0-9]{1,20}[kmgtp%]?(ib)?",
        "[a-z_]{0,12}(:-?[0-9./:]{1,12})?",
        "\\PC{0,12}",
        "[0-9]{1,3}k-[0-9]{1,3}k",
        "[0-9]{1,2}k/[0-9]{1,3}:[0-9]{1,2}k",
        Just("randwrite".to_owned()),
        Just("randtrimwrite".to_owned()),
        Just("zipf:1.2".to_owned()),
        Just("zoned:60/10:40/90".to_owned()),
        Just("lfsr".to_owned()),
        Just("normal:20".to_owned()),
        Just("8k".to_owned()),
        Just("randrw:7".to_owned()),
        Just("write:-8k".to_owned()),
    ];
    prop_oneof![
        8 => (name, value).prop_map(|(name, value)| format!("{name}={value}")),
        1 => "\\[[a-z]{0,6}\\]?",
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// No text makes the reader or a generator panic or loop; all requests of a job lie on the device.
    #[test]
    fn any_text_is_read_or_refused(lines in prop::collection::vec(line(), 0..12)) {
        let text = format!("[j]\n{}", lines.join("\n"));
        let Ok(file) = read(&text) else { return Ok(()) };
        for job in file.jobs.iter().take(3) {
            let Ok(mut requests) = JobRequests::new(job, DEVICE_BYTES, Seed(1)) else { continue };
            for request in std::iter::from_fn(|| requests.draw()).take(300) {
                prop_assert!(request.offset + request.length <= DEVICE_BYTES, "{:?} of {}", request, text);
                prop_assert_eq!(request.length == 0, request.op == Op::Flush, "{}", text);
            }
        }
    }
}
