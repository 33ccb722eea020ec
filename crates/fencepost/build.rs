//! Embeds the scenario files, so that the binary needs none.

use std::path::{Path, PathBuf};

fn main() {
    // Asked for at run time: a build script that was compiled in another checkout must not look there.
    println!("cargo::rerun-if-env-changed=CARGO_MANIFEST_DIR");
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .expect("cargo sets it");
    embed_scenarios(&crate_folder.join("../../scenarios"));
}

/// Writes `catalogue.rs`: names and texts of all files below `scenarios/`, in order of their names.
fn embed_scenarios(folder: &Path) {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    let entry = |path: &PathBuf| {
        let below = path.strip_prefix(folder).unwrap_or(path).with_extension("");
        let name = below
            .iter()
            .map(|part| part.to_string_lossy())
            .collect::<Vec<_>>()
            .join("/");
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        format!(
            "    ({name:?}, include_str!({:?})),\n",
            path.display().to_string()
        )
    };
    let code = format!("&[\n{}]\n", files.iter().map(entry).collect::<String>());
    let out = std::env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .expect("cargo sets OUT_DIR");
    std::fs::write(out.join("catalogue.rs"), code).expect("OUT_DIR can be written to");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder)
        .expect("scenarios/ is part of the repository")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
}
