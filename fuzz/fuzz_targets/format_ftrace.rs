//! No bytes panic the reader of `ftrace`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| coflash_fuzz::check(Some("ftrace"), data));
