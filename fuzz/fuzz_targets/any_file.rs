//! No bytes panic the decoders, the recognition of formats, or what they lead to.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| coflash_fuzz::check(None, data));
