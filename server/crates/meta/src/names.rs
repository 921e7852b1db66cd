//! What names may look like: of objects, labels, ports, keys (upstream: `util/validation`, `api/validate/content`).
//!
//! Each check returns what is wrong with a text, in upstream's words; nothing when it is fine.
//! The words quote the regular expressions of upstream; the checks are written out by hand, as
//! they run on every label of every write.

/// A check of an object's name; the flag says that the text is a prefix which a suffix will follow.
pub type NameCheck = fn(&str, bool) -> Vec<String>;

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1123_SUBDOMAIN_UNDERSCORE: &str =
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_KEY_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
     '-' or '.', and must start and end with an alphanumeric character";

/// The longest subdomain.
pub const DNS1123_SUBDOMAIN_MAX: usize = 253;
/// The longest label of a domain.
pub const DNS1123_LABEL_MAX: usize = 63;

/// An object's name that is a DNS subdomain: what most kinds ask for.
pub fn name_is_dns_subdomain(name: &str, prefix: bool) -> Vec<String> {
    dns1123_subdomain(&masked(name, prefix))
}

/// An object's name that is a DNS label: namespaces, and what becomes a host name.
pub fn name_is_dns_label(name: &str, prefix: bool) -> Vec<String> {
    dns1123_label(&masked(name, prefix))
}

/// An object's name that is a DNS label which starts with a letter: services.
pub fn name_is_dns1035_label(name: &str, prefix: bool) -> Vec<String> {
    dns1035_label(&masked(name, prefix))
}

/// An object's name that only has to be a segment of a path: roles and their bindings.
pub fn name_is_path_segment(name: &str, prefix: bool) -> Vec<String> {
    if prefix { path_segment_prefix(name) } else { path_segment_name(name) }
}

/// Of a prefix, a final dash is as good as a letter. (Upstream masks the character before it as well.)
fn masked(name: &str, prefix: bool) -> std::borrow::Cow<'_, str> {
    match name.strip_suffix('-') {
        Some(rest) if prefix && !rest.is_empty() => {
            let kept = rest.char_indices().next_back().map_or(0, |(at, _)| at);
            format!("{}a", &rest[..kept]).into()
        }
        _ => name.into(),
    }
}

/// A label of a domain (RFC 1123).
pub fn dns1123_label(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > DNS1123_LABEL_MAX {
        faults.push(too_long_characters(DNS1123_LABEL_MAX));
    }
    if !is_dns1123_label(value) {
        if is_dns1123_subdomain(value) {
            faults.push("must not contain dots".into());
        } else {
            faults.push(mismatch(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                 start and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            ));
        }
    }
    faults
}

/// A subdomain (RFC 1123).
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    subdomain(value, too_long_characters)
}

/// A subdomain in which labels may have underscores.
pub fn dns1123_subdomain_with_underscore(value: &str) -> Vec<String> {
    let mut faults = longer_than(DNS1123_SUBDOMAIN_MAX, value);
    let label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label);
        bracketed(label, lower_or_digit, |b| lower_or_digit(b) || b == b'-' || b == b'_')
    };
    if !value.split('.').all(label) {
        faults.push(mismatch(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and \
             must start and end with an alphanumeric character",
            DNS1123_SUBDOMAIN_UNDERSCORE,
            &["example.com"],
        ));
    }
    faults
}

/// A label of a domain that starts with a letter (RFC 1035).
pub fn dns1035_label(value: &str) -> Vec<String> {
    let mut faults = longer_than(DNS1123_LABEL_MAX, value);
    if !(is_dns1123_label(value) && value.starts_with(|c: char| c.is_ascii_lowercase())) {
        faults.push(mismatch(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    faults
}

/// A subdomain after `*.`.
pub fn wildcard_dns1123_subdomain(value: &str) -> Vec<String> {
    let mut faults = longer_than(DNS1123_SUBDOMAIN_MAX, value);
    if !value.strip_prefix("*.").is_some_and(is_dns1123_subdomain) {
        faults.push(mismatch(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
             consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!(r"\*\.{DNS1123_SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    faults
}

/// A label's key: a name, and before it a subdomain and a slash where there is one.
pub fn label_key(value: &str) -> Vec<String> {
    let examples = &["MyName", "my.name", "123-abc"];
    let mut faults = Vec::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, name)) if name.contains('/') => {
            let words = mismatch(LABEL_KEY_WORDS, LABEL_KEY, examples);
            return vec![format!(
                "a valid label key {words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            faults.push("prefix part must be non-empty".into());
            name
        }
        Some((prefix, name)) => {
            let prefix_faults = subdomain(prefix, too_long_bytes);
            faults.extend(prefix_faults.into_iter().map(|fault| format!("prefix part {fault}")));
            name
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        faults.push(format!("name part {}", too_long_bytes(63)));
    }
    if !is_label_name(name) {
        faults.push(format!("name part {}", mismatch(LABEL_KEY_WORDS, LABEL_KEY, examples)));
    }
    faults
}

/// What many fields call a qualified name is a label's key.
pub fn qualified_name(value: &str) -> Vec<String> {
    label_key(value)
}

/// A label's key that must have a prefix.
pub fn prefixed_label_key(value: &str) -> Vec<String> {
    let faults = label_key(value);
    if faults.is_empty() && !value.contains('/') {
        return vec!["must include a prefix (e.g. 'example.com/key')".into()];
    }
    faults
}

/// A label's value.
pub fn label_value(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push(too_long_bytes(63));
    }
    if !value.is_empty() && !is_label_name(value) {
        faults.push(mismatch(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            &format!("({LABEL_KEY})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    faults
}

/// An identifier of C.
pub fn c_identifier(value: &str) -> Vec<String> {
    let first = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    let fine =
        value.bytes().next().is_some_and(first) && value.bytes().all(|b| first(b) || b.is_ascii_digit());
    unless(fine, || {
        mismatch(
            "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
             characters or '_'",
            "[A-Za-z_][A-Za-z0-9_]*",
            &["my_name", "MY_NAME", "MyName"],
        )
    })
}

/// A port's number.
pub fn port_num(port: i64) -> Vec<String> {
    in_range(port, 1, 65535)
}

/// A number between two, both included.
pub fn in_range(value: i64, min: i64, max: i64) -> Vec<String> {
    unless((min..=max).contains(&value), || format!("must be between {min} and {max}, inclusive"))
}

/// A port's name (RFC 6335).
pub fn port_name(port: &str) -> Vec<String> {
    let mut faults = longer_than(15, port);
    if port.is_empty() || !port.bytes().all(|b| lower_or_digit(b) || b == b'-') {
        faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !port.bytes().any(|b| b.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)".into());
    }
    if port.contains("--") {
        faults.push("must not contain consecutive hyphens".into());
    }
    if port.starts_with('-') || port.ends_with('-') {
        faults.push("must not begin or end with a hyphen".into());
    }
    faults
}

/// A number and a percent sign.
pub fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    unless(!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()), || {
        mismatch(
            "a valid percent string must be a numeric string followed by an ending '%'",
            "[0-9]+%",
            &["1%", "93%"],
        )
    })
}

/// A decimal integer as people write it.
pub fn decimal_integer(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["must be non-empty".into()];
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    let fine = value == "0"
        || (matches!(digits.bytes().next(), Some(b'1'..=b'9')) && digits.bytes().all(|b| b.is_ascii_digit()));
    unless(fine, || "must be a valid decimal integer in canonical form".into())
}

/// The name of an HTTP header.
pub fn http_header_name(value: &str) -> Vec<String> {
    let fine = !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    unless(fine, || {
        mismatch(
            "a valid HTTP header must consist of alphanumeric characters or '-'",
            "[-A-Za-z0-9]+",
            &["X-Header-Name"],
        )
    })
}

/// The strict form of an environment variable's name.
pub fn env_var_name(value: &str) -> Vec<String> {
    let fine = config_map_key_characters(value) && !value.starts_with(|c: char| c.is_ascii_digit());
    let mut faults = unless(fine, || {
        mismatch(
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and \
             must not start with a digit",
            "[-._a-zA-Z][-._a-zA-Z0-9]*",
            &["my.env-name", "MY_ENV.NAME", "MyEnvName1"],
        )
    });
    faults.extend(parent_directory(value));
    faults
}

/// The name of an environment variable.
pub fn relaxed_env_var_name(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["environment variable name must be non-empty".into()];
    }
    unless(value.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'='), || {
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .into()
    })
}

/// A key of a config map or secret.
pub fn config_map_key(value: &str) -> Vec<String> {
    let mut faults = longer_than(DNS1123_SUBDOMAIN_MAX, value);
    if !config_map_key_characters(value) {
        faults.push(mismatch(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    faults.extend(parent_directory(value));
    faults
}

/// A segment of a path.
pub fn path_segment_name(name: &str) -> Vec<String> {
    match name {
        "." | ".." => vec![format!("may not be '{name}'")],
        _ => path_segment_prefix(name),
    }
}

/// The start of a segment of a path.
pub fn path_segment_prefix(name: &str) -> Vec<String> {
    ["/", "%"]
        .iter()
        .filter(|bad| name.contains(**bad))
        .map(|bad| format!("may not contain '{bad}'"))
        .collect()
}

/// The reason of a condition.
pub fn condition_reason(value: &str) -> Vec<String> {
    let end = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let fine = value.starts_with(|c: char| c.is_ascii_alphabetic())
        && bracketed(value, end, |b| end(b) || b == b',' || b == b':');
    unless(fine, || {
        mismatch(
            "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric \
             characters or '_,:', and must end with an alphanumeric character or '_'",
            "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
            &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
        )
    })
}

/// `<words> (e.g. 'a',  or 'b', regex used for validation is '<expression>')`.
pub fn mismatch(words: &str, expression: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{words} (regex used for validation is '{expression}')");
    }
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{expression}')", examples.join(" or "))
}

fn subdomain(value: &str, too_long: fn(usize) -> String) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > DNS1123_SUBDOMAIN_MAX {
        faults.push(too_long(DNS1123_SUBDOMAIN_MAX));
    }
    if !is_dns1123_subdomain(value) {
        faults.push(mismatch(SUBDOMAIN_WORDS, DNS1123_SUBDOMAIN, &["example.com"]));
    }
    faults
}

fn is_dns1123_label(value: &str) -> bool {
    bracketed(value, lower_or_digit, |b| lower_or_digit(b) || b == b'-')
}

fn is_dns1123_subdomain(value: &str) -> bool {
    value.split('.').all(is_dns1123_label)
}

fn is_label_name(value: &str) -> bool {
    bracketed(
        value,
        |b| b.is_ascii_alphanumeric(),
        |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'),
    )
}

/// Not empty, all bytes `inner`, the first and the last also `outer`.
fn bracketed(value: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match value.as_bytes() {
        [] => false,
        [only] => outer(*only),
        [first, between @ .., last] => outer(*first) && outer(*last) && between.iter().all(|b| inner(*b)),
    }
}

fn lower_or_digit(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

fn config_map_key_characters(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn parent_directory(value: &str) -> Option<String> {
    match value {
        "." => Some("must not be '.'".into()),
        ".." => Some("must not be '..'".into()),
        _ if value.starts_with("..") => Some("must not start with '..'".into()),
        _ => None,
    }
}

fn longer_than(max: usize, value: &str) -> Vec<String> {
    unless(value.len() <= max, || too_long_characters(max))
}

fn too_long_characters(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn too_long_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

fn unless(fine: bool, fault: impl FnOnce() -> String) -> Vec<String> {
    if fine { Vec::new() } else { vec![fault()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Check = fn(&str) -> Vec<String>;

    #[test]
    fn what_is_fine_and_what_is_not() {
        let long = "a".repeat(64);
        let longer = "a".repeat(254);
        let table: &[(Check, &[&str], &[&str])] = &[
            (
                dns1123_label,
                &["a", "0", "a-b", "a--1"],
                &["", "-", "a-", "-a", "A", "a.b", "a_b", "é", &long],
            ),
            (
                dns1123_subdomain,
                &["a", "a.b", "a-b.c0", &long],
                &["", ".", "a.", "a..b", "A.b", "a_b", &longer],
            ),
            (dns1123_subdomain_with_underscore, &["_a.b", "a_b"], &["__a", "a_", ""]),
            (dns1035_label, &["a", "a-0"], &["", "0a", "-a", "a-", "A"]),
            (wildcard_dns1123_subdomain, &["*.a.b"], &["*.", "*", "a.b", "*.*.a"]),
            (label_key, &["a", "A_b.c", "a.b/C"], &["", "/a", "a/", "a/b/c", "A/b", "-a", "a ", &long]),
            (label_value, &["", "a", "A_b.c", "0"], &["-", "a-", "a b", "é", &long]),
            (c_identifier, &["a", "_a0"], &["", "0a", "a-b"]),
            (port_name, &["http", "a-0"], &["", "0", "a--b", "-a", "A", "abcdefghijklmnop"]),
            (percent, &["0%", "100%"], &["", "%", "1", "-1%", "1.5%"]),
            (decimal_integer, &["0", "-1", "10"], &["", "-", "-0", "00", "01", "+1", "1a"]),
            (http_header_name, &["X-a"], &["", "a b", "a_b"]),
            (env_var_name, &["a.b-C_0"], &["", "0a", "..", "a b"]),
            (relaxed_env_var_name, &["a b!", "0"], &["", "a=b", "é", "\n"]),
            (config_map_key, &["a.b", "0", ".a"], &["", ".", "..", "..a", "a/b", &longer]),
            (path_segment_name, &["a:b", "", "a b"], &[".", "..", "a/b", "a%b"]),
            (condition_reason, &["A", "Ab,C:d_"], &["", "0a", "a:", "a-b"]),
        ];
        for (check, fine, wrong) in table {
            for value in *fine {
                assert_eq!(check(value), Vec::<String>::new(), "{value:?}");
            }
            for value in *wrong {
                assert_ne!(check(value), Vec::<String>::new(), "{value:?}");
            }
        }
    }

    #[test]
    fn the_words_of_upstream() {
        let table: &[(Check, &str, &[&str])] = &[
            (dns1123_label, "a.b", &["must not contain dots"]),
            (
                dns1123_subdomain,
                "CM",
                &[
                    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                   must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
                   is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                ],
            ),
            (
                label_key,
                "/",
                &[
                    "prefix part must be non-empty",
                    "name part must be non-empty",
                    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                     an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                     validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                ],
            ),
            (path_segment_name, "a/%", &["may not contain '/'", "may not contain '%'"]),
        ];
        for (check, value, expected) in table {
            assert_eq!(check(value), *expected, "{value:?}");
        }
    }

    #[test]
    fn prefixes_may_end_in_a_dash() {
        let table = [
            ("a-", true),
            ("ab-", true),
            ("-", false),
            ("a--", true),
            ("A-", true),
            ("Ab-", false),
            ("a.-", true),
        ];
        for (prefix, fine) in table {
            assert_eq!(name_is_dns_subdomain(prefix, true).is_empty(), fine, "{prefix}");
        }
    }
}
