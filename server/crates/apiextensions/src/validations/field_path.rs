//! `fieldPath` of rules: `.spec.a['b.c']`.

use apiwright_json::{Object, Value};
use apiwright_meta::Path;

/// The path that a text names below a schema; none where it names no field of it.
pub(super) fn parse(text: &str, schema: &Object) -> Option<Path> {
    let mut at = schema;
    let mut path = Path::default();
    let mut tokens = tokens(text).into_iter();
    while let Some(token) = tokens.next() {
        let name = match token.as_str() {
            "." => tokens.next()?,
            "[" => {
                let quoted = tokens.next()?;
                let inner = quoted.strip_prefix('\'')?.strip_suffix('\'').filter(|_| quoted.len() >= 2)?;
                let name = unescape(inner)?;
                if tokens.next()? != "]" {
                    return None;
                }
                name
            }
            _ => return None,
        };
        if let Some(properties) = at.get("properties").and_then(Value::as_object) {
            path = path.child(&name);
            at = properties.get(&name)?.as_object()?;
        } else {
            path = path.key(&name);
            at = at.get("additionalProperties")?.as_object()?;
        }
    }
    Some(path)
}

/// Delimiters, quoted texts and what is between them.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => {
                let bytes = rest.as_bytes();
                let close = (1..bytes.len()).find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\');
                close.map_or(rest.len(), |at| at + 1)
            }
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        tokens.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    tokens
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            out.push(sign);
            continue;
        }
        out.push(match signs.next()? {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\'' => '\'',
            '\\' => '\\',
            _ => return None,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_fields() {
        let schema = r#"{"properties":{"a":{"properties":{"b.c":{}}},"m":{"additionalProperties":{}}}}"#;
        let schema = apiwright_json::decode(schema.as_bytes()).expect("JSON").0;
        let schema = schema.as_object().expect("an object");
        for (text, path) in [
            (".a", Some("a")),
            (".a['b.c']", Some("a.b.c")),
            (".m.x", Some("m[x]")),
            (".m['x\\'y']", Some("m[x'y]")),
            (".b", None),
            ("a", None),
            ("[0]", None),
            (" ", None),
            (".a\n", None),
            (".", None),
            (".a[", None),
        ] {
            let parsed = parse(text, schema);
            assert_eq!(parsed.as_ref().map(Path::as_str), path, "{text}");
        }
    }
}
