//! What is wrong with a spec, and where.

use std::fmt;
use std::sync::Arc;

/// A place in a spec. Shown as `api-specs/groups/apps/group.yaml:3:5`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, from the folder of the specs on.
    pub file: Arc<str>,
    /// Counted from 1; 0 for the file as a whole.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
}

impl Place {
    /// A file as a whole.
    pub fn file(file: Arc<str>) -> Self {
        Self { file, line: 0, column: 0 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 { write!(f, ":{}:{}", self.line, self.column) } else { Ok(()) }
    }
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where.
    pub at: Place,
}

impl<T> Spanned<T> {
    /// A value written somewhere.
    pub fn new(value: T, at: Place) -> Self {
        Self { value, at }
    }
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// One fault.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Where.
    pub at: Place,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)?;
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// All faults.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Reports a fault that explains itself.
    pub fn report(&mut self, at: &Place, message: impl Into<String>) {
        self.0.push(Diagnostic { at: at.clone(), message: message.into(), help: None });
    }

    /// Reports a fault and what to do about it.
    pub fn report_with_help(&mut self, at: &Place, message: impl Into<String>, help: impl Into<String>) {
        self.0.push(Diagnostic { at: at.clone(), message: message.into(), help: Some(help.into()) });
    }

    /// Reports a name that is none of those which are known.
    pub fn report_unknown<'a>(
        &mut self,
        at: &Place,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) {
        let known: Vec<&str> = known.into_iter().collect();
        let help = match closest(name, &known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.is_empty() => "there is none".into(),
            None if known.len() <= 20 => format!("known are {}", list(&known)),
            None => format!("none of the {} known ones is similar", known.len()),
        };
        self.report_with_help(at, format!("unknown {what} `{name}`"), help);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By file, line and column.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.0.sort_by(|a, b| a.at.cmp(&b.at));
        self
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, one) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            one.fmt(f)?;
        }
        Ok(())
    }
}

/// `a, b and c`, each in backquotes.
pub fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|one| format!("`{one}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The known name that a misspelt one probably is.
fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .iter()
        .map(|one| (distance(&name.to_lowercase(), &one.to_lowercase()), *one))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, one)| one)
}

/// The number of edits (insert, delete, replace, swap neighbours) between two texts.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_find_what_was_meant() {
        let known = ["required", "pointer", "keep", "minimum"];
        for (name, meant) in [
            ("requierd", Some("required")),
            ("Pointer", Some("pointer")),
            ("kep", Some("keep")),
            ("pattern", None),
        ] {
            assert_eq!(closest(name, &known), meant, "{name}");
        }
    }
}
