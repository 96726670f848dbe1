//! Job files: accepted and refused text, with the errors.

use coflash_base::{PlacementId, Seed};
use coflash_fio::{JobFile, JobRequests};
use coflash_workload::jobs::JobSource;
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
        (
            "[j]\nrwmixraed=3",
            "job.fio:2: rwmixraed: fio 3.4x has no such option; did you mean \"rwmixread\"?",
        ),
        ("[j]\nverify=crc32c", "job.fio:2: verify: this option of fio is not simulated: flash holds no data"),
        ("[j]\nzonemode=zbd", "the device has no zones"),
        ("[j]\nplids=0,255", "plids: \"255\" was given; a whole number from 0 to 254 is allowed"),
        ("[j]\nnrfile=3", "nrfile: fio 3.4x has no such option; did you mean \"nrfiles\"?"),
        (
            "[j]\nioengine=filecreate",
            "\"filecreate\" of fio is not simulated: this ioengine sends no requests",
        ),
        ("[j]\nioengine=external:/tmp/mine.so", "an ioengine from outside fio is not known"),
        ("[j]\nioengine=libaoi", "ioengine: \"libaoi\" is not known; did you mean \"libaio\"?"),
        ("[j]\nfdp_pli_select=first", "\"first\" is not known"),
        ("[j]\nplids=4-300", "plids: \"300\" was given; a whole number from 0 to 254 is allowed"),
        ("[j]\nfdp=1\nplid_select=scheme", "plid_select=scheme was given without dp_scheme"),
        ("[j]\nwrite_hint=tiny", "write_hint: \"tiny\" is not known"),
        ("[j]\nss=iops_slope:0.3%\nss_dur=1s", "ss_dur: at least two intervals"),
        ("[j]\nss=iops", "a criterion and a limit such as iops_slope:0.3% is allowed"),
        ("[j]\nrandom_distribution=zoned:50/60:30/50:20/", "its percentages sum to 110; 100 is allowed"),
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
            "[j]: rwmixread and rwmixwrite were given; one, or two that add up to 100",
        ),
        ("[j]\nrate=1m\nrate_iops=10", "[j]: rate and rate_iops were given; one of them is allowed"),
        ("[j]\nrandom_distribution=zipf:1", "any other exponent is allowed"),
        ("[j]\nrandom_distribution=pareto:2", "\"2\" was given; a number from"),
        ("[j]\nrandom_distribution=zoned:50/5:40/95", "its requests sum to 90 percent"),
        ("[j]\nrandom_distribution=zoned_abs:100/5g", "random_distribution: a zone of"),
        ("[j]\nrandom_generator=lfsr\nbsrange=4k-8k", "with one size (bs) only is it allowed"),
        (
            "[j]\nrandom_generator=lfsr\nrandom_distribution=zipf:1.2",
            "random_generator=lfsr is not allowed with this random_distribution",
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
fn a_command_line_is_read_as_a_job_file() {
    let script = "#!/bin/bash\nset -e\nsudo fio --bs=4k --name=fill --rw=write \\\n  --size=16m --name='mixed' --rw=\"randrw\" \
                  --rwmixread=70 --stonewall --output=out.json --output-format=json --eta=never\n";
    let same = "[global]\nbs=4k\n[fill]\nrw=write\nsize=16m\n[mixed]\nrw=randrw\nrwmixread=70\nstonewall\n";
    let (command, file) = (read(script).unwrap(), read(same).unwrap());
    assert_eq!(command.description(), file.description());
    let drawn = |file: &JobFile| {
        let mut requests = JobRequests::new(&file.jobs[1], DEVICE_BYTES, Seed(1)).unwrap();
        std::iter::from_fn(|| requests.draw()).take(50).collect::<Vec<_>>()
    };
    assert_eq!(drawn(&command), drawn(&file));
    assert!(problem("fio --name=a --rw=randraed\n").contains("rw: \"randraed\" is not known"));
}

#[test]
fn the_size_of_a_file_is_that_of_a_job_with_one_file() {
    let drawn = |options: &str| {
        let file = read(&format!("[w]\nrw=write\nbs=128k\n{options}\n")).unwrap();
        let mut requests = JobRequests::new(&file.jobs[0], DEVICE_BYTES, Seed(1)).unwrap();
        std::iter::from_fn(|| requests.draw()).count()
    };
    assert_eq!(drawn("filesize=128m"), 1024);
    assert_eq!((drawn("size=64m\nfilesize=128m"), drawn("filesize=128m\nsize=64m")), (512, 512));
    assert!(problem("[w]\nrw=write\nfilesize=1m\nnrfiles=4").contains("nrfiles"));
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
    assert_eq!(hints("fdp=1\nplids=1-2,0", Some(3)), Ok(vec![Some(1), Some(2), Some(0), Some(1)]), "a range");
    assert_eq!(hints("write_hint=medium", None), Ok(vec![Some(2); 4]));
    let at_random = hints("fdp=1\nplids=0-3\nfdp_pli_select=random", Some(4)).unwrap();
    assert!(at_random.windows(2).any(|two| two[0] > two[1]), "{at_random:?} is not in turn");
    for none in ["plids=3,1", "dataplacement=none\nplids=3", "write_hint=none"] {
        assert_eq!(hints(none, Some(4)), Ok(vec![None; 4]), "{none}");
    }
    let refused: Result<Vec<Option<u32>>, String> =
        Err("job.fio:1: [j]: plids: placement 3 was given; ftl.placement has the handles 0 to 2".to_owned());
    assert_eq!(hints("fdp=1\nplids=3", Some(3)), refused);
}

#[test]
fn a_scheme_gives_hints_by_place_and_is_a_file_of_the_job() {
    let job = "[j]\nrw=write\nbs=4k\nsize=16k\nfdp=1\nplid_select=scheme\ndp_scheme=ranges.txt\n";
    let ranges = "4096, 8192, 2\n0, 12288, 1\n";
    let mut file = read_of(&[("job.fio", job), ("ranges.txt", ranges)]).unwrap();
    assert_eq!(file.files, ["job.fio", "ranges.txt"]);
    file.jobs[0].bind_placements(Some(3)).unwrap();
    let mut requests = JobRequests::new(&file.jobs[0], DEVICE_BYTES, Seed(1)).unwrap();
    let drawn = std::iter::from_fn(|| requests.draw()).map(|request| request.placement.unwrap().get());
    assert_eq!(
        drawn.collect::<Vec<_>>(),
        [1, 2, 1, 0],
        "the first range that fits; beside all of them hint 0"
    );
    let beyond = file.jobs[0].bind_placements(Some(2)).unwrap_err().to_string();
    assert!(beyond.contains("placement 2 was given"), "{beyond}");
    let wrong = read_of(&[("job.fio", job), ("ranges.txt", "0 8192 1")]).unwrap_err().to_string();
    assert!(wrong.starts_with("job.fio:7: dp_scheme: \"0 8192 1\" was given"), "{wrong}");
    let gone = read_of(&[("job.fio", job)]).unwrap_err().to_string();
    assert_eq!(gone, "job.fio:7: ranges.txt: no such file");
}

/// fio's defaults written out change nothing; the same options with another value are refused, or noted.
#[test]
fn defaults_written_out_are_taken_without_a_word() {
    let plain = "[j]\nrw=randwrite\ndirect=1\nioengine=libaio\n";
    for (option, other) in [
        ("verify=0", "verify=md5"),
        ("nrfiles=1", "nrfiles=2"),
        ("zonemode=none", "zonemode=strided"),
        ("zonesize=0", "zonesize=1m"),
        ("md_per_io_size=0", "md_per_io_size=8"),
        ("sync=none", "sync=dsync"),
        ("sync=0", "sync"),
        ("fill_device=0", "fill_device=1"),
        ("file_service_type=roundrobin", "file_service_type=zipf:1.2"),
        ("iodepth_batch_complete_min=1", "iodepth_batch_complete_min=4"),
        ("replay_time_scale=100", "replay_time_scale=50"),
        ("num_range=1", "num_range=8"),
        ("thinktime_iotime=0s", "thinktime_iotime=1s"),
        ("write_mode=write", "write_mode=zeroes"),
        ("rate=0", "rate_min=1m"),
        ("rate_iops=0", "rate_iops_min=5"),
        ("number_ios=0", "ramp_size=1m"),
        ("offset_align=0\nba=0", "random_sequence_stride=1"),
        ("thinktime=0\nstartdelay=0\nramp_time=0\nruntime=0\nss_dur=0", "latency_target=5ms"),
    ] {
        let same = read(&format!("{plain}{option}\n")).unwrap_or_else(|error| panic!("{option}: {error}"));
        assert_eq!(same.remarks, Vec::<String>::new(), "{option}");
        match read(&format!("{plain}{other}\n")) {
            Ok(file) => {
                let name = other.split('=').next().unwrap();
                assert!(file.remarks[0].starts_with(&format!("fio, {name}: ")), "{other}: {:?}", file.remarks)
            }
            Err(error) => {
                assert!(error.to_string().contains(" of fio is not simulated: "), "{other}: {error}")
            }
        }
    }
}

#[test]
fn several_files_are_one_device_and_a_remark_says_so() {
    let of = |names: &str| {
        let file = read(&format!("[j]\nrw=write\ndirect=1\nfilename={names}\n")).unwrap();
        file.remarks
    };
    assert!(of("/dev/nvme0n1:/dev/nvme1n1")[0].starts_with("fio, j: filename has several files"));
    assert_eq!(of("/dev/disk/by-path/pci-0000\\:01\\:00.0"), Vec::<String>::new());
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
