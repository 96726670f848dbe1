//! Invalid values of a scenario.

use std::fmt;

/// An invalid value in a scenario: its key, and the problem with the given and the allowed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The dotted key in the scenario.
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

    /// Create the error of a value outside of its range.
    #[must_use]
    pub fn out_of_range(key: &str, given: impl fmt::Display, allowed: &str) -> Self {
        Self::new(key, format!("{given} was given; {allowed} is allowed"))
    }

    /// Prefix the key with the table `key`.
    #[must_use]
    pub fn within(self, key: &str) -> Self {
        Self { key: format!("{key}.{}", self.key), ..self }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)
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
