//! The files of the workspace, and those that must not exist.

use std::path::Path;

use anyhow::{Context, Result};

use super::Violation;

pub(super) const OWN_CLIPPY: &str =
    "No crate has a `clippy.toml` or `rustfmt.toml` of its own: it would replace the root's.";

/// Where sources are.
const FOLDERS: [&str; 3] = ["crates", "examples", "xtask"];

/// All files of all crates, by their paths from the root, sorted.
pub(super) fn of(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in FOLDERS.iter().filter(|folder| root.join(folder).is_dir()) {
        collect(root, folder, &mut files)?;
    }
    files.sort();
    Ok(files)
}

fn collect(root: &Path, folder: &str, files: &mut Vec<String>) -> Result<()> {
    let entries = std::fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())?;
    for entry in entries {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            // A nested `target` is cargo's, not ours.
            if entry.file_name() != "target" {
                collect(root, &path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

pub(super) fn own_clippy(file: &str) -> Option<Violation> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let own = [
        "clippy.toml",
        ".clippy.toml",
        "rustfmt.toml",
        ".rustfmt.toml",
    ]
    .contains(&name);
    own.then(|| Violation {
        file: file.to_owned(),
        line: 1,
        found: format!("`{name}`"),
        rule: OWN_CLIPPY,
    })
}
