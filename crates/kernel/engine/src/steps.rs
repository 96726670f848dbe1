//! What a result tells of a run beside its measures, and the end of a run.

use crate::course::WarmUp;
use crate::engine::Engine;
use crate::error::RunError;
use crate::input::Inputs;
use crate::observer::{Cancelled, Observer};
use crate::open_workload::{OpenWorkload, Supply};
use crate::replay::LOOK_PAGES;
use crate::result::{RunResult, Workload};
use coflash_base::Save;
use coflash_level::Level;
use coflash_media::SimulatedMedia;
use coflash_scenario::{ReplayMode, Scenario};
use std::convert::Infallible;
use std::io::{self, Read, Write};

/// What a result tells of a run beside its measures.
pub(crate) struct RunFacts<'a> {
    scenario: &'a Scenario,
    description: String,
    inputs: Inputs<'a>,
    logical_bytes: u64,
    warm_up: WarmUp,
    stopwatch: Stopwatch,
}

impl<'a> RunFacts<'a> {
    /// Begin with a workload; return its requests, too.
    pub(crate) fn begin(scenario: &'a Scenario, workload: OpenWorkload<'a>) -> (Self, Supply) {
        let OpenWorkload { supply, description, inputs, logical_bytes, warm_up, .. } = workload;
        let stopwatch = Stopwatch::start();
        (Self { scenario, description, inputs, logical_bytes, warm_up, stopwatch }, supply)
    }

    /// The digests of the files that are read.
    pub(crate) fn digests(&self) -> Vec<String> {
        self.inputs.digests()
    }

    pub(crate) fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        self.warm_up.save(out)?;
        self.stopwatch.seconds().save(out)
    }

    pub(crate) fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.warm_up.restore(from)?;
        self.stopwatch.before.restore(from)
    }

    /// The result of a run, with the measures of its engine, and more remarks on the workload.
    pub(crate) fn result<M: SimulatedMedia>(
        self,
        engine: &Engine<M>,
        level: &(impl Level<M> + Save),
        mode: ReplayMode,
        more: Vec<String>,
        observer: &mut dyn Observer,
    ) -> Result<RunResult, RunError> {
        let wall_seconds = self.stopwatch.seconds();
        let Self { scenario, description, inputs, logical_bytes, mut warm_up, .. } = self;
        warm_up.remarks.extend(more);
        let (replay, inputs) = (scenario.replay_told(Some(mode)), inputs.finish(observer)?);
        let workload = Workload { description, replay, logical_bytes, inputs, warm_up };
        Ok(engine.result(level, scenario, mode, workload, wall_seconds))
    }
}

/// Go on until all requests are completed; `look` reports progress.
pub(crate) fn drain<M: SimulatedMedia<Error = Infallible>>(
    engine: &mut Engine<M>,
    level: &mut impl Level<M>,
    look: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<(), RunError> {
    loop {
        look()?;
        let Ok(more) = engine.drain(level, LOOK_PAGES);
        if !more {
            break;
        }
    }
    if engine.is_out_of_time() { Err(RunError::out_of_time()) } else { Ok(()) }
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
