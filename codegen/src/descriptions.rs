//! The descriptions of the built-in types and fields.
//!
//! They are Kubernetes' own words, which users read in `kubectl explain` and compare; `build.rs`
//! collects them from a library. What a spec says of its own types comes first.

use std::collections::BTreeMap;

/// What `build.rs` wrote.
const BUILT_IN: &str = include_str!(concat!(env!("OUT_DIR"), "/descriptions.tsv"));

/// What types (under the empty name) and their fields mean, by definition name.
#[derive(Debug, Default)]
pub struct Descriptions(BTreeMap<&'static str, BTreeMap<&'static str, String>>);

impl Descriptions {
    /// None: for tests of specs that bring their own.
    pub fn none() -> Self {
        Self::default()
    }

    /// Those of Kubernetes itself.
    pub fn built_in() -> Self {
        let mut found = Self::default();
        for line in BUILT_IN.lines() {
            let mut parts = line.splitn(3, '\t');
            if let (Some(definition), Some(field), Some(text)) = (parts.next(), parts.next(), parts.next()) {
                found.0.entry(definition).or_default().insert(field, unescaped(text));
            }
        }
        found
    }

    /// What a type means; empty where nobody said it.
    pub fn of_type(&self, definition: &str) -> &str {
        self.of_field(definition, "")
    }

    /// What a field means; empty where nobody said it.
    pub fn of_field(&self, definition: &str, field: &str) -> &str {
        self.0.get(definition).and_then(|fields| fields.get(field)).map_or("", String::as_str)
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                other => plain.extend(other),
            },
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_types_are_described() {
        let descriptions = Descriptions::built_in();
        assert_eq!(
            descriptions.of_field("io.k8s.api.apps.v1.DeploymentSpec", "paused"),
            "Indicates that the deployment is paused.",
        );
        assert!(
            descriptions.of_type("io.k8s.api.core.v1.Pod").starts_with("Pod is a collection of containers")
        );
        assert_eq!(descriptions.of_type("io.k8s.api.core.v1.Nothing"), "");
    }

    #[test]
    fn line_ends_come_back() {
        assert_eq!(unescaped(r"a\nb\\n\tc"), "a\nb\\n\tc");
    }
}
