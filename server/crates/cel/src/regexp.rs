//! Regular expressions as Go's: compiled once each, with Go's words for what cannot be compiled.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

/// How many stay compiled. Beyond, all are forgotten: compiling again is only slow.
const KEPT_MAX: usize = 512;
/// How large a compiled one may be, in bytes.
const SIZE_MAX: usize = 1 << 20;

type Compiled = Result<Arc<Regex>, String>;

static COMPILED: LazyLock<Mutex<HashMap<String, Compiled>>> = LazyLock::new(Mutex::default);

/// An expression, compiled.
///
/// # Errors
/// With Go's text.
pub(crate) fn compiled(pattern: &str) -> Compiled {
    if let Some(known) = COMPILED.lock().unwrap_or_else(PoisonError::into_inner).get(pattern) {
        return known.clone();
    }
    let made = compile(pattern).map(Arc::new);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.len() >= KEPT_MAX {
        compiled.clear();
    }
    compiled.insert(pattern.to_owned(), made.clone());
    made
}

/// An expression, compiled for one that keeps it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let build = |text: &str| RegexBuilder::new(text).size_limit(SIZE_MAX).build();
    build(&translate(pattern)).map_err(|_| format!("error parsing regexp: {}", fault(pattern)))
}

/// Go's classes are ASCII's, and some brackets that Go takes as they are mean something here.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut signs = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next() {
                Some('d') => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
                Some('w') => out.push_str(if in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
                Some('s') => out.push_str(if in_class { r"\t\n\f\r " } else { r"[\t\n\f\r ]" }),
                Some('D') if !in_class => out.push_str("[^0-9]"),
                Some('W') if !in_class => out.push_str("[^0-9A-Za-z_]"),
                Some('S') if !in_class => out.push_str(r"[^\t\n\f\r ]"),
                Some('b') if !in_class => out.push_str(r"(?-u:\b)"),
                // What lies between is literal.
                Some('Q') => {
                    let rest: String = signs.clone().collect();
                    let end = rest.find("\\E").unwrap_or(rest.len());
                    out.push_str(&regex::escape(&rest[..end]));
                    for _ in rest[..(end + 2).min(rest.len())].chars() {
                        signs.next();
                    }
                }
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if signs.peek() == Some(&'^') {
                    out.push('^');
                    signs.next();
                }
                if signs.peek() == Some(&']') {
                    out.push_str("\\]");
                    signs.next();
                }
            }
            '[' if signs.peek() != Some(&':') => out.push_str("\\["),
            // `[:alpha:]`
            '[' => {
                out.push('[');
                while let Some(sign) = signs.next() {
                    out.push(sign);
                    if sign == ':' && signs.peek() == Some(&']') {
                        out.push(']');
                        signs.next();
                        break;
                    }
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(sign);
            }
            // A brace that begins no repetition is one.
            '{' if !in_class && !repetition(&signs.clone().collect::<String>()) => out.push_str("\\{"),
            other => out.push(other),
        }
    }
    out
}

fn repetition(rest: &str) -> bool {
    let Some((inner, _)) = rest.split_once('}') else { return false };
    let (min, max) = inner.split_once(',').unwrap_or((inner, ""));
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !min.is_empty() && number(min) && number(max)
}

/// What Go says is wrong.
fn fault(pattern: &str) -> String {
    let mut depth = 0_usize;
    let mut class: Option<usize> = None;
    let mut signs = pattern.char_indices().peekable();
    let mut repeatable = false;
    while let Some((at, sign)) = signs.next() {
        if let Some(start) = class {
            match sign {
                '\\' => {
                    signs.next();
                }
                ']' if at > start + 1 => class = None,
                _ => {}
            }
            continue;
        }
        match sign {
            '\\' if signs.peek().is_none() => {
                return "trailing backslash at end of expression: ``".to_owned();
            }
            '\\' => {
                let next = signs.next().map(|(_, next)| next).unwrap_or_default();
                if next.is_ascii_alphanumeric() && !"AbBdDsSwWpPQECzafnrtvx01234567".contains(next) {
                    return format!("invalid escape sequence: `\\{next}`");
                }
                repeatable = true;
            }
            '[' => {
                class = Some(at);
                repeatable = true;
            }
            '(' => {
                depth += 1;
                repeatable = false;
                if pattern[at..].starts_with("(?=") || pattern[at..].starts_with("(?!") {
                    return format!("invalid or unsupported Perl syntax: `{}`", &pattern[at..at + 3]);
                }
                if pattern[at..].starts_with("(?<") {
                    return "invalid or unsupported Perl syntax: `(?<`".to_owned();
                }
            }
            ')' if depth == 0 => return format!("unexpected ): `{pattern}`"),
            ')' => {
                depth -= 1;
                repeatable = true;
            }
            '*' | '+' | '?' if !repeatable => {
                return format!("missing argument to repetition operator: `{sign}`");
            }
            '|' => repeatable = false,
            _ => repeatable = true,
        }
    }
    if let Some(start) = class {
        return format!("missing closing ]: `{}`", &pattern[start..]);
    }
    if depth > 0 {
        return format!("missing closing ): `{pattern}`");
    }
    "expression nests too deeply or is too large".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_they_mean_to_go() {
        for (pattern, text, matches) in [
            (r"^\d+\.\d+$", "1.2", true),
            (r"^\d$", "٣", false),
            (r"^\w+$", "é", false),
            (r"^[\d-]+$", "1-2", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            ("^a{$", "a{", true),
            ("^[[a]$", "[", true),
            ("^[]a]$", "]", true),
            ("^[[:alpha:]]$", "x", true),
            ("^[a&&b]$", "&", true),
            ("^a{2,3}$", "aaa", true),
        ] {
            assert_eq!(compile(pattern).map(|regex| regex.is_match(text)), Ok(matches), "{pattern} {text}");
        }
    }

    #[test]
    fn faults_are_told_as_go_tells_them() {
        for (pattern, why) in [
            ("a(", "missing closing ): `a(`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("*", "missing argument to repetition operator: `*`"),
            (r"\", "trailing backslash at end of expression: ``"),
            (r"\y", r"invalid escape sequence: `\y`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ] {
            assert_eq!(
                compile(pattern).map(|_| ()),
                Err(format!("error parsing regexp: {why}")),
                "{pattern}"
            );
        }
    }
}
