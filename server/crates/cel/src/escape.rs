//! The names of properties as identifiers: `a-b` is `a__dash__b`.

/// Words that the grammar keeps for itself.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// What stands for what.
const ESCAPES: &[(&str, &str)] =
    &[("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

/// The identifier for a property; none where it cannot be written as one.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        if let Some((plain, code)) = ESCAPES.iter().find(|(plain, _)| rest.starts_with(plain)) {
            escaped.push_str(code);
            rest = &rest[plain.len()..];
        } else if next.is_ascii_alphanumeric() || next == '_' {
            escaped.push(next);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    Some(escaped)
}

/// The property that an identifier stands for; none where it holds an escape that nobody knows.
pub fn unescape(identifier: &str) -> Option<String> {
    let mut name = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(at) = rest.find("__") {
        let after = &rest[at + 2..];
        let length = after.find('_').unwrap_or(after.len());
        if length == 0 || !after[length..].starts_with("__") {
            name.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        }
        name.push_str(&rest[..at]);
        let word = &after[..length];
        match ESCAPES.iter().find(|(_, code)| code.len() == length + 4 && &code[2..code.len() - 2] == word) {
            Some((plain, _)) => name.push_str(plain),
            None if RESERVED.contains(&word) && identifier.len() == length + 4 => name.push_str(word),
            None => return None,
        }
        rest = &after[length + 2..];
    }
    name.push_str(rest);
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_identifiers() {
        for (name, identifier) in [
            ("plain", Some("plain")),
            ("a-b", Some("a__dash__b")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("a__b", Some("a__underscores__b")),
            ("a___b", Some("a__underscores___b")),
            ("_a_", Some("_a_")),
            ("namespace", Some("__namespace__")),
            ("namespaces", Some("namespaces")),
            ("$a", None),
            ("1a", None),
            ("sp ace", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(escape(name).as_deref(), identifier, "{name}");
            if let Some(identifier) = identifier {
                assert_eq!(unescape(identifier).as_deref(), Some(name), "{identifier}");
            }
        }
        assert_eq!(unescape("a__wrong__b"), None);
        assert_eq!(unescape("a__in__b"), None);
    }
}
