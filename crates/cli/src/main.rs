//! The binary `fencepost`: arguments in, exit code out.
fn main() {}
