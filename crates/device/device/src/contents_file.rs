//! The contents of a device at power on, as a file: the initial state of the twin of a session. It is [saved](Save) as the state
//! of a checkpoint, in a zstd frame.

use coflash_base::Save;
use coflash_base::save::Saved;
use coflash_media::Contents;
use std::io::{self, BufReader, BufWriter, Read, Write};

/// The level of compression: the file is written at every start.
const ZSTD_LEVEL: i32 = 1;

/// Write contents.
///
/// # Errors
/// The output cannot be written.
pub fn write(contents: &Contents, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(zstd::Encoder::new(out, ZSTD_LEVEL)?);
    contents.save(&mut out)?;
    out.into_inner()?.finish()?.flush()
}

/// Read the contents written by [`write()`].
///
/// # Errors
/// The input cannot be read, or ends early.
pub fn read(file: impl Read) -> io::Result<Contents> {
    Contents::load(&mut BufReader::new(zstd::Decoder::new(file)?))
}
