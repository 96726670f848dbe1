//! A warm device as a file. Its header: the warm key, the recipe, remarks on how it went, digests of files.

use super::Warm;
use super::recipe::Recipe;
use crate::course::WarmUp;
use crate::error::StateFileError;
use crate::precondition::Preconditioned;
use crate::state_file::Kind;
use coflash_base::Save;
use coflash_scenario::without_nulls;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

const KIND: Kind = Kind { name: "warm device", magic: b"COFLWARM", format: 8 };

/// How many times smaller zstd makes something at most: a block of 128 KiB takes 4 bytes.
const COMPRESSED_MAX: usize = 1 << 15;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<R> {
    warm_key: String,
    recipe: R,
    warm_up: WarmUp,
    written_by: Vec<String>,
}

pub(super) fn write(out: &mut dyn Write, warm: &Warm) -> io::Result<()> {
    let Warm { recipe, device: Preconditioned { ftl, warm_up }, written_by } = warm;
    let header = Header {
        warm_key: recipe.key(),
        recipe: without_nulls(recipe),
        warm_up: warm_up.clone(),
        written_by: written_by.clone(),
    };
    KIND.write(out, header, |state| ftl.save(state))
}

pub(super) fn read(bytes: &[u8]) -> Result<Warm, StateFileError> {
    let damaged = |problem: &dyn ToString| StateFileError::Damaged(problem.to_string());
    KIND.read(bytes, |header: Header<serde_json::Value>, state| {
        let Header { warm_key, recipe, warm_up, written_by } = header;
        let recipe: Recipe = coflash_base::read::read(&recipe).map_err(|e| damaged(&e))?;
        if recipe.key() != warm_key {
            return Err(damaged(&"its key is another's"));
        }
        // The state has 4 bytes a page at least. Nothing is built for a file that cannot hold them.
        if 4 * recipe.flash.pages() as usize / COMPRESSED_MAX > bytes.len() {
            return Err(damaged(&"it is too short for the state of its device"));
        }
        let mut ftl = recipe.erased().map_err(|e| damaged(&e))?;
        ftl.restore(state).map_err(|e| damaged(&e))?;
        Ok(Warm { recipe, device: Preconditioned { ftl, warm_up }, written_by })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_file::{CHECKSUM_BYTES, write_whole};
    use crate::{NoObserver, Traces, WarmDevice, warm};
    use coflash_scenario::Scenario;
    use sha2::{Digest, Sha256};
    use std::fs;
    use std::path::Path;

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

    fn bytes_of(device: &WarmDevice) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &device.0).expect("memory takes everything");
        bytes
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
        let bytes = bytes_of(&device());
        assert!(WarmDevice::from_bytes(&bytes).is_ok());
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let error = read(&flipped).map(drop).unwrap_err();
            match at {
                0..8 => assert!(matches!(error, StateFileError::AnotherKind { .. })),
                8..12 => assert!(matches!(error, StateFileError::Format { .. })),
                _ => assert!(error.to_string().contains("checksum"), "byte {at}: {error}"),
            }
            assert!(read(&bytes[..at]).is_err(), "{at} of {} bytes", bytes.len());
        }
        let more = [bytes.as_slice(), &[0]].concat();
        assert!(read(&more).is_err(), "a byte too many");
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
        let bytes = bytes_of(&device());
        let version = format!("\"{}\"", crate::VERSION);
        assert!(
            read(&replaced(&bytes, &version, &format!("\"{}\"", "9".repeat(crate::VERSION.len())))).is_ok()
        );
        let here = format!("\"revision\":{}", crate::REVISION);
        let error = read(&replaced(&bytes, &here, "\"revision\":9")).map(drop).unwrap_err();
        assert!(matches!(error, StateFileError::Revision { given: 9, read: crate::REVISION, .. }));
        let text = error.to_string();
        assert!(
            text.contains("revision 9") && text.contains(&format!("revision {}", crate::REVISION)),
            "{text}"
        );
        let mut older = bytes;
        older[8] = 2;
        assert_eq!(
            read(&older).map(drop),
            Err(StateFileError::Format { given: 2, kind: "warm device", read: KIND.format })
        );
    }

    #[test]
    fn for_a_file_that_is_too_short_for_its_device_nothing_is_built() {
        let large = Scenario::default().set(&[("flash.blocks_per_plane", "1000000")]).unwrap();
        let recipe = Recipe::for_scenario(&large);
        assert!(recipe.flash.pages() > 1 << 26, "a state of hundreds of megabytes");
        let (warm_key, warm_up, written_by) = (recipe.key(), WarmUp::default(), Vec::new());
        let mut bytes = Vec::new();
        let header = Header { warm_key, recipe: without_nulls(&recipe), warm_up, written_by };
        KIND.write(&mut bytes, header, |_| Ok(())).unwrap();
        let error = read(&bytes).map(drop).unwrap_err().to_string();
        assert!(error.contains("too short"), "{error}");
    }

    #[test]
    fn a_header_with_an_unknown_key_is_refused() {
        let recipe = Recipe::for_scenario(&Scenario::default());
        for place in ["", "/warm_up"] {
            let (warm_key, warm_up, written_by) = (recipe.key(), WarmUp::default(), Vec::new());
            let header = Header { warm_key, recipe: without_nulls(&recipe), warm_up, written_by };
            let mut header = serde_json::to_value(header).unwrap();
            header.pointer_mut(place).unwrap()["surprise"] = 1.into();
            let mut bytes = Vec::new();
            KIND.write(&mut bytes, header, |_| Ok(())).unwrap();
            let error = read(&bytes).map(drop).unwrap_err().to_string();
            assert!(error.contains("unknown field `surprise`"), "{place}: {error}");
        }
    }

    #[test]
    fn the_file_of_a_large_erased_device_is_long_enough() {
        let large =
            Scenario::default().set(&[("flash.blocks_per_plane", "4096"), ("precondition.fill", "none")]);
        let bytes = bytes_of(&warm(&large.unwrap(), Traces::NONE, &mut NoObserver).unwrap());
        assert!(WarmDevice::from_bytes(&bytes).is_ok(), "{} bytes", bytes.len());
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
