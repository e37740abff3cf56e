//! The `ropeline` binary.
fn main() {}
