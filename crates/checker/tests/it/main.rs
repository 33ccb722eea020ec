//! The judge against histories written by hand, and the laws that hold for any history.

mod arbitrary;
mod dsl;
mod oracle;
mod progress_oracle;

mod bounded_call;
mod causes;
mod clocks;
mod deadlock_free;
mod every_key_expires;
mod exclusive_access;
mod exposure;
mod failovers;
mod fault_tolerant;
mod fencing_monotonic;
mod holder_not_refused;
mod laws;
mod lease_kept;
mod leases;
mod metrics;
mod money_conserved;
mod mutual_exclusion;
mod no_lost_update;
mod no_stale_write;
mod not_born_expired;
mod owner_only_release;
mod stored;
