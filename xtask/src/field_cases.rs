//! Which field cases have tests: found by the names of test functions, `f054_…`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use crate::repository::{File, Repository};

const PAGE: &str = "docs/field-cases.md";

const HEAD: &str = "# Field cases with tests

A field case is a fault or a wish that users of other pools reported, turned into a scenario. A test
that shows one carries its number in its name. `cargo xtask field-cases` writes this page; a test
keeps it true.

| case | tests |
|---|---|
";

/// Writes the page.
pub(crate) fn write(repository: &Repository) -> Result<()> {
    let path = repository.path(PAGE);
    fs::create_dir_all(path.parent().context("the page has no folder")?)?;
    fs::write(path, page(repository)?)?;
    Ok(())
}

fn page(repository: &Repository) -> Result<String> {
    let mut cases: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in ["crates", "tests"] {
        for file in repository.files(folder, &[".rs"])? {
            for test in functions(&file) {
                for case in cases_of(test) {
                    cases.entry(case).or_default().insert(format!("`{}`: `{test}`", home(&file)));
                }
            }
        }
    }
    let mut page = HEAD.to_owned();
    for (case, tests) in cases {
        let tests: Vec<String> = tests.into_iter().collect();
        writeln!(page, "| {case} | {} |", tests.join("<br>"))?;
    }
    Ok(page)
}

/// The names of the file's functions.
fn functions(file: &File) -> impl Iterator<Item = &str> {
    file.text.lines().filter_map(|line| {
        let line = line.trim_start();
        let name = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?;
        name.split(['(', '<']).next()
    })
}

/// The cases that a test's name begins with: `f059_f068_…` has two.
fn cases_of(test: &str) -> Vec<String> {
    test.split('_').take_while(|part| is_case(part)).map(str::to_uppercase).collect()
}

fn is_case(part: &str) -> bool {
    part.strip_prefix('f')
        .is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The file's path without what every path has.
fn home(file: &File) -> &str {
    file.path.strip_prefix("crates/").unwrap_or(&file.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_tests_say() {
        let repository = Repository::find().unwrap();
        let written = fs::read_to_string(repository.path(PAGE)).unwrap();
        let stale = written != page(&repository).unwrap();
        assert!(!stale, "{PAGE} is stale: run `cargo xtask field-cases` and commit it");
    }

    #[test]
    fn a_case_is_an_f_with_three_digits() {
        assert_eq!(cases_of("f054_an_empty_reply"), ["F054"]);
        assert_eq!(cases_of("f059_f068_random_sequences"), ["F059", "F068"]);
        assert_eq!(cases_of("f54_an_empty_reply"), [""; 0]);
        assert_eq!(cases_of("format_a"), [""; 0]);
    }

    #[test]
    fn names_are_taken_from_plain_and_from_async_functions() {
        let text = "fn f001_a() {\n    async fn f002_b(x: u8) {\n    let other = 1;\n";
        let file = File { path: "crates/a/tests/it/a.rs".to_owned(), text: text.to_owned() };
        assert_eq!(functions(&file).collect::<Vec<_>>(), ["f001_a", "f002_b"]);
    }
}
