//! Whole runs of scenarios. One program, so that it is linked once.

mod gc_modes;
mod host;
mod hybrid;
mod shadow;
mod warm;
