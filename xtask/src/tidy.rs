//! The form of files: what reviewers would otherwise have to say again and again.

use anyhow::Result;

use crate::repository::{File, Repository, code};

/// Lines of a source file before its tests, at most.
const MAX_LINES: usize = 600;

/// Every rule that a file breaks, with file and line.
pub(crate) fn check(repository: &Repository) -> Result<Vec<String>> {
    let files = repository.files(".", &[".rs", ".md", ".toml", ".js", ".mjs", ".sh", ".conf"])?;
    Ok(files.iter().flat_map(faults).collect())
}

fn faults(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    faults.extend(too_long(file));
    faults.extend(unfinished(file));
    faults.extend(machine_paths(file));
    if file.path.ends_with(".rs") {
        faults.extend(allow_without_reason(file));
        faults.extend(untrustworthy_tests(file));
    }
    faults
}

fn too_long(file: &File) -> Option<String> {
    if !file.path.ends_with(".rs") || file.is_test() {
        return None;
    }
    let lines = file.before_tests().count();
    (lines > MAX_LINES).then(|| {
        format!("{}: {lines} lines before its tests, {MAX_LINES} are allowed: split it", file.path)
    })
}

/// Written in halves so that this file does not find itself.
const UNFINISHED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
];

fn unfinished(file: &File) -> Vec<String> {
    found(file, &UNFINISHED, "unfinished: finish it or open an issue")
}

const MACHINE_PATHS: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("C:\\", "Users"),
];

fn machine_paths(file: &File) -> Vec<String> {
    found(file, &MACHINE_PATHS, "a path of somebody's machine")
}

fn found(file: &File, words: &[&str], fault: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for word in words.iter().filter(|word| line.contains(**word)) {
            faults.push(format!("{}:{}: `{word}`: {fault}", file.path, index + 1));
        }
    }
    faults
}

fn allow_without_reason(file: &File) -> Vec<String> {
    let lines: Vec<&str> = file.text.lines().map(code).collect();
    let mut faults = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let start = line.trim_start();
        if !["#[allow(", "#![allow(", "#[expect(", "#![expect("]
            .iter()
            .any(|a| start.starts_with(a))
        {
            continue;
        }
        let attribute = lines[index..].iter().scan(true, |open, line| {
            let was_open = *open;
            *open = was_open && !line.trim_end().ends_with(']');
            was_open.then_some(*line)
        });
        if !attribute.collect::<String>().contains("reason = ") {
            faults.push(format!("{}:{}: a lint is relaxed without a reason", file.path, index + 1));
        }
    }
    faults
}

/// A test that is switched off proves nothing, and one that sleeps proves something some days,
/// unless its clock is virtual.
fn untrustworthy_tests(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    let mut virtual_clock = false;
    let integration = file.is_test() && file.path.starts_with("crates/");
    for (index, line) in file.text.lines().map(code).enumerate() {
        let start = line.trim_start();
        if start.starts_with("#[ignore") {
            faults.push(format!("{}:{}: a test is switched off", file.path, index + 1));
        }
        if start.starts_with("#[test]") || start.starts_with("#[tokio::test") {
            virtual_clock = line.contains("start_paused = true");
        }
        let sleeps =
            line.contains("thread::sleep") || line.contains("time::sleep(") && !virtual_clock;
        if sleeps && integration {
            faults.push(format!("{}:{}: a test sleeps: wait for an event", file.path, index + 1));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_tidy() {
        let faults = check(&Repository::find().unwrap()).unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn only_the_lines_before_the_tests_count() {
        let code = "x\n".repeat(MAX_LINES);
        let long = format!("{code}#[cfg(test)]\nmod tests {{\n{code}}}\n");
        assert!(faults(&file("crates/a/src/a.rs", &long)).is_empty());
        assert_eq!(
            faults(&file("crates/a/src/a.rs", &format!("x\n{code}"))),
            ["crates/a/src/a.rs: 601 lines before its tests, 600 are allowed: split it"]
        );
        assert!(faults(&file("crates/a/tests/it/a.rs", &format!("x\n{code}"))).is_empty());
    }

    #[test]
    fn a_relaxed_lint_gives_its_reason_on_one_line_or_on_several() {
        let bare = "    #[allow(dead_code)]\nfn a() {}\n";
        let reasoned = "#![allow(\n    dead_code,\n    reason = \"why\"\n)]\n";
        assert_eq!(faults(&file("a.rs", bare)), ["a.rs:1: a lint is relaxed without a reason"]);
        assert!(faults(&file("a.rs", reasoned)).is_empty());
    }

    #[test]
    fn unfinished_work_and_paths_of_a_machine_are_found_with_their_line() {
        let text = format!("a\n// {}\nlet a = \"{}me\";\n", UNFINISHED[0], MACHINE_PATHS[0]);
        let found = faults(&file("a.rs", &text));
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("a.rs:2: "), "{found:?}");
        assert!(found[1].starts_with("a.rs:3: "), "{found:?}");
    }

    #[test]
    fn tests_are_neither_switched_off_nor_asleep() {
        let text = "#[ignore]\nstd::thread::sleep(d);\ntokio::time::sleep(d).await;\n";
        assert_eq!(faults(&file("crates/a/tests/it/a.rs", text)).len(), 3);
        assert_eq!(faults(&file("crates/a/src/a.rs", text)).len(), 1);
        let paused = "#[tokio::test(start_paused = true)]\ntokio::time::sleep(d).await;\n";
        assert!(faults(&file("crates/a/tests/it/a.rs", paused)).is_empty());
    }
}
