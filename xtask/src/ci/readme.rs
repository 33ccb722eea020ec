//! The README's scenario comes out as it says, and the README's test command is the one that is run here.

use anyhow::{Context, Result, bail};

use crate::fencepost::{ENGINES, Fencepost};
use crate::workspace::Workspace;

const NAME: &str = "my-lock.toml";

pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let readme = std::fs::read_to_string(workspace.root.join("README.md")).context("README.md")?;
    let test_command = format!("$ cargo {}\n", super::cargo::TEST.join(" "));
    if !readme.contains(&test_command) {
        bail!(
            "the README does not name the test command, `{}`",
            test_command.trim_end()
        );
    }
    let folder = workspace.scratch("readme")?;
    std::fs::write(folder.join(NAME), scenario(&readme)?).with_context(|| NAME.to_owned())?;
    let fencepost = Fencepost::build(workspace)?;
    for engine in ENGINES {
        let arguments = ["run", NAME, "--flips", "--engine", engine, "--json"];
        let summaries = fencepost.run(&folder, &arguments)?.exited(0)?.summaries()?;
        println!("{engine}: {} runs as the README says", summaries.len());
    }
    Ok(())
}

/// What stands in the first block of TOML.
fn scenario(readme: &str) -> Result<&str> {
    let block = readme
        .split_once("```toml\n")
        .and_then(|(_, rest)| rest.split_once("```"));
    block
        .map(|(scenario, _)| scenario)
        .context("the README shows no scenario")
}
