//! `fencepost list`.

use fencepost::expect::Standing;
use fencepost::scenario::{Scenario, catalogue};
use serde_json::json;

use super::say;
use crate::exit::End;
use crate::present::table;

pub(super) fn list(json: bool) -> anyhow::Result<End> {
    let scenarios = catalogue();
    if json {
        scenarios
            .iter()
            .try_for_each(|scenario| say(as_json(scenario)))?;
    } else {
        let mut table = table(&["scenario", "claim"]);
        for scenario in &scenarios {
            table.add_row([&*scenario.name, scenario.claim.trim()]);
        }
        say(table)?;
    }
    Ok(End::Judged(Standing::AsExpected))
}

fn as_json(scenario: &Scenario) -> serde_json::Value {
    json!({
        "name": scenario.name,
        "claim": scenario.claim.trim(),
        "document": scenario.document,
        "path": scenario.path,
    })
}
