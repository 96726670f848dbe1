//! Files of state: a header, the state, and a checksum over both.
//!
//! ```text
//! magic       8 bytes
//! format      4 bytes, little endian: the version of the layout of the rest
//! length      4 bytes, little endian, of the header
//! header      JSON: the version of coflash, the revision of results, and what the kind of the file adds
//! state       a zstd frame of differences
//! checksum    32 bytes: SHA-256 of all before
//! ```

use crate::error::StateFileError;
use coflash_base::AtomicFile;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

pub(crate) const CHECKSUM_BYTES: usize = 32;
/// The state is either regular or random: higher levels do not compress better.
const ZSTD_LEVEL: i32 = 1;

/// A kind of files.
pub(crate) struct Kind {
    /// Its name in errors.
    pub(crate) name: &'static str,
    pub(crate) magic: &'static [u8; 8],
    pub(crate) format: u32,
}

#[derive(Serialize, Deserialize)]
struct Header<H> {
    /// As information: a file of another version is read if its revision is this one's.
    coflash: String,
    revision: u32,
    #[serde(flatten)]
    more: H,
}

impl Kind {
    /// Write a header, and the state that `state` writes.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        more: impl Serialize,
        state: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let header = Header { coflash: crate::VERSION.to_owned(), revision: crate::REVISION, more };
        let header = serde_json::to_vec(&header).expect("a header is plain data");
        let mut out = Digesting { out, digest: Sha256::new() };
        out.write_all(self.magic)?;
        out.write_all(&self.format.to_le_bytes())?;
        out.write_all(&(header.len() as u32).to_le_bytes())?;
        out.write_all(&header)?;
        let frame = zstd::Encoder::new(&mut out, ZSTD_LEVEL)?;
        let mut words = BufWriter::with_capacity(CHUNK_BYTES, Differences(frame));
        state(&mut words)?;
        words.into_inner()?.0.finish()?;
        let Digesting { out, digest } = out;
        out.write_all(&digest.finalize())
    }

    /// Read a file: its header, and from it and the state what `unpack` makes of them.
    ///
    /// # Errors
    /// Bytes that are no such file, are damaged, or were written under another revision of results.
    pub(crate) fn read<H: DeserializeOwned, T>(
        &self,
        bytes: &[u8],
        unpack: impl FnOnce(H, &mut dyn Read) -> Result<T, StateFileError>,
    ) -> Result<T, StateFileError> {
        let kind = self.name;
        let early = || StateFileError::Damaged("it ends early".to_owned());
        let rest = bytes.strip_prefix(self.magic).ok_or(StateFileError::AnotherKind { kind })?;
        let (format, _) = split_number(rest).ok_or_else(early)?;
        if format != self.format {
            return Err(StateFileError::Format { kind, given: format, read: self.format });
        }
        let (bytes, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or_else(early)?;
        // What a manipulated file gives is given up: parsing may precede the checksum.
        std::thread::scope(|threads| {
            let digest = threads.spawn(|| Sha256::digest(bytes));
            let unpacked = self.unpack(bytes, unpack);
            if digest.join().expect("digesting cannot fail")[..] != checksum[..] {
                return Err(StateFileError::Damaged("its checksum is wrong".to_owned()));
            }
            unpacked
        })
    }

    /// Read everything but the checksum.
    fn unpack<H: DeserializeOwned, T>(
        &self,
        bytes: &[u8],
        unpack: impl FnOnce(H, &mut dyn Read) -> Result<T, StateFileError>,
    ) -> Result<T, StateFileError> {
        let damaged = |problem: &dyn ToString| StateFileError::Damaged(problem.to_string());
        let early = || damaged(&"it ends early");
        let rest = bytes.get(self.magic.len() + size_of::<u32>()..).ok_or_else(early)?;
        let (length, rest) = split_number(rest).ok_or_else(early)?;
        let (header, state) = rest.split_at_checked(length as usize).ok_or_else(early)?;
        let header: Header<serde_json::Value> = serde_json::from_slice(header).map_err(|e| damaged(&e))?;
        if header.revision != crate::REVISION {
            let (given, read, coflash) = (header.revision, crate::REVISION, header.coflash);
            return Err(StateFileError::Revision { given, read, coflash });
        }
        let more = serde_json::from_value(header.more).map_err(|e| damaged(&e))?;
        let frame = zstd::Decoder::with_buffer(state).map_err(|e| damaged(&e))?;
        let mut state = BufReader::with_capacity(CHUNK_BYTES, Differences(frame));
        let unpacked = unpack(more, &mut state)?;
        match state.fill_buf().map(<[u8]>::len) {
            Ok(0) => Ok(unpacked),
            Ok(_) => Err(damaged(&"there is more in it")),
            Err(error) => Err(damaged(&error)),
        }
    }
}

fn split_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (u32::from_le_bytes(*number), rest))
}

/// The bytes that are laid out together.
const CHUNK_BYTES: usize = 1 << 19;

/// Chunks of state, laid out for a general compressor: differences of successive words of 32 bits, all lowest bytes first, then the
/// next higher ones. Pages written in order differ by a constant, and of random numbers only the low bytes are random.
struct Differences<S>(S);

impl<S: Write> Write for Differences<S> {
    /// Takes what a buffer of a chunk passes on.
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        let chunk = &chunk[..chunk.len().min(CHUNK_BYTES)];
        let (words, rest) = chunk.as_chunks::<4>();
        let mut before = 0;
        let differences: Vec<[u8; 4]> = words
            .iter()
            .map(|&word| {
                let word = u32::from_le_bytes(word);
                word.wrapping_sub(std::mem::replace(&mut before, word)).to_le_bytes()
            })
            .collect();
        let planes = (0..4).flat_map(|byte| differences.iter().map(move |word| word[byte]));
        let laid_out: Vec<u8> = planes.chain(rest.iter().copied()).collect();
        self.0.write_all(&(chunk.len() as u32).to_le_bytes())?;
        self.0.write_all(&laid_out)?;
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S: Read> Read for Differences<S> {
    /// Fills the buffer of a chunk.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut len = [0; 4];
        if self.0.read(&mut len[..1])? == 0 {
            return Ok(0);
        }
        self.0.read_exact(&mut len[1..])?;
        let len = u32::from_le_bytes(len) as usize;
        let Some(chunk) = buffer.get_mut(..len) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a chunk is too long"));
        };
        let mut laid_out = vec![0; len];
        self.0.read_exact(&mut laid_out)?;
        let (words, rest) = chunk.as_chunks_mut::<4>();
        let (count, mut word) = (words.len(), 0_u32);
        for (index, to) in words.iter_mut().enumerate() {
            word = word
                .wrapping_add(u32::from_le_bytes(std::array::from_fn(|byte| laid_out[byte * count + index])));
            *to = word.to_le_bytes();
        }
        rest.copy_from_slice(&laid_out[4 * count..]);
        Ok(len)
    }
}

/// A writer that digests its bytes.
struct Digesting<'a> {
    out: &'a mut dyn Write,
    digest: Sha256,
}

impl Write for Digesting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Write a file atomically. Pipes and devices are written directly.
pub(crate) fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    AtomicFile::clear(path);
    let file = AtomicFile::create(path)?;
    let mut out = BufWriter::new(&file);
    fill(&mut out)?;
    out.into_inner()?;
    file.commit()?;
    Ok(())
}
