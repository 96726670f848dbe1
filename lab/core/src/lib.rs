//! The simulator in a browser.
//!
//! An instance of the module has one [`Lab`]: a run that goes on step by step. The functions of [`browser`] are what a page calls;
//! texts and tables are left in the module's memory, where the page reads them without copies. A page that wants two drives makes
//! two instances.
//!
//! | concept | place |
//! |---|---|
//! | a run, its counters, its blocks and pages | `lab.rs` |
//! | GC's answers for the pages of its victims | `victims.rs` |
//! | recorded requests that the page brings | `recorded.rs` |
//! | the functions that a page calls | `browser.rs` |

pub mod browser;
mod lab;
mod recorded;
mod victims;

pub use lab::Lab;
