//! A document as a graph of nodes: what the parser's events amount to.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use super::{DEPTH_MAX, fault};
use crate::Error;

/// All nodes of a document; the first is the root.
pub(super) struct Document<'a> {
    pub(super) nodes: Vec<Node<'a>>,
}

pub(super) struct Node<'a> {
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) kind: Kind<'a>,
}

pub(super) enum Kind<'a> {
    Scalar(Scalar<'a>),
    Sequence(Vec<usize>),
    /// Keys and values in turn.
    Mapping(Vec<usize>),
    Alias {
        name: String,
        target: usize,
    },
}

pub(super) struct Scalar<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whether it has neither quotes nor indicator: it may be more than a string.
    pub(super) plain: bool,
    /// In its long form, empty where there is none.
    pub(super) tag: String,
}

/// Reads the first document; `None` where there is none.
pub(super) fn read(text: &str) -> Result<Option<Document<'_>>, Error> {
    let mut options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        block_scalar_eof_without_line_feed: true,
        bom_inside_document_as_content: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    options.set_emit_comments(false);
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut reader =
        Reader { document: Document { nodes: Vec::new() }, open: Vec::new(), anchors: HashMap::new() };
    loop {
        let (event, span) = match parser.next_event() {
            Some(Ok(event)) => event,
            Some(Err(error)) => return Err(fault::of(&error, text)),
            None => return Ok(None),
        };
        match event {
            Event::StreamEnd => return Ok(None),
            Event::DocumentEnd => return Ok(Some(reader.document)),
            event => reader.take(event, span.start.line())?,
        }
    }
}

struct Reader<'a> {
    document: Document<'a>,
    /// The collections that have begun and not ended.
    open: Vec<usize>,
    /// The nodes of the parser's anchors, and their names.
    anchors: HashMap<usize, (usize, String)>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, event: Event<'a>, line: usize) -> Result<(), Error> {
        match event {
            Event::Scalar(value, style, _, tag) => {
                let tag = tag.map(|tag| long(&tag)).unwrap_or_default();
                // The tag `!` says: whatever this is without a tag.
                let (plain, tag) =
                    if tag == "!" { (true, String::new()) } else { (style == ScalarStyle::Plain, tag) };
                self.add(line, Kind::Scalar(Scalar { text: value, plain, tag }));
            }
            Event::SequenceStart(..) => self.begin(line, Kind::Sequence(Vec::new())),
            Event::MappingStart(..) => self.begin(line, Kind::Mapping(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            Event::Anchor(id, name) => {
                let node = self.document.nodes.len().saturating_sub(1);
                self.anchors.insert(id, (node, name.into_owned()));
            }
            Event::Alias(id) => {
                let (target, name) = self.anchors.get(&id).cloned().unwrap_or_default();
                self.add(line, Kind::Alias { name, target });
            }
            Event::UnresolvedAlias(name) => {
                return Err(fault::plain(format_args!("unknown anchor '{name}' referenced")));
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, line: usize, kind: Kind<'a>) {
        let at = self.add(line, kind);
        self.open.push(at);
    }

    fn add(&mut self, line: usize, kind: Kind<'a>) -> usize {
        let at = self.document.nodes.len();
        if let Some(parent) = self.open.last().and_then(|parent| self.document.nodes.get_mut(*parent))
            && let Kind::Sequence(children) | Kind::Mapping(children) = &mut parent.kind
        {
            children.push(at);
        }
        self.document.nodes.push(Node { line, kind });
        at
    }
}

fn long(tag: &Tag) -> String {
    format!("{}{}", tag.handle(), tag.suffix())
}
