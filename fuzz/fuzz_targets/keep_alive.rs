//! The Keep-Alive header, whatever it holds.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warmwire_fuzz::keep_alive(data));
