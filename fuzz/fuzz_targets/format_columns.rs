//! No bytes panic the reader of `columns`, nor a text that describes them: it is the first line.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| coflash_fuzz::check_columns(data));
