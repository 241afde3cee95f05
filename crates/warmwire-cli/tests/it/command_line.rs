//! Flags, variables, the configuration file and exit codes.

use crate::support::{TemporaryFile, bench, run, stderr, stdout, warmwire};

/// Runs a command line that must be refused, and returns the reason.
fn refused(arguments: &[&str]) -> String {
    let output = run(&[&["bench"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    assert!(output.stdout.is_empty(), "{arguments:?}: nothing was measured");
    stderr(&output)
}

#[test]
fn contradictions_are_told_in_a_sentence() {
    let url = "http://127.0.0.1:9/";
    for (arguments, expected) in [
        (&[url, "--delay", "5ms"][..], "--delay describes the embedded server"),
        (&[url, "--body", "1MB"], "--body describes the embedded server"),
        (&[url, "--tls"], "--tls describes the embedded server"),
        (&[url, "--rtt", "25ms"], "--rtt describes the embedded server"),
        (&[url, "--dns", "25ms"], "--dns describes the embedded server"),
        (&[url, "--tls-version", "1.2"], "--tls-version needs an https URL"),
        (&[url, "--tls-roots", "roots.pem"], "--tls-roots needs an https URL"),
        (&["--unix-socket", "/run/x.sock"], "--unix-socket needs a URL"),
        (&["--rate", "0"], "--rate 0 is not a number of requests per second"),
        (&["--rate", "80", "--concurrency", "8"], "--rate and --concurrency contradict each other"),
        (&["--max-in-flight", "8"], "--max-in-flight bounds an open loop: it needs --rate"),
        (&["--concurrency", "0"], "--concurrency 0 is out of bounds: 1 to 100000"),
        (&["--requests", "0"], "--requests 0 would measure nothing"),
        (&["--duration", "0s"], "--duration 0s would measure nothing"),
        (&["--rounds", "0"], "--rounds 0 is out of bounds: 1 to 1000"),
        (&["--check", "30%", "--side", "with"], "--check compares both sides"),
        (&["--resume"], "--resume is about TLS sessions"),
        (&["--tls", "--resume", "--side", "with"], "--side with leaves out"),
        (
            &["--rtt", "25ms", "--local-address", "127.0.0.1"],
            "--local-address does not work with --rtt",
        ),
        (&["--rtt", "11s"], "--rtt 11s is too long: at most 10s"),
        (&["--body", "2GiB"], "--body 2GiB is too long: at most 1GiB"),
        (&["--header", "no colon"], "--header `no colon` is not a header"),
        (&["--header", "Connection: close"], "`connection` is set by the bench itself"),
        (
            &["--http2", "--header", "Upgrade: websocket"],
            "--header `upgrade` is about an HTTP/1.1 connection",
        ),
        (&["--method", "G E T"], "--method G E T is not an HTTP method"),
        (&["--body-file", "/nowhere/body"], "cannot read --body-file /nowhere/body"),
        (&["--config", "/nowhere/agent.toml"], "cannot read --config /nowhere/agent.toml"),
        (&["ftp://example.com/"], "`ftp://example.com/` is not a URL that can be measured"),
        (&["example.com"], "is not a URL that can be measured"),
    ] {
        let reason = refused(arguments);
        assert!(reason.contains(expected), "{arguments:?}: {reason}");
    }
}

#[test]
fn bad_values_name_the_flag_the_value_and_what_is_accepted() {
    for (arguments, expected) in [
        (["--delay", "5x"], ["'5x'", "--delay", "250ms, 30s or 5m"]),
        (["--idle-timeout", "4"], ["'4'", "--idle-timeout", "250ms, 30s or 5m"]),
        (["--body", "1TB"], ["'1TB'", "--body", "64KiB or 1MB"]),
        (["--check", "0.3"], ["'0.3'", "--check", "30%"]),
        (["--requests", "many"], ["'many'", "--requests", "invalid digit"]),
        (["--tls-version", "1.1"], ["'1.1'", "--tls-version", "1.2, 1.3"]),
        (["--side", "left"], ["'left'", "--side", "without, with, both"]),
        (["--scheduling", "random"], ["'random'", "--scheduling", "lifo, fifo"]),
    ] {
        let reason = refused(&arguments);
        assert!(expected.iter().all(|part| reason.contains(part)), "{arguments:?}: {reason}");
    }
    assert!(
        refused(&["--max-conections", "5"]).contains("--max-connections"),
        "the nearest flag is named"
    );
}

#[test]
fn a_variable_says_what_a_flag_says_and_the_flag_wins() {
    let output = warmwire(&["bench", "--requests", "4", "--quiet"])
        .envs([
            ("WARMWIRE_JSON", "1"),
            ("WARMWIRE_REQUESTS", "1000000"),
            ("WARMWIRE_MAX_CONNECTIONS", "3"),
        ])
        .output()
        .unwrap();
    let document = crate::support::document(&output);
    assert_eq!(document["with"]["requests"], 4);
    assert_eq!(document["options"]["agent"]["max_connections"], 3);

    let output = warmwire(&["bench"]).env("WARMWIRE_DELAY", "soon").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("'soon'"), "{}", stderr(&output));
}

#[test]
fn the_configuration_file_gives_what_no_flag_gives() {
    let file = TemporaryFile::with("agent.toml", b"max_connections = 7\nidle_timeout = \"30s\"\n");
    let document = bench(&["--requests", "4", "--config", file.path(), "--idle-timeout", "20s"]);
    let agent = &document["options"]["agent"];
    assert_eq!(
        (agent["max_connections"].as_u64(), agent["idle_timeout"].as_str()),
        (Some(7), Some("20s"))
    );

    let file = TemporaryFile::with("wrong.toml", b"max_conections = 7\n");
    let reason = refused(&["--config", file.path()]);
    assert!(
        reason.contains("did you mean `max_connections`?") && reason.contains("wrong.toml"),
        "{reason}"
    );
}

#[test]
fn help_names_every_flag_with_its_variable() {
    let help = stdout(&run(&["bench", "--help"]));
    for expected in [
        "--max-connections",
        "WARMWIRE_MAX_CONNECTIONS",
        "[default: 60]",
        "Exit codes: 0 done",
        "--rtt",
        "WARMWIRE_HTTP2",
    ] {
        assert!(help.contains(expected), "{expected}: {help}");
    }
    assert!(!help.contains("bench-server"));
    assert!(!stdout(&run(&["--help"])).contains("bench-server"));
}

#[test]
fn completions_and_the_manual_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success() && stdout(&output).contains("max-connections"), "{shell}");
    }
    let manual = stdout(&run(&["man"]));
    assert!(manual.starts_with(".ie") || manual.starts_with(".TH"), "{manual}");
    assert!(manual.contains("max\\-connections") && manual.contains("WARMWIRE_RTT"));
    assert_eq!(run(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn no_command_at_all_is_a_wrong_command_line() {
    assert_eq!(run(&[]).status.code(), Some(2));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
}
