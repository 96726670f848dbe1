//! Closed loops side by side: the jobs of a job file, each with its own queue depth, rate, think time and phase.
//!
//! A job is a thread of the host. It issues a request as soon as it may, and waits otherwise: while its queue
//! is full; while it is ahead of its rate (and, as in fio, until its outstanding requests are answered); and
//! while it thinks. A phase begins when all jobs of the phase before have ended.
//!
//! The plain closed loop (`replay.mode`) is not a job: it takes the requests of any source, with a queue
//! depth and nothing else to check or to report for each of them.
//!
//! Cost: one check of each job in the phase per request.

use crate::engine::{Answer, Engine};
use crate::error::RunError;
use crate::job_report::{JobReport, OpReport};
use crate::latency::Latency;
use crate::observer::{Observer, Phase};
use coflash_base::{Duration, Seed, Time};
use coflash_level::Level;
use coflash_media::SimulatedMedia;
use coflash_workload::jobs::{HostJob, HostJobs, JobSource, Pace, gap_of_rate};
use coflash_workload::steady::SteadyState;
use coflash_workload::{BATCH_REQUESTS, Op, Request};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;

/// The jobs of a host, ready to run.
pub(crate) struct Jobs {
    /// The job file and its includes.
    pub(crate) files: Vec<String>,
    remarks: Vec<String>,
    phases: u32,
    jobs: Vec<RunningJob>,
    /// Answers that are known and not taken yet.
    answers: BinaryHeap<Reverse<Answer>>,
    phase: u32,
    reports: Vec<Measured>,
    /// What they have sent, where somebody asks for it.
    pub(crate) sent: Option<Vec<Request>>,
}

/// The reason why a job does not issue its next request at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    No,
    /// For the answers to all its requests, then for a time: think time, or ahead of its rate.
    Answers(Duration),
}

struct RunningJob {
    pace: Pace,
    phase: u32,
    report: usize,
    requests: Box<dyn JobSource>,
    /// The next request.
    next: Option<Request>,
    under_way: u32,
    issued: u64,
    /// The time of the job's thread.
    now: Time,
    begin: Time,
    wait: Wait,
    /// By direction: the due time of the next request by the rate, since the begin.
    due: [Duration; 4],
    rated_bytes: [u64; 4],
    since_think: u64,
    gaps: coflash_base::RandomStream,
    last_answer: Time,
    /// The job was ended by its runtime.
    timed_out: bool,
}

/// The numbers of a report: of a job, or of a group of jobs.
struct Measured {
    /// All but the numbers of operations.
    report: JobReport,
    ops: [(Latency, u64); 4],
    /// Tells when its jobs are steady, and end.
    steady: Option<SteadyState>,
}

impl Jobs {
    /// Make the jobs ready; `seed` is the workload's.
    pub(crate) fn new(opened: HostJobs, seed: Seed) -> Self {
        let HostJobs { jobs: host_jobs, files, remarks, global, .. } = opened;
        let phases = host_jobs.last().map_or(0, |job| job.phase + 1);
        let (mut jobs, mut reports) = (Vec::new(), Vec::<Measured>::new());
        for (number, job) in host_jobs.into_iter().enumerate() {
            let HostJob { name, phase, report, pace, options, steady, requests } = job;
            match reports.get_mut(report as usize) {
                Some(measured) => measured.report.jobs += 1,
                None => {
                    let (queue_depth, begin_ns) = (pace.queue_depth, Time::LAST.ns);
                    let options = global.iter().cloned().chain(options).collect();
                    let report = JobReport {
                        name,
                        phase,
                        queue_depth,
                        options,
                        jobs: 1,
                        begin_ns,
                        ..JobReport::default()
                    };
                    reports.push(Measured { report, ops: Default::default(), steady });
                }
            }
            jobs.push(RunningJob {
                pace,
                phase,
                report: report as usize,
                requests,
                next: None,
                under_way: 0,
                issued: 0,
                now: Time::ZERO,
                begin: Time::ZERO,
                wait: Wait::No,
                due: [Duration::ZERO; 4],
                rated_bytes: [0; 4],
                since_think: 0,
                gaps: seed.child(&number.to_string()).stream("gaps"),
                last_answer: Time::ZERO,
                timed_out: false,
            });
        }
        Self { files, remarks, phases, jobs, answers: BinaryHeap::new(), phase: 0, reports, sent: None }
    }

    /// Run all jobs to their ends; at most `requests_max` requests.
    pub(crate) fn run<M: SimulatedMedia<Error = Infallible>>(
        &mut self,
        engine: &mut Engine<M>,
        level: &mut impl Level<M>,
        requests_max: u64,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        let mut issued = 0;
        let mut begin = Time::ZERO;
        for phase in 0..self.phases {
            self.phase = phase;
            self.jobs_of_phase().for_each(|job| job.start(begin));
            loop {
                if issued % BATCH_REQUESTS as u64 == 0 {
                    observer.progress(Phase::Replay, self.progress(), issued)?;
                    if engine.is_out_of_time() {
                        return Err(RunError::out_of_time());
                    }
                }
                if requests_max == issued {
                    self.jobs_of_phase().for_each(|job| job.next = None);
                }
                let Some((at, number)) = self.next_issue(engine, level) else { break };
                if at > Time::LAST {
                    return Err(RunError::out_of_time());
                }
                self.issue(number, at, engine, level);
                issued += 1;
            }
            begin = self.jobs_of_phase().map(|job| job.end()).max().unwrap_or(begin);
            for job in self.jobs.iter().filter(|job| job.phase == phase) {
                let report = &mut self.reports[job.report].report;
                report.begin_ns = report.begin_ns.min(job.begin.ns);
                let measured_from = (job.begin + job.pace.ramp).min(job.end());
                report.runtime_ns = report.runtime_ns.max(job.end().since(measured_from).ns);
            }
            if requests_max == issued {
                break;
            }
        }
        Ok(())
    }

    /// The remarks for the reader of a result, and the reports of the jobs.
    pub(crate) fn reports(&self) -> (Vec<String>, Vec<JobReport>) {
        let report = |measured: &Measured| {
            let [read, write, trim, flush] = std::array::from_fn(|op| OpReport::new(&measured.ops[op]));
            JobReport { read, write, trim, flush, ..measured.report.clone() }
        };
        let ran = self.reports.iter().filter(|measured| measured.report.begin_ns < Time::LAST.ns);
        (self.remarks.clone(), ran.map(report).collect())
    }

    fn jobs_of_phase(&mut self) -> impl Iterator<Item = &mut RunningJob> {
        let phase = self.phase;
        self.jobs.iter_mut().filter(move |job| job.phase == phase)
    }

    /// The finished share, where jobs end by size.
    fn progress(&self) -> Option<f64> {
        let shares = self.jobs.iter().map(|job| match job.pace.runtime {
            _ if job.phase < self.phase => Some(1.0),
            _ if job.phase > self.phase => Some(0.0),
            Some(runtime) => {
                Some((job.now.ns.saturating_sub(job.begin.ns) as f64 / runtime.ns as f64).min(1.0))
            }
            None => job.requests.progress(),
        });
        let sum: Option<f64> = shares.sum();
        sum.map(|sum| sum / self.jobs.len() as f64)
    }

    /// The time and the job of the next request of all jobs; `None` when all have ended. Processes earlier
    /// answers.
    fn next_issue<M: SimulatedMedia<Error = Infallible>>(
        &mut self,
        engine: &mut Engine<M>,
        level: &mut impl Level<M>,
    ) -> Option<(Time, usize)> {
        loop {
            let phase = self.phase;
            let ready = self.jobs.iter_mut().enumerate().filter(|(_, job)| job.phase == phase);
            let ready = ready.filter_map(|(number, job)| Some((job.ready()?, job.issued, number)));
            let first = ready.min();
            let answer = self.answers.peek().map(|Reverse(answer)| answer.at);
            // An event may bring an answer that comes before both.
            let until = [first.map(|(at, ..)| at), answer].into_iter().flatten().min();
            let answers = &mut self.answers;
            let until = until.unwrap_or(Time { ns: u64::MAX });
            let Ok(is_first) = engine.await_report(level, until, |answer| answers.push(Reverse(answer)));
            if !is_first {
                continue;
            }
            match (first, answer) {
                (Some((at, _, number)), Some(answer)) if at < answer => return Some((at, number)),
                (Some((at, _, number)), None) => return Some((at, number)),
                (_, Some(_)) => self.take_answer(),
                (None, None) => return None,
            }
        }
    }

    fn take_answer(&mut self) {
        let Some(Reverse(Answer { at, owner, arrival: issued, op })) = self.answers.pop() else { return };
        let job = &mut self.jobs[usize::from(owner)];
        job.answered(at);
        let (number, report) = (job.report, &mut self.reports[job.report]);
        if issued >= job.begin + job.pace.ramp {
            report.ops[op as usize].0.record(at.since(issued), 1);
        }
        if report.steady.as_mut().is_some_and(|watch| watch.answered(job.begin, at, at.since(issued))) {
            self.jobs.iter_mut().filter(|job| job.report == number).for_each(|job| job.next = None);
        }
    }

    fn issue<M: SimulatedMedia<Error = Infallible>>(
        &mut self,
        number: usize,
        at: Time,
        engine: &mut Engine<M>,
        level: &mut impl Level<M>,
    ) {
        let job = &mut self.jobs[number];
        let request = job.next.expect("a job that is ready has a request");
        if let Some(sent) = &mut self.sent {
            sent.push(Request { arrival: at, ..request });
        }
        let answers = &mut self.answers;
        let Ok(()) = engine.advance(level, at, |answer| answers.push(Reverse(answer)));
        let owner = number as u16;
        let answer = engine.issue_for(level, owner, &request, at, ());
        if let Some(answer) = answer.expect("a job's range is on the device") {
            answers.push(Reverse(Answer { at: answer, owner, arrival: at, op: request.op }));
        }
        let report = &mut self.reports[job.report];
        if at >= job.begin + job.pace.ramp {
            report.ops[request.op as usize].1 += request.length;
        }
        if let Some(watch) = &mut report.steady {
            watch.issued(request.length);
        }
        job.issued(&request, at);
    }
}

impl RunningJob {
    /// Begin with the phase at `at`.
    fn start(&mut self, at: Time) {
        self.begin = at + self.pace.delay;
        self.now = self.begin;
        self.last_answer = self.begin;
        self.next = self.requests.draw();
    }

    /// The time at which the next request may be issued; `None` while that depends on answers, and at the
    /// end.
    fn ready(&mut self) -> Option<Time> {
        let request = self.next?;
        if self.pace.runtime.is_some_and(|runtime| self.now >= self.begin + runtime) {
            self.time_out();
            return None;
        }
        if self.under_way == self.pace.queue_depth {
            return None;
        }
        if let Wait::Answers(rest) = self.wait {
            if self.under_way > 0 {
                return None;
            }
            self.wait = Wait::No;
            self.now += rest;
            return self.ready();
        }
        let due = self.begin + self.due[request.op as usize];
        if due <= self.now {
            return Some(self.now);
        }
        if self.pace.runtime.is_some_and(|runtime| due >= self.begin + runtime) {
            self.time_out();
            return None;
        }
        // Ahead of the rate.
        if self.pace.waits_for_answers && self.under_way > 0 {
            self.wait = Wait::Answers(Duration::ZERO);
            return None;
        }
        Some(due)
    }

    fn time_out(&mut self) {
        self.next = None;
        self.timed_out = true;
    }

    fn answered(&mut self, at: Time) {
        // A waiting thread resumes with the answer; a thread that is not waiting takes the answer later.
        if self.under_way == self.pace.queue_depth || self.wait != Wait::No {
            self.now = self.now.max(at);
        }
        self.under_way -= 1;
        self.last_answer = self.last_answer.max(at);
    }

    /// Advance to the next request after one was issued.
    fn issued(&mut self, request: &Request, at: Time) {
        let op = request.op as usize;
        self.now = at;
        self.under_way += 1;
        self.issued += 1;
        if let Some(&rate @ 1..) = self.pace.rate_bytes_per_s.get(op) {
            self.rated_bytes[op] += request.length;
            self.due[op] = if self.pace.is_poisson {
                self.due[op] + gap_of_rate(rate, request.length, &mut self.gaps)
            } else {
                let ns = u128::from(self.rated_bytes[op]) * 1_000_000_000 / u128::from(rate);
                Duration { ns: u64::try_from(ns).unwrap_or(Time::LAST.ns) }
            };
        }
        if request.op != Op::Flush && self.pace.think > Duration::ZERO {
            self.since_think += 1;
            if self.since_think == self.pace.think_requests {
                self.since_think = 0;
                self.wait = Wait::Answers(self.pace.think);
            }
        }
        self.next = self.requests.draw();
    }

    /// The end of the job: its last answer, or the end of its time.
    fn end(&self) -> Time {
        match self.pace.runtime {
            Some(runtime) if self.timed_out => self.last_answer.max(self.begin + runtime),
            _ => self.last_answer,
        }
    }
}
