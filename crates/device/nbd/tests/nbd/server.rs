//! A server on real sockets: its clients, its files, its end.

use crate::disk::Memory;
use crate::messages::{
    DISCONNECT, FIXED, FLUSH, NO_ZEROES, READ, Received, WRITE, chosen, command, option, shape,
};
use coflash_nbd::{Address, Connections, Export, Hangup, MAX_CONNECTIONS, Request, Server, Shape};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const SIZE: usize = 1 << 20;

/// A folder of its own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("coflash-nbd-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Stops a server at its end. A test that fails stops it too: otherwise its scope would wait for the server for ever.
struct Stopping<'a>(&'a Server);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs a server while `client` is under way.
fn with_server(name: &str, export: &impl Export, client: impl FnOnce(&PathBuf)) {
    with_connections(name, export, |socket, _| client(socket));
}

fn with_connections(name: &str, export: &impl Export, client: impl FnOnce(&PathBuf, &Connections)) {
    let folder = Folder::new(name);
    let server = Server::bind(&Address::Unix(folder.socket())).unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(|| server.run(export));
        let stopping = Stopping(&server);
        client(&folder.socket(), server.connections());
        drop(stopping);
        running.join().unwrap().unwrap();
    });
    drop(server);
    assert!(!folder.socket().exists(), "the socket file goes with the server");
}

fn connect(socket: &PathBuf) -> UnixStream {
    let mut stream = UnixStream::connect(socket).unwrap();
    begin(&mut stream);
    stream
}

/// Chooses the export, with simple replies.
fn begin(stream: &mut (impl Read + Write)) {
    let sent = [(FIXED | NO_ZEROES).to_be_bytes().to_vec(), option(7, &chosen(b"", &[]))].concat();
    stream.write_all(&sent).unwrap();
    // The greeting, the size, the end.
    receive(stream, 18 + 20 + 12 + 20);
}

fn receive(stream: &mut impl Read, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn simple(stream: &mut impl Read) -> (u64, u64) {
    Received(&receive(stream, 16)).simple()
}

/// Tells why connections ended.
struct Telling<E>(E, Mutex<Sender<String>>);

impl<E: Export> Export for Telling<E> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        self.0.serve(requests);
    }

    fn ended(&self, why: &Hangup) {
        let _ = self.1.lock().unwrap_or_else(PoisonError::into_inner).send(why.to_string());
    }
}

/// A memory disk, and the reasons for which its connections ended.
fn telling() -> (Telling<Memory>, Receiver<String>) {
    let (sender, receiver) = channel();
    (Telling(Memory::with_size(SIZE), Mutex::new(sender)), receiver)
}

#[test]
fn many_requests_at_once_are_answered_and_connections_see_one_disk() {
    with_server("many", &Memory::with_size(SIZE), |socket| {
        let (mut one, mut other) = (connect(socket), connect(socket));
        let page = |number: u64| vec![number as u8; 4096];
        let writes: Vec<u8> = (0..200)
            .flat_map(|number| [command(0, WRITE, number, number * 4096, 4096), page(number)].concat())
            .collect();
        // It answers while it reads, so this needs no second thread as long as replies are short.
        one.write_all(&writes).unwrap();
        for number in 0..200 {
            assert_eq!(simple(&mut one), (0, number));
        }
        let mut reader = other.try_clone().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..200 {
                    other.write_all(&command(0, READ, number, number * 4096, 4096)).unwrap();
                }
            });
            for number in 0..200 {
                assert_eq!(simple(&mut reader), (0, number));
                assert_eq!(receive(&mut reader, 4096), page(number));
            }
        });
        one.write_all(&command(0, DISCONNECT, 0, 0, 0)).unwrap();
        assert_eq!(one.read(&mut [0]).unwrap(), 0, "the server closes");
    });
}

#[test]
fn a_client_that_sends_far_ahead_gets_all_replies() {
    with_server("slow", &Memory::with_size(SIZE), |socket| {
        let mut client = connect(socket);
        client.set_nonblocking(true).unwrap();
        let reads: Vec<u8> = (0..200).flat_map(|cookie| command(0, READ, cookie, 0, 1 << 20)).collect();
        // 200 MiB: far more than sockets hold and the server keeps.
        let (mut sent, mut received) = (0, 0_usize);
        let mut buffer = vec![0; 1 << 20];
        while received < 200 * (16 + (1 << 20)) {
            match client.write(&reads[sent..]) {
                Ok(count) => sent += count,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            match client.read(&mut buffer) {
                Ok(0) => panic!("it was closed after {received} bytes"),
                Ok(count) => received += count,
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    thread::yield_now();
                }
            }
        }
    });
}

/// Answers each batch from another thread, the last request first, once it is told to.
struct Later(Mutex<Sender<Vec<Request>>>);

impl Export for Later {
    fn shape(&self) -> Shape {
        shape(SIZE as u64)
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).send(std::mem::take(requests));
    }

    fn ended(&self, _: &Hangup) {}
}

#[test]
fn answers_may_come_later_from_another_thread_and_in_any_order() {
    let (sender, held) = channel();
    with_server("later", &Later(Mutex::new(sender)), move |socket| {
        let mut client = connect(socket);
        for round in 0..50 {
            client.write_all(&command(0, FLUSH, round, 0, 0)).unwrap();
            client.write_all(&command(0, FLUSH, 1_000 + round, 0, 0)).unwrap();
            let mut requests: Vec<Request> = Vec::new();
            while requests.len() < 2 {
                requests.extend(held.recv().unwrap());
            }
            // The connection sleeps by now, or falls asleep meanwhile.
            requests.pop().unwrap().answer(Ok(()));
            assert_eq!(simple(&mut client), (0, 1_000 + round));
            drop(requests);
            assert_eq!(simple(&mut client), (5, round));
        }
        // Requests under way when the client leaves are finished before the connection ends.
        client.write_all(&command(0, FLUSH, 7, 0, 0)).unwrap();
        let requests = held.recv().unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        requests.into_iter().for_each(|request| request.answer(Ok(())));
        assert_eq!(simple(&mut client), (0, 7));
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn the_end_of_the_server_answers_what_is_under_way() {
    let (sender, held) = channel();
    let folder = Folder::new("end");
    let server = Server::bind(&Address::Unix(folder.socket())).unwrap();
    let export = Later(Mutex::new(sender));
    thread::scope(|scope| {
        let running = scope.spawn(|| server.run(&export));
        let (_stopping, held) = (Stopping(&server), held);
        let mut client = connect(&folder.socket());
        let mut idle = connect(&folder.socket());
        let mut shy = UnixStream::connect(folder.socket()).unwrap();
        receive(&mut shy, 18);
        client.write_all(&command(0, FLUSH, 7, 0, 0)).unwrap();
        let requests = held.recv().unwrap();
        server.stop();
        server.stop();
        assert_eq!(shy.read(&mut [0]).unwrap(), 0, "a handshake ends at once");
        assert_eq!(idle.read(&mut [0]).unwrap(), 0, "and one that waits for a request");
        requests.into_iter().for_each(|request| request.answer(Ok(())));
        assert_eq!(simple(&mut client), (0, 7));
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        running.join().unwrap().unwrap();
    });
}

#[test]
fn it_hears_why_connections_end() {
    let (export, ended) = telling();
    with_server("why", &export, |socket| {
        let mut client = connect(socket);
        client.write_all(&command(0, DISCONNECT, 0, 0, 0)).unwrap();
        assert_eq!(ended.recv().unwrap(), "the client left");
        drop(connect(socket));
        assert_eq!(ended.recv().unwrap(), "the client left");
        let mut client = connect(socket);
        client.write_all(&command(0, WRITE, 0, 0, 100)).unwrap();
        drop(client);
        assert_eq!(ended.recv().unwrap(), "the client was cut off");
        let mut client = UnixStream::connect(socket).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert!(ended.recv().unwrap().starts_with("the client's flags are 0x47455420;"));
    });
}

/// A server with `count` idle clients, of which it takes `max`.
fn with_clients(
    name: &str,
    max: Option<usize>,
    count: usize,
    client: impl FnOnce(&PathBuf, &Connections, Vec<UnixStream>, &Receiver<String>),
) {
    let (export, ended) = telling();
    with_connections(name, &export, |socket, connections| {
        max.into_iter().for_each(|max| connections.limit(max));
        client(socket, connections, (0..count).map(|_| connect(socket)).collect(), &ended);
    });
}

#[test]
fn idle_connections_do_not_hold_others_out_up_to_a_limit_that_can_be_chosen() {
    let over = |max: Option<usize>, count: usize| {
        with_clients("full", max, count, |socket, _, mut clients, ended| {
            let mut late = UnixStream::connect(socket).unwrap();
            assert_eq!(late.read(&mut [0]).unwrap(), 0);
            assert!(
                ended
                    .recv()
                    .unwrap()
                    .starts_with(&format!("{count} connections are open, and no more are taken"))
            );
            drop(clients.pop());
            assert_eq!(ended.recv().unwrap(), "the client left");
            connect(socket).write_all(&command(0, DISCONNECT, 0, 0, 0)).unwrap();
            assert_eq!(ended.recv().unwrap(), "the client left", "there is room again");
        });
    };
    over(Some(3), 3);
    over(None, MAX_CONNECTIONS);
}

#[test]
fn a_disk_that_vanishes_ends_all_connections_and_clients_may_connect_anew() {
    with_clients("vanish", None, 3, |socket, connections, clients, ended| {
        let mut shy = UnixStream::connect(socket).unwrap();
        receive(&mut shy, 18);
        assert_eq!(connections.end(), 4);
        for mut client in clients.into_iter().chain([shy]) {
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
            assert_eq!(ended.recv().unwrap(), "the disk has vanished");
        }
        assert_eq!(connections.end(), 0);
        let mut again = connect(socket);
        again.write_all(&command(0, FLUSH, 7, 0, 0)).unwrap();
        assert_eq!(simple(&mut again), (0, 7));
    });
}

#[test]
fn requests_under_way_when_the_disk_vanishes_are_not_answered_and_no_longer_wanted() {
    let (sender, held) = channel();
    with_connections("vanished", &Later(Mutex::new(sender)), move |socket, connections| {
        let mut client = connect(socket);
        client.write_all(&command(0, FLUSH, 7, 0, 0)).unwrap();
        let requests = held.recv().unwrap();
        assert!(requests[0].is_wanted());
        connections.end();
        assert!(!requests[0].is_wanted());
        requests.into_iter().for_each(|request| request.answer(Ok(())));
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "a success after the loss would be a lie");
    });
}

#[test]
fn a_socket_file_is_private_and_one_left_behind_is_replaced() {
    let folder = Folder::new("files");
    let bind = || Server::bind(&Address::Unix(folder.socket()));
    drop(UnixListener::bind(folder.socket()).unwrap());
    assert!(folder.socket().exists(), "as a server that was killed leaves it");
    let server = bind().unwrap();
    assert_eq!(fs::symlink_metadata(folder.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(bind().err().unwrap().to_string().ends_with("another server listens there"));
    drop(server);
    fs::write(folder.socket(), "mine").unwrap();
    assert!(bind().err().unwrap().to_string().ends_with("there is a file that is no socket"));
    assert_eq!(fs::read(folder.socket()).unwrap(), b"mine");
    let long = folder.0.join("x".repeat(200));
    let error = Server::bind(&Address::Unix(long)).err().unwrap().to_string();
    assert!(error.contains("too long"), "{error}");
}

#[test]
fn tcp_takes_a_free_port_and_tells_it() {
    let server = Server::bind(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
    let Address::Tcp(address) = server.address().unwrap() else { panic!() };
    assert_ne!(address.port(), 0);
    assert_eq!(server.address().unwrap().to_string(), format!("nbd://127.0.0.1:{}", address.port()));
    let export = Memory::with_size(SIZE);
    thread::scope(|scope| {
        scope.spawn(|| server.run(&export).unwrap());
        let _stopping = Stopping(&server);
        let mut client = TcpStream::connect(address).unwrap();
        begin(&mut client);
        client.write_all(&command(0, READ, 3, 5, 2)).unwrap();
        assert_eq!((simple(&mut client), receive(&mut client, 2)), ((0, 3), vec![0, 0]));
        server.stop();
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "it waits for no further request");
    });
}

#[test]
fn an_address_says_whether_other_machines_reach_it() {
    let beyond = |text: &str| Address::Tcp(text.parse().unwrap()).is_beyond_this_machine();
    assert!(["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[::ffff:192.0.2.1]:1"].into_iter().all(beyond));
    assert!(!["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"].into_iter().any(beyond));
    assert!(!Address::Unix(PathBuf::from("nbd")).is_beyond_this_machine());
}

#[test]
fn a_path_is_a_uri() {
    let address = Address::Unix(PathBuf::from("/tmp/a disk&more/%.sock"));
    assert_eq!(address.to_string(), "nbd+unix:///?socket=/tmp/a%20disk%26more/%25.sock");
}

#[test]
fn clients_that_read_nothing_share_one_memory_and_make_room_for_others() {
    const LENGTH: u32 = 32 << 20;
    let (sender, ends) = channel();
    let served = AtomicUsize::new(0);
    let export = Counting(Telling(Memory::with_size(LENGTH as usize), Mutex::new(sender)), &served);
    with_server("memory", &export, |socket| {
        let ask = |number: u64, length: u32| {
            let mut client = connect(socket);
            client.write_all(&command(0, READ, number, 0, length)).unwrap();
            client
        };
        let silent: Vec<_> = (0..12).map(|number| ask(number, LENGTH)).collect();
        while served.load(Ordering::Relaxed) < 8 {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(500));
        assert_eq!(served.load(Ordering::Relaxed), 8, "more would be more than the memory of all");
        assert_eq!(simple(&mut ask(99, 4096)), (0, 99));
        let mut reader = ask(12, LENGTH);
        assert_eq!(simple(&mut reader), (0, 12));
        receive(&mut reader, LENGTH as usize);
        assert!(ends.iter().any(|why| why.starts_with("the client left a reply unread")));
        drop(silent);
    });
}

/// Counts the requests that it serves.
struct Counting<'a, E>(E, &'a AtomicUsize);

impl<E: Export> Export for Counting<'_, E> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        self.1.fetch_add(requests.len(), Ordering::Relaxed);
        self.0.serve(requests);
    }

    fn ended(&self, why: &Hangup) {
        self.0.ended(why);
    }
}
