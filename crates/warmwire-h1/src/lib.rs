//! One HTTP/1.1 exchange, client side, as a pure state machine.
