//! The descriptions of the built-in types and fields.

use std::collections::BTreeMap;

/// What types and fields mean, by definition name.
#[derive(Debug, Default)]
pub struct Descriptions {
    types: BTreeMap<&'static str, &'static str>,
    fields: BTreeMap<(&'static str, &'static str), &'static str>,
}

impl Descriptions {
    /// Those of Kubernetes itself.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// What a type means; empty where nobody said it.
    pub fn of_type(&self, definition: &str) -> &'static str {
        self.types.get(definition).copied().unwrap_or_default()
    }

    /// What a field means; empty where nobody said it.
    pub fn of_field(&self, definition: &str, field: &str) -> &'static str {
        self.fields.get(&(definition, field)).copied().unwrap_or_default()
    }
}
