//! Which build this is.

use fencepost::bundle::Origin;

/// As `build.rs` found it.
pub(crate) fn origin() -> Origin {
    Origin {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("FENCEPOST_COMMIT").to_owned(),
        lockfile: env!("FENCEPOST_LOCKFILE").to_owned(),
    }
}
