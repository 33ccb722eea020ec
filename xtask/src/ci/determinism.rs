//! The same scenario, engine and seed in two processes come to the same history.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::fencepost::{ENGINES, Fencepost, Finished};
use crate::workspace::Workspace;

const SCENARIOS: [&str; 3] = ["gc-pause", "restart-without-fsync", "replies-in-flight"];
const SEEDS: [&str; 2] = ["1", "7"];

/// The fields that tell real time, the only ones that may differ.
const REAL_TIME: [&str; 2] = ["wall_seconds", "schedules_per_second"];

/// The second process sees another environment, and none of it may show.
const ELSEWHERE: [(&str, &str); 4] = [
    ("TZ", "Pacific/Chatham"),
    ("LC_ALL", "C"),
    ("HOME", "/nonexistent"),
    ("COLUMNS", "40"),
];

pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let fencepost = Fencepost::build(workspace)?;
    let elsewhere = workspace.scratch("determinism")?;
    let mut failures = Vec::new();
    for scenario in SCENARIOS {
        for engine in ENGINES {
            for seed in SEEDS {
                let arguments = [
                    "run", scenario, "--seed", seed, "--engine", engine, "--json",
                ];
                match check_one(&fencepost, [&workspace.root, &elsewhere], &arguments) {
                    Ok(digest) => println!("{scenario} on {engine}, seed {seed}: {digest}"),
                    Err(error) => failures.push(format!("{error:#}")),
                }
            }
        }
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    Ok(())
}

/// Runs it twice; the digest that both came to.
fn check_one(fencepost: &Fencepost, folders: [&Path; 2], arguments: &[&str]) -> Result<String> {
    let first = fencepost.run(folders[0], arguments)?.exited(0)?;
    let second = fencepost
        .run_with(folders[1], arguments, &ELSEWHERE)?
        .exited(0)?;
    if let Some(difference) = difference(&first, &second)? {
        let once_more = ["fencepost", "replay", arguments[1]].join(" ");
        bail!(
            "two processes of `{}` differ: {difference}\n  next: `{once_more} {}` names the first event that differs",
            first.command,
            arguments[2..arguments.len() - 1].join(" ")
        );
    }
    digest(&first)
}

fn digest(finished: &Finished) -> Result<String> {
    let summaries = finished.summaries()?;
    let digest = summaries
        .last()
        .and_then(|summary| summary["digest"].as_str());
    let digest = digest.filter(|digest| digest.starts_with("sha256:"));
    digest.map(str::to_owned).with_context(|| {
        format!(
            "`{}`: the summary has no digest, so nothing is compared",
            finished.command
        )
    })
}

/// What differs between two outputs: the digests if they do, or else the first line.
fn difference(first: &Finished, second: &Finished) -> Result<Option<String>> {
    let digests = (digest(first)?, digest(second)?);
    if digests.0 != digests.1 {
        return Ok(Some(format!(
            "the histories are {} and {}",
            digests.0, digests.1
        )));
    }
    let (first, second) = (without_real_time(first)?, without_real_time(second)?);
    let at = (0..first.len().max(second.len())).find(|&at| first.get(at) != second.get(at));
    let shown = |lines: &[Value], at: usize| {
        lines
            .get(at)
            .map_or_else(|| "(the end)".to_owned(), Value::to_string)
    };
    Ok(at.map(|at| {
        format!(
            "line {}:\n    {}\n    {}",
            at + 1,
            shown(&first, at),
            shown(&second, at)
        )
    }))
}

fn without_real_time(finished: &Finished) -> Result<Vec<Value>> {
    let mut lines = finished.lines()?;
    for line in lines.iter_mut().filter_map(Value::as_object_mut) {
        line.retain(|field, _| !REAL_TIME.contains(&field.as_str()));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(stdout: &str) -> Finished {
        Finished {
            command: "fencepost run gc-pause".to_owned(),
            code: Some(0),
            stdout: stdout.to_owned(),
            stderr: String::new(),
        }
    }

    fn summary(digest: &str, wall: &str, virtual_seconds: &str) -> Finished {
        finished(&format!(
            r#"{{"kind":"summary","virtual_seconds":{virtual_seconds},"wall_seconds":{wall},"digest":"sha256:{digest}"}}"#
        ))
    }

    #[test]
    fn real_time_may_differ() {
        let difference = difference(&summary("aa", "0.1", "60"), &summary("aa", "0.2", "60"));
        assert_eq!(difference.expect("both have a digest"), None);
    }

    #[test]
    fn digests_that_differ_are_shown() {
        let difference = difference(&summary("aa", "0.1", "60"), &summary("bb", "0.1", "60"));
        let shown = difference
            .expect("both have a digest")
            .expect("they differ");
        assert_eq!(shown, "the histories are sha256:aa and sha256:bb");
    }

    #[test]
    fn any_other_field_that_differs_is_shown() {
        let difference = difference(&summary("aa", "0.1", "60"), &summary("aa", "0.1", "61"));
        let shown = difference
            .expect("both have a digest")
            .expect("they differ");
        assert!(shown.starts_with("line 1:"), "{shown}");
    }

    #[test]
    fn without_a_digest_nothing_is_compared_and_that_is_an_error() {
        let mute = || finished(r#"{"kind":"summary"}"#);
        difference(&mute(), &mute()).expect_err("no digest");
        difference(&finished(""), &finished("")).expect_err("no summary");
    }
}
