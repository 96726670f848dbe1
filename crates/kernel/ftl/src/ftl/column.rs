//! Columns of numbers, laid out for a general compressor: differences of successive numbers, in chunks, with the lowest
//! bytes of a chunk first, then the next higher ones.
//!
//! Pages written in order differ by a constant, and of random numbers only the low bytes are random.

use std::io::{self, Read, Write};

/// The size of a chunk: the lowest bytes of its numbers fill a block of zstd.
const CHUNK: usize = 1 << 17;

/// Write numbers of at most `BYTES` bytes each.
pub(super) fn write<const BYTES: usize>(
    out: &mut dyn Write,
    mut numbers: impl Iterator<Item = u64>,
) -> io::Result<()> {
    let mut before = 0;
    let mut differences = Vec::with_capacity(CHUNK);
    let mut plane = Vec::with_capacity(CHUNK);
    loop {
        differences.clear();
        differences.extend(numbers.by_ref().take(CHUNK).map(|number| {
            let difference = number.wrapping_sub(before);
            before = number;
            difference
        }));
        if differences.is_empty() {
            return Ok(());
        }
        for byte in 0..BYTES {
            plane.clear();
            plane.extend(differences.iter().map(|difference| (difference >> (8 * byte)) as u8));
            out.write_all(&plane)?;
        }
    }
}

/// Read one number for each slot. `value` decodes a number; `None` rejects it.
///
/// # Errors
/// The input ends early, or a number was rejected. The message names `what`.
pub(super) fn read<const BYTES: usize, T>(
    input: &mut dyn Read,
    what: &str,
    slots: &mut [T],
    value: impl Fn(u64) -> Option<T>,
) -> io::Result<()> {
    let mask = u64::MAX >> (64 - 8 * BYTES);
    let mut number = 0_u64;
    let mut planes = vec![0; BYTES * CHUNK.min(slots.len())];
    for (chunk, slots) in slots.chunks_mut(CHUNK).enumerate() {
        let planes = &mut planes[..BYTES * slots.len()];
        input.read_exact(planes)?;
        let len = slots.len();
        for (index, slot) in slots.iter_mut().enumerate() {
            let difference =
                (0..BYTES).map(|byte| u64::from(planes[byte * len + index]) << (8 * byte)).sum::<u64>();
            number = number.wrapping_add(difference) & mask;
            *slot = value(number)
                .ok_or_else(|| invalid(format!("{what} {}: {number}", chunk * CHUNK + index)))?;
        }
    }
    Ok(())
}

/// Create the error for invalid input.
pub(super) fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::seed::{Rng, Seed};

    fn round_trip<const BYTES: usize>(len: usize) {
        let mut stream = Seed(1).stream("column");
        let numbers: Vec<u64> = (0..len).map(|_| stream.next_u64() >> (64 - 8 * BYTES)).collect();
        let mut written = Vec::new();
        write::<BYTES>(&mut written, numbers.iter().copied()).unwrap();
        assert_eq!(written.len(), BYTES * len);
        let mut back = vec![0; len];
        read::<BYTES, _>(&mut written.as_slice(), "number", &mut back, Some).unwrap();
        assert!(back == numbers);
        if len > 0 {
            read::<BYTES, _>(&mut &written[1..], "number", &mut back, Some).unwrap_err();
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for len in [0, 1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            round_trip::<4>(len);
            round_trip::<8>(len);
        }
    }

    #[test]
    fn a_number_that_stands_for_nothing_is_named() {
        let mut written = Vec::new();
        write::<4>(&mut written, [1, 2, 300].into_iter()).unwrap();
        let small = |number| u8::try_from(number).ok();
        let error = read::<4, _>(&mut written.as_slice(), "apple", &mut [0; 3], small).unwrap_err();
        assert_eq!(error.to_string(), "apple 2: 300");
    }
}
