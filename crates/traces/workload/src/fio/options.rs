//! The options of a job: honoured, without effect, or refused.

use super::job::{Distribution, Generator, KINDS, Pace, Sequence, Settings};
use super::text::{Line, Place};
use super::value::{amount, bytes, each, split, switch, time, whole};
use crate::WorkloadError;
use coflash_base::PlacementId;
use coflash_base::suggest::hint;

/// The options of a section, with fio's defaults.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) settings: Settings,
    /// As given: a synchronous engine has a depth of one, and the ramp comes before the runtime.
    pub(super) pace: Pace,
    pub(super) block: [u64; 3],
    pub(super) range: [Option<(u64, u64)>; 3],
    pub(super) split: [Vec<(u64, u32)>; 3],
    pub(super) align: [u64; 3],
    pub(super) has_map: bool,
    pub(super) repeat: bool,
    pub(super) repeat_all: bool,
    pub(super) seed: Option<u64>,
    pub(super) flush_every: u64,
    pub(super) sync_every: u64,
    pub(super) clones: u32,
    pub(super) stonewall: bool,
    pub(super) new_group: bool,
    pub(super) group_reporting: bool,
    pub(super) engine: String,
    pub(super) rate_iops: [u64; 3],
    /// Percent of reads and of writes, as far as they are given.
    pub(super) mix: [Option<u32>; 2],
    pub(super) places_data: bool,
    pub(super) placements: Vec<PlacementId>,
    pub(super) file_name: Option<String>,
    pub(super) direct: bool,
    pub(super) kb_base: u64,
    /// Options that do not matter, as the file says them.
    pub(super) ignored: Vec<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            pace: Pace::default(),
            block: [4096; 3],
            range: [None; 3],
            split: [const { Vec::new() }; 3],
            align: [0; 3],
            has_map: true,
            repeat: true,
            repeat_all: false,
            seed: None,
            flush_every: 0,
            sync_every: 0,
            clones: 1,
            stonewall: false,
            new_group: false,
            group_reporting: false,
            engine: "psync".to_owned(),
            rate_iops: [0; 3],
            mix: [None; 2],
            places_data: false,
            placements: Vec::new(),
            file_name: None,
            direct: false,
            kb_base: 1024,
            ignored: Vec::new(),
        }
    }
}

/// Read the value of an option into the options.
type Read = fn(&mut Options, Option<&str>) -> Result<(), String>;

/// The value of an option that needs one.
fn given(value: Option<&str>) -> Result<&str, String> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| "it needs a value".to_owned())
}

macro_rules! value {
    ($options:ident, $text:ident => $body:expr) => {
        |$options, value| {
            let $text = given(value)?;
            $body;
            Ok(())
        }
    };
}

macro_rules! flag {
    ($($field:ident).+) => {
        |options, value| {
            options.$($field).+ = switch(value)?;
            Ok(())
        }
    };
}

/// Microseconds, the unit of `thinktime`, and seconds, that of other times.
const US: u64 = 1_000;
const S: u64 = 1_000_000_000;

/// The honoured options by their names in fio, aliases included.
const HONOURED: &[(&[&str], Read)] = &[
    (&["rw", "readwrite"], value!(o, text => read_kind(o, text)?)),
    (
        &["rw_sequencer"],
        value!(o, text => o.settings.sequence.identical = one_of(text, &["sequential", "identical"])? == 1),
    ),
    (&["rwmixread"], value!(o, text => o.mix[0] = Some(whole(text, 0, 100)? as u32))),
    (&["rwmixwrite"], value!(o, text => o.mix[1] = Some(whole(text, 0, 100)? as u32))),
    (&["bs", "blocksize"], value!(o, text => each(text, ',', &mut o.block, |part| size(part, o.kb_base))?)),
    (
        &["bsrange", "blocksize_range"],
        value!(o, text => {
            each(text, ',', &mut o.range, |part| {
                let (least, most) = part.split_once('-').ok_or_else(|| format!("\"{part}\" was given; a range such as 4k-64k is allowed"))?;
                let (least, most) = (size(least, o.kb_base)?, size(most, o.kb_base)?);
                Ok(Some((least.min(most), least.max(most))))
            })?;
        }),
    ),
    (
        &["bssplit"],
        value!(o, text => {
            each(text, ',', &mut o.split, |part| {
                let mut pairs = split(part, |text| size(text, o.kb_base))?;
                pairs.sort_by_key(|(_, percent)| *percent);
                Ok(pairs)
            })?;
        }),
    ),
    (&["bs_is_seq_rand"], flag!(settings.sizes_by_order)),
    (&["bs_unaligned", "blocksize_unaligned"], flag!(settings.unaligned)),
    (&["ba", "blockalign"], value!(o, text => each(text, ',', &mut o.align, |part| size(part, o.kb_base))?)),
    (&["size"], value!(o, text => o.settings.size = Some(amount(text, o.kb_base)?))),
    (&["io_size", "io_limit"], value!(o, text => o.settings.io_size = Some(amount(text, o.kb_base)?))),
    (&["offset", "fileoffset"], value!(o, text => o.settings.offset = amount(text, o.kb_base)?)),
    (&["offset_increment"], value!(o, text => o.settings.offset_increment = amount(text, o.kb_base)?)),
    (&["offset_align"], value!(o, text => o.settings.offset_align = Some(size(text, o.kb_base)?))),
    (&["number_ios"], value!(o, text => o.settings.requests_max = Some(whole(text, 1, u64::MAX >> 1)?))),
    (&["loops"], value!(o, text => o.settings.loops = whole(text, 1, 1 << 32)?)),
    (&["time_based"], flag!(settings.time_based)),
    (
        &["runtime", "timeout"],
        value!(o, text => o.pace.runtime = Some(time(text, S)?).filter(|time| time.ns > 0)),
    ),
    (&["ramp_time"], value!(o, text => o.pace.ramp = time(text, S)?)),
    (&["startdelay"], value!(o, text => o.pace.delay = time(text, S)?)),
    (
        &["random_generator"],
        value!(o, text => {
            o.settings.generator = Some([Generator::Tausworthe, Generator::Lfsr, Generator::Tausworthe64]
                [one_of(text, &["tausworthe", "lfsr", "tausworthe64"])?]);
        }),
    ),
    (&["norandommap"], |o, value| {
        o.has_map = !switch(value)?;
        Ok(())
    }),
    (&["random_distribution"], value!(o, text => o.settings.distribution = distribution(text, o.kb_base)?)),
    (
        &["percentage_random"],
        value!(o, text => each(text, ',', &mut o.settings.random_percent, |part| Ok(whole(part, 0, 100)? as u32))?),
    ),
    (
        &["percentage_sequential"],
        value!(o, text => o.settings.random_percent = [100 - whole(text, 0, 100)? as u32; 3]),
    ),
    (&["randrepeat"], flag!(repeat)),
    (&["allrandrepeat"], flag!(repeat_all)),
    (&["randseed"], value!(o, text => o.seed = Some(whole(text, 0, u64::MAX)?))),
    (&["fsync"], value!(o, text => o.flush_every = whole(text, 0, 1 << 40)?)),
    (&["fdatasync"], value!(o, text => o.sync_every = whole(text, 0, 1 << 40)?)),
    (&["end_fsync", "fsync_on_close"], flag!(settings.flush_at_end)),
    (&["numjobs"], value!(o, text => o.clones = whole(text, 1, 4096)? as u32)),
    (&["stonewall", "wait_for_previous"], flag!(stonewall)),
    (&["new_group"], flag!(new_group)),
    (&["group_reporting"], flag!(group_reporting)),
    (&["ioengine"], value!(o, text => text.clone_into(&mut o.engine))),
    (&["iodepth"], value!(o, text => o.pace.queue_depth = whole(text, 1, 1 << 20)? as u32)),
    (
        &["rate"],
        value!(o, text => each(text, ',', &mut o.pace.rate_bytes_per_s, |part| size(part, o.kb_base))?),
    ),
    (&["rate_iops"], value!(o, text => each(text, ',', &mut o.rate_iops, |part| whole(part, 1, 1 << 40))?)),
    (&["rate_process"], value!(o, text => o.pace.is_poisson = one_of(text, &["linear", "poisson"])? == 1)),
    (
        &["io_submit_mode"],
        value!(o, text => o.pace.waits_for_answers = one_of(text, &["inline", "offload"])? == 0),
    ),
    (&["thinktime"], value!(o, text => o.pace.think = time(text, US)?)),
    (&["thinktime_blocks"], value!(o, text => o.pace.think_requests = whole(text, 1, 1 << 40)?)),
    (&["fdp"], flag!(places_data)),
    (&["dataplacement"], value!(o, text => o.places_data = one_of(text, &["none", "fdp", "streams"])? > 0)),
    (&["plids", "fdp_pli"], value!(o, text => o.placements = placements(text)?)),
    (&["plid_select", "fdp_pli_select"], |_, value| {
        match one_of(given(value)?, &["roundrobin", "random", "scheme"])? {
            0 => Ok(()),
            _ => Err("placement identifiers are taken in turn: roundrobin is allowed".to_owned()),
        }
    }),
    (&["filename"], value!(o, text => o.file_name = Some(text.to_owned()))),
    (&["direct"], flag!(direct)),
    (&["buffered"], |o, value| {
        o.direct = !switch(value)?;
        Ok(())
    }),
    (&["kb_base"], value!(o, text => o.kb_base = [1024, 1000][one_of(text, &["1024", "1000"])?])),
];

/// Options that change nothing in a simulation: on the work of the host and of fio itself, the written data,
/// the logs.
const IGNORED: &str = "\
    allow_file_create allow_mounted_write atomic buffer_compress_chunk buffer_compress_percentage \
    buffer_pattern bwavgtime clat_percentiles clocksource continue_on_error cpumask cpus_allowed \
    cpus_allowed_policy create_fsync create_on_open create_serialize dedupe_global dedupe_mode \
    dedupe_percentage dedupe_working_set_percentage description directory disable_bw disable_bw_measurement \
    disable_clat disable_lat disable_slat disk_util do_verify error_dump fadvise_hint fallocate \
    filename_format fixedbufs gtod_cpu gtod_reduce hipri hugepage-size invalidate \
    iomem iomem_align iopsavgtime ioscheduler lat_percentiles lockmem \
    log_avg_msec log_entries log_hist_coarseness log_hist_msec log_max_value log_offset log_unix_epoch mem \
    mem_align name nice nonvectored numa_cpu_nodes numa_mem_policy overwrite per_job_logs percentile_list \
    pre_read prio prioclass randrepeat_buffers refill_buffers registerfiles scramble_buffers \
    serialize_overlap significant_figures slat_percentiles softrandommap sqthread_poll sqthread_poll_cpu \
    stats thread thinktime_blocks_type thinktime_spin unified_rw_reporting unit_base unlink userspace_reap \
    write_bw_log write_hist_log write_iolog write_iops_log write_lat_log zero_buffers";

/// Options of fio that would change the requests and are not simulated, with the reason.
const REFUSED: &[(&str, &str)] = &[
    (
        "a job works on one range of the device, not on several files: give each its own job with offset and size",
        "nrfiles nr_files openfiles file_service_type filesize file_append fill_device fill_fs opendir \
         lockfile unique_filename create_only unlink_each_loop",
    ),
    (
        "the device has no zones: random_distribution=zoned is a distribution of places",
        "zonemode zonesize zonerange zoneskip zonecapacity read_beyond_wp max_open_zones job_max_open_zones \
         ignore_zone_limits zone_reset_threshold zone_reset_frequency",
    ),
    (
        "flash holds no data in a simulation, so nothing can be verified",
        "verify verify_only verify_offset verify_interval verify_pattern verify_fatal verify_dump \
         verify_async verify_async_cpus verify_backlog verify_backlog_batch verify_state_save \
         verify_state_load verifysort verifysort_nr experimental_verify trim_percentage trim_verify_zero \
         trim_backlog trim_backlog_batch",
    ),
    (
        "a trace is replayed with workload.trace",
        "read_iolog read_iolog_chunked merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters \
         replay_no_stall replay_time_scale replay_redirect replay_align replay_scale replay_skip",
    ),
    (
        "jobs end by size, requests or time, and begin with their phase",
        "wait_for exitall exit_what exitall_on_error flow flow_id flow_sleep flow_watermark latency_target \
         latency_window latency_percentile latency_run max_latency rate_min ratemin rate_iops_min \
         rate_cycle ratecycle rate_ignore_thinktime thinktime_iotime",
    ),
    (
        "requests have no priority, and no hint but a placement identifier (plids)",
        "dp_scheme write_hint cmdprio cmdprio_percentage cmdprio_class cmdprio_bssplit",
    ),
    (
        "requests are issued and answered one by one",
        "iodepth_batch iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min \
         iodepth_batch_complete_max iodepth_low",
    ),
    ("a flush covers the whole device: use fsync", "sync_file_range write_barrier sync"),
    (
        "a simulation runs no programs and changes nothing on this machine",
        "exec_prerun exec_postrun cgroup profile",
    ),
    ("rwmixcycle has no effect in fio either: leave it out", "rwmixcycle"),
];

impl Options {
    /// Take the lines of a section, in order.
    pub(super) fn take(&mut self, lines: &[Line]) -> Result<(), WorkloadError> {
        // The unit of sizes holds for the whole section.
        let (units, others): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.name == "kb_base");
        units.into_iter().chain(others).try_for_each(|line| self.take_line(line))
    }

    fn take_line(&mut self, line: &Line) -> Result<(), WorkloadError> {
        let name = line.name.as_str();
        if let Some((_, read)) = HONOURED.iter().find(|(names, _)| names.contains(&name)) {
            if line.value.as_ref().is_some_and(|value| value.contains("${")) && name != "filename" {
                return line.at.refuse(format!(
                    "{name}: variables of the environment are not read; write their values"
                ));
            }
            return read(self, line.value.as_deref())
                .or_else(|problem| line.at.refuse(format!("{name}: {problem}")));
        }
        if let Some(known) = IGNORED.split_whitespace().find(|known| *known == name) {
            self.ignored.push(known);
            return Ok(());
        }
        refuse_option(&line.at, name)
    }
}

fn refuse_option<T>(at: &Place, name: &str) -> Result<T, WorkloadError> {
    if let Some((reason, _)) =
        REFUSED.iter().find(|(_, names)| names.split_whitespace().any(|known| known == name))
    {
        return at.refuse(format!("{name}: this option of fio is not simulated: {reason}"));
    }
    let known: Vec<&str> = HONOURED.iter().flat_map(|(names, _)| names.iter().copied()).collect();
    at.refuse(format!("{name}: no such option{}", hint(name, &known)))
}

/// The index of `text` among `known`.
fn one_of(text: &str, known: &[&str]) -> Result<usize, String> {
    let found = known.iter().position(|name| *name == text);
    found.ok_or_else(|| format!("\"{text}\" is not known{}", hint(text, known)))
}

/// A list of placement identifiers.
fn placements(text: &str) -> Result<Vec<PlacementId>, String> {
    text.split(',').map(|part| PlacementId::try_from(whole(part.trim(), 0, PlacementId::MAX)?)).collect()
}

/// A size of at least one byte.
fn size(text: &str, kb_base: u64) -> Result<u64, String> {
    match bytes(text, kb_base)? {
        0 => Err(format!("\"{text}\" was given; at least 1 is allowed")),
        bytes => Ok(bytes),
    }
}

fn read_kind(options: &mut Options, text: &str) -> Result<(), String> {
    let (name, postfix) = text.split_once(':').map_or((text, None), |(name, postfix)| (name, Some(postfix)));
    options.settings.kind = KINDS[one_of(name, &KINDS.map(|kind| kind.name))?];
    options.settings.sequence = Sequence { every: 1, step: 0, ..options.settings.sequence };
    match postfix {
        Some(number) if options.settings.kind.random => {
            options.settings.sequence.every = whole(number, 1, 1 << 31)? as u32
        }
        Some(step) => {
            let (sign, step) = step.strip_prefix('-').map_or((1, step), |step| (-1, step));
            options.settings.sequence.step = sign * bytes(step, options.kb_base)? as i64;
        }
        None => {}
    }
    Ok(())
}

/// fio's defaults of the parameters.
const ZIPF_THETA: f64 = 1.1;
const PARETO_H: f64 = 0.2;

fn distribution(text: &str, kb_base: u64) -> Result<Distribution, String> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let names = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];
    let index = one_of(name, &names)?;
    if let (4 | 5, zones) = (index, rest) {
        let zones = zones
            .ok_or_else(|| format!("\"{text}\" was given; zones such as zoned:60/10:40/90 are allowed"))?;
        if index == 4 {
            let mut of = [const { Vec::new() }; 3];
            each(zones, ',', &mut of, |part| zone_list(part, |size| Ok(whole(size, 1, 100)? as u32)))?;
            return match of.iter().find(|zones| zones.iter().map(|(_, size)| size).sum::<u32>() > 100) {
                Some(_) => Err(format!("\"{text}\" was given: the sizes of the zones sum to more than 100")),
                None => Ok(Distribution::Zoned(of)),
            };
        }
        let mut of = [const { Vec::new() }; 3];
        each(zones, ',', &mut of, |part| zone_list(part, |text| size(text, kb_base)))?;
        return Ok(Distribution::ZonedAbs(of));
    }
    let (parameter, center) = rest.map_or((None, None), |rest| match rest.split_once(':') {
        Some((parameter, center)) => (Some(parameter), Some(center)),
        None => (Some(rest), None),
    });
    let center = center.map(|text| between(text, 0.0, 1.0)).transpose()?;
    let parameter = |default: f64, least: f64, most: f64| {
        parameter.map_or(Ok(default), |text| between(text, least, most))
    };
    Ok(match index {
        0 => Distribution::Random,
        1 => match parameter(ZIPF_THETA, 1e-9, 100.0)? {
            1.0 => return Err("zipf:1 was given; any other exponent is allowed, such as 1.01".to_owned()),
            theta => Distribution::Zipf { theta, center },
        },
        2 => Distribution::Pareto { h: parameter(PARETO_H, 1e-9, 1.0 - 1e-9)?, center },
        _ => Distribution::Normal { deviation: parameter(0.0, 0.0, 99.999)?, center },
    })
}

fn between(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let found = text.trim().parse::<f64>().ok().filter(|number| (least..=most).contains(number));
    found.ok_or_else(|| format!("\"{text}\" was given; a number from {least} to {most} is allowed"))
}

/// Read `60/10:40/90`: percentages of draws and sizes. Draws sum to 100.
fn zone_list<T>(
    text: &str,
    mut size: impl FnMut(&str) -> Result<T, String>,
) -> Result<Vec<(u32, T)>, String> {
    let mut zones = Vec::new();
    for zone in text.split(':') {
        let Some((draws, room)) = zone.split_once('/') else {
            return Err(format!(
                "\"{zone}\" was given; a zone such as 60/10 is allowed: percent of requests, and size"
            ));
        };
        zones.push((whole(draws, 1, 100)? as u32, size(room.trim().trim_end_matches('%'))?));
    }
    let sum: u32 = zones.iter().map(|(draws, _)| draws).sum();
    if sum == 100 {
        Ok(zones)
    } else {
        Err(format!("\"{text}\" was given: its requests sum to {sum} percent; 100 is allowed"))
    }
}

/// Whether an engine hands over one request at a time, whatever `iodepth` says.
pub(super) fn is_synchronous(engine: &str) -> bool {
    ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"].contains(&engine)
}
