//! Stacks of levels small enough to reason about, and how tests act on them. Shared by all tests of this crate.

#![allow(dead_code, unused_imports, reason = "every test target has a use for another part of it")]

mod checked;
mod media;
mod rig;
mod setup;
mod stack;

pub(crate) use checked::{Checked, Operation, PAGE_BYTES, Page, content, part};
pub(crate) use media::{Bytes, Call, Tap, Tapped, Then};
pub(crate) use rig::{Moments, PastCache, Rig};
pub(crate) use setup::{Setup, pick, spare};
pub(crate) use stack::{Device, Look, Stack, device_of};

use coflash_base::Lpn;
use coflash_base::measure::Report;
use std::fmt::{Debug, Write};

/// Prints the failed case, so that it can be repeated.
pub(crate) struct Named<T: Debug>(pub(crate) T);

impl<T: Debug> Drop for Named<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was {:#?}", self.0);
        }
    }
}

/// Panics unless a check panics with this problem.
pub(crate) fn assert_refused(check: impl FnOnce(), problem: &str) {
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).expect_err(problem);
    let text =
        refused.downcast_ref::<String>().map(String::as_str).or(refused.downcast_ref::<&str>().copied());
    assert!(text.is_some_and(|text| text.contains(problem)), "{problem} is refused as {text:?}");
}

pub(crate) fn lpn(index: u32) -> Lpn {
    Lpn::new(index)
}

/// The page that stories are told of, pages that are overwritten to get on, and pages that help.
pub(crate) const X: Lpn = Lpn::new(0);
pub(crate) const FILLERS: [Lpn; 3] = [Lpn::new(1), Lpn::new(2), Lpn::new(3)];
pub(crate) const Y: Lpn = Lpn::new(4);
pub(crate) const Z: Lpn = Lpn::new(5);
pub(crate) const W: Lpn = Lpn::new(6);
pub(crate) const V: Lpn = Lpn::new(7);

/// The name of a page of a story.
pub(crate) fn name(page: Lpn) -> String {
    let named =
        [(X, "X"), (Y, "Y"), (Z, "Z"), (W, "W"), (V, "V")].into_iter().find(|(known, _)| *known == page);
    named.map_or_else(|| format!("{page:?}"), |(_, name)| name.to_owned())
}

/// Counters by name, and their paths in a report.
pub(crate) type Counters = [(&'static str, &'static str)];

/// The counters of a device.
pub(crate) const COUNTERS: &Counters = &[
    ("read_hits", "cache.read_hits"),
    ("read_misses", "cache.read_misses"),
    ("write_hits", "cache.write_hits"),
    ("write_misses", "cache.write_misses"),
    ("nvm_reads", "cache.nvm_reads_pages"),
    ("nvm_writes", "cache.nvm_writes_pages"),
    ("clean_evictions", "cache.clean_evictions_pages"),
    ("dirty_evictions", "cache.dirty_evictions_pages"),
    ("merged", "cache.merged_pages"),
    ("absorbed", "cache.absorbed_pages"),
    ("dropped", "cache.dropped_pages"),
    ("drop_rewrites", "drop_rewrites_pages"),
    ("flash_reads", "flash_reads_pages"),
    ("flash_merges", "flash_merges_pages"),
    ("drops", "gc_drops_pages"),
    ("erases", "erases_blocks"),
    ("host_programs", "programs_pages.host"),
    ("evict_programs", "programs_pages.evict"),
    ("gc_programs", "programs_pages.gc"),
    ("refresh_programs", "programs_pages.refresh"),
    ("metadata_programs", "programs_pages.metadata"),
    ("commits", "consistency.commits"),
    ("early_commits", "consistency.early_commits"),
    ("checkpoints", "consistency.checkpoints_pages"),
    ("copies_on_write", "consistency.copies_on_write_pages"),
];

/// Which counters have risen, and by how much.
pub(crate) fn risen(counters: &Counters, before: &Report, after: &Report) -> String {
    let mut text = String::new();
    for (name, path) in counters {
        match after.count(path) - before.count(path) {
            0 => {}
            1 => write!(text, " {name}").unwrap(),
            times => write!(text, " {name}*{times}").unwrap(),
        }
    }
    text.trim_start().to_owned()
}
