//! The firmware as a whole: what a page's path through cache and FTL does to data, flash, counters and time.

mod consistent_states;
mod consistent_storms;
mod media;
mod oracle;
mod shadow_states;
mod sole_copies;
mod states;
mod statistics;
mod support;
mod timing;
