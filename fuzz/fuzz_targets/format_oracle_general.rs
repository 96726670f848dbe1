//! No bytes panic the reader of `oracle-general`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| coflash_fuzz::check(Some("oracle-general"), data));
