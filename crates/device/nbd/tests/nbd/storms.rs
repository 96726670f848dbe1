//! Random commands in random pieces have the right effect; random bytes do no harm.

use crate::messages::{BLOCK_STATUS, FIXED, READ, WRITE, chosen, command, option, shape};
use crate::peer::{Peer, SIMPLE, SIZE, STRUCTURED};
use coflash_nbd::command::Next;
use coflash_nbd::handshake::Handshake;
use coflash_nbd::wire::Input;
use coflash_nbd::{Command, Request};
use proptest::collection::vec;
use proptest::prelude::*;

/// A command and whether it is a write, with offsets and lengths on both sides of each border.
fn any_command() -> impl Strategy<Value = Vec<u8>> {
    let offset = prop_oneof![0..5_000_u64, SIZE - 600..SIZE + 2, Just(u64::MAX)];
    (any::<u16>(), 0..10_u16, any::<u64>(), offset, 0..600_u32).prop_map(
        |(flags, kind, cookie, offset, length)| {
            let flags = if flags % 3 == 0 { flags } else { 0 };
            // Nothing comes after a disconnect.
            let kind = if kind == 2 { BLOCK_STATUS } else { kind };
            let mut bytes = command(flags, kind, cookie, offset, length);
            if kind == WRITE {
                bytes.extend((0..length).map(|at| (cookie ^ u64::from(at)) as u8));
            }
            bytes
        },
    )
}

/// The content of a request, with the data of a write.
fn meant(request: &Request) -> (Command, u64, u32, bool, Vec<u8>) {
    let data = if request.command == Command::Write { request.data.clone() } else { Vec::new() };
    (request.command, request.offset, request.length, request.fua, data)
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        commands in vec(any_command(), 1..20),
        cuts in vec(1..700_usize, 1..50),
        structured in any::<bool>(),
    ) {
        let agreed = if structured { STRUCTURED } else { SIMPLE };
        let whole = {
            let mut peer = Peer::new(agreed);
            // The meaning of each command alone, one after the other.
            let mut seen = Vec::new();
            for bytes in &commands {
                for request in peer.all(bytes) {
                    seen.push(meant(&request));
                }
                peer.replies();
            }
            seen
        };
        let (mut peer, mut seen, bytes) = (Peer::new(agreed), Vec::new(), commands.concat());
        let (mut rest, mut cuts) = (bytes.as_slice(), cuts.iter().cycle());
        loop {
            match peer.next().expect("none of these ends the connection") {
                Next::Request(request) => {
                    seen.push(meant(&request));
                }
                Next::NeedsRoom => unreachable!("few are under way"),
                Next::NeedsBytes if rest.is_empty() => break,
                Next::NeedsBytes => {
                    let piece = rest.len().min(*cuts.next().expect("they have no end"));
                    rest = &rest[peer.receive(&rest[..piece])..];
                }
            }
        }
        prop_assert_eq!(seen, whole);
        peer.replies();
        prop_assert_eq!(peer.requests.under_way(), 0, "each is answered once");
    }

    #[test]
    fn bytes_do_no_harm(bytes in vec(any::<u8>(), 0..2_000), begin in 0..3_usize) {
        let begins = [
            Vec::new(),
            [FIXED.to_be_bytes().to_vec(), b"IHAVEOPT".to_vec()].concat(),
            [FIXED.to_be_bytes().to_vec(), option(7, &chosen(b"", &[])), command(0, READ, 0, 0, 9)].concat(),
        ];
        let (shape, mut output, mut input) = (shape(SIZE), Vec::new(), Input::new(64 << 10));
        let sent = [begins[begin].clone(), bytes].concat();
        input.room()[..sent.len()].copy_from_slice(&sent);
        input.received(sent.len());
        let mut handshake = Handshake::greet(&shape, &mut output);
        if let Ok(Some(agreed)) = handshake.advance(&mut input, &mut output) {
            let mut peer = Peer::new(agreed);
            let mut rest = input.waiting();
            while let Ok(next) = peer.next() {
                match next {
                    Next::Request(_) => {}
                    Next::NeedsRoom => drop(peer.replies()),
                    Next::NeedsBytes if rest.is_empty() => break,
                    Next::NeedsBytes => rest = &rest[peer.receive(rest)..],
                }
            }
        }
        prop_assert!(output.len() < 4 * sent.len() + 1_000, "the client cannot make much of little");
    }
}
