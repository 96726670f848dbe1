//! Changes of single keys of a scenario: `gc.victim=fifo`, `cache.size=64MiB`.

use crate::dotted::{assign, take};
use crate::read::ScenarioError;
use crate::scenario::Scenario;
use crate::workload::Requests;
use coflash_base::read::read_table;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

impl Scenario {
    /// Replace the values of dotted keys, all at once. A value is parsed as TOML if it is valid TOML (`3`, `true`, `["a"]`), and
    /// taken as text otherwise (`64MiB`, `greedy`); without a value a key has its default. A workload of another kind takes the
    /// place of the one that is there.
    ///
    /// # Errors
    /// An invalid key or value.
    pub fn set<K: AsRef<str>, V: AsRef<str>>(&self, assignments: &[(K, V)]) -> Result<Self, ScenarioError> {
        let mut table = self.to_table();
        let (given, unset): (Vec<_>, Vec<_>) = assignments
            .iter()
            .map(|(key, value)| (key.as_ref(), value.as_ref()))
            .partition(|(_, value)| !value.is_empty());
        // An empty list is no workload.
        let full = given.iter().filter(|(_, value)| parse_value(value) != Value::Array(Vec::new()));
        let kinds = full.filter_map(|(key, _)| kind_of_workload(key)).collect::<Vec<_>>();
        let workload = table.get_mut("workload").and_then(Value::as_table_mut);
        if let Some(workload) = workload.filter(|_| !kinds.is_empty()) {
            workload.retain(|key, _| kinds.contains(&key) || !Requests::KEYS.contains(&key));
        }
        for (key, value) in given {
            assign(&mut table, key, parse_value(value))?;
        }
        for (key, _) in unset {
            remove(&mut table, key)?;
        }
        let is_set = |name: &str| {
            assignments.iter().any(|(key, value)| key.as_ref() == name && !value.as_ref().is_empty())
        };
        forget_what_follows(&mut table, is_set("flash.exported"), is_set("flash.blocks_per_plane"));
        Self::from_table(table).map_err(|error| {
            let mut keys = Vec::new();
            add_keys(&self.to_table(), "", &mut keys);
            error.or_longer(&keys)
        })
    }

    pub(crate) fn to_table(&self) -> Table {
        Table::try_from(self.to_json()).expect("a scenario is plain data")
    }
}

/// Read settings outside a scenario (options of a trace and its tools) in the syntax of a scenario.
///
/// # Errors
/// An invalid key or value.
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

/// Forget the number of blocks, which follows from the exported capacity; or the capacity, if only the blocks were set.
fn forget_what_follows(root: &mut Table, exported_set: bool, blocks_set: bool) {
    let Some(flash) = root.get_mut("flash").and_then(Value::as_table_mut) else { return };
    if blocks_set && !exported_set {
        flash.remove("exported");
    } else if !blocks_set && flash.contains_key("exported") {
        flash.remove("blocks_per_plane");
    }
}

/// Add the dotted keys of a table, and of those in it.
fn add_keys(table: &Table, above: &str, keys: &mut Vec<String>) {
    for (key, value) in table {
        keys.push(format!("{above}{key}"));
        if let Value::Table(inner) = value {
            add_keys(inner, &format!("{above}{key}."), keys);
        }
    }
}

/// The kind of workload that a key belongs to.
fn kind_of_workload(key: &str) -> Option<&str> {
    let name = key.strip_prefix("workload.")?.split('.').next()?;
    Requests::KEYS.contains(&name).then_some(name)
}

/// Remove a key, so that it has its default; one that is not there is read with a value, to tell whether there is such a key.
fn remove(root: &mut Table, key: &str) -> Result<(), ScenarioError> {
    if take(root, key).is_none() {
        let mut probe = root.clone();
        assign(&mut probe, key, Value::Boolean(false))?;
        read_table::<Scenario>(probe)
            .map(drop)
            .or_else(|error| if error.is_unknown_key() { Err(error) } else { Ok(()) })?;
    }
    Ok(())
}

fn parse_value(text: &str) -> Value {
    format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| if table.len() == 1 { table.remove("value") } else { None })
        .unwrap_or_else(|| Value::String(text.to_owned()))
}
