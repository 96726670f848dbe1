//! The host loses power, or the process ends. After a loss of power the container is as at its last sync
//! point or later; after the end of the process, as at the last write of the journal or later.

use super::lossy::{HostPower, LossyDisk};
use super::memory::MemoryDisk;
use super::model::{State, WORDS, call, erased, format, look, oob, page_of};
use crate::disk::{Disk, Disks};
use crate::format::{Layout, VERSION};
use crate::sabotage::{self, Sabotage};
use crate::{Format, Store, StoreError};
use coflash_base::Seed;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_media::{Cause, Flash, Geometry, HostPage, Mode, Nvm, Oob, Place, Ppn};

/// Failures outside of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// A flush is answered without a sync point.
    NoSyncPoint,
    /// The data of a journal entry is not durable when the entry is written.
    DataIsNotSynced,
    /// Syncs of the journal do nothing.
    JournalIsNotSynced,
    /// Of the store itself.
    Inside(Sabotage),
}

/// A container, its states so far, and those allowed after a restart.
#[derive(Clone)]
struct Subject {
    mistake: Mistake,
    state: State,
    /// The states since the last sync point, beginning with the state at that point.
    moments: Vec<State>,
    /// The number of the last moment that the host has in full.
    written: usize,
    tag: u64,
}

impl Subject {
    fn new(mistake: Mistake) -> Self {
        let state = State::erased();
        Self { mistake, moments: vec![state.clone()], state, written: 0, tag: 0 }
    }

    /// Run a random operation.
    fn act<D: Disk>(&mut self, store: &mut Store<D>, stream: &mut RandomStream) -> Result<(), StoreError> {
        match stream.random_range(0..20) {
            0 => {
                if self.mistake != Mistake::NoSyncPoint {
                    store.sync_point()?;
                }
                self.moments.drain(..self.moments.len() - 1);
                self.written = 0;
            }
            1..=3 => {
                store.write_out()?;
                self.written = self.moments.len() - 1;
            }
            _ => {
                self.tag += 1;
                let operation = self.state.draw(self.tag, stream);
                let oob = oob(&self.state, operation, self.tag);
                self.state.apply(operation, oob);
                self.moments.push(self.state.clone());
                call(store, operation, oob)?;
                store.failure().cloned().map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }

    /// Check the state found; it may be that of any moment after the first `skipped`.
    fn check<D: Disk>(&mut self, disks: Disks<D>, skipped: usize) -> Result<(), String> {
        let (mut store, contents) = Store::open(disks).map_err(|error| error.to_string())?;
        let found = look(&mut store, &contents).map_err(|error| error.to_string())?;
        let damage = store.scrub();
        if !damage.is_empty() {
            return Err(format!("{damage:?}"));
        }
        if !self.moments[skipped..].contains(&found) {
            return Err(format!("{found:?}\nis as at none of {} moments", self.moments.len() - skipped));
        }
        self.state = found;
        self.moments = vec![self.state.clone()];
        self.written = 0;
        Ok(())
    }
}

type Lossy<'a> = Disks<LossyDisk<'a, &'a MemoryDisk>>;

/// Run work on a host that loses power.
fn on_a_host<T>(
    memory: &Disks<MemoryDisk>,
    mistake: Mistake,
    work: impl FnOnce(&HostPower, &Lossy<'_>) -> T,
) -> T {
    let power = HostPower::default();
    let disk = |disk| LossyDisk::new(disk, &power);
    let lossy = Disks { data: disk(&memory.data), metadata: disk(&memory.metadata) };
    match mistake {
        Mistake::DataIsNotSynced => lossy.data.ignore_syncs(),
        Mistake::JournalIsNotSynced => lossy.metadata.ignore_syncs(),
        _ => {}
    }
    let inside = if let Mistake::Inside(sabotage) = mistake { Some(sabotage) } else { None };
    sabotage::with(inside, || work(&power, &lossy))
}

fn refs<D>(disks: &Disks<D>) -> Disks<&D> {
    Disks { data: &disks.data, metadata: &disks.metadata }
}

/// Lose power and restore it.
fn lose(power: &HostPower, disks: &Lossy<'_>, share: f64, stream: &mut RandomStream) {
    for disk in [&disks.data, &disks.metadata] {
        disk.lose(share, stream).expect("memory does not fail");
    }
    power.cut_after(u64::MAX);
}

/// Run through `cuts` losses of power; return the number of states checked.
fn storm(seed: u64, cuts: u32, mistake: Mistake) -> Result<u64, String> {
    let mut stream = Seed(seed).stream("storm");
    on_a_host(&erased(), mistake, |power, disks| {
        let share =
            |stream: &mut RandomStream| HostPower::SHARES[stream.random_range(0..HostPower::SHARES.len())];
        let mut subject = Subject::new(mistake);
        let mut states = 0;
        for cut in 0..cuts {
            let describe = |problem| format!("storm {seed}, cut {cut}: {problem}");
            let (mut store, _) = Store::open(refs(disks)).map_err(|error| describe(error.to_string()))?;
            power.cut_after(stream.random_range(1..120));
            while subject.act(&mut store, &mut stream).is_ok() {}
            if stream.random() {
                // The process had ended; the host loses power during the recovery or after it.
                power.cut_after(stream.random_range(1..30));
                let _ = Store::open(refs(disks));
                states += 1;
            }
            lose(power, disks, share(&mut stream), &mut stream);
            // Recovery is cut, too.
            while stream.random_range(0..3) > 0 {
                power.cut_after(stream.random_range(1..30));
                let _ = Store::open(refs(disks));
                lose(power, disks, share(&mut stream), &mut stream);
                states += 1;
            }
            subject.check(refs(disks), 0).map_err(describe)?;
            states += 1;
        }
        Ok(states)
    })
}

/// Cut a short history at every step, and each recovery at every step; return the number of states.
fn every_step(seed: u64) -> Result<u64, String> {
    const ACTS: u32 = 12;
    let history = |memory: &Disks<MemoryDisk>, step: u64, share: f64| {
        on_a_host(memory, Mistake::None, |power, disks| {
            let (mut subject, mut stream) = (Subject::new(Mistake::None), Seed(seed).stream("history"));
            let (mut store, _) = Store::open(refs(disks)).expect("the container is whole");
            power.cut_after(step);
            let ends = (0..ACTS).all(|_| subject.act(&mut store, &mut stream).is_ok());
            lose(power, disks, share, &mut stream);
            (subject, ends)
        })
    };
    let mut states = 0;
    for step in 1.. {
        let mut ends = false;
        for share in HostPower::SHARES {
            let memory = erased();
            let (subject, history_ends) = history(&memory, step, share);
            ends = history_ends;
            for cut in 1.. {
                let memory = Disks { data: memory.data.clone(), metadata: memory.metadata.clone() };
                let is_cut = on_a_host(&memory, Mistake::None, |power, disks| {
                    power.cut_after(cut);
                    let is_cut = Store::open(refs(disks)).is_err();
                    lose(power, disks, share, &mut Seed(seed).stream("recovery"));
                    is_cut
                });
                let checked = subject.clone().check(refs(&memory), 0);
                checked.map_err(|problem| {
                    format!("history {seed}, step {step}, share {share}, cut {cut} of recovery: {problem}")
                })?;
                states += 1;
                if !is_cut {
                    break;
                }
            }
        }
        if ends {
            break;
        }
    }
    Ok(states)
}

#[test]
fn every_step_of_short_histories_and_of_their_recoveries() {
    let states = (0..120).map(|seed| every_step(seed).unwrap_or_else(|problem| panic!("{problem}")));
    let states: u64 = states.sum();
    assert!(states > 20_000, "{states} states");
}

const CUTS_PER_STORM: u32 = 50;

/// Cuts in the test suite: 100,000 states with the cuts of recovery. `COFLASH_STORM_CUTS` asks for more.
fn cuts() -> u64 {
    std::env::var("COFLASH_STORM_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(32_000)
}

#[test]
fn a_container_comes_back_as_at_its_last_sync_point_or_later() {
    let storms =
        (0..cuts() / u64::from(CUTS_PER_STORM)).map(|seed| storm(seed, CUTS_PER_STORM, Mistake::None));
    let states: u64 = storms.map(|states| states.unwrap_or_else(|problem| panic!("{problem}"))).sum();
    assert!(states > 2 * cuts(), "{states} states: recovery is cut, too");
}

fn is_caught(mistake: Mistake) {
    let caught = (0..200).any(|seed| {
        let quiet = std::panic::catch_unwind(|| storm(seed, CUTS_PER_STORM, mistake));
        !matches!(quiet, Ok(Ok(_)))
    });
    assert!(caught, "{mistake:?}");
}

#[test]
fn a_flush_without_a_sync_point_is_caught() {
    is_caught(Mistake::NoSyncPoint);
}

#[test]
fn an_entry_before_its_data_is_caught() {
    is_caught(Mistake::DataIsNotSynced);
}

#[test]
fn a_journal_that_is_not_synced_is_caught() {
    is_caught(Mistake::JournalIsNotSynced);
}

#[test]
fn a_place_that_is_used_again_early_is_caught() {
    is_caught(Mistake::Inside(Sabotage::EarlyReuse));
}

#[test]
fn a_place_that_is_free_while_a_copy_uses_it_is_caught() {
    is_caught(Mistake::Inside(Sabotage::UncountedCopy));
}

#[test]
fn a_copy_of_data_that_was_lost_is_caught() {
    is_caught(Mistake::Inside(Sabotage::UncheckedCopy));
}

#[test]
fn pages_without_a_generation_are_caught() {
    is_caught(Mistake::Inside(Sabotage::NoGeneration));
}

/// Lives of a process, each continuing what the one before left.
fn lives(seed: u64, mistake: Option<Sabotage>) -> Result<(), String> {
    let mut stream = Seed(seed).stream("kill");
    let memory = erased();
    let disks = || Disks { data: &memory.data, metadata: &memory.metadata };
    let mut subject = Subject::new(Mistake::None);
    sabotage::with(mistake, || {
        for life in 0..20 {
            let (mut store, _) = Store::open(disks()).expect("the container is whole");
            for _ in 0..stream.random_range(0..60) {
                subject.act(&mut store, &mut stream).expect("memory does not fail");
            }
            drop(store);
            let written = subject.written;
            subject.check(disks(), written).map_err(|problem| format!("{seed}, life {life}: {problem}"))?;
        }
        Ok(())
    })
}

#[test]
fn the_end_of_the_process_loses_nothing_that_was_written_out() {
    (0..400).for_each(|seed| lives(seed, None).unwrap_or_else(|problem| panic!("{problem}")));
}

#[test]
fn an_entry_whose_data_still_waits_is_caught() {
    assert!((0..20).any(|seed| lives(seed, Some(Sabotage::EntryBeforeData)).is_err()));
}

#[test]
fn a_closed_container_has_an_empty_journal() {
    let memory: Disks<MemoryDisk> = erased();
    let disks = || Disks { data: &memory.data, metadata: &memory.metadata };
    let mut subject = Subject::new(Mistake::None);
    let mut stream = Seed(1).stream("close");
    let (mut store, _) = Store::open(disks()).expect("the container is whole");
    (0..50).for_each(|_| subject.act(&mut store, &mut stream).expect("memory does not fail"));
    store.close().expect("memory does not fail");
    let (store, _) = Store::open(disks()).expect("the container is whole");
    assert_eq!(store.info().journal_bytes, 0);
    let last = subject.moments.len() - 1;
    subject.check(disks(), last).unwrap_or_else(|problem| panic!("{problem}"));
}

#[test]
fn a_loss_may_be_looked_at_before_it_happens() {
    let memory = Disks::<MemoryDisk>::default();
    on_a_host(&memory, Mistake::None, |_, disks| {
        let write = |byte| disks.data.write_at(&[byte; 2000], 100).expect("memory does not fail");
        write(1);
        disks.data.sync().expect("memory does not fail");
        write(2);
        assert_eq!(disks.data.unsynced_sectors(), 5);
        let all = |disk: &dyn Disk| {
            let mut bytes = vec![0; 2500];
            disk.read_at(&mut bytes, 0).expect("memory does not fail");
            bytes
        };
        let (written, stream) = (all(&disks.data), Seed(1).stream("loss"));
        let left = all(&disks.data.after_loss(0.5, &mut stream.clone()).expect("memory does not fail"));
        assert_eq!(all(&disks.data), written);
        disks.data.lose(0.5, &mut stream.clone()).expect("memory does not fail");
        assert_eq!(all(&disks.data), left);
        assert!(left.contains(&1) && left.contains(&2), "seed 1 keeps some of five sectors");
    });
}

#[test]
fn stores_without_end_fit_into_the_journal() {
    let memory = erased();
    let (mut store, _) = Store::open(refs(&memory)).expect("the container is whole");
    (1..10_000).for_each(|value| store.store(value as u32 % WORDS, value));
    store.write_out().expect("memory does not fail");
    drop(store);
    let (_, contents) = Store::open(refs(&memory)).expect("the container is whole");
    assert_eq!(contents.words, [9996, 9997, 9998, 9999]);
}

#[test]
fn rejected_entries_of_the_journal_do_not_come_back() {
    let memory = erased();
    let disks = || Disks { data: &memory.data, metadata: &memory.metadata };
    let write = |words: &[u32]| {
        let (mut store, contents) = Store::open(disks()).expect("the container is whole");
        for &word in words {
            store.store(word, 7);
            store.write_out().expect("memory does not fail");
        }
        contents.words[..2].to_vec()
    };
    write(&[0, 1]);
    // The first entry is lost with the power of the host, the second one is not.
    let layout = Layout::new(&format(), VERSION);
    for copy in &layout.journals {
        memory.metadata.write_at(&[0], layout.journal.start + copy).expect("it is memory");
    }
    // This entry is the lost one once more, byte for byte.
    assert_eq!(write(&[0]), [0, 0]);
    assert_eq!(write(&[]), [7, 0]);
}

/// All pages are written over and over: on a disk each sync point writes them all out.
#[test]
fn writes_without_a_flush_make_few_sync_points() {
    let geometry = Geometry { blocks_per_plane: 64, pages_per_block: 16, ..format().geometry };
    let format = Format { geometry: geometry.clone(), ..format() };
    let mut store = Store::create(Disks::<MemoryDisk>::default(), &format).expect("it fits");
    let writes = 8 * geometry.pages();
    for write in 0..writes {
        let (round, page) = (write / geometry.pages(), Ppn::new(write % geometry.pages()));
        let block = geometry.block_of(page);
        if round > 0 && page == geometry.page(block, 0) {
            store.erase(block, Cause::Gc, ()).expect("memory does not fail");
        }
        let oob = Oob { lpn: None, sequence: write.into(), mode: Mode::Normal };
        store.host_writes(0, &page_of(write.into()));
        store.program(page, oob, Place::Host, Cause::Host, ()).expect("memory does not fail");
        store.write_out().expect("memory does not fail");
    }
    let syncs = store.info().sync_points;
    assert!(syncs <= 8, "{syncs} sync points in {writes} writes");
}
