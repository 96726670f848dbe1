//! `cdm-consistent` under power cuts: before and after every store, in the middle of every program and erase, with the
//! stores since the last fence made durable in every way that the rules allow. After recovery every page reads back as of
//! the last completed commit, or, for a commit under way, all of it or none of it; and the device works on.

mod exhaustive;
mod media;
mod oracle;
mod setup;
mod storms;
mod volatile;
mod words;
