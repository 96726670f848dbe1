//! The Python module of coflash: a shell around the simulator, without logic. Its documentation is in the package and in
//! `_core.pyi`.
#![allow(missing_docs, reason = "documented on the Python side")]

mod costmodel;
mod observer;

use coflash_sim::scenario::settings;
use coflash_sim::{Likeness, MadeUp, PRESETS, RunError, RunResult};
use coflash_workload::info::InfoOptions;
use coflash_workload::like::FitOptions;
use coflash_workload::tools::{Steps, head::head, targets};
use coflash_workload::{Request, TraceOptions, trace};
use numpy::{IntoPyArray, PyArray1};
use observer::PythonObserver;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use std::path::PathBuf;

// With its whole path: it is found by it where a worker process hands it over.
create_exception!(coflash._core, CoflashError, PyException);

fn refused(error: impl std::fmt::Display) -> PyErr {
    CoflashError::new_err(error.to_string())
}

/// What the run ended with: an exception of the callback goes through as it was.
fn ended(py: Python<'_>, error: RunError, observer: PythonObserver) -> PyErr {
    // A read that Control-C broke off ends as an error of its own.
    if let Err(interrupted) = py.check_signals() {
        return interrupted;
    }
    match error {
        RunError::Cancelled(_) => observer.raised().unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
        other => refused(other),
    }
}

#[pyclass(frozen, from_py_object, module = "coflash._core")]
#[derive(Clone)]
struct Scenario(coflash_sim::Scenario);

#[pymethods]
impl Scenario {
    #[staticmethod]
    fn load(name_or_path: &str) -> PyResult<Self> {
        coflash_sim::Scenario::load(name_or_path).map(Self).map_err(refused)
    }

    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Self> {
        coflash_sim::Scenario::from_toml(text).map(Self).map_err(refused)
    }

    fn set(&self, assignments: Vec<(String, String)>) -> PyResult<Self> {
        self.0.set(&assignments).map(Self).map_err(refused)
    }

    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).expect("a scenario is plain data")
    }

    fn check(&self) -> PyResult<Vec<String>> {
        self.0.describe().map_err(refused)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn description(&self) -> &str {
        &self.0.description
    }

    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }

    #[getter]
    fn warm_key(&self) -> String {
        self.0.warm_key()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        u64::from_str_radix(&self.0.hash(), 16).expect("a digest is hexadecimal")
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {} {}>", self.0.name, self.0.hash())
    }
}

#[pyclass(frozen, module = "coflash._core")]
struct Warm(coflash_sim::WarmDevice);

#[pymethods]
impl Warm {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| coflash_sim::WarmDevice::load(&path)).map(Self).map_err(refused)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(refused)
    }

    #[getter]
    fn key(&self) -> String {
        self.0.key()
    }

    #[getter]
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }

    fn __repr__(&self) -> String {
        format!("<Warm {}>", self.0.key())
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
        let series = self.0.series();
        let columns = PyDict::new(py);
        for (name, column) in &series.columns {
            columns.set_item(name, column.clone().into_pyarray(py))?;
        }
        columns.set_item("response_mean_ns", series.response_mean_ns.clone().into_pyarray(py))?;
        Ok(columns)
    }

    fn erase_counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.erase_counts().to_vec().into_pyarray(py)
    }
}

#[pyfunction]
fn presets() -> Vec<(&'static str, String)> {
    let describe =
        |name| coflash_sim::Scenario::preset(name).map(|scenario| scenario.description).unwrap_or_default();
    PRESETS.iter().map(|preset| (preset.name, describe(preset.name))).collect()
}

#[pyfunction]
fn policies_json() -> String {
    let family = |(family, decides, members): (&str, &str, Vec<coflash_base::PolicyInfo>)| serde_json::json!({ "family": family, "decides": decides, "policies": members });
    serde_json::Value::Array(coflash_sim::policies().into_iter().map(family).collect()).to_string()
}

#[pyfunction]
fn scenario_schema_json() -> String {
    serde_json::to_string_pretty(&schemars::schema_for!(coflash_sim::Scenario))
        .expect("a schema is plain data")
}

#[pyfunction]
fn run(
    py: Python<'_>,
    scenario: &Scenario,
    trace: Vec<String>,
    progress: Option<Py<PyAny>>,
    measured: Option<Py<PyAny>>,
    warm: Option<&Warm>,
) -> PyResult<PyRunResult> {
    let mut scenario = scenario.0.clone();
    if !trace.is_empty() {
        scenario.workload.trace = trace;
    }
    let mut observer = PythonObserver::new(progress, measured);
    // Others may use the interpreter while the simulation runs; the observer takes it back to report.
    let warm = warm.map(|warm| &warm.0);
    let result = py.detach(|| match warm {
        Some(warm) => coflash_sim::run_from(warm, &scenario, &mut observer),
        None => coflash_sim::run(&scenario, &mut observer),
    });
    result.map(PyRunResult).map_err(|error| ended(py, error, observer))
}

#[pyfunction]
fn warm(py: Python<'_>, scenario: &Scenario, progress: Option<Py<PyAny>>) -> PyResult<Warm> {
    let mut observer = PythonObserver::new(progress, None);
    let warm = py.detach(|| coflash_sim::warm(&scenario.0, &mut observer));
    warm.map(Warm).map_err(|error| ended(py, error, observer))
}

/// Keys and their values as text.
type Settings = Vec<(String, String)>;

#[pyfunction]
fn trace_info_json(
    py: Python<'_>,
    trace: Vec<String>,
    options: Settings,
    info: Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: TraceOptions = settings(&options).map_err(refused)?;
    let info: InfoOptions = settings(&info).map_err(refused)?;
    let mut observer = PythonObserver::new(progress, None);
    let summary = py.detach(|| coflash_sim::inspect(&trace, &options, info, &mut observer));
    finish(py, summary, observer)
}

#[pyfunction]
fn trace_rewrite_json(
    py: Python<'_>,
    trace: Vec<String>,
    options: Settings,
    steps: Settings,
    out: &str,
    format: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: TraceOptions = settings(&options).map_err(refused)?;
    let steps: Steps = settings(&steps).map_err(refused)?;
    let mut observer = PythonObserver::new(progress, None);
    let written = py.detach(|| coflash_sim::rewrite(&trace, &options, &steps, (out, format), &mut observer));
    finish(py, written, observer)
}

/// A workload that can be written as a trace.
#[pyclass(frozen, module = "coflash._core", name = "MadeUp")]
struct PyMadeUp(MadeUp);

#[pymethods]
impl PyMadeUp {
    #[staticmethod]
    fn of(scenario: &Scenario) -> PyResult<Self> {
        MadeUp::of(scenario.0.clone()).map(Self).map_err(refused)
    }

    #[staticmethod]
    fn named(name: &str, settings: Settings) -> PyResult<Self> {
        MadeUp::named(name, &settings).map(Self).map_err(refused)
    }

    /// The same with some of it changed.
    fn with_(&self, requests: Option<u64>, seed: Option<u64>, space: Option<&str>) -> PyResult<Self> {
        let mut changed = self.0.clone();
        if let Some(requests) = requests {
            changed = changed.with_requests(requests).map_err(refused)?;
        }
        if let Some(seed) = seed {
            changed.scenario.seed = seed;
        }
        if let Some(space) = space {
            changed.space = space.parse().map_err(|error| refused(format!("space: {error}")))?;
        }
        Ok(Self(changed))
    }

    fn write_json(
        &self,
        py: Python<'_>,
        out: &str,
        format: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let mut observer = PythonObserver::new(progress, None);
        let written = py.detach(|| coflash_sim::generate(&self.0, (out, format), &mut observer));
        finish(py, written, observer)
    }
}

#[pyclass(frozen, module = "coflash._core", name = "Likeness")]
struct PyLikeness(Likeness);

#[pymethods]
impl PyLikeness {
    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).expect("it is plain data")
    }

    fn to_toml(&self, seed: u64) -> String {
        self.0.to_toml(seed)
    }

    fn made_up(&self, seed: u64) -> PyMadeUp {
        PyMadeUp(self.0.made_up(seed))
    }
}

#[pyfunction]
fn trace_like(
    py: Python<'_>,
    trace: Vec<String>,
    options: Settings,
    page: &str,
    requests: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyLikeness> {
    let page = page.parse().map_err(|error| refused(format!("page: {error}")))?;
    let options = settings(&options).map_err(refused)?;
    let options = FitOptions { trace: options, page, ..FitOptions::default() };
    let mut observer = PythonObserver::new(progress, None);
    let found = py.detach(|| coflash_sim::like(&trace, &options, requests, &mut observer));
    found.map(PyLikeness).map_err(|error| ended(py, error, observer))
}

#[pyfunction]
fn trace_head<'py>(
    py: Python<'py>,
    trace: Vec<String>,
    options: Settings,
    count: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let options: TraceOptions = settings(&options).map_err(refused)?;
    let first = py.detach(|| head(&mut trace::open(&trace, &options)?, count));
    let first = first.or_else(|error| {
        py.check_signals()?;
        Err(refused(error))
    })?;
    let column = |value: fn(&Request) -> u64| first.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
    let columns = PyDict::new(py);
    columns.set_item("time_ns", column(|request| request.arrival.ns))?;
    let op = |request: &Request| format!("{:?}", request.op).to_lowercase();
    columns.set_item("op", first.iter().map(op).collect::<Vec<_>>())?;
    columns.set_item("offset_bytes", column(|request| request.offset))?;
    columns.set_item("length_bytes", column(|request| request.length))?;
    Ok(columns)
}

#[pyfunction]
fn trace_targets() -> Vec<&'static str> {
    targets()
}

/// The outcome as JSON, or the exception.
fn finish(
    py: Python<'_>,
    result: Result<impl Serialize, RunError>,
    observer: PythonObserver,
) -> PyResult<String> {
    let json = |value| serde_json::to_string(&value).expect("it is plain data");
    result.map(json).map_err(|error| ended(py, error, observer))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", coflash_sim::VERSION)?;
    module.add("CoflashError", module.py().get_type::<CoflashError>())?;
    module.add_class::<Scenario>()?;
    module.add_class::<PyRunResult>()?;
    module.add_class::<Warm>()?;
    module.add_class::<PyMadeUp>()?;
    module.add_class::<PyLikeness>()?;
    module.add_class::<costmodel::CostModel>()?;
    module.add_class::<costmodel::PyDemand>()?;
    module.add_function(wrap_pyfunction!(costmodel::solve, module)?)?;
    module.add_function(wrap_pyfunction!(costmodel::solve_copies, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(policies_json, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_schema_json, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(warm, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info_json, module)?)?;
    module.add_function(wrap_pyfunction!(trace_rewrite_json, module)?)?;
    module.add_function(wrap_pyfunction!(trace_like, module)?)?;
    module.add_function(wrap_pyfunction!(trace_head, module)?)?;
    module.add_function(wrap_pyfunction!(trace_targets, module)?)?;
    Ok(())
}
