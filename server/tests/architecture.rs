//! The shape of the code, held by tests: crates depend downwards only, files stay readable.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, top to bottom: a crate depends only on crates further down.
const LAYERS: &[&str] = &[
    "transport",
    "filters",
    "audit",
    "auth",
    "aggregator",
    "apiextensions",
    "endpoints",
    "openapi",
    "discovery",
    "controllers",
    "webhook",
    "policy",
    "chain",
    "admission",
    "registry",
    "storage-etcd",
    "storage-embedded",
    "encryption",
    "cache",
    "storage-testing",
    "storage",
    "cel",
    "schema",
    "remote",
    "meta",
    "json",
];

/// The most lines that a reader is asked to hold at once.
const LINES_MAX: usize = 700;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("server/ is in the workspace").into()
}

#[test]
fn crates_depend_downwards_only() {
    let crates = root().join("server/crates");
    let mut faults = Vec::new();
    for entry in fs::read_dir(&crates).expect("the crates").flatten() {
        let name = entry.file_name().into_string().expect("a plain name");
        let Some(layer) = LAYERS.iter().position(|one| *one == name) else {
            faults.push(format!("{name} has no place among the layers"));
            continue;
        };
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).expect("a manifest");
        for dependency in dependencies(&manifest) {
            match LAYERS.iter().position(|one| *one == dependency) {
                Some(below) if below > layer => {}
                Some(_) => faults.push(format!("{name} depends upwards on {dependency}")),
                None => faults.push(format!("{name} depends on {dependency}, which is no layer")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The project's own crates among a manifest's `[dependencies]` (not those of tests).
fn dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && let Some(rest) = line.strip_prefix("apiwright-")
        {
            let end = rest.find(['.', ' ', '=']).unwrap_or(rest.len());
            found.push(rest[..end].to_owned());
        }
    }
    found
}

#[test]
fn codegen_knows_nothing_of_the_server() {
    for part in ["codegen", "macros"] {
        let manifest = fs::read_to_string(root().join(part).join("Cargo.toml")).expect("a manifest");
        assert_eq!(dependencies(&manifest), Vec::<String>::new(), "{part} depends on the server");
    }
}

#[test]
fn files_stay_readable() {
    let mut long = Vec::new();
    for part in ["codegen", "macros", "server", "snapshots"] {
        sources(&root().join(part), &mut |path| {
            let lines = fs::read_to_string(path).map(|text| text.lines().count()).unwrap_or_default();
            if lines > LINES_MAX {
                long.push(format!("{}: {lines} lines", path.display()));
            }
        });
    }
    assert!(long.is_empty(), "split by meaning:\n{}", long.join("\n"));
}

fn sources(folder: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                sources(&path, visit);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(&path);
        }
    }
}
