//! Served devices, on Unix only.

use crate::observer::PythonObserver;
use crate::{PyRunResult, Scenario, ended, object, refused};
use coflash_device::{
    Address, Cut, DeviceError, EndedSession, Folder, Machine, SessionFolder, Side, TwinError, explore,
};
use explore::{Exploration, Explored};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

type Sessions = Vec<(PathBuf, PyRunResult)>;
type Parts = Vec<(PathBuf, Py<PyBytes>, Py<PyBytes>, u64)>;

fn sessions(ended: Vec<EndedSession>) -> Sessions {
    let session =
        |EndedSession { folder, result }: EndedSession| (folder.path().to_owned(), PyRunResult(result));
    ended.into_iter().map(session).collect()
}

/// A device that is served; nothing after it was stopped.
#[pyclass(frozen, module = "coflash._core")]
pub(crate) struct ServedDevice(Mutex<Option<coflash_device::ServedDevice>>);

impl ServedDevice {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&coflash_device::ServedDevice) -> T + Send,
    ) -> PyResult<T> {
        py.detach(|| self.0.lock().expect("no call panics").as_ref().map(work))
            .ok_or_else(|| refused("the device is stopped"))
    }
}

#[pymethods]
impl ServedDevice {
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "the options of a command")]
    fn start(
        py: Python<'_>,
        folder: PathBuf,
        scenario: Option<&Scenario>,
        size: Option<&str>,
        socket: Option<PathBuf>,
        listen: Option<&str>,
        insecure: bool,
        connections: usize,
        trace: Option<PathBuf>,
        emulate: bool,
        cut_after: Option<&str>,
        side: &str,
        seed: u64,
    ) -> PyResult<Self> {
        let named = |name: &str, problem: &dyn std::fmt::Display| refused(format!("{name}: {problem}"));
        let size = size.map(str::parse).transpose().map_err(|error| named("size", &error))?;
        let at = cut_after.map(str::parse).transpose().map_err(|error: String| named("cut_after", &error))?;
        let side = parse_side(side)?;
        let cut = at.map(|at| Cut { at, side, seed });
        let address = match listen {
            Some(listen) => coflash_device::listen_address(listen, insecure).map_err(refused)?,
            None => Address::Unix(socket.unwrap_or_else(|| folder.join("nbd"))),
        };
        let folder = Folder::new(&folder);
        let scenario = scenario.map(|scenario| &scenario.0);
        py.detach(|| {
            let machine = Machine::start(folder.clone(), scenario, size, trace.as_deref(), cut)?;
            coflash_device::ServedDevice::start(machine, &folder, &address, emulate)
        })
        .map(|served| {
            served.disk().connections.limit(connections);
            Self(Mutex::new(Some(served)))
        })
        .map_err(refused)
    }

    /// The URI for clients.
    fn address(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, coflash_device::ServedDevice::address)
    }

    fn has_failed(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, coflash_device::ServedDevice::has_failed)
    }

    /// The result of the present session so far.
    fn result(&self, py: Python<'_>) -> PyResult<Option<PyRunResult>> {
        Ok(self.with(py, |served| served.disk().machine().result())?.map(PyRunResult))
    }

    fn clients(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |served| served.disk().connections.count())
    }

    /// What flash did since the last call: by session its operations and decisions, as streams of Arrow, and the operations left out.
    fn take_live(&self, py: Python<'_>) -> PyResult<Parts> {
        let parts = self.with(py, |served| {
            let written = |(session, piece): coflash_device::Part| {
                let left_out = piece.left_out();
                piece.write().map(|[operations, decisions]| (session, operations, decisions, left_out))
            };
            served.disk().machine().take_live().into_iter().map(written).collect::<std::io::Result<Vec<_>>>()
        })?;
        let bytes = |bytes: Vec<u8>| PyBytes::new(py, &bytes).unbind();
        let part = |(session, operations, decisions, left_out)| {
            (session, bytes(operations), bytes(decisions), left_out)
        };
        Ok(parts?.into_iter().map(part).collect())
    }

    /// The load since the last call: requests, queue depth, mean and 99th percentile of the response time in nanoseconds.
    fn take_load(&self, py: Python<'_>) -> PyResult<(u64, f64, Option<f64>, Option<u64>)> {
        let load = self.with(py, |served| served.disk().take_load())?;
        Ok((load.requests, load.queue_depth, load.response_mean_ns, load.response_p99_ns))
    }

    /// Sessions that have ended in power cuts since the last call.
    fn take_ended(&self, py: Python<'_>) -> PyResult<Sessions> {
        self.with(py, |served| sessions(std::mem::take(&mut served.disk().machine().ended)))
    }

    fn take_problems(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |served| served.disk().take_problems())
    }

    fn stop(&self, py: Python<'_>) -> PyResult<Sessions> {
        let stopped = py.detach(|| self.0.lock().expect("no call panics").take().map(|served| served.stop()));
        stopped.unwrap_or_else(|| Ok(Vec::new())).map(sessions).map_err(refused)
    }
}

#[pyfunction]
pub(crate) fn device_info(
    py: Python<'_>,
    folder: PathBuf,
) -> PyResult<(Scenario, Bound<'_, PyAny>, Option<String>)> {
    let info = py.detach(|| coflash_device::info(&Folder::new(&folder))).map_err(refused)?;
    let scenario = coflash_scenario::Scenario::from_toml(&info.format.scenario).map_err(refused)?;
    let numbers = serde_json::json!({
        "logical_bytes": info.format.logical_bytes,
        "cache_slots": info.format.slots,
        "filled_slots": info.filled_slots,
        "programmed_pages": info.programmed_pages,
        "free_pages": info.free_pages,
        "journal_bytes": info.journal_bytes,
    });
    Ok((Scenario(scenario), object(py, &numbers)?, info.refusal))
}

#[pyfunction]
pub(crate) fn device_check(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<String>> {
    let findings = py.detach(|| coflash_device::check(&Folder::new(&folder))).map_err(refused)?;
    Ok(findings.iter().map(ToString::to_string).collect())
}

#[pyfunction]
pub(crate) fn device_cut<'py>(
    py: Python<'py>,
    folder: PathBuf,
    side: &str,
    seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let side = parse_side(side)?;
    let loss = py.detach(|| coflash_device::cut(&Folder::new(&folder), side, seed)).map_err(refused)?;
    object(py, &serde_json::json!(loss))
}

fn parse_side(side: &str) -> PyResult<Side> {
    side.parse().map_err(|error: String| refused(format!("side: {error}")))
}

#[pyfunction]
pub(crate) fn device_twin(
    py: Python<'_>,
    session: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyRunResult> {
    let mut observer = PythonObserver::new(progress);
    let twin = py.detach(|| coflash_device::twin_of(&SessionFolder::new(&session), &mut observer));
    twin.map(PyRunResult).map_err(|error| match error {
        TwinError::Run(error) => ended(py, error, observer),
        other => refused(other),
    })
}

/// Have an exploration report to Python, which may stop it by `False`, and end it by an exception.
fn reporting(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(&Explored) -> bool) -> Result<Explored, DeviceError> + Send,
) -> PyResult<Py<PyAny>> {
    let (done, raised) = py.detach(|| {
        let mut raised: Option<PyErr> = None;
        let done = work(&mut |explored| {
            let told: PyResult<bool> = Python::attach(|py| {
                py.check_signals()?;
                let Explored { states, planned, failed, .. } = *explored;
                let told = progress.map(|call| call.call1(py, (states, planned, failed))).transpose()?;
                Ok(told.is_none_or(|told| !told.bind(py).is(PyBool::new(py, false))))
            });
            told.map_err(|error| raised = Some(error)).unwrap_or(false)
        });
        (done, raised)
    });
    raised.map_or(Ok(()), Err)?;
    let found = serde_json::to_value(done.map_err(refused)?).expect("it is plain data");
    Ok(object(py, &found)?.unbind())
}

/// The commands of an exploration (of the workload, of the check, of recovery), or without a workload that of the last one and perhaps
/// its only state; the numbers of its states and runs, the atomic unit, the seed, the faults, the limit in seconds.
type Plan = (
    Option<String>,
    Option<String>,
    Option<String>,
    Option<usize>,
    usize,
    usize,
    String,
    u64,
    Vec<String>,
    f64,
);

/// Explore the states of a workload.
#[pyfunction]
pub(crate) fn device_explore(
    py: Python<'_>,
    folder: PathBuf,
    scenario: Option<&Scenario>,
    size: Option<&str>,
    plan: Plan,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (run, check, recover, only, points, runs, atomic, seed, faults, limit_s) = plan;
    let (folder, scenario) = (Folder::new(&folder), scenario.map(|scenario| &scenario.0));
    let Some(run) = run else {
        return reporting(py, progress.as_ref(), |report| explore::again(&folder, only, check, jobs, report));
    };
    let check = check.ok_or_else(|| refused("check: none was given; a workload needs one"))?;
    let sizes = size.map(explore::sizes).transpose().map_err(|error| refused(format!("size: {error}")))?;
    let atomic = explore::atomic_unit(&atomic).map_err(|error| refused(format!("atomic: {error}")))?;
    let limit = Duration::try_from_secs_f64(limit_s).ok().filter(|limit| !limit.is_zero());
    let limit =
        limit.ok_or_else(|| refused(format!("timeout: {limit_s} was given; seconds above 0 are allowed")))?;
    let (runs, sizes) = (runs.max(1), sizes.unwrap_or_default());
    let plan = Exploration { run, recover, check, sizes, points, runs, atomic, seed, faults, limit };
    reporting(py, progress.as_ref(), |report| explore::explore(&folder, scenario, &plan, jobs, report))
}
