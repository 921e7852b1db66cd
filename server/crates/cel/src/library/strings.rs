//! Texts.

use apiwright_meta::regexp;

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::library::formatting;
use crate::value::Val;

/// What the language itself has.
pub(super) const STANDARD: &[Entry] = &[
    Entry {
        name: "startsWith",
        price: Price::Text,
        native: starts_with,
        signatures: &["starts_with_string: string.(string) -> bool"],
    },
    Entry {
        name: "endsWith",
        price: Price::Text,
        native: ends_with,
        signatures: &["ends_with_string: string.(string) -> bool"],
    },
    Entry {
        name: "contains",
        price: Price::Product,
        native: contains,
        signatures: &["contains_string: string.(string) -> bool"],
    },
    Entry {
        name: "matches",
        price: Price::Regex,
        native: matches,
        signatures: &["matches: (string, string) -> bool", "matches_string: string.(string) -> bool"],
    },
];

/// What Kubernetes has besides.
pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "charAt",
        price: Price::One,
        native: char_at,
        signatures: &["string_char_at_int: string.(int) -> string"],
    },
    Entry {
        name: "lowerAscii",
        price: Price::Text,
        native: lower,
        signatures: &["string_lower_ascii: string.() -> string"],
    },
    Entry {
        name: "upperAscii",
        price: Price::Text,
        native: upper,
        signatures: &["string_upper_ascii: string.() -> string"],
    },
    Entry {
        name: "trim",
        price: Price::Text,
        native: trim,
        signatures: &["string_trim: string.() -> string"],
    },
    Entry {
        name: "replace",
        price: Price::TextTwice,
        native: replace,
        signatures: &[
            "string_replace_string_string: string.(string, string) -> string",
            "string_replace_string_string_int: string.(string, string, int) -> string",
        ],
    },
    Entry {
        name: "split",
        price: Price::TextTwice,
        native: split,
        signatures: &[
            "string_split_string: string.(string) -> list(string)",
            "string_split_string_int: string.(string, int) -> list(string)",
        ],
    },
    Entry {
        name: "substring",
        price: Price::Text,
        native: substring,
        signatures: &[
            "string_substring_int: string.(int) -> string",
            "string_substring_int_int: string.(int, int) -> string",
        ],
    },
    Entry {
        name: "join",
        price: Price::Joined,
        native: join,
        signatures: &[
            "list_join: list(string).() -> string",
            "list_join_string: list(string).(string) -> string",
        ],
    },
    Entry {
        name: "format",
        price: Price::Text,
        native: format,
        signatures: &["string_format: string.(list(dyn)) -> string"],
    },
    Entry {
        name: "strings.quote",
        price: Price::Text,
        native: quote,
        signatures: &["strings_quote: (string) -> string"],
    },
    Entry {
        name: "jsonpatch.escapeKey",
        price: Price::Text,
        native: escape_key,
        signatures: &["string_jsonpatch_escapeKey_string: (string) -> string"],
    },
];

fn starts_with<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text), Val::String(part)] => Ok(Val::Bool(text.starts_with(&**part))),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn ends_with<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text), Val::String(part)] => Ok(Val::Bool(text.ends_with(&**part))),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn contains<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text), Val::String(part)] => Ok(Val::Bool(text.contains(&**part))),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn matches<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text), Val::String(pattern)] => {
            let regex = regexp::compiled(pattern).map_err(EvalError::new)?;
            Ok(Val::Bool(regex.is_match(text)))
        }
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn out_of_range(at: i64) -> EvalError {
    EvalError::new(format!("index out of range: {at}"))
}

/// The byte where a character begins; none beyond the end.
fn byte_of(text: &str, at: i64) -> Option<usize> {
    let at = usize::try_from(at).ok()?;
    if text.is_ascii() {
        return (at <= text.len()).then_some(at);
    }
    text.char_indices().map(|(byte, _)| byte).chain([text.len()]).nth(at)
}

fn char_at<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text), Val::Int(at)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let byte = byte_of(text, *at).ok_or_else(|| out_of_range(*at))?;
    Ok(Val::text(text[byte..].chars().next().map(String::from).unwrap_or_default()))
}

fn lower<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text)] => Ok(Val::text(text.to_ascii_lowercase())),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn upper<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text)] => Ok(Val::text(text.to_ascii_uppercase())),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn trim<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text)] => Ok(Val::text(text.trim())),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

/// The longest text that a function makes: what a request may hold many times over.
const BYTES_MAX: usize = 64 << 20;

fn replace<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, old, new, limit) = match args {
        [Val::String(text), Val::String(old), Val::String(new)] => (text, old, new, -1),
        [Val::String(text), Val::String(old), Val::String(new), Val::Int(limit)] => (text, old, new, *limit),
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    let places = if old.is_empty() { text.len() + 1 } else { text.len() / old.len() };
    if places.saturating_mul(new.len()) > BYTES_MAX {
        return Err(EvalError::CANCELLED);
    }
    Ok(Val::text(match usize::try_from(limit) {
        Ok(limit) => text.replacen(&**old, new, limit),
        Err(_) => text.replace(&**old, new),
    }))
}

fn split<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, separator, limit) = match args {
        [Val::String(text), Val::String(separator)] => (text, separator, -1),
        [Val::String(text), Val::String(separator), Val::Int(limit)] => (text, separator, *limit),
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Val::list(Vec::new()));
    }
    let parts: Vec<Val<'_>> = if separator.is_empty() {
        // Into characters, the last part being what is left.
        let mut starts: Vec<usize> = text.char_indices().map(|(byte, _)| byte).collect();
        starts.truncate(limit);
        let ends = starts.iter().skip(1).copied().chain([text.len()]);
        starts.iter().zip(ends).map(|(start, end)| Val::text(&text[*start..end])).collect()
    } else {
        text.splitn(limit, &**separator).map(Val::text).collect()
    };
    Ok(Val::list(parts))
}

fn substring<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text), Val::Int(start)] => {
            let byte = byte_of(text, *start).ok_or_else(|| out_of_range(*start))?;
            Ok(Val::text(&text[byte..]))
        }
        [Val::String(text), Val::Int(start), Val::Int(end)] => {
            if start > end {
                return Err(EvalError::new(format!("invalid substring range. start: {start}, end: {end}")));
            }
            let from = byte_of(text, *start).ok_or_else(|| out_of_range(*start))?;
            let to = byte_of(text, *end).ok_or_else(|| out_of_range(*end))?;
            Ok(Val::text(&text[from..to]))
        }
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

/// Where a text is in another, in characters.
pub(super) fn index_of(text: &str, part: &str, offset: i64) -> Result<i64, EvalError> {
    if offset < 0 {
        return Err(out_of_range(offset));
    }
    let Some(start) = byte_of(text, offset) else {
        return Ok(if part.is_empty() { text.chars().count() as i64 } else { -1 });
    };
    Ok(match text[start..].find(part) {
        Some(at) => offset + text[start..start + at].chars().count() as i64,
        None => -1,
    })
}

/// Where a text is last in another, in characters.
pub(super) fn last_index_of(text: &str, part: &str, offset: Option<i64>) -> Result<i64, EvalError> {
    let length = text.chars().count() as i64;
    let offset = match offset {
        None if part.is_empty() => return Ok(length),
        None if text.len() < part.len() => return Ok(-1),
        None => (length - 1).max(0),
        Some(offset) if offset < 0 => return Err(out_of_range(offset)),
        Some(offset) if part.is_empty() => return Ok(offset.min(length)),
        Some(offset) if offset >= length => return Ok(-1),
        Some(offset) => offset,
    };
    // The last match that begins at or before the offset.
    let last_start = byte_of(text, offset).unwrap_or(text.len());
    let mut end = (last_start + part.len()).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    Ok(match text[..end].rfind(part) {
        Some(at) => text[..at].chars().count() as i64,
        None => -1,
    })
}

fn join<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (list, separator) = match args {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(separator)] => (list, &**separator),
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    let mut whole = String::new();
    for (at, item) in list.iter().enumerate() {
        if at > 0 {
            whole.push_str(separator);
        }
        match item? {
            Val::String(text) => whole.push_str(&text),
            other => {
                return Err(EvalError::new(format!("join: invalid input: {}", formatting::shown(&other))));
            }
        }
        if whole.len() > BYTES_MAX {
            return Err(EvalError::CANCELLED);
        }
    }
    Ok(Val::text(whole))
}

fn format<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text), Val::List(list)] => formatting::format(text, list).map(Val::text),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn quote<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text)] => Ok(Val::text(quoted(text))),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

/// A text as the language writes it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for sign in text.chars() {
        match sign {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn escape_key<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text)] => Ok(Val::text(text.replace('~', "~0").replace('/', "~1"))),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}
