//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders that hold nothing written by hand.
const SKIPPED: [&str; 6] = [".git", "artifacts", "corpus", "node_modules", "target", "generated"];

/// The root of the repository.
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    /// The repository that this program was built from.
    pub(crate) fn find() -> Result<Repository> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = package.parent().context("xtask has no parent folder")?;
        Ok(Repository { root: root.to_owned() })
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The text files under `folder` whose name ends in one of `endings`, by path.
    pub(crate) fn files(&self, folder: &str, endings: &[&str]) -> Result<Vec<File>> {
        let mut found = Vec::new();
        self.collect(&self.path(folder), endings, &mut found)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn collect(&self, folder: &Path, endings: &[&str], found: &mut Vec<File>) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if entry.file_type()?.is_dir() {
                if !SKIPPED.contains(&name.as_ref()) {
                    self.collect(&path, endings, found)?;
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text =
                    fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
                let path = path.strip_prefix(&self.root)?.to_string_lossy().replace('\\', "/");
                found.push(File { path, text });
            }
        }
        Ok(())
    }
}

/// One text file.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// The lines before the module of unit tests, numbered from 1.
    pub(crate) fn before_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let end = lines
            .windows(2)
            .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod "))
            .unwrap_or(lines.len());
        lines.into_iter().take(end).enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether the file belongs to a folder of tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests")
    }
}

/// `line` without its comment. A `//` inside a string ends the line too, which can hide a fault
/// but never invent one.
pub(crate) fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_tests_are_told_from_what_they_test() {
        let text = "fn a() {}\n#[cfg(test)]\nfn helper() {}\n\n#[cfg(test)]\nmod tests {\n}\n";
        let file = File { path: "crates/a/src/lib.rs".to_owned(), text: text.to_owned() };
        assert_eq!(file.before_tests().count(), 4);
        assert!(!file.is_test());
    }

    #[test]
    fn comments_are_no_code() {
        assert_eq!(code("let a = 1; // Instant::now"), "let a = 1; ");
        assert_eq!(code("//! use tokio"), "");
    }
}
