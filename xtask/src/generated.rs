//! Parts of files that are generated: between two comments, which say so.
//!
//! `cargo xtask generate` writes them, `cargo xtask ci` fails where one is not what would be written.

use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::fencepost::Fencepost;
use crate::invariants;
use crate::workspace::Workspace;

/// A generated part of a file.
struct Part {
    file: &'static str,
    name: &'static str,
    /// The comments that it stands between.
    between: [&'static str; 2],
    make: fn(&Workspace) -> Result<String>,
}

/// All of them. One more is one entry more.
const PARTS: &[Part] = &[
    Part {
        file: "ARCHITECTURE.md",
        name: "invariants",
        between: ["<!-- generated: invariants -->", "<!-- end: invariants -->"],
        make: |_| Ok(invariants::as_markdown()),
    },
    Part {
        file: "README.md",
        name: "excerpt",
        between: ["<!-- generated: excerpt -->", "<!-- end: excerpt -->"],
        make: excerpt,
    },
    Part {
        file: "crates/redis-node/README.md",
        name: "commands",
        between: ["<!-- commands -->", "<!-- /commands -->"],
        make: commands,
    },
];

/// Writes all parts.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    for part in PARTS {
        let path = workspace.root.join(part.file);
        let text = read(workspace, part)?;
        let new = replaced(&text, part.between, &(part.make)(workspace)?)
            .with_context(|| part.file.to_owned())?;
        if new != text {
            std::fs::write(&path, new).with_context(|| format!("cannot write {}", part.file))?;
            println!("wrote {} in {}", part.name, part.file);
        }
    }
    Ok(())
}

/// Fails where a part is not what would be written.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut stale = Vec::new();
    for part in PARTS {
        let text = read(workspace, part)?;
        let new = replaced(&text, part.between, &(part.make)(workspace)?)
            .with_context(|| part.file.to_owned())?;
        match first_difference(&text, &new) {
            None => println!("{} in {}: up to date", part.name, part.file),
            Some(difference) => stale.push(format!("{}{difference}", part.file)),
        }
    }
    if !stale.is_empty() {
        bail!("not what is generated:\n  {}", stale.join("\n  "));
    }
    Ok(())
}

fn read(workspace: &Workspace, part: &Part) -> Result<String> {
    let path = workspace.root.join(part.file);
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", part.file))
}

/// The text with the part's content in place of what stands between the comments.
fn replaced(text: &str, [begin, end]: [&str; 2], content: &str) -> Result<String> {
    let missing = || format!("the comments `{begin}` and `{end}` are missing");
    let (before, rest) = text
        .split_once(&format!("{begin}\n"))
        .with_context(missing)?;
    let (_, after) = rest.split_once(end).with_context(missing)?;
    Ok(format!(
        "{before}{begin}\n{}\n{end}{after}",
        content.trim_end()
    ))
}

/// `:LINE` and both lines, where two texts first differ.
fn first_difference(old: &str, new: &str) -> Option<String> {
    let count = old.lines().count().max(new.lines().count());
    let line = |text: &str, at: usize| text.lines().nth(at).unwrap_or("(the end)").to_owned();
    let at = (0..count).find(|&at| line(old, at) != line(new, at))?;
    let (old, new) = (line(old, at), line(new, at));
    Some(format!(
        ":{}\n    there:     {old}\n    generated: {new}",
        at + 1
    ))
}

/// What a run prints, as the README shows it: without the lines between the rows of the table.
fn excerpt(workspace: &Workspace) -> Result<String> {
    let fencepost = Fencepost::build(workspace)?;
    let folder = workspace.scratch("excerpt")?;
    let finished = fencepost.run(&folder, &["run", "gc-pause"])?.exited(0)?;
    let rule =
        |line: &str| !line.is_empty() && line.chars().all(|c| c == '\u{2500}' || c == '\u{2550}');
    let lines = finished
        .stdout
        .trim_end()
        .lines()
        .filter(|line| !rule(line))
        .map(str::trim_end);
    let shown = lines.collect::<Vec<_>>().join("\n");
    Ok(format!(
        "```console\n$ cargo run --release -- run gc-pause\n{shown}\n```"
    ))
}

/// The table of commands that the node knows.
fn commands(workspace: &Workspace) -> Result<String> {
    let table = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "redis-node",
        "--example",
        "table",
    ];
    let output = workspace.cargo(&table).stderr(Stdio::inherit()).output();
    let output = output.context("cannot start cargo")?;
    if !output.status.success() {
        bail!("`cargo {}` failed ({})", table.join(" "), output.status);
    }
    String::from_utf8(output.stdout).context("the table is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "before\n<!-- generated: it -->\nold\n<!-- end: it -->\nafter\n";

    const BETWEEN: [&str; 2] = ["<!-- generated: it -->", "<!-- end: it -->"];

    #[test]
    fn only_what_stands_between_the_comments_is_replaced() {
        let new = replaced(TEXT, BETWEEN, "new\n").expect("the comments are there");
        assert_eq!(
            new,
            "before\n<!-- generated: it -->\nnew\n<!-- end: it -->\nafter\n"
        );
        assert_eq!(
            replaced(&new, BETWEEN, "new\n").expect("the comments are there"),
            new
        );
    }

    #[test]
    fn without_the_comments_there_is_an_error() {
        replaced("before\nafter\n", BETWEEN, "new").expect_err("no comments");
        replaced("<!-- generated: it -->\nold\n", BETWEEN, "new").expect_err("no end");
    }

    #[test]
    fn a_stale_part_is_told_with_its_line() {
        let new = replaced(TEXT, BETWEEN, "new").expect("the comments are there");
        let difference = first_difference(TEXT, &new).expect("they differ");
        assert_eq!(difference, ":3\n    there:     old\n    generated: new");
        assert_eq!(first_difference(&new, &new), None);
    }
}
