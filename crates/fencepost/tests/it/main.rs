//! Tests of the crate from outside.

mod catalogue;
mod causes;
mod delayed;
mod experiment;
mod extension;
mod laws;
mod operators;
mod restored;
mod settings;
mod shrink;
mod swarm;
mod sweep;
mod wrong_input;

/// A scenario of two clients that every test varies.
const BASE: &str = r#"claim = "a claim"
document = "000"

[system]
kind = "redlock"

[[client]]
name = "c1"

[[client]]
name = "c2"
start = "1s"
"#;
