//! The host's cache and the device together: whatever is delayed, batched or overtaken, no page is lost.

mod same;
mod states;
mod storms;
mod support;
