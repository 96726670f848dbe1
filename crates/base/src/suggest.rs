//! Errors that name the nearest match.

/// The entry of `allowed` nearest to `given`, if one is near enough to be meant.
#[must_use]
pub fn nearest<'a>(given: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    allowed
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&given, &name.to_lowercase()), name))
        .filter(|&(distance, name)| distance <= (name.len().max(given.len()) / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// `; did you mean X?` or nothing, then what is allowed: the end of every "unknown name" error.
#[must_use]
pub fn hint(given: &str, allowed: &[&str]) -> String {
    let meant = nearest(given, allowed.iter().copied()).map(|name| format!("; did you mean \"{name}\"?"));
    format!("{} (allowed: {})", meant.unwrap_or_default(), allowed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_nonsense_finds_none() {
        let allowed = ["greedy", "random", "fifo", "d-choices"];
        assert_eq!(nearest("gredy", allowed), Some("greedy"));
        assert_eq!(nearest("FIFO", allowed), Some("fifo"));
        assert_eq!(nearest("zebra-crossing", allowed), None);
        assert_eq!(hint("fifi", &["fifo", "lru"]), "; did you mean \"fifo\"? (allowed: fifo, lru)");
    }
}
