//! A flash cache in front of disks.
//!
//! With private channels a moment of flash is a number; only disks have events. What is to begin later than the present (a
//! group that has yet to be read from flash, an overwrite that waits for the journal) waits in a queue until then, so that
//! disks see transfers in the order of time.

use crate::metrics::{HybridMetrics, Metrics, Sizes};
use crate::scenario::{LinkConfig, Scenario, ScenarioError};
use crate::target::{Command, Moment, Target};
use coflash_base::{Duration, Lpn, Seed, Time};
use coflash_cache::SplitCache;
use coflash_controller::{CacheTally, Extent, Placement};
use coflash_flash::{Busy, CacheTiming, Channel, Finished, Timeline, Timing, When};
use coflash_ftl::{Ftl, GcMode, Stream};
use coflash_hybrid::costmodel::{Costs, FlashCosts};
use coflash_hybrid::disk::{Answered, Direction, Disks};
use coflash_hybrid::{
    ActiveBlocks, Destaging, DiskUse, FETCH_PAGES, HybridConfig, LeaveId, Limits, Served, Simulated, Tier,
};
use coflash_workload::Op;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A moment: a time, or the end of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    At(Time),
    With(u32),
}

impl Moment for Ends {
    #[inline(always)]
    fn known(self) -> Option<Time> {
        match self {
            Self::At(time) => Some(time),
            Self::With(_) => None,
        }
    }
}

/// What a job is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// A read; its number as a fetch where it is to be cached.
    Fetch(Option<u32>),
    /// Dirty pages on their way to the disk.
    Group(LeaveId),
    /// Writes past the cache, once they have begun.
    Overwrite(Option<LeaveId>),
}

/// What disks do for the tier: one transfer, or one after the other, so that what is urgent can go in between.
#[derive(Clone, Debug)]
struct Job {
    purpose: Purpose,
    /// Pages of a group, with the times at which they are in the buffer; in the order of their addresses.
    pages: Vec<(Lpn, Time)>,
    /// The first of them that is yet to be written.
    next: usize,
    /// Requests that wait for it, once for each of their parts.
    waiters: Vec<u32>,
    /// They are not answered before.
    earliest: Time,
    /// Transfers for which it has given way since its last.
    gave_way: u32,
}

/// Pages of the request that the disk serves, next to each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    job: u32,
    direction: Direction,
    first: Lpn,
    pages: u32,
}

/// A transfer that is to begin later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Later {
    at: Time,
    /// Of transfers for the same time, the one that was thought of first goes first.
    number: u64,
    job: u32,
    first: u64,
    pages: u32,
    write: bool,
}

/// For so many transfers of others a group gives way at most, so that it comes to an end on disks that are never idle.
const GIVE_WAY_MAX: u32 = 16;

/// Tier, flash, disks, link.
pub(crate) struct Hybrid {
    tier: Tier,
    timeline: Timeline,
    disks: Disks,
    destages: Vec<(u32, Lpn, When)>,
    jobs: Vec<Option<Job>>,
    free: Vec<u32>,
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

    fn begin_job(&mut self, purpose: Purpose, pages: Vec<(Lpn, Time)>) -> u32 {
        let job = Job { purpose, pages, next: 0, waiters: Vec::new(), earliest: Time::ZERO, gave_way: 0 };
        let id = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() as u32 - 1
        });
        self.jobs[id as usize] = Some(job);
        id
    }

    fn job(&mut self, id: u32) -> &mut Job {
        self.jobs[id as usize].as_mut().expect("it has not ended")
    }

    /// Has a disk asked at `at`, which is not before the present.
    fn ask(&mut self, job: u32, direction: Direction, first: Lpn, pages: u32, at: Time) {
        let first = u64::from(first.get());
        if at <= self.now {
            self.disks.submit(direction, first, pages, job, self.now);
            return;
        }
        self.numbered += 1;
        let write = direction == Direction::Write;
        self.later.push(Reverse(Later { at, number: self.numbered, job, first, pages, write }));
    }

    /// Adds a page to the run of those that the disk serves; it ends where the next page is not its neighbour.
    fn extend(&mut self, direction: Direction, page: Lpn) -> Ends {
        let most = if direction == Direction::Read { FETCH_PAGES } else { u32::MAX };
        let fits = |run: &Run| {
            run.direction == direction && run.pages < most && run.first.get() + run.pages == page.get()
        };
        if let Some(run) = self.run.as_mut().filter(|run| fits(run)) {
            run.pages += 1;
            return Ends::With(run.job);
        }
        self.end_run();
        let purpose = match direction {
            Direction::Read => Purpose::Fetch(None),
            Direction::Write => Purpose::Overwrite(None),
        };
        let job = self.begin_job(purpose, Vec::new());
        self.run = Some(Run { job, direction, first: page, pages: 1 });
        Ends::With(job)
    }

    fn end_run(&mut self) {
        let Some(Run { job, direction, first, pages }) = self.run.take() else { return };
        let (purpose, at) = match direction {
            Direction::Read => {
                let fetch = self.tier.fetches().then(|| self.tier.fetch(first, pages));
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

    /// Sends groups that the tier has read into its buffer on their way. The last of their jobs.
    #[inline]
    fn send_groups(&mut self) -> Option<u32> {
        if self.destages.is_empty() { None } else { self.send_groups_now() }
    }

    fn send_groups_now(&mut self) -> Option<u32> {
        let destages = std::mem::take(&mut self.destages);
        let mut last = None;
        for group in destages.chunk_by(|one, other| one.0 == other.0) {
            let pages = group.iter().map(|&(_, page, read)| (page, known(read))).collect();
            let job = self.begin_job(Purpose::Group(LeaveId::new(group[0].0)), pages);
            self.continue_group(job);
            last = Some(job);
        }
        self.tier.started().for_each(drop);
        self.destages = destages;
        self.destages.clear();
        last
    }

    /// Has the disk write the next pages of a group that are neighbours, or lets others go first; false where none is left.
    fn continue_group(&mut self, id: u32) -> bool {
        let Self { jobs, tier, disks, .. } = self;
        let job = jobs[id as usize].as_mut().expect("it has not ended");
        let Purpose::Group(group) = job.purpose else { return false };
        let rest = &job.pages[job.next..];
        let Some(skipped) = rest.iter().position(|&(page, _)| tier.leaves(group, page)) else { return false };
        let rest = &rest[skipped..];
        let ((first, mut at), mut pages) = (rest[0], 1);
        if tier.gives_way(group) && !disks.is_idle(u64::from(first.get())) && job.gave_way < GIVE_WAY_MAX {
            job.gave_way += 1;
            debug_assert!(self.waiting.is_none(), "one group at a time gives way");
            self.waiting = Some(id);
            return true;
        }
        job.gave_way = 0;
        for &(page, read) in &rest[1..] {
            if page.get() != first.get() + pages || !tier.leaves(group, page) {
                break;
            }
            at = at.max(read);
            pages += 1;
        }
        job.next += skipped + pages as usize;
        self.ask(id, Direction::Write, first, pages, at);
        true
    }

    /// A transfer of a job was done at `at`.
    fn transferred(&mut self, id: u32, at: Time, finished: &mut Vec<Finished>) {
        if self.continue_group(id) {
            return;
        }
        let job = self.jobs[id as usize].take().expect("it has not ended");
        self.free.push(id);
        let media = &mut Simulated { timeline: &mut self.timeline, destages: &mut self.destages };
        let start = When::at(at);
        let mut answer = at.max(job.earliest);
        match job.purpose {
            Purpose::Fetch(None) => {}
            Purpose::Fetch(Some(fetch)) => self.tier.fetched(fetch, start, media),
            Purpose::Group(group) => {
                // Who waited for room need not wait for the journal.
                self.tier.destaged(group, start, media);
            }
            Purpose::Overwrite(id) => {
                let id = id.expect("it has begun");
                answer = answer.max(known(self.tier.overwritten(id, start, media)));
            }
        }
        finished.extend(job.waiters.iter().map(|&tag| Finished { tag, at: answer }));
        self.send_groups();
    }

    /// Passes time to the next event, which is due at `at`.
    fn step_to(&mut self, at: Time, finished: &mut Vec<Finished>) {
        self.now = at;
        // What the disk finishes comes first: it may then choose among all that has come.
        if self.disks.next_event() == Some(at) {
            if let Some(Answered { tag, at, service }) = self.disks.step() {
                *match self.job(tag).purpose {
                    Purpose::Fetch(Some(_)) => &mut self.disk_use.fetched_ns,
                    Purpose::Group(_) => &mut self.disk_use.destaged_ns,
                    Purpose::Fetch(None) | Purpose::Overwrite(_) => &mut self.disk_use.past_ns,
                } += service.ns;
                self.transferred(tag, at, finished);
            }
            if let Some(group) = self.waiting.take() {
                self.transferred(group, at, finished);
            }
        } else if let Some(Reverse(Later { job, first, pages, write, .. })) = self.later.pop() {
            let direction = if write { Direction::Write } else { Direction::Read };
            self.disks.submit(direction, first, pages, job, at);
        }
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
        }
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, extent: Extent) -> Ends {
        let media = &mut Simulated { timeline: &mut self.timeline, destages: &mut self.destages };
        let served = self.tier.write(lpn, extent == Extent::Whole, When::at(self.start), media);
        let group = self.send_groups();
        match served {
            Served::Flash(when) => match group.filter(|_| self.destaging == Destaging::Foreground) {
                Some(group) => {
                    let job = self.job(group);
                    job.earliest = job.earliest.max(known(when));
                    Ends::With(group)
                }
                None => Ends::At(known(when)),
            },
            Served::Disk => self.extend(Direction::Write, lpn),
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
            Ends::With(job) => self.job(job).waiters.push(tag),
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
        let jobs =
            self.jobs.capacity() * size_of::<Option<Job>>() + self.later.capacity() * size_of::<Later>();
        (self.tier.heap_bytes().0, self.timeline.heap_bytes() + self.disks.heap_bytes() + jobs)
    }

    fn add_sections(&self, metrics: &mut Metrics) {
        // Disks may still be at work when everything is answered.
        let end = Time { ns: self.now.ns.max(metrics.simulated_ns) };
        let sizes = self.sizes.until(&self.tier, end);
        metrics.hybrid = Some(HybridMetrics::of(&self.tier, &self.disks, sizes, end.ns));
    }
}

/// How large the caches were, in so few samples that memory stays flat.
struct SizesOverTime {
    samples: Vec<Sizes>,
    /// Requests between two samples, and until the next.
    every: u32,
    left: u32,
}

impl SizesOverTime {
    const SAMPLES_MAX: usize = 512;

    fn new(period_requests: u32) -> Self {
        Self { samples: Vec::new(), every: (period_requests / 16).max(1), left: 1 }
    }

    #[inline]
    fn tick(&mut self, tier: &Tier, at: Time) {
        self.left -= 1;
        if self.left == 0 {
            self.take(tier, at);
        }
    }

    fn sample(tier: &Tier, at: Time) -> Sizes {
        let (cache, limits): (&SplitCache, _) = (tier.cache(), tier.limits());
        Sizes {
            at_ns: at.ns,
            clean_pages: cache.clean_len(),
            dirty_pages: cache.dirty_len(),
            read_limit_pages: limits.read_pages,
            write_limit_pages: limits.write_pages,
        }
    }

    /// The samples, and how large the caches are at the end.
    fn until(&self, tier: &Tier, end: Time) -> Vec<Sizes> {
        let last =
            self.samples.last().is_none_or(|last| last.at_ns < end.ns).then(|| Self::sample(tier, end));
        self.samples.iter().copied().chain(last).collect()
    }

    fn take(&mut self, tier: &Tier, at: Time) {
        self.samples.push(Self::sample(tier, at));
        if self.samples.len() == Self::SAMPLES_MAX {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.every = self.every.saturating_mul(2);
        }
        self.left = self.every;
    }
}
