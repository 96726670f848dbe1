//! A warm device as a file.
//!
//! ```text
//! magic       8 bytes
//! format      4 bytes, little endian: the version of the layout of the rest
//! length      4 bytes, little endian, of the header
//! header      JSON: the version of coflash, the revision of results, the warm key, the recipe, remarks on how it went, digests of files
//! state       a zstd frame: the columns of `coflash_ftl`
//! checksum    32 bytes: SHA-256 of all before
//! ```

use super::Warm;
use super::recipe::Recipe;
use crate::error::WarmFileError;
use crate::precondition::Preconditioned;
use coflash_base::AtomicFile;
use coflash_scenario::without_nulls;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"COFLWARM";
const FORMAT: u32 = 3;
const CHECKSUM_BYTES: usize = 32;
/// The state is either regular or random: higher levels do not compress better.
const ZSTD_LEVEL: i32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<R> {
    /// As information: a file of another version is read if its revision is this one's.
    coflash: String,
    revision: u32,
    warm_key: String,
    recipe: R,
    remarks: Vec<String>,
    written_by: Vec<String>,
}

pub(super) fn write(out: &mut dyn Write, warm: &Warm) -> io::Result<()> {
    let Warm { recipe, device: Preconditioned { ftl, remarks }, written_by } = warm;
    let header = Header {
        coflash: crate::VERSION.to_owned(),
        revision: crate::REVISION,
        warm_key: recipe.key(),
        // What reads parameters of policies knows no empty value.
        recipe: without_nulls(recipe),
        remarks: remarks.clone(),
        written_by: written_by.clone(),
    };
    let header = serde_json::to_vec(&header).expect("a header is plain data");
    let mut out = Digesting { out, digest: Sha256::new() };
    out.write_all(MAGIC)?;
    out.write_all(&FORMAT.to_le_bytes())?;
    out.write_all(&(header.len() as u32).to_le_bytes())?;
    out.write_all(&header)?;
    let mut state = zstd::Encoder::new(&mut out, ZSTD_LEVEL)?;
    ftl.save(&mut state)?;
    state.finish()?;
    let Digesting { out, digest } = out;
    out.write_all(&digest.finalize())
}

pub(super) fn read(bytes: &[u8]) -> Result<Warm, WarmFileError> {
    let damaged = |problem: &dyn ToString| WarmFileError::Damaged(problem.to_string());
    let early = || damaged(&"it ends early");
    let rest = bytes.strip_prefix(MAGIC).ok_or(WarmFileError::NotWarm)?;
    let (format, _) = split_number(rest).ok_or_else(early)?;
    if format != FORMAT {
        return Err(WarmFileError::Format { given: format, read: FORMAT });
    }
    let (bytes, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or_else(early)?;
    // A manipulated file gives a consistent device or an error, so parsing may precede the checksum.
    std::thread::scope(|threads| {
        let digest = threads.spawn(|| Sha256::digest(bytes));
        let device = unpack(bytes);
        if digest.join().expect("digesting cannot fail")[..] != checksum[..] {
            return Err(damaged(&"its checksum is wrong"));
        }
        device
    })
}

/// Write everything but the checksum.
fn unpack(bytes: &[u8]) -> Result<Warm, WarmFileError> {
    let damaged = |problem: &dyn ToString| WarmFileError::Damaged(problem.to_string());
    let early = || damaged(&"it ends early");
    let rest = bytes.get(MAGIC.len() + size_of::<u32>()..).ok_or_else(early)?;
    let (length, rest) = split_number(rest).ok_or_else(early)?;
    let (header, state) = rest.split_at_checked(length as usize).ok_or_else(early)?;
    let header: Header<serde_json::Value> = serde_json::from_slice(header).map_err(|e| damaged(&e))?;
    if header.revision != crate::REVISION {
        let (given, read, coflash) = (header.revision, crate::REVISION, header.coflash);
        return Err(WarmFileError::Revision { given, read, coflash });
    }
    let recipe: Recipe = serde_json::from_value(header.recipe).map_err(|e| damaged(&e))?;
    if recipe.key() != header.warm_key {
        return Err(damaged(&"its key is another's"));
    }
    let mut ftl = recipe.erased().map_err(|e| damaged(&e))?;
    let mut state = zstd::Decoder::with_buffer(state).map_err(|e| damaged(&e))?;
    ftl.restore(&mut state).map_err(|e| damaged(&e))?;
    match state.read(&mut [0]) {
        Ok(0) => {
            let device = Preconditioned { ftl, remarks: header.remarks };
            Ok(Warm { recipe, device, written_by: header.written_by })
        }
        Ok(_) => Err(damaged(&"there is more than a device in it")),
        Err(error) => Err(damaged(&error)),
    }
}

fn split_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (u32::from_le_bytes(*number), rest))
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
pub(super) fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let file = AtomicFile::create(path)?;
    let mut out = BufWriter::new(&file);
    fill(&mut out)?;
    out.into_inner()?;
    file.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoObserver, Traces, WarmDevice, warm};
    use coflash_base::seed::{RngExt, Seed};
    use coflash_scenario::Scenario;
    use std::fs;

    fn device() -> WarmDevice {
        let small = [
            ("flash.channels", "2"),
            ("flash.blocks_per_plane", "40"),
            ("flash.pages_per_block", "16"),
            ("gc.victim", "d-choices"),
            ("precondition.random_passes", "1"),
        ];
        warm(&Scenario::default().set(&small).unwrap(), Traces::NONE, &mut NoObserver).unwrap()
    }

    /// With the checksum made right again.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(bytes.len() - CHECKSUM_BYTES);
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    #[test]
    fn a_flipped_bit_is_found_and_so_is_a_missing_end() {
        let bytes = device().to_bytes();
        assert!(WarmDevice::from_bytes(&bytes).is_ok());
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let error = read(&flipped).map(drop).unwrap_err();
            match at {
                0..8 => assert_eq!(error, WarmFileError::NotWarm),
                8..12 => assert!(matches!(error, WarmFileError::Format { .. })),
                _ => assert!(error.to_string().contains("checksum"), "byte {at}: {error}"),
            }
            assert!(read(&bytes[..at]).is_err(), "{at} of {} bytes", bytes.len());
        }
        let more = [bytes.as_slice(), &[0]].concat();
        assert!(read(&more).is_err(), "a byte too many");
    }

    #[test]
    fn a_forged_file_is_refused_or_is_some_device() {
        let bytes = device().to_bytes();
        let mut stream = Seed(1).stream("forged");
        for _ in 0..3000 {
            let mut forged = bytes.clone();
            for _ in 0..stream.random_range(1..4) {
                let at = stream.random_range(12..forged.len());
                forged[at] = stream.random();
            }
            if stream.random_range(0..4) == 0 {
                forged.truncate(stream.random_range(12 + CHECKSUM_BYTES..forged.len()));
            }
            if let Ok(warm) = read(&sealed(forged)) {
                warm.device.ftl.assert_invariants();
            }
        }
    }

    /// With another text of the same length in the header.
    fn replaced(bytes: &[u8], here: &str, there: &str) -> Vec<u8> {
        assert_eq!(here.len(), there.len());
        let at = bytes.windows(here.len()).position(|window| window == here.as_bytes()).unwrap();
        let mut other = bytes.to_vec();
        other[at..at + there.len()].copy_from_slice(there.as_bytes());
        sealed(other)
    }

    #[test]
    fn another_revision_or_format_says_so_and_another_version_is_read() {
        let bytes = device().to_bytes();
        let version = format!("\"{}\"", crate::VERSION);
        assert!(read(&replaced(&bytes, &version, "\"9.9.9\"")).is_ok());
        let here = format!("\"revision\":{}", crate::REVISION);
        let error = read(&replaced(&bytes, &here, "\"revision\":9")).map(drop).unwrap_err();
        assert!(matches!(error, WarmFileError::Revision { given: 9, read: crate::REVISION, .. }));
        let text = error.to_string();
        assert!(
            text.contains("revision 9") && text.contains(&format!("revision {}", crate::REVISION)),
            "{text}"
        );
        let mut older = bytes;
        older[8] = 2;
        assert_eq!(read(&older).map(drop), Err(WarmFileError::Format { given: 2, read: FORMAT }));
    }

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("coflash-warm-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let names = || fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();
        let path = folder.join("warm");
        write_whole(&path, |out| out.write_all(b"first")).unwrap();
        write_whole(&path, |out| out.write_all(b"cut").and(Err(io::Error::other("full")))).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write_whole(&path, |out| out.write_all(b"second")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(), ["warm"]);
        write_whole(&folder, |_| Ok(())).unwrap_err();
        write_whole(&folder.join("nowhere/warm"), |_| Ok(())).unwrap_err();
        write_whole(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(!Path::new("/dev/null").is_file());
        fs::remove_dir_all(folder).unwrap();
    }
}
