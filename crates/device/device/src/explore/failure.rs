//! A failure: the requests that it takes, and the folder with its device.

use super::check::Checker;
use super::commands::Ended;
use super::plan::Planned;
use crate::folder::DeviceError;
use crate::order::{Entry, Id, Kind};
use coflash_store::{Disk, Disks};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// A request of a failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Requested {
    /// Its number, from 1, among the requests that change data or flush.
    pub number: usize,
    /// The operation.
    pub kind: Kind,
    /// The number of its device, from 1, if there are several.
    pub device: Option<usize>,
    /// The first byte of the device.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
    /// Whether it has FUA.
    pub fua: bool,
    /// When it came, in nanoseconds since power on.
    pub arrived_ns: u64,
    /// When it was answered.
    pub answered_ns: Option<u64>,
    /// The last mark before it.
    pub mark: Option<String>,
    /// The ranges that are kept of a torn one.
    pub torn: Vec<Range<u64>>,
    /// Why it may be lost, if it is.
    pub why: Option<String>,
}

/// A kind of request in words, such as "write with FUA".
pub(crate) fn kind_in_words(kind: Kind, fua: bool) -> String {
    format!("{kind:?}{}", if fua { " with FUA" } else { "" }).to_lowercase().replace("fua", "FUA")
}

/// Kept parts of a torn request that are told.
const TORN_TOLD: usize = 4;

impl std::fmt::Display for Requested {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = kind_in_words(self.kind, self.fua);
        write!(f, "request {}: {kind} of {} bytes at {}", self.number, self.length, self.offset)?;
        self.device.map_or(Ok(()), |device| write!(f, " of device {device}"))?;
        write!(f, ", sent at {:.3} ms", self.arrived_ns as f64 / 1e6)?;
        match self.answered_ns {
            Some(ns) => write!(f, ", answered at {:.3} ms", ns as f64 / 1e6)?,
            None => f.write_str(", not answered")?,
        }
        if let Some(mark) = &self.mark {
            write!(f, ", after the mark \"{mark}\"")?;
        }
        for (number, range) in self.torn.iter().take(TORN_TOLD).enumerate() {
            let of = if number == 0 { "; torn, of it is kept:" } else { "," };
            write!(f, "{of} {} bytes at {}", range.end - range.start, range.start)?;
        }
        if let Some(more) = self.torn.len().checked_sub(TORN_TOLD).filter(|&more| more > 0) {
            write!(f, ", and {more} more parts")?;
        }
        self.why.as_ref().map_or(Ok(()), |why| write!(f, "; {why}"))
    }
}

/// A state that failed the check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// Its number.
    pub state: usize,
    /// How many states fail alike, it among them.
    pub count: usize,
    /// The fault of its run.
    pub fault: Option<String>,
    /// The state from which the run recovers, if it does: power was cut again.
    pub recovers: Option<usize>,
    /// Flushes before the cut, the first one.
    pub flushes: usize,
    /// The last mark before the cut.
    pub mark: Option<String>,
    /// How the check ended.
    pub ended: String,
    /// What the check wrote.
    pub output: String,
    /// The fewest requests that must be lost, with all others there.
    pub lost: Vec<Requested>,
    /// The fewest requests that must be there, with all others lost.
    pub kept: Vec<Requested>,
    /// If the state with nothing but what is durable fails: the last durable request without which it is right.
    pub fatal: Vec<Requested>,
    /// When power was switched on for its run, in seconds since 1970.
    pub power_on_s: f64,
    /// Whether two requests that were under way together must land in the other order.
    pub reordered: bool,
    /// Whether the check found nothing wrong when it looked again.
    #[serde(default)]
    pub is_unsteady: bool,
    /// The folder of its device.
    pub folder: PathBuf,
    /// All that in words.
    pub story: String,
}

/// Requests of a list that are told.
const TOLD: usize = 20;

impl Failed {
    /// The fewest requests without their places and times.
    pub(crate) fn shape(&self) -> String {
        let shape = |requests: &[Requested]| -> Vec<_> {
            requests.iter().map(|one| (one.kind, one.length, one.fua, !one.torn.is_empty())).collect()
        };
        format!("{:?}", (&self.ended, self.reordered, shape(&self.lost)))
    }

    /// Whether it fails although nothing that had come is lost.
    pub(crate) fn is_without_loss(&self) -> bool {
        self.lost.is_empty() && self.kept.is_empty() && self.fatal.is_empty() && !self.reordered
    }

    /// Tell it in words.
    pub(crate) fn words(&self) -> String {
        let alike = if self.count > 1 { format!(" and {} alike", self.count - 1) } else { String::new() };
        let flushes = if self.flushes == 1 { "flush" } else { "flushes" };
        let mut text = format!("state {}{alike}: power was cut after {} {flushes}", self.state, self.flushes);
        if let Some(mark) = &self.mark {
            let _ = write!(text, " and the mark \"{mark}\"");
        }
        if let Some(state) = self.recovers {
            let _ = write!(text, ", and again in the recovery of state {state}, whose requests these are");
        }
        if let Some(fault) = &self.fault {
            let _ = write!(text, ", in the run with the fault {fault}");
        }
        text.push('\n');
        if self.is_unsteady {
            return text + "checked again it is right: the check is unsteady\n";
        }
        if self.is_without_loss() {
            return text + "nothing is lost, and the check fails all the same: look at the check first\n";
        }
        let mut list = |title: &str, requests: &[Requested]| {
            let _ = writeln!(text, "{title}{}", if requests.is_empty() { " none" } else { "" });
            for request in requests.iter().take(TOLD) {
                let _ = writeln!(text, "  {request}");
            }
            if let Some(more) = requests.len().checked_sub(TOLD).filter(|&more| more > 0) {
                let _ = writeln!(text, "  and {more} more");
            }
        };
        list("fewest requests that must be lost, all others being there:", &self.lost);
        list("fewest requests that must be there, all others being lost:", &self.kept);
        if !self.fatal.is_empty() {
            list("durable before the cut, and nothing would be wrong without it:", &self.fatal);
        }
        if self.reordered {
            text.push_str(
                "requests that were under way together landed in another order than they were served\n",
            );
        }
        text
    }
}

impl Checker<'_> {
    fn requested(&self, planned: &Planned, id: Id) -> Requested {
        let log = &self.record.log;
        let entry = &log.entries[id];
        let before = log.marks.iter().rfind(|mark| mark.at.event < entry.arrived.event);
        let kept = planned.state.kept.get(&id).filter(|_| !planned.state.has_whole(log, id));
        let devices = self.exploring.plan.devices(u64::MAX);
        let begin = devices[entry.device].start;
        let torn = kept.into_iter().flatten().map(|part| part.start - begin..part.end - begin).collect();
        Requested {
            number: id + 1,
            kind: entry.kind,
            device: (devices.len() > 1).then_some(entry.device + 1),
            offset: entry.offset - begin,
            length: entry.length,
            fua: entry.fua,
            arrived_ns: entry.arrived.ns,
            answered_ns: entry.answered.map(|answered| answered.ns),
            mark: before.map(|mark| mark.text.clone()),
            torn,
            why: None,
        }
    }

    /// Why a request may be lost, and what would cover it before the first of those that must be there, or the last mark.
    fn why(&self, Planned { window, state, .. }: &Planned, kept: &[Id], id: Id) -> String {
        let (entries, entry) = (&self.record.log.entries, &self.record.log.entries[id]);
        let Some(answered) = entry.answered.filter(|_| id < state.come) else {
            return if id < state.come { "it was never answered" } else { "it came after the cut" }
                .to_owned();
        };
        if entry.failed {
            let fault = self.record.fault.as_ref().map(|(fault, _)| format!(", by the fault {fault}"));
            return format!("it failed{}", fault.unwrap_or_default());
        }
        let is_early = |flush: &&Entry| {
            let is_its = flush.kind == Kind::Flush && flush.device == entry.device;
            is_its && flush.arrived < answered && flush.answered > Some(entry.arrived)
        };
        let of = if self.exploring.plan.sizes.len() > 1 { " of its device" } else { "" };
        let why =
            entries.iter().find(is_early).map_or(format!("no flush{of} covers it before the cut"), |flush| {
                let [sent, came] = [flush.arrived, answered].map(|moment| moment.ns as f64 / 1e6);
                format!("the flush sent at {sent:.3} ms does not cover it: its answer came at {came:.3} ms")
            });
        let come_later = |other: &&Id| entries[**other].arrived > answered;
        let marks = &self.record.log.marks[..self.plan.windows[*window].marks];
        let last =
            marks.last().filter(|mark| mark.at > answered).map(|mark| format!("the mark \"{}\"", mark.text));
        let before = kept.iter().find(come_later).map(|other| format!("request {}", other + 1)).or(last);
        before.map_or(why.clone(), |before| {
            format!("{why}; a flush{of} between its answer and {before} would cover it")
        })
    }

    /// Keep a failure: its device as at power on after the cut, what the check wrote, and the requests that it takes.
    pub(crate) fn keep(
        &self,
        planned: &Planned,
        number: usize,
        ended: &Ended,
        is_unsteady: bool,
        [lost, kept, fatal]: [&[Id]; 3],
    ) -> Result<Failed, DeviceError> {
        let [(_, flushes), _, (_, mark), _] = self.environment(planned, number);
        let why = |&id| Requested { why: Some(self.why(planned, kept, id)), ..self.requested(planned, id) };
        let failed = Failed {
            state: number,
            count: 1,
            fault: self.record.fault.clone().map(|(fault, _)| fault),
            recovers: self.plan.coverage.recovers,
            flushes: flushes.parse().unwrap_or_default(),
            mark: Some(mark).filter(|mark| !mark.is_empty()),
            ended: ended.story.clone(),
            output: ended.output.clone(),
            lost: lost.iter().map(why).collect(),
            kept: kept.iter().map(|&id| self.requested(planned, id)).collect(),
            fatal: fatal.iter().map(|&id| self.requested(planned, id)).collect(),
            power_on_s: self.record.power_on_s,
            reordered: planned.state.order.is_some(),
            is_unsteady,
            folder: self.exploring.folder.join("failures").join(format!("{number:06}")),
            story: String::new(),
        };
        let text = format!(
            "{}seed: {}\ncheck: {}\nthe check ended with {}\n{}",
            failed.words(),
            self.exploring.plan.seed,
            self.exploring.plan.check,
            failed.ended,
            failed.output
        );
        self.write(planned, number, &failed.folder, &text)?;
        Ok(failed)
    }

    /// Write the device of a state to a folder, with a text about it.
    pub(crate) fn write(
        &self,
        planned: &Planned,
        number: usize,
        place: &Path,
        text: &str,
    ) -> Result<(), DeviceError> {
        let state = self.make(planned)?;
        let write = || {
            if place.exists() {
                fs::remove_dir_all(place)?;
            }
            fs::create_dir_all(place)?;
            let disks = Disks::create(place)?;
            copy(&state.data, &disks.data)?;
            copy(&state.metadata, &disks.metadata)?;
            fs::write(place.join("failure.txt"), text)?;
            let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
            let environment = self.environment(planned, number);
            let set = environment.map(|(name, value)| format!("export {name}={}", quoted(&value))).join("\n");
            let script = include_str!("look.sh").replace("@ENVIRONMENT@", &set);
            let place_of_check = quoted(&env::current_dir().unwrap_or_default().to_string_lossy());
            let script = script.replace("@PLACE@", &place_of_check);
            let script = script.replace("@CHECK@", &quoted(&self.exploring.plan.check));
            let sizes: Vec<_> = self.exploring.plan.sizes.iter().map(u64::to_string).collect();
            let script = script.replace("@SIZES@", &sizes.join(" "));
            let look = place.join("look.sh");
            fs::write(&look, script)?;
            fs::set_permissions(look, fs::Permissions::from_mode(0o755))
        };
        write().map_err(|problem| self.exploring.folder.io(problem))
    }
}

/// Copy a disk without its zeros.
fn copy(from: &impl Disk, to: &impl Disk) -> io::Result<()> {
    const CHUNK_BYTES: u64 = 1 << 20;
    let size_bytes = from.size_bytes()?;
    for offset in (0..size_bytes).step_by(CHUNK_BYTES as usize) {
        let mut bytes = vec![0; CHUNK_BYTES.min(size_bytes - offset) as usize];
        from.read_at(&mut bytes, offset)?;
        let is_last = offset + CHUNK_BYTES >= size_bytes;
        if is_last || bytes.iter().any(|byte| *byte != 0) {
            to.write_at(&bytes, offset)?;
        }
    }
    to.sync()
}
