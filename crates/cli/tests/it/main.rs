//! The binary as its users see it: what it prints, what it exits with, what it leaves behind.

mod bundles;
mod junit;
mod program;
mod runs;
mod scale_out;
mod sweeps;
mod wrong_input;
