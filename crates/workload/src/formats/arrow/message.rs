//! Arrow's messages: where one ends, what columns a file has, and where in a batch a column lies.
//!
//! A message is `FF FF FF FF`, the length of its head (i32), the head (a flatbuffer), and a body of buffers. A stream is its
//! schema, then its batches, then a head of length zero; a file is a stream between a magic number and a footer, which
//! repeats where the batches lie and is not needed to read them in order.

use crate::formats::reader::Trouble;
use crate::formats::{Lines, SAMPLE_BYTES};
use bytes::Bytes;
use polars_arrow_format::ipc::planus::ReadAsRoot;
use polars_arrow_format::ipc::{
    CompressionType, Endianness, FieldRef, MessageHeaderRef, MessageRef, MetadataVersion, RecordBatchRef,
    SchemaRef, TypeRef, UnionMode,
};
use std::fmt::Display;

pub(super) const MAGIC: &[u8] = b"ARROW1\0\0";
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];

/// The longest head: that of a schema of thousands of columns is shorter.
pub(super) const HEAD_BYTES_MAX: u32 = 16 << 20;

pub(super) fn damaged(problem: impl Display) -> Trouble {
    Trouble::Input(format!("the Arrow data is damaged: {problem}"))
}

impl From<polars_arrow_format::ipc::planus::Error> for Trouble {
    fn from(error: polars_arrow_format::ipc::planus::Error) -> Self {
        damaged(error)
    }
}

/// The messages of an input.
pub(super) struct Messages {
    input: Lines,
    /// Whether the input must say where it ends.
    is_file: bool,
    /// What follows the end is none of the messages.
    ended: bool,
    /// A first one that had to be looked for.
    unframed: Option<Message>,
}

/// A message: its head, which [`MessageRef`] reads, and its body.
pub(super) struct Message {
    pub(super) head: Vec<u8>,
    pub(super) body: Bytes,
}

impl Messages {
    pub(super) fn new(mut input: Lines) -> Result<Self, Trouble> {
        let is_file = input.ahead(MAGIC.len())?.starts_with(MAGIC);
        let mut unframed = None;
        if is_file {
            input.pass(MAGIC.len());
            unframed = unframed_schema(&mut input)?;
        }
        Ok(Self { input, is_file, ended: false, unframed })
    }

    /// The next one; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Message>, Trouble> {
        if self.ended {
            return Ok(None);
        }
        if let Some(message) = self.unframed.take() {
            return Ok(Some(message));
        }
        let Some(length) = self.begin()? else {
            self.ended = true;
            return Ok(None);
        };
        let head = self.take(u64::from(length))?;
        let body_bytes = MessageRef::read_as_root(&head)?.body_length()?;
        let body_bytes = u64::try_from(body_bytes).map_err(|_| damaged("a body has less than no bytes"))?;
        let body = self.take(body_bytes)?.into();
        Ok(Some(Message { head, body }))
    }

    /// How long the next head is; nothing at the end.
    fn begin(&mut self) -> Result<Option<u32>, Trouble> {
        let ahead = self.input.ahead(8)?;
        if ahead.is_empty() && !self.is_file {
            return Ok(None);
        }
        let [a, b, c, d, length @ ..] = ahead else { return Err(truncated()) };
        if [*a, *b, *c, *d] != CONTINUATION {
            return Err(damaged(
                "no message begins where one should (files from before Arrow 0.15 are not read)",
            ));
        }
        let Some(&length) = length.first_chunk() else { return Err(truncated()) };
        let length = u32::from_le_bytes(length);
        if length > HEAD_BYTES_MAX {
            return Err(damaged(format!(
                "the head of a message has {length} bytes, at most {HEAD_BYTES_MAX} expected"
            )));
        }
        self.input.pass(8);
        Ok((length > 0).then_some(length))
    }

    fn take(&mut self, bytes: u64) -> Result<Vec<u8>, Trouble> {
        let taken = self.input.take(bytes)?;
        if (taken.len() as u64) < bytes { Err(truncated()) } else { Ok(taken) }
    }
}

/// The schema of a file that does not say how long it is: polars writes such, whose readers find it in the footer. It ends
/// where something begins that can be read as a message.
fn unframed_schema(input: &mut Lines) -> Result<Option<Message>, Trouble> {
    let ahead = input.ahead(SAMPLE_BYTES)?;
    if ahead.starts_with(&CONTINUATION) {
        return Ok(None);
    }
    let begins = |&at: &usize| {
        let Some(rest) = ahead[at..].strip_prefix(&CONTINUATION) else { return false };
        let Some((&length, rest)) = rest.split_first_chunk() else { return false };
        match u32::from_le_bytes(length) as usize {
            0 => true,
            length => rest.get(..length).is_some_and(|head| {
                let header = MessageRef::read_as_root(head).and_then(|message| message.header());
                matches!(
                    header,
                    Ok(Some(MessageHeaderRef::RecordBatch(_) | MessageHeaderRef::DictionaryBatch(_)))
                )
            }),
        }
    };
    let Some(end) = (0..ahead.len()).step_by(8).find(begins) else { return Ok(None) };
    let head = ahead[..end].to_vec();
    input.pass(end);
    Ok(Some(Message { head, body: Bytes::new() }))
}

fn truncated() -> Trouble {
    Trouble::Input("the Arrow data ends early: the file is truncated".to_owned())
}

/// What of a schema is needed to find a column.
pub(super) struct Field {
    pub(super) name: String,
    /// Bytes and whether there is a sign, of a column of whole numbers.
    pub(super) integer: Option<(usize, bool)>,
    /// What it is, for a message.
    pub(super) kind: String,
    shape: Shape,
}

/// How many nodes and buffers of a batch belong to a column.
#[derive(Clone, Copy, Default)]
struct Shape {
    nodes: usize,
    buffers: usize,
    /// Its columns of views, each of which has as many more buffers as the batch says.
    views: usize,
}

/// The most columns in columns that are counted: more is no trace, and a head can be made that has no end of them.
const NODES_MAX: usize = 1 << 16;
const DEPTH_MAX: usize = 64;

/// The columns of the schema that `head` is the head of.
pub(super) fn schema(head: &[u8]) -> Result<Vec<Field>, Trouble> {
    let message = MessageRef::read_as_root(head)?;
    let Some(MessageHeaderRef::Schema(schema)) = message.header()? else {
        return Err(damaged("it does not begin with its schema"));
    };
    if schema.endianness()? != Endianness::Little {
        return Err(Trouble::Input("its numbers are big-endian, little-endian ones are read".to_owned()));
    }
    fields(schema, message.version()?)
}

fn fields(schema: SchemaRef<'_>, version: MetadataVersion) -> Result<Vec<Field>, Trouble> {
    let mut left = NODES_MAX;
    let fields = schema.fields()?.into_iter().flatten().map(|field| {
        let field = field?;
        let plain = field.dictionary()?.is_none();
        let integer = match field.type_()? {
            Some(TypeRef::Int(int)) if plain => Some(((int.bit_width()? / 8) as usize, int.is_signed()?)),
            _ => None,
        };
        Ok(Field {
            name: field.name()?.unwrap_or_default().to_owned(),
            integer: integer.filter(|(bytes, _)| matches!(bytes, 1 | 2 | 4 | 8)),
            kind: if plain { kind(field.type_()?) } else { "a dictionary".to_owned() },
            shape: shape(field, version, DEPTH_MAX, &mut left)?,
        })
    });
    fields.collect()
}

fn kind(of: Option<TypeRef<'_>>) -> String {
    let text = format!("{of:?}");
    let name: String =
        text.chars().skip_while(|c| *c != '(').skip(1).take_while(char::is_ascii_alphanumeric).collect();
    name.trim_end_matches("Ref").to_owned()
}

/// Counts what belongs to a column and the columns inside it.
fn shape(
    field: FieldRef<'_>,
    version: MetadataVersion,
    depth: usize,
    left: &mut usize,
) -> Result<Shape, Trouble> {
    *left = left.checked_sub(1).filter(|_| depth > 0).ok_or_else(|| damaged("its columns have no end"))?;
    let of_view = matches!(field.type_()?, Some(TypeRef::Utf8View(_) | TypeRef::BinaryView(_)));
    if field.dictionary()?.is_some() {
        // In its place lies the column of its numbers.
        return Ok(Shape { nodes: 1, buffers: 2, views: 0 });
    }
    let buffers = match field.type_()? {
        None => return Err(damaged("a column has no type")),
        Some(TypeRef::Null(_) | TypeRef::RunEndEncoded(_)) => 0,
        Some(TypeRef::FixedSizeList(_) | TypeRef::Struct(_)) => 1,
        Some(TypeRef::Union(union)) => {
            let validity = usize::from(version < MetadataVersion::V5);
            validity + if union.mode()? == UnionMode::Dense { 2 } else { 1 }
        }
        Some(
            TypeRef::Utf8(_)
            | TypeRef::Binary(_)
            | TypeRef::LargeUtf8(_)
            | TypeRef::LargeBinary(_)
            | TypeRef::ListView(_)
            | TypeRef::LargeListView(_),
        ) => 3,
        Some(_) => 2,
    };
    let mut all = Shape { nodes: 1, buffers, views: usize::from(of_view) };
    for child in field.children()?.into_iter().flatten() {
        let inside = shape(child?, version, depth - 1, left)?;
        all.nodes += inside.nodes;
        all.buffers += inside.buffers;
        all.views += inside.views;
    }
    Ok(all)
}

/// Where a column of whole numbers lies in a batch.
pub(super) struct Place {
    /// Which rows have a value; none where all have.
    pub(super) validity: Option<Bytes>,
    pub(super) values: Bytes,
}

/// Where the columns of a batch lie, those of `wanted` by their number in the schema.
pub(super) fn places(
    fields: &[Field],
    wanted: &[usize],
    batch: RecordBatchRef<'_>,
    body: &Bytes,
) -> Result<Vec<Place>, Trouble> {
    let missing = || damaged("a batch has fewer buffers than its schema says");
    let (nodes, buffers) = (batch.nodes()?.ok_or_else(missing)?, batch.buffers()?.ok_or_else(missing)?);
    let variadic = batch.variadic_buffer_counts()?;
    let cut = |index: usize| -> Result<Bytes, Trouble> {
        let buffer = buffers.get(index).ok_or_else(missing)?;
        let [from, length] = [buffer.offset(), buffer.length()].map(usize::try_from);
        let range =
            from.ok().zip(length.ok()).and_then(|(from, length)| Some(from..from.checked_add(length)?));
        let range = range.filter(|range| range.end <= body.len());
        range.map(|range| body.slice(range)).ok_or_else(|| damaged("a buffer lies outside of its batch"))
    };
    let (mut node, mut buffer, mut view) = (0, 0, 0);
    let mut starts = Vec::with_capacity(fields.len());
    for field in fields {
        starts.push((node, buffer));
        node += field.shape.nodes;
        buffer += field.shape.buffers;
        for _ in 0..field.shape.views {
            let more =
                variadic.and_then(|counts| counts.get(view)).and_then(|count| usize::try_from(count).ok());
            buffer = more.and_then(|more| buffer.checked_add(more)).ok_or_else(missing)?;
            view += 1;
        }
    }
    let place = |&index: &usize| {
        let (node, buffer) = starts[index];
        let node = nodes.get(node).ok_or_else(missing)?;
        let has_nulls = node.null_count() != 0;
        Ok(Place { validity: has_nulls.then(|| cut(buffer)).transpose()?, values: cut(buffer + 1)? })
    };
    wanted.iter().map(place).collect()
}

/// How the buffers of a batch are compressed.
pub(super) fn compression(batch: RecordBatchRef<'_>) -> Result<Option<CompressionType>, Trouble> {
    Ok(batch.compression()?.map(|compression| compression.codec()).transpose()?)
}
