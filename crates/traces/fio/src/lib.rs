//! Job files of fio as workloads: the same requests, in the same order, as fio 3.33 makes them.
//!
//! ```ini
//! [global]
//! bs=4k
//! iodepth=32
//! ioengine=libaio
//!
//! [fill]                      ; first write the device once ...
//! rw=write
//!
//! [churn]                     ; ... then two jobs side by side overwrite half of it
//! stonewall
//! rw=randwrite
//! norandommap
//! size=50%
//! numjobs=2
//! ```
//!
//! | concept | place |
//! |---|---|
//! | the text: sections, comments, includes | `text.rs` |
//! | values and units | `value.rs` |
//! | the options: read; without effect, refused | `options.rs`; `known.rs` |
//! | a job and its pace | `job.rs` |
//! | its place on a device, and where its random requests go | `layout.rs` |
//! | its requests | `requests.rs` |
//! | … random numbers and seeds, the map of visited blocks | `random.rs`, `map.rs` |
//!
//! A job is a source of requests without times: its [`Pace`] gives their issue times, which depend on answers.
//!
//! Source: fio 3.33 (documentation; its algorithms; its iologs, against which the tests compare).

mod job;
mod known;
mod layout;
mod map;
mod options;
mod random;
mod requests;
mod text;
mod value;

pub use job::Job;
pub use requests::JobRequests;

use coflash_base::Seed;
use coflash_base::suggest::unread;
use coflash_workload::WorkloadError;
use coflash_workload::jobs::{HostJob, HostJobs, Pace};
use coflash_workload::steady::SteadyState;
use job::{Distribution, Generator, Seeding, Select, Sizes};
use options::Options;
use std::collections::VecDeque;
use std::path::Path;
use text::{Section, Text};

/// A result, whose error is one of the workload where none is said.
type Result<T, E = WorkloadError> = std::result::Result<T, E>;

/// Open a job file on a device of `device_bytes`, with a number of handles if it takes placement hints, with the workload's seed.
///
/// # Errors
/// See [`JobFile::read`] and [`JobRequests::new`]; a placement hint beyond the handles.
pub fn open(file: &str, device_bytes: u64, handles: Option<u32>, seed: Seed) -> Result<HostJobs> {
    let file = JobFile::read(file, &mut read_file)?;
    let description = format!("fio: {}", file.description());
    let host_job = |(number, mut job): (usize, Job)| {
        job.bind_placements(handles)?;
        Ok(HostJob {
            requests: Box::new(JobRequests::new(&job, device_bytes, seed.child(&number.to_string()))?),
            name: job.name,
            phase: job.phase,
            report: job.report,
            pace: job.pace,
            options: job.options,
            steady: job.steady,
        })
    };
    let jobs = file.jobs.into_iter().enumerate().map(host_job).collect::<Result<_>>()?;
    Ok(HostJobs { jobs, files: file.files, remarks: file.remarks, global: file.global, description })
}

/// The files that a job file is read from: itself, and its includes, each once.
///
/// # Errors
/// A file that cannot be read, or is no job file.
pub fn job_files(file: &str) -> Result<Vec<String>> {
    JobFile::read(file, &mut read_file).map(|file| file.files)
}

fn read_file(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path).map_err(|error| std::io::Error::new(error.kind(), unread(path, &error)))
}

/// The jobs of a job file.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// The jobs in the order of the file, clones included.
    pub jobs: Vec<Job>,
    /// The job file and its includes, each once.
    pub files: Vec<String>,
    /// Remarks for a reader of the results: options without effect, assumptions.
    pub remarks: Vec<String>,
    /// The options of the `global` sections: (name, value).
    pub global: Vec<(String, String)>,
}

/// All jobs hold a batch of requests in memory.
const JOBS_MAX: usize = 4096;

impl JobFile {
    /// Read a job file and its includes. `read` returns the text of a file.
    ///
    /// # Errors
    /// A file that cannot be read; a line, an option or a value that is not allowed; options that contradict each other.
    pub fn read(file: &str, read: &mut dyn FnMut(&Path) -> std::io::Result<String>) -> Result<Self> {
        let whole = |problem: &str| WorkloadError::trace(file, problem);
        let (mut global, mut global_options) = (Options::new(), Vec::new());
        let (mut jobs, mut notes): (Vec<Job>, Notes) = (Vec::new(), Notes::default());
        let Text { files, sections, .. } = Text::read(file, read)?;
        for section in sections {
            if section.name == "global" {
                global.take(&section.lines)?;
                global_options.extend(pairs(&section));
                continue;
            }
            let mut options = global.clone();
            options.take(&section.lines)?;
            notes.add(&section.name, &options);
            for clone in 0..options.clones {
                if jobs.len() == JOBS_MAX {
                    return Err(whole(&format!("at most {JOBS_MAX} jobs are allowed, clones counted")));
                }
                let number = jobs.len() as u32 + 1;
                let first = clone == 0;
                let new_phase = first && options.stonewall;
                let (phase, report) = jobs.last().map_or((0, 0), |last| {
                    let new_report = !options.group_reporting || new_phase || (first && options.new_group);
                    (last.phase + u32::from(new_phase), last.report + u32::from(new_report))
                });
                // fio counts clones down.
                let clone = (options.clones - clone) % options.clones;
                jobs.push(job_of(&section, &options, [number, clone, phase, report])?);
            }
        }
        if jobs.is_empty() {
            return Err(whole("it has no job: a section such as [job] with rw=randwrite is one"));
        }
        let first: Vec<&Job> = jobs.iter().filter(|job| job.phase == 0).collect();
        let fills = |job: &Job| job.settings.kind.ops == [false, true, false] && job.pace.runtime.is_none();
        if first.len() < jobs.len() && first.iter().all(|job| fills(job)) {
            for job in first {
                notes.say(
                    "written before stonewall, and so the fill: precondition.fill = \"none\" leaves it to these jobs alone",
                    &job.name,
                );
            }
        }
        Ok(Self { jobs, files, remarks: notes.remarks(), global: global_options })
    }

    /// The jobs in words: ` and ` between jobs of a phase, `, then ` between phases.
    #[must_use]
    pub fn description(&self) -> String {
        let phases = self.jobs.last().map_or(0, |job| job.phase + 1);
        let phase = |phase: u32| {
            let mut jobs: Vec<(String, u32)> = Vec::new();
            for job in self.jobs.iter().filter(|job| job.phase == phase) {
                match jobs.last_mut() {
                    Some((same, clones)) if job.clone > 0 && *same == job.description() => *clones += 1,
                    _ => jobs.push((job.description(), 1)),
                }
            }
            let each = jobs
                .into_iter()
                .map(|(job, clones)| if clones == 1 { job } else { format!("{job}, {clones} times") });
            each.collect::<Vec<_>>().join(" and ")
        };
        (0..phases).map(phase).collect::<Vec<_>>().join(", then ")
    }
}

/// The options of a section, as the file says them.
fn pairs(section: &Section) -> Vec<(String, String)> {
    let pair = |line: &text::Line| (line.name.clone(), line.value.clone().unwrap_or_else(|| "1".to_owned()));
    section.lines.iter().map(pair).collect()
}

/// Remarks: a sentence, and the options or jobs that it is about.
#[derive(Default)]
struct Notes(Vec<(&'static str, Vec<String>)>);

impl Notes {
    fn add(&mut self, name: &str, options: &Options) {
        for &(option, why) in &options.noted {
            self.say(why, option);
        }
        if options.pace.queue_depth > 1 && options.is_synchronous {
            self.say(
                "a synchronous ioengine, such as fio's default psync, has one request under way, whatever iodepth says",
                name,
            );
        }
        if !options.direct {
            self.say("without direct=1 a host caches; the page cache of a host is not simulated", name);
        }
        if options.file_name.as_ref().is_some_and(|name| name.replace("\\:", "").contains(':')) {
            self.say(
                "filename has several files, to which fio gives requests in turn; here all go to the one device",
                name,
            );
        }
    }

    fn say(&mut self, sentence: &'static str, about: &str) {
        let place = self.0.iter().position(|(known, _)| *known == sentence).unwrap_or_else(|| {
            self.0.push((sentence, Vec::new()));
            self.0.len() - 1
        });
        if !self.0[place].1.iter().any(|known| known == about) {
            self.0[place].1.push(about.to_owned());
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.0.iter().map(|(sentence, about)| format!("fio, {}: {sentence}.", about.join(", "))).collect()
    }
}

/// What contradicts itself in the options of a job with these sizes: the first that holds.
fn contradiction(o: &Options, sizes: &[Sizes; 3]) -> Option<&'static str> {
    let given = |values: &[u64; 3]| values.iter().any(|&value| value > 0);
    let is_lfsr = o.settings.generator == Some(Generator::Lfsr);
    let is_skewed = !matches!(o.settings.distribution, Distribution::Random | Distribution::Zoned { .. });
    let has_two_rates = given(&o.pace.rate_bytes_per_s) && given(&o.rate_iops);
    let is_no_whole = o.mix[1].is_some_and(|write| read_percent(o) + write != 100);
    let has_no_scheme = o.places_data && o.select == options::BY_SCHEME && o.scheme.is_empty();
    let has_no_end = o.settings.time_based && o.pace.runtime.is_none();
    let [window, ..] = o.steady;
    let is_short = window.ns > 0 && steady_room(o) < 2;
    let has_sizes = sizes.iter().any(|sizes| sizes.least != sizes.most);
    let problems = [
        (has_two_rates, "rate and rate_iops were given; one of them is allowed"),
        (is_no_whole, "rwmixread and rwmixwrite were given; one, or two that add up to 100 are allowed"),
        (has_no_scheme, "plid_select=scheme was given without dp_scheme, the file of its ranges"),
        (has_no_end, "time_based was given without runtime, which says how long"),
        (is_short, "ss_dur: at least two intervals (ss_interval, 1s) are allowed"),
        (is_lfsr && has_sizes, "random_generator=lfsr was given; with one size (bs) only is it allowed"),
        (is_lfsr && is_skewed, "random_generator=lfsr is not allowed with this random_distribution"),
    ];
    problems.into_iter().find_map(|(holds, problem)| holds.then_some(problem))
}

fn read_percent(o: &Options) -> u32 {
    match o.mix {
        [Some(read), _] => read,
        [None, write] => write.map_or(o.settings.read_percent, |write| 100 - write),
    }
}

/// The intervals of the window of a steady state.
fn steady_room(o: &Options) -> usize {
    let [window, interval, _] = o.steady;
    window.ns.checked_div(interval.ns).unwrap_or(0) as usize
}

/// Make a job of a section's options.
fn job_of(section: &Section, o: &Options, [number, clone, phase, report]: [u32; 4]) -> Result<Job> {
    let sizes: [Sizes; 3] = std::array::from_fn(|ddir| {
        let split = o.split[ddir].clone();
        let of_split = || split.iter().map(|(size, _)| *size);
        let range = || o.range[ddir].unwrap_or((o.block[ddir], o.block[ddir]));
        let (least, most) = of_split().min().zip(of_split().max()).unwrap_or_else(range);
        Sizes { least, most, split }
    });
    if let Some(problem) = contradiction(o, &sizes) {
        return section.at.refuse(format!("[{}]: {problem}", section.name));
    }
    let align: [u64; 3] = std::array::from_fn(|ddir| {
        if o.align[ddir] == 0 || !o.settings.kind.random { sizes[ddir].least } else { o.align[ddir] }
    });
    let has_map = o.has_map
        && o.settings.distribution == Distribution::Random
        && (0..3).all(|ddir| align[ddir] == sizes[ddir].least);
    let [window, interval, ramp] = o.steady;
    let rate_bytes_per_s = std::array::from_fn(|ddir: usize| {
        o.pace.rate_bytes_per_s[ddir].max(o.rate_iops[ddir].saturating_mul(sizes[ddir].least))
    });
    let queue_depth = if o.is_synchronous { 1 } else { o.pace.queue_depth };
    let seeding = match o.seed {
        _ if o.repeat_all || (o.repeat && o.seed.is_none()) => Seeding::Repeat { all: o.repeat_all },
        Some(seed) => Seeding::Given { seed, repeat_places: o.repeat && clone == 0 },
        None => Seeding::OfScenario,
    };
    // With several names fio spreads a job over several files.
    let file_name = o.file_name.clone().unwrap_or_else(|| format!("{}.{clone}.0", section.name));
    Ok(Job {
        name: section.name.clone(),
        phase,
        report,
        pace: Pace {
            queue_depth,
            rate_bytes_per_s,
            // The ramp comes before the runtime.
            runtime: o.pace.runtime.map(|runtime| runtime + o.pace.ramp),
            ..o.pace
        },
        options: pairs(section),
        number,
        clone,
        file_name,
        settings: job::Settings { read_percent: read_percent(o), ..o.settings.clone() },
        sizes,
        align,
        has_map,
        seeding,
        flush_every: if o.flush_every > 0 { o.flush_every } else { o.sync_every },
        placements: if o.places_data {
            Some(o.placements.clone())
        } else {
            o.write_hint.map(|hint| vec![hint])
        },
        select: match o.select {
            options::BY_SCHEME if o.places_data => Select::ByPlace(o.scheme.clone()),
            options::AT_RANDOM if o.places_data => Select::AtRandom,
            _ => Select::InTurn,
        },
        steady: (window.ns > 0).then(|| SteadyState {
            criterion: o.criterion,
            values: VecDeque::new(),
            room: steady_room(o),
            interval,
            until: ramp + interval,
            sums: [0; 3],
        }),
        place: format!("{}:{}", section.at.file, section.at.line),
    })
}
