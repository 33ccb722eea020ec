//! The tests of the crate from outside, a file for each theme.

mod build;
mod cancel;
mod client;
mod decisions;
mod extend;
mod lost;
mod node;
mod observe;
mod quorum;
mod release;
mod retry;
mod tokens;
mod unknown;
mod validity;
mod watchdog;
mod watchdog_laws;
mod world;

#[cfg(feature = "redis")]
mod redis_adapter;
#[cfg(feature = "redis")]
mod redis_fake;
#[cfg(feature = "redis")]
mod redis_real;
#[cfg(feature = "redis")]
mod tokio_ports;
