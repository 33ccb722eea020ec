//! Manifests of the workspace's members, as far as the rules look at them.

use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

/// A member of the workspace.
pub(super) struct Manifest {
    /// From the root, such as `crates/world`.
    pub(super) folder: String,
    /// The package's name.
    pub(super) name: String,
    pub(super) inherits_lints: bool,
    pub(super) dependencies: Vec<Dependency>,
}

/// One entry of a table of dependencies.
pub(super) struct Dependency {
    /// The package's name, whatever it is called here.
    pub(super) package: String,
    pub(super) development: bool,
    pub(super) optional: bool,
    pub(super) features: Vec<String>,
    pub(super) line: usize,
}

impl Manifest {
    /// From the root.
    pub(super) fn file(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// All members, in order of their folders.
pub(super) fn members(root: &Path) -> Result<Vec<Manifest>> {
    let shared = shared(root)?;
    let mut members = Vec::new();
    for folder in folders(root)? {
        members.push(read(root, &folder, &shared).with_context(|| format!("{folder}/Cargo.toml"))?);
    }
    Ok(members)
}

/// `[workspace.dependencies]`.
fn shared(root: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let manifest: Table = text.parse().context("Cargo.toml")?;
    Ok(table(&manifest, &["workspace", "dependencies"])
        .cloned()
        .unwrap_or_default())
}

fn folders(root: &Path) -> Result<Vec<String>> {
    let mut folders = vec!["xtask".to_owned()];
    for group in ["crates", "examples"] {
        for entry in std::fs::read_dir(root.join(group)).context(group)? {
            folders.push(format!("{group}/{}", entry?.file_name().to_string_lossy()));
        }
    }
    folders.retain(|folder| root.join(folder).join("Cargo.toml").is_file());
    folders.sort();
    Ok(folders)
}

fn read(root: &Path, folder: &str, shared: &Table) -> Result<Manifest> {
    let text = std::fs::read_to_string(root.join(folder).join("Cargo.toml"))?;
    let manifest: Table = text.parse()?;
    let name = table(&manifest, &["package"]).and_then(|package| package.get("name"));
    let lints = table(&manifest, &["lints"]).and_then(|lints| lints.get("workspace"));
    let targets = table(&manifest, &["target"])
        .into_iter()
        .flat_map(Table::values);
    let places = std::iter::once(&manifest).chain(targets.filter_map(Value::as_table));
    Ok(Manifest {
        folder: folder.to_owned(),
        name: name
            .and_then(Value::as_str)
            .context("no package.name")?
            .to_owned(),
        inherits_lints: lints.and_then(Value::as_bool) == Some(true),
        dependencies: places
            .flat_map(|place| dependencies(place, &text, shared))
            .collect(),
    })
}

fn dependencies(place: &Table, text: &str, shared: &Table) -> Vec<Dependency> {
    let mut all = Vec::new();
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for (key, entry) in table(place, &[kind]).into_iter().flatten() {
            all.push(Dependency {
                package: package(key, entry, shared),
                development: kind == "dev-dependencies",
                optional: entry.get("optional").and_then(Value::as_bool) == Some(true),
                features: features(entry)
                    .chain(shared.get(key).into_iter().flat_map(features))
                    .collect(),
                line: line_of(text, kind, key),
            });
        }
    }
    all
}

/// The name of the package behind a key, if it was renamed here or in the root.
fn package(key: &str, entry: &Value, shared: &Table) -> String {
    let renamed = entry
        .get("package")
        .or_else(|| shared.get(key)?.get("package"));
    renamed.and_then(Value::as_str).unwrap_or(key).to_owned()
}

fn features(entry: &Value) -> impl Iterator<Item = String> + use<> {
    let features = entry
        .get("features")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    features
        .into_iter()
        .filter_map(|feature| feature.as_str().map(str::to_owned))
}

fn table<'t>(mut table: &'t Table, path: &[&str]) -> Option<&'t Table> {
    for name in path {
        table = table.get(*name)?.as_table()?;
    }
    Some(table)
}

/// The first line of an entry, as people write it: `name = ..`, `name.workspace = ..` or `[dependencies.name]`.
fn line_of(text: &str, kind: &str, key: &str) -> usize {
    let mut inside = false;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            inside = header.ends_with(kind);
            if header.ends_with(&format!("{kind}.{key}")) {
                return number;
            }
        }
        let own = line
            .split(['=', '.', ' '])
            .next()
            .unwrap_or(line)
            .trim_matches('"');
        if inside && own == key {
            return number;
        }
    }
    1
}
