//! The small grammars inside of texts: type references, field references, cell templates.

use crate::diagnostic::{Diagnostics, Spanned};
use crate::spec::{BuiltIn, FieldName, Holds, Part, TypeName};

/// The names of the types that the language brings.
const BUILT_IN: [(&str, BuiltIn); 13] = [
    ("bool", BuiltIn::Bool),
    ("int32", BuiltIn::Int32),
    ("int64", BuiltIn::Int64),
    ("double", BuiltIn::Double),
    ("string", BuiltIn::String),
    ("bytes", BuiltIn::Bytes),
    ("time", BuiltIn::Time),
    ("microTime", BuiltIn::MicroTime),
    ("duration", BuiltIn::Duration),
    ("quantity", BuiltIn::Quantity),
    ("intOrString", BuiltIn::IntOrString),
    ("rawObject", BuiltIn::RawObject),
    ("fieldsV1", BuiltIn::FieldsV1),
];

/// `int32`, `list of Container`, `map of core/v1.Thing`, `any JSON`.
pub(super) fn holds(text: &str) -> Holds {
    if let Some(item) = text.strip_prefix("list of ") {
        Holds::List(Box::new(holds(item)))
    } else if let Some(value) = text.strip_prefix("map of ") {
        Holds::Map(Box::new(holds(value)))
    } else if text == "any" {
        Holds::Any(String::new())
    } else if let Some(definition) = text.strip_prefix("any ") {
        Holds::Any(definition.into())
    } else if let Some((_, built_in)) = BUILT_IN.iter().find(|(name, _)| *name == text) {
        Holds::BuiltIn(*built_in)
    } else {
        Holds::Named(type_name(text))
    }
}

/// The names of the types that the language brings, for suggestions.
pub(crate) fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// `Name`, `meta.Name` or `<folder>/<version>.Name`.
pub(super) fn type_name(text: &str) -> TypeName {
    match text.rsplit_once('.') {
        None => TypeName { home: None, name: text.into() },
        Some((home, name)) => {
            let (folder, version) = home.split_once('/').unwrap_or((home, "v1"));
            TypeName { home: Some((folder.into(), version.into())), name: name.into() }
        }
    }
}

/// `<type>.<field>`.
pub(super) fn field_name(text: Spanned<String>, problems: &mut Diagnostics) -> Option<Spanned<FieldName>> {
    let Some((of, field)) = text.value.rsplit_once('.') else {
        problems.report_with_help(&text.at, "this names no field", "write it as `core/v1.PodSpec.nodeName`");
        return None;
    };
    Some(Spanned::new(FieldName { of: type_name(of), field: field.into() }, text.at))
}

/// `{.status.ready|0}/{.spec.replicas}`.
pub(super) fn template(text: &Spanned<String>, problems: &mut Diagnostics) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text.value.as_str();
    while let Some((literal, after)) = rest.split_once('{') {
        if !literal.is_empty() {
            parts.push(Part::Literal(literal.into()));
        }
        let Some((path, after)) = after.split_once('}') else {
            problems.report(&text.at, "a `{` without its `}`");
            return parts;
        };
        let (path, otherwise) = path.split_once('|').unwrap_or((path, ""));
        parts.push(Part::Path(Spanned::new(path.into(), text.at.clone()), otherwise.into()));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest.into()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_they_are_spelt() {
        let named = |home: Option<(&str, &str)>, name: &str| {
            let home = home.map(|(folder, version)| (folder.into(), version.into()));
            Holds::Named(TypeName { home, name: name.into() })
        };
        for (text, expected) in [
            ("int32", Holds::BuiltIn(BuiltIn::Int32)),
            ("PodSpec", named(None, "PodSpec")),
            ("meta.ObjectMeta", named(Some(("meta", "v1")), "ObjectMeta")),
            ("rbac.authorization.k8s.io/v1.Role", named(Some(("rbac.authorization.k8s.io", "v1")), "Role")),
            (
                "list of map of string",
                Holds::List(Box::new(Holds::Map(Box::new(Holds::BuiltIn(BuiltIn::String))))),
            ),
            ("any", Holds::Any(String::new())),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }
}
