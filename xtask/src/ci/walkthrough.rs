//! `docs/your-own-lock.md`, done to the letter in an empty folder.
//!
//! A path in a paragraph of its own, such as `src/lib.rs`:, names the file that the next block is. Lines of a console
//! block that begin with `$` are run; the others must be in what the last of them prints, and `...` stands for more. A
//! block that shows a failure must fail.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

const PAGE: &str = "docs/your-own-lock.md";
const EXAMPLE: &str = "examples/own-lock";
const FAILED: &str = "test result: FAILED";

pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let page = std::fs::read_to_string(workspace.root.join(PAGE)).context(PAGE)?;
    // Elsewhere: what lies below the repository would belong to its workspace.
    let elsewhere = tempfile::tempdir().context("cannot create a folder")?;
    let mut reader = Reader {
        workspace,
        folder: elsewhere.path().to_owned(),
        said: String::new(),
    };
    let steps = steps(&page);
    if steps.is_empty() {
        bail!("{PAGE} has nothing to follow");
    }
    for step in &steps {
        reader.follow(step)?;
    }
    println!("{} blocks of {PAGE} are as they say", steps.len());
    Ok(())
}

/// A block of the page.
#[derive(Debug, PartialEq)]
enum Step<'a> {
    /// A file and its text.
    File(&'a str, String),
    /// What to type, and what comes of it.
    Console(Vec<&'a str>),
}

fn steps(page: &str) -> Vec<Step<'_>> {
    let (mut steps, mut lines, mut named) = (Vec::new(), page.lines(), None);
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else {
            let path = line
                .strip_prefix('`')
                .and_then(|rest| rest.strip_suffix("`:"));
            named = path.or(named.filter(|_| line.is_empty()));
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match (kind, named.take()) {
            ("console", _) => steps.push(Step::Console(block)),
            (_, Some(path)) => steps.push(Step::File(path, block.join("\n") + "\n")),
            _ => {}
        }
    }
    steps
}

struct Reader<'a> {
    workspace: &'a Workspace,
    /// Where the reader is.
    folder: PathBuf,
    /// What the last command printed.
    said: String,
}

impl Reader<'_> {
    fn follow(&mut self, step: &Step<'_>) -> Result<()> {
        match step {
            Step::File(path, text) => self.write(path, text),
            Step::Console(lines) => self.console(lines),
        }
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let file = self.folder.join(path);
        std::fs::create_dir_all(file.parent().context("it has a folder")?)?;
        std::fs::write(&file, text).with_context(|| path.to_owned())?;
        let example = self.workspace.root.join(EXAMPLE).join(path);
        // What a reader writes first, the example has in its repaired form.
        if path != "tests/schedules.rs"
            && std::fs::read_to_string(&example).ok().as_deref() != Some(text)
        {
            bail!("{path} is another one in {EXAMPLE}");
        }
        Ok(())
    }

    fn console(&mut self, lines: &[&str]) -> Result<()> {
        let fails = lines.iter().any(|line| line.starts_with(FAILED));
        let mut typed = lines
            .iter()
            .filter_map(|line| line.strip_prefix("$ "))
            .peekable();
        while let Some(command) = typed.next() {
            let last = typed.peek().is_none();
            self.type_in(command, fails && last)?;
        }
        for line in lines
            .iter()
            .filter(|line| !line.starts_with("$ ") && **line != "...")
        {
            if !self.said.contains(line) {
                bail!("`{line}` is not in what was printed:\n{}", self.said);
            }
        }
        Ok(())
    }

    fn type_in(&mut self, command: &str, fails: bool) -> Result<()> {
        println!("$ {command}");
        if let Some(folder) = command.strip_prefix("cd ") {
            self.folder = self.folder.join(folder);
            // The versions that all else here is tested with.
            let lockfile = "Cargo.lock";
            let copied = std::fs::copy(
                self.workspace.root.join(lockfile),
                self.folder.join(lockfile),
            );
            copied.context(lockfile)?;
            return Ok(());
        }
        let output = shell(command, &self.folder, self.workspace).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        let before = std::mem::replace(&mut self.said, said);
        if command.starts_with("FENCEPOST_SEED") {
            let printed = |line: &&str| line.trim_start().starts_with("history ");
            let digest = before
                .lines()
                .find(printed)
                .context("no digest was printed")?;
            if !before.contains(&format!("replay    {command}\n")) || !self.said.contains(digest) {
                bail!(
                    "`{command}` was not printed, or is another run:\n{before}\n{}",
                    self.said
                );
            }
        }
        if output.status.success() == fails {
            bail!("`{command}`: {}\n{}", output.status, self.said);
        }
        Ok(())
    }
}

fn shell(command: &str, folder: &Path, workspace: &Workspace) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("FENCEPOST", &workspace.root)
        // So that what is built already is not built again: the folder, and the profile of the workspace.
        .env("CARGO_TARGET_DIR", &workspace.target)
        .env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
        // As cargo gives them to this program, they would be taken for those of the new package.
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_PKG_NAME")
        .env_remove("RUST_BACKTRACE");
    shell
}
