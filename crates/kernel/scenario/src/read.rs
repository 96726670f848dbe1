//! The reader of scenarios. Errors name the full key, the given and the allowed value, and the nearest match.

use crate::policies::policies;
use crate::scenario::Scenario;
use crate::workload::Requests;
use coflash_base::{Misfit, suggest};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use toml::{Table, Value};

const NO_SUCH_KEY: &str = "no such key";

/// An error in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The keys from the outside in.
    path: Vec<String>,
    problem: String,
}

impl ScenarioError {
    /// Create the error of the value at a dotted key.
    #[must_use]
    pub fn new(key: &str, problem: String) -> Self {
        Self { path: key.split('.').map(str::to_owned).collect(), problem }
    }

    /// Create an error of the whole scenario.
    #[must_use]
    pub fn whole(problem: String) -> Self {
        Self { path: Vec::new(), problem }
    }

    pub(crate) fn is_unknown_key(&self) -> bool {
        self.problem.starts_with(NO_SUCH_KEY)
    }

    /// The same error; of a key that does not exist it names those that end in it.
    pub(crate) fn or_longer(mut self, keys: &[String]) -> Self {
        let end = format!(".{}", self.path.join("."));
        let longer: Vec<_> = keys.iter().filter(|key| key.ends_with(&end)).map(String::as_str).collect();
        if self.is_unknown_key() && !longer.is_empty() {
            self.problem = format!("{NO_SUCH_KEY}; did you mean {}?", longer.join(" or "));
        }
        self
    }

    fn inside(mut self, key: &str) -> Self {
        self.path.insert(0, key.to_owned());
        self
    }
}

impl From<Misfit> for ScenarioError {
    fn from(Misfit { key, problem }: Misfit) -> Self {
        Self::new(&key, problem)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "{}: {}", self.path.join("."), self.problem)
        }
    }
}

impl std::error::Error for ScenarioError {}

impl de::Error for ScenarioError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::whole(problem.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(field, format!("{NO_SUCH_KEY}{}", suggest::hint(field, expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        // A policy of another family: name that family.
        let other = policies().into_iter().find(|(_, _, members)| {
            members.iter().any(|known| known.name == variant)
                && !members.iter().any(|known| expected.contains(&known.name))
        });
        let elsewhere = other.map(|(key, ..)| format!(": it is one of {key}")).unwrap_or_default();
        Self::whole(format!("\"{variant}\" is not known{elsewhere}{}", suggest::hint(variant, expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(field, "it must be given".to_owned())
    }

    fn invalid_type(given: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_value(given, expected)
    }

    fn invalid_value(given: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let is_negative = matches!(given, de::Unexpected::Signed(value) if value < 0);
        let is_number = matches!(given, de::Unexpected::Signed(_) | de::Unexpected::Float(_));
        let given = match given {
            de::Unexpected::Str(text) => format!("\"{text}\""),
            de::Unexpected::Bool(value) => value.to_string(),
            de::Unexpected::Signed(value) => value.to_string(),
            de::Unexpected::Unsigned(value) => value.to_string(),
            de::Unexpected::Float(value) => value.to_string(),
            de::Unexpected::Seq => "a list".to_owned(),
            de::Unexpected::Map => "a table".to_owned(),
            other => other.to_string(),
        };
        // Serde uses the names of Rust types; TOML's integers are limited to i64.
        let expected = match expected.to_string().as_str() {
            "u32" => format!("a whole number from 0 to {}", u32::MAX),
            "u64" => format!("a whole number from 0 to {}", i64::MAX),
            "a nonzero u16" => format!("a whole number from 1 to {}", u16::MAX),
            "a nonzero u32" => format!("a whole number from 1 to {}", u32::MAX),
            "f64" => "a number".to_owned(),
            "a string" => "a text".to_owned(),
            "a boolean" => "true or false".to_owned(),
            "a sequence" => "a list".to_owned(),
            other => match other.strip_prefix("struct ") {
                Some(_) => "a table".to_owned(),
                None => other.to_owned(),
            },
        };
        // A number where a text with a unit is expected.
        let why = match () {
            () if is_negative => ": it is negative",
            () if is_number && expected.contains("such as \"") && !expected.contains("number") => {
                ": its unit is missing"
            }
            () => "",
        };
        Self::whole(format!("{given} was given{why}; {expected} is allowed"))
    }
}

impl Scenario {
    /// Read and check a scenario.
    ///
    /// # Errors
    /// A syntax error with its line, or an invalid value with its key.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        Self::from_table(parse(text)?)
    }

    /// Read the scenario of a run. Until version 0.2 a workload beside a trace or a job file was written down with it, and did not
    /// run.
    ///
    /// # Errors
    /// See [`from_toml`](Self::from_toml).
    pub fn of_run(text: &str) -> Result<Self, ScenarioError> {
        let mut table = parse(text)?;
        if let Some(workload) = table.get_mut("workload").and_then(Value::as_table_mut) {
            let ran = ["trace", "fio"].into_iter().find(|key| {
                workload.get(*key).is_some_and(|value| value.as_array().is_none_or(|files| !files.is_empty()))
            });
            workload.retain(|key, _| ran.is_none_or(|ran| key == ran || !Requests::KEYS.contains(&key)));
        }
        Self::from_table(table)
    }

    pub(crate) fn from_table(table: Table) -> Result<Self, ScenarioError> {
        let blocks_given = table.get("flash").and_then(|flash| flash.get("blocks_per_plane")).is_some();
        let mut scenario: Self = read_table(table)?;
        if let Some(blocks) = scenario.ftl.blocks_per_plane(&scenario.flash) {
            let given = std::mem::replace(&mut scenario.flash.blocks_per_plane, blocks);
            if blocks_given && given != blocks {
                let problem = format!(
                    "{given} was given; {blocks} follows from flash.exported and ftl.spare: leave out one of the keys"
                );
                return Err(ScenarioError::new("flash.blocks_per_plane", problem));
            }
        }
        scenario.check_parts()?;
        Ok(scenario)
    }
}

fn parse(text: &str) -> Result<Table, ScenarioError> {
    text.parse::<Table>().map_err(|error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        ScenarioError::whole(format!("{place}{}", error.message().replace('\n', "; ")))
    })
}

/// Deserialize a table; an error names its key.
pub(crate) fn read_table<T: DeserializeOwned>(table: Table) -> Result<T, ScenarioError> {
    T::deserialize(Node(Value::Table(table)))
}

/// A TOML value whose errors carry their key.
struct Node(Value);

impl<'de> IntoDeserializer<'de, ScenarioError> for Node {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl Node {
    fn unexpected(&self) -> de::Unexpected<'_> {
        match &self.0 {
            Value::String(value) => de::Unexpected::Str(value),
            Value::Integer(value) => de::Unexpected::Signed(*value),
            Value::Float(value) => de::Unexpected::Float(*value),
            Value::Boolean(value) => de::Unexpected::Bool(*value),
            Value::Datetime(_) => de::Unexpected::Other("a date"),
            Value::Array(_) => de::Unexpected::Seq,
            Value::Table(_) => de::Unexpected::Map,
        }
    }

    fn into_text(self) -> Result<String, Self> {
        match self.0 {
            Value::String(text) => Ok(text),
            other => Err(Self(other)),
        }
    }
}

impl<'de> Deserializer<'de> for Node {
    type Error = ScenarioError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        match self.0 {
            Value::String(value) => visitor.visit_string(value),
            Value::Integer(value) => visitor.visit_i64(value),
            // A document without a value for it would not be the same scenario.
            Value::Float(value) if !value.is_finite() => {
                Err(de::Error::invalid_value(de::Unexpected::Float(value), &"a finite number"))
            }
            Value::Float(value) => visitor.visit_f64(value),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Datetime(value) => visitor.visit_string(value.to_string()),
            Value::Array(items) => visitor.visit_seq(Items { items: items.into_iter(), next: 0 }),
            Value::Table(table) => visitor.visit_map(Entries { entries: table.into_iter(), value: None }),
        }
    }

    coflash_base::forward_scenario_value! { ScenarioError }
}

struct Entries {
    entries: toml::map::IntoIter<String, Value>,
    value: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = ScenarioError;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ScenarioError> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        let name: serde::de::value::StrDeserializer<'_, ScenarioError> = key.as_str().into_deserializer();
        let read = seed.deserialize(name)?;
        self.value = Some((key, value));
        Ok(Some(read))
    }

    fn next_value_seed<T: de::DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ScenarioError> {
        let (key, value) = self.value.take().expect("a key comes before its value");
        seed.deserialize(Node(value)).map_err(|error| error.inside(&key))
    }
}

struct Items {
    items: std::vec::IntoIter<Value>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = ScenarioError;

    fn next_element_seed<T: de::DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ScenarioError> {
        let Some(value) = self.items.next() else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        seed.deserialize(Node(value)).map(Some).map_err(|error| error.inside(&index.to_string()))
    }
}
