//! Events of the Linux kernel as text: ftrace (`trace`, `trace_pipe`), `trace-cmd report`, `perf script`, `perf trace`.
//!
//! They differ in the text before the event; it may contain blanks and is ignored. `perf trace` counts milliseconds since
//! the start and writes an event as a call; all others give seconds since the start of the machine. One event counts as the
//! request: of the block layer its issue (block_rq_issue), the queueing of its bio (block_bio_queue) or its completion
//! (block_rq_complete), or else the command of a driver (nvme_setup_cmd, scsi_dispatch_cmd_start, ufshcd_command), whose blocks
//! are of `units.address` bytes, by default 512, of UFS 4096. Other events are counted. The first request is at time 0. Each processor records
//! independently, so a window of a second sorts the lines.

use crate::devices::Devices;
use crate::fields::Fields;
use crate::formats::linux_block::EventChoice;
use crate::numbers::{SECOND_NS, SECTOR_BYTES, decimal, units};
use crate::operations::Kind;
use crate::record::{FieldError, Parsed, Record, show};
use crate::text::{LineParser, TextFormat};
use coflash_base::Bytes;
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;
use std::collections::BTreeMap;

/// The reader of events.
pub(crate) struct Ftrace {
    choice: EventChoice,
    /// The driver whose commands are the requests, if the block layer's are not there.
    driver: Option<&'static Driver>,
    block_bytes: Option<u64>,
    /// Whether an event was read: chains of calls may follow.
    any: bool,
    /// The number of gaps with lost events.
    lost: u64,
    /// The numbers of events that are no requests.
    others: BTreeMap<Vec<u8>, u64>,
}

const MILLISECOND_NS: u64 = 1_000_000;
/// In the order of `TraceEvent`.
const NAMES: [&str; 3] = ["block_bio_queue", "block_rq_issue", "block_rq_complete"];
/// The kinds of other events that are counted apart.
const OTHERS_MAX: usize = 64;

/// An event of a driver: a command, with its operation after an opening, and the keys of its place.
struct Driver {
    name: &'static str,
    device: &'static str,
    opening: &'static str,
    /// How what it says of a command that is sent begins.
    sends: &'static str,
    block: &'static str,
    /// The bytes of a block, if `units.address` does not say them.
    block_bytes: u64,
    blocks: &'static str,
    /// Added to the number of blocks, unless that is one of bytes.
    more: Option<u64>,
}

/// Describe an event by its words, the bytes of a block, and what is added to the number of blocks.
const fn driver(words: [&'static str; 6], block_bytes: u64, more: Option<u64>) -> Driver {
    let [name, device, opening, sends, block, blocks] = words;
    Driver { name, device, opening, sends, block, block_bytes, blocks, more }
}

const DRIVERS: [Driver; 3] = [
    driver(["nvme_setup_cmd", "disk", "cmd=(", "", "slba", "len"], SECTOR_BYTES, Some(1)),
    driver(["scsi_dispatch_cmd_start", "host_no", "cmnd=(", "", "lba", "txlen"], SECTOR_BYTES, Some(0)),
    driver(["ufshcd_command", "device", "opcode: ", "send", "LBA", "size"], 4096, None),
];

impl TextFormat for Ftrace {
    fn new(options: &TraceOptions) -> Self {
        Self {
            choice: EventChoice::new(options),
            driver: None,
            block_bytes: options.units.address.map(|unit| unit.count),
            any: false,
            lost: 0,
            others: BTreeMap::new(),
        }
    }
}

impl LineParser for Ftrace {
    fn look_ahead(&mut self, beginning: &[u8]) {
        let has = |name: &str| memchr::memmem::find(beginning, name.as_bytes()).is_some();
        self.choice.fall_back(|event| has(NAMES[event as usize]));
        let mut drivers = DRIVERS.iter();
        self.driver = drivers.find(|driver| has(driver.name)).filter(|_| !NAMES.iter().any(|name| has(name)));
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Parsed<Option<Record>> {
        let Some(Event { time_ns, name, about, is_call }) = event_of(line)? else {
            return self.no_event(line);
        };
        self.any = true;
        let wanted = self.driver.map_or(NAMES[self.choice.event as usize], |driver| driver.name);
        if name != wanted.as_bytes() {
            self.other(name);
            return Ok(None);
        }
        let found = match self.driver {
            Some(driver) => self.command(driver, about)?,
            None if is_call => self.call(about)?,
            None => self.request(about)?,
        };
        Ok(found.map(|(device, op, offset, length)| Record {
            time_ns,
            device: devices.number(device),
            offset,
            length,
            op,
            placement: None,
        }))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.choice.remarks(NAMES);
        if let Some(driver) = self.driver {
            let block = Bytes { count: self.block_bytes.unwrap_or(driver.block_bytes) };
            remarks
                .push(format!("requests are taken at {}, in blocks of {block} (units.address)", driver.name));
        }
        if self.lost > 0 {
            remarks.push(format!("the recorder lost events at {} places", self.lost));
        }
        if !self.others.is_empty() {
            let counts = self.others.iter().map(|(name, count)| format!("{count} {}", show(name)));
            remarks.push(format!("other events are no requests: {}", counts.collect::<Vec<_>>().join(", ")));
        }
        remarks
    }
}

/// What a request is: its device, operation, first byte and length.
type Request<'a> = (&'a [u8], Op, u64, u64);

impl Ftrace {
    /// Read an event of the block layer, as the kernel prints it.
    #[inline]
    fn request<'a>(&mut self, about: &'a [u8]) -> Parsed<Option<Request<'a>>> {
        let mut fields = Fields::between_blanks(about);
        let device = fields.text();
        if device.is_empty() || !device.iter().all(|&b| b == b',' || b.is_ascii_digit()) {
            return Err(FieldError::text("device", device, "a device as in `8,16`"));
        }
        let letters = fields.text();
        // Some versions have bytes and a command between the letters and the sector.
        let rest = fields.rest();
        let Some(plus) = memchr::memmem::find(rest, b" + ") else {
            return Err(FieldError::text("sectors", rest.trim_ascii(), "`sector + sectors`"));
        };
        let before = rest[..plus].trim_ascii();
        let sector = before.rsplit(|&b| b == b' ').next().unwrap_or_default();
        let sectors = Fields::between_blanks(&rest[plus + 3..]).text();
        let found = self.choice.request(letters, sector, sectors)?;
        Ok(found.map(|(op, offset, length)| (device, op, offset, length)))
    }

    /// Read an event of the block layer as perf trace prints it: names and values of a call.
    fn call<'a>(&mut self, about: &'a [u8]) -> Parsed<Option<Request<'a>>> {
        let [letters, sector, sectors] = ["rwbs", "sector", "nr_sector"].map(|key| value(about, key));
        let device = value(about, "dev")?;
        let found = self.choice.request(letters?, sector?, sectors?)?;
        Ok(found.map(|(op, offset, length)| (device, op, offset, length)))
    }

    /// Read a command of a driver.
    fn command<'a>(&mut self, driver: &Driver, about: &'a [u8]) -> Parsed<Option<Request<'a>>> {
        if !about.trim_ascii().starts_with(driver.sends.as_bytes()) {
            return Ok(None);
        }
        let at = memchr::memmem::find(about, driver.opening.as_bytes())
            .map_or(about.len(), |at| at + driver.opening.len());
        let word = about[at..].split(|&byte| matches!(byte, b' ' | b')' | b',')).next().unwrap_or_default();
        let kind = Kind::parse(word).unwrap_or(Kind::Other);
        let device = value(about, driver.device).unwrap_or_default();
        let (block, blocks) = match (value(about, driver.block), value(about, driver.blocks)) {
            (Ok(block), Ok(blocks)) => (block, blocks),
            (Ok(_), Err(error)) if kind.op().is_some() => return Err(error),
            // Commands without a range: those of an administrator, and those to zones.
            _ if kind == Kind::Other => {
                self.other(word);
                return Ok(None);
            }
            _ => return Ok(self.choice.op_of(false, kind, 0).map(|op| (device, op, 0, 0))),
        };
        let block_bytes = self.block_bytes.unwrap_or(driver.block_bytes);
        let length = match driver.more {
            _ if blocks == b"-1" => 0,
            Some(more) => units(blocks, 1, driver.blocks)?.saturating_add(more).saturating_mul(block_bytes),
            None => units(blocks, 1, driver.blocks)?,
        };
        let Some(op) = self.choice.op_of(false, kind, length) else { return Ok(None) };
        let offset = if op == Op::Flush { 0 } else { units(block, block_bytes, driver.block)? };
        Ok(Some((device, op, offset, length)))
    }

    /// Count an event that is no request.
    #[cold]
    fn other(&mut self, name: &[u8]) {
        let name =
            if self.others.len() < OTHERS_MAX || self.others.contains_key(name) { name } else { b"others" };
        *self.others.entry(name.to_vec()).or_default() += 1;
    }

    /// Check that a line without an event reports lost events, or what a recorder says of itself.
    #[cold]
    fn no_event(&mut self, line: &[u8]) -> Parsed<Option<Record>> {
        let has = |text: &[u8]| memchr::memmem::find(line, text).is_some();
        let lost = has(b"[LOST ") || has(b"EVENTS DROPPED");
        self.lost += u64::from(lost);
        // The head of trace-cmd, and the calls that led to an event: an address and a name.
        let is_head =
            [&b"cpus="[..], b"version = ", b"CPU ", b"TRACE:"].iter().any(|&word| line.starts_with(word));
        let address = Fields::between_blanks(line).text();
        let is_call = self.any
            && line.starts_with(b"\t") | line.starts_with(b"  ")
            && address.iter().all(u8::is_ascii_hexdigit);
        if lost || is_head || is_call {
            return Ok(None);
        }
        let expected = "an event with its time, as in `1234.567890: block_rq_issue:`";
        Err(FieldError::text("time", line.trim_ascii(), expected))
    }
}

/// An event: its time, its name without the group, and what it says.
struct Event<'a> {
    time_ns: u64,
    name: &'a [u8],
    about: &'a [u8],
    /// Whether it is written as a call.
    is_call: bool,
}

/// Take a line apart; `None` if it has no event.
#[inline]
fn event_of(line: &[u8]) -> Parsed<Option<Event<'_>>> {
    if let Some((time, rest)) = split_at_time(line) {
        let mut fields = Fields::between_blanks(rest);
        let mut event = fields.text();
        // perf may print a period before the event.
        if event.iter().all(u8::is_ascii_digit) {
            event = fields.text();
        }
        let name = event.strip_suffix(b":").unwrap_or(event);
        let name = name.rsplit(|&byte| byte == b':').next().unwrap_or_default();
        let time_ns = decimal(time, SECOND_NS, "time")?;
        return Ok(Some(Event { time_ns, name, about: fields.rest(), is_call: false }));
    }
    // `0.123 ( 0.001 ms): dd/12 block:block_rq_issue(dev: 8388608, …)`, or of an older version
    // `0.123 block:block_rq_issue:8,0 W 4096 () 8 + 8 [dd]`.
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let found = memchr::memchr_iter(b':', line).find_map(|colon| {
        let group = line[..colon].rsplit(|&byte| byte == b' ').next()?;
        let name = line[colon + 1..].split(|byte| !is_name(byte)).next()?;
        let behind = *line.get(colon + 1 + name.len())?;
        let fits = !group.is_empty() && group.iter().all(is_name) && !name.is_empty();
        (fits && matches!(behind, b'(' | b':')).then_some((
            name,
            &line[colon + 2 + name.len()..],
            behind == b'(',
        ))
    });
    let time = Fields::between_blanks(line).text();
    match (found, decimal(time, MILLISECOND_NS, "time")) {
        (Some((name, about, is_call)), Ok(time_ns)) if time.contains(&b'.') => {
            Ok(Some(Event { time_ns, name, about, is_call }))
        }
        _ => Ok(None),
    }
}

/// The value of a key, as in `slba=8,` or `sector: 8,`.
fn value<'a>(about: &'a [u8], key: &'static str) -> Parsed<&'a [u8]> {
    let found = memchr::memmem::find_iter(about, key.as_bytes()).find_map(|at| {
        let rest =
            about[at + key.len()..].strip_prefix(b"=").or(about[at + key.len()..].strip_prefix(b":"))?;
        let is_whole = at == 0 || matches!(about[at - 1], b' ' | b'(' | b',');
        let rest = rest.trim_ascii();
        let end = rest.iter().position(|byte| matches!(byte, b',' | b')' | b' ')).unwrap_or(rest.len());
        is_whole.then(|| rest[..end].trim_ascii_start())
    });
    let found = found
        .map(|value| value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value));
    found.ok_or_else(|| FieldError::text(key, b"", "a value"))
}

/// Split a line into its time and the rest.
#[inline]
fn split_at_time(line: &[u8]) -> Option<(&[u8], &[u8])> {
    memchr::memchr_iter(b':', line).find_map(|colon| {
        let before = &line[..colon];
        let time = before.rsplit(|&b| b == b' ' || b == b'\t').next()?;
        let is_time = time.first()?.is_ascii_digit()
            && time.iter().all(|&b| b == b'.' || b.is_ascii_digit())
            && time.contains(&b'.');
        let rest = &line[colon + 1..];
        (is_time && rest.starts_with(b" ")).then_some((time, rest))
    })
}
