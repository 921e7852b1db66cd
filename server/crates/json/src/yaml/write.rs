//! A value as YAML in block style, laid out as go-yaml lays it out.
//!
//! Invariant: what is written reads back as the same value. Lines are folded at a space beyond column 80, lists
//! in objects are not indented.

use super::order;
use super::style::{self, Style, is_printable};
use crate::go::go_float;
use crate::{Object, Value};

/// Beyond this column, a space becomes a line break.
const WIDTH: usize = 80;
const INDENT: usize = 2;
/// Whole numbers below are integers to upstream, if not to us.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// The text.
pub fn to_string(value: &Value) -> String {
    let mut writer = Writer::default();
    writer.value(value, Place::Entry);
    if writer.column > 0 {
        writer.end_line();
    }
    writer.out
}

/// Appends the text.
pub fn to_bytes(value: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(to_string(value).as_bytes());
}

/// What a value is to its surroundings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Behind a key and a colon on one line.
    Member,
    /// Behind an indicator, or alone.
    Entry,
}

#[derive(Default)]
struct Writer {
    out: String,
    column: usize,
    /// Of the innermost collection; `None` outside of all.
    indent: Option<usize>,
    /// Whether an indicator was written and nothing behind it: a collection begins on the same line.
    inline: bool,
}

impl Writer {
    fn value(&mut self, value: &Value, place: Place) {
        match value {
            Value::Null => self.word("null"),
            Value::Bool(truth) => self.word(if *truth { "true" } else { "false" }),
            Value::Int(number) => self.word(itoa::Buffer::new().format(*number)),
            Value::Float(number) => self.float(*number),
            Value::String(text) => self.string(text, false),
            Value::Array(items) if items.is_empty() => self.word("[]"),
            Value::Array(items) => self.sequence(items, place),
            Value::Object(object) if object.is_empty() => self.word("{}"),
            Value::Object(object) => self.mapping(object),
        }
    }

    fn sequence(&mut self, items: &[Value], place: Place) {
        let outer = self.indent;
        // Below a key, the dashes stand out enough.
        if place != Place::Member {
            self.indent = Some(self.below());
        }
        for item in items {
            self.begin_entry();
            self.indicator('-');
            self.value(item, Place::Entry);
        }
        self.indent = outer;
    }

    fn mapping(&mut self, object: &Object) {
        let outer = self.indent;
        self.indent = Some(self.below());
        let members = order::sort(object.iter().map(|(key, value)| (key.as_str(), value)).collect());
        for (key, value) in members {
            self.begin_entry();
            if style::is_simple_key(key) {
                self.string(key, true);
                self.push(':');
                self.value(value, Place::Member);
            } else {
                self.indicator('?');
                self.string(key, false);
                self.begin_entry();
                self.indicator(':');
                self.value(value, Place::Entry);
            }
        }
        self.indent = outer;
    }

    /// A float by way of JSON, where whole ones are integers.
    fn float(&mut self, number: f64) {
        match super::whole(number) {
            Value::Int(number) => self.word(itoa::Buffer::new().format(number)),
            _ if !number.is_finite() => self.word("null"),
            _ if number.fract() == 0.0 && (0.0..TWO_TO_64).contains(&number) => {
                self.word(&number.to_string());
            }
            _ => self.word(&go_float(number)),
        }
    }

    /// A string in the style it asks for. A simple key stays on its line.
    fn string(&mut self, text: &str, simple_key: bool) {
        self.begin_scalar();
        match style::of(text, simple_key) {
            Style::Plain => self.folded(text, simple_key, |c| [None, Some(c)]),
            Style::SingleQuoted => {
                self.push('\'');
                self.folded(text, simple_key, |c| [(c == '\'').then_some('\''), Some(c)]);
                self.push('\'');
            }
            Style::DoubleQuoted => self.double_quoted(text, simple_key),
            Style::Literal => self.literal(text),
        }
    }

    fn word(&mut self, word: &str) {
        self.begin_scalar();
        self.push_str(word);
    }

    /// Text with breaks for the single spaces of its long lines.
    fn folded(&mut self, text: &str, simple_key: bool, show: impl Fn(char) -> [Option<char>; 2]) {
        let mut before = None;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let between = before.is_some_and(|c| c != ' ') && characters.peek().is_some_and(|c| *c != ' ');
            if c == ' ' && between && !simple_key && self.column > WIDTH {
                self.continue_below();
            } else {
                show(c).into_iter().flatten().for_each(|c| self.push(c));
            }
            before = Some(c);
        }
    }

    fn double_quoted(&mut self, text: &str, simple_key: bool) {
        self.push('"');
        let mut before = None;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let between = before.is_some_and(|c| c != ' ') && characters.peek().is_some();
            if c == ' ' && between && !simple_key && self.column > WIDTH {
                self.continue_below();
                if characters.peek() == Some(&' ') {
                    self.push('\\');
                }
            } else if !is_printable(c) || matches!(c, '\n' | '"' | '\\') {
                self.push_str(&escape(c));
            } else {
                self.push(c);
            }
            before = Some(c);
        }
        self.push('"');
    }

    fn literal(&mut self, text: &str) {
        self.push('|');
        if text.starts_with([' ', '\n']) {
            self.push_str("2");
        }
        match text.strip_suffix('\n') {
            None => self.push('-'),
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => self.push('+'),
            Some(_) => {}
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.end_line();
            if !line.is_empty() {
                self.indent_scalar();
                self.push_str(line);
            }
        }
        if text.ends_with('\n') {
            self.end_line();
        }
    }

    /// Goes to where the next entry of the innermost collection begins.
    fn begin_entry(&mut self) {
        if !self.inline && self.column > 0 {
            self.end_line();
        }
        self.inline = false;
        self.pad(self.indent.unwrap_or_default());
    }

    /// What begins an entry.
    fn indicator(&mut self, indicator: char) {
        self.push(indicator);
        self.inline = true;
    }

    /// Makes room for a scalar behind what is on the line.
    fn begin_scalar(&mut self) {
        if self.column > 0 && !self.out.ends_with(' ') {
            self.push(' ');
        }
        self.inline = false;
    }

    /// Goes on with a scalar on the next line.
    fn continue_below(&mut self) {
        self.end_line();
        self.indent_scalar();
    }

    fn indent_scalar(&mut self) {
        self.pad(self.indent.map_or(INDENT, |indent| indent + INDENT));
    }

    /// Where a collection in the innermost one is indented to.
    fn below(&self) -> usize {
        self.indent.map_or(0, |indent| indent + INDENT)
    }

    fn end_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn pad(&mut self, column: usize) {
        while self.column < column {
            self.push(' ');
        }
    }

    fn push(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn push_str(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }
}

fn escape(c: char) -> String {
    match c {
        '\0' => "\\0".into(),
        '\u{7}' => "\\a".into(),
        '\u{8}' => "\\b".into(),
        '\t' => "\\t".into(),
        '\n' => "\\n".into(),
        '\u{b}' => "\\v".into(),
        '\u{c}' => "\\f".into(),
        '\r' => "\\r".into(),
        '\u{1b}' => "\\e".into(),
        '"' => "\\\"".into(),
        '\\' => "\\\\".into(),
        '\u{85}' => "\\N".into(),
        '\u{a0}' => "\\_".into(),
        '\u{2028}' => "\\L".into(),
        '\u{2029}' => "\\P".into(),
        c => match c as u32 {
            code @ ..=0xff => format!("\\x{code:02X}"),
            code @ ..=0xffff => format!("\\u{code:04X}"),
            code => format!("\\U{code:08X}"),
        },
    }
}
