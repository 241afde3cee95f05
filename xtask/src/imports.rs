//! Who imports whom: the normal dependencies of each crate against a table.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use crate::repository::Repository;

/// Every crate with what it may import. Crates of the workspace stand first, and what is not named
/// here is not allowed: a new dependency is a decision that shows in this table.
const TABLE: &[(&str, &[&str], &[&str])] = &[
    ("warmwire-pool", &[], &["hashbrown", "slab", "smallvec"]),
    ("warmwire-h1", &[], &["bytes", "http", "httparse"]),
    ("warmwire-amp", &[], &["bytes", "hashbrown", "indexmap", "serde", "serde_json", "smallvec"]),
    (
        "warmwire-net",
        &[],
        &[
            "base64",
            "futures-util",
            "hickory-resolver",
            "rustls",
            "rustls-platform-verifier",
            "socket2",
            "sync_wrapper",
            "tokio",
            "tokio-rustls",
        ],
    ),
    (
        "warmwire-http",
        &["warmwire-h1", "warmwire-net", "warmwire-pool"],
        &[
            "base64",
            "bytes",
            "futures-util",
            "h2",
            "hashbrown",
            "http",
            "http-body",
            "hyper",
            "hyper-util",
            "metrics",
            "pin-project-lite",
            "serde",
            "serde_json",
            "serde_urlencoded",
            "smallvec",
            "strsim",
            "sync_wrapper",
            "tokio",
            "tokio-util",
            "toml",
            "tower-service",
            "tracing",
            "url",
        ],
    ),
    (
        "warmwire-rpc",
        &["warmwire-amp", "warmwire-net"],
        &["bytes", "futures-util", "hashbrown", "serde", "tokio", "tokio-util"],
    ),
    (
        "warmwire-plugs",
        &["warmwire-http"],
        &[
            "async-compression",
            "async-trait",
            "aws-smithy-runtime-api",
            "aws-smithy-types",
            "bytes",
            "cookie_store",
            "http",
            "http-body",
            "http-body-util",
            "http-cache-semantics",
            "httparse",
            "humantime",
            "object_store",
            "tokio",
            "tokio-util",
            "tonic",
            "tower-layer",
            "tower-service",
            "url",
        ],
    ),
    ("warmwire", &["warmwire-http", "warmwire-plugs", "warmwire-rpc"], &[]),
    (
        "warmwire-cli",
        &["warmwire"],
        &[
            "anyhow",
            "bytes",
            "clap",
            "clap_complete",
            "clap_mangen",
            "hdrhistogram",
            "http",
            "http-body-util",
            "hyper",
            "hyper-util",
            "indicatif",
            "rcgen",
            "rustix",
            "rustls",
            "serde",
            "serde_json",
            "strsim",
            "tokio",
            "tokio-rustls",
            "toml",
        ],
    ),
    (
        "warmwire-testkit",
        &[],
        &[
            "bytes",
            "futures-util",
            "http",
            "http-body-util",
            "hyper",
            "hyper-util",
            "rcgen",
            "rustix",
            "rustls",
            "socket2",
            "tokio",
            "tokio-rustls",
        ],
    ),
    ("warmwire-interop", &["warmwire"], &["serde_json", "tokio"]),
    (
        "warmwire-examples",
        &["warmwire"],
        &[
            "async-compression",
            "aws-smithy-async",
            "aws-smithy-runtime",
            "aws-smithy-runtime-api",
            "aws-smithy-types",
            "bytes",
            "http",
            "http-body-util",
            "hyper",
            "hyper-util",
            "metrics",
            "metrics-util",
            "object_store",
            "tokio",
            "tonic-health",
            "tower",
            "tower-http",
            "tracing",
            "tracing-subscriber",
        ],
    ),
    (
        "warmwire-users",
        &["warmwire"],
        &[
            "bytes",
            "futures-util",
            "http",
            "http-body-util",
            "serde",
            "serde_json",
            "tokio",
            "tower",
        ],
    ),
    ("xtask", &[], &["anyhow", "cargo_metadata"]),
];

/// Every import that the table does not allow, every crate that it does not know, and every entry
/// of the table that nothing uses.
pub(crate) fn check(repository: &Repository) -> Result<Vec<String>> {
    let metadata = metadata(repository)?;
    let members = metadata.iter().map(|package| {
        let imports = imports(package);
        (package.name.to_string(), imports)
    });
    Ok(compare(&members.collect()))
}

type Members = BTreeMap<String, Vec<String>>;

fn compare(members: &Members) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, imports) in members {
        let Some((_, own, others)) = TABLE.iter().find(|(row, ..)| row == name) else {
            faults.push(format!("{name}: not in the table of xtask/src/imports.rs"));
            continue;
        };
        for import in imports {
            if !own.contains(&import.as_str()) && !others.contains(&import.as_str()) {
                faults.push(format!("{name}: must not import {import}"));
            }
        }
    }
    for (name, ..) in TABLE {
        if !members.contains_key(*name) {
            faults.push(format!("{name}: in the table of xtask/src/imports.rs, but no crate"));
        }
    }
    faults
}

/// What the package needs to be built and to run; what only its tests need is free.
fn imports(package: &Package) -> Vec<String> {
    let used = package.dependencies.iter().filter(|dependency| {
        matches!(dependency.kind, DependencyKind::Normal | DependencyKind::Build)
    });
    used.map(|dependency| dependency.name.clone()).collect()
}

fn metadata(repository: &Repository) -> Result<Vec<Package>> {
    let mut command: Command = MetadataCommand::new()
        .manifest_path(repository.path("Cargo.toml"))
        .no_deps()
        .cargo_command();
    // Without dependencies nothing has to be fetched.
    let output = command.arg("--offline").output().context("cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().find(|line| line.starts_with('{')).context("no metadata")?;
    Ok(MetadataCommand::parse(line)?.packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_imports_what_the_table_allows() {
        let faults = check(&Repository::find().unwrap()).unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn an_import_that_is_not_in_the_table_is_a_fault() {
        let mut members: Members =
            TABLE.iter().map(|(name, ..)| ((*name).to_owned(), Vec::new())).collect();
        assert_eq!(compare(&members), Vec::<String>::new());
        members.insert("warmwire-pool".to_owned(), vec!["tokio".to_owned()]);
        members.insert("warmwire-new".to_owned(), Vec::new());
        members.remove("xtask");
        assert_eq!(
            compare(&members),
            [
                "warmwire-new: not in the table of xtask/src/imports.rs",
                "warmwire-pool: must not import tokio",
                "xtask: in the table of xtask/src/imports.rs, but no crate",
            ]
        );
    }

    #[test]
    fn pure_crates_and_public_ones_never_meet_where_the_design_keeps_them_apart() {
        let row = |name: &str| TABLE.iter().find(|(row, ..)| *row == name).unwrap();
        for pure in ["warmwire-pool", "warmwire-h1", "warmwire-net"] {
            assert_eq!(row(pure).1, [""; 0], "{pure} imports no crate of the workspace");
        }
        assert_eq!(row("warmwire-cli").1, ["warmwire"], "the command uses the public API only");
        assert!(TABLE.iter().all(|(_, own, _)| !own.contains(&"warmwire-testkit")));
    }
}
