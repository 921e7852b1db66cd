//! Files of a volume that are in each other's way.

use std::collections::BTreeSet;

use apiwright_json::Value;
use apiwright_meta::field::quoted;

use crate::hooks::shared::cells;

/// Warnings about the files of a volume.
pub(super) fn warnings(volume: &Value, texts: &mut Vec<String>) {
    let name = quoted(volume.text_at(&["name"]));
    for (source, shown, member) in [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")] {
        if let Some(source) = volume.get(source) {
            let of = quoted(source.text_at(&[member]));
            overlaps(&files(source), &format!("volume {name} ({shown} {of}): overlapping paths"), texts);
        }
    }
    if let Some(source) = volume.get("downwardAPI") {
        overlaps(&files(source), &format!("volume {name} (DownwardAPI): overlapping paths"), texts);
    }
    if volume.get("projected").is_some() {
        projected(volume, &name, texts);
    }
}

/// The files of several sources share one directory.
fn projected(volume: &Value, name: &str, texts: &mut Vec<String>) {
    let mut all = BTreeSet::new();
    // What a source without files finds here is its predecessor's, as upstream has it.
    let (mut paths, mut said) = (Vec::new(), String::new());
    for source in cells::items(volume, &["projected", "sources"]) {
        if source.as_object().is_none_or(apiwright_json::Object::is_empty) {
            texts.push(format!("volume {name} (Projected) has no sources provided"));
            continue;
        }
        if let Some((own, what)) = of_source(source) {
            paths = own;
            said = format!("volume {name} (Projected {what}): overlapping paths");
        }
        if paths.is_empty() {
            continue;
        }
        overlaps(&paths, &said, texts);
        let unique: BTreeSet<&str> = paths.iter().copied().collect();
        let mut sorted: Vec<&str> = unique.iter().chain(&all).copied().collect();
        sorted.sort_unstable();
        overlaps(&sorted, &said, texts);
        all.extend(unique);
    }
}

/// The files of a source, and how it is called.
fn of_source(source: &Value) -> Option<(Vec<&str>, String)> {
    for (member, shown) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if let Some(one) = source.get(member).filter(|one| one.get("items").is_some()) {
            return Some((files(one), format!("{shown} {}", quoted(one.text_at(&["name"])))));
        }
    }
    if let Some(one) = source.get("downwardAPI").filter(|one| one.get("items").is_some()) {
        return Some((files(one), "DownwardAPI".into()));
    }
    if let Some(token) = source.get("serviceAccountToken") {
        return Some((vec![token.text_at(&["path"])], "ServiceAccountToken".into()));
    }
    let bundle = source.get("clusterTrustBundle")?;
    let name = bundle.get("name").or(bundle.get("signerName")).and_then(Value::as_str).unwrap_or_default();
    Some((vec![bundle.text_at(&["path"])], format!("ClusterTrustBundle {}", quoted(name))))
}

fn files(source: &Value) -> Vec<&str> {
    cells::items(source, &["items"]).iter().map(|item| item.text_at(&["path"])).collect()
}

fn overlaps(paths: &[&str], said: &str, texts: &mut Vec<String>) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for path in paths.iter().map(|path| path.trim_end_matches('/')) {
        let meets = |one: &&&str| {
            let (one, begins) = (**one, |long: &str, short: &str| format!("{long}/").starts_with(short));
            one == path || begins(one, path) || begins(path, one)
        };
        let other = seen.iter().find(meets).filter(|one| !path.is_empty() && !one.is_empty());
        if let Some(other) = other {
            texts.push(format!("{said}: {} with {}", quoted(path), quoted(other)));
        }
        seen.insert(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_meet() {
        let table = [
            (r#"{"name":"v","configMap":{"name":"m","items":[{"path":"a"},{"path":"b"}]}}"#, vec![]),
            (
                r#"{"name":"v","configMap":{"name":"m","items":[{"path":"a"},{"path":"a/b"}]}}"#,
                vec![r#"volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a""#],
            ),
            (
                r#"{"name":"v","projected":{"sources":[{"secret":{"name":"s","items":[{"path":"a"}]}},
                {"serviceAccountToken":{"path":"a/"}},{}]}}"#,
                vec![
                    r#"volume "v" (Projected ServiceAccountToken): overlapping paths: "a" with "a""#,
                    r#"volume "v" (Projected) has no sources provided"#,
                ],
            ),
        ];
        for (volume, expected) in table {
            let mut texts = Vec::new();
            warnings(&apiwright_json::decode(volume.as_bytes()).unwrap().0, &mut texts);
            assert_eq!(texts, expected, "{volume}");
        }
    }
}
