//! The buffer over the stupidest device: what was written last, what of it is durable, and what it believes of the host.

use super::*;
use crate::config::Notices;
use coflash_base::Bytes;
use coflash_base::seed::{RngExt, Seed, Stream};
use coflash_cache::EvictionConfig;
use coflash_controller::CacheSize;

const PAGES: u32 = 24;

/// A device that keeps versions; the version of a page in the host is the test's.
#[derive(Default)]
struct Versions {
    host: Vec<u64>,
    device: Vec<u64>,
    durable: Vec<u64>,
    believed_dirty: Vec<bool>,
    writes: u64,
}

impl Store for Versions {
    type When = Time;

    fn at(&self, time: Time) -> Time {
        time
    }

    fn later(&self, after: Time, by: Duration) -> Time {
        after + by
    }

    fn read(&mut self, lpn: Lpn, after: Time) -> Time {
        let page = lpn.get() as usize;
        assert_eq!(self.device[page], self.host[page], "{lpn:?} is read below, so nothing newer is above");
        after + Duration { ns: 1000 }
    }

    fn write(&mut self, lpn: Lpn, after: Time) -> Time {
        let page = lpn.get() as usize;
        self.device[page] = self.host[page];
        self.believed_dirty[page] = false;
        self.writes += 1;
        after + Duration { ns: 2000 }
    }

    fn trim(&mut self, lpn: Lpn) {
        let page = lpn.get() as usize;
        self.device[page] = self.host[page];
        self.believed_dirty[page] = false;
    }

    fn flush(&mut self, after: Time, parts: &mut Vec<Time>) {
        self.durable.clone_from(&self.device);
        parts.push(after);
    }

    fn host_dirties(&mut self, lpn: Lpn) {
        self.believed_dirty[lpn.get() as usize] = true;
    }
}

struct Checked {
    buffer: WriteBuffer,
    store: Versions,
    now: Time,
    version: u64,
}

impl Checked {
    fn new(config: &WriteBufferConfig) -> Self {
        let none = vec![0; PAGES as usize];
        Self {
            buffer: WriteBuffer::new(config, 16, PAGES, &Toll::new(Duration { ns: 50 }, 1.0))
                .expect("it is accepted"),
            store: Versions {
                host: none.clone(),
                device: none.clone(),
                durable: none,
                believed_dirty: vec![false; PAGES as usize],
                writes: 0,
            },
            now: Time::ZERO,
            version: 0,
        }
    }

    fn write(&mut self, page: u32, extent: Extent) -> Time {
        self.version += 1;
        // A part is merged with what is below, which must be the newest before it.
        let before = std::mem::replace(&mut self.store.host[page as usize], self.version);
        if extent == Extent::Part && self.buffer.cache().lookup(Lpn::new(page)).is_none() {
            self.store.host[page as usize] = before;
            let done = self.buffer.write(Lpn::new(page), extent, &mut self.store);
            self.store.host[page as usize] = self.version;
            return done;
        }
        self.buffer.write(Lpn::new(page), extent, &mut self.store)
    }

    fn pass(&mut self, ns: u64) {
        self.now += Duration { ns };
        while let Some(due) = self.buffer.next_due().filter(|&due| due <= self.now) {
            self.buffer.pass_time(due, &mut self.store);
        }
        self.buffer.pass_time(self.now, &mut self.store);
    }

    fn step(&mut self, stream: &mut Stream) {
        self.pass(stream.random_range(0..100));
        let page = stream.random_range(0..PAGES);
        let lpn = Lpn::new(page);
        match stream.random_range(0..20) {
            0..10 => drop(self.write(page, Extent::Whole)),
            10..13 => drop(self.write(page, Extent::Part)),
            13..17 => drop(self.buffer.read(lpn, &mut self.store)),
            17..19 => {
                self.version += 1;
                self.store.host[page as usize] = self.version;
                self.buffer.trim(lpn, &mut self.store);
            }
            _ => {
                let mut parts = Vec::new();
                self.buffer.flush(&mut self.store, &mut parts);
                assert_eq!(
                    self.store.durable, self.store.host,
                    "everything written before a flush is durable"
                );
                assert_eq!(self.buffer.cache().dirty_len(), 0);
            }
        }
        self.check();
    }

    fn check(&self) {
        self.buffer.assert_invariants();
        for page in 0..PAGES {
            let slot = self.buffer.cache().lookup(Lpn::new(page));
            let dirty = slot.is_some_and(|slot| self.buffer.cache().is_dirty(slot));
            let at = page as usize;
            assert!(dirty || self.store.device[at] == self.store.host[at], "page {page} is nowhere else");
            // The device may not know yet, but what it believes is so: else it would let go of the only copy.
            assert!(dirty || !self.store.believed_dirty[at], "page {page} is believed dirty, and is not");
        }
        let oldest = self.buffer.next_due();
        assert!(oldest.is_none_or(|due| due > self.now), "what is due is written");
        assert!(self.buffer.cache().dirty_len() <= self.buffer.dirty_max + 1, "and what is too much");
    }
}

fn configs() -> impl Iterator<Item = WriteBufferConfig> {
    let notices = [Notices::Each, Notices::Batched, Notices::Piggybacked];
    let policies = EvictionConfig::NAMES.iter().map(|name| EvictionConfig::by_name(name).expect("a policy"));
    policies.flat_map(move |policy| {
        notices.into_iter().flat_map(move |notices| {
            let policy = policy.clone();
            [(1_u64, 100), (5, 100), (5, 40), (24, 60)].map(move |(slots, percent)| WriteBufferConfig {
                size: CacheSize::Bytes(Bytes { count: slots * 16 }),
                policy: policy.clone(),
                notices,
                read_allocate: slots == 5,
                dirty_age_max: Duration { ns: if percent == 40 { 300 } else { 5000 } },
                dirty_share_max: Share::percent(percent),
                ..WriteBufferConfig::default()
            })
        })
    })
}

#[test]
fn nothing_is_lost_and_the_device_believes_nothing_false() {
    let mut all = WriteBufferTally::default();
    for (seed, config) in configs().enumerate() {
        let mut stream = Seed(seed as u64).stream("write buffer");
        let mut checked = Checked::new(&config);
        for _ in 0..2000 {
            checked.step(&mut stream);
        }
        let tally = checked.buffer.tally();
        assert_eq!(tally.written_pages(), checked.store.writes, "every write has a reason, {config:?}");
        all.evicted_pages += tally.evicted_pages;
        all.aged_pages += tally.aged_pages;
        all.crowded_pages += tally.crowded_pages;
        all.flushed_pages += tally.flushed_pages;
        all.dropped_pages += tally.dropped_pages;
    }
    let reasons =
        [all.evicted_pages, all.aged_pages, all.crowded_pages, all.flushed_pages, all.dropped_pages];
    assert!(reasons.iter().all(|&pages| pages > 200), "{all:?}");
}

/// A notice waits for the next command, or leaves at once and takes its time.
#[test]
fn the_device_learns_of_a_dirty_page_when_the_notice_arrives() {
    for (notices, known) in
        [(Notices::Piggybacked, [false, false, true]), (Notices::Each, [false, true, true])]
    {
        let config = WriteBufferConfig {
            size: CacheSize::Bytes(Bytes { count: 64 }),
            notices,
            ..WriteBufferConfig::default()
        };
        let mut checked = Checked::new(&config);
        checked.pass(10);
        let done = checked.write(3, Extent::Whole);
        assert_eq!(done, Time { ns: 30 }, "a write into the buffer takes its 20 ns and waits for nobody");
        let at_once = checked.store.believed_dirty[3];
        // A message takes 50 ns, and its 8 bytes 8.
        checked.pass(58);
        let later = checked.store.believed_dirty[3];
        checked.buffer.read(Lpn::new(9), &mut checked.store);
        assert_eq!([at_once, later, checked.store.believed_dirty[3]], known, "{notices:?}");
        assert_eq!(checked.buffer.notices().delay_max, Duration { ns: if later { 58 } else { 66 } });
    }
}

/// Written when it has been dirty for so long: not a moment before, and then it is clean.
#[test]
fn a_page_is_written_when_its_age_is_reached() {
    let config = WriteBufferConfig {
        size: CacheSize::Bytes(Bytes { count: 64 }),
        dirty_age_max: Duration { ns: 500 },
        ..WriteBufferConfig::default()
    };
    let mut checked = Checked::new(&config);
    checked.pass(100);
    checked.write(1, Extent::Whole);
    checked.pass(200);
    checked.write(1, Extent::Whole);
    checked.pass(299);
    assert_eq!((checked.store.writes, checked.buffer.next_due()), (0, Some(Time { ns: 600 })));
    checked.pass(1);
    assert_eq!((checked.store.writes, checked.buffer.next_due()), (1, None));
    assert!(checked.buffer.cache().lookup(Lpn::new(1)).is_some(), "it stays as a clean copy");
}
