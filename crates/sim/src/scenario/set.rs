//! Changing single keys of a scenario: `gc.victim=fifo`, `cache.size=64MiB`.

use super::read::read_table;
use super::{Scenario, ScenarioError};
use serde::de::DeserializeOwned;
use toml::{Table, Value};

impl Scenario {
    /// The scenario with the values of dotted keys replaced, all at once. A value is read as TOML where it is one
    /// (`3`, `true`, `["a"]`) and as a text otherwise (`64MiB`, `greedy`).
    ///
    /// # Errors
    /// What is wrong with a key or value.
    pub fn set<K: AsRef<str>, V: AsRef<str>>(&self, assignments: &[(K, V)]) -> Result<Self, ScenarioError> {
        let mut table = Table::try_from(self).expect("a scenario is plain data");
        for (key, value) in assignments {
            assign(&mut table, key.as_ref(), parse_value(value.as_ref()))?;
        }
        Self::from_table(table)
    }
}

/// Settings that belong to no scenario (how to read a trace, what to do with it), written like those of one.
///
/// # Errors
/// What is wrong with a key or value.
pub fn settings<T, K, V>(assignments: &[(K, V)]) -> Result<T, ScenarioError>
where
    T: DeserializeOwned,
    K: AsRef<str>,
    V: AsRef<str>,
{
    let mut table = Table::new();
    for (key, value) in assignments {
        assign(&mut table, key.as_ref(), parse_value(value.as_ref()))?;
    }
    read_table(table)
}

fn parse_value(text: &str) -> Value {
    format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| if table.len() == 1 { table.remove("value") } else { None })
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

fn assign(root: &mut Table, key: &str, value: Value) -> Result<(), ScenarioError> {
    let mut keys: Vec<&str> = key.split('.').collect();
    let last = keys.pop().filter(|last| !last.is_empty()).ok_or_else(|| {
        ScenarioError::whole(format!("\"{key}\" was given; a key such as cache.size is allowed"))
    })?;
    let mut table = root;
    for part in keys {
        let entry = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
        // A policy may stand as its bare name: `cooperation = "cdm"`, then `cooperation.removable_weight`.
        if let Value::String(name) = entry {
            let name = std::mem::take(name);
            *entry = Value::Table(Table::from_iter([("name".to_owned(), Value::String(name))]));
        }
        table = entry
            .as_table_mut()
            .ok_or_else(|| ScenarioError::new(key, format!("\"{part}\" is a value and has no keys")))?;
    }
    // Another policy has other parameters.
    if last == "name"
        && table.get("name").is_some_and(|before| *before != value)
        && table.get("seed").is_none()
    {
        table.clear();
    }
    table.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(assignments: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
        Scenario::default().set(assignments)
    }

    #[test]
    fn values_are_typed_by_what_they_set() {
        let scenario = set(&[
            ("cache.size", "64MiB"),
            ("cooperation", "cdm"),
            ("cooperation.removable_weight", "0.5"),
            ("flash.channels", "4"),
            ("timing.copy_back", "false"),
            ("gc.victim.name", "d-choices"),
            ("gc.victim.d", "2"),
            ("gc.low_mark", "3"),
            ("name", "three"),
            ("ftl.shared_streams", "[[\"host\", \"gc\"]]"),
            ("ftl.spare.share", "0.07"),
        ])
        .unwrap();
        assert_eq!(scenario.flash.channels, 4);
        assert!(!scenario.timing.copy_back);
        assert_eq!(scenario.name, "three");
        assert_eq!(scenario.cooperation.name(), "cdm");
        assert_eq!(scenario.gc.victim.name(), "d-choices");
        assert_eq!(scenario.ftl.spare.share, coflash_base::Share::percent(7));
    }

    #[test]
    fn settings_of_their_own_are_written_alike() {
        use coflash_workload::TraceOptions;
        let read = |pairs: &[(&str, &str)]| settings::<TraceOptions, _, _>(pairs).map_err(|e| e.to_string());
        let options = read(&[("units.size", "4KiB"), ("event", "C"), ("on_error", "skip")]).unwrap();
        assert_eq!(options.units.size, Some(coflash_base::Bytes { count: 4096 }));
        assert_eq!(read(&[]), Ok(TraceOptions::default()));
        let error = read(&[("units.sice", "4KiB")]).unwrap_err();
        assert_eq!(error, "units.sice: no such key; did you mean \"size\"? (allowed: time, address, size)");
        assert!(read(&[("merge", "tim")]).unwrap_err().contains("did you mean \"time\"?"));
    }

    #[test]
    fn a_key_that_is_not_there_is_named_with_its_nearest() {
        let error = |key, value| set(&[(key, value)]).unwrap_err().to_string();
        assert!(
            error("cach.size", "1MiB").contains("did you mean \"cache\"?"),
            "{}",
            error("cach.size", "1MiB")
        );
        assert!(error("seed.x", "1").contains("has no keys"), "{}", error("seed.x", "1"));
        assert!(error("", "1").contains("a key such as"), "{}", error("", "1"));
        assert!(
            error("gc.victim.d", "2").starts_with("gc.victim.d: no such key"),
            "{}",
            error("gc.victim.d", "2")
        );
    }
}
