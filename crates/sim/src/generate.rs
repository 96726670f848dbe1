//! Generated workloads, written as traces: the same requests as in a run of their scenario.

use crate::with_traces::TRACES;
use coflash_base::Bytes;
use coflash_base::suggest::hint;
use coflash_engine::{Cancellable, Observer, RunError, RunInputs};
use coflash_media::disk::SECTOR_BYTES;
use coflash_scenario::{Requests, Scenario, ScenarioError};
use coflash_trace::tools::{Written, write};
use coflash_workload::presets::PresetConfig;
use coflash_workload::synthetic::GeneratorConfig;
use coflash_workload::{BATCH_REQUESTS, Request, Source, WorkloadError};
use std::sync::Arc;

/// The space of a workload without a device.
const SPACE: Bytes = Bytes { count: 64 << 30 };

/// DiskSim's generator: neither in the list of generators nor a preset.
const DISKSIM: &str = "disksim";

/// A workload, and the space it is laid out over.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The scenario of the workload.
    pub scenario: Scenario,
    /// The size of its address space.
    pub space: Bytes,
}

impl Generated {
    /// Create the workload of a scenario, over the exported capacity of its device.
    ///
    /// # Errors
    /// An invalid scenario.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        scenario.check()?;
        let page_bytes = scenario.flash.page_size.count;
        let pages = match &scenario.hybrid {
            Some(hybrid) => hybrid.disks.sectors() * SECTOR_BYTES / page_bytes,
            None => u64::from(scenario.ftl.logical_pages(&scenario.flash)),
        };
        let space = Bytes { count: pages * page_bytes };
        Ok(Self { scenario, space })
    }

    /// Create a workload by its name: a generator, with settings such as `generator.exponent` and `read_share`; a
    /// preset, with its parameters; or that of a scenario, with settings of the scenario.
    ///
    /// # Errors
    /// An unknown workload, or an invalid setting.
    pub fn named<K, V>(name: &str, settings: &[(K, V)]) -> Result<Self, ScenarioError>
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        let (table, choice) = if GeneratorConfig::NAMES.contains(&name) {
            ("workload.synthetic", Some("generator.name"))
        } else if PresetConfig::NAMES.contains(&name) {
            ("workload.preset", Some("name"))
        } else if name == DISKSIM {
            ("workload.disksim", None)
        } else if Scenario::is_named(name) {
            return Self::new(Scenario::load(name)?.set(settings)?);
        } else {
            let known = [GeneratorConfig::NAMES, PresetConfig::NAMES, &[DISKSIM]].concat();
            let problem =
                format!("no workload \"{name}\"{}; a scenario's file ends in .toml", hint(name, &known));
            return Err(ScenarioError::whole(problem));
        };
        let mut all: Vec<_> =
            choice.map(|key| (format!("{table}.{key}"), name.to_owned())).into_iter().collect();
        if choice.is_none() {
            all.push((table.to_owned(), "{}".to_owned()));
        }
        all.extend(
            settings
                .iter()
                .map(|(key, value)| (format!("{table}.{}", key.as_ref()), value.as_ref().to_owned())),
        );
        Ok(Self { scenario: Scenario::default().set(&all)?, space: SPACE })
    }

    /// Change the number of requests; for composed and fitted workloads, its upper limit.
    ///
    /// # Errors
    /// An invalid number.
    pub fn with_requests(self, requests: u64) -> Result<Self, ScenarioError> {
        let key = match &self.scenario.workload.requests {
            Requests::Synthetic(_) | Requests::Default => "workload.synthetic.requests",
            Requests::Preset(_) => "workload.preset.requests",
            Requests::DiskSim(_) => "workload.disksim.requests",
            _ => "workload.requests_max",
        };
        Ok(Self { scenario: self.scenario.set(&[(key, requests.to_string())])?, ..self })
    }
}

/// Write the requests of `workload` to `out`, in the given format or that of the extension. Those of jobs are what they send to the
/// device of their scenario, at the times at which they send them.
///
/// # Errors
/// An invalid workload, jobs over another space than their device, a workload that is a trace, an error of the file, or a
/// cancellation. The file is then unchanged.
pub fn generate(
    workload: &Generated,
    out: (&str, Option<&str>),
    observer: &mut dyn Observer,
) -> Result<Written, RunError> {
    let Generated { scenario, space } = workload;
    scenario.check()?;
    if let Requests::Trace(_) = scenario.workload.requests {
        let problem = "it is a trace already: coflash trace convert writes it in another format".to_owned();
        return Err(ScenarioError::new("workload", problem).into());
    }
    if space.count == 0 {
        return Err(ScenarioError::new("space", "0B was given; at least 1B is allowed".to_owned()).into());
    }
    let source: Box<dyn Source> = if scenario.workload.has_jobs() {
        if *space != Generated::new(scenario.clone())?.space {
            let problem = "jobs are laid out over their device: set its size, or their own, in place of this";
            return Err(ScenarioError::new("space", problem.to_owned()).into());
        }
        let run = coflash_engine::begin(scenario, &RunInputs::only(TRACES), observer)?;
        let requests = run.requests_of_jobs(observer)?.into();
        Box::new(Rounds { requests, next: 0, left: 1 })
    } else {
        coflash_engine::requests(scenario, TRACES, space.count, observer)?
    };
    let mut source = Cancellable::new(source, observer);
    let written = write(&mut source, out.0, out.1);
    source.finish(written).1
}

/// Requests in memory, several rounds of them.
pub(crate) struct Rounds {
    pub(crate) requests: Arc<[Request]>,
    pub(crate) next: usize,
    pub(crate) left: u64,
}

impl Source for Rounds {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        if self.next == self.requests.len() && self.left > 1 {
            (self.next, self.left) = (0, self.left - 1);
        }
        let end = self.requests.len().min(self.next + BATCH_REQUESTS);
        batch.clear();
        batch.extend_from_slice(&self.requests[self.next..end]);
        self.next = end;
        Ok(())
    }
}
