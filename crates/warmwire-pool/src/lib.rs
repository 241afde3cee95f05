//! The connection pool of Warmwire as a pure state machine.
