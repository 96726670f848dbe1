//! Tables in Parquet files, as NumPy arrays.

use coflash_trace::table::{NamedColumn, TableColumn, Values};
use numpy::{Element, IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// The columns of a table: arrays, and lists of texts.
#[pyfunction]
pub(crate) fn read_table(py: Python<'_>, file: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let columns = py.detach(|| coflash_trace::table::read_table(&file))?;
    let table = PyDict::new(py);
    for NamedColumn { name, is_signed, column: TableColumn { values, present } } in columns {
        let column = match (values, is_signed) {
            (Values::Int32(values), true) => numbers(py, values, present, |value| value, f64::from),
            (Values::Int32(values), false) => {
                numbers(py, values, present, |value| value as u32, |value| f64::from(value as u32))
            }
            (Values::Int64(values), true) => {
                numbers(py, values, present, |value| value, |value| value as f64)
            }
            (Values::Int64(values), false) => {
                numbers(py, values, present, |value| value as u64, |value| value as u64 as f64)
            }
            (Values::Double(values), _) => numbers(py, values, present, |value| value, |value| value),
            (Values::Boolean(values), _) => {
                numbers(py, values, present, |value| value, |value| f64::from(u8::from(value)))
            }
            (Values::Text(values), _) => {
                let texts = rows(values, present)
                    .map(|value| value.map(|text| String::from_utf8_lossy(text.data()).into_owned()));
                texts.collect::<Vec<_>>().into_pyobject(py)?
            }
        };
        table.set_item(name, column)?;
    }
    Ok(table)
}

/// Write a table of equally long columns: arrays, and lists of texts.
#[pyfunction]
pub(crate) fn write_table(py: Python<'_>, file: PathBuf, columns: Bound<'_, PyDict>) -> PyResult<()> {
    let columns = columns.iter().map(|(name, column)| {
        let name: String = name.extract()?;
        let (values, is_signed, present) = values(&name, &column)?;
        Ok(NamedColumn { name, is_signed, column: TableColumn { values, present } })
    });
    let columns = columns.collect::<PyResult<Vec<_>>>()?;
    Ok(py.detach(|| coflash_trace::table::write_table(&file, columns))?)
}

/// The values of a column, whether they are signed, and which there are.
fn values(name: &str, column: &Bound<'_, PyAny>) -> PyResult<(Values, bool, Option<Vec<i16>>)> {
    fn array<T: Element, V>(column: &Bound<'_, PyAny>, value: impl Fn(&T) -> V) -> Option<Vec<V>> {
        let array: PyReadonlyArray1<'_, T> = column.extract().ok()?;
        Some(array.as_array().iter().map(value).collect())
    }
    Ok(if let Some(values) = array(column, |&value: &f64| value) {
        (Values::Double(values), true, None)
    } else if let Some(values) = array(column, |&value: &u64| value as i64) {
        (Values::Int64(values), false, None)
    } else if let Some(values) = array(column, |&value: &i64| value) {
        (Values::Int64(values), true, None)
    } else if let Some(values) = array(column, |&value: &u32| value as i32) {
        (Values::Int32(values), false, None)
    } else if let Some(values) = array(column, |&value: &i32| value) {
        (Values::Int32(values), true, None)
    } else if let Some(values) = array(column, |&value: &bool| value) {
        (Values::Boolean(values), true, None)
    } else if let Ok(texts) = column.extract::<Vec<Option<String>>>() {
        let present = texts.iter().map(|text| i16::from(text.is_some())).collect();
        let texts = texts.into_iter().flatten().map(|text| text.into_bytes().into());
        (Values::Text(texts.collect()), true, Some(present))
    } else {
        let allowed =
            "an array of 32-bit or 64-bit integers, doubles or bools, or a list of texts, is allowed";
        return Err(PyTypeError::new_err(format!("column \"{name}\": {allowed}")));
    })
}

/// An array of numbers; one with gaps is of floats, and a gap is NaN.
fn numbers<T, N: Element>(
    py: Python<'_>,
    values: Vec<T>,
    present: Option<Vec<i16>>,
    whole: impl Fn(T) -> N,
    real: impl Fn(T) -> f64,
) -> Bound<'_, PyAny> {
    if present.as_ref().is_some_and(|present| present.len() > values.len()) {
        let reals: Vec<_> = rows(values, present).map(|value| value.map_or(f64::NAN, &real)).collect();
        return reals.into_pyarray(py).into_any();
    }
    values.into_iter().map(whole).collect::<Vec<_>>().into_pyarray(py).into_any()
}

/// The rows of a column; `None` where there is no value.
fn rows<T>(values: Vec<T>, present: Option<Vec<i16>>) -> impl Iterator<Item = Option<T>> {
    let present = present.unwrap_or_else(|| vec![1; values.len()]);
    let mut values = values.into_iter();
    present.into_iter().map(move |level| if level > 0 { values.next() } else { None })
}
