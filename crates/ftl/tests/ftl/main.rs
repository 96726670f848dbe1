//! The FTL over flash, from outside: an oracle of what was written, and a ledger of what flash was told.

mod ledger;
mod oracle;
mod setup;
