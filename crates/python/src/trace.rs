//! Traces: what they hold, what is written of them, and workloads that become traces.

use crate::{Scenario, Settings, object, observed, refused, told};
use coflash_sim::Generated;
use coflash_trace::TraceOptions;
use coflash_trace::tools::head::head;
use coflash_workload::Request;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[pyfunction]
pub(crate) fn trace_info<'py>(
    py: Python<'py>,
    trace: Vec<String>,
    options: Settings,
    info: Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (options, info) = (options.read()?, info.read()?);
    told(py, progress, |observer| coflash_sim::inspect(&trace, &options, info, observer))
}

#[pyfunction]
pub(crate) fn miss_ratio_curves<'py>(
    py: Python<'py>,
    trace: Vec<String>,
    options: Settings,
    what: Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (options, what) = (options.read()?, what.read()?);
    told(py, progress, |observer| coflash_sim::miss_ratio_curves(&trace, &options, &what, observer))
}

#[pyfunction]
pub(crate) fn cache_hits<'py>(
    py: Python<'py>,
    pages: PyReadonlyArray1<'py, u32>,
    policy: &str,
    slots: u32,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let pages = pages.as_slice()?;
    let hits = py.detach(|| coflash_sim::hits(pages, policy, slots)).map_err(refused)?;
    Ok(hits.into_pyarray(py))
}

#[pyfunction]
pub(crate) fn trace_rewrite<'py>(
    py: Python<'py>,
    trace: Vec<String>,
    options: Settings,
    steps: Settings,
    out: &str,
    format: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (options, steps) = (options.read()?, steps.read()?);
    told(py, progress, |observer| coflash_sim::rewrite(&trace, &options, &steps, (out, format), observer))
}

#[pyfunction]
pub(crate) fn trace_split<'py>(
    py: Python<'py>,
    trace: Vec<String>,
    options: Settings,
    folder: &str,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = options.read()?;
    told(py, progress, |observer| coflash_sim::split(&trace, &options, folder.as_ref(), threads, observer))
}

/// A workload that can be written as a trace.
#[pyclass(frozen, module = "coflash._core", name = "Generated")]
pub(crate) struct PyGenerated(Generated);

#[pymethods]
impl PyGenerated {
    #[staticmethod]
    fn of(scenario: &Scenario) -> PyResult<Self> {
        Generated::new(scenario.0.clone()).map(Self).map_err(refused)
    }

    #[staticmethod]
    fn named(name: &str, settings: Settings) -> PyResult<Self> {
        Generated::named(name, &settings.0).map(Self).map_err(refused)
    }

    /// Copy the workload with changed settings.
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

    fn write<'py>(
        &self,
        py: Python<'py>,
        out: &str,
        format: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        told(py, progress, |observer| coflash_sim::generate(&self.0, (out, format), observer))
    }
}

/// The fitted workload with its measures; and as a scenario, and as what can be written.
#[pyfunction]
pub(crate) fn trace_like<'py>(
    py: Python<'py>,
    trace: Vec<String>,
    options: Settings,
    page: &str,
    requests: Option<u64>,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, String, PyGenerated)> {
    let page = page.parse().map_err(|error| refused(format!("page: {error}")))?;
    let read = options.read()?;
    let fitted = observed(py, progress, |observer| {
        coflash_sim::like(&trace, &read, (page, seed), requests, observer)
    })?;
    Ok((object(py, &fitted)?, fitted.to_toml(seed), PyGenerated(fitted.generated(seed))))
}

#[pyfunction]
pub(crate) fn trace_head<'py>(
    py: Python<'py>,
    trace: Vec<String>,
    options: Settings,
    count: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let options: TraceOptions = options.read()?;
    let first = py.detach(|| head(&mut coflash_trace::open(&trace, &options)?, count));
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
    if first.iter().any(|request| request.placement.is_some()) {
        let hint = |request: &Request| request.placement.map_or(f64::NAN, |hint| hint.get().into());
        columns.set_item("placement", first.iter().map(hint).collect::<Vec<_>>().into_pyarray(py))?;
    }
    Ok(columns)
}

#[pyfunction]
pub(crate) fn job_files(file: &str) -> PyResult<Vec<String>> {
    coflash_sim::job_files(file).map_err(refused)
}
