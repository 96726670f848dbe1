//! SepBIT: pages are separated by their inferred time of invalidation. A page that replaces a short-lived one
//! is likely to be short-lived; a page copied by GC is likely to live on for as long as it has lived.
//!
//! Classes: 0 for writes that replace a page younger than ℓ, 1 for other writes, 2 for copies from blocks of class 0, and then
//! for other copies by age: below 4ℓ, below 16ℓ, older. ℓ is the mean life of the 16 blocks of class 0 cleaned last, from their
//! first page to their cleaning; before there are 16, everything is short-lived.
//!
//! Source: Wang, Li, Lee, Ouyang, Shi & Huang, "Separating data via block invalidation time inference for
//! write amplification reduction in log-structured storage", FAST 2022; written from the repository of its
//! simulator and its description. Our choice: the ages are exact; the original uses a queue of recent writes
//! instead, to save memory.

use super::life::Life;
use super::times::Times;
use super::{Class, Classes, Cleaned, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Misfit, Policy, Save};

coflash_base::config! {
    /// The parameters of SepBIT.
    #[derive(Eq)]
    pub struct SepBitConfig {
        /// Number of classes, from 4 to 16: two for writes, one for copies of short-lived pages, the rest for other copies by age.
        pub classes: u32 = 6,
    }
}

/// The factor between the ages of two classes.
const AGE_FACTOR: u64 = 4;

/// SepBIT.
#[derive(Clone, Save)]
pub struct SepBit {
    classes: u32,
    written: Times,
    /// ℓ.
    life: Life,
}

impl Policy for SepBit {
    type Config = SepBitConfig;
    const SUMMARY: &'static str = "Classes by the inferred time of invalidation: writes by the age of what they replace, copies by \
                                   their own age.";
    const SOURCE: &'static str = "Wang et al. 2022 (SepBIT, FAST)";
}

impl PlacementPolicy for SepBit {
    const BYTES_PER_PAGE: u32 = 4;

    fn classes(config: &SepBitConfig) -> Result<Classes, Misfit> {
        check_count("classes", config.classes, 4)?;
        Ok(Classes::Own { count: config.classes, gc: 2..config.classes })
    }

    fn new(config: &SepBitConfig, shape: Shape) -> Self {
        Self { classes: config.classes, written: Times::new(shape.pages), life: Life::default() }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let is_short = page.replaces.is_some() && self.written.age(page.lpn, page.now) < self.life.mean;
        self.written.set(page.lpn, page.now);
        Class::new(u32::from(!is_short))
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        if page.from.get() == 0 {
            return Class::new(2);
        }
        let age = self.written.age(page.lpn, page.now);
        let mut bound = self.life.mean.saturating_mul(AGE_FACTOR);
        let mut class = 3;
        while class + 1 < self.classes && age >= bound {
            bound = bound.saturating_mul(AGE_FACTOR);
            class += 1;
        }
        Class::new(class)
    }

    fn cleaned(&mut self, block: Cleaned) {
        self.life.cleaned(block);
    }
}
