//! An HTTP(S) client agent whose connection pool is in the user's hands.
