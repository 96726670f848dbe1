//! Traces of the serving of large language models: a JSON object per request, with the prefix of its prompt as hashes of
//! blocks of tokens. A store of key-value blocks turns them into reads and writes.
//!
//! | dialect  | time                           | hashes       | tokens a block |
//! |----------|--------------------------------|--------------|---------------:|
//! | Mooncake | ms since the start             | numbers      |            512 |
//! | Bailian  | s; requests belong to a `turn` | numbers      |             16 |
//! | LiteLLM  | ms since 1970                  | hexadecimal  |            512 |
//!
//! Every hash is an object of `kv_store.object` bytes, by default 128 KiB for each token of a block: their number follows
//! from the lengths of prompts, each of which has a hash for each of its blocks. The first hashes of a request are read as long as the
//! store holds them. The model computes all others, and those missing in the store are written. A full store
//! of `kv_store.capacity` evicts the object that was used (`lru`) or written (`fifo`) longest ago, and the
//! new object takes its place: `fifo` writes the store from its begin to its end, again and again, as a log
//! does. The last block of a prompt counts as a whole one.

use crate::devices::Devices;
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use crate::text::{LineParser, TextFormat};
use coflash_base::Bytes;
use coflash_workload::Op;
use coflash_workload::recorded::{KvEviction, KvStore, TraceOptions};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, VecDeque};

/// The reader of such a trace.
pub(crate) struct Mooncake {
    /// The store, with objects of one byte a token until the tokens of a block are known.
    store: Store,
    given: KvStore,
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
    reads: u64,
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

/// What the times of a trace are.
#[derive(Clone, Copy)]
struct Times {
    ns: f64,
    /// From here on they are dates.
    date_from: f64,
    text: &'static str,
}

const SINCE_START: Times = Times { ns: 1e6, date_from: f64::MAX, text: "milliseconds since the start" };
const OF_TURNS: Times = Times { ns: 1e9, date_from: f64::MAX, text: "seconds, as requests belong to a turn" };
/// Dates from 2000 on, by their size.
const DATES: [Times; 3] = [
    Times { ns: 1e3, date_from: 9.4e14, text: "microseconds since 1970" },
    Times { ns: 1e6, date_from: 9.4e11, text: "milliseconds since 1970" },
    Times { ns: 1e9, date_from: 9.4e8, text: "seconds since 1970" },
];

impl Times {
    fn of(line: &Line) -> Self {
        let date = DATES.into_iter().find(|date| line.timestamp >= date.date_from);
        date.unwrap_or(if line.turn.is_some() || line.chat_id.is_some() { OF_TURNS } else { SINCE_START })
    }
}

/// The bytes of a token's keys and values.
const TOKEN_BYTES: u64 = 128 << 10;
/// The tokens of a block if the trace does not tell.
const USUAL_TOKENS: u64 = 512;
/// The largest block of tokens that is looked for.
const TOKENS_MAX: u64 = 1 << 16;

impl TextFormat for Mooncake {
    const INFO: FormatInfo = FormatInfo {
        name: "mooncake",
        summary: "requests to a large language model (Mooncake, Bailian, LiteLLM), JSON lines; a store of key-value blocks makes reads and writes",
        source: "Qin et al., Mooncake: Trading More Storage for Less Computation, FAST 2025",
        record: "{\"timestamp\": ms or s, \"input_length\": tokens, \"hash_ids\": [...], ...}",
        extensions: &["jsonl"],
        options: &["kv_store.object", "kv_store.capacity", "kv_store.eviction"],
    };
    const CONVENTIONS: Conventions =
        Conventions::new(Clock::Start, ["timestamp", "device", "hash_ids", "kv_store.object"]);

    fn new(options: &TraceOptions) -> Self {
        let given = options.kv_store;
        let mut parser = Self {
            store: Store::new(given, 1),
            given,
            tokens: USUAL_TOKENS,
            told: false,
            times: None,
            origin_ns: 0,
            waiting: VecDeque::new(),
            hashes: 0,
            reads: 0,
        };
        parser.take_blocks_of(USUAL_TOKENS);
        parser
    }
}

impl Mooncake {
    fn take_blocks_of(&mut self, tokens: u64) {
        self.tokens = tokens;
        self.store =
            Store::new(self.given, self.given.object.map_or(tokens * TOKEN_BYTES, |object| object.count));
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
            self.told = true;
            self.take_blocks_of(tokens);
        }
    }

    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, FieldError> {
        let line: Line = serde_json::from_slice(line).map_err(|error| {
            FieldError::text("request", line, &format!("an object with timestamp and hash_ids: {error}"))
        })?;
        let times = *self.times.get_or_insert_with(|| Times::of(&line));
        let Line { timestamp, hash_ids, .. } = line;
        let time_ns = timestamp * times.ns;
        if !(0.0..u64::MAX as f64).contains(&time_ns) {
            return Err(FieldError::number("timestamp", timestamp, "a time from 0 to below 2^64 ns"));
        }
        if times.date_from < f64::MAX && self.origin_ns == 0 {
            self.origin_ns = time_ns as u64;
        }
        let time_ns = (time_ns as u64).saturating_sub(self.origin_ns);
        let mut is_prefix = true;
        for hash in hash_ids {
            let hash = match hash {
                Hash::Number(number) => number,
                Hash::Text(digits) => number_of(&digits)?,
            };
            self.hashes += 1;
            let (place, is_stored) = self.store.use_of(hash);
            is_prefix &= is_stored;
            self.reads += u64::from(is_prefix);
            let op = if is_stored { Op::Read } else { Op::Write };
            if is_prefix || !is_stored {
                let length = self.store.object_bytes;
                let offset = place * length;
                self.waiting.push_back(Record { time_ns, device: 0, offset, length, op, placement: None });
            }
        }
        Ok(self.waiting.pop_front())
    }

    fn further(&mut self) -> Option<Record> {
        self.waiting.pop_front()
    }

    fn remarks(&self) -> Vec<String> {
        let object = Bytes { count: self.store.object_bytes };
        let told = if self.told { "as the lengths of prompts tell" } else { "as is usual" };
        let size = match self.given.object {
            Some(_) => format!("blocks of {object} (kv_store.object)"),
            None => format!("blocks of {} tokens, {told}, of {object} (kv_store.object)", self.tokens),
        };
        vec![
            format!("times in {}; {size}", self.times.unwrap_or(SINCE_START).text),
            format!(
                "{} blocks of tokens were asked for; a store of {} objects (kv_store) held {} of them and had them read",
                self.hashes, self.store.places, self.reads
            ),
        ]
    }
}

/// The number of a hash in hexadecimal digits; of a longer one the last 64 bits.
fn number_of(digits: &str) -> Result<u64, FieldError> {
    let wrong = || FieldError::text("hash_ids", digits.as_bytes(), "a number or hexadecimal digits");
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    u64::from_str_radix(&digits[digits.len().saturating_sub(16)..], 16).map_err(|_| wrong())
}

/// The stored objects and their places.
struct Store {
    object_bytes: u64,
    /// The number of objects that it holds at most.
    places: u64,
    eviction: KvEviction,
    objects: BTreeMap<u64, Object>,
    /// The hash of each object by the moment that decides when it leaves.
    order: BTreeMap<u64, u64>,
    /// The next moment.
    now: u64,
}

#[derive(Clone, Copy)]
struct Object {
    place: u64,
    since: u64,
}

impl Store {
    fn new(KvStore { capacity, eviction, .. }: KvStore, object_bytes: u64) -> Self {
        let places = (capacity.count / object_bytes.max(1)).max(1);
        let (objects, order) = (BTreeMap::new(), BTreeMap::new());
        Self { object_bytes, places, eviction, objects, order, now: 0 }
    }

    /// Use an object, and store it if need be. Returns its place, and whether it was stored before.
    fn use_of(&mut self, hash: u64) -> (u64, bool) {
        let stored = self.objects.get(&hash).copied();
        if let Some(object) = stored {
            if self.eviction == KvEviction::Fifo {
                return (object.place, true);
            }
            self.order.remove(&object.since);
        }
        let place = match stored {
            Some(object) => object.place,
            None if (self.objects.len() as u64) < self.places => self.objects.len() as u64,
            None => {
                let (_, oldest) = self.order.pop_first().expect("a full store holds an object");
                self.objects.remove(&oldest).expect("what has an order is stored").place
            }
        };
        self.objects.insert(hash, Object { place, since: self.now });
        self.order.insert(self.now, hash);
        self.now += 1;
        (place, stored.is_some())
    }
}
