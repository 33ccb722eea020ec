//! The judge against histories written by hand, and the laws that hold for any history.

mod arbitrary;
mod dsl;
mod oracle;

mod bounded_call;
mod causes;
mod clocks;
mod exclusive_access;
mod fencing_monotonic;
mod holder_not_refused;
mod laws;
mod leases;
mod mutual_exclusion;
mod no_stale_write;
mod not_born_expired;
mod owner_only_release;
mod stored;
