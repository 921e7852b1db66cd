//! Semantic versions (upstream: `blang/semver`).

use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "semver",
        price: Price::Text,
        native: semver,
        signatures: &[
            "string_to_semver: (string) -> semver",
            "string_bool_to_semver: (string, bool) -> semver",
        ],
    },
    Entry {
        name: "isSemver",
        price: Price::Text,
        native: is_semver,
        signatures: &["is_semver_string: (string) -> bool", "is_semver_string_bool: (string, bool) -> bool"],
    },
    Entry {
        name: "major",
        price: Price::One,
        native: major,
        signatures: &["semver_major: semver.() -> int"],
    },
    Entry {
        name: "minor",
        price: Price::One,
        native: minor,
        signatures: &["semver_minor: semver.() -> int"],
    },
    Entry {
        name: "patch",
        price: Price::One,
        native: patch,
        signatures: &["semver_patch: semver.() -> int"],
    },
];

/// A version.
#[derive(Debug)]
pub struct Semver {
    numbers: [u64; 3],
    pre: Vec<Identifier>,
}

/// A part of what follows a `-`: numbers come before words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Semver {
    /// Parses a version.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (*rest, None),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, Some(pre)),
            None => (rest, None),
        };
        let numbers = [number("major", major)?, number("minor", minor)?, number("patch", patch)?];
        let pre = match pre {
            Some(pre) => pre.split('.').map(identifier).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !alphanumeric(part) {
                return Err(format!("Invalid character(s) found in build meta data {part:?}"));
            }
        }
        Ok(Self { numbers, pre })
    }

    /// The order of two versions; builds do not count.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.pre.cmp(&other.pre),
        })
    }
}

fn number(which: &str, text: &str) -> Result<u64, String> {
    let title = format!("{}{}", which[..1].to_uppercase(), &which[1..]);
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {which} number {text:?}"));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{title} number must not contain leading zeroes {text:?}"));
    }
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {text:?}: value out of range"))
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {text:?}"));
        }
        let why = |_| format!("strconv.ParseUint: parsing {text:?}: value out of range");
        return text.parse().map(Identifier::Number).map_err(why);
    }
    if alphanumeric(text) {
        return Ok(Identifier::Word(text.to_owned()));
    }
    Err(format!("Invalid character(s) found in prerelease {text:?}"))
}

fn alphanumeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Without a `v`, without leading zeros, and with all three numbers.
fn normalized(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| {
            if part.len() < 2 {
                return part.to_owned();
            }
            let trimmed = part.trim_start_matches('0');
            if trimmed.starts_with(|sign: char| sign.is_ascii_digit()) {
                trimmed.to_owned()
            } else {
                format!("0{trimmed}")
            }
        })
        .collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

fn parsed(args: &[Val<'_>]) -> Result<Result<Semver, String>, EvalError> {
    Ok(match args {
        [Val::String(text)] | [Val::String(text), Val::Bool(false)] => Semver::parse(text),
        [Val::String(text), Val::Bool(true)] => normalized(text).and_then(|text| Semver::parse(&text)),
        _ => return Err(EvalError::NO_OVERLOAD),
    })
}

fn semver<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    parsed(args)?.map(|version| Val::Semver(Arc::new(version))).map_err(EvalError::new)
}

fn is_semver<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::Bool(parsed(args)?.is_ok()))
}

fn part<'a>(args: &[Val<'a>], which: usize) -> Result<Val<'a>, EvalError> {
    let [Val::Semver(version)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Int(version.numbers[which] as i64))
}

fn major<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    part(args, 0)
}

fn minor<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    part(args, 1)
}

fn patch<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    part(args, 2)
}
