//! The same scenario, engine and seed in two processes come to the same history, and a sweep to the same whatever the
//! number of threads. That a run comes to the same a second time in one process, backwards and on a used thread, the
//! tests see to for every scenario (`crates/fencepost/tests/scenarios`).

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::fencepost::{ENGINES, Fencepost, Finished};
use crate::workspace::Workspace;

/// A seed that no other step runs.
const SEED: &str = "7";

/// Random scenarios and how many of their seeds are swept.
const SWEEPS: [(&str, &str); 3] = [
    ("random/redlock", "0..200"),
    ("random/failover", "0..200"),
    ("bench/standard", "0..20"),
];

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
    let folders = [
        &workspace.scratch("determinism-here")?,
        &workspace.scratch("determinism")?,
    ];
    let folders = folders.map(std::path::PathBuf::as_path);
    for engine in ENGINES {
        let all = ["run", "all", "--seed", SEED, "--engine", engine, "--json"];
        let scenarios = check_one(&fencepost, folders, [&all, &all])?;
        println!("{engine}: {scenarios} scenarios, the same in two processes");
    }
    for (scenario, seeds) in SWEEPS {
        let on = |jobs| {
            [
                "sweep", scenario, "--seeds", seeds, "--jobs", jobs, "--json",
            ]
        };
        check_one(&fencepost, folders, [&on("1"), &on("2")])?;
        println!("{scenario}: seeds {seeds}, the same on one thread and on two");
    }
    Ok(())
}

/// Runs both at once; how many summaries there were, all of them equal.
fn check_one(fencepost: &Fencepost, folders: [&Path; 2], calls: [&[&str]; 2]) -> Result<usize> {
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| fencepost.run_with(folders[1], calls[1], &ELSEWHERE));
        let first = fencepost.run(folders[0], calls[0]);
        (first, second.join().expect("it only waits for a process"))
    });
    let (first, second) = (first?.exited(0)?, second?.exited(0)?);
    if let Some(difference) = difference(&first, &second)? {
        bail!(
            "two processes of `{}` differ: {difference}{}",
            first.command,
            first_event(fencepost, folders, &first, &second)?
        );
    }
    Ok(first.summaries()?.len())
}

/// The first event in which the histories of the first scenario differ whose digests do.
fn first_event(
    fencepost: &Fencepost,
    folders: [&Path; 2],
    first: &Finished,
    second: &Finished,
) -> Result<String> {
    let (first, second) = (first.summaries()?, second.summaries()?);
    let mut pairs = first.iter().zip(&second);
    let Some((summary, _)) = pairs.find(|(a, b)| a["digest"] != b["digest"]) else {
        return Ok(String::new());
    };
    let text = |field: &str| summary[field].as_str().unwrap_or_default().to_owned();
    let (scenario, engine) = (text("scenario"), text("engine"));
    let seed = summary["seed"].as_u64().map(|seed| seed.to_string());
    // Of a sweep any seed may be the one; its own results tell which.
    let seed = match seed {
        Some(seed) => seed,
        None => differing_seed(folders)?,
    };
    let keep = [
        "run", &scenario, "--seed", &seed, "--engine", &engine, "--keep",
    ];
    fencepost.run(folders[0], &keep)?;
    fencepost.run_with(folders[1], &keep, &ELSEWHERE)?;
    let bundle = format!("{}-{seed}-{engine}", scenario.replace('/', "-"));
    let history = |folder: &Path| {
        let path = folder
            .join("fencepost-out")
            .join(&bundle)
            .join("history.jsonl");
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (here, there) = (history(folders[0])?, history(folders[1])?);
    let mut lines = here.lines().zip(there.lines());
    Ok(match lines.find(|(a, b)| a != b) {
        Some((a, b)) => format!("\n  {scenario}, seed {seed}, first differs in\n    {a}\n    {b}"),
        None => format!("\n  {scenario}, seed {seed}: equal this time"),
    })
}

/// The first seed with different lines in the results of the two sweeps.
fn differing_seed(folders: [&Path; 2]) -> Result<String> {
    let out = folders[0].join("fencepost-out");
    for entry in
        std::fs::read_dir(&out).with_context(|| format!("cannot read {}", out.display()))?
    {
        let name = entry?.file_name();
        let read = |folder: &Path| {
            std::fs::read_to_string(folder.join("fencepost-out").join(&name)).unwrap_or_default()
        };
        let (here, there) = (read(folders[0]), read(folders[1]));
        let mut lines = here.lines().zip(there.lines()).filter(|(a, b)| a != b);
        if let Some((line, _)) = lines.next() {
            let line: Value = serde_json::from_str(line)?;
            return Ok(line["seed"].to_string());
        }
    }
    bail!("the summaries of two sweeps differ, and no line of their results does")
}

/// The digests of a call's summaries, at least one.
fn digests(finished: &Finished) -> Result<Vec<String>> {
    let summaries = finished.summaries()?;
    let digest = |summary: &Value| {
        let digest = summary["digest"].as_str();
        let digest = digest.filter(|digest| digest.starts_with("sha256:"));
        digest.map(str::to_owned).with_context(|| {
            format!(
                "`{}`: a summary has no digest, so nothing is compared",
                finished.command
            )
        })
    };
    summaries.iter().map(digest).collect()
}

/// What differs between two outputs: the first digests that do, or else the first line.
fn difference(first: &Finished, second: &Finished) -> Result<Option<String>> {
    let (ours, theirs) = (digests(first)?, digests(second)?);
    if let Some((a, b)) = ours.iter().zip(&theirs).find(|(a, b)| a != b) {
        return Ok(Some(format!("the histories are {a} and {b}")));
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
