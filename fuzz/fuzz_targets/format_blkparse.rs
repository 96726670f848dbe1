//! No bytes panic the reader of `blkparse`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| coflash_fuzz::check(Some("blkparse"), data));
