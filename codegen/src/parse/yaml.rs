//! YAML as a tree whose every key and value knows its place.
//!
//! Plain scalars stay text: what a value means, its reader says, so that `no` is a perfectly good
//! name and `1.20` a perfectly good version.

use std::sync::Arc;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span};

use crate::diagnostic::{Diagnostics, Place, Spanned};

/// A value and its place.
pub type Node = Spanned<Tree>;

/// A value.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A text, and whether it was in quotes (then it is a text and nothing else).
    Scalar(String, bool),
    /// `[…]` or lines with dashes.
    List(Vec<Node>),
    /// `{…}` or lines with keys, in their order.
    Map(Vec<(Spanned<String>, Node)>),
}

impl Tree {
    /// For messages.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Scalar(text, false) if text.is_empty() => "nothing",
            Self::Scalar(..) => "a scalar",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// The tree of a file's text; `None` where the text is not one YAML document, which is reported.
pub fn parse(file: &Arc<str>, text: &str, problems: &mut Diagnostics) -> Option<Node> {
    let mut reader = Reader { file, events: Vec::new(), problems };
    for event in Parser::new_from_str(text) {
        match event {
            // They may stand anywhere, and mean nothing.
            Ok((Event::Comment(..), _)) => {}
            Ok(event) => reader.events.push(event),
            Err(fault) => {
                let marker = fault.marker();
                let at = Place { file: Arc::clone(file), line: marker.line(), column: marker.col() + 1 };
                reader.problems.report(&at, format!("this is not YAML: {}", fault.info()));
                return None;
            }
        }
    }
    reader.events.reverse();
    let mut root = None;
    while let Some((event, span)) = reader.events.pop() {
        match event {
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) if root.is_none() => {
                root = Some(reader.node(event, span)?);
            }
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {
                let at = place(file, &span);
                reader.problems.report(&at, "a second document in one file");
                return None;
            }
            _ => {}
        }
    }
    if root.is_none() {
        reader.problems.report(&Place::file(Arc::clone(file)), "the file is empty");
    }
    root
}

struct Reader<'a, 'text> {
    file: &'a Arc<str>,
    /// Those that are left, the next one last.
    events: Vec<(Event<'text>, Span)>,
    problems: &'a mut Diagnostics,
}

impl Reader<'_, '_> {
    fn node(&mut self, event: Event<'_>, span: Span) -> Option<Node> {
        let at = place(self.file, &span);
        let tree = match event {
            // Nothing at all is shown as `~`.
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "~" => Tree::Scalar(String::new(), false),
            Event::Scalar(text, style, ..) => {
                Tree::Scalar(text.into_owned(), !matches!(style, ScalarStyle::Plain))
            }
            Event::SequenceStart(..) => Tree::List(self.items()?),
            Event::MappingStart(..) => Tree::Map(self.entries()?),
            _ => {
                self.problems.report(&at, "anchors and aliases are not part of the language");
                return None;
            }
        };
        Some(Node::new(tree, at))
    }

    fn items(&mut self) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        while let Some((event, span)) = self.events.pop() {
            match event {
                Event::SequenceEnd => break,
                other => items.push(self.node(other, span)?),
            }
        }
        Some(items)
    }

    fn entries(&mut self) -> Option<Vec<(Spanned<String>, Node)>> {
        let mut entries: Vec<(Spanned<String>, Node)> = Vec::new();
        while let Some((event, span)) = self.events.pop() {
            let key = match event {
                Event::MappingEnd => break,
                Event::Scalar(text, ..) => Spanned::new(text.into_owned(), place(self.file, &span)),
                _ => {
                    self.problems.report(&place(self.file, &span), "a key must be a scalar");
                    return None;
                }
            };
            let (event, span) = self.events.pop()?;
            let value = self.node(event, span)?;
            if let Some((first, _)) = entries.iter().find(|(one, _)| one.value == key.value) {
                let help = format!("it was first given in line {}", first.at.line);
                self.problems.report_with_help(&key.at, format!("`{}` is given twice", key.value), help);
            } else {
                entries.push((key, value));
            }
        }
        Some(entries)
    }
}

fn place(file: &Arc<str>, span: &Span) -> Place {
    Place { file: Arc::clone(file), line: span.start.line(), column: span.start.col() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_their_places() {
        let mut problems = Diagnostics::default();
        let tree = parse(&"x.yaml".into(), "# note\na: {b: 1, c: [x, \"\"]}\nd:\n  # none\n", &mut problems);
        assert!(problems.is_empty(), "{problems}");
        let Some(Node { value: Tree::Map(entries), .. }) = tree else { panic!("a map") };
        assert_eq!(entries[0].0.at.to_string(), "x.yaml:2:1");
        let Tree::Map(inner) = &entries[0].1.value else { panic!("a map") };
        assert_eq!(inner[1].0.at.to_string(), "x.yaml:2:11");
        assert_eq!(inner[1].1.at.to_string(), "x.yaml:2:14");
        assert!(matches!(&entries[1].1.value, Tree::Scalar(text, false) if text.is_empty()));
    }
}
