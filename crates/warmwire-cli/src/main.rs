//! The `warmwire` command.
fn main() {}
