//! Streams, name resolution, connecting and TLS for Warmwire.
