//! Multi-queue: each chunk of the address space is in a queue by the logarithm of its accesses, one queue lower for each
//! lifetime without an access. Writes go to the class of their chunk's queue, copies of GC to a class of their own.
//!
//! Source: Yang et al., "AutoStream: automatic stream management for multi-streamed SSDs", SYSTOR 2017; written from
//! the comparison by SepBIT's authors (Wang et al., FAST 2022, and its repository). The lifetime is the last interval
//! between two accesses to the hottest chunk. Our choices: an access is a request (pages written one after another at
//! successive addresses), and time counts accesses; a chunk moves to lower queues when it is written again, not when a
//! queue is searched; a write goes to the queue that its chunk is in when it arrives, since with the queue after it (as
//! in that repository) lifetimes would make no difference; logarithms are to base 2 (e there, 10 in other code); when
//! the hottest chunk has outlived its lifetime, the next chunk written takes its place.

use super::chunks::{Chunks, class_of};
use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Misfit, Policy, Save};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of multi-queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MultiQueueConfig {
    /// Number of queues, from 1 to 15; copies of GC have a class of their own.
    pub queues: u32,
    /// The pages of a chunk of the address space.
    pub chunk_pages: u32,
}

impl Default for MultiQueueConfig {
    fn default() -> Self {
        Self { queues: 5, chunk_pages: 256 }
    }
}

/// Multi-queue.
#[derive(Clone, Save)]
pub struct MultiQueue {
    queues: u32,
    chunks: Chunks,
    /// The number of accesses, the lifetime in accesses, and the hottest chunk.
    accesses: u64,
    lifetime: u64,
    hottest: u64,
    /// The class of the last page written.
    class: u32,
}

impl Policy for MultiQueue {
    type Config = MultiQueueConfig;
    const SUMMARY: &'static str = "Queues of chunks of the address space by the logarithm of their accesses, lower after a pause; copies of GC apart.";
    const SOURCE: &'static str = "Yang et al. 2017 (MQ in AutoStream, SYSTOR)";
}

impl PlacementPolicy for MultiQueue {
    const BYTES_PER_PAGE: u32 = 0;

    fn classes(config: &MultiQueueConfig) -> Result<Classes, Misfit> {
        check_count("queues", config.queues.saturating_add(1), 2)?;
        Chunks::check(config.chunk_pages)?;
        Ok(Classes::Own { count: config.queues + 1, gc: config.queues..config.queues + 1 })
    }

    fn new(config: &MultiQueueConfig, shape: Shape) -> Self {
        let chunks = Chunks::new(shape.pages, config.chunk_pages);
        Self { queues: config.queues, chunks, accesses: 0, lifetime: 0, hottest: 0, class: 0 }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let (_, is_access) = self.chunks.write(page.lpn);
        if is_access {
            self.accesses = self.accesses.wrapping_add(1);
            let chunk = self.chunks.of(page.lpn);
            let (count, age) = self.chunks.record(chunk, self.accesses);
            let lifetimes = u32::try_from(age.saturating_sub(1) / self.lifetime.max(1)).unwrap_or(u32::MAX);
            self.class = class_of(count, self.queues).saturating_sub(lifetimes);
            let (most, pause) = self.chunks.record(self.hottest as usize % self.chunks.len(), self.accesses);
            self.chunks.set(chunk, count.saturating_add(1), self.accesses);
            if count >= most || pause > self.lifetime {
                (self.hottest, self.lifetime) = (chunk as u64, age);
            }
        }
        Class::new(self.class.min(self.queues - 1))
    }

    fn gc_write(&mut self, _: GcWrite) -> Class {
        Class::new(self.queues)
    }

    fn heap_bytes(&self) -> usize {
        self.chunks.heap_bytes()
    }
}
