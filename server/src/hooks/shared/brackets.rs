//! Paths to fields, as `JSONPath` writes them.

/// What is wrong with a path, in the words of `k8s.io/client-go/util/jsonpath`.
///
/// Absence: only its brackets and quotes are looked at; nothing follows these paths here.
pub fn fault(path: &str) -> Option<&'static str> {
    let mut rest = path;
    while let Some(at) = rest.find('[') {
        rest = &rest[at + 1..];
        let mut quote = None;
        let mut end = None;
        for (at, one) in rest.char_indices() {
            match (quote, one) {
                (None, '\'' | '"') => quote = Some(one),
                (Some(open), one) if open == one => quote = None,
                (None, ']') => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        match end {
            Some(end) => rest = &rest[end + 1..],
            None if rest.starts_with("?(") => return Some("unterminated filter"),
            None => return Some("unterminated array"),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn open_brackets_are_told() {
        for (path, expected) in [
            ("spec.validations[0].expression", None),
            ("spec.['a]'].b", None),
            ("spec.[", Some("unterminated array")),
            ("spec[?(@.a", Some("unterminated filter")),
        ] {
            assert_eq!(fault(path), expected, "{path}");
        }
    }
}
