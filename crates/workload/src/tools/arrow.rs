//! Arrow's own file, with the columns of our Parquet files, for table libraries that read it faster than that.
//!
//! ```text
//! "ARROW1" 0 0 | message: schema | message: batch ... | end | footer | its length (i32) | "ARROW1"
//! ```
//!
//! A message is as `crate::formats::arrow` reads it. Buffers begin at multiples of eight bytes; each is the length it had
//! (i64) and its bytes compressed by zstd.

use super::convert::{Output, Target};
use crate::formats::parquet::op_code;
use crate::request::Request;
use polars_arrow_format::ipc::planus::Builder;
use polars_arrow_format::ipc::{
    Block, BodyCompression, BodyCompressionMethod, Buffer, CompressionType, Endianness, Field, FieldNode,
    Footer, Int, Message, MessageHeader, MetadataVersion, RecordBatch, Schema, Type,
};
use std::io::{self, BufWriter, Write};

/// Rows of a batch, which are held in memory, 25 bytes each.
const BATCH_ROWS: usize = 1 << 17;

/// An Arrow file being written.
pub(super) struct ToArrow<'a> {
    output: BufWriter<Output<'a>>,
    /// What was written so far.
    bytes: u64,
    /// Where the batches are.
    blocks: Vec<Block>,
    requests: Vec<Request>,
}

fn schema() -> Schema {
    let field = |name: &str, bit_width| Field {
        name: Some(name.to_owned()),
        nullable: false,
        type_: Some(Type::Int(Box::new(Int { bit_width, is_signed: false }))),
        dictionary: None,
        children: Some(Vec::new()),
        custom_metadata: None,
    };
    let fields = vec![field("time_ns", 64), field("op", 8), field("offset", 64), field("length", 64)];
    Schema { endianness: Endianness::Little, fields: Some(fields), custom_metadata: None, features: None }
}

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];

impl<'a> ToArrow<'a> {
    pub(super) fn new(output: Output<'a>) -> io::Result<Self> {
        let output = BufWriter::new(output);
        let mut file = Self { output, bytes: 0, blocks: Vec::new(), requests: Vec::new() };
        file.put(&[MAGIC, &[0, 0]].concat())?;
        file.put_message(MessageHeader::Schema(Box::new(schema())), &[])?;
        Ok(file)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.output.write_all(bytes)
    }

    /// Writes a message; the length of its head, as a footer counts it.
    fn put_message(&mut self, header: MessageHeader, body: &[u8]) -> io::Result<i32> {
        let message = Message {
            version: MetadataVersion::V5,
            header: Some(header),
            body_length: body.len() as i64,
            custom_metadata: None,
        };
        let mut builder = Builder::new();
        let mut head = builder.finish(message, None).to_vec();
        pad(&mut head);
        let length = head.len() as i32;
        self.put(&CONTINUATION)?;
        self.put(&length.to_le_bytes())?;
        self.put(&head)?;
        self.put(body)?;
        Ok(length + 8)
    }

    fn write_batch(&mut self) -> io::Result<()> {
        if self.requests.is_empty() {
            return Ok(());
        }
        let requests = std::mem::take(&mut self.requests);
        let numbers =
            |value: fn(&Request) -> u64| requests.iter().flat_map(|r| value(r).to_le_bytes()).collect();
        let columns: [Vec<u8>; 4] = [
            numbers(|request| request.arrival.ns),
            requests.iter().map(|request| op_code(request.op) as u8).collect(),
            numbers(|request| request.offset),
            numbers(|request| request.length),
        ];
        let (mut body, mut buffers) = (Vec::new(), Vec::new());
        for column in columns {
            let offset = body.len() as i64;
            // Nothing is null, so the buffer that would say where is empty.
            buffers.push(Buffer { offset, length: 0 });
            body.extend((column.len() as i64).to_le_bytes());
            body.extend(zstd::bulk::compress(&column, 1)?);
            buffers.push(Buffer { offset, length: body.len() as i64 - offset });
            pad(&mut body);
        }
        let length = requests.len() as i64;
        let compression =
            BodyCompression { codec: CompressionType::Zstd, method: BodyCompressionMethod::Buffer };
        let batch = RecordBatch {
            length,
            nodes: Some(vec![FieldNode { length, null_count: 0 }; 4]),
            buffers: Some(buffers),
            compression: Some(Box::new(compression)),
            variadic_buffer_counts: None,
        };
        let offset = self.bytes as i64;
        let meta_data_length = self.put_message(MessageHeader::RecordBatch(Box::new(batch)), &body)?;
        self.blocks.push(Block { offset, meta_data_length, body_length: body.len() as i64 });
        self.requests = requests;
        self.requests.clear();
        Ok(())
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

impl Target for ToArrow<'_> {
    fn write(&mut self, batch: &[Request]) -> io::Result<()> {
        self.requests.extend_from_slice(batch);
        if self.requests.len() >= BATCH_ROWS { self.write_batch() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>, _: &[String]) -> io::Result<Vec<String>> {
        self.write_batch()?;
        self.put(&CONTINUATION)?;
        self.put(&[0; 4])?;
        let footer = Footer {
            version: MetadataVersion::V5,
            schema: Some(Box::new(schema())),
            dictionaries: Some(Vec::new()),
            record_batches: Some(std::mem::take(&mut self.blocks)),
            custom_metadata: None,
        };
        let mut builder = Builder::new();
        let footer = builder.finish(footer, None);
        self.put(footer)?;
        self.put(&(footer.len() as i32).to_le_bytes())?;
        self.put(MAGIC)?;
        self.output.flush()?;
        Ok(Vec::new())
    }
}
