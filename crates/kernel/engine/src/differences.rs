//! What a file of state was made for, beside what is wanted of it.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The number of keys that fit into a line.
const SHOWN: usize = 4;

/// The differing keys and their values, as text; `told` says in other words what the keys of some mean.
pub(crate) fn differences(
    there: &BTreeMap<String, Value>,
    wanted: &BTreeMap<String, Value>,
    told: impl Fn(&str) -> Option<&'static str>,
) -> String {
    let show = |value: Option<&Value>| value.map_or_else(|| "not given".to_owned(), Value::to_string);
    let keys: BTreeSet<_> = there.keys().chain(wanted.keys()).collect();
    let mut found: Vec<_> = keys
        .into_iter()
        .map(|key| (key, there.get(key), wanted.get(key)))
        .filter(|(_, there, wanted)| there != wanted)
        .map(|(key, there, wanted)| match told(key) {
            Some(words) => words.to_owned(),
            None => format!("{key} is {} in it and {} in the scenario", show(there), show(wanted)),
        })
        .collect();
    found.dedup();
    if found.len() > SHOWN {
        let more = found.len() - SHOWN;
        found.truncate(SHOWN);
        found.push(format!("and {more} more differences"));
    }
    found.join("; ")
}
