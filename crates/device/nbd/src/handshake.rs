//! Negotiation: the client's options before it chooses an export, and the answers.

use crate::export::Shape;
use crate::hangup::Hangup;
use crate::wire::{
    BlockSizes, ExportInfo, Greeting, Input, OPTION_MAGIC, OPTION_REPLY_MAGIC, OptionHeader, OptionReply,
    SERVER_MAGIC,
};
use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, IntoBytes};

/// The maximal number of bytes of one read or write.
pub const MAX_LENGTH: u32 = 32 << 20;
/// The longest data of an option, in bytes. Longer data is skipped.
pub const MAX_OPTION_LENGTH: u32 = 8 << 10;
/// The maximal number of options from a client.
pub const MAX_OPTIONS: u32 = 64;

const FIXED_NEWSTYLE: u16 = 1 << 0;
const NO_ZEROES: u16 = 1 << 1;

/// The name of the metadata context of block status: the holes.
const ALLOCATION: &[u8] = b"base:allocation";
/// Its number in replies.
pub(crate) const ALLOCATION_ID: u32 = 1;

mod option {
    pub(super) const EXPORT_NAME: u32 = 1;
    pub(super) const ABORT: u32 = 2;
    pub(super) const LIST: u32 = 3;
    pub(super) const INFO: u32 = 6;
    pub(super) const GO: u32 = 7;
    pub(super) const STRUCTURED_REPLY: u32 = 8;
    pub(super) const LIST_META_CONTEXT: u32 = 9;
    pub(super) const SET_META_CONTEXT: u32 = 10;
}

mod reply {
    pub(super) const ACK: u32 = 1;
    pub(super) const SERVER: u32 = 2;
    pub(super) const INFO: u32 = 3;
    pub(super) const META_CONTEXT: u32 = 4;
    pub(super) const UNSUPPORTED: u32 = (1 << 31) + 1;
    pub(super) const INVALID: u32 = (1 << 31) + 3;
    pub(super) const UNKNOWN: u32 = (1 << 31) + 6;
    pub(super) const TOO_BIG: u32 = (1 << 31) + 9;
}

mod info {
    pub(super) const EXPORT: u16 = 0;
    pub(super) const NAME: u16 = 1;
    pub(super) const DESCRIPTION: u16 = 2;
    pub(super) const BLOCK_SIZE: u16 = 3;
}

mod transmission {
    pub(super) const HAS_FLAGS: u16 = 1 << 0;
    pub(super) const READ_ONLY: u16 = 1 << 1;
    pub(super) const FLUSH: u16 = 1 << 2;
    pub(super) const FUA: u16 = 1 << 3;
    pub(super) const TRIM: u16 = 1 << 5;
    pub(super) const WRITE_ZEROES: u16 = 1 << 6;
    pub(super) const DF: u16 = 1 << 7;
    pub(super) const CAN_MULTI_CONN: u16 = 1 << 8;
    pub(super) const CACHE: u16 = 1 << 10;
    pub(super) const FAST_ZERO: u16 = 1 << 11;
}

/// The negotiated features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// Whether replies are structured.
    pub structured: bool,
    /// Whether the client may ask for the holes.
    pub block_status: bool,
}

/// A negotiation in progress. It reads bytes of the client and appends its replies to other bytes.
pub struct Handshake<'a> {
    shape: &'a Shape,
    /// The client's flags: whether it knows replies to options, and whether it wants no zeroes.
    flags: Option<u32>,
    options: u32,
    agreed: Negotiated,
    /// Bytes of an option to be skipped.
    skip: u32,
}

impl<'a> Handshake<'a> {
    /// Greet a client for an export of this shape.
    pub fn greet(shape: &'a Shape, output: &mut Vec<u8>) -> Self {
        let greeting = Greeting::new(SERVER_MAGIC, OPTION_MAGIC, FIXED_NEWSTYLE | NO_ZEROES);
        output.extend_from_slice(greeting.as_bytes());
        Self { shape, flags: None, options: 0, agreed: Negotiated::default(), skip: 0 }
    }

    /// Read the bytes that have arrived. Returns the agreement once the client has chosen the export; requests follow it.
    ///
    /// # Errors
    ///
    /// Ends if the protocol has no reply. The contents of `output` must still be sent.
    pub fn advance(&mut self, input: &mut Input, output: &mut Vec<u8>) -> Result<Option<Negotiated>, Hangup> {
        if self.flags.is_none() {
            let Some(flags) = input.peek::<U32>().map(U32::get) else { return Ok(None) };
            let allowed = u32::from(FIXED_NEWSTYLE | NO_ZEROES);
            if flags & u32::from(FIXED_NEWSTYLE) == 0 || flags & !allowed != 0 {
                return Err(Hangup::ClientFlags(flags));
            }
            input.take(size_of::<U32>());
            self.flags = Some(flags);
        }
        while input.skip(&mut self.skip) {
            let Some(header) = input.peek::<OptionHeader>() else { return Ok(None) };
            if header.magic != OPTION_MAGIC {
                let (given, wanted) = (header.magic.get(), OPTION_MAGIC);
                return Err(Hangup::Magic { what: "an option", given, wanted });
            }
            let (option, length) = (header.option.get(), header.length.get());
            let refused = length > MAX_OPTION_LENGTH;
            if !refused && input.waiting().len() < size_of::<OptionHeader>() + length as usize {
                return Ok(None);
            }
            self.options += 1;
            if self.options > MAX_OPTIONS {
                return Err(Hangup::Options(MAX_OPTIONS));
            }
            input.take(size_of::<OptionHeader>());
            let mut replies = Replies { option, output };
            if refused {
                self.skip = length;
                let text = format!("the option has {length} bytes; {MAX_OPTION_LENGTH} are allowed");
                replies.error(reply::TOO_BIG, &text);
                continue;
            }
            let data = input.take(length as usize);
            if let Some(agreed) = self.answer(data, &mut replies)? {
                return Ok(Some(agreed));
            }
        }
        Ok(None)
    }

    fn answer(&mut self, data: &[u8], replies: &mut Replies<'_>) -> Result<Option<Negotiated>, Hangup> {
        match replies.option {
            option::EXPORT_NAME => {
                if !self.is_here(data) {
                    return Err(Hangup::Export(shown(data)));
                }
                replies.output.extend_from_slice(self.export_info().as_bytes());
                if self.flags.is_some_and(|flags| flags & u32::from(NO_ZEROES) == 0) {
                    replies.output.extend_from_slice(&[0; 124]);
                }
                return Ok(Some(self.agreed));
            }
            option::ABORT => {
                replies.send(reply::ACK, &[]);
                return Err(Hangup::Left);
            }
            option::LIST if data.is_empty() => {
                let name = self.shape.name.as_bytes();
                let length = U32::new(u32::try_from(name.len()).expect("names are short"));
                replies.send(reply::SERVER, &[length.as_bytes(), name, self.shape.description.as_bytes()]);
                replies.send(reply::ACK, &[]);
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.agreed.structured = true;
                replies.send(reply::ACK, &[]);
            }
            option::LIST | option::STRUCTURED_REPLY => {
                replies.error(reply::INVALID, "this option has no data");
            }
            option::INFO | option::GO => match Fields(data).chosen() {
                None => replies.error(reply::INVALID, "the lengths in the option do not add up to its own"),
                Some((name, _)) if !self.is_here(name) => self.refuse(name, replies),
                Some((_, wanted)) => {
                    self.inform(wanted, replies);
                    if replies.option == option::GO {
                        return Ok(Some(self.agreed));
                    }
                }
            },
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(data, replies),
            other => replies.error(reply::UNSUPPORTED, &format!("there is no option {other} here")),
        }
        Ok(None)
    }

    fn is_here(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.shape.name.as_bytes()
    }

    fn refuse(&self, name: &[u8], replies: &mut Replies<'_>) {
        let text = format!("there is no export {:?}; there is {:?}", shown(name), self.shape.name);
        replies.error(reply::UNKNOWN, &text);
    }

    fn export_info(&self) -> ExportInfo {
        use transmission as can;
        let mut flags =
            can::HAS_FLAGS | can::FLUSH | can::FUA | can::TRIM | can::WRITE_ZEROES | can::FAST_ZERO;
        flags |= can::CAN_MULTI_CONN | can::CACHE;
        flags |= if self.shape.read_only { can::READ_ONLY } else { 0 };
        flags |= if self.agreed.structured { can::DF } else { 0 };
        ExportInfo::new(self.shape.size_bytes, flags)
    }

    fn inform(&self, wanted: &[U16], replies: &mut Replies<'_>) {
        replies.send(reply::INFO, &[U16::new(info::EXPORT).as_bytes(), self.export_info().as_bytes()]);
        let sizes = BlockSizes::new(1_u32, self.shape.preferred_bytes, MAX_LENGTH);
        let known = [
            (info::NAME, self.shape.name.as_bytes()),
            (info::DESCRIPTION, self.shape.description.as_bytes()),
            (info::BLOCK_SIZE, sizes.as_bytes()),
        ];
        for (kind, value) in known {
            if wanted.iter().any(|&one| one == kind) {
                replies.send(reply::INFO, &[U16::new(kind).as_bytes(), value]);
            }
        }
        replies.send(reply::ACK, &[]);
    }

    fn contexts(&mut self, data: &[u8], replies: &mut Replies<'_>) {
        let set = replies.option == option::SET_META_CONTEXT;
        self.agreed.block_status &= !set;
        if !self.agreed.structured {
            return replies.error(reply::INVALID, "structured replies must be agreed on before");
        }
        let Some((name, queries)) = Fields(data).queries() else {
            return replies.error(reply::INVALID, "the lengths in the option do not add up to its own");
        };
        if !self.is_here(name) {
            return self.refuse(name, replies);
        }
        let all = !set && (queries.is_empty() || queries.contains(&b"base:".as_slice()));
        if all || queries.contains(&ALLOCATION) {
            let id = U32::new(if set { ALLOCATION_ID } else { 0 });
            replies.send(reply::META_CONTEXT, &[id.as_bytes(), ALLOCATION]);
            self.agreed.block_status |= set;
        }
        replies.send(reply::ACK, &[]);
    }
}

/// The beginning of a client's text, for a message.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(64)]).into_owned()
}

/// Replies to an option.
struct Replies<'a> {
    option: u32,
    output: &'a mut Vec<u8>,
}

impl Replies<'_> {
    fn send(&mut self, kind: u32, parts: &[&[u8]]) {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        let length = u32::try_from(length).expect("replies are short");
        let header = OptionReply::new(OPTION_REPLY_MAGIC, self.option, kind, length);
        self.output.extend_from_slice(header.as_bytes());
        parts.iter().for_each(|part| self.output.extend_from_slice(part));
    }

    fn error(&mut self, kind: u32, text: &str) {
        self.send(kind, &[text.as_bytes()]);
    }
}

/// The unread rest of an option's data.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn number<T: FromBytes>(&mut self) -> Option<T> {
        let (number, rest) = T::read_from_prefix(self.0).ok()?;
        self.0 = rest;
        Some(number)
    }

    /// Read a length and that number of bytes.
    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.number::<U32>()?.get() as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    /// The name of an export and the requested information about it.
    fn chosen(mut self) -> Option<(&'a [u8], &'a [U16])> {
        let name = self.text()?;
        let count = usize::from(self.number::<U16>()?.get());
        let wanted = <[U16]>::ref_from_bytes(self.0).ok()?;
        (wanted.len() == count).then_some((name, wanted))
    }

    /// The name of an export and queries of its contexts.
    fn queries(mut self) -> Option<(&'a [u8], Vec<&'a [u8]>)> {
        let name = self.text()?;
        let count = self.number::<U32>()?.get();
        // Each takes four bytes at least: a count that does not fit ends the list early.
        let queries = (0..count).map(|_| self.text()).collect::<Option<Vec<_>>>()?;
        self.0.is_empty().then_some((name, queries))
    }
}
