//! Policies from outside coflash: a scenario names their code, and a run binds it.

use crate::Save;
use crate::misfit::Misfit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

/// A policy whose code is not part of coflash. `F` creates it.
///
/// A scenario says which code it is, so that a result does; [`bind`](Self::bind) provides the code itself, which is no
/// part of the scenario.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, bound = "")]
#[schemars(bound = "", rename = "External")]
pub struct ExternalConfig<F: ?Sized> {
    /// The name of the code: of a Python class, `module:Class`.
    pub code: String,
    /// The digest of its source, which makes it a part of the scenario's hash. A run fills it in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The parameters of the policy: keyword arguments of the class.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    #[serde(skip)]
    make: Option<Arc<F>>,
}

impl<F: ?Sized> ExternalConfig<F> {
    /// Name code and provide it.
    #[must_use]
    pub fn new(code: &str, make: Arc<F>) -> Self {
        Self { code: code.to_owned(), make: Some(make), ..Self::default() }
    }

    /// Provide the code that creates the policy.
    pub fn bind(&mut self, make: Arc<F>) {
        self.make = Some(make);
    }

    /// Check that the code is there.
    ///
    /// # Errors
    /// The scenario names no code, or it was not bound.
    pub fn check(&self) -> Result<(), Misfit> {
        let problem = match &self.make {
            Some(_) => return Ok(()),
            None if self.code.is_empty() => {
                "it must be given: \"module:Class\" for a class of Python".to_owned()
            }
            None => format!("\"{}\" was given; code from outside runs where coflash.run finds it", self.code),
        };
        Err(Misfit::new("code", problem))
    }

    /// The code that creates the policy. Panics if it was not bound: [`check`](Self::check) tells that before.
    #[must_use]
    pub fn make(&self) -> &F {
        self.make.as_deref().unwrap_or_else(|| panic!("the code of {self:?} was not bound"))
    }
}

/// A policy from outside, until it fails: then it is not asked again.
pub struct Asked<P: ?Sized> {
    policy: Box<P>,
    has_failed: bool,
}

impl<P: ?Sized> Asked<P> {
    /// Ask this policy.
    #[must_use]
    pub fn new(policy: Box<P>) -> Self {
        Self { policy, has_failed: false }
    }

    /// Ask for a decision (`None` if the policy fails) and check it. A problem goes to `refuse`, and counts
    /// as a failure. `None` if the policy has failed, now or before.
    #[inline]
    pub fn ask<A, T>(
        &mut self,
        ask: impl FnOnce(&mut P) -> Option<A>,
        check: impl FnOnce(A) -> Result<T, String>,
        refuse: impl FnOnce(&mut P, &str),
    ) -> Option<T> {
        if self.has_failed {
            return None;
        }
        let decision = match ask(&mut self.policy).map(check) {
            Some(Ok(decision)) => Some(decision),
            Some(Err(problem)) => {
                refuse(&mut self.policy, &problem);
                None
            }
            None => None,
        };
        self.has_failed = decision.is_none();
        decision
    }

    /// Tell the policy something.
    #[inline]
    pub fn tell(&mut self, tell: impl FnOnce(&mut P)) {
        if !self.has_failed {
            tell(&mut self.policy);
        }
    }
}

/// Only the code itself knows its state.
impl<P: ?Sized> Save for Asked<P> {
    fn save(&self, _: &mut dyn io::Write) -> io::Result<()> {
        Err(io::Error::other("a policy from outside has state that no file can hold"))
    }

    fn restore(&mut self, _: &mut dyn io::Read) -> io::Result<()> {
        unreachable!("it is never saved")
    }
}

impl<P: ?Sized> Clone for Asked<P>
where
    Box<P>: Clone,
{
    fn clone(&self) -> Self {
        Self { policy: self.policy.clone(), has_failed: self.has_failed }
    }
}

impl<F: ?Sized> Clone for ExternalConfig<F> {
    fn clone(&self) -> Self {
        let Self { code, digest, parameters, make } = self;
        Self {
            code: code.clone(),
            digest: digest.clone(),
            parameters: parameters.clone(),
            make: make.clone(),
        }
    }
}

impl<F: ?Sized> Default for ExternalConfig<F> {
    fn default() -> Self {
        Self { code: String::new(), digest: String::new(), parameters: BTreeMap::new(), make: None }
    }
}

/// Equal names are equal code: a digest tells versions apart.
impl<F: ?Sized> PartialEq for ExternalConfig<F> {
    fn eq(&self, other: &Self) -> bool {
        (&self.code, &self.digest, &self.parameters) == (&other.code, &other.digest, &other.parameters)
    }
}

impl<F: ?Sized> fmt::Debug for ExternalConfig<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "external {:?}", self.code)
    }
}
