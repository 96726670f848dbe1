//! The options of a job: honoured, without effect, or refused.

use super::job::{Distribution, Generator, KINDS, Pace, Sequence, Settings};
use super::known::{self, Verdict};
use super::steady::{Quantity, SteadyState};
use super::text::Line;
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
    /// The index of `plid_select` in [`SELECTS`], and the file of its scheme.
    pub(super) select: usize,
    pub(super) scheme: Option<String>,
    pub(super) write_hint: Option<PlacementId>,
    pub(super) steady: SteadyState,
    pub(super) file_name: Option<String>,
    pub(super) direct: bool,
    pub(super) kb_base: u64,
    /// Options without effect, and why.
    pub(super) noted: Vec<(&'static str, &'static str)>,
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
            select: 0,
            scheme: None,
            write_hint: None,
            steady: SteadyState::default(),
            file_name: None,
            direct: false,
            kb_base: 1024,
            noted: Vec::new(),
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
    (&["ioengine"], value!(o, text => o.engine = engine(text)?)),
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
    (
        &["dataplacement", "data_placement"],
        value!(o, text => o.places_data = one_of(text, &["none", "fdp", "streams"])? > 0),
    ),
    (&["plids", "fdp_pli"], value!(o, text => o.placements = placements(text)?)),
    (&["plid_select", "fdp_pli_select"], value!(o, text => o.select = one_of(text, SELECTS)?)),
    (&["dp_scheme"], value!(o, text => o.scheme = Some(text.to_owned()))),
    (
        &["write_hint"],
        value!(o, text => o.write_hint = PlacementId::new(one_of(text, HINTS)? as u64).filter(|hint| hint.get() > 0)),
    ),
    (&["steadystate", "ss"], value!(o, text => steady(text, o)?)),
    (&["steadystate_duration", "ss_dur"], value!(o, text => o.steady.window = time(text, S)?)),
    (&["steadystate_ramp_time", "ss_ramp"], value!(o, text => o.steady.ramp = time(text, S)?)),
    (
        &["steadystate_check_interval", "ss_interval"],
        value!(o, text => o.steady.interval = Some(time(text, S)?).filter(|time| time.ns > 0).ok_or("at least 1us is allowed")?),
    ),
    (&["filename"], value!(o, text => o.file_name = Some(text.to_owned()))),
    (&["direct"], flag!(direct)),
    (&["buffered"], |o, value| {
        o.direct = !switch(value)?;
        Ok(())
    }),
    (&["kb_base"], value!(o, text => o.kb_base = [1024, 1000][one_of(text, &["1024", "1000"])?])),
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
        match known::verdict(name, line.value.as_deref()) {
            Some(Verdict::Neutral) => Ok(()),
            Some(Verdict::Noted { name, why }) => {
                self.noted.push((name, why));
                Ok(())
            }
            Some(Verdict::Refused { why }) => {
                line.at.refuse(format!("{name}: this option of fio is not simulated: {why}"))
            }
            None => {
                let read: Vec<&str> = HONOURED.iter().flat_map(|(names, _)| names.iter().copied()).collect();
                line.at.refuse(format!("{name}: fio 3.4x has no such option{}", known::near(name, &read)))
            }
        }
    }
}

/// The index of `text` among `known`.
fn one_of(text: &str, known: &[&str]) -> Result<usize, String> {
    let found = known.iter().position(|name| *name == text);
    found.ok_or_else(|| format!("\"{text}\" is not known{}", hint(text, known)))
}

/// How the placement identifier of a write is chosen: in turn, at random, by its place.
const SELECTS: &[&str] = &["roundrobin", "random", "scheme"];
pub(super) const AT_RANDOM: usize = 1;
pub(super) const BY_SCHEME: usize = 2;

/// The hints for the lifetime of data. Each is the placement identifier of its index, as the stream that Linux's driver of NVMe
/// has given it; "none" is no hint.
const HINTS: &[&str] = &["none", "short", "medium", "long", "extreme"];

/// A list of placement identifiers, such as 0,2-4.
fn placements(text: &str) -> Result<Vec<PlacementId>, String> {
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last] = [first, last].map(|text| whole(text.trim(), 0, PlacementId::MAX));
        found.extend((first?..=last?).filter_map(PlacementId::new));
    }
    Ok(found)
}

/// Read the lines `begin, end, identifier` of a scheme.
pub(super) fn scheme(text: &str) -> Result<Vec<(std::ops::Range<u64>, PlacementId)>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = |line: &str| {
        let parts: Vec<&str> = line.split(',').map(str::trim).collect();
        let [begin, end, placement] = parts[..] else {
            return Err(format!(
                "\"{line}\" was given; begin, end, identifier such as 0, 1073741824, 2 is allowed"
            ));
        };
        let [begin, end] = [begin, end].map(|text| whole(text, 0, u64::MAX));
        Ok((begin?..end?, PlacementId::try_from(whole(placement, 0, PlacementId::MAX)?)?))
    };
    lines.map(line).collect()
}

/// Read `iops_slope:0.3%`: a quantity, and a limit as a part of its mean or in its unit.
fn steady(text: &str, options: &mut Options) -> Result<(), String> {
    let (name, limit) = text.split_once(':').ok_or_else(|| {
        format!("\"{text}\" was given; a criterion and a limit such as iops_slope:0.3% is allowed")
    })?;
    let index = one_of(name, &["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"])?;
    let quantity = [Quantity::Requests, Quantity::Bytes, Quantity::Response][index / 2];
    let share = limit.trim().strip_suffix('%');
    let limit = match (share.or(Some(limit).filter(|_| quantity == Quantity::Requests)), quantity) {
        (Some(number), _) => between(number, 0.0, 1e12)?,
        (None, Quantity::Bytes) => bytes(limit, options.kb_base)? as f64,
        (None, _) => time(limit, 1)?.ns as f64,
    };
    let is_share = share.is_some();
    options.steady = SteadyState { quantity, is_slope: index % 2 == 1, limit, is_share, ..options.steady };
    Ok(())
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
    refuse_known("random_distribution", text)?;
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let names = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];
    let index = one_of(name, &names)?;
    if let (4 | 5, zones) = (index, rest) {
        let zones = zones
            .ok_or_else(|| format!("\"{text}\" was given; zones such as zoned:60/10:40/90 are allowed"))?;
        if index == 4 {
            let mut of = [const { Vec::new() }; 3];
            each(zones, ',', &mut of, |part| {
                let zones = zone_list(part, |size| match size {
                    "" => Ok(None),
                    size => whole(size, 1, 100).map(|size| Some(size as u32)),
                })?;
                let given: u32 = zones.iter().filter_map(|(_, size)| *size).sum();
                let blank = zones.iter().filter(|(_, size)| size.is_none()).count() as u32;
                if given + blank > 100 {
                    return Err(format!("\"{text}\" was given: the sizes of the zones sum to more than 100"));
                }
                let rest = (100 - given).checked_div(blank).unwrap_or(0); // blank sizes share what is left
                Ok(zones.into_iter().map(|(draws, size)| (draws, size.unwrap_or(rest))).collect())
            })?;
            return Ok(Distribution::Zoned(of));
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

/// Refuse a value that the table of known options refuses.
fn refuse_known(name: &str, value: &str) -> Result<(), String> {
    let value = value.split_once(':').map_or(value, |(value, _)| value);
    match known::verdict(&format!("{name}={value}"), None) {
        Some(Verdict::Refused { why }) => Err(format!("\"{value}\" of fio is not simulated: {why}")),
        _ => Ok(()),
    }
}

fn engine(text: &str) -> Result<String, String> {
    refuse_known("ioengine", text)?;
    let names: Vec<&str> = known::engines().map(|(name, _)| name).collect();
    Ok(names[one_of(text, &names)?].to_owned())
}

/// Whether an engine hands over one request at a time, whatever `iodepth` says.
pub(super) fn is_synchronous(engine: &str) -> bool {
    known::engines().any(|(name, is_synchronous)| name == engine && is_synchronous)
}
