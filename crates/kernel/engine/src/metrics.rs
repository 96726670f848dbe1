//! The metrics of a result: those of the host's requests, and the tree of all metrics.

use crate::amplification::{Amplification, DeviceAmplification};
use crate::device::{Endurance, EnergyUse, Throughput};
use crate::host::{AllResponses, HostCounters, ReadResponses, WriteResponses};
use crate::load::Load;
use crate::spare::SpareSpace;
use coflash_base::measure::{Assumption, Report, Section, SectionInfo, Value};
use coflash_ftl::{FastBlockCounters, FtlCounters, PlacementClass, Programs, SlcCounters, UsedSpace};
use coflash_hybrid::{AboveCounters, MappingCounters, Sizes, TierCounters, TierSize};
use coflash_level::cooperation::{CommitCounters, MovingCounters, ShadowCounters, SoleCopyCounters};
use coflash_level::nvm::MetadataCounters;
use coflash_level::{CacheCounters, DropCounters, HOST_BUFFER, link_sections};
use coflash_media::disk::DiskCounters;
use coflash_media::{BufferedPages, DieTime, DiskTime, FlashOperations, Suspensions};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

coflash_base::measures! {
    /// Restarts of host and device. All blocks with data of fast programs are refreshed at once then.
    pub struct RestartCounters in "restart", "Restarts" {
        /// Restarts. Those scheduled for after the last request did not happen.
        restarts: u64, "restarts";
        /// Versions of pages, deletions too, lost in the host: dirty in its buffer or a volatile cache, or not committed.
        lost_host_pages: u64, "dirty pages lost in the host", pages, cost;
        /// Versions of pages, deletions too, lost in the device: dirty in a volatile cache, or not committed.
        lost_device_pages: u64, "dirty pages lost in the device", pages, cost;
        /// Pages programmed by the refreshes.
        refreshed_pages: u64, "pages refreshed after a restart", pages, cost;
        /// Blocks erased by the refreshes.
        erases_blocks: u64, "blocks erased after a restart", blocks, cost;
        /// Time that dies spent on the refreshes, summed over the dies.
        die_time_ns: u64, "time of dies on refreshes after a restart", ns, cost;
        /// The longest time from a restart until all dies were idle, operations under way included.
        busy_max_ns: u64, "dies busy after a restart, longest", ns, cost;
    }
}

coflash_base::measures! {
    /// Erases of single blocks, in the measured part.
    pub struct EraseCounts in "erase_count", "Wear" {
        /// The mean.
        mean: f64, "erases of a block, mean", cost, untabled;
        /// The maximum.
        max: u32, "erases of a block, maximum", cost, untabled;
        /// The standard deviation.
        stddev: f64, "erases of a block, std. deviation", cost, untabled;
    }
}

impl EraseCounts {
    pub(crate) fn summarise(counts: &[u32]) -> Self {
        let n = counts.len() as u128;
        let sum: u128 = counts.iter().map(|&count| u128::from(count)).sum();
        let squares: u128 = counts.iter().map(|&count| u128::from(count).pow(2)).sum();
        let variance = (n * squares - sum * sum) as f64 / (n * n) as f64;
        Self {
            mean: sum as f64 / n as f64,
            max: counts.iter().copied().max().unwrap_or(0),
            stddev: variance.sqrt(),
        }
    }
}

/// Every section that a result may have, in the order of tables.
#[must_use]
pub fn sections() -> Vec<&'static SectionInfo> {
    const HEAD: &[&SectionInfo] = &[
        &HostCounters::INFO,
        &Throughput::INFO,
        &Amplification::INFO,
        &FtlCounters::INFO,
        &UsedSpace::INFO,
        &Programs::INFO,
        &SlcCounters::INFO,
        &DropCounters::INFO,
        &DieTime::INFO,
        &FlashOperations::INFO,
        &Suspensions::INFO,
        &BufferedPages::INFO,
    ];
    const LEVELS: &[&SectionInfo] = &[
        &CacheCounters::INFO,
        &MetadataCounters::INFO,
        &TierCounters::INFO,
        &DiskCounters::INFO,
        &DiskTime::INFO,
        &MappingCounters::INFO,
        &AboveCounters::INFO,
        &TierSize::INFO,
        HOST_BUFFER_INFO,
        &DeviceAmplification::INFO,
        &ShadowCounters::INFO,
        &FastBlockCounters::INFO,
        &RestartCounters::INFO,
        &CommitCounters::INFO,
        &SoleCopyCounters::INFO,
        &MovingCounters::INFO,
    ];
    const TAIL: &[&SectionInfo] = &[
        &AllResponses::INFO,
        &ReadResponses::INFO,
        &WriteResponses::INFO,
        &EraseCounts::INFO,
        &Endurance::INFO,
        &EnergyUse::INFO,
        &SpareSpace::INFO,
        &Load::INFO,
    ];
    [HEAD, LEVELS, &link_sections(), TAIL].concat()
}

const HOST_BUFFER_INFO: &SectionInfo = &HOST_BUFFER;

/// The sections of lists: measures at several times, or of several classes.
#[must_use]
pub fn lists() -> Vec<&'static SectionInfo> {
    vec![&PlacementClass::INFO, &Sizes::INFO]
}

/// The metrics of a run, by the dotted paths of their sections.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics(Report);

impl Metrics {
    pub(crate) fn new(report: Report) -> Self {
        Self(report)
    }

    /// What the measures take for granted.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        self.0.assumptions()
    }

    /// A section; zeros if this run has none.
    #[must_use]
    pub fn get<S: Section>(&self) -> S {
        self.0.get()
    }

    /// The value at a dotted path; `None` if this run has no such measure.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<Value> {
        self.0.value(path)
    }

    /// The count at a dotted path.
    ///
    /// # Panics
    /// This run has no such count.
    #[must_use]
    pub fn count(&self, path: &str) -> u64 {
        match self.value(path) {
            Some(Value::Count(count)) => count,
            other => panic!("{path} is {other:?} and no count"),
        }
    }

    /// The number at a dotted path; `None` if this run has none.
    #[must_use]
    pub fn number(&self, path: &str) -> Option<f64> {
        match self.value(path)? {
            Value::Count(count) => Some(count as f64),
            Value::Real(number) => Some(number),
            Value::None => None,
        }
    }

    /// All flash programs.
    #[must_use]
    pub fn programs_pages(&self) -> u64 {
        self.0.get::<Programs>().all()
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut root = Table::default();
        for (info, values) in self.0.sections() {
            let table = root.at(info.path);
            let names = info.measures.iter().map(|measure| measure.name);
            table.0.extend(names.zip(values.iter().copied().map(Entry::Value)));
        }
        for (info, rows) in self.0.lists() {
            let (path, name) = info.path.rsplit_once('.').unwrap_or(("", info.path));
            let row = |values: &Vec<Value>| {
                let names = info.measures.iter().map(|measure| measure.name);
                Table(names.zip(values.iter().copied().map(Entry::Value)).collect())
            };
            root.at(path).0.push((name, Entry::List(rows.iter().map(row).collect())));
        }
        root.serialize(serializer)
    }
}

/// An entry of the tree.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Value(Value),
    Table(Table),
    List(Vec<Table>),
}

/// Named entries in order.
#[derive(Default)]
struct Table(Vec<(&'static str, Entry)>);

impl Table {
    /// The table at a dotted path, created if it is missing.
    fn at(&mut self, path: &'static str) -> &mut Self {
        if path.is_empty() {
            return self;
        }
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let place = self.0.iter().position(|(name, _)| *name == first).unwrap_or_else(|| {
            self.0.push((first, Entry::Table(Self::default())));
            self.0.len() - 1
        });
        match &mut self.0[place].1 {
            Entry::Table(table) => table.at(rest),
            _ => unreachable!("{first} is a section and no measure"),
        }
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, entry) in &self.0 {
            map.serialize_entry(name, entry)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_measure_has_a_path_of_its_own_and_names_what_is_there() {
        let mut paths = BTreeSet::new();
        for info in sections() {
            for measure in info.measures {
                let path = format!("{}.{}", info.path, measure.name);
                assert!(paths.insert(path.clone()), "{path} is declared twice");
                for named in measure.part_of.iter().chain(&measure.unlike) {
                    let found = info.measures.iter().any(|other| other.name == *named);
                    assert!(found, "{path} names {named}, which is not in its section");
                }
            }
        }
    }
}
