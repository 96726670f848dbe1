//! Workloads that are made up, written down as traces: the very requests that a run of their scenario would be given.

use crate::error::RunError;
use crate::input::Inputs;
use crate::observer::Observer;
use crate::opened::open_made_up;
use crate::scenario::{Scenario, ScenarioError};
use crate::watched::Watched;
use coflash_base::suggest::hint;
use coflash_base::{Bytes, Seed};
use coflash_hybrid::disk::SECTOR_BYTES;
use coflash_workload::like::{Comparison, FitOptions, fit_source};
use coflash_workload::ready_made::PresetConfig;
use coflash_workload::synthetic::{GeneratorConfig, SyntheticConfig};
use coflash_workload::tools::{Written, write};
use coflash_workload::{Source, trace};
use serde::Serialize;
use std::collections::BTreeMap;

/// The space of a workload that is named without a device.
const SPACE: Bytes = Bytes { count: 64 << 30 };

/// The generator that is neither of the list nor ready made.
const DISKSIM: &str = "disksim";

/// A workload, and the space it is laid out over.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeUp {
    /// The scenario whose workload it is.
    pub scenario: Scenario,
    /// The addresses it has.
    pub space: Bytes,
}

impl MadeUp {
    /// The workload of a scenario, over what its device exports.
    ///
    /// # Errors
    /// A scenario that does not fit together.
    pub fn of(scenario: Scenario) -> Result<Self, ScenarioError> {
        scenario.check()?;
        let page_bytes = scenario.flash.page_size.count;
        let pages = match &scenario.hybrid {
            Some(hybrid) => hybrid.disks.sectors() * SECTOR_BYTES / page_bytes,
            None => u64::from(scenario.ftl.logical_pages(&scenario.flash)),
        };
        let space = Bytes { count: pages * page_bytes };
        Ok(Self { scenario, space })
    }

    /// The workload that a user names: a generator, with settings such as `generator.exponent` and `read_share`; one that
    /// is ready made, with its parameters; or that of a scenario, with settings of the scenario.
    ///
    /// # Errors
    /// No such workload, or what is wrong with a setting.
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
            return Self::of(Scenario::load(name)?.set(settings)?);
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

    /// The same with so many requests; of a workload that is put together, or like a trace, at most so many.
    ///
    /// # Errors
    /// A number that is not allowed.
    pub fn with_requests(self, requests: u64) -> Result<Self, ScenarioError> {
        let workload = &self.scenario.workload;
        let key = match (&workload.synthetic, &workload.preset, &workload.disksim) {
            (Some(_), _, _) => "workload.synthetic.requests",
            (_, Some(_), _) => "workload.preset.requests",
            (_, _, Some(_)) => "workload.disksim.requests",
            _ if workload.is_default() => "workload.synthetic.requests",
            _ => "workload.requests_max",
        };
        Ok(Self { scenario: self.scenario.set(&[(key, requests.to_string())])?, ..self })
    }
}

/// Writes the requests of `workload` to `out`, in the format named or that of the extension.
///
/// # Errors
/// What is wrong with the workload or the file, a workload that is a trace; or the observer stopped it. The file is then
/// as it was before.
pub fn generate(
    workload: &MadeUp,
    out: (&str, Option<&str>),
    observer: &mut dyn Observer,
) -> Result<Written, RunError> {
    let MadeUp { scenario, space } = workload;
    scenario.check()?;
    if !scenario.workload.trace.is_empty() {
        let problem = "it is a trace already: coflash trace convert writes it in another format".to_owned();
        return Err(ScenarioError::new("workload", problem).into());
    }
    if space.count == 0 {
        return Err(ScenarioError::new("space", "0B was given; at least 1B is allowed".to_owned()).into());
    }
    let inputs = Inputs::of(&scenario.workload.like);
    let (source, _) = open_made_up(scenario, space.count, Seed(scenario.seed), &inputs, observer)?;
    let mut watched = Watched::new(source, observer);
    let written = write(&mut watched, out.0, out.1);
    watched.finish(written).1
}

/// A made-up workload like a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Likeness {
    /// The workload, as it stands under `workload.synthetic` in a scenario.
    pub workload: SyntheticConfig,
    /// The trace and the workload, measured the same way.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// What had to be assumed of the trace, or was left out.
    pub remarks: Vec<String>,
}

impl Likeness {
    /// The workload as the file of a scenario, in which everything else has its default.
    #[must_use]
    pub fn to_toml(&self, seed: u64) -> String {
        #[derive(Serialize)]
        struct File<'a> {
            seed: u64,
            workload: BTreeMap<&'static str, &'a SyntheticConfig>,
        }
        let workload = BTreeMap::from([("synthetic", &self.workload)]);
        toml::to_string(&File { seed, workload }).expect("a workload is plain data")
    }

    /// A scenario with this workload, and otherwise the defaults.
    #[must_use]
    pub fn made_up(&self, seed: u64) -> MadeUp {
        let mut scenario = Scenario { seed, ..Scenario::default() };
        scenario.workload.synthetic = Some(self.workload.clone());
        MadeUp { scenario, space: self.workload.space.unwrap_or(SPACE) }
    }
}

/// Fits a workload to the trace in `paths`, of so many requests, or else as many as the trace has.
///
/// # Errors
/// What is wrong with the trace or the options; or the observer stopped it.
pub fn like(
    paths: &[String],
    options: &FitOptions,
    requests: Option<u64>,
    observer: &mut dyn Observer,
) -> Result<Likeness, RunError> {
    if requests == Some(0) {
        return Err(ScenarioError::new("requests", "0 was given; at least 1 is allowed".to_owned()).into());
    }
    let mut watched = Watched::new(trace::open(paths, &options.trace)?, observer);
    let fitted = fit_source(&mut watched, options);
    let remarks = watched.remarks();
    let fitted = watched.finish(fitted).1?;
    let requests = requests.unwrap_or(fitted.config.requests);
    let workload = SyntheticConfig { requests, ..fitted.config };
    Ok(Likeness { workload, comparison: fitted.comparison, remarks })
}
