//! Keys with an earlier spelling, which is read until version 0.4 and told.

use crate::dotted::{assign, holder, take};
use crate::scenario::Scenario;
use coflash_base::read::without_nulls;
use serde_json::Value as Json;
use toml::{Table, Value};

/// The earlier key, the key that took its place, and for a parameter of a choice the names that take it.
const RENAMED: &[(&str, &str, &[&str])] = &[
    ("ftl.placement.copies", "ftl.placement.isolation.copies", &["persistently"]),
    ("ftl.wear_gap", "ftl.wear_levelling.gap", &["static"]),
    ("gc.background_mark", "gc.mode.mark", &["background", "lazy"]),
    ("gc.lazy_valid", "gc.mode.valid", &["lazy"]),
    ("gc.steps_max", "gc.mode.steps_max", &["preemptive"]),
    ("hybrid.disks.stripe", "hybrid.disks.placement.stripe", &["striped"]),
    ("host.answer_time", "host.protecting.answer_time", &["request"]),
    ("host.batch_max", "host.notices.max", &["batched"]),
    ("host.batch_wait", "host.notices.wait", &["batched"]),
    ("host.grants", "host.protecting.share", &["grants"]),
    ("host.piggyback_max", "host.notices.bytes_max", &["piggybacked"]),
    ("timing.overtaken_max", "timing.read_priority.overtaken_max", &["overtake", "suspend"]),
    ("timing.suspend_overhead", "timing.read_priority.overhead", &["suspend"]),
];

/// Move the values of earlier keys to those that took their place. Returns a sentence for each.
pub(crate) fn renew(table: &mut Table) -> Vec<String> {
    let mut sentences = Vec::new();
    // Either the buffer or a cache in the host is above the link, and only the notices of that one act.
    if let Some(notices) = take(table, "host_buffer.notices") {
        let above_a_cache = chosen(table, "cache.placement") == "host";
        let host = table.entry("host").or_insert_with(|| Value::Table(Table::new()));
        if let Some(host) = host.as_table_mut().filter(|_| !above_a_cache) {
            host.insert("notices".to_owned(), notices);
        }
        sentences.push("host_buffer.notices is an earlier spelling of host.notices.".to_owned());
    }
    for (earlier, key, names) in RENAMED {
        let Some(value) = take(table, earlier) else { continue };
        let (choice, _) = key.rsplit_once('.').expect("a parameter of a choice");
        let chosen = chosen(table, choice);
        if names.contains(&chosen.as_str()) {
            // What is no choice is refused when it is read.
            let named = assign(table, &format!("{choice}.name"), Value::String(chosen));
            let _ = named.and_then(|()| assign(table, key, value));
            sentences.push(format!("{earlier} is an earlier spelling, and was read as {key}."));
        } else {
            let names = names.join(" or ");
            sentences.push(format!(
                "{earlier} is an earlier spelling of {key}, and was left out: only {choice} = {names} takes it."
            ));
        }
    }
    sentences
}

/// The name that is chosen, or the one by default.
fn chosen(table: &mut Table, choice: &str) -> String {
    let given = holder(table, choice).and_then(|(table, last)| match table.get(last)? {
        Value::String(name) => Some(name.clone()),
        other => Some(other.get("name")?.as_str()?.to_owned()),
    });
    given.unwrap_or_else(|| {
        let default = without_nulls(&Scenario { hybrid: Some(Default::default()), ..Scenario::default() });
        let name = default.pointer(&format!("/{}/name", choice.replace('.', "/")));
        name.and_then(Json::as_str).unwrap_or_default().to_owned()
    })
}
