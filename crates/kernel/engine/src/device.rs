//! Measures of the device as a product: throughput, endurance, energy. All follow from counters of the run.

use crate::host::{HostCounters, ReadResponses, WriteResponses};
use coflash_base::measure::{Assumption, Report, ratio};
use coflash_ftl::Programs;
use coflash_media::{Cell, FlashOperations, Geometry};
use coflash_scenario::{EnduranceConfig, EnergyConfig, Scenario};

coflash_base::measures! {
    /// Requests and bytes of the host per second of simulated time. In an open loop, a device that keeps up has the rate of its
    /// workload, which may be less than it could do.
    pub struct Throughput in "throughput", "Throughput" {
        /// Requests answered per second, trims and flushes included.
        iops: Option<f64>, "IOPS", per_second, gain;
        /// Reads answered per second.
        read_iops: Option<f64>, "IOPS, reads", per_second, gain, untabled;
        /// Writes answered per second.
        write_iops: Option<f64>, "IOPS, writes", per_second, gain, untabled;
        /// Bytes read and written per second.
        bandwidth: Option<f64>, "bandwidth", bytes_per_second, gain;
        /// Bytes read per second.
        read_bandwidth: Option<f64>, "bandwidth, reads", bytes_per_second, gain, untabled;
        /// Bytes written per second.
        write_bandwidth: Option<f64>, "bandwidth, writes", bytes_per_second, gain, untabled;
    }
}

coflash_base::measures! {
    /// Writes and time until the blocks are worn out, if the workload continues as in this run. Blocks are worn out after
    /// `endurance.rated_cycles` erases on average: wear is assumed to be even. This number stands beside the measures; by default it
    /// follows from `flash.cell`.
    pub struct Endurance in "endurance", "Endurance" {
        /// Bytes that the host can write (TBW, in bytes).
        tbw_bytes: Option<f64>, "written to end of life", bytes, gain;
        /// How often per day the host can write the exported capacity during `endurance.warranty_years` (DWPD). Not for a flash
        /// cache before disks.
        drive_writes_per_day: Option<f64>, "drive writes per day", ratio, gain;
        /// Years until then, if the host always writes at the rate of this run.
        life_years: Option<f64>, "life at this rate", years, gain;
    }
}

const OPERATIONS: &[&str] = &["reads", "programs", "erases", "transfers"];

coflash_base::measures! {
    /// Energy of flash operations, by the scenario's table (`energy`).
    pub struct EnergyUse in "energy", "Energy of flash" {
        /// All flash operations.
        total: f64, "energy", joules, cost;
        /// Page reads of the array.
        reads: f64, "energy, page reads", joules, cost, of(OPERATIONS);
        /// Page programs.
        programs: f64, "energy, page programs", joules, cost, of(OPERATIONS);
        /// Block erases.
        erases: f64, "energy, block erases", joules, cost, of(OPERATIONS);
        /// Transfers over channels.
        transfers: f64, "energy, transfers", joules, cost, of(OPERATIONS);
    }
}

const DAYS_A_YEAR: u64 = 365;
const NS_A_YEAR: f64 = DAYS_A_YEAR as f64 * 86_400e9;

/// Add the measures of the device to the report of a finished run, after the counters of all levels.
pub(crate) fn add_device(report: &mut Report, scenario: &Scenario, logical_bytes: u64) {
    let (throughput, energy) = (Throughput::new(report), EnergyUse::new(report, &scenario.energy));
    let exported_bytes = scenario.hybrid.is_none().then_some(logical_bytes);
    let endurance = Endurance::new(report, &scenario.endurance, &scenario.flash, exported_bytes);
    report.add(&throughput);
    report.add(&endurance);
    Endurance::assumptions(&scenario.endurance, scenario.flash.cell, exported_bytes.is_some())
        .for_each(|assumption| report.assume(assumption));
    if scenario.energy != EnergyConfig::default() {
        report.add(&energy);
    }
}

impl Throughput {
    fn new(report: &Report) -> Self {
        let per_second = |count| ratio(count, report.end().ns).map(|per_ns| per_ns * 1e9);
        let HostCounters { requests, host_reads_bytes, host_writes_bytes, .. } = report.get();
        let [read_bandwidth, write_bandwidth] = [host_reads_bytes, host_writes_bytes].map(per_second);
        Self {
            iops: per_second(requests),
            read_iops: per_second(report.get::<ReadResponses>().count),
            write_iops: per_second(report.get::<WriteResponses>().count),
            bandwidth: read_bandwidth.zip(write_bandwidth).map(|(read, write)| read + write),
            read_bandwidth,
            write_bandwidth,
        }
    }
}

impl Endurance {
    fn new(
        report: &Report,
        config: &EnduranceConfig,
        geometry: &Geometry,
        exported_bytes: Option<u64>,
    ) -> Self {
        // The programs that wear the flash out, per program of the run: a page has as many programs as its
        // block has erases.
        let rated_pages = u64::from(config.cycles(geometry.cell)).saturating_mul(geometry.pages().into());
        let runs = ratio(rated_pages, report.get::<Programs>().all());
        let tbw_bytes = runs.map(|runs| runs * report.get::<HostCounters>().host_writes_bytes as f64);
        let days = u64::from(config.warranty_years.get()) * DAYS_A_YEAR;
        Self {
            tbw_bytes,
            drive_writes_per_day: tbw_bytes
                .zip(exported_bytes)
                .map(|(written, exported)| written / exported as f64 / days as f64),
            life_years: runs.map(|runs| runs * report.end().ns as f64 / NS_A_YEAR),
        }
    }

    /// The rating of blocks, and the years of warranty if there are such.
    fn assumptions(
        config: &EnduranceConfig,
        cell: Cell,
        has_daily: bool,
    ) -> impl Iterator<Item = Assumption> {
        let cells = format!("{cell:?}").to_uppercase();
        let by_cell = if cell == Cell::default() { ", itself a default" } else { "" };
        let origin = match config.rated_cycles {
            Some(_) => format!("given, for {cells}"),
            None => format!("default of {cells}{by_cell}"),
        };
        let assume = |label, value, origin| Assumption { section: Self::INFO.path, label, value, origin };
        let years = config.warranty_years;
        let is_default = years == EnduranceConfig::default().warranty_years;
        let daily = assume(
            "years of warranty",
            years.get().into(),
            if is_default { "default" } else { "given" }.to_owned(),
        );
        let rating = assume("rated erases of a block", config.cycles(cell).into(), origin);
        [rating].into_iter().chain(has_daily.then_some(daily))
    }
}

impl EnergyUse {
    fn new(report: &Report, config: &EnergyConfig) -> Self {
        let joules = |count, nj: u64| count as f64 * nj as f64 / 1e9;
        let FlashOperations { reads_pages, programs_pages, erases_blocks, transfers_pages, .. } =
            report.get();
        let reads = joules(reads_pages, config.page_read.nj);
        let programs = joules(programs_pages, config.page_program.nj);
        let erases = joules(erases_blocks, config.block_erase.nj);
        let transfers = joules(transfers_pages, config.page_transfer.nj);
        Self { total: reads + programs + erases + transfers, reads, programs, erases, transfers }
    }
}
