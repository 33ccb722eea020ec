//! Embeds the scenario files, so that the binary needs none, and tells the library which commit and which lockfile it
//! was built from, for the bundles that failing runs leave.

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

fn main() {
    // Asked for at run time: a build script that was compiled in another checkout must not look there.
    println!("cargo::rerun-if-env-changed=CARGO_MANIFEST_DIR");
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).expect("cargo sets it");
    let root = crate_folder.join("../..");
    embed_scenarios(&root.join("scenarios"));
    tell_origin(&root);
}

/// Writes `catalogue.rs`: names and texts of all files below `scenarios/`, in order of their names.
fn embed_scenarios(folder: &Path) {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    let entry = |path: &PathBuf| {
        let below = path.strip_prefix(folder).unwrap_or(path).with_extension("");
        let name = below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string())
    };
    let code = format!("&[\n{}]\n", files.iter().map(entry).collect::<String>());
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).expect("cargo sets OUT_DIR");
    std::fs::write(out.join("catalogue.rs"), code).expect("OUT_DIR can be written to");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder).expect("scenarios/ is part of the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
}

fn tell_origin(root: &Path) {
    for watched in ["Cargo.lock", ".git/HEAD", ".git/refs/heads", ".git/packed-refs"] {
        let path = root.join(watched);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    println!("cargo::rustc-env=FENCEPOST_COMMIT={}", commit(root).unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo::rustc-env=FENCEPOST_LOCKFILE={}", lockfile(root).unwrap_or_else(|| "unknown".to_owned()));
}

fn commit(root: &Path) -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn lockfile(root: &Path) -> Option<String> {
    let bytes = std::fs::read(root.join("Cargo.lock")).ok()?;
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256:{digest}"))
}
