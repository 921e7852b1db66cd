//! Regular expressions as Go's: compiled once each, with Go's words for what cannot be compiled.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

/// How many stay compiled. Beyond, all are forgotten: compiling again is only slow.
const KEPT_MAX: usize = 512;
/// How large these are at most, in bytes.
const SIZE: usize = 1 << 20;
/// How large one may be that is kept with few others.
const SIZE_MAX: usize = 10 << 20;
/// How many others.
const LARGE_MAX: usize = 16;

/// An expression, or Go's text for why it is none.
pub type Compiled = Result<Arc<Regex>, String>;

/// The usual ones and the large ones.
static COMPILED: LazyLock<Mutex<[HashMap<String, Compiled>; 2]>> = LazyLock::new(Mutex::default);

/// An expression, compiled.
///
/// # Errors
/// With Go's text.
pub fn compiled(pattern: &str) -> Compiled {
    let known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.iter().find_map(|all| all.get(pattern)) {
        return known.clone();
    }
    drop(known);
    let (made, is_large) = build(pattern);
    let made = made.map(Arc::new);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let (kept, most) = if is_large { (&mut compiled[1], LARGE_MAX) } else { (&mut compiled[0], KEPT_MAX) };
    if kept.len() >= most {
        kept.clear();
    }
    kept.insert(pattern.to_owned(), made.clone());
    made
}

/// An expression, compiled for one that keeps it.
///
/// # Errors
/// With Go's text.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    build(pattern).0
}

/// An expression, compiled, and whether that is large.
fn build(pattern: &str) -> (Result<Regex, String>, bool) {
    const UNKNOWN: &str = "expression nests too deeply or is too large";
    let failed = |why: &str| format!("error parsing regexp: {why}");
    // Go refuses some that are understood here.
    if let Some(why) = fault(pattern) {
        return (Err(failed(&why)), false);
    }
    let translated = translate(pattern);
    let sized = |size| RegexBuilder::new(&translated).size_limit(size).build();
    match sized(SIZE) {
        Err(regex::Error::CompiledTooBig(_)) => (sized(SIZE_MAX).map_err(|_| failed(UNKNOWN)), true),
        built => (built.map_err(|_| failed(UNKNOWN)), false),
    }
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
                    // `\x{41}`, `\p{L}`
                    if matches!(other, 'x' | 'p' | 'P') && signs.peek() == Some(&'{') {
                        for sign in signs.by_ref() {
                            out.push(sign);
                            if sign == '}' {
                                break;
                            }
                        }
                    }
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

/// What Go says is wrong, where it says something.
fn fault(pattern: &str) -> Option<String> {
    let mut depth = 0_usize;
    let mut class: Option<usize> = None;
    let mut signs = pattern.char_indices().peekable();
    let mut repeatable = false;
    // Where the last repetition began and ended.
    let mut repeated: Option<(usize, usize)> = None;
    while let Some((at, sign)) = signs.next() {
        if let Some(start) = class {
            match sign {
                '\\' => {
                    signs.next();
                }
                ']' if at > start + 1 && &pattern[start..at] != "[^" => class = None,
                _ => {
                    if let Some(range) = backwards(&pattern[at..]) {
                        return Some(format!("invalid character class range: `{range}`"));
                    }
                }
            }
            continue;
        }
        let rest = &pattern[at..];
        if let Some(length) = repetition_at(rest) {
            if let Some((from, _)) = repeated.filter(|(_, end)| *end == at) {
                let both = &pattern[from..at + length];
                return Some(format!("invalid nested repetition operator: `{both}`"));
            }
            if !repeatable {
                return Some(format!("missing argument to repetition operator: `{}`", &rest[..length]));
            }
            if let Some(count) = beyond(&rest[..length]) {
                return Some(format!("invalid repeat count: `{count}`"));
            }
            // What makes it lazy is of it.
            let lazy = usize::from(rest[length..].starts_with('?'));
            repeated = Some((at, at + length + lazy));
            while signs.next_if(|(next, _)| *next < at + length + lazy).is_some() {}
            continue;
        }
        match sign {
            '\\' if signs.peek().is_none() => {
                return Some("trailing backslash at end of expression: ``".to_owned());
            }
            '\\' => {
                let next = signs.next().map(|(_, next)| next).unwrap_or_default();
                if next == 'Q' {
                    let end = rest.find("\\E").map_or(pattern.len(), |end| at + end + 2);
                    while signs.next_if(|(next, _)| *next < end).is_some() {}
                } else if next.is_ascii_alphanumeric() && !"AbBdDsSwWpPECzafnrtvx01234567".contains(next) {
                    return Some(format!("invalid escape sequence: `\\{next}`"));
                } else if matches!(next, 'x' | 'p' | 'P') && rest[2..].starts_with('{') {
                    let end = rest.find('}').map_or(pattern.len(), |end| at + end + 1);
                    while signs.next_if(|(next, _)| *next < end).is_some() {}
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
                if let Some(why) = group(rest) {
                    return Some(why);
                }
                // The signs of its head repeat nothing.
                if rest.starts_with("(?") {
                    let head = rest.find([':', ')', '>']).unwrap_or(rest.len());
                    let head = head + usize::from(!rest[head..].starts_with(')'));
                    while signs.next_if(|(next, _)| *next < at + head).is_some() {}
                }
            }
            ')' if depth == 0 => return Some(format!("unexpected ): `{pattern}`")),
            ')' => {
                depth -= 1;
                repeatable = true;
            }
            '|' => repeatable = false,
            _ => repeatable = true,
        }
    }
    if let Some(start) = class {
        return Some(format!("missing closing ]: `{}`", &pattern[start..]));
    }
    (depth > 0).then(|| format!("missing closing ): `{pattern}`"))
}

/// How long a repetition is that a text begins with.
fn repetition_at(rest: &str) -> Option<usize> {
    if rest.starts_with(['*', '+', '?']) {
        return Some(1);
    }
    let inner = rest.strip_prefix('{')?;
    repetition(inner).then(|| rest.find('}').map_or(rest.len(), |end| end + 1))
}

/// `{2,1}` and counts beyond a thousand.
fn beyond(repetition: &str) -> Option<&str> {
    const MOST: u64 = 1000;
    let inner = repetition.strip_prefix('{')?.strip_suffix('}')?;
    let (min, max) = inner.split_once(',').unwrap_or((inner, inner));
    let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
    let max = if max.is_empty() { number(min) } else { number(max) };
    (number(min) > MOST || max > MOST || max < number(min)).then_some(repetition)
}

/// The range that a text within a class begins with, if it ends before it begins.
fn backwards(rest: &str) -> Option<&str> {
    let mut signs = rest.char_indices();
    let ((_, from), (_, dash), (at, to)) = (signs.next()?, signs.next()?, signs.next()?);
    let is_plain = |sign: char| !matches!(sign, '[' | ']' | '\\');
    (dash == '-' && is_plain(from) && is_plain(to) && to < from).then(|| &rest[..at + to.len_utf8()])
}

/// What is wrong with the head of a group.
fn group(rest: &str) -> Option<String> {
    let head = rest.strip_prefix("(?")?;
    let unknown = |length: usize| {
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        Some(format!("invalid or unsupported Perl syntax: `{}`", &rest[..end]))
    };
    if let Some(name) = head.strip_prefix("P<").or_else(|| head.strip_prefix('<')) {
        let Some(end) = name.find('>') else { return Some(format!("invalid named capture: `{rest}`")) };
        let name = &name[..end];
        let is_name = !name.is_empty() && name.chars().all(|sign| sign == '_' || sign.is_alphanumeric());
        let whole = &rest[..=rest.find('>').unwrap_or_default()];
        return (!is_name).then(|| format!("invalid named capture: `{whole}`"));
    }
    for (at, sign) in head.chars().enumerate() {
        match sign {
            'i' | 'm' | 's' | 'U' | '-' => {}
            ':' | ')' => return None,
            _ => return unknown(at + 3),
        }
    }
    Some(format!("missing closing ): `{rest}`"))
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
            ("^(?i:A)+?b$", "aab", true),
            ("^(?P<x>a)(?<y>b)$", "ab", true),
            (r"^\Qa**\E$", "a**", true),
            ("^[^]a]$", "b", true),
            (r"^\x{1041}\pL\p{Lu}$", "၁aA", true),
            ("^(?:ab|c)?$", "ab", true),
            (r"^[\p{L}]{0,62}$", "abc", true),
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
            ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
            ("(?P<a-b>c)", "invalid named capture: `(?P<a-b>`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{2}+", "invalid nested repetition operator: `{2}+`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
        ] {
            assert_eq!(
                compile(pattern).map(|_| ()),
                Err(format!("error parsing regexp: {why}")),
                "{pattern}"
            );
        }
    }
}
