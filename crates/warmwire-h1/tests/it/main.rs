//! What a user of the exchange sees, one module per topic; sections are those
//! of RFC 9112 unless said otherwise.

mod support;

mod request_body;
mod request_head;
mod response_chunks;
mod response_head;
mod response_length;
mod reuse;
mod round_trip;
mod splits;
