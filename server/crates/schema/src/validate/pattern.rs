//! Regular expressions of schemas, compiled once each.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::Regex;

/// How many expressions stay compiled. Beyond, all are forgotten: schemas with more are rare, and
/// compiling again is only slow.
const KEPT_MAX: usize = 1024;

/// How large a compiled expression may be, in bytes: CRDs bring expressions of their own.
const SIZE_MAX: usize = 1 << 20;

static COMPILED: LazyLock<Mutex<HashMap<String, Option<Arc<Regex>>>>> = LazyLock::new(Mutex::default);

/// Whether a text has a match of an expression. One that does not compile matches everything: it
/// was refused, with its error, where the schema came from.
pub(super) fn matches(expression: &str, text: &str) -> bool {
    compiled(expression).is_none_or(|regex| regex.is_match(text))
}

/// Why an expression cannot be used: what Go says of it, as far as it is known.
pub fn pattern_fault(expression: &str) -> Option<String> {
    let why = build(expression).err()?.to_string();
    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
    Some(format!("error parsing regexp: {why}"))
}

fn build(expression: &str) -> Result<Regex, regex::Error> {
    regex::RegexBuilder::new(expression).size_limit(SIZE_MAX).build()
}

fn compiled(expression: &str) -> Option<Arc<Regex>> {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = compiled.get(expression) {
        return regex.clone();
    }
    let regex = build(expression).ok().map(Arc::new);
    if compiled.len() >= KEPT_MAX {
        compiled.clear();
    }
    compiled.insert(expression.into(), regex.clone());
    regex
}
