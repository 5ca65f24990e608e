#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| relaymesh_fuzz::auth::target(data));
