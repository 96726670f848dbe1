//! No bytes of a client make the server panic, grow without bound, or answer otherwise when they arrive in other pieces.
//!
//!     cargo +nightly fuzz run nbd fuzz/corpus-nbd fuzz/seeds-nbd

#![no_main]

#[path = "../../crates/device/nbd/examples/memory/disk.rs"]
mod disk;

use coflash_nbd::command::{MAX_REQUESTS, Next, Requests};
use coflash_nbd::handshake::{Handshake, Negotiated};
use coflash_nbd::reply::Reply;
use coflash_nbd::wire::Input;
use coflash_nbd::{Answers, Export, Hangup};
use disk::Memory;
use std::sync::Arc;

const DISK_BYTES: usize = 40_000;
const INPUT_BYTES: usize = 20_000;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let whole = talk(data, usize::MAX);
    for step in [1, 7] {
        assert_eq!(talk(data, step), whole, "what is answered does not depend on how bytes arrive");
    }
});

/// The output of a server with a fresh disk for a client that sends these bytes, `step` at a time.
fn talk(mut data: &[u8], step: usize) -> Vec<u8> {
    let disk = Memory::with_size(DISK_BYTES);
    let (shape, mut input, mut output) = (disk.shape(), Input::new(INPUT_BYTES), Vec::new());
    let mut handshake = Handshake::greet(&shape, &mut output);
    loop {
        match handshake.advance(&mut input, &mut output) {
            Ok(Some(agreed)) => return transmit(&disk, agreed, input, output, data, step),
            Ok(None) if data.is_empty() => return output,
            Ok(None) => {
                let room = input.room();
                let count = room.len().min(step).min(data.len());
                assert_ne!(count, 0, "an option that fits waits for room");
                room[..count].copy_from_slice(&data[..count]);
                input.received(count);
                data = &data[count..];
            }
            Err(_) => return output,
        }
    }
}

fn transmit(
    disk: &Memory,
    agreed: Negotiated,
    mut input: Input,
    mut output: Vec<u8>,
    mut data: &[u8],
    step: usize,
) -> Vec<u8> {
    let answers = Arc::new(Answers::default());
    let mut requests = Requests::new(disk.shape(), agreed, Arc::clone(&answers));
    let (mut batch, mut answered) = (Vec::new(), Vec::new());
    loop {
        let next = requests.next(&mut input);
        assert!(requests.under_way() <= MAX_REQUESTS);
        if let Ok(Next::Request(request)) = next {
            assert!(request.offset + u64::from(request.length) <= DISK_BYTES as u64);
            batch.push(request);
            // One at a time: refusals are answered at once, so that the order is of the batches.
            disk.serve(&mut batch);
            continue;
        }
        answers.take(&mut answered);
        for answer in answered.drain(..) {
            let reply = Reply::new(answer, agreed.structured);
            reply.unsent(0).iter().for_each(|part| output.extend_from_slice(part));
            requests.replied(reply);
        }
        match next {
            Err(end) => {
                assert!(matches!(end, Hangup::Left | Hangup::Magic { .. }));
                return output;
            }
            Ok(Next::NeedsBytes) if data.is_empty() => return output,
            Ok(Next::NeedsBytes) => {
                let (mut count, most) = (0, step.min(data.len()));
                for room in requests.room(&mut input) {
                    let part = room.len().min(most - count);
                    room[..part].copy_from_slice(&data[count..count + part]);
                    count += part;
                }
                requests.received(&mut input, count);
                data = &data[count..];
            }
            Ok(_) => {}
        }
    }
}
