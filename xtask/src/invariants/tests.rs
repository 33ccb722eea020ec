//! Each rule sees the violation that is planted against it, and nothing in a workspace that keeps it.

use std::path::Path;

use super::*;

/// A small workspace in a folder of its own.
struct Planted(tempfile::TempDir);

const LINTS: &str = "[lints]\nworkspace = true\n";

impl Planted {
    /// Keeps every rule.
    fn sound() -> Self {
        let planted = Self(tempfile::tempdir().expect("a temporary folder"));
        planted.write(
            "Cargo.toml",
            "[workspace.dependencies]\nwind = { package = \"turmoil\", version = \"0.7\" }\n",
        );
        for (folder, name) in [
            ("crates/checker", "fencepost-checker"),
            ("crates/world", "fencepost-world"),
            ("crates/redlock", "redlock"),
            ("crates/redis-node", "redis-node"),
            ("crates/report", "fencepost-report"),
            ("crates/fencepost", "fencepost"),
            ("crates/cli", "fencepost-cli"),
            ("examples/own", "own"),
            ("xtask", "xtask"),
        ] {
            planted.write(&format!("{folder}/Cargo.toml"), &manifest(name, ""));
            planted.write(
                &format!("{folder}/src/lib.rs"),
                "//! Nothing: no `HashMap`, no `todo!()`.\n",
            );
        }
        planted
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// `FILE:LINE` of everything that is found.
    fn places(&self) -> Vec<String> {
        let violations = violations(self.0.path()).expect("a workspace that can be read");
        violations
            .iter()
            .map(|one| format!("{}:{}", one.file, one.line))
            .collect()
    }
}

fn manifest(name: &str, dependencies: &str) -> String {
    format!("[package]\nname = \"{name}\"\n\n{LINTS}\n{dependencies}")
}

/// What stands in `file` is found there, in that line, by exactly one rule.
#[track_caller]
fn found(file: &str, text: &str, line: usize) {
    let planted = Planted::sound();
    planted.write(file, text);
    assert_eq!(planted.places(), [format!("{file}:{line}")], "{text}");
}

/// What stands in `file` breaks no rule.
#[track_caller]
fn allowed(file: &str, text: &str) {
    let planted = Planted::sound();
    planted.write(file, text);
    assert_eq!(planted.places(), [""; 0], "{text}");
}

/// The dependency is found in the manifest's eighth line.
#[track_caller]
fn found_dependency(folder: &str, name: &str, dependency: &str) {
    let text = manifest(name, &format!("[dependencies]\n{dependency}\n"));
    found(&format!("{folder}/Cargo.toml"), &text, 8);
}

#[track_caller]
fn allowed_dependency(folder: &str, name: &str, table: &str, dependency: &str) {
    let text = manifest(name, &format!("[{table}]\n{dependency}\n"));
    allowed(&format!("{folder}/Cargo.toml"), &text);
}

#[test]
fn a_sound_workspace_breaks_no_rule() {
    assert_eq!(Planted::sound().places(), [""; 0]);
}

#[test]
fn this_workspace_breaks_no_rule() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a root");
    let violations = violations(root).expect("a workspace that can be read");
    let shown: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(shown.is_empty(), "\n{}", shown.join("\n"));
}

#[test]
fn turmoil_outside_of_world() {
    found_dependency("crates/fencepost", "fencepost", "turmoil.workspace = true");
    found_dependency("crates/fencepost", "fencepost", "wind.workspace = true");
    found_dependency(
        "crates/fencepost",
        "fencepost",
        "w = { package = \"turmoil\", version = \"1\" }",
    );
    allowed_dependency(
        "crates/world",
        "fencepost-world",
        "dependencies",
        "turmoil.workspace = true",
    );
    let own_table = manifest("fencepost", "[dependencies.turmoil]\nversion = \"0.7\"\n");
    found("crates/fencepost/Cargo.toml", &own_table, 7);
    let target = manifest(
        "fencepost",
        "[target.'cfg(unix)'.dependencies]\nturmoil = \"0.7\"\n",
    );
    found("crates/fencepost/Cargo.toml", &target, 8);
}

#[test]
fn an_example_is_a_program_of_somebody_else() {
    allowed_dependency(
        "examples/own",
        "own",
        "dev-dependencies",
        "wind.workspace = true",
    );
    found_dependency("examples/own", "own", "wind.workspace = true");
    let with_net = "tokio = { workspace = true, features = [\"net\"] }";
    allowed_dependency("examples/own", "own", "dependencies", with_net);
    allowed("examples/own/src/main.rs", "use tokio::net::TcpStream;");
    found_dependency("examples/own", "own", "anyhow.workspace = true");
    found(
        "examples/own/src/lib.rs",
        "use std::collections::HashMap;",
        1,
    );
    found("examples/own/tests/it/main.rs", "#[ignore]", 1);
    found("examples/own/clippy.toml", "", 1);
}

#[test]
fn turmoil_outside_of_its_engine() {
    found(
        "crates/world/src/host.rs",
        "\nuse turmoil::net::TcpStream;\n",
        2,
    );
    found(
        "crates/world/src/host.rs",
        "fn f() { turmoil::hold(1, 2) }\n",
        1,
    );
    allowed(
        "crates/world/src/engine/turmoil/stream.rs",
        "use turmoil::net::TcpStream;\n",
    );
    allowed(
        "crates/world/src/world.rs",
        "use crate::engine::turmoil::TurmoilEngine;\nmod turmoil;\n",
    );
}

#[test]
fn a_checker_that_knows_us_or_the_outside() {
    found_dependency(
        "crates/checker",
        "fencepost-checker",
        "redis-node.workspace = true",
    );
    let test = manifest(
        "fencepost-checker",
        "[dev-dependencies]\nfencepost-world.workspace = true\n",
    );
    found("crates/checker/Cargo.toml", &test, 8);
    allowed_dependency(
        "crates/checker",
        "fencepost-checker",
        "dependencies",
        "serde.workspace = true",
    );
    for text in [
        "use std::fs;",
        "use std::{fmt, env};",
        "fn f() { std::process::exit(1) }",
    ] {
        found("crates/checker/src/jsonl.rs", text, 1);
    }
    allowed("crates/checker/src/jsonl.rs", "use std::{fmt, io};");
    allowed("crates/checker/tests/it/main.rs", "use std::fs;");
}

#[test]
fn a_report_that_knows_more_than_histories() {
    found_dependency(
        "crates/report",
        "fencepost-report",
        "fencepost-world.workspace = true",
    );
    found_dependency(
        "crates/report",
        "fencepost-report",
        "fencepost.workspace = true",
    );
    allowed_dependency(
        "crates/report",
        "fencepost-report",
        "dependencies",
        "fencepost-checker.workspace = true",
    );
}

#[test]
fn layers_that_look_up() {
    found_dependency(
        "crates/redlock",
        "redlock",
        "fencepost-world.workspace = true",
    );
    found_dependency(
        "crates/redis-node",
        "redis-node",
        "redlock.workspace = true",
    );
    found_dependency(
        "crates/world",
        "fencepost-world",
        "redlock.workspace = true",
    );
    allowed_dependency(
        "crates/redlock",
        "redlock",
        "dev-dependencies",
        "redis-node.workspace = true",
    );
    allowed_dependency(
        "crates/world",
        "fencepost-world",
        "dependencies",
        "redis-node.workspace = true",
    );
}

#[test]
fn random_numbers_from_elsewhere() {
    found_dependency(
        "crates/fencepost",
        "fencepost",
        "rand_chacha.workspace = true",
    );
    found_dependency("crates/redlock", "redlock", "getrandom.workspace = true");
    found_dependency(
        "crates/world",
        "fencepost-world",
        "getrandom.workspace = true",
    );
    let optional = "getrandom = { workspace = true, optional = true }";
    allowed_dependency("crates/redlock", "redlock", "dependencies", optional);
    allowed_dependency(
        "crates/world",
        "fencepost-world",
        "dependencies",
        "rand_chacha.workspace = true",
    );
}

#[test]
fn sockets_outside_of_the_real_world() {
    let with_net = "tokio = { workspace = true, features = [\"net\"] }";
    found_dependency("crates/world", "fencepost-world", with_net);
    allowed_dependency(
        "crates/world",
        "fencepost-world",
        "dev-dependencies",
        with_net,
    );
    found(
        "crates/redis-node/src/node.rs",
        "use tokio::net::TcpListener;",
        1,
    );
    found(
        "crates/fencepost/src/lib.rs",
        "use std::net::{Ipv4Addr,\n    TcpStream};",
        2,
    );
    allowed(
        "crates/redis-node/src/server.rs",
        "use tokio::net::TcpListener;",
    );
    allowed(
        "crates/redlock/src/redis/tcp.rs",
        "use tokio::net::TcpStream;",
    );
    allowed(
        "crates/redlock/tests/it/real.rs",
        "use std::net::TcpStream;",
    );
    allowed("crates/fencepost/src/lib.rs", "use std::net::Ipv4Addr;");
}

#[test]
fn errors_without_types_and_lints_of_ones_own() {
    found_dependency("crates/fencepost", "fencepost", "anyhow.workspace = true");
    allowed_dependency(
        "crates/cli",
        "fencepost-cli",
        "dependencies",
        "anyhow.workspace = true",
    );
    found(
        "crates/cli/Cargo.toml",
        "[package]\nname = \"fencepost-cli\"\n",
        1,
    );
    found(
        "crates/cli/Cargo.toml",
        "[package]\nname = \"c\"\n[lints.clippy]\ntodo = \"allow\"\n",
        1,
    );
    found("crates/world/clippy.toml", "", 1);
    found("xtask/rustfmt.toml", "", 1);
}

#[test]
fn hash_order() {
    found(
        "crates/world/src/host.rs",
        "\n\nuse std::collections::HashMap;",
        3,
    );
    found("crates/world/tests/it/main.rs", "let seen: HashSet<u8>;", 1);
    allowed(
        "crates/world/src/host.rs",
        "// HashMap\nlet s = \"HashSet\";",
    );
}

#[test]
fn floats_in_plans_and_histories() {
    found("crates/world/src/plan.rs", "struct P { rate: f64 }", 1);
    found("crates/checker/src/history/parts.rs", "struct P(f32);", 1);
    allowed("crates/redis-node/src/number.rs", "fn f(x: f64) {}");
}

#[test]
fn bans_that_are_lifted() {
    let lifted = "#![expect(\n    clippy::disallowed_methods,\n    reason = \"because\"\n)]";
    found("crates/fencepost/src/runner.rs", lifted, 2);
    allowed("crates/redlock/src/redis/runtime.rs", lifted);
    allowed("crates/redlock/tests/it/real.rs", lifted);
}

#[test]
fn branches_in_random_order() {
    found(
        "crates/world/src/host.rs",
        "fn f() {\n    tokio::select! { a = b => {} }\n}",
        2,
    );
    found("crates/world/src/host.rs", "fn f() { select!(a, b) }", 1);
    allowed(
        "crates/world/src/host.rs",
        "fn f() { tokio::select! { biased; a = b => {} } select(a, b) }",
    );
}

#[test]
fn print_ignore_and_todo() {
    found(
        "crates/fencepost/src/runner.rs",
        "fn f() { println!(\"a\") }",
        1,
    );
    found(
        "crates/fencepost/src/runner.rs",
        "fn f() { std::eprint!(\"a\") }",
        1,
    );
    allowed("crates/cli/src/main.rs", "fn f() { println!(\"a\") }");
    allowed(
        "crates/fencepost/build.rs",
        "fn f() { println!(\"cargo::..\") }",
    );
    found(
        "crates/world/tests/it/main.rs",
        "#[test]\n#[ignore = \"slow\"]\nfn f() {}",
        2,
    );
    found(
        "crates/world/tests/it/main.rs",
        "#[cfg_attr(unix, ignore)]\nfn f() {}",
        1,
    );
    allowed("crates/world/tests/it/main.rs", "fn f() { g.ignore() }");
    found("xtask/src/lib.rs", "fn f() {\n    todo!()\n}", 2);
    found(
        "crates/cli/src/main.rs",
        "fn f() { unimplemented!(\"later\") }",
        1,
    );
}
