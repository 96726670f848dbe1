//! The timing of flash operations.

use crate::Geometry;
use coflash_base::{Duration, Misfit, Save};

coflash_base::config! {
    /// Whether the chips of a channel share its bus.
    pub enum Channel, default Shared {
        /// Each die has a bus of its own. It is busy for array and transfer time, and never waits for a bus.
        Private,
        /// The dies of a channel share one bus. Transfers are served in the order of their requests.
        Shared,
    }

    /// Whether the planes of a die work in parallel.
    pub enum Planes, default Serial {
        /// Each die serves one operation at a time.
        Serial,
        /// Each plane serves one operation at a time.
        Parallel,
    }
}

coflash_base::choice! {
    /// The treatment of a read that finds its die busy (Wu & He, "Reducing SSD read latency via NAND flash program and erase
    /// suspension", FAST 2012).
    #[derive(Copy, Eq, Save)]
    pub enum ReadPriority, default None {
        /// It waits: a die is first come, first served.
        None,
        /// It overtakes the operations that wait for the die.
        Overtake {
            /// The maximum number of reads that overtake or suspend one operation.
            #[serde(default = "overtaken_max")]
            overtaken_max: u32,
        },
        /// As `overtake`; and it suspends a program or an erase under way, which continues afterwards.
        Suspend {
            /// The maximum number of reads that overtake or suspend one operation.
            #[serde(default = "overtaken_max")]
            overtaken_max: u32,
            /// Time from the command that suspends an operation to the start of the read.
            #[serde(default)]
            overhead: Duration,
        },
    }
}

fn overtaken_max() -> u32 {
    16
}

coflash_base::config! {
    /// How the times of programs are distributed.
    pub enum ProgramDistribution, default Fixed {
        /// Each program takes its mean time.
        Fixed,
        /// The time of each program is drawn from an exponential distribution with that mean. Reads then wait for a busy die
        /// as on measured drives.
        Exponential,
    }

    /// Times of the flash array and its bus.
    #[derive(Eq, Save)]
    pub struct Timing {
        /// Array time of a page read.
        pub page_read: Duration = Duration { ns: 25_000 },
        /// Array times of a page read by page type, in the order of the pages of a word line: two for MLC, three for TLC, four
        /// for QLC. By default `page_read` for all.
        pub page_reads: Vec<Duration>,
        /// Array time of a page program.
        pub page_program: Duration = Duration { ns: 200_000 },
        /// Array times of a page program by page type, if the pages of a word line are programmed one after the other. By
        /// default `page_program` for all.
        pub page_programs: Vec<Duration>,
        /// Array time of a page read from a pSLC cache. By default `page_read`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub slc_page_read: Option<Duration>,
        /// Array time of a page program into a pSLC cache. By default `page_program`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub slc_page_program: Option<Duration>,
        /// Number of consecutive pages of one page type: with pages of 4 KiB, a flash page of 16 KiB on 4 planes has 16.
        pub pages_per_type: u32 = 1,
        /// Number of pages that are programmed at once (one-shot, multi-plane). Each is transferred when it is written;
        /// `page_program` begins after the last.
        pub one_shot_pages: u32 = 1,
        /// Array time of a fast page program, whose data has a shorter retention time. By default `page_program`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub page_program_fast: Option<Duration>,
        /// How array times of programs are distributed around their means.
        pub program_distribution: ProgramDistribution = ProgramDistribution::Fixed,
        /// Time of a block erase.
        pub block_erase: Duration = Duration { ns: 1_500_000 },
        /// Bus time of a sector, including its spare bytes.
        pub sector_transfer: Duration = Duration { ns: 13_200 },
        /// Time of error correction in the controller after a page read.
        pub ecc_decode: Duration = Duration::ZERO,
        /// Whether GC copies within a plane without a transfer (copy-back).
        pub copy_back: bool = true,
        /// Whether the chips of a channel share its bus.
        pub channel: Channel = Channel::Shared,
        /// Whether the planes of a die work in parallel.
        pub planes: Planes = Planes::Serial,
        /// The treatment of a read that finds its die busy.
        pub read_priority: ReadPriority = ReadPriority::None,
    }
}

/// The most pages of a word line: flash has at most some hundred.
const WORD_LINE_PAGES_MAX: u64 = 1 << 12;

impl Timing {
    /// Check the times against the geometry.
    ///
    /// # Errors
    /// The first value that is not allowed, with its key in the scenario.
    pub fn check(&self, geometry: &Geometry) -> Result<(), Misfit> {
        for (key, pages) in
            [("timing.pages_per_type", self.pages_per_type), ("timing.one_shot_pages", self.one_shot_pages)]
        {
            if pages == 0 || u64::from(pages) > WORD_LINE_PAGES_MAX {
                return Err(Misfit::out_of_range(key, pages, "from 1 to 4096"));
            }
        }
        let types = geometry.cell.bits() as usize;
        for (key, times) in
            [("timing.page_reads", &self.page_reads), ("timing.page_programs", &self.page_programs)]
        {
            if ![0, types].contains(&times.len()) {
                let problem = format!(
                    "{} were given; one for each bit of a cell (flash.cell) is allowed: {types}",
                    times.len()
                );
                return Err(Misfit::new(key, problem));
            }
        }
        if !self.page_programs.is_empty() && self.one_shot_pages > 1 {
            let problem = "pages that are programmed at once have one time: timing.page_program";
            return Err(Misfit::new("timing.page_programs", problem));
        }
        let (word_line, block) = (self.word_line_pages(), geometry.pages_per_block);
        if u64::from(word_line) > WORD_LINE_PAGES_MAX || !block.is_multiple_of(word_line) {
            let problem = format!(
                "{block} is no whole number of word lines of {word_line} pages (timing.one_shot_pages, pages_per_type)"
            );
            return Err(Misfit::new("flash.pages_per_block", problem));
        }
        Ok(())
    }

    /// The number of pages after which page types and one-shot programs repeat.
    #[must_use]
    pub fn word_line_pages(&self) -> u32 {
        let types = self.page_reads.len().max(self.page_programs.len()).max(1) as u32;
        let (mut a, mut b) = (types * self.pages_per_type, self.one_shot_pages);
        let product = u64::from(a) * u64::from(b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        u32::try_from(product / u64::from(a.max(1))).unwrap_or(u32::MAX)
    }

    /// The array times of a read and of a program of page `index` of a block.
    #[must_use]
    pub fn of_page(&self, index: u32) -> (Duration, Duration) {
        let of_type = |times: &[Duration], default| {
            let types = times.len().max(1) as u32;
            times.get((index / self.pages_per_type % types) as usize).copied().unwrap_or(default)
        };
        let ends_program = (index + 1).is_multiple_of(self.one_shot_pages);
        let program = of_type(&self.page_programs, self.page_program);
        (of_type(&self.page_reads, self.page_read), if ends_program { program } else { Duration::ZERO })
    }
}

/// Times of cache accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Save)]
pub struct CacheTiming {
    /// Time to read a page.
    pub read: Duration,
    /// Time to write a page.
    pub write: Duration,
}

/// Times of the caches, by [`Memory`](crate::Memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Save)]
pub struct CacheTimings {
    /// The host's write buffer.
    pub host_buffer: CacheTiming,
    /// A cache in the host.
    pub host: CacheTiming,
    /// The cache or write buffer of the device.
    pub device: CacheTiming,
}
