//! The code of a page's data: a checksum, and a parity that, with it, finds and mends one damaged byte, as the code of a drive
//! mends bits.
//!
//! The checksum alone tells damage. The parity has a byte for every third byte of each eight, so that a single damaged byte
//! leaves its difference in one of the three, and one third of the page to look in; there must be exactly one byte whose
//! change has that effect on the checksum. Of random pages one in 10¹⁰ or so would pass, as with the checksum itself.

/// The code of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Code {
    pub(crate) checksum: u32,
    /// Three bytes.
    pub(crate) parity: u32,
}

/// What a look at a page finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    Sound,
    /// The byte at this place was damaged.
    Mended(usize),
    Damaged,
}

impl Code {
    /// Compute the code of data.
    pub(crate) fn compute(data: &[u8]) -> Self {
        Self { checksum: crc32c::crc32c(data), parity: parity(data) }
    }

    /// The code that no data with this one has.
    pub(crate) fn damaged(self) -> Self {
        Self { checksum: !self.checksum, ..self }
    }

    /// Look whether data matches the code; mend a single byte that does not.
    pub(crate) fn mend(self, data: &mut [u8]) -> Looked {
        let found = crc32c::crc32c(data) ^ self.checksum;
        if found == 0 {
            return Looked::Sound;
        }
        let differences = (parity(data) ^ self.parity).to_le_bytes();
        let mut those = (0..3).filter(|&third| differences[third] != 0);
        let (Some(third), None) = (those.next(), those.next()) else { return Looked::Damaged };
        // The effect of the difference on the checksum, at the last byte, at the one before it, and so on.
        let mut effect = after(0, differences[third]);
        for at in (0..data.len()).rev() {
            if effect == found && at % 8 % 3 == third {
                data[at] ^= differences[third];
                return Looked::Mended(at);
            }
            effect = after(effect, 0);
        }
        Looked::Damaged
    }
}

/// The state of the checksum's register after one more byte.
fn after(state: u32, byte: u8) -> u32 {
    !crc32c::crc32c_append(!state, &[byte])
}

fn parity(data: &[u8]) -> u32 {
    let (words, rest) = data.as_chunks::<8>();
    let mut all = words.iter().fold(0, |all, word| all ^ u64::from_le_bytes(*word));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    all ^= u64::from_le_bytes(last);
    // The bytes 0, 3, 6 of each eight, then 1, 4, 7, then 2, 5.
    ((all ^ all >> 24 ^ all >> 48) & 0xff_ffff) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;
    use coflash_base::seed::RngExt;

    fn page(seed: u64) -> Vec<u8> {
        let mut stream = Seed(seed).stream("page");
        (0..4096).map(|_| stream.random()).collect()
    }

    #[test]
    fn each_single_byte_is_mended() {
        let sound = page(1);
        let code = Code::compute(&sound);
        assert_eq!(code.mend(&mut sound.clone()), Looked::Sound);
        for at in 0..sound.len() {
            let mut data = sound.clone();
            data[at] ^= (at % 255 + 1) as u8;
            assert_eq!(code.mend(&mut data), Looked::Mended(at));
            assert!(data == sound);
        }
    }

    #[test]
    fn larger_damage_is_told_and_never_mended_wrongly() {
        let sound = page(1);
        let code = Code::compute(&sound);
        let mut stream = Seed(2).stream("damage");
        for bytes in 2..200 {
            for _ in 0..40 {
                let mut data = sound.clone();
                for _ in 0..bytes {
                    data[stream.random_range(0..sound.len())] ^= stream.random_range(1..=255_u8);
                }
                let looked = code.mend(&mut data);
                assert!(looked == Looked::Damaged || data == sound);
            }
        }
        assert_eq!(code.mend(&mut page(3)), Looked::Damaged);
        assert_eq!(code.damaged().mend(&mut sound.clone()), Looked::Damaged, "damage stays damage");
    }
}
