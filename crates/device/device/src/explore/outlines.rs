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

/// Which failures are shrunk, at most `most`: the first one of each outline, then the first others.
pub(crate) fn chosen(outlines: &[String], most: usize) -> Vec<usize> {
    let mut seen = BTreeMap::<&str, usize>::new();
    let mut order: Vec<_> = (0..outlines.len()).collect();
    order.sort_by_cached_key(|&at| {
        let before = seen.entry(&outlines[at]).or_default();
        *before += 1;
        (*before > 1, at)
    });
    order.truncate(most);
    order.sort_unstable();
    order
}

/// Join shrunk failures that are alike, each given with its place in `outlines`: the same outline, and the same fewest requests up to
/// their places. Failures that were not shrunk count to the first one with their outline.
pub(crate) fn joined(mut shrunk: Vec<(usize, Failed)>, outlines: &[String]) -> Vec<Failed> {
    shrunk.sort_by_key(|&(at, _)| at);
    let mut rest: Vec<usize> = (0..outlines.len()).collect();
    let mut kinds: Vec<(&str, String, Failed)> = Vec::new();
    for (at, failed) in shrunk {
        rest.retain(|&other| other != at);
        let (outline, shape) = (outlines[at].as_str(), failed.shape());
        match kinds.iter_mut().find(|kind| (kind.0, &kind.1) == (outline, &shape)) {
            Some((.., first)) => {
                first.count += 1;
                // A folder that cannot be removed is one more to look at.
                let _ = fs::remove_dir_all(&failed.folder);
            }
            None => kinds.push((outline, shape, failed)),
        }
    }
    for at in rest {
        kinds.iter_mut().find(|kind| kind.0 == outlines[at]).into_iter().for_each(|kind| kind.2.count += 1);
    }
    kinds.into_iter().map(|(.., failed)| failed.with_story()).collect()
}
