//! Faults: of a text, found when it is compiled, and of an evaluation.

use std::borrow::Cow;
use std::fmt;

/// A fault at a place of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 0.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// All faults of a text, as cel-go shows them.
#[derive(Clone, Debug, PartialEq)]
pub struct Issues {
    source: String,
    list: Vec<Issue>,
}

/// How many faults are shown.
const SHOWN_MAX: usize = 100;

impl Issues {
    pub(crate) fn new(source: &str, mut list: Vec<Issue>) -> Self {
        list.sort_by_key(|issue| (issue.line, issue.column));
        Self { source: source.to_owned(), list }
    }

    /// The faults, in the order of the text.
    pub fn list(&self) -> &[Issue] {
        &self.list
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, issue) in self.list.iter().take(SHOWN_MAX).enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}ERROR: <input>:{}:{}: {}", issue.line, issue.column + 1, issue.message)?;
            if let Some(line) = self.source.split('\n').nth(issue.line.saturating_sub(1)) {
                let line = line.replace('\t', " ");
                write!(f, "\n | {line}\n | ")?;
                for sign in line.chars().take(issue.column) {
                    f.write_str(if sign.is_ascii() { "." } else { "．" })?;
                }
                let marked = line.chars().nth(issue.column).is_none_or(|sign| sign.is_ascii());
                f.write_str(if marked { "^" } else { "＾" })?;
            }
        }
        match self.list.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "\n{more} more errors were truncated"),
        }
    }
}

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalError {
    text: Cow<'static, str>,
    cancelled: bool,
}

impl EvalError {
    /// The budget is used up: nothing absorbs that.
    pub(crate) const CANCELLED: Self =
        Self { text: Cow::Borrowed("operation cancelled: actual cost limit exceeded"), cancelled: true };
    /// The arguments are not what the function takes.
    pub(crate) const NO_OVERLOAD: Self = Self { text: Cow::Borrowed("no such overload"), cancelled: false };

    /// With a text.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), cancelled: false }
    }

    /// Whether it used up what it may cost.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Whether the arguments of a function were not what it takes.
    pub fn is_no_overload(&self) -> bool {
        self.text.starts_with("no such overload")
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for EvalError {}
