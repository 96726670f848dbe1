//! Cooperative data management, consistent states (Lee, Kim, Bahn & Noh, MSST 2016, section 4): after a crash every
//! page reads back as of the last commit.
//!
//! ```text
//! S0  flash valid, not cached
//! S1  flash removable, cached clean                             clean slot, mapped and marked
//! S2  flash valid = committed, cached dirty, not committed      pinned dirty slot, mapped
//! S3  no flash copy, cached and committed, write-protected      dirty slot, unmapped
//! S4  no flash copy, cached dirty, not committed                pinned dirty slot, unmapped; paired with
//! S5  the committed version of the same page, write-protected   detached dirty slot
//! ```
//!
//! A slot with uncommitted data is *pinned*: the eviction policy does not see it. A clean slot on *standby*
//! is pinned, too. A page that was never committed has an S4 without an S5. A deletion also waits for its
//! commit: until then the committed version stays in flash or in a *condemned* slot (detached and pinned).
//! The transitions are in `write_back/consistency.rs`.

use super::{CooperationScheme, Event, Needs, Scheme, Setting};
use crate::cooperates::{Cached, Cooperates, Message};
use coflash_base::measure::Report;
use coflash_base::{Duration, Lpn, Misfit, Policy, Save, Share};
use coflash_cache::Cache;
use coflash_ftl::{Decision, Ftl, Marks, Requirements};
use std::num::NonZeroU16;

coflash_base::config! {
    /// Parameters of `cdm-consistent`.
    #[derive(Save)]
    pub struct CdmConsistentConfig {
        /// Simulated time between commits. A flush by the host commits, too.
        pub commit_interval: Duration = Duration { ns: 5_000_000_000 },
        /// Checkpointing begins when fewer slots than this share of the cache are free, or hold clean pages about to leave.
        pub low_watermark: Share = Share::percent(5),
        /// Checkpointing ends when this share of the cache is free, or holds clean pages about to leave.
        pub high_watermark: Share = Share::percent(10),
        /// The number of trims that can wait for their commit, from 1 to 65535. One more causes an early commit.
        pub deletions_max: NonZeroU16 = NonZeroU16::new(1024).expect("not zero"),
    }
}

coflash_base::measures! {
    /// Commits and checkpoints. After a power cut every page reads back as of the last commit.
    pub struct CommitCounters in "consistency", "Crash consistency" {
        /// Commits: periodic, by a flush, or early.
        commits: u64, "commits";
        /// Early commits, because no page could be evicted or no deletion could be recorded.
        early_commits: u64, "early commits";
        /// Committed pages programmed so that their slots can be used again.
        checkpoints_pages: u64, "pages programmed so that slots become free", pages;
        /// Writes to a new slot because the committed version of the page was write-protected.
        copies_on_write_pages: u64, "pages copied on write within the cache", pages;
    }
}

/// See the top of the file.
#[derive(Clone, Save)]
pub struct CdmConsistent(pub(crate) CdmConsistentConfig);

impl Policy for CdmConsistent {
    type Config = CdmConsistentConfig;
    const SUMMARY: &'static str = "As cdm, and after a crash every page reads back as of the last commit.";
    const SOURCE: &'static str = "Lee, Kim, Bahn & Noh, MSST 2016, section 4";
}

impl CooperationScheme for CdmConsistent {
    fn requirements(_: &CdmConsistentConfig) -> Requirements {
        Requirements::NONE
    }

    /// Its slots and those of older versions, and the deletions.
    fn memory(config: &CdmConsistentConfig) -> Needs {
        Needs { page_bytes: 4, slot_bytes: 20, bytes: 4 * u64::from(config.deletions_max.get()) }
    }

    fn new(config: &CdmConsistentConfig, setting: &Setting) -> Result<Self, Misfit> {
        let slots = setting.slots;
        if setting.is_volatile {
            return Err(super::needs_durable("cdm-consistent"));
        }
        if slots == 0 {
            return Err(Misfit::new("cache.size", "cdm-consistent needs a cache of at least one page"));
        }
        if !setting.write_allocate {
            let problem = "false was given; with cdm-consistent every write goes through the cache, since what is written \
                           to flash is durable before its commit";
            return Err(Misfit::new("cache.write_allocate", problem));
        }
        Ok(Self(config.clone()))
    }
}

impl Scheme for CdmConsistent {
    /// S1 → S3.
    fn decide(&mut self, _: Lpn, marks: Marks, _: &Cache) -> Decision {
        if marks.device { Decision::Drop } else { Decision::COPY }
    }

    fn happened<B: Cooperates>(&mut self, event: Event, page: Cached, cache: &mut Cache, below: &mut B) {
        match event {
            // → S1
            Event::Filled | Event::Cleaned => below.send(Message::Mark(page)),
            // S1 → S0, S2
            Event::Evicted => below.send(Message::Unmark(page)),
            // → S3. Until its commit the newest version is pinned, and flash keeps the committed one.
            Event::Written if !cache.is_pinned(page.slot) || cache.is_detached(page.slot) => {
                below.send(Message::Invalidate(page));
            }
            Event::Written | Event::Used | Event::Overwritten | Event::Trimmed | Event::BecameSole => {}
        }
    }

    /// Nothing: the counters are those of the cache's commits.
    fn report(&self, _: &mut Report) {}

    /// Nothing: the states depend on the commits, and the cache checks them.
    fn assert_invariants(&self, _: &Cache, _: &Ftl) {}
}
