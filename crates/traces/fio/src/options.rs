//! The options of a job. `known.txt` is the list of all; those of its group "read" are read here.

use super::job::{Distribution, Generator, KINDS, Sequence, Settings};
use super::known;
use super::text::Line;
use super::value::{amount, bytes, each, share_rest, split, switch, time, whole};
use crate::Result;
use coflash_base::suggest::hint;
use coflash_base::{Duration, PlacementId};
use coflash_workload::jobs::Pace;
use coflash_workload::steady::{BYTES, Criterion, REQUESTS, RESPONSE};
use std::ops::Range;

/// The options of a section, with fio's defaults.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) settings: Settings,
    /// As given: a synchronous engine has a depth of one, and the ramp comes before the runtime.
    pub(super) pace: Pace,
    pub(super) block: [u64; 3],
    pub(super) range: [Option<(u64, u64)>; 3],
    pub(super) split: [Vec<(u64, u64)>; 3],
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
    /// Whether its engine hands over one request at a time, whatever `iodepth` says.
    pub(super) is_synchronous: bool,
    pub(super) rate_iops: [u64; 3],
    /// Percent of reads and of writes, as far as they are given.
    pub(super) mix: [Option<u32>; 2],
    pub(super) places_data: bool,
    pub(super) placements: Vec<PlacementId>,
    /// The index of `plid_select` in [`SELECTS`], and the ranges of its scheme.
    pub(super) select: usize,
    pub(super) scheme: Vec<(Range<u64>, PlacementId)>,
    pub(super) write_hint: Option<PlacementId>,
    pub(super) criterion: Criterion,
    /// The window, the interval and the ramp of a steady state.
    pub(super) steady: [Duration; 3],
    pub(super) file_name: Option<String>,
    pub(super) direct: bool,
    pub(super) kb_base: u64,
    /// Options without effect, and why.
    pub(super) noted: Vec<(&'static str, &'static str)>,
}

/// Microseconds, the unit of `thinktime`, and seconds, that of other times.
const US: u64 = 1_000;
const S: u64 = 1_000_000_000;

/// Options that are switched on by their names alone.
const SWITCHES: &str = "bs_is_seq_rand bs_unaligned blocksize_unaligned time_based norandommap randrepeat allrandrepeat end_fsync \
    fsync_on_close stonewall wait_for_previous new_group group_reporting fdp direct buffered";

impl Options {
    /// The options of a section that gives none.
    pub(super) fn new() -> Self {
        let settings = Settings {
            kind: KINDS[0],
            read_percent: 50,
            sequence: Sequence { every: 1, ..Sequence::default() },
            loops: 1,
            random_percent: [100; 3],
            ..Settings::default()
        };
        let criterion = Criterion { quantity: REQUESTS, is_slope: true, limit: 0.01, is_share: true };
        let pace = Pace { queue_depth: 1, waits_for_answers: true, think_requests: 1, ..Pace::default() };
        let steady = [Duration::ZERO, Duration { ns: S }, Duration::ZERO];
        let fixed = Self { block: [4096; 3], has_map: true, repeat: true, clones: 1, ..Self::default() };
        Self { settings, criterion, pace, steady, is_synchronous: true, kb_base: 1024, ..fixed }
    }

    /// Take the lines of a section, in order.
    pub(super) fn take(&mut self, lines: &[Line]) -> Result<()> {
        // The unit of sizes holds for the whole section.
        let (units, others): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.name == "kb_base");
        units.into_iter().chain(others).try_for_each(|line| {
            self.take_line(&line.name, line.value.as_deref())
                .or_else(|problem| line.at.refuse(format!("{}: {problem}", line.name)))
        })
    }

    fn take_line(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let value = value.filter(|value| !value.is_empty());
        let is_switch = || SWITCHES.split_whitespace().any(|known| known == name);
        match known::look_up(name, value) {
            Some(("read", ..)) if value.is_none() && !is_switch() => Err("it needs a value".to_owned()),
            Some(("read", ..)) if value.is_some_and(|value| value.contains("${")) && name != "filename" => {
                Err("variables of the environment are not read; write their values".to_owned())
            }
            Some(("read", ..)) => self.read(name, value.unwrap_or("1")),
            Some(("note", why, name)) => {
                self.noted.push((name, why));
                Ok(())
            }
            Some(("refuse", why, _)) => Err(format!("this option of fio is not simulated: {why}")),
            Some(_) => Ok(()),
            None => Err(format!("fio 3.4x has no such option{}", known::near(name))),
        }
    }

    /// Read an option of the table's group "read".
    fn read(&mut self, name: &str, text: &str) -> Result<(), String> {
        let kb = self.kb_base;
        let o = self;
        let on = || switch(text);
        let number = |least, most| whole(text, least, most);
        let size = |text: &str| size(text, kb);
        let from_zero = |text: &str| bytes(text, kb);
        match name {
            "rw" | "readwrite" => read_kind(o, text)?,
            "rw_sequencer" => {
                o.settings.sequence.identical = one_of(text, &["sequential", "identical"])? == 1
            }
            "rwmixread" => o.mix[0] = Some(percent(text)?),
            "rwmixwrite" => o.mix[1] = Some(percent(text)?),
            "bs" | "blocksize" => each(text, &mut o.block, size)?,
            "bsrange" | "blocksize_range" => each(text, &mut o.range, |part| {
                let wrong = || format!("\"{part}\" was given; a range such as 4k-64k is allowed");
                let (least, most) = part.split_once('-').ok_or_else(wrong)?;
                let (least, most) = (size(least)?, size(most)?);
                Ok(Some((least.min(most), least.max(most))))
            })?,
            "bssplit" => each(text, &mut o.split, |part| {
                let mut pairs = split(part, size)?;
                pairs.sort_by_key(|(_, percent)| *percent);
                Ok(pairs)
            })?,
            "bs_is_seq_rand" => o.settings.sizes_by_order = on()?,
            "bs_unaligned" | "blocksize_unaligned" => o.settings.unaligned = on()?,
            "ba" | "blockalign" => each(text, &mut o.align, from_zero)?,
            "size" => o.settings.size = Some(amount(text, kb)?),
            // A job has one file.
            "filesize" => o.settings.size = Some(o.settings.size.map_or_else(|| amount(text, kb), Ok)?),
            "io_size" | "io_limit" => o.settings.io_size = Some(amount(text, kb)?),
            "offset" | "fileoffset" => o.settings.offset = Some(amount(text, kb)?),
            "offset_increment" => o.settings.offset_increment = Some(amount(text, kb)?),
            "offset_align" => o.settings.offset_align = Some(from_zero(text)?).filter(|&align| align > 0),
            "number_ios" => {
                o.settings.requests_max = Some(number(0, u64::MAX >> 1)?).filter(|&most| most > 0)
            }
            "loops" => o.settings.loops = number(1, 1 << 32)?,
            "time_based" => o.settings.time_based = on()?,
            "runtime" | "timeout" => o.pace.runtime = Some(time(text, S)?).filter(|time| time.ns > 0),
            "ramp_time" => o.pace.ramp = time(text, S)?,
            "startdelay" => o.pace.delay = time(text, S)?,
            _ => return o.read_order(name, text),
        }
        Ok(())
    }

    /// Read an option that says in which order, how fast or beside which other jobs requests come.
    fn read_order(&mut self, name: &str, text: &str) -> Result<(), String> {
        let kb = self.kb_base;
        let o = self;
        let on = || switch(text);
        let number = |least, most| whole(text, least, most);
        match name {
            "random_generator" => {
                let index = one_of(text, &["tausworthe", "lfsr", "tausworthe64"])?;
                o.settings.generator =
                    Some([Generator::Tausworthe, Generator::Lfsr, Generator::Tausworthe64][index]);
            }
            "norandommap" => o.has_map = !on()?,
            "random_distribution" => o.settings.distribution = distribution(text, kb)?,
            "percentage_random" => each(text, &mut o.settings.random_percent, percent)?,
            "percentage_sequential" => o.settings.random_percent = [100 - percent(text)?; 3],
            "randrepeat" => o.repeat = on()?,
            "allrandrepeat" => o.repeat_all = on()?,
            "randseed" => o.seed = Some(number(0, u64::MAX)?),
            "fsync" => o.flush_every = number(0, 1 << 40)?,
            "fdatasync" => o.sync_every = number(0, 1 << 40)?,
            "end_fsync" | "fsync_on_close" => o.settings.flush_at_end = on()?,
            "numjobs" => o.clones = number(1, 4096)? as u32,
            "stonewall" | "wait_for_previous" => o.stonewall = on()?,
            "new_group" => o.new_group = on()?,
            "group_reporting" => o.group_reporting = on()?,
            "ioengine" => o.is_synchronous = is_synchronous(text)?,
            "iodepth" => o.pace.queue_depth = number(1, 1 << 20)? as u32,
            "rate" => each(text, &mut o.pace.rate_bytes_per_s, |part| bytes(part, kb))?,
            "rate_iops" => each(text, &mut o.rate_iops, |part| whole(part, 0, 1 << 40))?,
            "rate_process" => o.pace.is_poisson = one_of(text, &["linear", "poisson"])? == 1,
            "io_submit_mode" => o.pace.waits_for_answers = one_of(text, &["inline", "offload"])? == 0,
            "thinktime" => o.pace.think = time(text, US)?,
            "thinktime_blocks" => o.pace.think_requests = number(1, 1 << 40)?,
            "fdp" => o.places_data = on()?,
            "dataplacement" | "data_placement" => {
                o.places_data = one_of(text, &["none", "fdp", "streams"])? > 0
            }
            "plids" | "fdp_pli" => o.placements = placements(text)?,
            "plid_select" | "fdp_pli_select" => o.select = one_of(text, SELECTS)?,
            "dp_scheme" => o.scheme = scheme(text)?,
            "write_hint" => {
                o.write_hint = PlacementId::new(one_of(text, HINTS)? as u64).filter(|hint| hint.get() > 0)
            }
            "steadystate" | "ss" => o.criterion = criterion(text, kb)?,
            "steadystate_duration" | "ss_dur" => o.steady[0] = time(text, S)?,
            "steadystate_check_interval" | "ss_interval" => o.steady[1] = time(text, S)?,
            "steadystate_ramp_time" | "ss_ramp" => o.steady[2] = time(text, S)?,
            "filename" => o.file_name = Some(text.to_owned()),
            "direct" => o.direct = on()?,
            "buffered" => o.direct = !on()?,
            "kb_base" => o.kb_base = [1024, 1000][one_of(text, &["1024", "1000"])?],
            _ => return Err("this option of fio is in the table and is not read".to_owned()),
        }
        Ok(())
    }
}

fn percent(text: &str) -> Result<u32, String> {
    whole(text, 0, 100).map(|percent| percent as u32)
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
fn scheme(text: &str) -> Result<Vec<(Range<u64>, PlacementId)>, String> {
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
fn criterion(text: &str, kb_base: u64) -> Result<Criterion, String> {
    let (name, limit) = text.split_once(':').ok_or_else(|| {
        format!("\"{text}\" was given; a criterion and a limit such as iops_slope:0.3% is allowed")
    })?;
    let index = one_of(name, &["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"])?;
    let (quantity, share) = (index / 2, limit.trim().strip_suffix('%'));
    let limit = match (share, quantity) {
        (None, BYTES) => bytes(limit, kb_base)? as f64,
        (None, RESPONSE) => time(limit, 1)?.ns as f64,
        _ => between(share.unwrap_or(limit), 0.0, 1e12)?,
    };
    Ok(Criterion { quantity, is_slope: index % 2 == 1, limit, is_share: share.is_some() })
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
        let (mut of, is_share) = ([const { Vec::new() }; 3], index == 4);
        each(zones, &mut of, |part| {
            let amount = |text: &str| match text {
                "" if is_share => Ok(None),
                _ if is_share => whole(text, 1, 100).map(Some),
                _ => size(text, kb_base).map(Some),
            };
            let zones = zone_list(part, amount)?;
            let no_share = zones.iter().map(|&(draws, size)| (draws, size.unwrap_or(0))).collect();
            if is_share { share_rest(part, zones, false) } else { Ok(no_share) }
        })?;
        return Ok(Distribution::Zoned { is_share, zones: of });
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

/// Read `60/10:40/90`: percentages of draws, which sum to 100, and sizes.
fn zone_list<T>(
    text: &str,
    mut size: impl FnMut(&str) -> Result<T, String>,
) -> Result<Vec<(u64, T)>, String> {
    let mut zones = Vec::new();
    for zone in text.split(':') {
        let wrong = || {
            format!("\"{zone}\" was given; a zone such as 60/10 is allowed: percent of requests, and size")
        };
        let (draws, room) = zone.split_once('/').ok_or_else(wrong)?;
        zones.push((whole(draws, 1, 100)?, size(room.trim().trim_end_matches('%'))?));
    }
    match zones.iter().map(|(draws, _)| draws).sum::<u64>() {
        100 => Ok(zones),
        sum => Err(format!("\"{text}\" was given: its requests sum to {sum} percent; 100 is allowed")),
    }
}

/// Refuse a value that the table of known options refuses.
fn refuse_known(name: &str, value: &str) -> Result<(), String> {
    let value = value.split_once(':').map_or(value, |(value, _)| value);
    match known::look_up(&format!("{name}={value}"), None) {
        Some(("refuse", why, _)) => Err(format!("\"{value}\" of fio is not simulated: {why}")),
        _ => Ok(()),
    }
}

fn is_synchronous(engine: &str) -> Result<bool, String> {
    refuse_known("ioengine", engine)?;
    let (names, are_synchronous): (Vec<&str>, Vec<bool>) = known::engines().unzip();
    Ok(are_synchronous[one_of(engine, &names)?])
}
