//! The rules of the architecture, as absences: what a crate does not know, what a file does not contain.
//!
//! Manifests are read as TOML, sources as a stream of tokens without comments and literals. It is no compiler: a path
//! behind a renamed import is not seen. Clippy's bans, which do see it, stand beside these rules.

mod files;
mod manifest;
mod manifest_rules;
mod pattern;
mod rust;
mod source_rules;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use manifest_rules::MANIFEST_RULES;
use source_rules::SOURCE_RULES;

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    file: String,
    line: usize,
    /// What stands there.
    found: String,
    /// The rule, as a sentence.
    rule: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {} ({})",
            self.file, self.line, self.found, self.rule
        )
    }
}

/// Fails with every place where a rule is broken.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let violations = violations(&workspace.root)?;
    if !violations.is_empty() {
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        bail!("{} broken:\n    {}", lines.len(), lines.join("\n    "));
    }
    println!(
        "{} rules hold",
        MANIFEST_RULES.len() + SOURCE_RULES.len() + 1
    );
    Ok(())
}

/// The rules as a list for ARCHITECTURE.md.
pub(crate) fn as_markdown() -> String {
    let manifests = MANIFEST_RULES.iter().map(|rule| rule.says);
    let sources = SOURCE_RULES.iter().map(|rule| rule.says);
    let all = manifests.chain([files::OWN_CLIPPY]).chain(sources);
    all.map(|says| format!("- {says}\n")).collect()
}

fn violations(root: &Path) -> Result<Vec<Violation>> {
    let members = manifest::members(root)?;
    let mut found: Vec<Violation> = MANIFEST_RULES
        .iter()
        .flat_map(|rule| rule.violations(&members))
        .collect();
    for file in files::of(root)? {
        found.extend(files::own_clippy(&file));
        if file.ends_with(".rs") {
            let text = std::fs::read_to_string(root.join(&file))?;
            let code = rust::Code::of(&text);
            found.extend(
                SOURCE_RULES
                    .iter()
                    .flat_map(|rule| rule.violations(&file, &code)),
            );
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
