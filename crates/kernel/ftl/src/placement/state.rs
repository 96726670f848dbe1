//! The state of a policy as columns of numbers.

/// A column of numbers, to be saved or restored.
#[derive(Debug)]
pub enum Column<'a> {
    /// Bytes.
    U8(&'a mut [u8]),
    /// Numbers of 32 bits.
    U32(&'a mut [u32]),
    /// Numbers of 64 bits.
    U64(&'a mut [u64]),
    /// Floating-point numbers.
    F64(&'a mut [f64]),
}

impl Column<'_> {
    /// The length of the column.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U8(numbers) => numbers.len(),
            Self::U32(numbers) => numbers.len(),
            Self::U64(numbers) => numbers.len(),
            Self::F64(numbers) => numbers.len(),
        }
    }

    /// A number as 64 bits.
    pub(crate) fn get(&self, index: usize) -> u64 {
        match self {
            Self::U8(numbers) => numbers[index].into(),
            Self::U32(numbers) => numbers[index].into(),
            Self::U64(numbers) => numbers[index],
            Self::F64(numbers) => numbers[index].to_bits(),
        }
    }

    /// Set a number from 64 bits; a column of smaller numbers takes the lowest bits.
    pub(crate) fn set(&mut self, index: usize, bits: u64) {
        match self {
            Self::U8(numbers) => numbers[index] = bits as u8,
            Self::U32(numbers) => numbers[index] = bits as u32,
            Self::U64(numbers) => numbers[index] = bits,
            Self::F64(numbers) => numbers[index] = f64::from_bits(bits),
        }
    }
}
