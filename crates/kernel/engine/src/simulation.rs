//! A run that goes on step by step: what is served so far can be looked at between two requests.

use crate::course::WarmUp;
use crate::engine::Engine;
use crate::error::RunError;
use crate::input::Inputs;
use crate::jobs::Jobs;
use crate::metrics::Metrics;
use crate::observer::{Observer, Phase, SoFar};
use crate::open_workload::{OpenWorkload, Supply};
use crate::replay::{LOOK_PAGES, Replay};
use crate::result::{RunResult, Workload};
use coflash_base::{Lpn, Save};
use coflash_ftl::Ftl;
use coflash_level::{Elsewhere, Level, OnLevel};
use coflash_media::Timeline;
use coflash_scenario::{Scenario, Stack};
use coflash_workload::Request;
use std::io::{self, Read, Write};

/// A run under way: its device is preconditioned, and some of its requests are served.
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    stack: Stack,
    engine: Engine<Timeline>,
    rest: Rest<'a>,
    description: String,
    pub(crate) inputs: Inputs<'a>,
    warm_up: WarmUp,
    stopwatch: Stopwatch,
}

/// What is left of a workload.
enum Rest<'a> {
    Requests(Replay<'a>),
    Jobs(Jobs),
}

/// Some requests, to be served by levels.
struct Step<'s, 'a> {
    scenario: &'a Scenario,
    engine: &'s mut Engine<Timeline>,
    rest: &'s mut Rest<'a>,
    requests_max: usize,
    observer: &'s mut dyn Observer,
}

impl OnLevel<Timeline> for Step<'_, '_> {
    type Output = Result<bool, RunError>;

    fn on<L: Level<Timeline>>(self, level: &mut L) -> Result<bool, RunError> {
        let Self { scenario, engine, rest, requests_max, observer } = self;
        match rest {
            Rest::Requests(replay) => replay.step(engine, level, requests_max, observer),
            Rest::Jobs(jobs) => {
                jobs.run(engine, level, scenario.workload.most_requests(), observer)?;
                Ok(false)
            }
        }
    }
}

impl<'a> Simulation<'a> {
    /// Put the levels of a stack to work on a workload.
    pub(crate) fn new(
        scenario: &'a Scenario,
        stack: Stack,
        media: Timeline,
        workload: OpenWorkload<'a>,
    ) -> Self {
        let OpenWorkload { supply, description, inputs, warm_up, .. } = workload;
        let stopwatch = Stopwatch::start();
        let rest = match supply {
            Supply::Requests(source) => Rest::Requests(Replay::new(scenario, source)),
            Supply::Jobs(jobs) => Rest::Jobs(jobs),
        };
        let engine = Engine::new(scenario, &stack, media);
        Self { scenario, stack, engine, rest, description, inputs, warm_up, stopwatch }
    }

    /// Serve up to `requests_max` requests, at least one; jobs of a job file run to their end. Returns false if there was none
    /// left.
    ///
    /// # Errors
    /// An error of the workload, or a cancellation.
    pub fn step(&mut self, requests_max: usize, observer: &mut dyn Observer) -> Result<bool, RunError> {
        let Self { scenario, stack, engine, rest, .. } = self;
        stack.work(Step { scenario, engine, rest, requests_max: requests_max.max(1), observer })
    }

    /// Let the jobs of a job file run to their end, and return the requests that they sent, with their times; none of another
    /// workload.
    ///
    /// # Errors
    /// An error of the jobs, or a cancellation.
    pub fn requests_of_jobs(mut self, observer: &mut dyn Observer) -> Result<Vec<Request>, RunError> {
        if let Rest::Jobs(jobs) = &mut self.rest {
            jobs.sent = Some(Vec::new());
        }
        self.step(usize::MAX, observer)?;
        let Rest::Jobs(jobs) = self.rest else { return Ok(Vec::new()) };
        Ok(jobs.sent.unwrap_or_default())
    }

    /// Interim metrics.
    #[must_use]
    pub fn so_far(&self) -> SoFar {
        self.engine.so_far(&self.stack)
    }

    /// The metrics that are known before the end: the counters of all levels.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::new(self.engine.report(&self.stack))
    }

    /// The share of the workload that has been read, if known, and the requests served; 0 for jobs.
    fn progress(&self) -> (Option<f64>, u64) {
        match &self.rest {
            Rest::Requests(replay) => replay.progress(),
            Rest::Jobs(_) => (None, 0),
        }
    }

    /// The requests served; 0 for jobs.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.progress().1
    }

    /// The flash translation layer.
    #[must_use]
    pub fn ftl(&self) -> &Ftl {
        Level::<Timeline>::ftl(&self.stack)
    }

    /// What another tier holds of a page of flash.
    #[must_use]
    pub fn elsewhere(&self, page: Lpn) -> Option<Elsewhere> {
        Level::<Timeline>::elsewhere(&self.stack, page)
    }

    /// Write what the run has become.
    ///
    /// # Errors
    /// The error of `out`; a run that no file can hold.
    pub(crate) fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let Rest::Requests(replay) = &self.rest else {
            return Err(io::Error::other("jobs that wait for answers have no common moment"));
        };
        self.warm_up.save(out)?;
        self.stopwatch.seconds().save(out)?;
        replay.save(out)?;
        self.stack.save(out)?;
        self.engine.save(out)
    }

    /// Go on from what was saved of the same run. After an error the simulation must not be used.
    ///
    /// # Errors
    /// An error of `from` or of the workload, or a cancellation.
    pub(crate) fn restore(
        &mut self,
        from: &mut dyn Read,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        let Rest::Requests(replay) = &mut self.rest else { unreachable!("jobs are never saved") };
        self.warm_up.restore(from)?;
        self.stopwatch.before.restore(from)?;
        replay.restore(from, observer)?;
        self.stack.restore(from)?;
        Ok(self.engine.restore(from)?)
    }

    /// Serve all requests that are left, and measure.
    ///
    /// # Errors
    /// See [`step`](Self::step).
    pub fn finish(mut self, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
        while self.step(usize::MAX, observer)? {}
        let (fraction, requests) = self.progress();
        let Self { scenario, mut stack, mut engine, rest, description, inputs, mut warm_up, stopwatch } =
            self;
        loop {
            observer.progress(Phase::Replay, fraction, requests)?;
            let Ok(more) = engine.drain(&mut stack, LOOK_PAGES);
            if !more {
                break;
            }
        }
        if engine.is_out_of_time() {
            return Err(RunError::out_of_time());
        }
        let (mode, remarks, jobs) = match &rest {
            Rest::Requests(replay) => {
                let (mode, remarks) = replay.end();
                (mode, remarks, Vec::new())
            }
            Rest::Jobs(jobs) => {
                let (remarks, reports) = jobs.reports();
                (scenario.replay_mode(), remarks, reports)
            }
        };
        let wall_seconds = stopwatch.seconds();
        warm_up.remarks.extend(remarks);
        let (replay, inputs) = (scenario.replay_told(Some(mode)), inputs.finish(observer)?);
        let logical_bytes = engine.logical_bytes();
        let workload = Workload { description, replay, logical_bytes, inputs, warm_up };
        Ok(RunResult { jobs, ..engine.result(&stack, scenario, mode, workload, wall_seconds) })
    }
}

/// The only reader of wall time: for the speed of the simulator, never for a metric. A browser has no such clock.
struct Stopwatch {
    start: Option<std::time::Instant>,
    /// Seconds before the checkpoint from which the run goes on.
    before: f64,
}

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "see above")]
    fn start() -> Self {
        Self { start: (!cfg!(target_family = "wasm")).then(std::time::Instant::now), before: 0.0 }
    }

    fn seconds(&self) -> f64 {
        self.before + self.start.map_or(0.0, |start| start.elapsed().as_secs_f64())
    }
}
