//! Failures that are alike: one of each kind is told, with the number of all of them.

use super::failure::Failed;
use std::collections::BTreeMap;
use std::fs;

/// What a check wrote, without names and numbers, which differ from state to state: words with a digit, a slash or a quote.
pub(crate) fn outline(output: &str) -> String {
    let is_name = |word: &str| word.contains(|c: char| c.is_ascii_digit() || "/'\"`".contains(c));
    let of_line = |line: &str| {
        let mut words: Vec<_> =
            line.split_whitespace().map(|word| if is_name(word) { "…" } else { word }).collect();
        words.dedup();
        words.join(" ")
    };
    let mut lines: Vec<_> = output.lines().map(of_line).collect();
    lines.dedup();
    lines.join("\n")
}

/// The most failed states of a run that are shrunk, and have a kept device; and of one outline.
const KEPT_MAX: usize = 10;
const KEPT_EACH_MAX: usize = 4;

/// The failures of a run.
#[derive(Default)]
pub(crate) struct Alike {
    /// Those that are shrunk, with their outlines.
    pub(crate) shrunk: Vec<(String, Failed)>,
    /// The failures of each outline: those that are to be shrunk, and the others.
    counts: BTreeMap<String, (usize, usize)>,
}

impl Alike {
    /// Whether one more failure with an outline is to be shrunk.
    pub(crate) fn wants(&mut self, outline: &str) -> bool {
        let all: usize = self.counts.values().map(|(shrunk, _)| shrunk).sum();
        let (shrunk, others) = self.counts.entry(outline.to_owned()).or_default();
        let wants = all < KEPT_MAX && *shrunk < KEPT_EACH_MAX;
        *(if wants { shrunk } else { others }) += 1;
        wants
    }

    /// Add one that was found before, and perhaps shrunk.
    pub(crate) fn add(&mut self, outline: String, failed: Option<Failed>) {
        let (shrunk, others) = self.counts.entry(outline.clone()).or_default();
        *(if failed.is_some() { shrunk } else { others }) += 1;
        self.shrunk.extend(failed.map(|failed| (outline, failed)));
    }

    /// One of those with the same outline, and the same fewest requests up to their places; the folders of the others go. Failures
    /// that were not shrunk count to the first one with their outline.
    pub(crate) fn failures(mut self) -> impl Iterator<Item = Failed> {
        self.shrunk.sort_by_key(|(_, failed)| failed.state);
        let mut kinds: Vec<(String, Failed)> = Vec::new();
        for (outline, failed) in self.shrunk {
            let is_alike =
                |(of, first): &&mut (String, Failed)| *of == outline && first.shape() == failed.shape();
            let Some((_, first)) = kinds.iter_mut().find(is_alike) else {
                kinds.push((outline, failed));
                continue;
            };
            first.count += failed.count;
            // One that cannot be removed is one more to look at.
            let _ = fs::remove_dir_all(&failed.folder);
        }
        for (outline, (_, others)) in self.counts {
            let first = kinds.iter_mut().find(|(of, _)| *of == outline);
            first.into_iter().for_each(|(_, failed)| failed.count += others);
        }
        kinds.into_iter().map(|(_, failed)| Failed { story: failed.words(), ..failed })
    }
}
