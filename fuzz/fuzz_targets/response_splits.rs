//! However a response is cut into reads, the outcome is the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warmwire_fuzz::response_splits(data));
