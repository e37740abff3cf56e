//! Benchmarks of ropeline against its peers.
fn main() {}
