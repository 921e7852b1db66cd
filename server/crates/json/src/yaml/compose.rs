//! The nodes of a document as a value: aliases followed, merge keys applied, keys made texts.
//!
//! Invariant: aliases may make up 99 in 100 of a small document and less of a large one, as in go-yaml.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::nodes::{Document, Kind, Node, Scalar};
use super::resolve::{self, Resolved};
use super::{Collisions, DEPTH_MAX, fault};
use crate::go::{go_float, quoted};
use crate::{Error, Object, Str, Value};

pub(super) fn compose(document: &Document<'_>) -> Result<(Value, Collisions), Error> {
    let mut composer = Composer {
        document,
        following: Vec::new(),
        depth: 0,
        count: 0,
        alias_count: 0,
        collisions: Vec::new(),
        late: None,
    };
    let value = composer.value(0)?;
    match composer.late {
        Some(error) => Err(error),
        None => Ok((value, Collisions(composer.collisions))),
    }
}

struct Composer<'a> {
    document: &'a Document<'a>,
    /// The aliases that are being followed.
    following: Vec<usize>,
    depth: usize,
    /// How many nodes were looked at, and how many of them by way of an alias.
    count: usize,
    alias_count: usize,
    collisions: Vec<String>,
    /// What has no form in JSON: found only when all is read.
    late: Option<Error>,
}

/// A map being composed. Keys of different types do not collide, even where their texts do.
type Entries = BTreeMap<Str, (KeyType, Value)>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyType {
    Null,
    Bool,
    Int,
    Float,
    String,
}

impl Composer<'_> {
    fn node(&self, at: usize) -> Option<&Node<'_>> {
        self.document.nodes.get(at)
    }

    fn value(&mut self, at: usize) -> Result<Value, Error> {
        self.enter()?;
        let document = self.document;
        let value = match document.nodes.get(at).map(|node| &node.kind) {
            Some(Kind::Scalar(scalar)) => self.scalar(scalar),
            Some(Kind::Sequence(children)) => {
                let items: Result<Vec<Value>, Error> =
                    children.iter().map(|child| self.value(*child)).collect();
                items.map(Value::Array)
            }
            Some(Kind::Mapping(children)) => self.mapping(children),
            Some(Kind::Alias { name, target }) => self.follow(at, name, |composer| composer.value(*target)),
            None => Ok(Value::Null),
        };
        self.depth -= 1;
        value
    }

    fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        // Collections alone keep within the limit; aliases add theirs up.
        if self.depth > DEPTH_MAX + 1 {
            return Err(fault::plain(format_args!("exceeded max depth of {DEPTH_MAX}")));
        }
        self.count += 1;
        self.alias_count += usize::from(!self.following.is_empty());
        let excessive = self.alias_count > 100
            && self.count > 1000
            && self.alias_count as f64 / self.count as f64 > alias_share_max(self.count);
        if excessive { Err(fault::plain("document contains excessive aliasing")) } else { Ok(()) }
    }

    fn follow<T>(
        &mut self,
        alias: usize,
        name: &str,
        compose: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.following.contains(&alias) {
            return Err(fault::plain(format_args!("anchor '{name}' value contains itself")));
        }
        self.following.push(alias);
        let composed = compose(self);
        self.following.pop();
        composed
    }

    fn scalar(&mut self, scalar: &Scalar<'_>) -> Result<Value, Error> {
        Ok(match resolved(scalar)? {
            Resolved::Null => Value::Null,
            Resolved::Bool(truth) => Value::Bool(truth),
            Resolved::Int(number) => Value::Int(number),
            Resolved::Uint(number) => Value::Float(number as f64),
            Resolved::Float(number) => self.float(number),
            Resolved::String | Resolved::Timestamp => Value::String(scalar.text.as_ref().into()),
            Resolved::Binary(text) => Value::String(text.into()),
        })
    }

    /// A float by way of JSON, where whole ones are integers.
    fn float(&mut self, number: f64) -> Value {
        if !number.is_finite() {
            let shown = if number.is_nan() {
                "NaN"
            } else if number > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            self.late.get_or_insert(Error { message: format!("json: unsupported value: {shown}") });
            return Value::Null;
        }
        super::whole(number)
    }

    fn mapping(&mut self, children: &[usize]) -> Result<Value, Error> {
        let mut entries = Entries::new();
        self.fill(children, &mut entries)?;
        let mut object = Object::with_capacity(entries.len());
        for (key, (_, value)) in entries {
            object.push(key, value);
        }
        Ok(Value::Object(object))
    }

    /// Sets what a mapping says; what is there already is replaced, and noted.
    fn fill(&mut self, children: &[usize], entries: &mut Entries) -> Result<(), Error> {
        for pair in children.chunks(2) {
            let [key, value] = *pair else { continue };
            if self.is_merge(key) {
                self.merge(value, entries)?;
                continue;
            }
            let (key_type, key, shown) = self.key(key)?;
            let line = self.node(value).map_or(0, |node| node.line);
            let value = self.value(value)?;
            if key_type == KeyType::Null {
                let shown = format!(
                    "unsupported map key of type: %!s(<nil>), key: <nil>, value: {}",
                    go_syntax(&value)
                );
                self.late.get_or_insert(Error { message: shown });
            }
            match entries.entry(key) {
                Entry::Vacant(vacant) => {
                    vacant.insert((key_type, value));
                }
                Entry::Occupied(mut occupied) => {
                    if occupied.get().0 == key_type {
                        self.collisions.push(format!("line {line}: key {shown} already set in map"));
                    }
                    occupied.insert((key_type, value));
                }
            }
        }
        Ok(())
    }

    /// A key: its type, its text in JSON, and how Go shows it.
    fn key(&mut self, at: usize) -> Result<(KeyType, Str, String), Error> {
        let before = self.late.take();
        let value = self.value(at)?;
        // Infinite keys have a text, unlike infinite values.
        let infinite = self.late.take().is_some();
        self.late = before;
        if infinite {
            let Some(Kind::Scalar(scalar)) = self.node(at).map(|node| &node.kind) else {
                return Ok((KeyType::Float, ".nan".into(), "NaN".into()));
            };
            let text = scalar.text.to_lowercase();
            return Ok((KeyType::Float, text.trim_start_matches('+').into(), text));
        }
        Ok(match value {
            Value::Null => (KeyType::Null, "null".into(), "<nil>".into()),
            Value::Bool(truth) => (KeyType::Bool, truth.to_string().into(), truth.to_string()),
            Value::Int(number) => (KeyType::Int, number.to_string().into(), number.to_string()),
            Value::Float(number) => {
                // Keys are shown with the digits of 32 bits.
                let short = (number as f32).to_string().parse().unwrap_or(number);
                (KeyType::Float, go_float(short).into(), go_float(number))
            }
            Value::String(text) => {
                let shown = quoted(&text);
                (KeyType::String, text, shown)
            }
            Value::Array(_) | Value::Object(_) => {
                return Err(fault::plain(format_args!("invalid map key: {}", go_syntax(&value))));
            }
        })
    }

    fn is_merge(&self, at: usize) -> bool {
        match self.node(at).map(|node| &node.kind) {
            Some(Kind::Scalar(scalar)) => {
                scalar.text == "<<"
                    && (scalar.plain && scalar.tag.is_empty() || scalar.tag == "tag:yaml.org,2002:merge")
            }
            _ => false,
        }
    }

    fn merge(&mut self, at: usize, entries: &mut Entries) -> Result<(), Error> {
        let document = self.document;
        match document.nodes.get(at).map(|node| &node.kind) {
            // The earlier ones count more, so they come last.
            Some(Kind::Sequence(children)) => {
                children.iter().rev().try_for_each(|child| self.merge_one(*child, entries))
            }
            _ => self.merge_one(at, entries),
        }
    }

    fn merge_one(&mut self, at: usize, entries: &mut Entries) -> Result<(), Error> {
        self.enter()?;
        let document = self.document;
        let mapping = |at: usize| match document.nodes.get(at).map(|node| &node.kind) {
            Some(Kind::Mapping(children)) => Ok(children),
            _ => Err(fault::plain("map merge requires map or sequence of maps as the value")),
        };
        let merged = match document.nodes.get(at).map(|node| &node.kind) {
            Some(Kind::Alias { name, target }) => {
                let children = mapping(*target)?;
                self.follow(at, name, |composer| composer.fill(children, entries))
            }
            _ => self.fill(mapping(at)?, entries),
        };
        self.depth -= 1;
        merged
    }
}

fn resolved(scalar: &Scalar<'_>) -> Result<Resolved, Error> {
    if scalar.tag.is_empty() && !scalar.plain {
        return Ok(Resolved::String);
    }
    resolve::resolve(&scalar.tag, &scalar.text).map_err(fault::plain)
}

/// How much of a document of so many nodes may come from aliases.
fn alias_share_max(count: usize) -> f64 {
    const SMALL: f64 = 400_000.0;
    const LARGE: f64 = 4_000_000.0;
    let beyond = (count as f64).clamp(SMALL, LARGE) - SMALL;
    0.99 - 0.89 * beyond / (LARGE - SMALL)
}

/// A value as Go's `%#v` shows it. Long lists are of no help to anybody.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(_) | Value::Int(_) => crate::to_string(value),
        Value::Float(number) => go_float(*number),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().take(8).map(go_scalar).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(object) => {
            let members: Vec<String> = object
                .iter()
                .take(8)
                .map(|(key, value)| format!("{}:{}", quoted(key), go_scalar(value)))
                .collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", members.join(", "))
        }
    }
}

fn go_scalar(value: &Value) -> String {
    match value {
        Value::Array(_) => "[]interface {}{…}".into(),
        Value::Object(_) => "map[interface {}]interface {}{…}".into(),
        scalar => go_syntax(scalar),
    }
}
