//! One HTTP/1.1 exchange, client side, as a pure state machine.

mod chunked;
mod exchange;
mod fields;
mod head;
mod keep_alive;
mod length;
mod limits;
mod number;
mod receive;
mod request;
mod request_error;
mod response;
mod response_error;
mod reuse;
mod send;
mod snippet;
mod store;
mod trailers;

pub use exchange::Exchange;
pub use keep_alive::KeepAlive;
pub use limits::Limits;
pub use request::{BodyLength, RequestHead, Target};
pub use request_error::{RequestError, RequestErrorKind};
pub use response::{BodyKind, Received, ResponseHead};
pub use response_error::{Cut, ResponseError, ResponseErrorKind};
pub use reuse::{CloseReason, Verdict};
pub use send::{Frame, Sent};
