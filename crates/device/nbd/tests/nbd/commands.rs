//! Each command, each of its errors, and each form of reply.

use crate::messages::{
    BLOCK_STATUS, CACHE, DF, DISCONNECT, FAST_ZERO, FLUSH, FUA, NO_HOLE, READ, REQ_ONE, Received, TRIM,
    WRITE, WRITE_ZEROES, command, shape,
};
use crate::peer::{Peer, SIMPLE, SIZE, STRUCTURED};
use coflash_nbd::command::{MAX_BYTES, MAX_REQUESTS, Next};
use coflash_nbd::handshake::MAX_LENGTH;
use coflash_nbd::{Command, Errno, Extent, Hangup};

const NOT_PERMITTED: u64 = 1;
const INVALID: u64 = 22;
const NO_SPACE: u64 = 28;
const COOKIE: u64 = 0x0123_4567_89ab_cdef;

/// Reads a simple reply without data, and one chunk of a structured one.
fn error_of(replies: &[u8], structured: bool) -> u64 {
    let mut received = Received(replies);
    let (error, cookie) = if structured {
        let (flags, kind, cookie, payload) = received.chunk();
        assert_eq!((flags, kind), (1, (1 << 15) + 1));
        let mut payload = Received(payload);
        let (error, length) = (payload.number(4), payload.number(2));
        assert_eq!(length as usize, payload.0.len());
        assert!(std::str::from_utf8(payload.0).is_ok_and(|text| !text.is_empty()));
        (error, cookie)
    } else {
        received.simple()
    };
    assert_eq!((cookie, received.0.len()), (COOKIE, 0));
    error
}

#[test]
fn each_command_becomes_its_request() {
    let zeroes = |no_hole, fast| Command::WriteZeroes { no_hole, fast };
    let cases = [
        (READ, 0, Command::Read, 5),
        (READ, DF, Command::Read, 5),
        (WRITE, 0, Command::Write, 5),
        (WRITE, FUA, Command::Write, 5),
        (TRIM, FUA, Command::Trim, u32::MAX >> 3),
        (CACHE, 0, Command::Cache, u32::MAX >> 3),
        (WRITE_ZEROES, 0, zeroes(false, false), 7),
        (WRITE_ZEROES, NO_HOLE, zeroes(true, false), 7),
        (WRITE_ZEROES, FAST_ZERO | FUA, zeroes(false, true), u32::MAX >> 3),
        (WRITE_ZEROES, FAST_ZERO | NO_HOLE, zeroes(true, true), 7),
        (BLOCK_STATUS, 0, Command::BlockStatus, 9),
        (BLOCK_STATUS, REQ_ONE, Command::BlockStatus, 9),
        // Of no use, and allowed.
        (READ, FUA, Command::Read, 5),
    ];
    for (kind, flags, wanted, length) in cases {
        let mut peer = Peer::new(STRUCTURED);
        let mut sent = command(flags, kind, COOKIE, 11, length);
        if kind == WRITE {
            sent.extend(b"bytes");
        }
        let request = peer.only(&sent);
        assert_eq!((request.command, request.offset, request.length), (wanted, 11, length));
        assert_eq!(request.fua, flags & FUA != 0);
        match wanted {
            Command::Write => assert_eq!(request.data, b"bytes"),
            Command::Read => assert_eq!(request.data.len(), 5),
            _ => assert!(request.data.is_empty()),
        }
    }
    let request = Peer::new(SIMPLE).only(&command(0, FLUSH, COOKIE, 0, 0));
    assert_eq!((request.command, request.offset, request.length), (Command::Flush, 0, 0));
}

#[test]
fn each_wrong_command_has_its_error_and_the_next_one_is_served() {
    let most = u64::MAX;
    let cases = [
        (command(0, READ, COOKIE, SIZE, 1), INVALID),
        (command(0, READ, COOKIE, SIZE - 4, 5), INVALID),
        (command(0, READ, COOKIE, most, u32::MAX), INVALID),
        (command(0, READ, COOKIE, 0, 0), INVALID),
        (command(0, READ, COOKIE, 0, MAX_LENGTH + 1), INVALID),
        (command(0, TRIM, COOKIE, SIZE, 1), INVALID),
        (command(0, TRIM, COOKIE, 0, 0), INVALID),
        (command(0, CACHE, COOKIE, SIZE - 1, 2), INVALID),
        (command(0, CACHE, COOKIE, 0, 0), INVALID),
        (command(0, WRITE_ZEROES, COOKIE, SIZE - 1, 2), NO_SPACE),
        (command(0, WRITE_ZEROES, COOKIE, 0, 0), INVALID),
        (command(0, BLOCK_STATUS, COOKIE, SIZE, 1), INVALID),
        (command(0, BLOCK_STATUS, COOKIE, 0, 0), INVALID),
        (command(0, FLUSH, COOKIE, 1, 0), INVALID),
        (command(0, FLUSH, COOKIE, 0, 1), INVALID),
        (command(0, WRITE, COOKIE, 0, 0), INVALID),
        ([command(0, WRITE, COOKIE, SIZE, 600), vec![1; 600]].concat(), NO_SPACE),
        ([command(0, WRITE, COOKIE, most, 3), vec![1; 3]].concat(), NO_SPACE),
        ([command(NO_HOLE, WRITE, COOKIE, 0, 3), vec![1; 3]].concat(), INVALID),
        ([command(0, WRITE, COOKIE, 0, MAX_LENGTH + 1), vec![1; MAX_LENGTH as usize + 1]].concat(), INVALID),
        (command(NO_HOLE, READ, COOKIE, 0, 1), INVALID),
        (command(REQ_ONE, READ, COOKIE, 0, 1), INVALID),
        (command(DF, TRIM, COOKIE, 0, 1), INVALID),
        (command(DF, BLOCK_STATUS, COOKIE, 0, 1), INVALID),
        (command(FAST_ZERO, TRIM, COOKIE, 0, 1), INVALID),
        (command(1 << 5, READ, COOKIE, 0, 1), INVALID),
        (command(1 << 15, FLUSH, COOKIE, 0, 0), INVALID),
        (command(0, 8, COOKIE, 0, 1), INVALID),
        (command(0, u16::MAX, COOKIE, 0, 1), INVALID),
    ];
    for agreed in [SIMPLE, STRUCTURED] {
        for (wrong, error) in &cases {
            let mut peer = Peer::new(agreed);
            let next = command(0, READ, 1, 0, 1);
            let request = peer.only(&[wrong.as_slice(), &next].concat());
            assert_eq!((request.command, request.length), (Command::Read, 1));
            assert_eq!(error_of(&peer.replies(), agreed.structured), *error, "{:?}", &wrong[..28]);
            assert_eq!(peer.requests.under_way(), 1);
        }
    }
}

#[test]
fn what_was_not_agreed_on_is_refused() {
    let refuses = |shape, agreed, sent: &[u8], error| {
        let mut peer = Peer::of(shape, agreed);
        assert!(peer.all(sent).is_empty());
        assert_eq!(error_of(&peer.replies(), agreed.structured), error);
    };
    refuses(shape(SIZE), SIMPLE, &command(DF, READ, COOKIE, 0, 1), INVALID);
    refuses(shape(SIZE), SIMPLE, &command(0, BLOCK_STATUS, COOKIE, 0, 1), INVALID);
    let mut read_only = shape(SIZE);
    read_only.read_only = true;
    for changes in [WRITE, TRIM, WRITE_ZEROES] {
        let sent = [command(0, changes, COOKIE, 0, 1), vec![0; usize::from(changes == WRITE)]].concat();
        refuses(read_only.clone(), STRUCTURED, &sent, NOT_PERMITTED);
    }
    Peer::of(read_only, STRUCTURED).only(&command(0, READ, COOKIE, 0, 1));
}

#[test]
fn simple_replies() {
    let mut peer = Peer::new(SIMPLE);
    let mut request = peer.only(&command(0, READ, COOKIE, 0, 4));
    request.data.copy_from_slice(b"data");
    request.extents.push(4, true);
    request.answer(Ok(()));
    let replies = peer.replies();
    let mut received = Received(&replies);
    assert_eq!((received.simple(), received.0), ((0, COOKIE), b"data".as_slice()));

    for sent in [command(0, FLUSH, COOKIE, 0, 0), [command(0, WRITE, COOKIE, 0, 1), vec![7]].concat()] {
        peer.only(&sent).answer(Ok(()));
        let replies = peer.replies();
        let mut received = Received(&replies);
        assert_eq!((received.simple(), received.0), ((0, COOKIE), b"".as_slice()));
    }
    peer.only(&command(0, READ, COOKIE, 0, 4)).answer(Err(Errno::Io));
    assert_eq!(error_of(&peer.replies(), false), 5);
}

/// The chunks of an answer to a read of "0123456789" at byte 100, with these extents.
fn chunks_of_read(flags: u16, extents: &[(u64, bool)]) -> Vec<(u64, u64, Vec<u8>)> {
    let mut peer = Peer::new(STRUCTURED);
    let mut request = peer.only(&command(flags, READ, COOKIE, 100, 10));
    request.data.copy_from_slice(b"0123456789");
    for &(length, hole) in extents {
        request.extents.push(length, hole);
    }
    request.answer(Ok(()));
    let replies = peer.replies();
    let (mut received, mut chunks) = (Received(&replies), Vec::new());
    while !received.0.is_empty() {
        let (flags, kind, cookie, payload) = received.chunk();
        assert_eq!(cookie, COOKIE);
        chunks.push((flags, kind, payload.to_vec()));
    }
    chunks
}

#[test]
fn structured_reads_tell_data_and_holes() {
    let data = |flags, at: u8, bytes: &[u8]| (flags, 1, [&[0, 0, 0, 0, 0, 0, 0, at], bytes].concat());
    let hole = |flags, at: u8, length| (flags, 2, vec![0, 0, 0, 0, 0, 0, 0, at, 0, 0, 0, length]);
    assert_eq!(chunks_of_read(0, &[]), [data(1, 100, b"0123456789")]);
    assert_eq!(chunks_of_read(0, &[(10, false)]), [data(1, 100, b"0123456789")]);
    assert_eq!(chunks_of_read(0, &[(10, true)]), [hole(1, 100, 10)]);
    assert_eq!(
        chunks_of_read(0, &[(2, true), (3, false), (1, true)]),
        [hole(0, 100, 2), data(0, 102, b"234"), hole(0, 105, 1), data(1, 106, b"6789")]
    );
    // In one piece, if that is wanted.
    assert_eq!(chunks_of_read(DF, &[(2, true), (8, false)]), [data(1, 100, b"0123456789")]);
}

#[test]
fn structured_replies_without_data() {
    let mut peer = Peer::new(STRUCTURED);
    peer.only(&command(0, FLUSH, COOKIE, 0, 0)).answer(Ok(()));
    assert_eq!(Received(&peer.replies()).chunk(), (1, 0, COOKIE, b"".as_slice()));
    peer.only(&command(0, READ, COOKIE, 0, 4)).answer(Err(Errno::Io));
    assert_eq!(error_of(&peer.replies(), true), 5);
    // A request that is dropped is answered, too.
    drop(peer.only(&command(0, FLUSH, COOKIE, 0, 0)));
    assert_eq!(error_of(&peer.replies(), true), 5);
}

#[test]
fn block_status_tells_extents() {
    let told = |flags, extents: &[Extent]| {
        let mut peer = Peer::new(STRUCTURED);
        let mut request = peer.only(&command(flags, BLOCK_STATUS, COOKIE, 100, 10));
        for extent in extents {
            request.extents.push(extent.length.into(), extent.hole);
        }
        request.answer(Ok(()));
        let replies = peer.replies();
        let (flags, kind, cookie, payload) = Received(&replies).chunk();
        assert_eq!((flags, kind, cookie), (1, 5, COOKIE));
        let mut payload = Received(payload);
        assert_eq!(payload.number(4), 1, "the context that was agreed on");
        let mut list = Vec::new();
        while !payload.0.is_empty() {
            list.push((payload.number(4), payload.number(4)));
        }
        list
    };
    let hole = Extent { length: 4, hole: true };
    let data = Extent { length: 6, hole: false };
    assert_eq!(told(0, &[hole, data]), [(4, 3), (6, 0)]);
    assert_eq!(told(REQ_ONE, &[hole, data]), [(4, 3)]);
    assert_eq!(told(0, &[]), [(10, 0)], "what nobody knows is data");
}

#[test]
fn what_is_under_way_is_bounded() {
    let mut peer = Peer::new(SIMPLE);
    let flush = command(0, FLUSH, COOKIE, 0, 0);
    let mut held: Vec<_> = (0..MAX_REQUESTS).map(|_| peer.only(&flush)).collect();
    peer.receive(&flush);
    assert!(matches!(peer.next(), Ok(Next::NeedsRoom)));
    drop(held.pop());
    assert!(matches!(peer.next(), Ok(Next::NeedsRoom)), "its reply is not sent");
    peer.replies();
    assert!(matches!(peer.next(), Ok(Next::Request(_))));

    // Refusals are replies that wait, too.
    let mut peer = Peer::new(SIMPLE);
    let unknown = command(0, 99, COOKIE, 0, 0);
    for _ in 0..MAX_REQUESTS {
        assert!(peer.all(&unknown).is_empty());
    }
    peer.receive(&unknown);
    assert!(matches!(peer.next(), Ok(Next::NeedsRoom)));

    let mut peer = Peer::new(STRUCTURED);
    assert_eq!(MAX_BYTES, MAX_LENGTH as usize);
    let half = command(0, READ, COOKIE, 0, MAX_LENGTH / 2 + 1);
    let first = peer.only(&half);
    peer.receive(&half);
    assert!(matches!(peer.next(), Ok(Next::NeedsRoom)));
    drop(first);
    peer.replies();
    assert!(matches!(peer.next(), Ok(Next::Request(_))));
}

#[test]
fn the_end_of_a_client() {
    let mut peer = Peer::new(SIMPLE);
    peer.receive(&command(0, DISCONNECT, COOKIE, 0, 0));
    assert!(matches!(peer.next(), Err(Hangup::Left)));
    let mut peer = Peer::new(SIMPLE);
    peer.receive(b"GET / HTTP/1.1\r\nHost: localhost\r\n");
    let end = peer.next().unwrap_err().to_string();
    assert_eq!(end, "a request begins with 0x47455420, not with 0x25609513");
}

#[test]
fn the_buffer_of_an_answered_write_is_used_again_and_not_filled_before() {
    for agreed in [SIMPLE, STRUCTURED] {
        let mut peer = Peer::new(agreed);
        let write = peer.only(&[command(0, WRITE, 1, 0, 5), b"bytes".to_vec()].concat());
        write.answer(Ok(()));
        let reply = peer.replies();
        assert!(
            !reply.windows(5).any(|part| part == b"bytes"),
            "the data of a write is no part of its reply"
        );
        assert_eq!(peer.only(&command(0, READ, 2, 0, 5)).data, b"bytes");
    }
}
