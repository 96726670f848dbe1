//! Serve a disk in memory, as a stand-in for a real one.
//!
//!     cargo run --release -p coflash-nbd --example memory -- SIZE_BYTES (SOCKET | 127.0.0.1:PORT)
//!
//! It says where it listens, and ends with its standard input.

mod disk;

use coflash_nbd::{Address, Server};
use disk::Memory;
use std::io::{self, Write};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [size, place] = arguments.as_slice() else {
        return Err("usage: memory SIZE_BYTES (SOCKET | 127.0.0.1:PORT)".into());
    };
    let address = place.parse().map_or_else(|_| Address::Unix(place.into()), Address::Tcp);
    let server = Arc::new(Server::bind(&address)?);
    writeln!(io::stdout(), "{}", server.address()?)?;
    let stopped = Arc::clone(&server);
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        stopped.stop();
    });
    server.run(&Memory::with_size(size.parse()?))?;
    Ok(())
}
