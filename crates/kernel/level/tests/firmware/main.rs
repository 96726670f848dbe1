//! Whole stacks of levels: the effect of a page's path through caches, link and FTL on data, flash, counters
//! and time.

#[path = "../support/mod.rs"]
mod support;

mod blocks;
mod consistent_states;
mod failures;
mod host_buffer;
mod lagging_states;
mod link;
mod media;
mod metadata;
mod noted;
mod restart;
mod same_as_in_device;
mod shadow_states;
mod sole_copies;
mod states;
mod statistics;
mod storms;
mod timing;
