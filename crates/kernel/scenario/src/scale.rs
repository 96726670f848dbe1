//! The same drive with a fraction of its blocks: what is scaled, and what stays.
//!
//! Dies, planes, the pages of a block and all times of operations stay, so that a request waits as long as on the whole drive at
//! the same rate. Blocks that a pool keeps free or open are as many on a small drive: they are added to the fraction of the
//! others, and the exported capacity follows from what then holds data. So the spare space that GC works with keeps its share,
//! where a fraction of all blocks would leave less of it.

use crate::read::ScenarioError;
use crate::scenario::Scenario;
use crate::workload::Requests;
use coflash_base::{Bytes, Duration, Share};
use coflash_ftl::placement::Classes;
use coflash_ftl::{FreeMark, GcMode, Pools, Provisioning, WriteStream};
use coflash_workload::synthetic::SyntheticConfig;
use std::fmt;
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

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.parts, self.of)
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
/// (`workload.phases`, `workload.tenants`) have the keys of `workload`.
pub const SCALED_KEYS: &[(&str, Scaled)] = &[
    ("cache.size", Scaled::Bytes),
    ("cooperation.commit_interval", Scaled::Time),
    ("cooperation.deletions_max", Scaled::Count),
    ("cooperation.sole_copies_max", Scaled::Bytes),
    ("ftl.refresh.fast_retention", Scaled::Time),
    ("ftl.refresh.power_off", Scaled::Time),
    ("ftl.refresh.retention", Scaled::Time),
    ("ftl.slc_cache.blocks", Scaled::Count),
    ("ftl.slc_cache.while_free", Scaled::Mark),
    ("gc.mode.mark", Scaled::Mark),
    ("gc.victim.window", Scaled::Count),
    ("host_buffer.dirty_age_max", Scaled::Time),
    ("host_buffer.size", Scaled::Bytes),
    ("precondition.until_free", Scaled::Mark),
    ("restart.at", Scaled::Time),
    ("workload.delay", Scaled::Time),
    ("workload.disksim.requests", Scaled::Count),
    ("workload.disksim.space", Scaled::Bytes),
    ("workload.duration", Scaled::Time),
    ("workload.offset", Scaled::Bytes),
    ("workload.preset.requests", Scaled::Count),
    ("workload.preset.space", Scaled::Bytes),
    ("workload.requests_max", Scaled::Count),
    ("workload.space", Scaled::Bytes),
    ("workload.synthetic.generator.footprint", Scaled::Bytes),
    ("workload.synthetic.generator.from.ranks_per_unit", Scaled::Ranks),
    ("workload.synthetic.generator.ranks_per_unit", Scaled::Ranks),
    ("workload.synthetic.generator.from.footprint", Scaled::Bytes),
    ("workload.synthetic.requests", Scaled::Count),
    ("workload.synthetic.space", Scaled::Bytes),
];

/// The fewest blocks of a pool that hold data on a scaled drive.
pub const DATA_BLOCKS_MIN: u64 = 16;

impl Scenario {
    /// The same drive with a fraction of its blocks, under a workload for that: write amplification, shares and response times stay
    /// what they were, as far as the sentence tells that [`limits`](Self::limits) get. A fraction above 1 is a larger drive.
    ///
    /// # Errors
    /// A workload or a device that cannot be scaled, or too few blocks, with the nearest fraction that would do.
    pub fn scaled(&self, scale: Scale) -> Result<Self, ScenarioError> {
        if scale.parts == scale.of {
            return Ok(self.clone());
        }
        self.check_scalable()?;
        let pool = Pool::for_scenario(self);
        let (blocks, share) = pool.scaled(scale)?;
        let mut scaled = self.clone();
        if scaled.workload.requests == Requests::Default {
            scaled.workload.requests = Requests::Synthetic(SyntheticConfig::default());
        }
        scaled.limits.push(sentence(scale, pool.units * pool.planes, share.pool_blocks));
        if self.ftl.placement.name() != "none" {
            scaled.limits.push(
                "A placement policy that learns from writes sees fewer of them, and has fewer blocks for each class: programs per \
                 host write differ more from the whole drive's, at 1/8 by up to a quarter."
                    .to_owned(),
            );
        }
        scaled.limits.extend(
            ["fio-zipf", "kv-cache", "oltp-like"].iter().filter(|name| self.generates(name)).map(|name| {
                format!("The skew of \"{name}\" is that of the small space; \"zipf\" has that of the whole.")
            }),
        );
        let per_die = share.scaled(self.ftl.logical_pages_per_die(&self.flash));
        if per_die == 0 {
            return Err(ScenarioError::new("ftl.spare", "it leaves no page to the host".to_owned()));
        }
        let page_bytes = self.page_bytes();
        scaled.flash.exported = Some(Bytes { count: per_die * u64::from(self.flash.dies()) * page_bytes });
        // A share of all pages that leaves this number of blocks and no more.
        let data = u64::from(self.flash.planes_per_die) * self.ftl.data_pages_per_block(&self.flash) * blocks;
        let spare = u128::from(data.saturating_sub(per_die)) * u128::from(Share::ONE.ppb);
        scaled.ftl.spare.share = Share { ppb: (spare / u128::from(data)) as u64 };
        scaled.ftl.spare.definition = Provisioning::SpareOfPhysical;
        let mut table = scaled.to_table();
        if let Some(flash) = table.get_mut("flash").and_then(Value::as_table_mut) {
            flash.remove("blocks_per_plane");
        }
        share.apply(&mut table, "", page_bytes, self);
        Self::from_table(table)
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

/// A pool of blocks, in halves of blocks.
struct Pool {
    /// Blocks of a plane that are erased together.
    per_unit: u64,
    /// The planes of a pool.
    planes: u64,
    /// The units of a plane.
    units: u64,
    low_mark: FreeMark,
    /// The least that GC needs as its low mark.
    low_least: u64,
    /// The blocks by which the mark of GC in idle time is above the low mark.
    above: u64,
    /// The groups of pages that share open blocks.
    streams: u64,
    /// The logical pages of a pool, and the pages of a block for them.
    pages: [u64; 2],
}

/// The data that pools hold on a scaled drive, as a share of what they held.
struct Part {
    parts: u128,
    of: u128,
    /// The low mark before and after.
    low_marks: [u64; 2],
    pool_blocks: u64,
}

impl Pool {
    fn for_scenario(scenario: &Scenario) -> Self {
        let (flash, ftl, mode) = (&scenario.flash, &scenario.ftl, scenario.gc.mode);
        let units = ftl.erase_units(flash);
        let together = |group: &Vec<WriteStream>| {
            [WriteStream::Host, WriteStream::Gc].iter().all(|stream| group.contains(stream))
        };
        let streams = match ftl.placement.classes() {
            Ok(Classes::Own { count, .. }) => count,
            _ if ftl.shared_streams.iter().any(together) => 1,
            _ => 2,
        };
        let blocks = ftl.pools.blocks(&units);
        let low = scenario.gc.low_mark.blocks(blocks);
        let above = matches!(mode, GcMode::Background { .. })
            .then(|| mode.higher_mark(blocks, low).unwrap_or(low).saturating_sub(low));
        let planes = if ftl.pools == Pools::Die { units.planes_per_die } else { 1 };
        let pools_of_die = u64::from(units.planes_per_die / planes);
        let dies = u64::from(if ftl.pools == Pools::Device { flash.dies() } else { 1 });
        Self {
            per_unit: ftl.superblocks_per_unit(flash).into(),
            planes: planes.into(),
            units: units.blocks_per_plane.into(),
            low_mark: scenario.gc.low_mark,
            low_least: u64::from(
                ftl.placement.targets().max(1)
                    + if matches!(mode, GcMode::Preemptive { .. }) { 2 } else { 0 },
            ),
            above: above.unwrap_or(0).into(),
            streams: streams.into(),
            pages: [ftl.logical_pages_per_die(flash) * dies / pools_of_die, ftl.data_pages_per_block(&units)],
        }
    }

    fn low_mark(&self, units: u64) -> u64 {
        self.low_mark.blocks(u32::try_from(units * self.planes).unwrap_or(u32::MAX)).into()
    }

    /// The halves of blocks that hold data. Beyond the low mark one is free between two cleanings. An open block is half full on
    /// average; where GC's copies and writes share it, it is full but for what GC freed.
    fn data_halves(&self, units: u64) -> u64 {
        let open = if self.streams > 1 { self.streams } else { 0 };
        (2 * units * self.planes).saturating_sub(2 * (self.low_mark(units) + 1) + open)
    }

    /// Whether this number of blocks is enough to tell anything, and for GC to work.
    fn fits(&self, units: u64) -> bool {
        let part = self.part(units);
        let above = if self.above > 0 { part.scaled(self.above).max(1) } else { 0 };
        let kept = self.low_mark(units) + above + self.streams + 1;
        part.parts >= u128::from(2 * DATA_BLOCKS_MIN)
            && self.low_mark(units) >= self.low_least
            && part.scaled(self.pages[0]) < (units * self.planes).saturating_sub(kept) * self.pages[1]
    }

    fn part(&self, units: u64) -> Part {
        Part {
            parts: self.data_halves(units).into(),
            of: self.data_halves(self.units).max(1).into(),
            low_marks: [self.units, units].map(|units| self.low_mark(units)),
            pool_blocks: units * self.planes,
        }
    }

    /// The units of a plane on the scaled drive: the fewest that hold that fraction of the data.
    fn units(&self, scale: Scale) -> u64 {
        let all = u128::from(self.data_halves(self.units)) * u128::from(scale.parts);
        let enough = |units| u128::from(self.data_halves(units)) * u128::from(scale.of) >= all;
        let mut units = (self.units * scale.parts / scale.of).max(1);
        while !enough(units) {
            units += 1;
        }
        while units > 1 && enough(units - 1) {
            units -= 1;
        }
        units
    }

    /// The blocks of a plane on the scaled drive, and what they hold.
    fn scaled(&self, scale: Scale) -> Result<(u64, Part), ScenarioError> {
        let units = self.units(scale);
        if scale.parts < scale.of && !self.fits(units) {
            let asked = (scale.of / scale.parts).max(2);
            let fits = |&of: &u64| self.fits(self.units(Scale { parts: 1, of }));
            let nearest = (2..=self.units).filter(fits).min_by_key(|&of| of.abs_diff(asked));
            return Err(refused(format!(
                "{scale} was given, which leaves {} of {} blocks of a pool for data, fewer than GC or a sound number \
                 ({DATA_BLOCKS_MIN}) need: {}",
                self.data_halves(units) / 2,
                self.units * self.planes,
                nearest.map_or("too few for any scale".to_owned(), |of| format!(
                    "the nearest that does is 1/{of}"
                )),
            )));
        }
        Ok((units * self.per_unit, self.part(units)))
    }
}

impl Part {
    fn scaled(&self, whole: u64) -> u64 {
        u64::try_from(u128::from(whole) * self.parts / self.of).unwrap_or(u64::MAX)
    }

    /// Scale the values of a table and the tables below it that have an effect. `unit`: what sizes are multiples of.
    fn apply(&self, table: &mut Table, path: &str, unit: u64, scenario: &Scenario) {
        let align = table.get("align").and_then(Value::as_str).and_then(|text| text.parse().ok());
        let unit = align.map_or(unit, |align: Bytes| align.count.max(1));
        let is_zipf = table.get("name").and_then(Value::as_str) == Some("zipf");
        if is_zipf && [".generator", ".from"].iter().any(|end| path.ends_with(end)) {
            table.entry("ranks_per_unit").or_insert(Value::Float(1.0));
        }
        for (key, value) in table.iter_mut() {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match value {
                Value::Table(below) => self.apply(below, &inner, unit, scenario),
                Value::Array(parts) if matches!(key.as_str(), "phases" | "tenants") => {
                    parts
                        .iter_mut()
                        .filter_map(Value::as_table_mut)
                        .for_each(|part| self.apply(part, path, unit, scenario));
                }
                _ => {
                    if let Some((_, how)) = SCALED_KEYS.iter().find(|(scaled, _)| *scaled == inner)
                        && scenario.acts(&inner)
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

fn sentence(scale: Scale, before: u64, after: u64) -> String {
    format!(
        "Scaled to {scale} of its blocks ({after} a pool in place of {before}; those that are always free or open are not fewer). \
         Capacity, caches, requests, used space and intervals are scaled. Dies, the size of a block, times, rates, queues and the write buffer of \
         the device stay, and with them write amplification, shares and response times. Not kept: the length of the run in time, \
         TBW and the life in years, which are those of the small drive (DWPD stays), sequential runs longer than the scaled space, marks of less than a block; and what a run begins with (empty \
         queues, an empty write buffer) weighs more."
    )
}

fn refused(problem: String) -> ScenarioError {
    ScenarioError::new("scale", problem)
}
