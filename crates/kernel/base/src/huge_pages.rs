//! Large tables in large pages of memory.
//!
//! At random places of a table of tens of megabytes a processor waits for the address of a page of 4 KiB about as long as
//! for its data. With pages of 2 MiB it knows all addresses.

/// Return a table of equal items, in huge pages where the system has them.
#[must_use]
pub fn table<T: Clone>(item: T, len: usize) -> Vec<T> {
    let mut table = Vec::with_capacity(len);
    ask_for_huge_pages(table.spare_capacity_mut());
    table.resize(len, item);
    table
}

/// Return a table of zeros, in huge pages where the system has them. What is never touched takes no memory.
#[must_use]
pub fn zeros<T: Clone + Default>(len: usize) -> Vec<T> {
    // Of numbers the macro asks the system for zeros; it would write any other item before the advice.
    let mut table = vec![T::default(); len];
    ask_for_huge_pages(&mut table);
    table
}

/// Ask for huge pages behind a range of memory. Where there are none, nothing changes.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "no safe function of the language gives advice about memory")]
fn ask_for_huge_pages<T>(memory: &mut [T]) {
    use rustix::mm::{Advice, madvise};
    const HUGE_BYTES: usize = 2 << 20;
    let range = memory.as_mut_ptr_range();
    let begin = range.start.cast::<u8>().addr().next_multiple_of(HUGE_BYTES);
    let bytes = range.end.cast::<u8>().addr().saturating_sub(begin) / HUGE_BYTES * HUGE_BYTES;
    if bytes > 0 {
        // SAFETY: the range is part of `memory`, and the advice changes none of it.
        let _ = unsafe { madvise(range.start.with_addr(begin).cast(), bytes, Advice::LinuxHugepage) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_every_size_have_their_items() {
        for len in [0, 1, 1000, (2 << 20) / 8, (7 << 20) / 8 + 3] {
            assert_eq!(table(u64::MAX, len), vec![u64::MAX; len]);
            assert_eq!(zeros::<u64>(len), vec![0; len]);
        }
    }
}
