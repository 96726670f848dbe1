//! Layouts of the protocol, in network byte order, and the receive buffer.

use zerocopy::byteorder::network_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of the server, `NBDMAGIC`.
pub const SERVER_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// The first bytes of each option, `IHAVEOPT`.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// The first bytes of each reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// The first bytes of each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// The first bytes of each simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// The first bytes of each chunk of a structured reply.
pub const CHUNK_MAGIC: u32 = 0x668e_33ef;

macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $number:ty,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $number,)* }

        impl $name {
            /// Make one of its fields in their order.
            pub fn new($($field: impl Into<$number>),*) -> Self {
                Self { $($field: $field.into()),* }
            }
        }
    )* };
}

layouts! {
    /// The first message, from the server.
    Greeting {
        /// [`SERVER_MAGIC`].
        magic: U64,
        /// [`OPTION_MAGIC`].
        option_magic: U64,
        /// Bit 0: fixed newstyle; bit 1: no zeroes after an export's size.
        flags: U16,
    }
    /// An option of the client; its data follow.
    OptionHeader {
        /// [`OPTION_MAGIC`].
        magic: U64,
        /// Which option.
        option: U32,
        /// Bytes that follow.
        length: U32,
    }
    /// A reply to an option; its data follow.
    OptionReply {
        /// [`OPTION_REPLY_MAGIC`].
        magic: U64,
        /// The option that it answers.
        option: U32,
        /// Which reply.
        kind: U32,
        /// Bytes that follow.
        length: U32,
    }
    /// The size and the abilities of an export.
    ExportInfo {
        /// Bytes of the disk.
        size: U64,
        /// Transmission flags.
        flags: U16,
    }
    /// Sizes that requests should have, in bytes.
    BlockSizes {
        /// The least.
        minimum: U32,
        /// The best.
        preferred: U32,
        /// The most.
        maximum: U32,
    }
    /// A command of the client; the data of a write follow.
    CommandHeader {
        /// [`REQUEST_MAGIC`].
        magic: U32,
        /// Command flags.
        flags: U16,
        /// Which command.
        command: U16,
        /// The identifier of the request in its reply.
        cookie: U64,
        /// The first byte.
        offset: U64,
        /// How many bytes.
        length: U32,
    }
    /// A simple reply; the data of a read follow.
    SimpleReply {
        /// [`SIMPLE_REPLY_MAGIC`].
        magic: U32,
        /// 0, or the number of an error.
        error: U32,
        /// Of the request.
        cookie: U64,
    }
    /// A part of a structured reply; its payload follows.
    Chunk {
        /// [`CHUNK_MAGIC`].
        magic: U32,
        /// Bit 0: the last chunk of the reply.
        flags: U16,
        /// Which chunk.
        kind: U16,
        /// Of the request.
        cookie: U64,
        /// Bytes that follow.
        length: U32,
    }
    /// A chunk of data; the data follow.
    DataChunk {
        /// The header.
        chunk: Chunk,
        /// The first byte.
        offset: U64,
    }
    /// A chunk that says that bytes are zeros.
    HoleChunk {
        /// The header.
        chunk: Chunk,
        /// The first byte.
        offset: U64,
        /// How many bytes.
        length: U32,
    }
    /// An extent, as block status tells it.
    StatusExtent {
        /// How many bytes.
        length: U32,
        /// Bit 0: a hole; bit 1: reads as zeros.
        flags: U32,
    }
}

/// Received bytes not yet read, in a buffer of fixed size.
pub struct Input {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Input {
    /// An empty buffer for `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity].into_boxed_slice(), start: 0, end: 0 }
    }

    /// Free space for more bytes; pass their number to [`received`](Self::received). Empty only if the buffer
    /// is full.
    pub fn room(&mut self) -> &mut [u8] {
        // Not each time, although the waiting bytes are few.
        if self.end > self.bytes.len() / 2 || self.start == self.end {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.bytes[self.end..]
    }

    /// Mark `count` bytes of the free space as received.
    pub fn received(&mut self, count: usize) {
        assert!(count <= self.bytes.len() - self.end, "more than there was room for");
        self.end += count;
    }

    /// The unread bytes.
    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The next value, if all of its bytes have arrived. It is not consumed.
    pub fn peek<T: FromBytes>(&self) -> Option<T> {
        T::read_from_prefix(self.waiting()).ok().map(|(value, _)| value)
    }

    /// Take up to `count` bytes.
    pub fn take(&mut self, count: usize) -> &[u8] {
        let count = count.min(self.end - self.start);
        self.start += count;
        &self.bytes[self.start - count..self.start]
    }

    /// Skip up to `left` bytes, and reduce it. Returns whether all are skipped.
    pub(crate) fn skip(&mut self, left: &mut u32) -> bool {
        *left -= u32::try_from(self.take(*left as usize).len()).unwrap_or(0);
        *left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layouts_have_the_sizes_of_the_protocol() {
        let sizes = [
            (size_of::<Greeting>(), 18),
            (size_of::<OptionHeader>(), 16),
            (size_of::<OptionReply>(), 20),
            (size_of::<ExportInfo>(), 10),
            (size_of::<BlockSizes>(), 12),
            (size_of::<CommandHeader>(), 28),
            (size_of::<SimpleReply>(), 16),
            (size_of::<Chunk>(), 20),
            (size_of::<DataChunk>(), 28),
            (size_of::<HoleChunk>(), 32),
            (size_of::<StatusExtent>(), 8),
        ];
        assert!(sizes.iter().all(|(size, wanted)| size == wanted), "{sizes:?}");
    }

    #[test]
    fn bytes_that_wait_keep_their_order_when_they_are_moved_to_make_room() {
        let mut input = Input::new(4);
        let receive = |input: &mut Input, bytes: &[u8]| {
            input.room()[..bytes.len()].copy_from_slice(bytes);
            input.received(bytes.len());
        };
        receive(&mut input, &[1, 2, 3, 4]);
        assert!(input.room().is_empty());
        assert_eq!(input.take(3), [1, 2, 3]);
        receive(&mut input, &[5, 6, 7]);
        assert_eq!(input.peek::<U32>().map(U32::get), Some(0x0405_0607));
        assert_eq!(input.take(9), [4, 5, 6, 7]);
        assert_eq!(input.peek::<U16>().map(U16::get), None);
    }
}
