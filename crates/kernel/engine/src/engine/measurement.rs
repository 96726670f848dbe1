//! The measurement of the host's requests, and the result of a run.

use super::Engine;
use crate::amplification::{Amplification, add_amplification};
use crate::device::add_device;
use crate::host::{AllResponses, HostCounters, ReadResponses, WriteResponses};
use crate::latency::Latency;
use crate::load::{End, load};
use crate::metrics::{EraseCounts, Metrics};
use crate::notes::{Ended, notes};
use crate::observer::SoFar;
use crate::result::{RunResult, Simulator, Workload};
use crate::series::Recorder;
use crate::spare::SpareSpace;
use coflash_base::measure::Report;
use coflash_base::{Save, Time};
use coflash_ftl::Programs;
use coflash_level::Level;
use coflash_media::SimulatedMedia;
use coflash_scenario::{ReplayMode, Scenario};

/// Counters and response times of the host's requests.
#[derive(Clone, Debug, Default, Save)]
pub(super) struct Meters {
    pub(super) host: HostCounters,
    pub(super) read: Latency,
    pub(super) write: Latency,
    pub(super) other: Latency,
    pub(super) series: Recorder,
    pub(super) last_arrival: Time,
    pub(super) last_answer: Time,
}

impl Meters {
    /// The response times of all requests.
    fn all(&self) -> Latency {
        let mut all = self.other.clone();
        [&self.read, &self.write].into_iter().for_each(|part| all.add(part));
        all
    }
}

/// The counters of warm levels at the beginning; none of others.
pub(super) fn before<M: SimulatedMedia>(scenario: &Scenario, level: &impl Level<M>) -> Report {
    let mut before = Report::default();
    if scenario.precondition.through_caches {
        level.report(&mut before);
    }
    before
}

impl<M: SimulatedMedia> Engine<M> {
    /// The counters of all levels and of the media.
    #[cold]
    pub(crate) fn report(&self, level: &impl Level<M>) -> Report {
        let mut report = Report::since(&self.before, self.meters.last_answer);
        let Meters { host, read, write, other, .. } = &self.meters;
        report.add(&HostCounters { requests: read.count() + write.count() + other.count(), ..*host });
        level.report(&mut report);
        self.media.timeline().report(&mut report);
        if let Some(restarts) = &self.restarts {
            report.add(&restarts.counters);
        }
        report
    }

    /// The interim metrics.
    #[must_use]
    pub fn so_far(&self, level: &impl Level<M>) -> SoFar {
        let mut report = self.report(level);
        add_amplification(&mut report, self.address.page_bytes);
        SoFar {
            host_writes_pages: report.get::<HostCounters>().host_writes_pages,
            programs_pages: report.get::<Programs>().all(),
            waf_host: report.get::<Amplification>().waf_host,
            response_mean_ns: self.meters.all().mean(),
        }
    }

    /// End the measurement and add the results: those of the workload, the replay mode and the wall time in
    /// seconds.
    #[must_use]
    pub fn result(
        &self,
        level: &(impl Level<M> + Save),
        scenario: &Scenario,
        mode: ReplayMode,
        workload: Workload,
        wall_seconds: f64,
    ) -> RunResult {
        let Self { meters, media, .. } = self;
        let mut report = self.report(level);
        let erases: Vec<_> = std::iter::zip(level.ftl().erase_counts(), &self.erases_before)
            .map(|(after, before)| after - before)
            .collect();
        let all = meters.all();
        let end = End {
            last_arrival: meters.last_arrival,
            last_answer: meters.last_answer,
            busy_until: media.timeline().busy_until(),
            requests: all.count(),
        };
        let series = meters.series.clone().finish(&report);
        add_amplification(&mut report, self.address.page_bytes);
        let (load, fall) = load(scenario, mode, meters.series.windows(), end, &report);
        let (read, write) = (meters.read.clone(), meters.write.clone());
        report.add(&AllResponses::from(&all));
        report.add(&ReadResponses::from(&read));
        report.add(&WriteResponses::from(&write));
        report.add(&EraseCounts::summarise(&erases));
        report.add(&SpareSpace::count(level.ftl().invalid_pages(), &erases));
        add_device(&mut report, scenario, self.logical_bytes());
        report.add(&load);
        let notes = notes(&Ended {
            scenario,
            mode,
            report: &report,
            series: &series,
            erases: &erases,
            logical_pages: level.logical_pages().into(),
            steady_waf: workload.warm_up.steady_waf,
            fall,
        });
        // Of the stack, without the meters.
        let heap_bytes = level.heap_bytes() + media.timeline().heap_bytes();
        let state_bytes_per_page = heap_bytes as f64 / f64::from(scenario.flash.pages());
        let metrics = Metrics::new(report);
        RunResult {
            scenario: scenario.clone(),
            workload,
            simulator: Simulator::new(wall_seconds, &metrics, state_bytes_per_page),
            metrics,
            histograms: [all, read, write],
            series,
            erases,
            notes,
            jobs: Vec::new(),
        }
    }
}
