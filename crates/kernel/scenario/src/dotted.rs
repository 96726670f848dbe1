//! Values of a table of TOML by their dotted keys.

use coflash_base::Misfit;
use toml::{Table, Value};

/// The table that holds a key, and the last part of the key.
pub(crate) fn holder<'a, 'k>(root: &'a mut Table, key: &'k str) -> Option<(&'a mut Table, &'k str)> {
    let (above, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut parts = above.split('.').filter(|part| !part.is_empty());
    Some((parts.try_fold(root, |table, part| table.get_mut(part)?.as_table_mut())?, last))
}

/// Remove a key, and return its value.
pub(crate) fn take(root: &mut Table, key: &str) -> Option<Value> {
    let (table, last) = holder(root, key)?;
    table.remove(last)
}

/// Give a key a value. A choice that is named alone takes parameters, and its name may be given without them.
///
/// # Errors
/// No key, or one below a value.
pub(crate) fn assign(root: &mut Table, key: &str, value: Value) -> Result<(), Misfit> {
    let mut keys: Vec<&str> = key.split('.').collect();
    let last = keys
        .pop()
        .filter(|last| !last.is_empty())
        .ok_or_else(|| Misfit::whole(format!("\"{key}\" was given; a key such as cache.size is allowed")))?;
    let mut table = &mut *root;
    for part in keys {
        let entry = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
        // A policy may be given by its bare name: `cooperation = "cdm"`, then `cooperation.removable_weight`.
        if let Value::String(name) = entry {
            let name = std::mem::take(name);
            *entry = Value::Table(Table::from_iter([("name".to_owned(), Value::String(name))]));
        }
        table = entry
            .as_table_mut()
            .ok_or_else(|| Misfit::new(key, format!("\"{part}\" is a value and has no keys")))?;
    }
    // A policy is named alone, too: `cooperation=cdm` is `cooperation.name=cdm`.
    let is_policy = |entry: Option<&Value>| entry.is_some_and(|policy| policy.get("name").is_some());
    if value.is_str() && is_policy(table.get(last)) {
        return assign(root, &format!("{key}.name"), value);
    }
    // The parameters of the previous policy do not apply to the new one.
    if last == "name"
        && table.get("name").is_some_and(|before| *before != value)
        && table.get("seed").is_none()
    {
        table.clear();
    }
    table.insert(last.to_owned(), value);
    Ok(())
}
