//! Discovery, locked: what a client is told that this server serves.
//!
//! Two snapshots a document: what is served by default, and what exists when everything is on.
//! Where the recorded facts of a kube-apiserver are beside the checkout, all of them are compared.

use std::path::{Path, PathBuf};

use apiwright::generated::catalogue;
use apiwright_discovery::{Content, Discovery, Freshness, Source};
use apiwright_json::{Value, to_string_pretty};

fn discovery(everything: bool) -> Discovery {
    let discovery = Discovery::default();
    for group in catalogue().groups.iter() {
        for version in group.versions.iter().filter(|version| everything || version.served) {
            discovery.set(Source {
                group: group.name.to_string(),
                version: version.name.to_string(),
                group_priority: group.priority,
                version_priority: version.priority,
                content: Content::Here(version.shared()),
                freshness: Freshness::Current,
            });
        }
    }
    discovery
}

#[test]
fn by_default() {
    let snapshot = discovery(false).snapshot();
    insta::assert_snapshot!("default-api", to_string_pretty(&snapshot.api_versions("127.0.0.1:6443")));
    insta::assert_snapshot!("default-apis", to_string_pretty(&snapshot.api_group_list()));
    insta::assert_snapshot!("default-aggregated-api", to_string_pretty(&snapshot.aggregated_core().value));
    insta::assert_snapshot!("default-aggregated-apis", to_string_pretty(&snapshot.aggregated_groups().value));
}

#[test]
fn each_group_version() {
    let snapshot = discovery(true).snapshot();
    for source in snapshot.sources() {
        let name =
            format!("{}-{}", if source.group.is_empty() { "core" } else { &source.group }, source.version);
        let list = snapshot.api_resource_list(&source.group, &source.version).expect("a served version");
        insta::assert_snapshot!(name, to_string_pretty(&list));
    }
}

#[test]
fn equals_the_recorded_facts() {
    let Some(facts) = facts() else { return };
    let snapshot = discovery(true).snapshot();
    let mut faults = Vec::new();
    for entry in std::fs::read_dir(&facts).expect("the facts").flatten() {
        let file = entry.file_name().into_string().expect("a plain name");
        let name = file.trim_end_matches(".json");
        let ours = match *name.split("__").collect::<Vec<_>>() {
            ["aggregated_v2"] => snapshot.aggregated_groups().value.clone(),
            ["api"] => continue, // holds the address of the server that was asked
            ["apis"] => snapshot.api_group_list(),
            ["api", version] => snapshot.api_resource_list("", version).unwrap_or_default(),
            ["apis", group] => snapshot.api_group(group).unwrap_or_default(),
            ["apis", group, version] => snapshot.api_resource_list(group, version).unwrap_or_default(),
            _ => panic!("{file} is no discovery document"),
        };
        let text = std::fs::read(entry.path()).expect("a document");
        let (theirs, _) = apiwright_json::decode(&text).expect("JSON");
        compare(&theirs, &ours, name, &mut faults);
    }
    assert!(
        faults.is_empty(),
        "{} differences:\n{}",
        faults.len(),
        faults[..faults.len().min(40)].join("\n")
    );
}

/// The recorded documents, where they are at hand.
fn facts() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/facts/discovery-all");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recorded facts at {}", folder.display());
    None
}

fn compare(theirs: &Value, ours: &Value, at: &str, faults: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, value) in theirs.iter() {
                match ours.get(key) {
                    Some(our) => compare(value, our, &format!("{at}/{key}"), faults),
                    None => faults.push(format!("{at}/{key} is missing")),
                }
            }
            faults.extend(
                ours.keys()
                    .filter(|key| !theirs.contains_key(key))
                    .map(|key| format!("{at}/{key} is ours alone")),
            );
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            if theirs.len() != ours.len() {
                faults.push(format!("{at} has {} items, not {}", ours.len(), theirs.len()));
            }
            for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                compare(theirs, ours, &format!("{at}/{index}"), faults);
            }
        }
        (theirs, ours) if theirs == ours => {}
        (theirs, ours) => faults.push(format!("{at}: {ours:?}, not {theirs:?}")),
    }
}
