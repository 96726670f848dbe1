//! Mooncake's traces of the serving of large language models: a JSON object per request, with the prefix of
//! its prompt as hashes of blocks of tokens. A store of key-value blocks turns them into reads and writes.
//!
//! Every hash is an object of `kv_store.object` bytes. The first hashes of a request are read as long as the
//! store holds them. The model computes all others, and those missing in the store are written. A full store
//! of `kv_store.capacity` evicts the object that was used (`lru`) or written (`fifo`) longest ago, and the
//! new object takes its place: `fifo` writes the store from its begin to its end, again and again, as a log
//! does. The lengths in tokens are ignored: the last block counts as a whole one.

use crate::devices::Devices;
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use crate::text::{LineParser, TextFormat};
use coflash_workload::Op;
use coflash_workload::recorded::{KvEviction, KvStore, TraceOptions};
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};

/// The reader of a Mooncake trace.
pub(crate) struct Mooncake {
    store: Store,
    /// Records of the last line that are still to be given.
    waiting: VecDeque<Record>,
    hashes: u64,
    reads: u64,
}

#[derive(Deserialize)]
struct Line {
    #[serde(alias = "created_time")]
    timestamp: f64,
    hash_ids: Vec<u64>,
}

const MILLISECOND_NS: f64 = 1e6;

impl TextFormat for Mooncake {
    const INFO: FormatInfo = FormatInfo {
        name: "mooncake",
        summary: "requests to a large language model, JSON lines; a store of key-value blocks makes reads and writes",
        source: "Qin et al., Mooncake: Trading More Storage for Less Computation, FAST 2025",
        record: "{\"timestamp\": ms, \"hash_ids\": [...], ...}",
        extensions: &["jsonl"],
    };
    const CONVENTIONS: Conventions =
        Conventions::new(Clock::Start, ["timestamp", "device", "hash_ids", "kv_store.object"]);

    fn new(options: &TraceOptions) -> Self {
        Self { store: Store::new(options.kv_store), waiting: VecDeque::new(), hashes: 0, reads: 0 }
    }
}

impl LineParser for Mooncake {
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, FieldError> {
        let Line { timestamp, hash_ids } = serde_json::from_slice(line).map_err(|error| {
            FieldError::text("request", line, &format!("an object with timestamp and hash_ids: {error}"))
        })?;
        let time_ns = timestamp * MILLISECOND_NS;
        if !(0.0..u64::MAX as f64).contains(&time_ns) {
            return Err(FieldError::number("timestamp", timestamp, "a time in ms from 0 to below 2^64 ns"));
        }
        let mut is_prefix = true;
        for hash in hash_ids {
            self.hashes += 1;
            let (place, is_stored) = self.store.use_of(hash);
            is_prefix &= is_stored;
            self.reads += u64::from(is_prefix);
            let op = if is_stored { Op::Read } else { Op::Write };
            if is_prefix || !is_stored {
                let length = self.store.object_bytes;
                let offset = place * length;
                self.waiting.push_back(Record {
                    time_ns: time_ns as u64,
                    device: 0,
                    offset,
                    length,
                    op,
                    placement: None,
                });
            }
        }
        Ok(self.waiting.pop_front())
    }

    fn further(&mut self) -> Option<Record> {
        self.waiting.pop_front()
    }

    fn remarks(&self) -> Vec<String> {
        vec![format!(
            "{} blocks of tokens were asked for; a store of {} objects (kv_store) held {} of them and had them read",
            self.hashes, self.store.places, self.reads
        )]
    }
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
    fn new(KvStore { object, capacity, eviction }: KvStore) -> Self {
        let places = capacity.count / object.count.max(1);
        let (objects, order) = (BTreeMap::new(), BTreeMap::new());
        Self { object_bytes: object.count, places, eviction, objects, order, now: 0 }
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
