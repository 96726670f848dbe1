//! Traces from outside: what each format says, what whole traces are, what the tools write. One program, so that it is
//! linked once; `damage` is another, since it watches the memory of its process.

mod binary;
#[path = "../common/mod.rs"]
mod common;
mod formats;
mod text_formats;
mod tools;
mod traces;
