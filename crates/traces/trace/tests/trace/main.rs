//! Tests of formats, whole traces and tools. One program, to be linked once; `damage` is separate, since it measures
//! the memory of its process.

mod binary;
mod columns;
#[path = "../common/mod.rs"]
mod common;
mod door;
mod every_format;
mod headers;
mod recorders;
mod rules;
mod split;
mod tables;
mod text;
mod tools;
mod traces;
