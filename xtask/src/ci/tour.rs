//! Every scenario and every flip comes out as expected, on both engines with equal verdicts.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::fencepost::{ENGINES, Fencepost};
use crate::workspace::Workspace;

/// Verdicts by scenario.
type Verdicts = BTreeMap<String, Value>;

pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let fencepost = Fencepost::build(workspace)?;
    let folder = workspace.scratch("tour")?;
    fencepost.run(&folder, &[])?.exited(0)?;
    println!("the tour: exit 0");
    let [event, turmoil] = ENGINES.map(|engine| -> Result<(Verdicts, String)> {
        let finished = fencepost.run(
            &folder,
            &["run", "all", "--flips", "--engine", engine, "--json"],
        )?;
        let finished = finished.exited(0)?;
        let verdicts = verdicts(&finished.summaries()?)?;
        println!(
            "{engine}: {} scenarios and flips as expected",
            verdicts.len()
        );
        Ok((verdicts, finished.stderr))
    });
    let ((event, _), (turmoil, told)) = (event?, turmoil?);
    compare(&event, &turmoil, &told)
}

fn verdicts(summaries: &[Value]) -> Result<Verdicts> {
    let mut verdicts = Verdicts::new();
    for summary in summaries {
        let name = summary["scenario"]
            .as_str()
            .context("a summary names no scenario")?;
        if summary["as_expected"] != true {
            bail!("{name}: exit 0, but the summary says that it is not as expected: {summary}");
        }
        if summary["verdicts"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty)
        {
            bail!("{name}: the summary has no verdicts, so nothing is compared: {summary}");
        }
        if verdicts
            .insert(name.to_owned(), summary["verdicts"].clone())
            .is_some()
        {
            bail!("{name}: two summaries");
        }
    }
    Ok(verdicts)
}

/// turmoil may leave a scenario out if it has told why.
fn compare(event: &Verdicts, turmoil: &Verdicts, told: &str) -> Result<()> {
    let left_out = |name: &str| {
        let mut lines = told.lines();
        lines.any(|line| line.starts_with(&format!("left out: `{name}` ")))
    };
    let mut differences = Vec::new();
    let names: std::collections::BTreeSet<&String> = event.keys().chain(turmoil.keys()).collect();
    for name in names {
        match (event.get(name), turmoil.get(name)) {
            (Some(event), Some(turmoil)) => differences.extend(differing(name, event, turmoil)),
            (Some(_), None) if left_out(name) => println!("{name}: left out on turmoil"),
            (Some(_), None) => differences.push(format!("{name}: only on event")),
            _ => differences.push(format!("{name}: only on turmoil")),
        }
    }
    if !differences.is_empty() {
        bail!("the engines differ:\n    {}", differences.join("\n    "));
    }
    println!("equal verdicts on both engines");
    Ok(())
}

/// The properties that came out differently, one sentence each. Whether one that the scenario only reports was put to the
/// test at all may hang on latencies, which turmoil draws once a link; one that it judges came out as expected on both.
fn differing(name: &str, event: &Value, turmoil: &Value) -> Vec<String> {
    let keys = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::keys)
            .cloned()
            .collect()
    };
    let mut properties = [keys(event), keys(turmoil)].concat();
    properties.sort();
    properties.dedup();
    let is_vacuous = |verdict: &Value| verdict["vacuous"] == 1;
    properties.retain(|property| {
        let (event, turmoil) = (&event[property], &turmoil[property]);
        event != turmoil && !is_vacuous(event) && !is_vacuous(turmoil)
    });
    let sentence = |property: &String| {
        format!(
            "{name}: {property}: event {}, turmoil {}",
            event[property], turmoil[property]
        )
    };
    properties.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(outcome: &str) -> Verdicts {
        let summary = json!({
            "kind": "summary", "scenario": "gc-pause", "as_expected": true,
            "verdicts": { "mutual-exclusion": { outcome: 1 } },
        });
        verdicts(&[summary]).expect("a good summary")
    }

    #[test]
    fn equal_verdicts_are_equal() {
        compare(&one("holds"), &one("holds"), "").expect("equal");
        compare(&one("holds"), &one("vacuous"), "").expect("one was not put to the test");
    }

    #[test]
    fn a_verdict_that_differs_is_named() {
        let error = compare(&one("holds"), &one("violated"), "")
            .expect_err("they differ")
            .to_string();
        let expected = "gc-pause: mutual-exclusion: event {\"holds\":1}, turmoil {\"violated\":1}";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_scenario_that_one_engine_left_out_is_named() {
        let told = "left out: `gc-pause` has a one-way partition";
        compare(&one("holds"), &Verdicts::new(), told).expect("it was told");
        let error = compare(&one("holds"), &Verdicts::new(), "")
            .expect_err("they differ")
            .to_string();
        assert!(error.contains("gc-pause: only on event"), "{error}");
    }

    #[test]
    fn a_summary_that_is_not_as_expected_fails_whatever_the_exit_code() {
        let summary = json!({ "scenario": "gc-pause", "as_expected": false, "verdicts": {} });
        verdicts(&[summary]).expect_err("not as expected");
    }
}
