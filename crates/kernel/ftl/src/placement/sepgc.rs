//! Separate GC: one block for writes, and one for copies by GC. A page that lived until its block was cleaned
//! is likely to live on. 2R (Kang, Jung, Oh & Lee, PVLDB 2020) has the same placement, but chooses victims
//! differently in its two regions.
//!
//! Source: Van Houdt, "On the necessity of hot and cold data identification to reduce the write amplification in flash-based SSDs",
//! Performance Evaluation 2014, from memory.

use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite};
use coflash_base::policy::NoParameters;
use coflash_base::{Misfit, Policy, Save};

/// The policy that separates copies.
#[derive(Clone, Save)]
pub struct SepGc;

impl Policy for SepGc {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Two classes: pages that are written, and pages that GC copies.";
    const SOURCE: &'static str = "Van Houdt 2014; also the placement of 2R (Kang et al. 2020)";
}

impl PlacementPolicy for SepGc {
    const BYTES_PER_PAGE: u32 = 0;

    fn classes(_: &NoParameters) -> Result<Classes, Misfit> {
        Ok(Classes::Own { count: 2, gc: 1..2 })
    }

    fn new(_: &NoParameters, _: Shape) -> Self {
        Self
    }

    fn user_write(&mut self, _: UserWrite) -> Class {
        Class::new(0)
    }

    fn gc_write(&mut self, _: GcWrite) -> Class {
        Class::new(1)
    }
}
