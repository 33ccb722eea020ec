//! The binary under test, run as a user runs it: arguments in, exit code, stdout and stderr out.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::{Workspace, run};

/// Both engines, by their names on the command line.
pub(crate) const ENGINES: [&str; 2] = ["event", "turmoil"];

/// The binary `fencepost`.
pub(crate) struct Fencepost {
    binary: PathBuf,
}

/// What one process did.
pub(crate) struct Finished {
    /// The command as one would type it.
    pub(crate) command: String,
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Fencepost {
    /// Builds it as `cargo run --release` does.
    pub(crate) fn build(workspace: &Workspace) -> Result<Self> {
        run(&mut workspace.cargo(&["build", "--release"]))?;
        let name = format!("fencepost{}", std::env::consts::EXE_SUFFIX);
        let binary = workspace.target.join("release").join(name);
        if !binary.is_file() {
            bail!("`cargo build --release` left no {}", binary.display());
        }
        Ok(Self { binary })
    }

    /// Where it is.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Runs it with those arguments in that folder.
    pub(crate) fn run(&self, folder: &Path, arguments: &[&str]) -> Result<Finished> {
        self.run_with(folder, arguments, &[])
    }

    /// The same with variables added to the environment.
    pub(crate) fn run_with(
        &self,
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Finished> {
        let command = [&["fencepost"], arguments].concat().join(" ");
        let output = Command::new(&self.binary)
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start `{command}`"))?;
        Ok(Finished {
            command,
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).context("stdout is not UTF-8")?,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

impl Finished {
    /// Itself, if it exited with that code.
    pub(crate) fn exited(self, expected: i32) -> Result<Self> {
        if self.code != Some(expected) {
            bail!(
                "`{}` exited with {}, not with {expected}\n{}{}",
                self.command,
                self.code
                    .map_or_else(|| "a signal".to_owned(), |code| code.to_string()),
                indented(&self.stdout),
                indented(&self.stderr)
            );
        }
        Ok(self)
    }

    /// Its JSON Lines.
    pub(crate) fn lines(&self) -> Result<Vec<Value>> {
        let line = |(text, number): (&str, usize)| {
            serde_json::from_str(text)
                .with_context(|| format!("`{}`: line {number} is not JSON: {text}", self.command))
        };
        self.stdout.lines().zip(1..).map(line).collect()
    }

    /// Its summary lines, at least one.
    pub(crate) fn summaries(&self) -> Result<Vec<Value>> {
        let mut lines = self.lines()?;
        lines.retain(|line| line["kind"] == "summary");
        if lines.is_empty() {
            bail!("`{}` printed no summary line", self.command);
        }
        Ok(lines)
    }
}

/// The last lines of a text, each under the message that it belongs to.
fn indented(text: &str) -> String {
    const SHOWN: usize = 40;
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(SHOWN);
    let mut shown = String::new();
    if left_out > 0 {
        shown.push_str(&format!("    ({left_out} lines left out)\n"));
    }
    lines[left_out..]
        .iter()
        .for_each(|line| shown.push_str(&format!("    {line}\n")));
    shown
}
