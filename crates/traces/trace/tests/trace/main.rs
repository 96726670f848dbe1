//! Tests of formats, whole traces and tools. One program, to be linked once; `damage` is separate, since it measures
//! the memory of its process.

mod binary;
mod columns;
mod door;
#[path = "../common/mod.rs"]
mod common;
mod every_format;
mod recorders;
mod rules;
mod tables;
mod text;
mod tools;
mod traces;
