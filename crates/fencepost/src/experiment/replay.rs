//! What the environment says to an experiment, and the command that makes it fail again.

use std::env;
use std::path::{Path, PathBuf};

use super::Failure;

const SEED: &str = "FENCEPOST_SEED";
const SCHEDULES: &str = "FENCEPOST_SCHEDULES";
const OUT: &str = "FENCEPOST_OUT";

/// The first seed, if the environment sets one.
pub(super) fn seed() -> Result<Option<u64>, Failure> {
    number(SEED, &env::var(SEED).ok())
}

/// The number of schedules, if the environment sets one.
pub(super) fn schedules() -> Result<Option<u64>, Failure> {
    number(SCHEDULES, &env::var(SCHEDULES).ok())
}

fn number(name: &str, value: &Option<String>) -> Result<Option<u64>, Failure> {
    let Some(value) = value else { return Ok(None) };
    let number = value.parse().map(Some);
    number.map_err(|_| Failure::wrong(format!("{name} is `{value}`, and should be a number")))
}

/// Where bundles go: `fencepost` in the folder that the test was built into.
pub(super) fn out() -> PathBuf {
    if let Some(out) = env::var_os(OUT) {
        return PathBuf::from(out);
    }
    let program = env::current_exe().unwrap_or_default();
    built(&program)
        .map_or_else(env::temp_dir, |(target, _)| target.to_owned())
        .join("fencepost")
}

/// Runs this very test with one seed.
pub(super) fn command(seed: u64) -> String {
    let program = env::current_exe().unwrap_or_default();
    let package = env::var("CARGO_PKG_NAME").ok();
    let thread = std::thread::current();
    // libtest calls the thread of a test by its name, but has none where it runs one test at a time.
    let test = thread.name().filter(|name| *name != "main");
    line(seed, &program, package.as_deref(), test)
}

fn line(seed: u64, program: &Path, package: Option<&str>, test: Option<&str>) -> String {
    let profile = match built(program) {
        Some((_, "release")) => " --release".to_owned(),
        Some((_, "debug")) | None => String::new(),
        Some((_, profile)) => format!(" --profile {profile}"),
    };
    let package = package.map_or_else(String::new, |package| format!(" -p {package}"));
    let test = test.map_or_else(String::new, |test| format!(" -- --exact {test}"));
    format!("{SEED}={seed} {SCHEDULES}=1 cargo test{profile}{package}{test}")
}

/// The target folder and the folder of the profile that a test was built into: `TARGET/PROFILE/deps/NAME`.
fn built(program: &Path) -> Option<(&Path, &str)> {
    let deps = program.parent().filter(|deps| deps.ends_with("deps"))?;
    let profile = deps.parent()?;
    Some((profile.parent()?, profile.file_name()?.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_as_the_test_was_built_and_called() {
        let of = |program: &str, test| line(7, Path::new(program), Some("shop"), test);
        assert_eq!(
            of("/x/target/release/deps/lock-0a", Some("own::holds")),
            "FENCEPOST_SEED=7 FENCEPOST_SCHEDULES=1 cargo test --release -p shop -- --exact own::holds"
        );
        assert_eq!(
            of("/x/target/debug/deps/lock-0a", None),
            "FENCEPOST_SEED=7 FENCEPOST_SCHEDULES=1 cargo test -p shop"
        );
        assert_eq!(
            of("/x/target/fast/deps/lock-0a", None),
            "FENCEPOST_SEED=7 FENCEPOST_SCHEDULES=1 cargo test --profile fast -p shop"
        );
    }

    #[test]
    fn what_is_no_number_is_told() {
        assert_eq!(number(SEED, &None).expect("it is not set"), None);
        assert_eq!(
            number(SEED, &Some("12".to_owned())).expect("a number"),
            Some(12)
        );
        let wrong = number(SEED, &Some("x".to_owned())).expect_err("no number");
        assert_eq!(
            wrong.to_string(),
            "FENCEPOST_SEED is `x`, and should be a number"
        );
    }
}
