//! Job files of fio as workloads: closed loops side by side.

use crate::refused;
use coflash_sim::scenario::Requests;
use coflash_sim::{NoObserver, RunResult, Scenario, run};
use serde_json::Value;
use std::path::PathBuf;

/// A job file that is removed at the end.
struct JobFile(PathBuf);

impl JobFile {
    fn new(text: &str) -> Self {
        // Two tests may have the same text, but no two threads the same name.
        let name = format!("coflash-{}-{:?}.fio", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("the folder of temporary files takes one");
        Self(path)
    }

    fn scenario(&self, settings: &[(&str, &str)]) -> Scenario {
        let common = [
            ("flash.channels", "2"),
            ("flash.blocks_per_plane", "64"),
            ("flash.pages_per_block", "16"),
            ("timing.channel", "private"),
            ("precondition.fill", "sequential"),
            ("workload.fio", self.0.to_str().expect("a plain name")),
        ];
        Scenario::default().set(&common).and_then(|scenario| scenario.set(settings)).expect("a scenario")
    }
}

impl Drop for JobFile {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn ran(text: &str, settings: &[(&str, &str)]) -> RunResult {
    let file = JobFile::new(text);
    run(&file.scenario(settings), &mut NoObserver).unwrap_or_else(|error| panic!("{error}"))
}

/// The reports of the jobs.
fn jobs(result: &RunResult) -> Vec<Value> {
    let document: Value = serde_json::from_str(&result.to_json()).expect("it is JSON");
    document["jobs"].as_array().expect("there are jobs").clone()
}

fn number(job: &Value, path: &str) -> u64 {
    job.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} of {job}"))
}

const ASYNC: &str = "[global]\nbs=4k\nioengine=libaio\ndirect=1\n";

#[test]
fn phases_follow_one_another_and_the_jobs_of_a_phase_run_together() {
    for channel in ["private", "shared"] {
        let text = format!(
            "{ASYNC}[fill]\nrw=write\nsize=1m\n[a]\nstonewall\nrw=randread\nsize=512k\n[b]\nrw=randread\nsize=1m\n\
             [c]\nstonewall\nrw=randwrite\nsize=256k\n"
        );
        let result = ran(&text, &[("timing.channel", channel)]);
        let jobs = jobs(&result);
        let [fill, a, b, c] = &jobs[..] else { panic!("{jobs:?}") };
        let end = |job: &Value| number(job, "/begin_ns") + number(job, "/runtime_ns");
        assert_eq!(number(fill, "/begin_ns"), 0);
        assert_eq!(number(a, "/begin_ns"), end(fill));
        assert_eq!(number(b, "/begin_ns"), end(fill));
        assert_eq!(number(c, "/begin_ns"), end(a).max(end(b)));
        let requests = |job: &Value, op: &str| number(job, &format!("/{op}/requests"));
        assert_eq!([requests(fill, "write"), requests(a, "read"), requests(b, "read")], [256, 128, 256]);
        assert_eq!(result.metrics.count("requests"), 256 + 128 + 256 + 64);
        assert_eq!(number(a, "/read/bytes"), 512 << 10);
    }
}

#[test]
fn a_job_has_as_many_requests_under_way_as_its_depth() {
    // Reads of one die run one after another, so the response time is the delay of the queue.
    let mean = |depth: u32, engine: &str| {
        let text =
            format!("[j]\nrw=randread\nbs=4k\nioengine={engine}\ndirect=1\niodepth={depth}\nsize=1m\n");
        let result = ran(&text, &[("flash.channels", "1")]);
        jobs(&result)[0]["read"]["mean_ns"].as_f64().expect("there are reads")
    };
    let one = mean(1, "libaio");
    assert!((mean(8, "libaio") / one - 8.0).abs() < 0.2, "{} and {one}", mean(8, "libaio"));
    assert_eq!(mean(8, "psync"), one, "a synchronous engine has one under way");
}

#[test]
fn a_rate_and_a_time_bound_a_job() {
    for process in ["linear", "poisson"] {
        let text = format!(
            "{ASYNC}[j]\nrw=randread\nrate_iops=1000\nrate_process={process}\ntime_based\nruntime=2\niodepth=4\n"
        );
        let jobs = jobs(&ran(&text, &[]));
        assert_eq!(number(&jobs[0], "/runtime_ns"), 2_000_000_000);
        let requests = number(&jobs[0], "/read/requests");
        assert!(
            requests.abs_diff(2000) <= if process == "linear" { 0 } else { 200 },
            "{process}: {requests}"
        );
    }
}

#[test]
fn a_job_thinks_between_requests_and_begins_after_its_delay() {
    let text =
        format!("{ASYNC}[j]\nrw=randread\nthinktime=1ms\nthinktime_blocks=4\nnumber_ios=40\nstartdelay=1\n");
    let busy = format!("{ASYNC}[j]\nrw=randread\nnumber_ios=40\n");
    let [thinking, busy] = [text, busy].map(|text| jobs(&ran(&text, &[]))[0].clone());
    assert_eq!(number(&thinking, "/begin_ns"), 1_000_000_000);
    assert_eq!(number(&thinking, "/runtime_ns") - number(&busy, "/runtime_ns"), 9_000_000);
}

#[test]
fn the_ramp_is_left_out_of_the_numbers_of_the_job() {
    let text = format!("{ASYNC}[j]\nrw=randread\ntime_based\nruntime=1\nramp_time=1\nrate_iops=500\n");
    let result = ran(&text, &[]);
    let jobs = jobs(&result);
    assert_eq!(number(&jobs[0], "/runtime_ns"), 1_000_000_000);
    assert_eq!((number(&jobs[0], "/read/requests"), result.metrics.count("requests")), (500, 1000));
}

#[test]
fn clones_report_as_one_group_and_flushes_are_counted() {
    let text = format!("{ASYNC}group_reporting\n[j]\nrw=randwrite\nsize=256k\nnumjobs=3\nfsync=16\n");
    let jobs = jobs(&ran(&text, &[]));
    assert_eq!(jobs.len(), 1);
    assert_eq!([number(&jobs[0], "/jobs"), number(&jobs[0], "/write/requests")], [3, 3 * 64]);
    assert_eq!(number(&jobs[0], "/flush/requests"), 3 * 3);
}

#[test]
fn one_job_is_the_closed_loop_of_a_scenario() {
    let text = "[j]\nrw=write\nbs=16k\nioengine=libaio\niodepth=16\ndirect=1\n";
    let file = JobFile::new(text);
    for channel in ["private", "shared"] {
        let scenario = file.scenario(&[("timing.channel", channel)]);
        let job = run(&scenario, &mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
        let requests = job.metrics.count("requests").to_string();
        let settings = [
            ("timing.channel", channel),
            ("replay.queue_depth", "16"),
            ("workload.synthetic.generator", "sequential"),
            ("workload.synthetic.size", "{ name = \"fixed\", size = \"16KiB\" }"),
            ("workload.synthetic.requests", &requests),
        ];
        let mut plain = file.scenario(&settings[..1]);
        plain.workload.requests = Requests::Default;
        let plain = plain.set(&settings[1..]).expect("a scenario");
        let plain = run(&plain, &mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
        let metrics = |result: &RunResult| serde_json::to_value(&result.metrics).expect("plain data");
        assert_eq!(metrics(&job), metrics(&plain), "{channel}");
    }
}

#[test]
fn a_job_file_that_cannot_run_is_refused() {
    let refusal = |text: &str, settings: &[(&str, &str)]| refused(&JobFile::new(text).scenario(settings));
    let job = "[j]\nrw=randread\n";
    let problem = refusal("[j]\nrw=randread\nsize=1t\n", &[]);
    assert!(problem.contains("[j]: size: it is 1TiB") && problem.contains(".fio:1"), "{problem}");
    assert!(refusal("[j]\noffset=1g\n", &[]).contains("offset: it begins at 1GiB"));
    for (setting, expected) in
        [(("replay.mode", "open"), "wait for answers"), (("workload.repeat", "2"), "set loops")]
    {
        let problem = JobFile::new(job).scenario(&[]).set(&[setting]).expect_err("it is refused").to_string();
        assert!(problem.starts_with(setting.0) && problem.contains(expected), "{problem}");
    }
    let gone = Scenario::default().set(&[("workload.fio", "/nowhere/job.fio")]).expect("a scenario");
    assert!(refused(&gone).starts_with("/nowhere/job.fio: no such file"), "{}", refused(&gone));
}

/// Windows of four values: they are within half their mean from the first on, and never the same.
#[test]
fn a_steady_job_ends_with_its_group_and_one_that_never_is_runs_on() {
    let runtimes = |criterion: &str| {
        let steady = format!("{criterion}\nss_dur=200ms\nss_ramp=100ms\nss_interval=50ms\ngroup_reporting\n");
        let text = format!(
            "{ASYNC}time_based\nruntime=600ms\n{steady}[a]\nrw=randwrite\nnorandommap\n[b]\nrw=randread\n\
             [c]\nstonewall\nrw=randread\n"
        );
        jobs(&ran(&text, &[])).iter().map(|job| number(job, "/runtime_ns") / 1_000_000).collect::<Vec<_>>()
    };
    for loose in ["ss=iops:50%", "ss=bw:1g", "ss=lat_slope:90%", "steadystate=iops:1000000"] {
        let ended = runtimes(loose);
        assert!(ended.iter().all(|ms| (300..450).contains(ms)), "{loose}: {ended:?}");
    }
    assert!(runtimes("ss=iops:0").iter().all(|&ms| ms >= 600), "nothing is that near");
}
