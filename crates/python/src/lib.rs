//! The Python module of coflash: a shell around the simulator, without logic. Its documentation is in the package and
//! in `_core.pyi`.
#![allow(missing_docs, reason = "documented on the Python side")]

#[cfg(unix)]
mod device;
mod external;
mod observer;
mod table_files;
mod trace;

use coflash_base::measure::SectionInfo;
use coflash_base::{PolicyInfo, Quantity, suggest};
use coflash_scenario::{BUILT_IN, ReplayMode, Requests, SCALED_KEYS, settings};
use coflash_sim::{Checkpoints, Records, RunError, RunResult, TRACES};
use numpy::{IntoPyArray, PyArray1};
use observer::PythonObserver;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

// The full module path is needed for pickling between processes.
create_exception!(coflash._core, CoflashError, PyException);

fn refused(error: impl std::fmt::Display) -> PyErr {
    CoflashError::new_err(error.to_string())
}

/// Plain data as Python objects. PyO3 has no serialiser, and pythonize lags behind its releases.
fn object<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).expect("it is plain data");
    py.import("json")?.call_method1("loads", (text,))
}

/// Keys and values in TOML syntax, in the order of a Python dictionary.
struct Settings(Vec<(String, String)>);

impl<'py> FromPyObject<'_, 'py> for Settings {
    type Error = PyErr;
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let pairs = given.cast::<PyDict>()?.iter().map(|(key, value)| Ok((key.extract()?, value.extract()?)));
        pairs.collect::<PyResult<_>>().map(Self)
    }
}

impl Settings {
    fn read<T: DeserializeOwned>(&self) -> PyResult<T> {
        settings(&self.0).map_err(refused)
    }
}

/// The exception of a failed run; an exception of the callback is passed on unchanged.
fn ended(py: Python<'_>, error: RunError, observer: PythonObserver) -> PyErr {
    // A read interrupted by Ctrl-C fails with an error of its own.
    if let Err(interrupted) = py.check_signals() {
        return interrupted;
    }
    match error {
        RunError::Cancelled(_) => observer.raised().unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
        other => refused(other),
    }
}

/// The base of Python's class of this name, which is made of it.
#[pyclass(frozen, subclass, from_py_object, module = "coflash._core")]
#[derive(Clone)]
struct Scenario(coflash_scenario::Scenario);

#[pymethods]
impl Scenario {
    #[new]
    fn new(core: Self) -> Self {
        core
    }

    #[staticmethod]
    fn load(name_or_path: &str) -> PyResult<Self> {
        coflash_scenario::Scenario::load(name_or_path).map(Self).map_err(refused)
    }

    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Self> {
        coflash_scenario::Scenario::from_toml(text).map(Self).map_err(refused)
    }

    #[staticmethod]
    fn of_run(text: &str) -> PyResult<Self> {
        coflash_scenario::Scenario::of_run(text).map(Self).map_err(refused)
    }

    fn replaying(&self, trace: Vec<String>) -> Self {
        Self(self.0.with_requests(Requests::Trace(trace)))
    }

    fn with_jobs(&self, file: String) -> Self {
        Self(self.0.with_requests(Requests::Fio(file)))
    }

    fn set(&self, assignments: Vec<(String, String)>) -> PyResult<Self> {
        self.0.set(&assignments).map(Self).map_err(refused)
    }

    fn scaled(&self, scale: &str) -> PyResult<Self> {
        scale.parse().and_then(|scale| self.0.scaled(scale)).map(Self).map_err(refused)
    }

    fn exporting(&self, pages_per_die: u64) -> Self {
        Self(self.0.exporting(pages_per_die))
    }

    fn of_dies(&self, dies: u32) -> PyResult<Self> {
        self.0.of_dies(dies).map(Self).map_err(refused)
    }

    /// Its dies, the pages that each exports, and those of a block for data.
    fn sizes(&self) -> (u32, u64, u64) {
        let (flash, ftl) = (&self.0.flash, &self.0.ftl);
        (flash.dies(), ftl.logical_pages_per_die(flash), ftl.data_pages_per_block(flash))
    }

    /// Return the whole scenario as TOML, with every default written out.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// Return the whole scenario as nested dictionaries; sizes, times and shares are texts with a unit.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.0.to_json())
    }

    /// List settings that are allowed but probably not intended, one sentence for each.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let scenario = external::bound(py, &self.0)?;
        // Files of tables need the interpreter on another thread.
        let described = py.detach(|| coflash_sim::describe(&scenario, TRACES));
        external::take_failure().map_or_else(|| described.map_err(refused), Err)
    }

    /// List the keys that are set and have no effect, given the others: a sentence for each reason.
    fn without_effect(&self) -> Vec<String> {
        self.0.without_effect()
    }

    fn exported_bytes(&self) -> u64 {
        u64::from(self.0.ftl.logical_pages(&self.0.flash)) * self.0.flash.page_size.count
    }

    /// List what a run will suffer from, as far as that is known before, one sentence for each.
    fn cautions(&self) -> PyResult<Vec<String>> {
        self.0.check().map_err(refused)?;
        Ok(coflash_sim::cautions(&self.0))
    }

    fn with_digests(&self, py: Python<'_>) -> PyResult<Self> {
        external::bound(py, &self.0).map(Self)
    }

    /// The name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The purpose of the scenario.
    #[getter]
    fn description(&self) -> &str {
        &self.0.description
    }

    /// A digest of every key that influences results; equal for equal scenarios.
    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }

    /// A digest of every key that determines the device before the workload; see `Warm`.
    #[getter]
    fn warm_key(&self) -> String {
        coflash_sim::warm_key(&self.0)
    }

    /// How time is replayed, in words.
    #[getter]
    fn replay(&self) -> String {
        self.0.replay_told(None)
    }

    /// How requests are issued: at their times, or as soon as earlier ones are answered.
    #[getter]
    fn replay_mode(&self) -> &'static str {
        match self.0.replay_mode() {
            ReplayMode::Open => "open",
            ReplayMode::Closed => "closed",
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        u64::from_str_radix(&self.0.hash(), 16).expect("a digest is hexadecimal")
    }
}

/// The base of Python's class of this name, which is made of it.
#[pyclass(frozen, subclass, from_py_object, module = "coflash._core")]
#[derive(Clone)]
struct Warm(coflash_sim::WarmDevice);

#[pymethods]
impl Warm {
    #[new]
    fn new(core: Self) -> Self {
        core
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| coflash_sim::WarmDevice::load(&path)).map(Self).map_err(refused)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(refused)
    }

    /// The `warm_key` of the scenarios that it fits.
    #[getter]
    fn key(&self) -> String {
        self.0.key()
    }

    /// The size of the device in memory; every run needs as much for its copy.
    #[getter]
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

#[pyclass(frozen, module = "coflash._core", name = "RunResult")]
struct PyRunResult(RunResult);

#[pymethods]
impl PyRunResult {
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    #[allow(clippy::type_complexity, reason = "two columns")]
    fn histogram<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        let buckets = self.0.histogram(kind).ok_or_else(|| {
            PyValueError::new_err(format!("\"{kind}\" was given; \"all\", \"read\" or \"write\" is allowed"))
        })?;
        let (values, counts): (Vec<u64>, Vec<u64>) = buckets.into_iter().unzip();
        Ok((values.into_pyarray(py), counts.into_pyarray(py)))
    }

    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let series = &self.0.series;
        let columns = PyDict::new(py);
        for (name, column) in &series.columns {
            columns.set_item(name, column.clone().into_pyarray(py))?;
        }
        columns.set_item("response_mean_ns", series.response_mean_ns.clone().into_pyarray(py))?;
        Ok(columns)
    }

    fn erase_counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.erases.clone().into_pyarray(py)
    }
}

#[pyfunction]
fn scaled_keys() -> Vec<&'static str> {
    SCALED_KEYS.iter().flat_map(|(_, keys)| keys.split(' ')).collect()
}

#[pyfunction]
fn built_in_scenarios() -> Vec<(&'static str, String)> {
    let describe = |name| {
        coflash_scenario::Scenario::built_in(name).map(|scenario| scenario.description).unwrap_or_default()
    };
    BUILT_IN.iter().map(|scenario| (scenario.name, describe(scenario.name))).collect()
}

/// The trace of the demo, compiled in as the scenarios are: a wheel has it wherever it is built.
#[pyfunction]
fn demo_trace() -> &'static [u8] {
    include_bytes!("../../../examples/traces/pgbench-oltp-400k.iolog.zst")
}

/// The sections of results, and the sections of lists.
#[pyfunction]
fn measures(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let sections: (Vec<&SectionInfo>, Vec<&SectionInfo>) = (coflash_sim::sections(), coflash_sim::lists());
    object(py, &sections)
}

#[pyfunction]
fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let family = |(family, decides, members): (&str, &str, Vec<PolicyInfo>)| serde_json::json!({ "family": family, "decides": decides, "policies": members });
    object(py, &coflash_sim::policies().into_iter().map(family).collect::<Vec<_>>())
}

#[pyfunction]
fn scenario_schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    object(py, &schemars::schema_for!(coflash_scenario::Scenario))
}

/// The number and the base unit of a quantity.
fn counted(quantity: Quantity) -> (u64, &'static str) {
    match quantity {
        Quantity::Bytes(size) => (size.count, "bytes"),
        Quantity::Duration(time) => (time.ns, "ns"),
        Quantity::Energy(energy) => (energy.nj, "nJ"),
        Quantity::Share(share) => (share.ppb, "ppb"),
    }
}

#[pyfunction]
fn quantity(text: &str) -> PyResult<(u64, &'static str)> {
    text.parse().map(counted).map_err(refused)
}

#[pyfunction]
fn units() -> Vec<(&'static str, (u64, &'static str))> {
    Quantity::units().map(|(name, one)| (name, counted(one))).collect()
}

#[pyfunction]
fn hint(given: &str, allowed: Vec<String>) -> String {
    suggest::hint(given, &allowed.iter().map(String::as_str).collect::<Vec<_>>())
}

#[pyfunction]
fn run(
    py: Python<'_>,
    scenario: &Scenario,
    progress: Option<Py<PyAny>>,
    warm: Option<&Warm>,
    records: (Option<PathBuf>, Option<PathBuf>),
    checkpoint: Option<KeptCheckpoint>,
) -> PyResult<PyRunResult> {
    let scenario = external::bound(py, &scenario.0)?;
    let mut observer = PythonObserver::new(progress);
    let checkpoints = checkpoint.map(|(file, replaces_another, seconds, told)| {
        observer.checkpoints_every(seconds, told);
        Checkpoints { file, replaces_another }
    });
    let (warm, (operations, decisions)) = (warm.map(|warm| &warm.0), records);
    let records = Records { operations, decisions };
    let mut simulate =
        || coflash_sim::run_recorded(&scenario, warm, &records, checkpoints.as_ref(), &mut observer);
    external::take_failure();
    // Release the interpreter during the simulation; observer and policies acquire it when they need it. Files of tables need it
    // on other threads.
    let has_tables = records != Records::default()
        || matches!(&scenario.workload.requests, Requests::Trace(files) | Requests::Like(files)
            if files.iter().any(|file| coflash_trace::table_files::is_table_file(file)));
    let is_kept = external::is_called_per_page(&scenario) && !has_tables;
    let result = if is_kept { simulate() } else { py.detach(&mut simulate) };
    settled(py, result, observer).map(PyRunResult)
}

/// The file, whether it may replace the checkpoint of another run, the seconds between two, and what hears of it.
type KeptCheckpoint = (PathBuf, bool, f64, Py<PyAny>);

#[pyfunction]
fn warm(py: Python<'_>, scenario: &Scenario, progress: Option<Py<PyAny>>) -> PyResult<Warm> {
    let scenario = external::bound(py, &scenario.0)?;
    observed(py, progress, |observer| coflash_sim::warm(&scenario, TRACES, observer)).map(Warm)
}

#[pyfunction]
fn fewest_programs<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let scenario = external::bound(py, &scenario.0)?;
    told(py, progress, |observer| coflash_sim::fewest_programs(&scenario, TRACES, observer))
}

/// The result of a run, or the exception that ended it. A policy may have failed in its last requests.
fn settled<T>(py: Python<'_>, result: Result<T, RunError>, observer: PythonObserver) -> PyResult<T> {
    match external::take_failure() {
        Some(failure) => Err(failure),
        None => result.map_err(|error| ended(py, error, observer)),
    }
}

/// The result of observed work as Python objects.
fn told<'py, T: Send + Serialize>(
    py: Python<'py>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut PythonObserver) -> Result<T, RunError> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    object(py, &observed(py, progress, work)?)
}

/// Do work that reports to a Python callback, and does not need the interpreter otherwise.
fn observed<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut PythonObserver) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let mut observer = PythonObserver::new(progress);
    external::take_failure();
    let done = py.detach(|| work(&mut observer));
    settled(py, done, observer)
}

#[pymodule]
mod _core {
    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        coflash_trace::table_files::provide(&crate::table_files::PythonTableFiles);
        Ok(())
    }

    #[cfg(unix)]
    #[pymodule_export]
    use crate::device::{ServedDevice, device_check, device_cut, device_explore, device_info, device_twin};
    #[pymodule_export]
    use crate::external::{Candidates, hook_seconds};
    #[pymodule_export]
    use crate::table_files::TableStream;
    #[pymodule_export]
    use crate::trace::{
        PyGenerated, cache_hits, job_files, miss_ratio_curves, trace_head, trace_info, trace_like,
        trace_rewrite, trace_split,
    };
    #[pymodule_export]
    use crate::{CoflashError, PyRunResult, Scenario, Warm};
    #[pymodule_export]
    use crate::{
        built_in_scenarios, demo_trace, fewest_programs, hint, measures, policies, quantity, run,
        scaled_keys, scenario_schema, units, warm,
    };

    #[pymodule_export]
    const REVISION: u32 = coflash_sim::REVISION;
    /// The commit that a wheel was made of; empty where none was given to the build.
    #[pymodule_export]
    const COMMIT: &str = match option_env!("COFLASH_COMMIT") {
        Some(commit) => commit,
        None => "",
    };
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = coflash_sim::VERSION;
}
