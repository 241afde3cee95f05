//! The bytes of an RPC connection, whatever they are.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warmwire_fuzz::amp(data));
