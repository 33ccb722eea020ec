//! The steps that cargo does. All in one profile, because bundled SQLite and Lua cost minutes in each.

use anyhow::Result;

use crate::workspace::{Workspace, run};

pub(super) fn fmt(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(&["fmt", "--all", "--check"]))
}

pub(super) fn clippy(workspace: &Workspace) -> Result<()> {
    let what = [
        "clippy",
        "--release",
        "--workspace",
        "--all-targets",
        "--all-features",
    ];
    run(workspace.cargo(&what).args(["--", "-D", "warnings"]))
}

pub(super) fn docs(workspace: &Workspace) -> Result<()> {
    let what = [
        "doc",
        "--release",
        "--workspace",
        "--no-deps",
        "--all-features",
    ];
    run(workspace.cargo(&what).env("RUSTDOCFLAGS", "-D warnings"))
}

/// The README's test command.
pub(super) const TEST: [&str; 3] = ["test", "--release", "--workspace"];

pub(super) fn tests(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(&TEST))
}
