//! No bytes panic the reader of `arrow`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| coflash_fuzz::check(Some("arrow"), data));
