//! The placer: it chooses the group of streams, or the class of a placement policy, for each page, and
//! informs the policy of blocks.

use super::Ftl;
use crate::block::State;
use crate::counters::PlacementClass;
use crate::dimensions::Dimensions;
use crate::ids::{GroupId, PoolId};
use crate::placement::{
    CLASSES_MAX, Class, Cleaned, GcWrite, Placed, Placement, PlacementConfig, Shape, UserWrite,
};
use crate::stream::WriteStream;
use coflash_base::{IdVec, Index, Lpn, PlacementId, Save};
use coflash_media::{BlockId, Geometry, Ppn};

/// The placer of a device.
#[derive(Clone, Save)]
#[save(in_place)]
pub(super) struct Placer {
    policy: Placement,
    /// The number of its classes; 0 without a policy.
    classes: u32,
    /// The number of user pages written.
    now: u64,
    /// Empty without a policy.
    blocks: IdVec<BlockId, Placed>,
    /// The counters of each class; bytes follow from pages.
    counts: IdVec<Class, PlacementClass>,
    page_bytes: u64,
    block_bytes: u64,
    /// Whether the policy takes the hints of writes.
    pub(super) takes_hints: bool,
    pages: u32,
    /// The last copies of pages without a valid one.
    last: LastCopies,
}

/// Where the last copy of each logical page was placed, for pages that a cache holds in its stead: to the policy they are not new
/// when they come back. Empty until the first one; 8 bytes a logical page.
#[derive(Clone, Default, Save)]
struct LastCopies(Vec<u64>);

impl LastCopies {
    /// Bits of the class; above them a bit that there is one, and the time.
    const CLASS_BITS: u32 = CLASSES_MAX.ilog2();

    #[inline]
    fn remember(&mut self, lpn: Lpn, Placed { class, opened_at }: Placed, pages: u32) {
        if self.0.is_empty() {
            self.0 = vec![0; pages as usize];
        }
        self.0[lpn.index()] = (opened_at << 1 | 1) << Self::CLASS_BITS | u64::from(class.get());
    }

    #[inline]
    fn take(&mut self, lpn: Lpn) -> Option<Placed> {
        let word = std::mem::take(self.0.get_mut(lpn.index())?);
        let class = Class::new(word as u32 % CLASSES_MAX);
        (word != 0).then_some(Placed { class, opened_at: word >> (Self::CLASS_BITS + 1) })
    }
}

impl Placer {
    pub(super) fn new(config: &PlacementConfig, dims: &Dimensions, geometry: &Geometry) -> Self {
        let shape = Shape {
            pages: dims.logical_pages,
            pages_per_block: dims.data_pages_per_block,
            pools: dims.pools(geometry),
            blocks: geometry.blocks(),
            free_blocks: dims.low_mark_blocks,
            groups: dims.groups,
        };
        let policy = config.build(shape);
        let first = Placed { class: Class::new(0), opened_at: 0 };
        let blocks = if dims.classes > 0 { geometry.blocks() } else { 0 };
        let page_bytes = geometry.page_size.count;
        Self {
            policy,
            classes: dims.classes,
            now: 0,
            blocks: IdVec::filled(first, blocks as usize),
            counts: IdVec::filled(PlacementClass::default(), dims.classes as usize),
            page_bytes,
            block_bytes: page_bytes * u64::from(geometry.pages_per_block),
            takes_hints: config.handles().is_some(),
            pages: dims.logical_pages,
            last: LastCopies::default(),
        }
    }

    /// Whether a policy chooses.
    #[inline(always)]
    pub(super) fn has_policy(&self) -> bool {
        self.classes > 0
    }

    /// The counters of each class; nothing without a policy.
    pub(super) fn counts(&self) -> impl Iterator<Item = PlacementClass> + '_ {
        self.counts.iter().map(|class| PlacementClass {
            host_bytes: class.user_pages * self.page_bytes,
            media_bytes: (class.user_pages + class.copied_pages) * self.page_bytes,
            ..*class
        })
    }

    pub(super) fn reset_counts(&mut self) {
        self.counts.fill(PlacementClass::default());
    }

    pub(super) fn continue_counts(&mut self, before: &Self) {
        self.counts.clone_from(&before.counts);
    }

    /// A page that GC dropped, and that comes back as cold as GC's copies, is a copy to the policy: nobody has written it.
    fn user_group(
        &mut self,
        lpn: Lpn,
        stream: WriteStream,
        placement: Option<PlacementId>,
        replaces: Option<BlockId>,
    ) -> GroupId {
        let last = self.last.take(lpn);
        let replaces = replaces.map(|block| self.blocks[block]).or(last);
        let class = match replaces.filter(|_| stream == WriteStream::Gc) {
            Some(Placed { class: from, .. }) => {
                self.policy.gc_write(GcWrite { lpn, stream, now: self.now, from })
            }
            None => self.policy.user_write(UserWrite { lpn, stream, now: self.now, replaces, placement }),
        };
        self.now += 1;
        self.counts[class].user_pages += 1;
        GroupId::new(class.get())
    }

    fn gc_group(&mut self, lpn: Lpn, stream: WriteStream, victim: BlockId) -> GroupId {
        let from = self.blocks[victim].class;
        let class = self.policy.gc_write(GcWrite { lpn, stream, now: self.now, from });
        self.counts[class].copied_pages += 1;
        GroupId::new(class.get())
    }

    /// Whether a full block is in a queue of the policy.
    #[inline(always)]
    pub(super) fn is_queued(&self, block: BlockId) -> bool {
        self.has_policy() && self.blocks[block].class.index() < self.policy.queues().len()
    }

    /// Note the group of an opened block.
    pub(super) fn opened(&mut self, block: BlockId, group: GroupId) {
        if self.has_policy() {
            // Shadows have a group after the classes.
            let class = Class::new(group.get().min(self.classes - 1));
            self.blocks[block] = Placed { class, opened_at: self.now };
        }
    }

    /// The class for which a block was last opened; none without a policy.
    pub(super) fn class_of(&self, block: BlockId) -> Option<u32> {
        self.has_policy().then(|| self.blocks[block].class.get())
    }

    /// Note that a block takes over the data of another.
    pub(super) fn took_over(&mut self, block: BlockId, from: BlockId) {
        if self.has_policy() {
            self.blocks[block] = self.blocks[from];
        }
    }

    /// Count a block closed before it is full.
    pub(super) fn closed_early(&mut self, block: BlockId) {
        if self.has_policy() {
            self.counts[self.blocks[block].class].closed_early_units += 1;
        }
    }

    /// Count an erased block.
    pub(super) fn erased(&mut self, block: BlockId) {
        if self.has_policy() {
            self.counts[self.blocks[block].class].erased_bytes += self.block_bytes;
        }
    }

    /// Tell the policy of a victim.
    pub(super) fn cleaned(&mut self, block: BlockId, valid: u32, lazily: bool) {
        if self.has_policy() {
            let Placed { class, opened_at } = self.blocks[block];
            self.policy.cleaned(Cleaned { class, opened_at, now: self.now, valid, lazily });
        }
    }

    /// Note that a cache holds a page in place of its copy in this block: newer data, or the only copy.
    #[inline]
    pub(super) fn taken_over(&mut self, lpn: Lpn, block: BlockId) {
        if self.has_policy() {
            self.last.remember(lpn, self.blocks[block], self.pages);
        }
    }

    /// Note that a page is trimmed: when it is written again, it is new.
    #[inline]
    pub(super) fn trimmed(&mut self, lpn: Lpn) {
        self.last.take(lpn);
    }
}

impl Ftl {
    /// The group of a page to be written; `old` is its old copy.
    #[inline(always)]
    pub(super) fn group_of_write(
        &mut self,
        lpn: Lpn,
        stream: WriteStream,
        placement: Option<PlacementId>,
        old: Option<Ppn>,
    ) -> GroupId {
        if !self.placer.has_policy() {
            return self.dims.groups.group(stream);
        }
        let replaces = old.map(|page| self.dims.block_of(page));
        self.placer.user_group(lpn, stream, placement, replaces)
    }

    /// The group of a page to be copied. Shadows have their own if the cooperation scheme separates them.
    #[inline(always)]
    pub(super) fn group_of_copy(&mut self, lpn: Lpn, stream: WriteStream, victim: BlockId) -> GroupId {
        let shadows = stream == WriteStream::Shadow
            && self.dims.groups.group(stream).index() == self.dims.classes as usize;
        if !self.placer.has_policy() || shadows {
            return self.dims.groups.group(stream);
        }
        self.placer.gc_group(lpn, stream, victim)
    }

    #[cfg(test)]
    pub(crate) fn placement(&self) -> &Placement {
        &self.placer.policy
    }

    /// The oldest block of the first queue of the placement policy that has more blocks than its size, or of any queue.
    pub(super) fn oldest_queued(&self, pool: PoolId, is_due: bool) -> Option<BlockId> {
        let sizes = self.placer.policy.queues();
        if sizes.is_empty() {
            return None;
        }
        let mut queues = [(0, None); CLASSES_MAX as usize];
        for block in self.dims.blocks_of(pool).filter(|&block| self.blocks[block].state == State::Queued) {
            let (blocks, oldest) = &mut queues[self.placer.blocks[block].class.index()];
            *blocks += 1;
            let sealed_at = self.histories[block].sealed_at;
            if oldest.is_none_or(|(earliest, _)| sealed_at < earliest) {
                *oldest = Some((sealed_at, block));
            }
        }
        let found = std::iter::zip(queues, sizes)
            .find(|((blocks, _), size)| *blocks > if is_due { **size } else { 0 });
        found.and_then(|((_, oldest), _)| oldest).map(|(_, block)| block)
    }

    /// Carry out a new arrangement of the placement policy's queues. Blocks that leave a queue, or that were in none, get the
    /// first class after the queues, but those of class 0 keep it; a queue that shrinks gives up its oldest blocks.
    #[inline]
    pub(super) fn rearrange_queues(&mut self) {
        if let Some(before) = self.placer.policy.rearrange() {
            self.pools().for_each(|pool| self.rearrange_queues_of(pool, before));
        }
    }

    #[cold]
    fn rearrange_queues_of(&mut self, pool: PoolId, before: u32) {
        let sizes = self.placer.policy.queues();
        let after = Class::from_index(sizes.len().max(1));
        let kept = Class::new(before.min(sizes.len() as u32).max(1));
        let mut room: Vec<u32> = sizes.to_vec();
        let mut full: Vec<_> =
            self.dims.blocks_of(pool).filter(|&block| self.blocks[block].is_full()).collect();
        full.sort_by_key(|&block| std::cmp::Reverse(self.histories[block].sealed_at));
        for &block in &full {
            let class = &mut self.placer.blocks[block].class;
            match room.get_mut(class.index()) {
                Some(room) if *class < kept && *room > 0 => *room -= 1,
                None if *class < kept => {}
                _ => *class = after,
            }
        }
        // The victim policy gets what becomes a candidate in the order of sealing.
        for &block in full.iter().rev() {
            match (self.blocks[block].state, self.placer.is_queued(block)) {
                (State::Queued, false) => self.offer(pool, block),
                (State::Sealed, true) => {
                    self.collector.remove(pool, block, self.blocks[block].cost, &self.dims);
                    self.offer(pool, block);
                }
                _ => {}
            }
        }
    }
}
