//! Files of tables: `coflash.table_files` in Python reads and writes them for the core.

use coflash_trace::table_files::{Numbers, Part, Stream, TableFile, TableFiles};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyKeyboardInterrupt, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;

pub(crate) struct PythonTableFiles;

/// Call a function of the module; its error as a sentence.
fn call<T>(work: impl FnOnce(Python<'_>, Bound<'_, PyModule>) -> PyResult<T>) -> Result<T, String> {
    Python::attach(|py| {
        py.import("coflash.table_files").and_then(|module| work(py, module)).map_err(|error| said(py, &error))
    })
}

fn said(py: Python<'_>, error: &PyErr) -> String {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        // It ends the whole call, not this file alone.
        let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
    }
    error.value(py).to_string()
}

impl TableFiles for PythonTableFiles {
    fn open(&self, file: &str, as_text: bool) -> Result<TableFile, String> {
        let (remarks, is_text, parts) = call(|_, module| {
            module.call_method1("opened", (file, as_text))?.extract::<(Vec<String>, bool, Py<PyAny>)>()
        })?;
        let next = move || {
            Python::attach(|py| match parts.bind(py).call_method0("__next__") {
                Ok(item) => Some(part(&item, is_text).map_err(|error| said(py, &error))),
                Err(end) if end.is_instance_of::<PyStopIteration>(py) => None,
                Err(error) => Some(Err(said(py, &error))),
            })
        };
        Ok(TableFile { remarks, is_text, next: Box::new(next) })
    }

    fn write(&self, stream: Stream, file: &Path, format: &str) -> Result<(), String> {
        call(|py, module| {
            let stream = Bound::new(py, TableStream(Mutex::new(stream)))?;
            module.call_method1("write", (stream, file, format)).map(drop)
        })
    }
}

fn part(item: &Bound<'_, PyAny>, is_text: bool) -> PyResult<(u64, Part)> {
    if is_text {
        return item.extract().map(|(at, text)| (at, Part::Text(text)));
    }
    let (at, columns): (u64, Vec<Bound<'_, PyAny>>) = item.extract()?;
    Ok((at, Part::Rows(columns.iter().map(numbers).collect::<PyResult<_>>()?)))
}

/// The numbers of a column, and which of them are there; `None` if all are.
fn numbers(column: &Bound<'_, PyAny>) -> PyResult<Numbers> {
    let (values, present): (Bound<'_, PyAny>, Option<PyReadonlyArray1<'_, bool>>) = column.extract()?;
    let signed = values.extract::<PyReadonlyArray1<'_, i64>>().ok();
    Ok(Numbers {
        are_signed: signed.is_some(),
        values: match signed {
            Some(signed) => signed.as_array().iter().map(|&value| value as u64).collect(),
            None => values.extract::<PyReadonlyArray1<'_, u64>>()?.as_array().to_vec(),
        },
        present: present.map(|present| present.as_array().to_vec()),
    })
}

/// The stream of a table that the core writes, as a file of Python.
#[pyclass(frozen, module = "coflash._core")]
pub(crate) struct TableStream(Mutex<Stream>);

#[pymethods]
impl TableStream {
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        py.detach(|| {
            let mut stream = self.0.lock().expect("reading does not panic");
            stream.by_ref().take(size as u64).read_to_end(&mut bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The remarks on the table, known at its end.
    fn remarks(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.lock().expect("reading does not panic").remarks())
    }
}
