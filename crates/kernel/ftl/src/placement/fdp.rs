//! Flexible data placement: the host groups pages by the handle of a reclaim unit. The handle of a write is
//! its hint. A write without a hint gets a handle by its address: each handle has a share of the exported
//! capacity, as for tenants side by side. Copies by GC keep the handle of their unit: a device has no more
//! information.
//!
//! Source: NVM Express, TP4146 "Flexible Data Placement" (2022). Reclaim units are the blocks of the pools:
//! `ftl.reclaim_unit` with `ftl.pools = "device"`. Initially isolated handles share the units of copies;
//! persistently isolated handles do not. Our choice: a write without a hint gets its handle by address; in
//! NVMe it goes to handle 0 (`shares = ["100%"]`).

use super::{Class, Classes, Cleaned, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Lpn, Misfit, Policy, Save, Share};

coflash_base::choice! {
    /// What GC may mix.
    #[derive(Copy, Eq)]
    pub enum Isolation, default Initially {
        /// Copies of all handles share reclaim units.
        Initially,
        /// Copies of each handle have reclaim units of their own.
        Persistently {
            /// The handle whose units take copies. `of-writer` and `of-caller` are faults, to see what they cost.
            #[serde(default)]
            copies: Copies,
        },
    }
}

coflash_base::config! {
    /// The units of handles that nobody writes to.
    pub enum Idle, default Closed {
        /// A handle has a unit from its first write on.
        Closed,
        /// Each handle has an open unit from the beginning, as a handle of NVMe always refers to one.
        Open,
    }

    /// The handle whose units take copies of persistently isolated handles.
    pub enum Copies, default OfUnit {
        /// That of the unit that is cleaned.
        OfUnit,
        /// That of the last write before GC: a fault that breaks the isolation.
        OfWriter,
        /// That of the request for which GC runs (the one before it is as good), and handle 0 for a unit that is cleaned lazily: a fault
        /// as well, of WARP's emulator until October 2025.
        OfCaller,
    }

    /// The parameters of FDP.
    #[derive(Eq)]
    pub struct FdpConfig {
        /// Number of handles: up to 15, or up to 8 if they are persistently isolated.
        pub handles: u32 = 2,
        /// What GC may mix: `initially` lets copies of all handles share reclaim units, `persistently` does not, and has `copies`: whose
        /// units take them, `of-unit`, or as the faults `of-writer` and `of-caller`.
        pub isolation: Isolation,
        /// Of writes without a hint: the share of the exported capacity of each handle, in the order of addresses; what is left goes to
        /// the last one. By default all are equal. With "100%" they all go to handle 0, as in NVMe.
        pub shares: Vec<Share>,
        /// The units of handles that nobody writes to: `open` holds one for each handle, which is then no spare space; by default `closed`, one from its first write on.
        #[serde(skip_serializing_if = "is_default")]
        #[schemars(extend("default" = "closed"))]
        pub idle: Idle,
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Flexible data placement.
#[derive(Clone, Save)]
pub struct Fdp {
    /// The handle whose units take copies, if handles are persistently isolated.
    copies: Option<Copies>,
    /// The handle of the last write, that of the request before, and the page that would continue the last one.
    writer: [u32; 3],
    /// Whether the unit that is cleaned is cleaned lazily.
    lazily: bool,
    /// The page after the last one of each handle but the last.
    ends: Vec<u32>,
}

impl Fdp {
    fn handle(&self, lpn: Lpn) -> u32 {
        self.ends.partition_point(|&end| end <= lpn.get()) as u32
    }

    fn handles(&self) -> u32 {
        self.ends.len() as u32 + 1
    }
}

impl Policy for Fdp {
    type Config = FdpConfig;
    const SUMMARY: &'static str = "Reclaim-unit handles: the hint of a write, or its address, says which, and each has units of its own.";
    const SOURCE: &'static str = "NVM Express TP4146 (FDP)";
}

impl PlacementPolicy for Fdp {
    const BYTES_PER_PAGE: u32 = 0;

    fn classes(config: &FdpConfig) -> Result<Classes, Misfit> {
        let handles = config.handles;
        let count = match config.isolation {
            Isolation::Initially => handles.saturating_add(1),
            Isolation::Persistently { .. } => handles.saturating_mul(2),
        };
        if handles == 0 || check_count("handles", count, 2).is_err() {
            let most = if config.isolation == Isolation::Initially { 15 } else { 8 };
            return Err(Misfit::out_of_range("handles", handles, &format!("from 1 to {most}")));
        }
        if config.shares.len() > handles as usize {
            let problem =
                format!("shares for {} handles were given; there are {handles}", config.shares.len());
            return Err(Misfit::new("shares", problem));
        }
        if config.shares.iter().map(|share| u128::from(share.ppb)).sum::<u128>() > u128::from(Share::ONE.ppb)
        {
            return Err(Misfit::new("shares", "they add up to more than 100%"));
        }
        Ok(Classes::Own { count, gc: handles..count })
    }

    fn handles(config: &FdpConfig) -> Option<u32> {
        Some(config.handles)
    }

    fn new(config: &FdpConfig, shape: Shape) -> Self {
        let (handles, pages) = (config.handles as usize, u64::from(shape.pages));
        let mut end = 0;
        let ends = (0..handles - 1).map(|handle| {
            end += match config.shares.get(handle) {
                Some(share) => share.part_of(pages),
                None => (pages - end) / (handles - handle) as u64,
            };
            end as u32
        });
        Self {
            copies: match config.isolation {
                Isolation::Initially => None,
                Isolation::Persistently { copies } => Some(copies),
            },
            writer: [0; 3],
            lazily: false,
            ends: ends.collect(),
        }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        // Hints beyond the handles are refused earlier; the policy tolerates them.
        let hint = page.placement.map(|hint| hint.get().min(self.handles() - 1));
        let handle = hint.unwrap_or_else(|| self.handle(page.lpn));
        let [last, before, next] = self.writer;
        let before = if handle == last && page.lpn.get() == next { before } else { last };
        self.writer = [handle, before, page.lpn.get() + 1];
        Class::new(handle)
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        Class::new(match self.copies {
            None => self.handles(),
            Some(copies) => {
                let from = match copies {
                    Copies::OfUnit => page.from.get(),
                    Copies::OfWriter => self.writer[0],
                    Copies::OfCaller if self.lazily => 0,
                    Copies::OfCaller => self.writer[1],
                };
                self.handles() + from % self.handles()
            }
        })
    }

    fn cleaned(&mut self, unit: Cleaned) {
        self.lazily = unit.lazily;
    }
}
