//! The judge: histories in, verdicts out
