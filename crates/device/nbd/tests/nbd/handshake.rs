//! Each option, each of its errors, and bytes that arrive one by one.

use crate::messages::{FIXED, NO_ZEROES, Received, chosen, option, queries, shape, text};
use coflash_nbd::Hangup;
use coflash_nbd::handshake::{Handshake, MAX_OPTION_LENGTH, MAX_OPTIONS, Negotiated};
use coflash_nbd::wire::Input;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;
const STRUCTURED_REPLY: u32 = 8;
const LIST_META_CONTEXT: u32 = 9;
const SET_META_CONTEXT: u32 = 10;

const ACK: u64 = 1;
const SERVER: u64 = 2;
const INFORMATION: u64 = 3;
const CONTEXT: u64 = 4;
const UNSUPPORTED: u64 = (1 << 31) + 1;
const INVALID: u64 = (1 << 31) + 3;
const UNKNOWN: u64 = (1 << 31) + 6;
const TOO_BIG: u64 = (1 << 31) + 9;

const SIZE: u64 = 1 << 20;
/// Flags, flush, FUA, trim, zeroes, several connections, cache, fast zeroes.
const ABILITIES: u64 = 0b1101_0110_1101;
const DF_TOO: u64 = 1 << 7;

/// The option, the kind of reply, and its data.
type Reply = (u64, u64, Vec<u8>);

/// The replies of a server to a client that sends these bytes, `step` at a time, without the greeting.
fn talk(sent: &[u8], step: usize) -> (Result<Option<Negotiated>, Hangup>, Vec<u8>, Vec<u8>) {
    let (shape, mut output, mut input) =
        (shape(SIZE), Vec::new(), Input::new(2 * MAX_OPTION_LENGTH as usize));
    let mut handshake = Handshake::greet(&shape, &mut output);
    assert_eq!(output, [b"NBDMAGICIHAVEOPT".as_slice(), &[0, 3]].concat());
    output.clear();
    let mut result = Ok(None);
    for part in sent.chunks(step) {
        input.room()[..part.len()].copy_from_slice(part);
        input.received(part.len());
        if let Ok(None) = result {
            result = handshake.advance(&mut input, &mut output);
        }
    }
    let waiting = input.waiting().to_vec();
    (result, output, waiting)
}

/// The result and the replies, after flags of a client of today.
fn negotiate(options: &[Vec<u8>]) -> (Result<Option<Negotiated>, Hangup>, Vec<Reply>) {
    let sent = [(FIXED | NO_ZEROES).to_be_bytes().to_vec(), options.concat()].concat();
    let (result, output, waiting) = talk(&sent, sent.len());
    for step in [1, 7] {
        let (slow, slow_output, _) = talk(&sent, step);
        assert_eq!(format!("{slow:?}"), format!("{result:?}"));
        assert_eq!(slow_output, output, "it does not depend on how bytes arrive");
    }
    assert!(result.is_err() || waiting.is_empty());
    let (mut received, mut replies) = (Received(&output), Vec::new());
    while !received.0.is_empty() {
        let (option, kind, data) = received.option_reply();
        replies.push((option, kind, data.to_vec()));
    }
    (result, replies)
}

fn kinds(replies: &[Reply]) -> Vec<u64> {
    replies.iter().map(|&(_, kind, _)| kind).collect()
}

#[test]
fn go_tells_what_is_wanted_and_begins() {
    let (result, replies) = negotiate(&[option(GO, &chosen(b"disk", &[3, 1, 2, 99]))]);
    assert_eq!(result.unwrap(), Some(Negotiated { structured: false, block_status: false }));
    assert_eq!(kinds(&replies), [INFORMATION, INFORMATION, INFORMATION, INFORMATION, ACK]);
    assert!(replies.iter().all(|&(option, _, _)| option == u64::from(GO)));
    let mut export = Received(&replies[0].2);
    assert_eq!((export.number(2), export.number(8), export.number(2)), (0, SIZE, ABILITIES));
    assert_eq!(replies[1].2, b"\0\x01disk");
    assert_eq!(replies[2].2, b"\0\x02for tests");
    let mut sizes = Received(&replies[3].2);
    assert_eq!(sizes.number(2), 3);
    assert_eq!((sizes.number(4), sizes.number(4), sizes.number(4)), (1, 4096, 32 << 20));
}

#[test]
fn info_tells_the_same_and_negotiation_goes_on() {
    let (result, replies) = negotiate(&[option(INFO, &chosen(b"", &[])), option(LIST, b"")]);
    assert_eq!(result.unwrap(), None);
    assert_eq!(kinds(&replies), [INFORMATION, ACK, SERVER, ACK]);
    assert_eq!(replies[2].2, [text(b"disk"), b"for tests".to_vec()].concat());
}

#[test]
fn structured_replies_and_block_status_are_agreed_on() {
    let set = |names: &[&[u8]]| option(SET_META_CONTEXT, &queries(b"", names));
    let structured = option(STRUCTURED_REPLY, b"");
    let go = option(GO, &chosen(b"", &[]));
    let list = |names: &[&[u8]]| option(LIST_META_CONTEXT, &queries(b"disk", names));
    let context = |id: u8| [&[0, 0, 0, id], b"base:allocation".as_slice()].concat();

    let (result, replies) = negotiate(&[structured.clone(), set(&[b"base:allocation", b"x:y"]), go.clone()]);
    assert_eq!(result.unwrap(), Some(Negotiated { structured: true, block_status: true }));
    assert_eq!(kinds(&replies), [ACK, CONTEXT, ACK, INFORMATION, ACK]);
    assert_eq!(replies[1].2, context(1));
    assert_eq!(Received(&replies[3].2[10..]).number(2), ABILITIES | DF_TOO);

    // The last choice counts: it contains none of the contexts of this server.
    for last in [set(&[]), set(&[b"x:y"]), set(&[b"base:"])] {
        let (result, _) = negotiate(&[structured.clone(), set(&[b"base:allocation"]), last, go.clone()]);
        assert_eq!(result.unwrap(), Some(Negotiated { structured: true, block_status: false }));
    }
    let cases: [(&[&[u8]], usize); 4] =
        [(&[], 1), (&[b"base:"], 1), (&[b"base:allocation"], 1), (&[b"x:"], 0)];
    for (names, listed) in cases {
        let (result, replies) = negotiate(&[structured.clone(), list(names), go.clone()]);
        assert_eq!(result.unwrap(), Some(Negotiated { structured: true, block_status: false }));
        assert_eq!(
            replies.iter().filter(|reply| reply.1 == CONTEXT && reply.2 == context(0)).count(),
            listed
        );
    }
}

#[test]
fn each_wrong_option_has_its_error_and_negotiation_goes_on() {
    let long = vec![0; MAX_OPTION_LENGTH as usize + 1];
    let structured = option(STRUCTURED_REPLY, b"");
    let cases = [
        (option(LIST, b"x"), INVALID),
        (option(STRUCTURED_REPLY, b"x"), INVALID),
        (option(GO, &chosen(b"other", &[])), UNKNOWN),
        (option(INFO, &chosen(b"other", &[])), UNKNOWN),
        (option(GO, b""), INVALID),
        (option(GO, &text(b"disk")), INVALID),
        (option(GO, &[0xff, 0xff, 0xff, 0xff, 0, 0]), INVALID),
        (option(GO, &[chosen(b"disk", &[1]), vec![0]].concat()), INVALID),
        (option(GO, &[text(b"disk"), vec![0, 2, 0, 1]].concat()), INVALID),
        (option(SET_META_CONTEXT, &queries(b"other", &[])), UNKNOWN),
        (option(SET_META_CONTEXT, &text(b"disk")), INVALID),
        (option(SET_META_CONTEXT, &[queries(b"disk", &[b"x"]), vec![0]].concat()), INVALID),
        (option(SET_META_CONTEXT, &[text(b"disk"), vec![0xff; 4]].concat()), INVALID),
        (option(5, b""), UNSUPPORTED),
        (option(4, b"disk"), UNSUPPORTED),
        (option(11, b""), UNSUPPORTED),
        (option(0xdead_beef, b"anything"), UNSUPPORTED),
        (option(GO, &long), TOO_BIG),
    ];
    for (wrong, error) in cases {
        let (result, replies) = negotiate(&[structured.clone(), wrong.clone(), option(LIST, b"")]);
        assert_eq!(result.unwrap(), None);
        assert_eq!(kinds(&replies), [ACK, error, SERVER, ACK], "{:?}", String::from_utf8_lossy(&wrong));
    }
    for early in [LIST_META_CONTEXT, SET_META_CONTEXT] {
        let (_, replies) = negotiate(&[option(early, &queries(b"", &[b"base:allocation"]))]);
        assert_eq!(kinds(&replies), [INVALID], "structured replies come first");
    }
}

#[test]
fn the_old_way_to_choose_knows_no_errors() {
    for (flags, zeroes) in [(FIXED, 124), (FIXED | NO_ZEROES, 0)] {
        for name in [b"disk".as_slice(), b""] {
            let sent = [flags.to_be_bytes().to_vec(), option(EXPORT_NAME, name)].concat();
            let (result, output, _) = talk(&sent, 1);
            assert_eq!(result.unwrap(), Some(Negotiated::default()));
            let mut received = Received(&output);
            assert_eq!((received.number(8), received.number(2)), (SIZE, ABILITIES));
            assert_eq!(received.0, vec![0; zeroes]);
        }
    }
    let (result, replies) = negotiate(&[option(EXPORT_NAME, b"other")]);
    assert_eq!(result.unwrap_err().to_string(), "there is no export \"other\"");
    assert!(replies.is_empty());
}

#[test]
fn the_client_may_leave_and_requests_after_the_choice_wait() {
    let (result, replies) = negotiate(&[option(ABORT, b"")]);
    assert!(matches!(result, Err(Hangup::Left)));
    assert_eq!(kinds(&replies), [ACK]);

    let go = option(GO, &chosen(b"", &[]));
    let sent = [FIXED.to_be_bytes().to_vec(), go, b"requests".to_vec()].concat();
    let (result, _, waiting) = talk(&sent, sent.len());
    assert!(result.unwrap().is_some());
    assert_eq!(waiting, b"requests");
}

#[test]
fn what_is_no_negotiation_ends_it() {
    for flags in [0_u32, 2, 4 | FIXED, u32::MAX] {
        let (result, output, _) = talk(&flags.to_be_bytes(), 1);
        assert!(matches!(result, Err(Hangup::ClientFlags(given)) if given == flags));
        assert!(output.is_empty());
    }
    let (result, _) = negotiate(&[b"GET / HTTP/1.1\r\n".to_vec()]);
    let text = result.unwrap_err().to_string();
    assert_eq!(text, "an option begins with 0x474554202f204854, not with 0x49484156454f5054");
}

#[test]
fn options_are_counted() {
    let many = |count: u32| (0..count).map(|_| option(LIST, b"")).collect::<Vec<_>>();
    assert_eq!(negotiate(&many(MAX_OPTIONS)).0.unwrap(), None);
    assert!(matches!(negotiate(&many(MAX_OPTIONS + 1)).0, Err(Hangup::Options(MAX_OPTIONS))));
}
