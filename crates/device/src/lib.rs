//! A device of real bytes on the firmware of the simulator.
//!
//! A [`Session`] is a device from power on to power off. It serves requests of any bytes through the levels that a
//! simulation runs, over a container that keeps the bytes and a timeline that says how long a device would take. What
//! passed is a trace; replayed in a simulation it gives the same counters ([`twin`]).
//!
//! | concept | place |
//! |---|---|
//! | requests with data, power cuts | `session.rs` |
//! | which scenarios can be served; power on, erased or recovered | `power_on.rs` |
//! | bytes and their timeline as one media | `served.rs` |
//! | the bytes that outlive a session ([`Container`]) | `container.rs` |
//! | the trace of a session | `recorder.rs` |
//! | the simulation of a session | `twin.rs` |

mod container;
mod contents_file;
mod power_on;
mod recorder;
mod served;
mod session;
mod twin;

pub use container::Container;
pub use power_on::{StartError, servable};
pub use recorder::Recorder;
pub use session::{Answer, Cut, CutAt, Ended, Failure, Session};
pub use twin::{TwinError, twin};
