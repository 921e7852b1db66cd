//! Reads the words of a map: each reader asks for the words that it knows, what is left over is
//! reported with the word that was probably meant.

use crate::diagnostic::{Diagnostics, Place, Spanned, list};
use crate::parse::yaml::{Node, Tree};

/// The words of one map.
pub struct Words<'a> {
    /// Where the map is.
    pub at: Place,
    entries: Vec<(Spanned<String>, Option<Node>)>,
    known: Vec<&'static str>,
    problems: &'a mut Diagnostics,
}

impl<'a> Words<'a> {
    /// The words of a node, which must be a map.
    pub fn of(node: Node, problems: &'a mut Diagnostics) -> Option<Self> {
        match node.value {
            Tree::Map(entries) => Some(Self {
                at: node.at,
                entries: entries.into_iter().map(|(key, value)| (key, Some(value))).collect(),
                known: Vec::new(),
                problems,
            }),
            other => {
                problems.report(&node.at, format!("expected a map, found {}", other.what()));
                None
            }
        }
    }

    /// For readers of what these words hold.
    pub fn problems(&mut self) -> &mut Diagnostics {
        self.problems
    }

    /// The value of a word.
    pub fn take(&mut self, word: &'static str) -> Option<Node> {
        self.known.push(word);
        self.entries.iter_mut().find(|(key, _)| key.value == word)?.1.take()
    }

    /// Whether a word was written.
    pub fn was_given(&self, word: &str) -> bool {
        self.entries.iter().any(|(key, _)| key.value == word)
    }

    /// The value of a word that must be there.
    pub fn need(&mut self, word: &'static str) -> Option<Node> {
        let found = self.take(word);
        if found.is_none() {
            self.problems.report(&self.at, format!("`{word}` is missing"));
        }
        found
    }

    /// A text.
    pub fn text(&mut self, word: &'static str) -> Option<Spanned<String>> {
        self.take(word).and_then(|node| text(node, self.problems))
    }

    /// A text that must be there; empty where it is not, which is reported.
    pub fn need_text(&mut self, word: &'static str) -> Spanned<String> {
        let at = self.at.clone();
        self.need(word)
            .and_then(|node| text(node, self.problems))
            .unwrap_or_else(|| Spanned::new(String::new(), at))
    }

    /// `true` or `false`.
    pub fn flag(&mut self, word: &'static str) -> Option<bool> {
        let node = self.take(word)?;
        match &node.value {
            Tree::Scalar(text, false) if text == "true" => Some(true),
            Tree::Scalar(text, false) if text == "false" => Some(false),
            _ => {
                self.problems.report(&node.at, format!("`{word}` is `true` or `false`"));
                None
            }
        }
    }

    /// A number.
    pub fn number<T: std::str::FromStr>(&mut self, word: &'static str) -> Option<Spanned<T>> {
        let node = self.take(word)?;
        number(node, self.problems)
    }

    /// A list of texts.
    pub fn texts(&mut self, word: &'static str) -> Option<Vec<Spanned<String>>> {
        let node = self.take(word)?;
        Some(items(node, self.problems).into_iter().filter_map(|item| text(item, self.problems)).collect())
    }

    /// A list.
    pub fn items(&mut self, word: &'static str) -> Vec<Node> {
        self.take(word).map(|node| items(node, self.problems)).unwrap_or_default()
    }

    /// A map.
    pub fn entries(&mut self, word: &'static str) -> Vec<(Spanned<String>, Node)> {
        self.take(word).map(|node| entries(node, self.problems)).unwrap_or_default()
    }

    /// One of several words.
    pub fn choice<T: Copy>(&mut self, word: &'static str, choices: &[(&str, T)]) -> Option<Spanned<T>> {
        let written = self.text(word)?;
        let found = choices.iter().find(|(name, _)| *name == written.value);
        if found.is_none() {
            self.problems.report_unknown(
                &written.at,
                word,
                &written.value,
                choices.iter().map(|(name, _)| *name),
            );
        }
        found.map(|(_, choice)| Spanned::new(*choice, written.at))
    }

    /// Reports that two words exclude each other.
    pub fn exclusive(&mut self, given: &[(&str, bool)]) {
        let given: Vec<&str> = given.iter().filter(|(_, is)| *is).map(|(word, _)| *word).collect();
        if given.len() > 1 {
            self.problems.report(&self.at, format!("only one of {} can be given", list(&given)));
        }
    }

    /// Reports the words that nobody asked for.
    pub fn finish(self) {
        for (key, value) in &self.entries {
            if value.is_some() {
                self.problems.report_unknown(&key.at, "word", &key.value, self.known.iter().copied());
            }
        }
    }
}

/// A node's text.
pub fn text(node: Node, problems: &mut Diagnostics) -> Option<Spanned<String>> {
    match node.value {
        Tree::Scalar(text, quoted) if quoted || !text.is_empty() => Some(Spanned::new(text, node.at)),
        other => {
            problems.report(&node.at, format!("expected a text, found {}", other.what()));
            None
        }
    }
}

/// A node's number.
pub fn number<T: std::str::FromStr>(node: Node, problems: &mut Diagnostics) -> Option<Spanned<T>> {
    if let Tree::Scalar(text, false) = &node.value
        && let Ok(number) = text.parse()
    {
        return Some(Spanned::new(number, node.at));
    }
    problems.report(&node.at, "expected a number");
    None
}

/// A node's items.
pub fn items(node: Node, problems: &mut Diagnostics) -> Vec<Node> {
    match node.value {
        Tree::List(items) => items,
        other => {
            problems.report(&node.at, format!("expected a list, found {}", other.what()));
            Vec::new()
        }
    }
}

/// A node's entries.
pub fn entries(node: Node, problems: &mut Diagnostics) -> Vec<(Spanned<String>, Node)> {
    match node.value {
        Tree::Map(entries) => entries,
        other => {
            problems.report(&node.at, format!("expected a map, found {}", other.what()));
            Vec::new()
        }
    }
}
