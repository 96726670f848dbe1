//! The same drive with a fraction of its blocks: what is scaled, and what stays.
//!
//! Dies, planes, the pages of a block and all times of operations stay, so that a request waits as long as on the whole drive at
//! the same rate. Blocks that a pool keeps free are as many on a small drive: they are added to the fraction of the others. The
//! exported capacity is that fraction of the whole's; with which one write amplification stays, the Python package measures (`scaling.py`).

use crate::read::ScenarioError;
use crate::replay::{ReplayConfig, ReplayMode};
use crate::scenario::Scenario;
use crate::workload::Requests;
use coflash_base::{Bytes, Duration, Share};
use coflash_ftl::{FreeMark, Pools, Provisioning, WriteStream};
use coflash_media::Geometry;
use coflash_workload::synthetic::SyntheticConfig;
use std::str::FromStr;
use toml::{Table, Value};

/// A fraction of the blocks of a drive, such as 1/64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    parts: u64,
    of: u64,
}

impl FromStr for Scale {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let (parts, of) = text.split_once('/').unwrap_or((text, "1"));
        match (parts.trim().parse::<u64>(), of.trim().parse::<u64>()) {
            (Ok(parts @ 2..), Ok(1)) if !text.contains('/') => Err(refused(format!(
                "\"{text}\" was given; 1/{parts} is a fraction of the drive, {parts}/1 a drive that is {parts} times as large"
            ))),
            (Ok(parts @ 1..), Ok(of @ 1..=0xf_ffff)) if parts / of <= 1024 => Ok(Self { parts, of }),
            _ => Err(refused(format!(
                "\"{text}\" was given; a fraction from 1/1048575, such as 1/64, is allowed"
            ))),
        }
    }
}

/// What becomes of the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaled {
    /// A size in bytes, in whole pages or alignment units; a share stays.
    Bytes,
    /// A number.
    Count,
    /// A number of free blocks: what it is above `gc.low_mark`; a share stays.
    Mark,
    /// A time in which a part of the drive is written. At the same rate of requests that part is smaller.
    Time,
    /// The ranks of Zipf's law that a unit of the space stands for: as many more as there are fewer units.
    Ranks,
}

/// The keys that are scaled, beside `flash.blocks_per_plane`, `flash.exported` and `ftl.spare`. Parts of a workload
/// (`workload.phases`, `workload.tenants`) have the keys of `workload`. Between keys are spaces.
pub const SCALED_KEYS: &[(Scaled, &str)] = &[
    (
        Scaled::Bytes,
        "cache.size cooperation.sole_copies_max host_buffer.size workload.disksim.space workload.offset \
         workload.preset.space workload.space workload.synthetic.generator.footprint \
         workload.synthetic.generator.from.footprint workload.synthetic.space",
    ),
    (
        Scaled::Count,
        "cooperation.deletions_max ftl.slc_cache.blocks gc.victim.window workload.disksim.requests \
         workload.preset.requests workload.requests_max workload.synthetic.requests",
    ),
    (Scaled::Mark, "ftl.slc_cache.while_free gc.mode.mark precondition.until_free"),
    (
        Scaled::Ranks,
        "workload.synthetic.generator.from.ranks_per_unit workload.synthetic.generator.ranks_per_unit",
    ),
    (
        Scaled::Time,
        "cooperation.commit_interval ftl.refresh.fast_retention ftl.refresh.power_off ftl.refresh.retention \
         host_buffer.dirty_age_max restart.at workload.delay workload.duration",
    ),
];

/// The pages of a scaled cache below which a skewed workload loses hits: its ranks go round 64 units.
const CACHE_PAGES_MIN: u64 = 256;

/// The fewest blocks of a pool that hold data on a scaled drive.
pub const DATA_BLOCKS_MIN: u64 = 16;

impl Scenario {
    /// The same drive with a fraction of its blocks and of its exported capacity, under a workload for that, with a sentence among its
    /// [`limits`](Self::limits) on what stays. A fraction above 1 is a larger drive.
    ///
    /// # Errors
    /// A workload or a device that cannot be scaled, or too few blocks, with the nearest fraction that would do.
    pub fn scaled(&self, scale: Scale) -> Result<Self, ScenarioError> {
        if scale.parts == scale.of {
            return Ok(self.clone());
        }
        self.check_scalable()?;
        let pool = Pool::for_scenario(self);
        let scaled = self.part_of(&pool, scale)?;
        if scale.parts < scale.of && !pool.fits(scale, &scaled) {
            let fits = |of| {
                let scale = Scale { parts: 1, of };
                self.part_of(&pool, scale).is_ok_and(|scaled| pool.fits(scale, &scaled))
            };
            // A coarser fraction has more blocks: what is too fine is halved away.
            let (mut nearest, mut finer) = (1, (scale.of / scale.parts).clamp(2, pool.units) + 1);
            while finer - nearest > 1 {
                let middle = nearest.midpoint(finer);
                *(if fits(middle) { &mut nearest } else { &mut finer }) = middle;
            }
            return Err(refused(format!(
                "{}/{} was given, which leaves {} of {} blocks of a pool for data, fewer than GC or a sound number \
                 ({DATA_BLOCKS_MIN}) need: {}",
                scale.parts,
                scale.of,
                pool.data_blocks(pool.units(scale)),
                pool.units * pool.planes,
                match nearest {
                    1 => "too few for any scale".to_owned(),
                    of => format!("the nearest that does is 1/{of}"),
                },
            )));
        }
        Ok(scaled)
    }

    /// That fraction of the drive, however few blocks it has.
    fn part_of(&self, pool: &Pool, scale: Scale) -> Result<Self, ScenarioError> {
        let units = pool.units(scale);
        let (share, mut scaled) = (pool.part(units), self.clone());
        if scaled.workload.requests == Requests::Default {
            scaled.workload.requests = Requests::Synthetic(SyntheticConfig::default());
        }
        scaled.limits.push(sentence(scale, pool.units * pool.planes, units * pool.planes));
        scaled.limits.extend(["kv-cache", "oltp-like"].iter().filter(|name| self.generates(name)).map(
            |name| {
                format!("The skew of \"{name}\" is that of the small space; \"zipf\" has that of the whole.")
            },
        ));
        let per_die = share.scaled(self.ftl.logical_pages_per_die(&self.flash)).max(1);
        scaled.flash.blocks_per_plane = (units * pool.per_unit) as u32;
        let scaled = share.applied(&scaled.exporting(per_die), self, |_, _| true)?;
        let logical_pages = scaled.ftl.logical_pages(&scaled.flash).into();
        let cached = scaled.cache.size.pages(self.page_bytes(), logical_pages);
        let few = (scale.parts < scale.of && (1..CACHE_PAGES_MIN).contains(&cached)).then(|| {
            format!("The cache has {cached} pages: with fewer than some {CACHE_PAGES_MIN}, a skewed workload has fewer hits than on the whole drive.")
        });
        Ok(Self { limits: scaled.limits.iter().cloned().chain(few).collect(), ..scaled })
    }

    /// The drive with the same blocks, whose dies export `per_die` pages each.
    #[must_use]
    pub fn exporting(&self, per_die: u64) -> Self {
        let data = u64::from(self.flash.blocks_per_die()) * self.ftl.data_pages_per_block(&self.flash);
        let exported = Some(Bytes { count: per_die * u64::from(self.flash.dies()) * self.page_bytes() });
        // A share of all pages that leaves this number of blocks and no more.
        let spare = u128::from(data.saturating_sub(per_die)) * u128::from(Share::ONE.ppb);
        let mut ftl = self.ftl.clone();
        ftl.spare.share = Share { ppb: (spare / u128::from(data)) as u64 };
        ftl.spare.definition = Provisioning::SpareOfPhysical;
        Self { flash: Geometry { exported, ..self.flash.clone() }, ftl, ..self.clone() }
    }

    /// Some of the dies with their part of the caches and of the workload, which they get as fast as they take it: their GC does what
    /// that of all does, in less time.
    ///
    /// # Errors
    /// A workload that cannot be divided.
    pub fn of_dies(&self, dies: u32) -> Result<Self, ScenarioError> {
        let part = Part { parts: dies.into(), of: self.flash.dies().into(), low_marks: [0, 0] };
        let mut some = self.exporting(self.ftl.logical_pages_per_die(&self.flash));
        let divided = |size: Option<Bytes>| size.map(|size| Bytes { count: part.scaled(size.count) });
        (some.flash.exported, some.ftl.reclaim_unit) =
            (divided(some.flash.exported), divided(some.ftl.reclaim_unit));
        (some.flash.channels, some.flash.chips_per_channel, some.flash.dies_per_chip) = (dies, 1, 1);
        some.replay = ReplayConfig { mode: Some(ReplayMode::Closed), ..ReplayConfig::default() };
        part.applied(&some, self, |key, how| {
            let is_size = matches!(how, Scaled::Bytes | Scaled::Count);
            key.starts_with("workload.") || is_size && !key.starts_with("ftl.") && !key.starts_with("gc.")
        })
    }

    /// Refuse what has addresses, distances or places of its own.
    fn check_scalable(&self) -> Result<(), ScenarioError> {
        const SYNTHETIC: &str = "a synthetic or preset workload can";
        let (what, instead) = match &self.workload.requests {
            _ if self.hybrid.is_some() => ("hybrid: the seeks of its disks", "flash without disks can"),
            Requests::Trace(_) => (
                "workload.trace: the addresses of a recorded trace",
                "coflash trace slice --sample N writes a part of them, for the drive of coflash scenario show --scale 1/N",
            ),
            Requests::Like(_) => ("workload.like: the reuse distances of a trace", SYNTHETIC),
            Requests::Fio(_) => ("workload.fio: the sizes in a job file", SYNTHETIC),
            _ if self.generates("reuse-flows") => ("reuse-flows: its reuse distances", SYNTHETIC),
            _ => return Ok(()),
        };
        Err(refused(format!("{what} cannot follow the drive; {instead}")))
    }

    /// Whether a part of the workload is of this generator or preset.
    fn generates(&self, name: &str) -> bool {
        serde_json::to_string(&self.workload).is_ok_and(|text| text.contains(&format!("\"{name}\"")))
    }
}

/// A pool of blocks.
struct Pool {
    /// Blocks of a plane that are erased together.
    per_unit: u64,
    /// The planes of a pool.
    planes: u64,
    /// The units of a plane.
    units: u64,
    low_mark: FreeMark,
    /// Whether GC's copies have open blocks of their own: one for each pool.
    is_apart: bool,
}

/// The data that pools hold on a scaled drive, as a share of what they held.
struct Part {
    parts: u128,
    of: u128,
    /// The low mark before and after.
    low_marks: [u64; 2],
}

impl Pool {
    fn for_scenario(scenario: &Scenario) -> Self {
        let (flash, ftl) = (&scenario.flash, &scenario.ftl);
        let units = ftl.erase_units(flash);
        Self {
            per_unit: ftl.superblocks_per_unit(flash).into(),
            planes: if ftl.pools == Pools::Die { units.planes_per_die } else { 1 }.into(),
            units: units.blocks_per_plane.into(),
            low_mark: scenario.gc.low_mark,
            is_apart: !ftl.shared_streams.iter().any(|group| {
                [WriteStream::Host, WriteStream::Gc].iter().all(|stream| group.contains(stream))
            }),
        }
    }

    fn low_mark(&self, units: u64) -> u64 {
        self.low_mark.blocks(u32::try_from(units * self.planes).unwrap_or(u32::MAX)).into()
    }

    /// The blocks that hold data. Beyond the low mark one is free between two cleanings. Two open blocks are half full on average; a
    /// single one, which GC's copies share, is full but for what GC freed.
    fn data_blocks(&self, units: u64) -> u64 {
        (units * self.planes).saturating_sub(self.low_mark(units) + 1 + u64::from(self.is_apart))
    }

    /// Whether this number of blocks is enough to tell anything, and for GC to work.
    fn fits(&self, scale: Scale, scaled: &Scenario) -> bool {
        self.data_blocks(self.units(scale)) >= DATA_BLOCKS_MIN
            && scaled.of_dies(1).is_ok_and(|die| die.erased_flash().is_ok())
    }

    fn part(&self, units: u64) -> Part {
        Part {
            parts: self.data_blocks(units).into(),
            of: self.data_blocks(self.units).max(1).into(),
            low_marks: [self.units, units].map(|units| self.low_mark(units)),
        }
    }

    /// The units of a plane on the scaled drive: the fewest that hold that fraction of the data.
    fn units(&self, scale: Scale) -> u64 {
        let all = u128::from(self.data_blocks(self.units)) * u128::from(scale.parts);
        let enough = |&units: &u64| u128::from(self.data_blocks(units)) * u128::from(scale.of) >= all;
        (1..).find(enough).expect("many units hold any amount of data")
    }
}

impl Part {
    fn scaled(&self, whole: u64) -> u64 {
        u64::try_from(u128::from(whole) * self.parts / self.of).unwrap_or(u64::MAX)
    }

    /// The scenario with the scaled values of those keys that have an effect in `acting` and are `chosen`.
    fn applied(
        &self,
        scenario: &Scenario,
        acting: &Scenario,
        chosen: fn(&str, Scaled) -> bool,
    ) -> Result<Scenario, ScenarioError> {
        let mut table = scenario.to_table();
        if let Some(flash) = table.get_mut("flash").and_then(Value::as_table_mut) {
            flash.remove("blocks_per_plane");
        }
        self.apply(&mut table, "", scenario.page_bytes(), acting, chosen);
        Scenario::from_table(table)
    }

    /// Scale the values of a table and the tables below it. `unit`: what sizes are multiples of.
    fn apply(
        &self,
        table: &mut Table,
        path: &str,
        unit: u64,
        scenario: &Scenario,
        chosen: fn(&str, Scaled) -> bool,
    ) {
        let align = table.get("align").and_then(Value::as_str).and_then(|text| text.parse().ok());
        let unit = align.map_or(unit, |align: Bytes| align.count.max(1));
        let is_zipf = table.get("name").and_then(Value::as_str) == Some("zipf");
        if is_zipf && [".generator", ".from"].iter().any(|end| path.ends_with(end)) {
            table.entry("ranks_per_unit").or_insert(Value::Float(1.0));
        }
        for (key, value) in table.iter_mut() {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match value {
                Value::Table(below) => self.apply(below, &inner, unit, scenario, chosen),
                Value::Array(parts) if matches!(key.as_str(), "phases" | "tenants") => {
                    parts
                        .iter_mut()
                        .filter_map(Value::as_table_mut)
                        .for_each(|part| self.apply(part, path, unit, scenario, chosen));
                }
                _ => {
                    let has_key = |(_, keys): &&(Scaled, &str)| keys.split(' ').any(|key| key == inner);
                    if let Some((how, _)) = SCALED_KEYS.iter().find(has_key)
                        && scenario.acts(&inner)
                        && chosen(&inner, *how)
                    {
                        self.change(value, *how, unit);
                    }
                }
            }
        }
    }

    fn change(&self, value: &mut Value, how: Scaled, unit: u64) {
        match (how, value) {
            (how, Value::Array(items)) => items.iter_mut().for_each(|item| self.change(item, how, unit)),
            (Scaled::Bytes, Value::String(text)) => {
                if let Ok(Bytes { count: count @ 1.. }) = text.parse() {
                    *text = Bytes { count: self.scaled(count / unit).max(1) * unit }.to_string();
                }
            }
            (Scaled::Time, Value::String(text)) => {
                if let Ok(Duration { ns: ns @ 1.. }) = text.parse() {
                    *text = Duration { ns: self.scaled(ns).max(1) }.to_string();
                }
            }
            (Scaled::Count, Value::Integer(count)) if *count > 0 => {
                *count = i64::try_from(self.scaled(count.unsigned_abs())).unwrap_or(i64::MAX).max(1);
            }
            (Scaled::Ranks, Value::Float(ranks)) => {
                *ranks = (*ranks * self.of as f64 / self.parts as f64).max(1.0);
            }
            (Scaled::Mark, Value::Integer(blocks)) => {
                let [low, scaled] = self.low_marks;
                let above = blocks.unsigned_abs().saturating_sub(low);
                *blocks = (scaled + if above > 0 { self.scaled(above).max(1) } else { 0 }) as i64;
            }
            _ => {}
        }
    }
}

fn sentence(Scale { parts, of }: Scale, before: u64, after: u64) -> String {
    format!(
        "Scaled to {parts}/{of} of its blocks ({after} a pool in place of {before}; those that are always free are not fewer). \
         Capacity, caches, requests, used space and intervals are scaled. Dies, the size of a block, times, rates, queues and the write buffer of \
         the device stay, and with them shares and response times; write amplification where a note says that it was measured, else it may be up to a tenth off. Not kept: the length of the run in time, \
         TBW and the life in years, which are those of the small drive, DWPD (more by as much as it has more flash for what it exports), sequential runs longer than the scaled space, marks of less than a block; and what a run begins with (empty \
         queues, an empty write buffer) weighs more."
    )
}

fn refused(problem: String) -> ScenarioError {
    ScenarioError::new("scale", problem)
}
