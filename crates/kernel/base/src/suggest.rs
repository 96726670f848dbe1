//! Suggestions for unknown names.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The minimum length of a prefix.
const BEGINNING_MIN: usize = 3;

/// The entry of `allowed` nearest to `given`, if it is similar enough; otherwise the first with the prefix `given`, or the first
/// that abbreviates it.
#[must_use]
pub fn nearest<'a>(given: &str, allowed: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let given = given.to_lowercase();
    let letters = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let beginning = letters(&given);
    let begun = || {
        let mut names = allowed.clone().into_iter();
        names.find(|name| beginning.len() >= BEGINNING_MIN && letters(name).starts_with(&beginning))
    };
    allowed
        .clone()
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&given, &name.to_lowercase()), name))
        .filter(|&(distance, name)| distance <= (name.len().max(given.len()) / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
        .or_else(begun)
        .or_else(|| allowed.clone().into_iter().find(|name| abbreviates(&letters(name), &beginning)))
}

/// Whether the letters of a name are among those given, in order, and begin both: `sgc` abbreviates `shadowgc`.
fn abbreviates(name: &str, given: &str) -> bool {
    let mut rest = given.chars();
    let begins = name.chars().next() == given.chars().next();
    begins && name.len() >= BEGINNING_MIN && name.chars().all(|letter| rest.any(|other| other == letter))
}

/// The end of an "unknown name" error: `; did you mean X?` if there is a match, and the allowed names.
#[must_use]
pub fn hint(given: &str, allowed: &[&str]) -> String {
    if allowed.is_empty() {
        return " (none is allowed)".to_owned();
    }
    let meant = nearest(given, allowed.iter().copied()).map(|name| format!("; did you mean \"{name}\"?"));
    format!("{} (allowed: {})", meant.unwrap_or_default(), allowed.join(", "))
}

/// The reason why a file cannot be read, and what may be meant: of a folder its largest file.
#[must_use]
pub fn unread(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("no such file{}", near_file(path)),
        ErrorKind::IsADirectory => {
            let file = |name: &String| path.join(name).metadata().ok().filter(Metadata::is_file);
            match names_in(path).into_iter().max_by_key(|name| file(name).map(|file| file.len())) {
                Some(name) => format!("is a folder; give a file, such as {}", path.join(name).display()),
                None => "is an empty folder; give a file".to_owned(),
            }
        }
        ErrorKind::PermissionDenied => "permission to read it is denied".to_owned(),
        ErrorKind::InvalidData => "is no text in UTF-8".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable(); // a folder has no order, and the first one is named
    names
}

/// The end of an error of a file that is not there: `; did you mean X?` if its folder holds a similar name.
fn near_file(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = names_in(folder);
    let given = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let of_stem = names.iter().find(|name| Path::new(name).file_stem() == path.file_name());
    let near = of_stem.map(String::as_str).or_else(|| nearest(given, names.iter().map(String::as_str)));
    near.map(|name| format!("; did you mean {}?", path.with_file_name(name).display())).unwrap_or_default()
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
        assert_eq!(nearest("op-fcl", ["demo", "opfcl-config1", "opfcl-config2"]), Some("opfcl-config1"));
        assert_eq!(nearest("rand", allowed), Some("random"));
        assert_eq!(nearest("r", allowed), None);
        assert_eq!(nearest("ShadowGC", ["ggc", "dgc", "sgc"]), Some("sgc"));
        assert_eq!(hint("fifi", &["fifo", "lru"]), "; did you mean \"fifo\"? (allowed: fifo, lru)");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_with_what_can() {
        let told = |path: &str| unread(Path::new(path), &std::fs::read_to_string(path).unwrap_err());
        assert_eq!(told("src/sugest.rs"), "no such file; did you mean src/suggest.rs?");
        assert_eq!(told("Cargo.tml"), "no such file; did you mean Cargo.toml?");
        assert_eq!(told("src/suggest"), "no such file; did you mean src/suggest.rs?");
        assert_eq!(told("src/zebra-crossing"), "no such file");
        assert_eq!(told("nowhere/suggest.rs"), "no such file");
        let folder = std::env::temp_dir().join(format!("coflash-suggest-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("aaa")).expect("a folder can be made");
        std::fs::write(folder.join("aaah.toml"), "").expect("a file can be written");
        let beside_a_folder = told(&folder.join("aaah").display().to_string());
        assert_eq!(
            beside_a_folder,
            format!("no such file; did you mean {}?", folder.join("aaah.toml").display())
        );
        std::fs::write(folder.join("README.txt"), "of traces").expect("a file can be written");
        std::fs::write(folder.join("vol.csv"), "0,W,0,4096\n1,W,0,4096\n").expect("a file can be written");
        let such = told(&folder.display().to_string());
        std::fs::remove_dir_all(&folder).expect("it can be removed");
        assert_eq!(such, format!("is a folder; give a file, such as {}", folder.join("vol.csv").display()));
    }
}
