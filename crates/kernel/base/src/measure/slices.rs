//! The report of a device whose slices were simulated apart.

use super::{Report, Section, Value};

impl Report {
    /// Add the counts of another slice of the device, which has the same sections. What is no count stays, and must be set anew.
    ///
    /// # Panics
    /// The other one has other sections.
    pub fn add_slice(&mut self, other: &Self) {
        assert_eq!(self.lists.len(), other.lists.len(), "slices of one device have the same lists");
        for ((info, rows), (of, others)) in self.lists.iter_mut().zip(&other.lists) {
            assert_eq!((*info, rows.len()), (*of, others.len()), "slices of one device have the same lists");
            rows.iter_mut().zip(others).for_each(|(row, other)| add_counts(row, other));
        }
        self.end = self.end.max(other.end);
        assert_eq!(self.sections.len(), other.sections.len(), "slices of one device have the same sections");
        for ((info, values), (of, others)) in self.sections.iter_mut().zip(&other.sections) {
            assert_eq!(info, of, "slices of one device have the same sections");
            add_counts(values, others);
        }
    }

    /// Replace the values of a section.
    pub fn set<S: Section>(&mut self, section: &S) {
        let found = self.sections.iter_mut().find(|(info, _)| **info == S::INFO);
        found.expect("the report has the section").1 = section.values();
    }
}

fn add_counts(values: &mut [Value], others: &[Value]) {
    for (value, other) in values.iter_mut().zip(others) {
        if let (Value::Count(count), Value::Count(more)) = (value, other) {
            *count += more;
        }
    }
}
