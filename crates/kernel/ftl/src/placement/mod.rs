//! Placement policies: the choice of the open block of a pool for a page. Pages of one class share blocks: a
//! good policy gives one class to pages that become invalid together. Each policy is one file and one line in
//! the list below.

use crate::groups::Groups;
use crate::stream::WriteStream;
use coflash_base::{Lpn, Misfit, PlacementId, Save, id_type};

mod dac;
mod external;
mod fdp;
mod life;
mod midas;
mod none;
mod score;
mod sepbit;
mod sepgc;
#[cfg(test)]
mod tests;
mod times;

pub use external::{ExternalPlacement, MakePlacement};
pub use fdp::{Copies, FdpConfig, Idle, Isolation};
pub use score::PlacementScoreConfig;

coflash_base::policy_family! { ($)
    /// The choice of the open block for each written page.
    pub family Placement: Save, config PlacementConfig, dispatch placement_dispatch, build placement_build,
        external "external" => External(external::ExternalPlacer) {
        "none" => Streams(none::Streams),
        "sepgc" => SepGc(sepgc::SepGc),
        "dac" => Dac(dac::Dac),
        "sepbit" => SepBit(sepbit::SepBit),
        "midas" => Midas(midas::Midas),
        "fdp" => Fdp(fdp::Fdp),
        "score" => Score(score::PlacementByScore),
    }
}

id_type!(
    /// A class of pages that share blocks, from 0.
    Class
);

/// The maximal number of classes of a policy.
pub const CLASSES_MAX: u32 = 16;

/// The classes of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classes {
    /// One for each group of write streams, by `ftl.shared_streams`.
    Streams,
    /// Classes of its own.
    Own {
        /// The number of classes.
        count: u32,
        /// The classes of pages that GC copies.
        gc: std::ops::Range<u32>,
    },
}

/// The device that a policy serves.
#[derive(Clone, Copy, Debug, Save)]
pub struct Shape {
    /// The number of logical pages.
    pub pages: u32,
    /// The number of data pages of a block.
    pub pages_per_block: u32,
    /// The number of pools, each with an open block of every class.
    pub pools: u32,
    /// The number of blocks of all pools.
    pub blocks: u32,
    /// The number of blocks of a pool that GC keeps free.
    pub free_blocks: u32,
    /// The groups of write streams.
    pub(crate) groups: Groups,
}

/// A block, as the policy filled it.
#[derive(Clone, Copy, Debug, Save)]
pub struct Placed {
    /// The class of its pages.
    pub class: Class,
    /// The time at which its first page was written.
    pub opened_at: u64,
}

/// A page that the host or a cache writes.
#[derive(Clone, Copy, Debug)]
pub struct UserWrite {
    /// The page.
    pub lpn: Lpn,
    /// Its write stream.
    pub stream: WriteStream,
    /// The time: the number of pages written before by the host and by caches.
    pub now: u64,
    /// The block with its old copy, if there is one.
    pub replaces: Option<Placed>,
    /// The hint of the host.
    pub placement: Option<PlacementId>,
}

/// A valid page that GC or refresh copies.
#[derive(Clone, Copy, Debug)]
pub struct GcWrite {
    /// The page.
    pub lpn: Lpn,
    /// Its write stream.
    pub stream: WriteStream,
    /// The time, as in [`UserWrite`].
    pub now: u64,
    /// The class of the block being cleaned.
    pub from: Class,
}

/// A victim of GC.
#[derive(Clone, Copy, Debug)]
pub struct Cleaned {
    /// Its class.
    pub class: Class,
    /// The time at which its first page was written.
    pub opened_at: u64,
    /// The time, as in [`UserWrite`].
    pub now: u64,
    /// The number of its valid pages.
    pub valid: u32,
    /// Whether it is cleaned before GC must: with `gc.mode = "lazy"`, above the low mark.
    pub lazily: bool,
}

/// The contract of a placement policy. One instance serves the device. Its state, which a checkpoint and a warm device keep, is
/// all that `#[derive(Save)]` finds in it.
pub trait PlacementPolicy: coflash_base::Policy {
    /// The memory that the policy takes for each logical page, in bytes.
    const BYTES_PER_PAGE: u32;

    /// The classes.
    ///
    /// # Errors
    /// A parameter out of range, with its key.
    fn classes(config: &Self::Config) -> Result<Classes, Misfit>;

    /// Whether all pages of a victim are copied to one class, unless [`rearrange`](Self::rearrange) changes it meanwhile. GC then
    /// needs fewer free blocks.
    const COPIES_TOGETHER: bool = false;

    /// The number of handles for the hints of writes; `None` if the policy ignores hints.
    fn handles(config: &Self::Config) -> Option<u32> {
        let _ = config;
        None
    }

    /// Create a policy for an erased device. [`classes`](Self::classes) has accepted `config`.
    fn new(config: &Self::Config, shape: Shape) -> Self;

    /// Choose the class of a page to be written. Called once per write, in the order of the writes.
    fn user_write(&mut self, page: UserWrite) -> Class;

    /// Choose the class of a page to be copied, among [`Classes::Own`]'s `gc`. Called once per copy.
    fn gc_write(&mut self, page: GcWrite) -> Class;

    /// Learn from a victim, before its pages are copied.
    fn cleaned(&mut self, block: Cleaned) {
        let _ = block;
    }

    /// The maximal numbers of full blocks in each pool of the first classes, which are queues: GC cleans the oldest block of the first
    /// queue that has more, before the victim policy chooses among the blocks of the other classes. It is asked before each
    /// victim.
    fn queues(&self) -> &[u32] {
        &[]
    }

    /// Begin a new arrangement of the queues, if there is one; `queues` changes only here. Returns the number of queues before. Called
    /// before each victim.
    fn rearrange(&mut self) -> Option<u32> {
        None
    }
}

impl PlacementConfig {
    /// The classes.
    ///
    /// # Errors
    /// A parameter out of range.
    pub fn classes(&self) -> Result<Classes, Misfit> {
        let classes = placement_build!(self, type P, config => <P as PlacementPolicy>::classes(config));
        classes.map_err(|misfit| misfit.within("ftl.placement"))
    }

    /// The number of handles for the hints of writes; `None` if the policy ignores hints.
    #[must_use]
    pub fn handles(&self) -> Option<u32> {
        placement_build!(self, type P, config => <P as PlacementPolicy>::handles(config))
    }

    /// The memory that the policy takes for each logical page, in bytes.
    #[must_use]
    pub fn bytes_per_page(&self) -> u32 {
        placement_build!(self, type P, _ => <P as PlacementPolicy>::BYTES_PER_PAGE)
    }

    /// The number of classes to which GC copies the pages of a victim, at most; 0 without classes.
    #[must_use]
    pub fn targets(&self) -> u32 {
        let together = placement_build!(self, type P, _ => <P as PlacementPolicy>::COPIES_TOGETHER);
        match self.classes() {
            Ok(Classes::Own { gc, .. }) => (gc.len() as u32).min(if together { 2 } else { CLASSES_MAX }),
            _ => 0,
        }
    }

    /// The number of classes, from the first on, that have an open block from the beginning.
    pub(crate) fn opened(&self) -> u32 {
        match self {
            Self::Fdp(config) if config.idle == Idle::Open => config.handles,
            _ => 0,
        }
    }

    pub(crate) fn build(&self, shape: Shape) -> Placement {
        placement_build!(self, config => PlacementPolicy::new(config, shape))
    }
}

impl Placement {
    coflash_base::forward_to_variant! { placement_dispatch;
        pub(crate) fn user_write(&mut self, page: UserWrite) -> Class;
        pub(crate) fn gc_write(&mut self, page: GcWrite) -> Class;
        pub(crate) fn cleaned(&mut self, block: Cleaned) -> ();
        pub(crate) fn queues(&self) -> &[u32];
        pub(crate) fn rearrange(&mut self) -> Option<u32>;
    }
}

/// The classes of a policy, where GC copies into the last `gc` of them, or into all.
fn own_classes(count: u32, gc: Option<u32>) -> Result<Classes, Misfit> {
    check_count("classes", count, 1)?;
    let gc = gc.unwrap_or(count);
    if !(1..=count).contains(&gc) {
        return Err(Misfit::out_of_range("gc_classes", gc, &format!("from 1 to {count}")));
    }
    Ok(Classes::Own { count, gc: count - gc..count })
}

/// Refuse a number of classes out of range.
pub(crate) fn check_count(key: &'static str, given: u32, least: u32) -> Result<(), Misfit> {
    if (least..=CLASSES_MAX).contains(&given) {
        return Ok(());
    }
    Err(Misfit::out_of_range(key, given, &format!("from {least} to {CLASSES_MAX}")))
}
