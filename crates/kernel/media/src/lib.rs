//! The outside world of the firmware: flash memory, the memory of caches, and disks.
//!
//! The firmware decides; a media acts. In simulation the media is a [`Timeline`] of busy dies and channels, in tests an
//! image of bytes with a power switch, and during warm-up nothing at all ([`Untimed`]).
//!
//! | concept | place |
//! |---|---|
//! | the traits of a media: [`Flash`], [`Nvm`], [`Backed`] for disks behind flash | `contract.rs` |
//! | the data of the host's request, where a media holds bytes ([`HostPage`]) | `contract.rs` |
//! | causes of programs ([`Cause`]), sources and destinations of data ([`Place`]) | `operation.rs` |
//! | geometry of flash, with a legend of the units | `geometry.rs` |
//! | dies with private channels, and dies that share channels | `timeline.rs`, `channel.rs` |
//! | moments with unknown time | `moment.rs`, `channel.rs` |
//! | reads that overtake and suspend, room in the write buffer | `channel.rs`, `page_buffer.rs` |
//! | recorders of flash operations ([`RecordsOperations`]) | `recorder.rs` |
//! | disks: mechanics, schedulers, arrays | [`disk`] |
//! | transfers of disks in simulated time | `behind.rs` |
//! | the durable remains of a device after a power cut ([`Contents`]) | `contents.rs` |
//! | the sides of a link, which may lose power one without the other ([`Side`]) | `side.rs` |

mod behind;
mod channel;
mod contents;
mod contract;
pub mod disk;
mod geometry;
mod moment;
mod operation;
mod page_buffer;
mod recorder;
mod side;
mod timeline;
mod timing;
mod untimed;

pub use contents::{Contents, FoundPage};
pub use contract::{Backed, Clock, Flash, HostPage, Immediate, Media, Nvm, Transfer};
pub use geometry::{BlockId, Cell, DieId, Geometry, Ppn};
pub use moment::{Finished, Tag, When};
pub use operation::{Access, Cause, Memory, Mode, Oob, Place, Run, Slot};
pub use recorder::{FlashOperation, OperationKind, OperationRecorder, RecordsOperations};
pub use side::Side;
pub use timeline::{
    BufferedPages, Busy, DieTime, DiskTime, FlashOperations, SimulatedMedia, Suspensions, Timeline,
};
pub use timing::{CacheTiming, CacheTimings, Channel, Planes, ProgramDistribution, ReadPriority, Timing};
pub use untimed::Untimed;
