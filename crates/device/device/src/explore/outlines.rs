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

/// The failures of a run: one of those with the same outline, and the same fewest requests up to their places.
#[derive(Default)]
pub(crate) struct Alike {
    kinds: Vec<(String, String, Failed)>,
    /// The failures of each outline: those that are shrunk, and the others.
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

    /// Add a failure that is shrunk.
    pub(crate) fn add(&mut self, outline: String, mut failed: Failed) {
        let shape = failed.shape();
        match self.kinds.iter_mut().find(|kind| (&kind.0, &kind.1) == (&outline, &shape)) {
            Some((.., first)) => {
                failed.count += first.count;
                if failed.state < first.state {
                    std::mem::swap(first, &mut failed);
                }
                first.count = first.count.max(failed.count);
                // A folder that cannot be removed is one more to look at.
                let _ = fs::remove_dir_all(&failed.folder);
            }
            None => self.kinds.push((outline, shape, failed)),
        }
    }

    /// One of each kind. Failures that were not shrunk count to the first one with their outline.
    pub(crate) fn failures(mut self) -> impl Iterator<Item = Failed> {
        self.kinds.sort_by_key(|(.., failed)| failed.state);
        for (outline, (_, count)) in self.counts {
            self.kinds
                .iter_mut()
                .find(|kind| kind.0 == outline)
                .into_iter()
                .for_each(|kind| kind.2.count += count);
        }
        self.kinds.into_iter().map(|(.., failed)| failed.with_story())
    }
}
