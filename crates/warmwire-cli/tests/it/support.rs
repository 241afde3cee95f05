//! Runs the binary and reads what it prints.

use std::process::{Command, Output};

use serde_json::Value;

/// The binary, without what the environment of the tests might say to it.
pub(crate) fn warmwire(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warmwire"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WARMWIRE_") {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command
}

/// What `warmwire ARGUMENTS` came to.
pub(crate) fn run(arguments: &[&str]) -> Output {
    warmwire(arguments).output().expect("the binary runs")
}

/// The document that `warmwire bench ARGUMENTS --json` prints, which must end well.
pub(crate) fn bench(arguments: &[&str]) -> Value {
    document(&run(&[&["bench", "--json", "--quiet"], arguments].concat()))
}

/// The one document on standard output of a command that ended well.
pub(crate) fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON document")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// A file that is gone when this is dropped.
pub(crate) struct TemporaryFile(pub(crate) std::path::PathBuf);

impl TemporaryFile {
    /// A path of this process's own, with `content` in the file.
    pub(crate) fn with(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("warmwire-{}-{name}", std::process::id()));
        std::fs::write(&path, content).expect("the temporary folder can be written to");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // The test may have removed it.
        let _ = std::fs::remove_file(&self.0);
    }
}
