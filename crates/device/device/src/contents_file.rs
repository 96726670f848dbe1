//! The contents of a device at power on, as a file: the initial state of the twin of a session.
//!
//! ```text
//! a zstd frame of numbers, little endian
//! words       u64: how many; each u64
//! pages       u64: how many; each u32 page · u32 logical page + 1 · u64 sequence number · u8 state
//!             state: 0 torn, 1 a page, 2 a page in fast mode, 3 a page with one bit a cell
//! erases      u64: how many; each u32
//! ```

use coflash_base::{Index, Lpn};
use coflash_media::{Contents, FoundPage, Mode, Oob, Ppn};
use std::io::{self, BufReader, BufWriter, Read, Write};

/// The level of compression: the file is written at every start.
const ZSTD_LEVEL: i32 = 1;

/// Write contents.
///
/// # Errors
/// The output cannot be written.
pub fn write(contents: &Contents, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(zstd::Encoder::new(out, ZSTD_LEVEL)?);
    let Contents { words, pages, erases } = contents;
    out.write_all(&(words.len() as u64).to_le_bytes())?;
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
    out.write_all(&(pages.len() as u64).to_le_bytes())?;
    for found in pages {
        let oob = found.oob();
        let state = oob.map_or(0, |oob| 1 + oob.mode as u8);
        let lpn = oob.and_then(|oob| oob.lpn).map_or(0, |lpn| lpn.get() + 1);
        out.write_all(&found.page().get().to_le_bytes())?;
        out.write_all(&lpn.to_le_bytes())?;
        out.write_all(&oob.map_or(0, |oob| oob.sequence).to_le_bytes())?;
        out.write_all(&[state])?;
    }
    out.write_all(&(erases.len() as u64).to_le_bytes())?;
    erases.iter().try_for_each(|erase| out.write_all(&erase.to_le_bytes()))?;
    out.into_inner()?.finish()?.flush()
}

/// Read the contents written by [`write()`].
///
/// # Errors
/// The input cannot be read, or ends early.
pub fn read(file: impl Read) -> io::Result<Contents> {
    let mut input = BufReader::new(zstd::Decoder::new(file)?);
    let word = |input: &mut dyn Read| Ok::<_, io::Error>(u64::from_le_bytes(array(input)?));
    let half = |input: &mut dyn Read| Ok::<_, io::Error>(u32::from_le_bytes(array(input)?));
    let mut contents = Contents::default();
    for _ in 0..word(&mut input)? {
        contents.words.push(word(&mut input)?);
    }
    for _ in 0..word(&mut input)? {
        let (page, lpn, sequence) = (half(&mut input)?, half(&mut input)?, word(&mut input)?);
        let [state] = array(&mut input)?;
        let mode = match state {
            2 => Mode::Fast,
            3 => Mode::Slc,
            _ => Mode::Normal,
        };
        let lpn = lpn.checked_sub(1).map(|lpn| Lpn::from_index(lpn as usize));
        if sequence >= FoundPage::SEQUENCES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a sequence number is too large"));
        }
        let oob = (state > 0).then_some(Oob { lpn, sequence, mode });
        contents.pages.push(FoundPage::new(Ppn::new(page), oob));
    }
    for _ in 0..word(&mut input)? {
        contents.erases.push(half(&mut input)?);
    }
    Ok(contents)
}

fn array<const N: usize>(input: &mut dyn Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}
