//! A served device, cut in the midst of the requests of several clients, leaves what the model of order allows and nothing else.

use crate::order::left;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Op, Seed, Time};
use coflash_device::order::{Id, Kind, Log};
use coflash_device::{Address, Cut, CutAt, Folder, Machine, ServedDevice, Side, cut};
use coflash_scenario::Scenario;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Barrier, Condvar, Mutex};
use std::thread;

const SECTOR: u64 = 512;
const SECTORS: u64 = 64 * 8;
const FUA: u16 = 1;
const READ: u16 = 0;
const DISCONNECT: u16 = 2;
const CLIENTS: usize = 3;

/// A client that knows little of the protocol.
struct Client(UnixStream);

impl Client {
    /// Connect, as often as a power cut ends the handshake.
    fn connect(socket: &Path) -> Self {
        std::iter::repeat_with(|| Self::shake_hands(socket)).find_map(Result::ok).unwrap()
    }

    fn shake_hands(socket: &Path) -> io::Result<Self> {
        let mut client = Self(UnixStream::connect(socket).unwrap());
        client.receive(18)?;
        let go = [b"\0\0\0\x03IHAVEOPT".as_slice(), &[0, 0, 0, 7, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0]].concat();
        client.0.write_all(&go)?;
        // One answer with the size, one that ends.
        client.receive(20 + 12 + 20)?;
        Ok(client)
    }

    fn receive(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).map(|()| bytes)
    }

    fn send(
        &mut self,
        command: u16,
        flags: u16,
        id: Id,
        at: u64,
        length: u64,
        data: &[u8],
    ) -> io::Result<()> {
        let mut message = 0x2560_9513_u32.to_be_bytes().to_vec();
        message.extend(flags.to_be_bytes());
        message.extend(command.to_be_bytes());
        message.extend((id as u64).to_be_bytes());
        message.extend(at.to_be_bytes());
        message.extend((length as u32).to_be_bytes());
        message.extend(data);
        self.0.write_all(&message)
    }

    /// The next answer that has no data.
    fn answer(&mut self) -> io::Result<Id> {
        let answer = self.receive(16)?;
        assert_eq!(answer[4..8], [0; 4], "no answer is better than an error");
        Ok(u64::from_be_bytes(answer[8..].try_into().unwrap()) as Id)
    }
}

/// What all clients know: each notes a request before it sends it, and an answer when it has it. So all that the log says to be
/// before something was so for the server.
#[derive(Default)]
struct Known {
    log: Mutex<Log>,
    answers: Mutex<usize>,
    more: Condvar,
}

impl Known {
    fn is_answered(&self, id: Id) {
        self.log.lock().unwrap().is_answered(Time::ZERO, id, false);
        *self.answers.lock().unwrap() += 1;
        self.more.notify_all();
    }

    fn await_answers(&self, count: usize) {
        let answers = self.answers.lock().unwrap();
        drop(self.more.wait_while(answers, |answers| *answers < count).unwrap());
    }
}

/// Send requests, some of them ahead of answers, until the disk vanishes. All clients connect before the first request: after the
/// cut the disk is there again, and would not vanish for a client that connects only then.
fn work(socket: &Path, known: &Known, connected: &Barrier, mut stream: RandomStream) -> io::Result<()> {
    let mut client = Client::connect(socket);
    connected.wait();
    let mut waiting = 0;
    loop {
        for _ in 0..stream.random_range(1..8) {
            let first = stream.random_range(0..SECTORS - 20);
            let (at, mut length) = (first * SECTOR, stream.random_range(1..20) * SECTOR);
            let (kind, command) = match stream.random_range(0..10) {
                0 => (Kind::Flush, 3),
                1 => (Kind::Zeroes, 6),
                _ => (Kind::Write, 1),
            };
            if kind == Kind::Flush {
                length = 0;
            }
            let flags = if kind != Kind::Flush && stream.random_bool(0.1) { FUA } else { 0 };
            let at = if kind == Kind::Flush { 0 } else { at };
            let id = known.log.lock().unwrap().arrives(Time::ZERO, kind, at, length, flags == FUA);
            let data = if kind == Kind::Write {
                (id as u64 + 1).to_le_bytes().repeat(length as usize / 8)
            } else {
                Vec::new()
            };
            client.send(command, flags, id, at, length, &data)?;
            waiting += 1;
        }
        while waiting > stream.random_range(0..4) {
            let id = client.answer()?;
            known.is_answered(id);
            waiting -= 1;
        }
    }
}

#[test]
fn a_cut_leaves_of_the_requests_of_several_clients_what_the_model_of_order_allows() {
    let cached = ("cache.size", "10%");
    let schemes: [&[(&str, &str)]; 7] = [
        &[("cooperation", "none")],
        &[("cooperation", "none"), cached, ("cache.volatile", "true")],
        &[("cooperation", "cdm"), cached],
        &[("cooperation", "move-in"), cached],
        &[("cooperation", "expected-cost"), cached],
        &[("cooperation", "cdm-consistent"), cached],
        &[("cooperation", "cdm-consistent"), cached, ("cache.placement", "host")],
    ];
    for (number, keys) in schemes.into_iter().enumerate() {
        for cycle in 0..4 {
            let place = tempfile::tempdir().unwrap();
            let (folder, socket) = (Folder::new(&place.path().join("device")), place.path().join("nbd"));
            let scenario = small(keys);
            // Between two requests, and in the midst of one.
            let at = CutAt { op: Op::Write, number: 100 + 40 * cycle };
            let within = (cycle % 2 == 1).then_some(Cut { at, side: Side::Both, seed: cycle });
            let machine = Machine::start(folder.clone(), Some(&scenario), None, None, within).unwrap();
            let served =
                ServedDevice::start(machine, &folder, &Address::Unix(socket.clone()), false).unwrap();
            let (known, connected) = (Known::default(), Barrier::new(CLIENTS));
            let seed = Seed(100 * number as u64 + cycle);
            thread::scope(|scope| {
                for client in 0..CLIENTS {
                    let (socket, known, connected) = (&socket, &known, &connected);
                    let stream = seed.child(&client.to_string()).stream("requests");
                    scope.spawn(move || {
                        work(socket, known, connected, stream).expect_err("the disk vanishes")
                    });
                }
                if within.is_none() {
                    known.await_answers(100 + 40 * cycle as usize);
                    cut(&folder, Side::Both, cycle).unwrap();
                }
            });
            let log = known.log.into_inner().unwrap();
            let windows = log.windows(&[].into());
            let mut client = Client::connect(&socket);
            client.send(READ, 0, 0, 0, SECTORS * SECTOR, &[]).unwrap();
            client.receive(16).unwrap();
            let found = client.receive((SECTORS * SECTOR) as usize).unwrap();
            client.send(DISCONNECT, 0, 0, 0, 0, &[]).unwrap();
            let mut promised = 0;
            for (sector, bytes) in found.chunks_exact(SECTOR as usize).enumerate() {
                let unit = sector as u64 * SECTOR..(sector as u64 + 1) * SECTOR;
                let left = left(&log, &windows, &unit);
                let is_zeros = |id: &Id| log.entries[*id].kind == Kind::Zeroes;
                // Non-volatile memory is written in words: a sector under way at the cut may be a mixture.
                for word in bytes.chunks_exact(8) {
                    let value = u64::from_le_bytes(word.try_into().unwrap());
                    let is_allowed = match value.checked_sub(1) {
                        None => left.before || left.changes.iter().any(is_zeros),
                        Some(id) => left.changes.contains(&(id as Id)),
                    };
                    assert!(is_allowed, "{keys:?}, cycle {cycle}, sector {sector}: {value} of {left:?}");
                }
                promised += usize::from(!left.before);
            }
            assert!(promised > 20, "{promised} sectors with a promise");
            served.stop().unwrap();
        }
    }
}

fn small(keys: &[(&str, &str)]) -> Scenario {
    let common = [
        ("flash.channels", "2"),
        ("flash.pages_per_block", "32"),
        ("flash.exported", "8MiB"),
        ("ftl.spare.share", "40%"),
    ];
    Scenario::default().set(&common).unwrap().set(keys).unwrap()
}
