//! The FTL over flash, from outside: an oracle of the written data, and a ledger of the commands to flash.

mod amplification;
mod conservation;
mod decisions;
mod lazy;
mod ledger;
mod media;
mod oracle;
mod placement;
mod refusals;
mod runs;
mod setup;
mod snapshot;
mod steps;
