//! `cargo xtask bench`: figures of speed and memory, as JSON Lines. Everything is measured in one run and in turns, and
//! what counts are ratios: the machine may be slow and busy.
#![expect(
    clippy::disallowed_methods,
    reason = "it watches a process in real time"
)]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::fencepost::Fencepost;
use crate::workspace::{Workspace, run};

/// What is measured besides speed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many seeds the sweep has whose memory is measured; 0 leaves it out.
    #[arg(long, default_value_t = 100_000)]
    seeds: u64,
}

/// The scenario of that sweep.
const SCENARIO: &str = "random/redlock";

pub(crate) fn bench(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    // It prints its lines itself: speed against turmoil and the floor, and how it grows.
    run(&mut workspace.cargo(&["bench", "-p", "fencepost", "--bench", "standard"]))?;
    if arguments.seeds > 0 {
        println!("{}", memory(workspace, arguments.seeds)?);
    }
    Ok(())
}

/// The peak memory of a sweep, and of one a hundredth as long: flat is a ratio of about 1.
fn memory(workspace: &Workspace, seeds: u64) -> Result<Value> {
    let fencepost = Fencepost::build(workspace)?;
    let (short, _) = peak(&fencepost, workspace, (seeds / 100).max(1))?;
    let (long, summary) = peak(&fencepost, workspace, seeds)?;
    Ok(json!({
        "kind": "memory",
        "scenario": SCENARIO,
        "schedules": seeds,
        "peak_megabytes": long / 1_000_000,
        "over_a_hundredth_of_it": (long as f64 * 100.0 / short as f64).round() / 100.0,
        "schedules_per_second": summary["schedules_per_second"].as_f64().map(f64::round),
        "as_expected": summary["as_expected"],
    }))
}

/// The most memory that a sweep held at any moment, in bytes, and its summary.
fn peak(fencepost: &Fencepost, workspace: &Workspace, seeds: u64) -> Result<(u64, Value)> {
    let folder = workspace.scratch("bench")?;
    let range = format!("0..{seeds}");
    let arguments = ["sweep", SCENARIO, "--seeds", &range, "--json"];
    let mut child = Command::new(fencepost.binary())
        .args(arguments)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start the sweep")?;
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        peak = high_water(&child).unwrap_or_default().max(peak);
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8(output.stdout).context("a summary is text")?;
    let summary = text.lines().last().context("the sweep said nothing")?;
    if peak == 0 {
        bail!("this system does not tell how much memory a process held (Linux does)");
    }
    Ok((peak, serde_json::from_str(summary)?))
}

/// What Linux calls the high-water mark of a process's resident memory, in bytes.
fn high_water(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
