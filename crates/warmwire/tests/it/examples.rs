//! Runs the examples that the features allow; each ends by itself with exit code 0.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example and wants these texts in what it prints, in their order.
fn run(name: &str, wanted: &[&str]) {
    let program = program(name);
    let output = Command::new(&program).output().unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo test -p warmwire --all-features` builds it", program.display())
    });
    let printed = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{printed}{complaints}", output.status);
    let mut rest = &*printed;
    for text in wanted {
        let at = rest.find(text).unwrap_or_else(|| panic!("{name}: no {text:?} in:\n{printed}"));
        rest = &rest[at + text.len()..];
    }
}

/// Cargo builds a package's examples beside its tests, into the folder next to theirs.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("target/debug/deps");
    folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

#[cfg(feature = "mock")]
#[test]
fn mock() {
    run("mock", &["balance: 42 €", "requests: 3", "repeated by the agent: 1"]);
}
