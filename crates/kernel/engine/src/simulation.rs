//! A run that goes on step by step: what is served so far can be looked at between two requests.

use crate::engine::Engine;
use crate::error::RunError;
use crate::job_report::JobReport;
use crate::jobs::Jobs;
use crate::metrics::Metrics;
use crate::observer::{Observer, Phase, SoFar};
use crate::open_workload::{OpenWorkload, Supply};
use crate::replay::Replay;
use crate::result::RunResult;
use crate::steps::{Steps, Told, drain};
use coflash_base::{Lpn, Save};
use coflash_ftl::Ftl;
use coflash_level::{Elsewhere, Level};
use coflash_media::{SimulatedMedia, Timeline};
#[cfg(not(test))]
use coflash_scenario::for_stack;
use coflash_scenario::{ReplayMode, Scenario, Stack};
use std::convert::Infallible;
use std::io::{self, Read, Write};

/// Unit tests run the plain stack alone: for each, the whole simulator is compiled once more. `tests/` runs them all.
#[cfg(test)]
macro_rules! for_stack {
    ($stack:expr, flash $flash:pat => $on_flash:expr, hybrid $hybrid:pat => $on_hybrid:expr) => {
        match $stack {
            Stack::Flash(coflash_level::FlashStack::Plain($flash)) => $on_flash,
            _ => unreachable!("a unit test of another stack"),
        }
    };
}

/// A run under way: its device is preconditioned, and some of its requests are served.
pub struct Simulation<'a>(Box<dyn Steps + 'a>);

impl<'a> Simulation<'a> {
    /// Put the levels of a stack to work on a workload.
    pub(crate) fn of(
        scenario: &'a Scenario,
        stack: Stack,
        media: Timeline,
        workload: OpenWorkload<'a>,
    ) -> Self {
        for_stack!(stack,
            flash level => {
                let engine = Engine::new(scenario, level, media).with_restarts(scenario);
                Self(Box::new(Running::new(scenario, engine, workload)))
            },
            hybrid level => Self(Box::new(Running::new(scenario, Engine::new(scenario, level, media), workload)))
        )
    }

    /// Serve up to `requests_max` requests, at least one; jobs of a job file run to their end. Returns false if there was none
    /// left.
    ///
    /// # Errors
    /// An error of the workload, or a cancellation.
    pub fn step(&mut self, requests_max: usize, observer: &mut dyn Observer) -> Result<bool, RunError> {
        self.0.step(requests_max.max(1), observer)
    }

    /// Interim metrics.
    #[must_use]
    pub fn so_far(&self) -> SoFar {
        self.0.so_far()
    }

    /// The metrics that are known before the end: the counters of all levels.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.0.metrics()
    }

    /// The requests served; 0 for jobs.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.0.progress().1
    }

    /// The flash translation layer.
    #[must_use]
    pub fn ftl(&self) -> &Ftl {
        self.0.ftl()
    }

    /// What another tier holds of a page of flash.
    #[must_use]
    pub fn elsewhere(&self, page: Lpn) -> Option<Elsewhere> {
        self.0.elsewhere(page)
    }

    /// The digests of the files that are read.
    pub(crate) fn digests(&self) -> Vec<String> {
        self.0.digests()
    }

    /// Write what the run has become.
    ///
    /// # Errors
    /// The error of `out`; a run that no file can hold.
    pub(crate) fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.save(out)
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
        self.0.restore(from, observer)
    }

    /// Serve all requests that are left, and measure.
    ///
    /// # Errors
    /// See [`step`](Self::step).
    pub fn finish(self, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
        self.0.finish(observer)
    }
}

/// What is left of a workload.
enum Rest<'a> {
    Requests(Replay<'a>),
    Jobs(Jobs),
}

struct Running<'a, L, M: SimulatedMedia> {
    scenario: &'a Scenario,
    engine: Engine<L, M>,
    rest: Rest<'a>,
    told: Told<'a>,
}

impl<'a, L: Level<M>, M: SimulatedMedia<Error = Infallible>> Running<'a, L, M> {
    fn new(scenario: &'a Scenario, engine: Engine<L, M>, workload: OpenWorkload<'a>) -> Self {
        let (told, supply) = Told::of(scenario, workload);
        let rest = match supply {
            Supply::Requests(source) => Rest::Requests(Replay::new(scenario, source)),
            Supply::Jobs(jobs) => Rest::Jobs(jobs),
        };
        Self { scenario, engine, rest, told }
    }

    /// The mode of the replay, remarks on the workload, and the reports of jobs.
    fn end(&self) -> (ReplayMode, Vec<String>, Vec<JobReport>) {
        match &self.rest {
            Rest::Requests(replay) => {
                let (mode, remarks) = replay.end();
                (mode, remarks, Vec::new())
            }
            Rest::Jobs(jobs) => {
                let (remarks, reports) = jobs.reports();
                (self.scenario.replay_mode(), remarks, reports)
            }
        }
    }
}

impl<L: Level<M> + Save, M: SimulatedMedia<Error = Infallible> + Save> Steps for Running<'_, L, M> {
    fn step(&mut self, requests_max: usize, observer: &mut dyn Observer) -> Result<bool, RunError> {
        match &mut self.rest {
            Rest::Requests(replay) => replay.step(&mut self.engine, requests_max, observer),
            Rest::Jobs(jobs) => {
                jobs.run(&mut self.engine, self.scenario.workload.requests_max, observer)?;
                Ok(false)
            }
        }
    }

    fn so_far(&self) -> SoFar {
        self.engine.so_far()
    }

    fn metrics(&self) -> Metrics {
        Metrics::new(self.engine.report())
    }

    /// The share of the workload that has been read, if known, and the requests served.
    fn progress(&self) -> (Option<f64>, u64) {
        match &self.rest {
            Rest::Requests(replay) => replay.progress(),
            Rest::Jobs(_) => (None, 0),
        }
    }

    fn ftl(&self) -> &Ftl {
        self.engine.level().ftl()
    }

    fn elsewhere(&self, page: Lpn) -> Option<Elsewhere> {
        self.engine.level().elsewhere(page)
    }

    fn digests(&self) -> Vec<String> {
        self.told.digests()
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let Rest::Requests(replay) = &self.rest else {
            return Err(io::Error::other("jobs that wait for answers have no common moment"));
        };
        self.told.save(out)?;
        replay.save(out)?;
        self.engine.save(out)
    }

    fn restore(&mut self, from: &mut dyn Read, observer: &mut dyn Observer) -> Result<(), RunError> {
        let Rest::Requests(replay) = &mut self.rest else { unreachable!("jobs are never saved") };
        self.told.restore(from)?;
        replay.restore(from, observer)?;
        Ok(self.engine.restore(from)?)
    }

    fn finish(mut self: Box<Self>, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
        while self.step(usize::MAX, observer)? {}
        let (fraction, requests) = self.progress();
        drain(&mut self.engine, &mut || observer.progress(Phase::Replay, fraction, requests))?;
        let (mode, more, jobs) = self.end();
        let Self { engine, told, .. } = *self;
        Ok(told.result(&engine, mode, more, observer)?.with_jobs(jobs))
    }
}
