//! A row of the table.

use crate::Measured;

/// A row: its name and its measurement.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) run: Box<dyn Fn() -> Measured>,
}

pub(crate) fn row(name: impl Into<String>, run: impl Fn() -> Measured + 'static) -> Row {
    Row { name: name.into(), run: Box::new(run) }
}

/// A row for each member of a family.
pub(crate) fn family(of: &str, names: &[&'static str], run: fn(&str) -> Measured) -> Vec<Row> {
    names.iter().map(|&name| row(format!("{of} {}", name.replace('\n', " ")), move || run(name))).collect()
}
