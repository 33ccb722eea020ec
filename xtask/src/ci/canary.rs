//! A scenario with a wrong expectation must be reported as such, or the pipeline is blind.

use anyhow::{Result, bail};

use crate::fencepost::{ENGINES, Fencepost};
use crate::workspace::Workspace;

const CANARY: &str = "canary/wrong-expectation";

pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let fencepost = Fencepost::build(workspace)?;
    // It leaves a bundle where it runs.
    let folder = workspace.scratch("canary")?;
    for engine in ENGINES {
        let arguments = ["run", CANARY, "--engine", engine, "--json"];
        let finished = fencepost.run(&folder, &arguments)?.exited(1)?;
        for summary in finished.summaries()? {
            if summary["as_expected"] != false {
                bail!(
                    "`{}` exited with 1, but its summary does not say why: {summary}",
                    finished.command
                );
            }
        }
        println!("{engine}: reported, exit 1");
    }
    Ok(())
}
