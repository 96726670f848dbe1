//! The FTL over flash, from outside: an oracle of what was written, and a ledger of what flash was told.

mod amplification;
mod conservation;
mod decisions;
mod ledger;
mod media;
mod oracle;
mod placement;
mod refusals;
mod runs;
mod setup;
mod snapshot;
mod steps;
