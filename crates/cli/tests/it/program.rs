//! Calls the binary in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// What a call came to.
pub(crate) struct Call {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Call {
    /// The last line of stdout as JSON.
    pub(crate) fn summary(&self) -> serde_json::Value {
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last)
            .unwrap_or_else(|error| panic!("{error}: {last}\n{}", self.stderr))
    }

    /// Both streams, for assertions about text.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A folder to call the binary in.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room for temporary files"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("a temporary file can be written");
        name.to_owned()
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Call {
        self.call_with(arguments, &[])
    }

    /// The same with variables added to the environment.
    pub(crate) fn call_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Call {
        let program = Path::new(env!("CARGO_BIN_EXE_fencepost"));
        self.call_program(program, arguments, variables)
    }

    /// Calls what a user would paste.
    pub(crate) fn paste(&self, command: &str) -> Call {
        let words: Vec<&str> = command.split_whitespace().collect();
        self.call_program(Path::new(words[0]), &words[1..], &[])
    }

    /// Runs what a shell runs, where the binary is one of the commands.
    pub(crate) fn shell(&self, command: &[&str], variables: &[(&str, &str)]) -> Call {
        let binary = Path::new(env!("CARGO_BIN_EXE_fencepost"));
        let folder = binary.parent().expect("a file is in a folder").display();
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{folder}:{path}");
        let variables = [variables, &[("PATH", &*path)]].concat();
        self.call_program(Path::new(command[0]), &command[1..], &variables)
    }

    fn call_program(&self, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Call {
        let output = Command::new(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(self.0.path())
            .output();
        let output = output.expect("the binary was built for this test");
        Call {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The embedded text of a scenario, to vary.
pub(crate) fn scenario(name: &str) -> String {
    let files = fencepost::scenario::embedded().iter();
    let text = files
        .clone()
        .find(|(own, _)| *own == name)
        .map(|(_, text)| *text);
    text.expect("the scenario is one of the catalogue")
        .to_owned()
}
