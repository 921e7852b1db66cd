//! Whether some rules allow all that others do, and what they lack.

use std::collections::BTreeSet;

use apiwright_json::Str;

use super::rules::Rule;

/// What `wanted` allows and `held` does not, described one by one as upstream does; empty where
/// nothing is lacking.
pub(super) fn lacking(held: &[Rule], wanted: &[Rule]) -> BTreeSet<String> {
    compact(missing(held, wanted)).iter().map(describe).collect()
}

/// What `wanted` allows and `held` does not, as rules of one verb of one thing each.
pub fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    wanted.iter().flat_map(split).filter(|part| !held.iter().any(|rule| covers(rule, part))).collect()
}

/// A rule as rules of one verb of one thing each.
fn split(rule: &Rule) -> Vec<Rule> {
    let one = |text: &Str| vec![text.clone()];
    let mut parts = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let part = Rule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    ..Rule::default()
                };
                if rule.resource_names.is_empty() {
                    parts.push(part);
                } else {
                    let named = |name| Rule { resource_names: one(name), ..part.clone() };
                    parts.extend(rule.resource_names.iter().map(named));
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        let of_verb = |verb| Rule { verbs: one(verb), non_resource_urls: one(url), ..Rule::default() };
        parts.extend(rule.verbs.iter().map(of_verb));
    }
    parts
}

fn covers(held: &Rule, part: &Rule) -> bool {
    let all = |held: &[Str], wanted: &[Str]| has(held, "*") || wanted.iter().all(|one| has(held, one));
    let names = held.resource_names.is_empty()
        || (!part.resource_names.is_empty()
            && part.resource_names.iter().all(|name| has(&held.resource_names, name)));
    names
        && all(&held.verbs, &part.verbs)
        && all(&held.api_groups, &part.api_groups)
        && (has(&held.resources, "*")
            || part.resources.iter().all(|one| covers_resource(&held.resources, one)))
        && part
            .non_resource_urls
            .iter()
            .all(|url| held.non_resource_urls.iter().any(|its| covers_url(its, url)))
}

fn has(list: &[Str], wanted: &str) -> bool {
    list.iter().any(|one| one == wanted)
}

fn covers_resource(held: &[Str], wanted: &str) -> bool {
    has(held, wanted)
        || wanted.split_once('/').is_some_and(|(_, subresource)| has(held, &format!("*/{subresource}")))
}

fn covers_url(held: &str, wanted: &str) -> bool {
    held == wanted || (held.ends_with('*') && wanted.starts_with(held.trim_end_matches('*')))
}

/// Rules about the same thing become one with all their verbs.
fn compact(rules: Vec<Rule>) -> Vec<Rule> {
    let mut compacted: Vec<Rule> = Vec::new();
    for rule in rules {
        let same = |other: &&mut Rule| {
            rule.non_resource_urls.is_empty()
                && other.non_resource_urls.is_empty()
                && other.api_groups == rule.api_groups
                && other.resources == rule.resources
                && other.resource_names == rule.resource_names
        };
        match compacted.iter_mut().find(same) {
            Some(other) => other.verbs.extend(rule.verbs),
            None => compacted.push(rule),
        }
    }
    compacted
}

fn describe(rule: &Rule) -> String {
    let lists = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &rule.verbs),
    ];
    let parts: Vec<String> = lists
        .iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| format!("{name}:{}", quoted_list(list)))
        .collect();
    format!("{{{}}}", parts.join(", "))
}

/// As Go's `%q` shows a list.
pub(super) fn quoted_list<S: AsRef<str>>(list: &[S]) -> String {
    let shown: Vec<String> = list.iter().map(|one| format!("{:?}", one.as_ref())).collect();
    format!("[{}]", shown.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_json::decode;

    fn rules(json: &str) -> Vec<Rule> {
        Rule::read_all(&decode(format!(r#"{{"rules":{json}}}"#).as_bytes()).unwrap().0)
    }

    #[test]
    fn what_is_lacking() {
        let held = rules(
            r#"[{"apiGroups":[""],"resources":["pods","*/scale"],"verbs":["get","list"]},
                {"apiGroups":[""],"resources":["secrets"],"resourceNames":["x"],"verbs":["*"]},
                {"nonResourceURLs":["/logs/*"],"verbs":["get"]}]"#,
        );
        #[rustfmt::skip]
        let table: &[(&str, &[&str])] = &[
            (r#"[{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}]"#, &[]),
            (r#"[{"apiGroups":[""],"resources":["pods"],"resourceNames":["p"],"verbs":["list"]}]"#, &[]),
            (r#"[{"apiGroups":[""],"resources":["replicationcontrollers/scale"],"verbs":["get"]}]"#, &[]),
            (r#"[{"apiGroups":[""],"resources":["secrets"],"resourceNames":["x"],"verbs":["delete"]}]"#, &[]),
            (r#"[{"nonResourceURLs":["/logs/a"],"verbs":["get"]}]"#, &[]),
            (r#"[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]"#, &["{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}"]),
            (r#"[{"apiGroups":[""],"resources":["pods","secrets"],"verbs":["get","create"]}]"#, &["{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"create\"]}", "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"create\"]}"]),
            (r#"[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]},{"nonResourceURLs":["*"],"verbs":["*"]}]"#, &["{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}", "{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}"]),
        ];
        for (wanted, expected) in table {
            let found: Vec<String> = lacking(&held, &rules(wanted)).into_iter().collect();
            assert_eq!(found, *expected, "{wanted}");
        }
    }
}
