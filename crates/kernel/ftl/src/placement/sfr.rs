//! SFR: sequentiality, frequency, recency. Each chunk of the address space has a count of accesses that is halved once
//! per period; a write goes to the class of the count's logarithm, and a write that continues the previous request to
//! the class of that one. Copies of GC go to a class of their own.
//!
//! Source: Yang et al., "AutoStream: automatic stream management for multi-streamed SSDs", SYSTOR 2017; written from
//! the comparison by SepBIT's authors (Wang et al., FAST 2022, and its repository). Our choices: pages written one after
//! another at successive addresses are one request; logarithms are to base 2 (e there).

use super::chunks::{Chunks, class_of};
use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Misfit, Policy, Save};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of SFR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SfrConfig {
    /// Number of classes of writes, from 1 to 15; copies of GC have a class of their own.
    pub streams: u32,
    /// The pages of a chunk of the address space.
    pub chunk_pages: u32,
    /// The pages written until a count is halved.
    pub decay_pages: u32,
}

impl Default for SfrConfig {
    fn default() -> Self {
        Self { streams: 5, chunk_pages: 512, decay_pages: 16_384 }
    }
}

/// SFR.
#[derive(Clone, Save)]
pub struct Sfr {
    streams: u32,
    decay_pages: u64,
    chunks: Chunks,
    /// The class of the last page written.
    class: u32,
}

impl Policy for Sfr {
    type Config = SfrConfig;
    const SUMMARY: &'static str = "Classes by the fading number of accesses to a chunk of the address space; requests in sequence stay together; copies of GC apart.";
    const SOURCE: &'static str = "Yang et al. 2017 (SFR in AutoStream, SYSTOR)";
}

impl PlacementPolicy for Sfr {
    const BYTES_PER_PAGE: u32 = 0;

    fn classes(config: &SfrConfig) -> Result<Classes, Misfit> {
        check_count("streams", config.streams.saturating_add(1), 2)?;
        Chunks::check(config.chunk_pages)?;
        if config.decay_pages == 0 {
            return Err(Misfit::out_of_range("decay_pages", 0, "from 1"));
        }
        Ok(Classes::Own { count: config.streams + 1, gc: config.streams..config.streams + 1 })
    }

    fn new(config: &SfrConfig, shape: Shape) -> Self {
        let chunks = Chunks::new(shape.pages, config.chunk_pages);
        Self { streams: config.streams, decay_pages: config.decay_pages.into(), chunks, class: 0 }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let (continues, is_access) = self.chunks.write(page.lpn);
        if is_access {
            let chunk = self.chunks.of(page.lpn);
            let (count, age) = self.chunks.record(chunk, page.now);
            let halvings = u32::try_from(age / self.decay_pages).unwrap_or(u32::MAX);
            let count = count.checked_shr(halvings).unwrap_or(0).saturating_add(1);
            self.chunks.set(chunk, count, page.now);
            if !continues {
                self.class = class_of(count, self.streams);
            }
        }
        Class::new(self.class.min(self.streams - 1))
    }

    fn gc_write(&mut self, _: GcWrite) -> Class {
        Class::new(self.streams)
    }

    fn heap_bytes(&self) -> usize {
        self.chunks.heap_bytes()
    }
}
