//! Messages as a client sends and reads them, written down from the protocol and not from the server's code.

use coflash_nbd::Shape;

pub(crate) const FIXED: u32 = 1;
pub(crate) const NO_ZEROES: u32 = 2;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISCONNECT: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const CACHE: u16 = 5;
pub(crate) const WRITE_ZEROES: u16 = 6;
pub(crate) const BLOCK_STATUS: u16 = 7;

pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;
pub(crate) const DF: u16 = 4;
pub(crate) const REQ_ONE: u16 = 8;
pub(crate) const FAST_ZERO: u16 = 16;

pub(crate) fn shape(size_bytes: u64) -> Shape {
    let (name, description) = ("disk".to_owned(), "for tests".to_owned());
    Shape { name, description, size_bytes, preferred_bytes: 4096, read_only: false }
}

pub(crate) fn option(option: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT", &option.to_be_bytes()[..], &length(data), data].concat()
}

/// A length and as many bytes.
pub(crate) fn text(bytes: &[u8]) -> Vec<u8> {
    [&length(bytes)[..], bytes].concat()
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap().to_be_bytes()
}

/// The data of INFO and GO.
pub(crate) fn chosen(name: &[u8], wanted: &[u16]) -> Vec<u8> {
    let count = u16::try_from(wanted.len()).unwrap();
    let wanted: Vec<u8> = [count].iter().chain(wanted).flat_map(|number| number.to_be_bytes()).collect();
    [text(name), wanted].concat()
}

/// The data of options about contexts.
pub(crate) fn queries(name: &[u8], queries: &[&[u8]]) -> Vec<u8> {
    let count = u32::try_from(queries.len()).unwrap().to_be_bytes();
    let texts: Vec<u8> = queries.iter().flat_map(|query| text(query)).collect();
    [text(name), count.to_vec(), texts].concat()
}

pub(crate) fn command(flags: u16, kind: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    [
        &0x2560_9513_u32.to_be_bytes()[..],
        &flags.to_be_bytes(),
        &kind.to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}

/// The received and unread bytes of a client.
pub(crate) struct Received<'a>(pub(crate) &'a [u8]);

impl<'a> Received<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes
    }

    pub(crate) fn number(&mut self, bytes: usize) -> u64 {
        self.bytes(bytes).iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// A reply to an option: the option, the kind of reply, the data.
    pub(crate) fn option_reply(&mut self) -> (u64, u64, &'a [u8]) {
        assert_eq!(self.number(8), 0x0003_e889_0455_65a9);
        let (option, kind, length) = (self.number(4), self.number(4), self.number(4));
        (option, kind, self.bytes(usize::try_from(length).unwrap()))
    }

    /// A simple reply: the error and the cookie.
    pub(crate) fn simple(&mut self) -> (u64, u64) {
        assert_eq!(self.number(4), 0x6744_6698);
        (self.number(4), self.number(8))
    }

    /// A chunk of a structured reply: flags, kind, cookie and payload.
    pub(crate) fn chunk(&mut self) -> (u64, u64, u64, &'a [u8]) {
        assert_eq!(self.number(4), 0x668e_33ef);
        let (flags, kind, cookie, length) = (self.number(2), self.number(2), self.number(8), self.number(4));
        (flags, kind, cookie, self.bytes(usize::try_from(length).unwrap()))
    }
}
