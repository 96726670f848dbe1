//! A flash cache in front of disks.
//!
//! With private channels a moment of flash is a number; only disks have events. What is to begin later than the present (a
//! group that has yet to be read from flash, an overwrite that waits for the journal) waits in a queue until then, so that
//! disks see transfers in the order of time.

mod jobs;
mod sizes;

use crate::metrics::{HybridMetrics, Metrics};
use crate::scenario::{LinkConfig, Scenario, ScenarioError};
use crate::target::{Command, Moment, Target};
use coflash_base::{Duration, Lpn, Seed, Time};
use coflash_controller::{CacheTally, Extent, Placement};
use coflash_flash::{Busy, CacheTiming, Channel, Finished, Timeline, Timing, When};
use coflash_ftl::{Ftl, GcMode, Stream};
use coflash_hybrid::costmodel::{Costs, FlashCosts};
use coflash_hybrid::disk::{Direction, Disks};
use coflash_hybrid::{
    ActiveBlocks, Destaging, DiskUse, FETCH_PAGES, HybridConfig, Limits, Served, Simulated, Tier,
};
use coflash_workload::Op;
use jobs::{Job, Later, Purpose};
use sizes::SizesOverTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A moment: a time, or the end of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    At(Time),
    /// As the second says, not before the first.
    With(Time, u32),
}

impl Moment for Ends {
    #[inline(always)]
    fn known(self) -> Option<Time> {
        match self {
            Self::At(time) => Some(time),
            Self::With(..) => None,
        }
    }
}

/// Pages of the request that the disk serves, next to each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    job: u32,
    direction: Direction,
    first: Lpn,
    pages: u32,
}

/// Tier, flash, disks, link.
pub(crate) struct Hybrid {
    tier: Tier,
    timeline: Timeline,
    disks: Disks,
    destages: Vec<(u32, Lpn, When)>,
    jobs: Vec<Option<Job>>,
    free: Vec<u32>,
    /// The job of each fetch, by its number.
    fetches: Vec<u32>,
    later: BinaryHeap<Reverse<Later>>,
    numbered: u64,
    run: Option<Run>,
    /// A group that gives way to other transfers.
    waiting: Option<u32>,
    disk_use: DiskUse,
    destaging: Destaging,
    link: LinkConfig,
    ns_per_byte: f64,
    start: Time,
    tail: Duration,
    now: Time,
    sizes: SizesOverTime,
}

impl Hybrid {
    /// # Errors
    /// What does not fit together.
    pub(crate) fn new(scenario: &Scenario, config: &HybridConfig) -> Result<Self, ScenarioError> {
        check(scenario, config)?;
        let refused = |(key, problem): (&str, String)| ScenarioError::new(&format!("hybrid.{key}"), problem);
        let page_bytes = scenario.flash.page_size.count;
        let disks = Disks::new(&config.disks, page_bytes)
            .map_err(|(key, problem)| ScenarioError::new(&format!("hybrid.disks.{key}"), problem))?;
        let disk_pages =
            u32::try_from(disks.pages()).ok().filter(|&pages| pages < u32::MAX / 2).ok_or_else(|| {
                let problem = format!("{} pages are too many: fewer than {}", disks.pages(), u32::MAX / 2);
                ScenarioError::new("hybrid.disks", problem)
            })?;
        let demands = config.active_blocks.demands();
        let ftl = Ftl::new(&scenario.flash, &scenario.ftl, &scenario.gc, demands, Seed(scenario.seed))
            .map_err(|(key, problem)| ScenarioError::new(key, problem))?;
        let costs = Costs { flash: flash_costs(scenario), disk: disks.costs(page_bytes) };
        let tier = Tier::new(ftl, &scenario.flash, scenario.ftl.summary, config, costs, disk_pages)
            .map_err(refused)?;
        Ok(Self {
            timeline: Timeline::new(&scenario.flash, &scenario.timing, CacheTiming::default()),
            disks,
            destages: Vec::new(),
            jobs: Vec::new(),
            free: Vec::new(),
            fetches: Vec::new(),
            later: BinaryHeap::new(),
            numbered: 0,
            run: None,
            waiting: None,
            disk_use: DiskUse { disks: config.disks.count, ..DiskUse::default() },
            destaging: config.destaging,
            link: scenario.link.clone(),
            ns_per_byte: scenario.link.ns_per_byte(),
            start: Time::ZERO,
            tail: Duration::ZERO,
            now: Time::ZERO,
            sizes: SizesOverTime::new(config.period_requests),
            tier,
        })
    }

    /// Pages that requests may be for.
    pub(crate) fn logical_pages(&self) -> u32 {
        self.disks.pages() as u32
    }

    /// What it is, in sentences.
    pub(crate) fn describe(&self) -> Vec<String> {
        let Limits { read_pages, write_pages } = self.tier.limits();
        let all = if self.disks.pages() <= u64::from(self.tier.flash_pages()) {
            ", which holds all that is on them"
        } else {
            ""
        };
        vec![
            format!(
                "{} pages of disks behind {} pages of flash{all}",
                self.disks.pages(),
                self.tier.flash_pages()
            ),
            format!("read cache of {read_pages} pages and write cache of {write_pages} at first"),
        ]
    }

    /// Adds a page to the run of those that the disk serves; it ends where the next page is not its neighbour.
    fn extend(&mut self, direction: Direction, page: Lpn) -> Ends {
        let most = if direction == Direction::Read { FETCH_PAGES } else { u32::MAX };
        let fits = |run: &Run| {
            run.direction == direction && run.pages < most && run.first.get() + run.pages == page.get()
        };
        if let Some(run) = self.run.as_mut().filter(|run| fits(run)) {
            run.pages += 1;
            return Ends::With(self.start, run.job);
        }
        self.end_run();
        let purpose = match direction {
            Direction::Read => Purpose::Fetch(None),
            Direction::Write => Purpose::Overwrite(None),
        };
        let job = self.begin_job(purpose, Vec::new());
        self.run = Some(Run { job, direction, first: page, pages: 1 });
        Ends::With(self.start, job)
    }

    fn end_run(&mut self) {
        let Some(Run { job, direction, first, pages }) = self.run.take() else { return };
        let (purpose, at) = match direction {
            Direction::Read => {
                let fetch = self.tier.fetches().then(|| self.tier.fetch(first, pages));
                if let Some(fetch) = fetch {
                    self.fetches.resize(self.fetches.len().max(fetch as usize + 1), job);
                    self.fetches[fetch as usize] = job;
                }
                (Purpose::Fetch(fetch), self.start)
            }
            Direction::Write => {
                let start = When::at(self.start);
                let media = &mut Simulated { timeline: &mut self.timeline, destages: &mut self.destages };
                let (id, ready) = self.tier.overwrite(first, pages, start, media);
                (Purpose::Overwrite(Some(id)), known(ready))
            }
        };
        self.job(job).purpose = purpose;
        self.ask(job, direction, first, pages, at);
    }
}

/// Flash has times only.
fn known(when: When) -> Time {
    when.known().expect("channels are private")
}

/// What goes with a hybrid and what does not.
fn check(scenario: &Scenario, config: &HybridConfig) -> Result<(), ScenarioError> {
    let refuse = |key: &str, problem: &str| Err(ScenarioError::new(key, problem.to_owned()));
    if scenario.timing.channel != Channel::Private {
        return refuse("timing.channel", "\"shared\" was given; a hybrid takes \"private\"");
    }
    if scenario.gc.mode == GcMode::Background {
        return refuse(
            "gc.mode",
            "\"background\" was given; a hybrid takes \"foreground\" or \"preemptive\"",
        );
    }
    if scenario.precondition != crate::scenario::PreconditionConfig::nothing() {
        return refuse(
            "precondition.fill",
            "a flash cache is empty at first: \"none\" is allowed, and nothing after it",
        );
    }
    if scenario.cache.size.pages(scenario.flash.page_size.count, 1 << 31) > 0 {
        return refuse("cache.size", "a hybrid has no device cache: \"0B\" is allowed");
    }
    if scenario.cooperation.name() != "none" {
        let given = scenario.cooperation.name();
        let problem = format!(
            "\"{given}\" was given; a hybrid takes \"none\", and a scheme of its own (hybrid.scheme)"
        );
        return Err(ScenarioError::new("cooperation", problem));
    }
    if scenario.cache.placement != Placement::InStorage {
        return refuse("cache.placement", "\"host\" was given; a hybrid has no device cache to be placed");
    }
    let first = config.scheme.build().first();
    if first.caching > 1.0 || first.read > 1.0 {
        return refuse("hybrid.scheme", "a share of more than 100% was given; 0% to 100% is allowed");
    }
    let mixes = |group: &Vec<Stream>| group.contains(&Stream::Host) && group.contains(&Stream::Evict);
    if config.active_blocks == ActiveBlocks::ByClass && scenario.ftl.shared_streams.iter().any(mixes) {
        return refuse(
            "hybrid.active_blocks",
            "\"by-class\" was given, but ftl.shared_streams has \"host\" (dirty pages) and \"evict\" (clean ones) share a \
             block: [[\"host\", \"gc\"]] is allowed, or []",
        );
    }
    Ok(())
}

/// C_PROG, C_PR, C_CP and C_E of the scenario's flash.
fn flash_costs(scenario: &Scenario) -> FlashCosts {
    let Timing { page_read, page_program, block_erase, sector_transfer, ecc_decode, copy_back, .. } =
        scenario.timing;
    let transfer = sector_transfer * (scenario.flash.page_size.count / scenario.flash.sector_size.count);
    let copy = page_read + page_program;
    FlashCosts {
        pages_per_block: scenario.flash.pages_per_block,
        page_program: page_program + transfer,
        page_read: page_read + transfer + ecc_decode,
        page_copy: if copy_back { copy } else { copy + transfer * 2 + ecc_decode },
        block_erase,
    }
}

impl Target for Hybrid {
    type When = Ends;

    #[inline]
    fn begin(&mut self, command: &Command) {
        self.now = self.now.max(command.arrival);
        self.start = command.arrival + self.link.per_command;
        self.tail = Duration::ZERO;
        let crossing = Duration { ns: (command.length_bytes as f64 * self.ns_per_byte).round() as u64 };
        match command.op {
            Op::Read => self.tail = crossing,
            Op::Write => self.start += crossing,
            Op::Trim | Op::Flush => return,
        }
        let first = command.first.expect("a transfer has pages");
        self.tier.begin(command.op == Op::Write, first, command.pages);
        self.sizes.tick(&self.tier, command.arrival);
    }

    #[inline]
    fn read(&mut self, lpn: Lpn) -> Ends {
        let media = &mut Simulated { timeline: &mut self.timeline, destages: &mut self.destages };
        match self.tier.read(lpn, When::at(self.start), media) {
            Served::Flash(when) => Ends::At(known(when)),
            Served::Disk => self.extend(Direction::Read, lpn),
            Served::Joined(fetch) => Ends::With(self.start, self.fetches[fetch as usize]),
        }
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, extent: Extent) -> Ends {
        let media = &mut Simulated { timeline: &mut self.timeline, destages: &mut self.destages };
        let served = self.tier.write(lpn, extent == Extent::Whole, When::at(self.start), media);
        let group = self.send_groups();
        match served {
            Served::Flash(when) => match group.filter(|_| self.destaging == Destaging::Foreground) {
                Some(group) => Ends::With(known(when), group),
                None => Ends::At(known(when)),
            },
            Served::Disk => self.extend(Direction::Write, lpn),
            Served::Joined(_) => unreachable!("a write joins no fetch"),
        }
    }

    fn trim(&mut self, lpn: Lpn) {
        self.tier.trim(lpn);
    }

    /// What is in flash is safe.
    fn flush(&mut self, _: &mut Vec<Ends>) {}

    #[inline]
    fn end(&mut self) -> (Time, Duration) {
        self.end_run();
        if self.tier.period_ends() {
            self.tier.disks_did(DiskUse { at: self.now, ..self.disk_use });
        }
        let media = &mut Simulated { timeline: &mut self.timeline, destages: &mut self.destages };
        self.tier.end(When::at(self.start), media);
        self.send_groups();
        (self.start, self.tail)
    }

    #[inline]
    fn advance(&mut self, until: Time, finished: &mut Vec<Finished>) {
        while let Some(at) = self.next_event().filter(|&at| at <= until) {
            self.step_to(at, finished);
        }
    }

    fn step(&mut self, finished: &mut Vec<Finished>) {
        self.drain(finished);
    }

    fn drain(&mut self, finished: &mut Vec<Finished>) -> bool {
        let event = self.next_event();
        if let Some(at) = event {
            self.step_to(at, finished);
        }
        event.is_some()
    }

    fn next_event(&self) -> Option<Time> {
        let later = self.later.peek().map(|Reverse(later)| later.at);
        [self.disks.next_event(), later].into_iter().flatten().min()
    }

    fn tell(&mut self, when: Ends, tag: u32) {
        match when {
            Ends::With(earliest, job) => self.job(job).waiters.push(Finished { tag, at: earliest }),
            Ends::At(_) => unreachable!("only a time that is not known yet is told"),
        }
    }

    fn ftl(&self) -> &Ftl {
        self.tier.ftl()
    }

    fn cache(&self) -> (CacheTally, u32) {
        let tally = self.tier.tally();
        let cache = CacheTally {
            read_hits: tally.read_hits + tally.read_hits_dirty,
            read_misses: tally.read_misses,
            write_hits: tally.write_hits,
            write_misses: tally.write_misses,
            clean_evictions_pages: tally.clean_evictions,
            dirty_evictions_pages: tally.destages,
            ..CacheTally::default()
        };
        (cache, self.tier.cache().capacity())
    }

    fn busy(&self) -> Busy {
        self.timeline.busy()
    }

    fn heap_bytes(&self) -> (usize, usize) {
        let jobs = self.jobs.capacity() * size_of::<Option<Job>>()
            + self.later.capacity() * size_of::<Later>()
            + self.fetches.capacity() * size_of::<u32>();
        (self.tier.heap_bytes().0, self.timeline.heap_bytes() + self.disks.heap_bytes() + jobs)
    }

    fn add_sections(&self, metrics: &mut Metrics) {
        // Disks may still be at work when everything is answered.
        let end = Time { ns: self.now.ns.max(metrics.simulated_ns) };
        let sizes = self.sizes.until(&self.tier, end);
        metrics.hybrid = Some(HybridMetrics::of(&self.tier, &self.disks, sizes, end.ns));
    }
}
