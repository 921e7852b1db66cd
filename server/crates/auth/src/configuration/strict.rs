//! Strict decoding of configuration files: members that nobody knows are faults, as are values of other types.

use apiwright_json::{Value, yaml};

const GROUP: &str = "apiserver.config.k8s.io";

/// Decodes a file of a kind in one of the versions that there have been.
///
/// # Errors
/// What it is instead.
pub(super) fn decode(text: &[u8], kind: &str) -> Result<Value, String> {
    let (object, collisions) = yaml::decode(text).map_err(|why| why.to_string())?;
    let (version, its_kind) = (object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
    if its_kind.is_empty() {
        return Err("Object 'Kind' is missing".into());
    }
    let known =
        version.strip_prefix(GROUP).is_some_and(|rest| matches!(rest, "/v1" | "/v1beta1" | "/v1alpha1"));
    if !known || its_kind != kind {
        return Err(format!(
            "no kind \"{its_kind}\" is registered for version \"{version}\"; this file is a {kind} of {GROUP}/v1"
        ));
    }
    match collisions.strict_error() {
        Some(why) => Err(format!("strict decoding error: {why}")),
        None => Ok(object),
    }
}

/// Finds faults while it reads.
pub(super) struct Strict(Vec<String>);

/// A part of a file, and where it is.
#[derive(Clone)]
pub(super) struct Part<'a> {
    value: &'a Value,
    at: String,
}

static NULL: Value = Value::Null;

impl Strict {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// What was found.
    pub(super) fn end(self) -> Result<(), String> {
        if self.0.is_empty() { Ok(()) } else { Err(format!("strict decoding error: {}", self.0.join(", "))) }
    }

    /// The whole file.
    pub(super) fn root<'a>(&mut self, value: &'a Value, known: &[&str]) -> Part<'a> {
        let part = Part { value, at: String::new() };
        self.check(&part, known);
        part
    }

    /// A member that is an object; empty where it is absent.
    pub(super) fn object<'a>(&mut self, of: &Part<'a>, member: &str, known: &[&str]) -> Part<'a> {
        let part = of.member(member);
        self.check(&part, known);
        part
    }

    /// The items of a member that is a list of objects.
    pub(super) fn objects<'a>(&mut self, of: &Part<'a>, member: &str, known: &[&str]) -> Vec<Part<'a>> {
        let list = of.member(member);
        let items = match list.value {
            Value::Null => &[],
            Value::Array(items) => items.as_slice(),
            other => {
                self.misfit(&list.at, "an array", other);
                &[]
            }
        };
        let parts =
            items.iter().enumerate().map(|(at, value)| Part { value, at: format!("{}[{at}]", list.at) });
        let parts: Vec<Part<'a>> = parts.collect();
        for part in &parts {
            self.check(part, known);
        }
        parts
    }

    /// A text; empty where it is absent.
    pub(super) fn text(&mut self, of: &Part<'_>, member: &str) -> String {
        self.optional_text(of, member).unwrap_or_default()
    }

    /// A text that may be absent.
    pub(super) fn optional_text(&mut self, of: &Part<'_>, member: &str) -> Option<String> {
        let part = of.member(member);
        match part.value {
            Value::Null => None,
            Value::String(text) => Some(text.to_string()),
            other => {
                self.misfit(&part.at, "a string", other);
                None
            }
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, of: &Part<'_>, member: &str) -> Vec<String> {
        let part = of.member(member);
        let items = match part.value {
            Value::Null => return Vec::new(),
            Value::Array(items) => items,
            other => {
                self.misfit(&part.at, "an array", other);
                return Vec::new();
            }
        };
        let mut texts = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match item.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.misfit(&format!("{}[{at}]", part.at), "a string", item),
            }
        }
        texts
    }

    /// True, false, or nothing.
    pub(super) fn flag(&mut self, of: &Part<'_>, member: &str) -> Option<bool> {
        let part = of.member(member);
        match part.value {
            Value::Null => None,
            Value::Bool(flag) => Some(*flag),
            other => {
                self.misfit(&part.at, "a boolean", other);
                None
            }
        }
    }

    /// A duration, in nanoseconds; 0 where it is absent.
    pub(super) fn duration(&mut self, of: &Part<'_>, member: &str) -> i64 {
        let text = self.text(of, member);
        if text.is_empty() {
            return 0;
        }
        match apiwright_meta::time::Duration::parse(&text) {
            Ok(duration) => duration.nanos(),
            Err(why) => {
                self.0.push(format!("{}: {why}", of.member(member).at));
                0
            }
        }
    }

    fn check(&mut self, part: &Part<'_>, known: &[&str]) {
        match part.value {
            Value::Null => {}
            Value::Object(members) => {
                for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
                    let dot = if part.at.is_empty() { "" } else { "." };
                    self.0.push(format!("unknown field \"{}{dot}{key}\"", part.at));
                }
            }
            other => self.misfit(&part.at, "an object", other),
        }
    }

    fn misfit(&mut self, at: &str, wanted: &str, found: &Value) {
        self.0.push(format!("{at}: it is {wanted}, not a {}", found.go_kind()));
    }
}

impl<'a> Part<'a> {
    /// Whether there is nothing.
    pub(super) fn is_absent(&self) -> bool {
        self.value.is_null()
    }

    fn member(&self, member: &str) -> Part<'a> {
        let dot = if self.at.is_empty() { "" } else { "." };
        Part { value: self.value.get(member).unwrap_or(&NULL), at: format!("{}{dot}{member}", self.at) }
    }
}
