//! Traces of the serving of large language models: a JSON object per request, with the prefix of its prompt as hashes of
//! blocks of tokens. A store of key-value blocks turns them into reads and writes.
//!
//! | dialect  | time                           | hashes       | tokens a block |
//! |----------|--------------------------------|--------------|---------------:|
//! | Mooncake | ms since the start             | numbers      |            512 |
//! | Bailian  | s; requests belong to a `turn` | numbers      |             16 |
//! | LiteLLM  | ms since 1970                  | hexadecimal  |            512 |
//!
//! Every hash is a block of keys and values: its first use writes it behind all earlier ones, each further use reads it.
//! By default a block has 128 KiB for each of its tokens (`units.size` is the size of a block); the number of tokens
//! follows from the lengths of prompts, each of which has a hash for each of its blocks. The last block of a prompt
//! counts as a whole one. No block ever leaves: the capacity of a store is a matter of the device (`workload.remap =
//! "modulo"` writes it from its begin to its end, again and again).

use crate::devices::Devices;
use crate::record::{FieldError, Parsed, Record};
use crate::text::{LineParser, TextFormat};
use coflash_base::{Bytes, Duration};
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, VecDeque};

/// The reader of such a trace.
#[derive(Default)]
pub(crate) struct Mooncake {
    /// The place of each block, in blocks.
    places: BTreeMap<u64, u64>,
    /// The size of a block, if it is given.
    given: Option<Bytes>,
    /// The unit of times, if it is given.
    time_unit: Option<Duration>,
    tokens: u64,
    /// Whether the lengths of prompts tell the tokens.
    told: bool,
    /// What times are; `None` before the first request.
    times: Option<Times>,
    /// The first time, if times are dates.
    origin_ns: u64,
    /// Records of the last line that are still to be given.
    waiting: VecDeque<Record>,
    hashes: u64,
}

#[derive(Deserialize)]
struct Line {
    #[serde(alias = "created_time")]
    timestamp: f64,
    hash_ids: Vec<Hash>,
    input_length: Option<u64>,
    turn: Option<IgnoredAny>,
    chat_id: Option<IgnoredAny>,
}

/// A hash: a number, or hexadecimal digits.
#[derive(Deserialize)]
#[serde(untagged)]
enum Hash {
    Number(u64),
    Text(String),
}

/// The unit of times in ns, whether they are dates, and that in words.
type Times = (f64, bool, &'static str);

/// Dates from 2000 on, by their size.
const DATES: [(f64, Times); 3] = [
    (9.4e14, (1e3, true, "microseconds since 1970")),
    (9.4e11, (1e6, true, "milliseconds since 1970")),
    (9.4e8, (1e9, true, "seconds since 1970")),
];

/// What the times of a trace are, by its first line, or by the unit that was given.
fn times_of(line: &Line, given: Option<Duration>) -> Times {
    let date = DATES.into_iter().find(|(from, _)| line.timestamp >= *from);
    match (given.map(|unit| unit.ns as f64), date) {
        (Some(ns), _) => (ns, line.timestamp * ns >= 9.4e17, "the unit that was given"),
        (None, Some((_, times))) => times,
        _ if line.turn.is_some() || line.chat_id.is_some() => {
            (1e9, false, "seconds, as requests belong to a turn")
        }
        _ => (1e6, false, "milliseconds since the start (units.time says another unit)"),
    }
}

/// The bytes of a token's keys and values.
const TOKEN_BYTES: u64 = 128 << 10;
/// The tokens of a block if the trace does not tell.
const USUAL_TOKENS: u64 = 512;
/// The largest block of tokens that is looked for.
const TOKENS_MAX: u64 = 1 << 16;

impl TextFormat for Mooncake {
    fn new(options: &TraceOptions) -> Self {
        let (given, time_unit) = (options.units.size, options.units.time);
        Self { given, time_unit, tokens: USUAL_TOKENS, ..Self::default() }
    }
}

impl Mooncake {
    fn block_bytes(&self) -> u64 {
        self.given.map_or(self.tokens * TOKEN_BYTES, |given| given.count)
    }
}

impl LineParser for Mooncake {
    /// Find the tokens of a block: the power of two that gives all prompts as many hashes as they have.
    fn look_ahead(&mut self, beginning: &[u8]) {
        let lines = beginning
            .split(|&byte| byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        let prompts = lines.filter_map(|line| Some((line.input_length?, line.hash_ids.len() as u64)));
        let prompts: Vec<_> = prompts.filter(|&(tokens, hashes)| tokens > 0 && hashes > 1).collect();
        // The last block may have a hash only if it is full.
        let fits = |size: &u64| {
            prompts.iter().all(|(tokens, hashes)| tokens.div_ceil(*size) == *hashes)
                || prompts.iter().all(|(tokens, hashes)| tokens / *size == *hashes)
        };
        let mut sizes =
            std::iter::successors(Some(TOKENS_MAX), |size| Some(size / 2).filter(|half| *half > 0));
        if let Some(tokens) = sizes.find(fits).filter(|_| !prompts.is_empty()) {
            (self.told, self.tokens) = (true, tokens);
        }
    }

    fn record(&mut self, line: &[u8], _: &mut Devices) -> Parsed<Option<Record>> {
        let line: Line = serde_json::from_slice(line).map_err(|error| {
            FieldError::text("request", line, &format!("an object with timestamp and hash_ids: {error}"))
        })?;
        let given = self.time_unit;
        let (ns, are_dates, _) = *self.times.get_or_insert_with(|| times_of(&line, given));
        let Line { timestamp, hash_ids, .. } = line;
        let time_ns = timestamp * ns;
        if !(0.0..u64::MAX as f64).contains(&time_ns) {
            return Err(FieldError::number("timestamp", timestamp, "a time from 0 to below 2^64 ns"));
        }
        if are_dates && self.origin_ns == 0 {
            self.origin_ns = time_ns as u64;
        }
        let time_ns = (time_ns as u64).saturating_sub(self.origin_ns);
        let length = self.block_bytes();
        for hash in hash_ids {
            let hash = match hash {
                Hash::Number(number) => number,
                Hash::Text(digits) => number_of(&digits)?,
            };
            self.hashes += 1;
            let next = self.places.len() as u64;
            let place = *self.places.entry(hash).or_insert(next);
            let op = if place == next { Op::Write } else { Op::Read };
            // The reader refuses what is beyond the address space.
            let offset = place.saturating_mul(length);
            self.waiting.push_back(Record { time_ns, device: 0, offset, length, op, placement: None });
        }
        Ok(self.waiting.pop_front())
    }

    fn further(&mut self) -> Option<Record> {
        self.waiting.pop_front()
    }

    fn remarks(&self) -> Vec<String> {
        let size = Bytes { count: self.block_bytes() };
        let told = if self.told { "as the lengths of prompts tell" } else { "as is usual" };
        let size = match self.given {
            Some(_) => format!("blocks of {size} (units.size)"),
            None => format!("blocks of {} tokens, {told}, of {size} (units.size)", self.tokens),
        };
        vec![
            format!("times in {}; {size}", self.times.map_or("no unit", |(.., text)| text)),
            format!(
                "{} blocks of tokens were asked for: {} different ones are written once and read from then on",
                self.hashes,
                self.places.len()
            ),
        ]
    }
}

/// The number of a hash in hexadecimal digits; of a longer one the last 64 bits.
fn number_of(digits: &str) -> Parsed<u64> {
    let wrong = || FieldError::text("hash_ids", digits.as_bytes(), "a number or hexadecimal digits");
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    u64::from_str_radix(&digits[digits.len().saturating_sub(16)..], 16).map_err(|_| wrong())
}
