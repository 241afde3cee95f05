//! Ctrl-C ends the measurement cleanly.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{document, warmwire};

#[test]
fn ctrl_c_prints_what_was_measured_so_far() {
    // Of a hundred seconds a side, a round takes a tenth.
    let arguments =
        ["bench", "--json", "--duration", "100s", "--rounds", "1000", "--concurrency", "2"];
    let mut child =
        warmwire(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    for round in ["round 1/1000", "round 1/1000", "round 2/1000"] {
        let line = progress.next().unwrap().unwrap();
        assert!(line.starts_with(round), "{line}");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    // Standard error ends with the process.
    progress.for_each(drop);

    let document = document(&child.wait_with_output().unwrap());
    let rounds = &document["rounds"];
    assert_eq!(
        (rounds["interrupted"].as_bool(), rounds["planned"].as_u64()),
        (Some(true), Some(1000))
    );
    assert!((1..1000).contains(&rounds["complete"].as_u64().unwrap()), "{rounds}");
    assert!(document["with"]["requests"].as_u64() > Some(0));
    assert!(document["without"]["requests"].as_u64() > Some(0));
}
