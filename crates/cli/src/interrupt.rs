//! Ctrl-C, and SIGTERM as batch systems send it: the first one asks, the second one does not wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use crate::exit::INTERRUPTED;

/// A flag that the first interruption sets.
pub(crate) fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    })
    .context("cannot handle Ctrl-C")?;
    Ok(flag)
}
