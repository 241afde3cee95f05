//! The same response bytes into hyper and into ours.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warmwire_fuzz::response_vs_hyper(data));
