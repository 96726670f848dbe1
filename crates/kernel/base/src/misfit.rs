//! Invalid values of a scenario.

use std::fmt;

/// An invalid value in a scenario: its key, and the problem with the given and the allowed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The dotted key in the scenario; empty for the whole of it.
    pub key: String,
    /// The given value, the allowed values, and the reason.
    pub problem: String,
}

impl Misfit {
    /// Create the error of the value of `key`.
    #[must_use]
    pub fn new(key: &str, problem: impl Into<String>) -> Self {
        Self { key: key.to_owned(), problem: problem.into() }
    }

    /// Create an error of the whole scenario.
    #[must_use]
    pub fn whole(problem: String) -> Self {
        Self::new("", problem)
    }

    /// Create the error of a value outside of its range.
    #[must_use]
    pub fn out_of_range(key: &str, given: impl fmt::Display, allowed: &str) -> Self {
        Self::new(key, format!("{given} was given; {allowed} is allowed"))
    }

    /// Prefix the key with the table `key`.
    #[must_use]
    pub fn within(self, key: &str) -> Self {
        let key = if self.key.is_empty() { key.to_owned() } else { format!("{key}.{}", self.key) };
        Self { key, ..self }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Misfit {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misfit_names_its_key_from_the_outside_in() {
        let misfit = Misfit::out_of_range("count", 0, "at least 1").within("hybrid.disks");
        assert_eq!(misfit.to_string(), "hybrid.disks.count: 0 was given; at least 1 is allowed");
    }
}
