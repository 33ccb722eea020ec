//! `fencepost shrink`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use fencepost::EngineKind;
use fencepost::bundle::Bundle;
use fencepost::expect::Standing;
use fencepost::plan::Plan;
use fencepost::runner::{Outcome, run, supports};
use fencepost::scenario::{Expectation, Scenario};
use fencepost::shrink::{Shrunk, scenario_file, shrink as find_least};
use fencepost_checker::run::Run;
use fencepost_checker::{Outcome as Came, Property, Verdict};
use serde_json::json;

use super::say;
use crate::arguments::ShrinkArguments;
use crate::exit::{End, WrongInput};
use crate::origin::origin;
use crate::present::{self, program, quoted};

/// How many seeds are tried for one that shows the same on the other engine.
const OTHER_SEEDS: u64 = 500;

pub(super) fn shrink(arguments: &ShrinkArguments) -> anyhow::Result<End> {
    let bundle = Bundle::read(&arguments.bundle)?;
    bundle.by_plan_alone(&arguments.bundle)?;
    let property = match arguments.property {
        Some(property) => property,
        None => property(&bundle)?,
    };
    let faults = bundle.plan.world.faults.len();
    let watch = |plan: &Plan, runs: u64| {
        let (faults, clients) = (plan.world.faults.len(), plan.clients.len());
        eprintln!("run {runs}: {faults} faults, {clients} clients");
    };
    let carry_out = |plan: &Plan| run(plan, bundle.engine);
    let shrunk = find_least(&bundle.plan, property, arguments.runs, carry_out, watch)
        .map_err(|error| WrongInput(error.to_string()))?;
    let shrunk = on_both(shrunk, property, bundle.engine);
    let name = format!("{}-{property}", bundle.folder());
    let verdict = property.judge(&Run::of(&shrunk.history));
    let path = write(&shrunk, &bundle, &verdict, &name, &arguments.out)?;
    let left = shrunk.plan.world.faults.len();
    if arguments.json {
        say(json!({
            "kind": "shrunk",
            "property": property.name(),
            "faults": left,
            "runs": shrunk.runs,
            "scenario": path.as_ref().map(|path| path.display().to_string()),
        }))?;
        return Ok(End::Judged(Standing::AsExpected));
    }
    say(format_args!(
        "{property}: {faults} faults shrunk to {left} in {} runs",
        shrunk.runs
    ))?;
    for tried in &shrunk.tried {
        say(format_args!(
            "  {:<24} {:>4} of {} tries left the same violation",
            tried.what, tried.taken, tried.tried
        ))?;
    }
    say(present::evidence(&[verdict]).trim_end())?;
    if let Some(path) = path {
        say(format_args!(
            "  run     {} run {}",
            program(),
            quoted(&path)
        ))?;
    }
    let folder = arguments.out.join(&name);
    say(format_args!(
        "  replay  {} replay {}",
        program(),
        quoted(&folder)
    ))?;
    Ok(End::Judged(Standing::AsExpected))
}

/// With a seed by which it comes out the same on the other engine, if one is found soon.
fn on_both(shrunk: Shrunk, property: Property, engine: EngineKind) -> Shrunk {
    let other = match engine {
        EngineKind::Event => EngineKind::Turmoil,
        EngineKind::Turmoil => EngineKind::Event,
    };
    if !supports(&shrunk.plan, other) {
        eprintln!("engine {other} cannot run it");
        return shrunk;
    }
    let on = |engine| move |plan: &Plan| run(plan, engine);
    let found = shrunk.also_by(property, OTHER_SEEDS, on(engine), on(other));
    if found.is_none() {
        eprintln!("engine {other} does not show it under {OTHER_SEEDS} seeds: it takes a race");
    }
    found.unwrap_or(shrunk)
}

/// The property that came out otherwise than its scenario expects; or else the first that is violated at all.
fn property(bundle: &Bundle) -> anyhow::Result<Property> {
    let violated = |property: &&Property| bundle.verdicts.get(property) == Some(&Came::Violated);
    let unexpected = |scenario: &Scenario, property: &&Property| {
        let expected = scenario.expect.properties.get(property);
        matches!(expected, Some(Expectation::Holds | Expectation::Vacuous))
    };
    let all = || Property::ALL.iter().filter(violated);
    let scenario = scenario(bundle).ok();
    let otherwise = scenario.and_then(|scenario| all().find(|one| unexpected(&scenario, one)));
    otherwise.or_else(|| all().next()).copied().ok_or_else(|| {
        WrongInput("no property is violated in this run: there is nothing to shrink".to_owned())
            .into()
    })
}

/// The scenario as it was when the bundle was written.
fn scenario(bundle: &Bundle) -> anyhow::Result<Scenario> {
    let (base, flip) = match bundle.scenario.rsplit_once("/flip-") {
        Some((base, number)) => (base, number.parse::<usize>().ok()),
        None => (&*bundle.scenario, None),
    };
    let scenario = Scenario::parse(base, "scenario.toml", &bundle.scenario_text)?;
    let flip = flip.and_then(|number| scenario.flips.get(number.checked_sub(1)?));
    Ok(flip.map_or(scenario.clone(), |flip| flip.scenario.clone()))
}

/// The scenario file, where one can say the plan, and the bundle in any case.
fn write(
    shrunk: &Shrunk,
    bundle: &Bundle,
    verdict: &Verdict,
    name: &str,
    out: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let file = scenario_file(&shrunk.plan, name, verdict);
    let (scenario, path) = match file {
        Ok(scenario) => {
            let path = out.join(format!("{name}.toml"));
            std::fs::create_dir_all(out)
                .and_then(|()| std::fs::write(&path, &*scenario.text))
                .with_context(|| format!("failed to write {}", path.display()))?;
            (scenario, Some(path))
        }
        Err(inexpressible) => {
            eprintln!("no scenario file: {inexpressible}; the bundle has the plan");
            (self::scenario(bundle)?, None)
        }
    };
    let (plan, history) = (shrunk.plan.clone(), shrunk.history.clone());
    let outcome = Outcome::judge(&scenario, plan, bundle.engine, history);
    let record = Bundle::new(origin(), &scenario.text, &outcome);
    record.write_to(&out.join(name), &outcome.history)?;
    Ok(path)
}
