//! FADaC: the hotness of a page is the number of its writes over a decaying average.
//!
//! Source: Kremer & Brinkmann, "FADaC: a self-adapting data classifier for flash memory", SYSTOR 2019;
//! written from the comparison by SepBIT's authors (Wang et al., FAST 2022, and its repository): a page has a
//! count, up with each write and down with each copy by GC, and is in class k if its count is above 10^(k−1)
//! times the average. Our choice: the average is over pages, not requests.

use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Index, Lpn, Misfit, Policy, Save};

coflash_base::config! {
    /// The parameters of FADaC.
    #[derive(Eq)]
    pub struct FadacConfig {
        /// Number of classes, from 2 to 16.
        pub classes: u32 = 6,
    }
}

/// The factor between the counts of two classes.
const FACTOR: f64 = 10.0;

/// FADaC.
#[derive(Clone, Save)]
pub struct Fadac {
    classes: u32,
    counts: Vec<u32>,
    /// The pages that have been written.
    pages: u64,
    average: f64,
}

impl Fadac {
    fn class(&self, lpn: Lpn) -> Class {
        let count = f64::from(self.counts[lpn.index()]);
        let mut bound = self.average.max(f64::MIN_POSITIVE);
        let mut class = 0;
        while class + 1 < self.classes && count > bound {
            bound *= FACTOR;
            class += 1;
        }
        Class::new(class)
    }
}

impl Policy for Fadac {
    type Config = FadacConfig;
    const SUMMARY: &'static str =
        "Classes by powers of ten of a page's writes, less its copies, against a fading average.";
    const SOURCE: &'static str = "Kremer & Brinkmann 2019 (FADaC, SYSTOR)";
}

impl PlacementPolicy for Fadac {
    const BYTES_PER_PAGE: u32 = 4;

    fn classes(config: &FadacConfig) -> Result<Classes, Misfit> {
        check_count("classes", config.classes, 2)?;
        Ok(Classes::Own { count: config.classes, gc: 0..config.classes })
    }

    fn new(config: &FadacConfig, shape: Shape) -> Self {
        Self { classes: config.classes, counts: vec![0; shape.pages as usize], pages: 0, average: 0.0 }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let count = &mut self.counts[page.lpn.index()];
        self.pages = self.pages.saturating_add(u64::from(page.replaces.is_none()));
        *count = count.saturating_add(1);
        self.average += (1.0 - self.average) / self.pages.max(1) as f64;
        self.class(page.lpn)
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        let count = &mut self.counts[page.lpn.index()];
        *count = count.saturating_sub(1);
        self.class(page.lpn)
    }
}
