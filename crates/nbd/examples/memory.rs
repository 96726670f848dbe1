//! Serve a disk in memory, as a stand-in for a real one.
//!
//!     cargo run --release -p coflash-nbd --example memory -- SIZE_BYTES (SOCKET | 127.0.0.1:PORT)
//!
//! It says where it listens, and ends with its standard input.

use coflash_nbd::{Address, Command, Errno, Export, Hangup, Request, Server, Shape};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What is unmapped reads as zeros.
const PAGE_BYTES: usize = 4096;

struct Disk {
    bytes: Vec<u8>,
    mapped: Vec<bool>,
}

struct Memory(Mutex<Disk>);

impl Disk {
    fn of(size_bytes: usize) -> Self {
        Self { bytes: vec![0; size_bytes], mapped: vec![false; size_bytes.div_ceil(PAGE_BYTES)] }
    }

    fn serve(&mut self, request: &mut Request) -> Result<(), Errno> {
        let begin = usize::try_from(request.offset).map_err(|_| Errno::Invalid)?;
        let range = begin..begin + request.length as usize;
        match request.command {
            Command::Read => {
                request.data.copy_from_slice(&self.bytes[range.clone()]);
                self.tell(range, request);
            }
            Command::Write => {
                self.bytes[range.clone()].copy_from_slice(&request.data);
                self.mapped[pages(&range)].fill(true);
            }
            Command::WriteZeroes { no_hole: true, fast: true } => return Err(Errno::NotSupported),
            Command::Trim | Command::WriteZeroes { .. } => {
                self.bytes[range.clone()].fill(0);
                let whole = range.start.div_ceil(PAGE_BYTES)..range.end / PAGE_BYTES;
                if !matches!(request.command, Command::WriteZeroes { no_hole: true, .. }) && !whole.is_empty()
                {
                    self.mapped[whole].fill(false);
                }
            }
            Command::BlockStatus => self.tell(range, request),
            Command::Flush | Command::Cache => {}
        }
        Ok(())
    }

    /// Says which parts of a range are holes.
    fn tell(&self, range: Range<usize>, request: &mut Request) {
        for page in pages(&range) {
            let end = ((page + 1) * PAGE_BYTES).min(range.end);
            let begin = (page * PAGE_BYTES).max(range.start);
            if !request.extents.push((end - begin) as u64, !self.mapped[page]) {
                break;
            }
        }
    }
}

/// The pages that a range of bytes touches.
fn pages(range: &Range<usize>) -> Range<usize> {
    range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES)
}

impl Export for Memory {
    fn shape(&self) -> Shape {
        let size_bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.len() as u64;
        let (name, description) = ("memory".to_owned(), "a disk in memory".to_owned());
        Shape { name, description, size_bytes, preferred_bytes: 4096, read_only: false }
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        let mut disk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for mut request in requests.drain(..) {
            let result = disk.serve(&mut request);
            request.answer(result);
        }
    }

    fn ended(&self, why: &Hangup) {
        if !why.is_orderly() {
            eprintln!("a connection ended: {why}");
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [size, place] = arguments.as_slice() else {
        return Err("usage: memory SIZE_BYTES (SOCKET | 127.0.0.1:PORT)".into());
    };
    let address = place.parse().map_or_else(|_| Address::Unix(place.into()), Address::Tcp);
    let server = Server::bind(&address)?;
    writeln!(io::stdout(), "{}", server.address()?)?;
    let stopper = server.stopper();
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        stopper.stop();
    });
    server.run(&Memory(Mutex::new(Disk::of(size.parse()?))))?;
    Ok(())
}
