//! Connections opened once and kept warm: an HTTP(S) agent with a connection pool in the user's hands.
