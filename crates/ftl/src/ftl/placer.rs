//! The placer: it chooses the group of streams, or the class of a placement policy, for each page, and
//! informs the policy of blocks.

use super::Ftl;
use super::column::{read, write};
use super::pages::Pages;
use crate::counters::PlacementClass;
use crate::dimensions::Dimensions;
use crate::ids::GroupId;
use crate::placement::{Class, Cleaned, Future, GcWrite, Placement, PlacementConfig, Shape, UserWrite};
use crate::stream::WriteStream;
use coflash_base::{IdVec, Index, Lpn, PlacementId};
use coflash_media::{BlockId, Geometry, Ppn};
use std::io::{self, Read, Write};

/// The record of a block for the policy.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// The class of its pages.
    class: Class,
    /// The opening time: the number of user pages written before.
    opened_at: u64,
}

/// The placer of a device.
#[derive(Clone)]
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
    takes_hints: bool,
    follows_blocks: bool,
}

impl Placer {
    pub(super) fn new(config: &PlacementConfig, dims: &Dimensions, geometry: &Geometry) -> Self {
        let shape = Shape {
            pages: dims.logical_pages,
            pages_per_block: dims.data_pages_per_block,
            pools: dims.pools(geometry),
            blocks: geometry.blocks(),
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
            follows_blocks: config.follows_blocks(),
        }
    }

    /// Whether a policy chooses.
    #[inline(always)]
    pub(super) fn has_policy(&self) -> bool {
        self.classes > 0
    }

    /// Whether the policy takes the hints of writes.
    pub(super) fn takes_hints(&self) -> bool {
        self.takes_hints
    }

    /// Give all future writes to an oracle.
    pub(super) fn foresee(&mut self, future: Future) {
        self.policy.foresee(future, self.now);
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

    fn user_group(
        &mut self,
        lpn: Lpn,
        stream: WriteStream,
        placement: Option<PlacementId>,
        replaces: Option<BlockId>,
    ) -> GroupId {
        let replaces = replaces.map(|block| self.blocks[block].class);
        let write = UserWrite { lpn, stream, now: self.now, replaces, placement };
        let class = self.policy.user_write(write);
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

    /// Note that a block is full, or closed early.
    pub(super) fn sealed(&mut self, block: BlockId, pages: &Pages, geometry: &Geometry) {
        if self.follows_blocks {
            let in_word = |word: usize, mut valid: u64| {
                std::iter::from_fn(move || {
                    let index = (valid != 0).then(|| word as u32 * 64 + valid.trailing_zeros())?;
                    valid &= valid - 1;
                    Some(index)
                })
            };
            let mut valid = (0..pages.valid.words_per_block())
                .flat_map(|word| in_word(word, pages.valid.word(block, word)))
                .filter_map(|index| pages.owner[geometry.page(block, index)]);
            self.policy.sealed(block, &mut valid);
        }
    }

    /// Note that a page of a block becomes invalid; `owner` finds the page.
    #[inline(always)]
    pub(super) fn left(&mut self, block: BlockId, owner: impl FnOnce() -> Option<Lpn>) {
        if self.follows_blocks {
            owner().into_iter().for_each(|lpn| self.policy.left(lpn, block));
        }
    }

    /// The number of valid pages of a full block in the records of a policy that has them.
    pub(super) fn recorded(&self, block: BlockId) -> Option<u32> {
        self.follows_blocks.then(|| self.policy.recorded(block))
    }

    /// Note the group of an opened block.
    pub(super) fn opened(&mut self, block: BlockId, group: GroupId) {
        if self.has_policy() {
            // Shadows have a group after the classes.
            let class = Class::new(group.get().min(self.classes - 1));
            self.blocks[block] = Placed { class, opened_at: self.now };
        }
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
            if self.follows_blocks {
                self.policy.erased(block);
            }
        }
    }

    /// Tell the policy of a victim.
    pub(super) fn cleaned(&mut self, block: BlockId, valid: u32) {
        if self.has_policy() {
            let Placed { class, opened_at } = self.blocks[block];
            self.policy.cleaned(Cleaned { class, opened_at, now: self.now, valid });
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.heap_bytes() + self.policy.heap_bytes()
    }

    pub(super) fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.has_policy() {
            return Ok(());
        }
        write::<8>(out, std::iter::once(self.now))?;
        write::<4>(out, self.blocks.iter().map(|block| block.class.get().into()))?;
        write::<8>(out, self.blocks.iter().map(|block| block.opened_at))?;
        for column in self.policy.clone().state() {
            write::<8>(out, (0..column.len()).map(|index| column.get(index)))?;
        }
        Ok(())
    }

    pub(super) fn restore(&mut self, input: &mut dyn Read) -> io::Result<()> {
        if !self.has_policy() {
            return Ok(());
        }
        read::<8, _>(input, "time", std::slice::from_mut(&mut self.now), |time| {
            (time < 1 << 56).then_some(time)
        })?;
        let mut classes = vec![Class::new(0); self.blocks.len()];
        let below = |class| (class < u64::from(self.classes)).then(|| Class::new(class as u32));
        read::<4, _>(input, "class of block", &mut classes, below)?;
        let mut opened = vec![0; self.blocks.len()];
        read::<8, _>(input, "opening of block", &mut opened, |at| (at <= self.now).then_some(at))?;
        for (block, (class, opened_at)) in self.blocks.iter_mut().zip(classes.into_iter().zip(opened)) {
            *block = Placed { class, opened_at };
        }
        for mut column in self.policy.state() {
            let mut numbers = vec![0; column.len()];
            read::<8, _>(input, "number of the placement policy", &mut numbers, Some)?;
            for (index, number) in numbers.into_iter().enumerate() {
                column.set(index, number);
            }
        }
        Ok(())
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
            return self.dims.groups.of(stream);
        }
        let replaces = old.map(|page| self.geometry.block_of(page));
        self.placer.user_group(lpn, stream, placement, replaces)
    }

    /// The group of a page to be copied. Shadows have their own if the cooperation scheme separates them.
    #[inline(always)]
    pub(super) fn group_of_copy(&mut self, lpn: Lpn, stream: WriteStream, victim: BlockId) -> GroupId {
        let shadows = stream == WriteStream::Shadow
            && self.dims.groups.of(stream).index() == self.dims.classes as usize;
        if !self.placer.has_policy() || shadows {
            return self.dims.groups.of(stream);
        }
        self.placer.gc_group(lpn, stream, victim)
    }
}
