//! Field paths and the errors of validation (upstream: `k8s.io/apimachinery/pkg/util/validation/field`).
//!
//! Invariant: an error's text and its cause are the ones that kube-apiserver gives, value included.

use apiwright_json::Value;

pub use apiwright_json::go::{go_float, is_print, quoted};

/// The path to a field, shown as `spec.ports[0].name` or `metadata.labels[a/b]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// The path of a top-level field; empty for the object itself.
    pub fn new(root: &str) -> Self {
        Self(root.into())
    }

    /// A member of this field.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.into()) } else { self.with(&[".", name]) }
    }

    /// An item of this list.
    #[must_use]
    pub fn index(&self, at: usize) -> Self {
        self.with(&["[", itoa::Buffer::new().format(at), "]"])
    }

    /// An entry of this map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.with(&["[", key, "]"])
    }

    /// Validators make paths of all that they look at, at fault or not: one allocation, no formatting.
    fn with(&self, more: &[&str]) -> Self {
        let mut text =
            String::with_capacity(self.0.len() + more.iter().map(|part| part.len()).sum::<usize>());
        text.push_str(&self.0);
        for part in more {
            text.push_str(part);
        }
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Path {
    /// `<nil>` where there is no field.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// One entry of `status.details.causes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// For instance `FieldValueInvalid`; empty where upstream leaves it out.
    pub reason: String,
    /// The fault.
    pub message: String,
    /// The field at fault.
    pub field: String,
}

impl Cause {
    /// A cause that is a text only.
    pub fn text(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

/// The kinds of validation error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Required,
    Invalid,
    NotSupported,
    Duplicate,
    Forbidden,
    NotFound,
    TooLong,
    TooShort,
    TooMany,
    TooFew,
    Internal,
    TypeInvalid,
}

/// One fault of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where.
    pub path: Path,
    /// Which kind of fault.
    pub kind: Kind,
    /// The text after the kind and the value, ready: `Invalid value: "x": must be …` without the path.
    pub body: String,
}

/// The faults of an object, in the order in which validation met them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorList(pub Vec<Error>);

impl ErrorList {
    /// No fault so far.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether there is no fault.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `Required value` and, where given, what to do about it.
    pub fn required(&mut self, path: Path, detail: &str) {
        self.push(path, Kind::Required, with_detail("Required value".into(), detail));
    }

    /// `Invalid value: <value>: <detail>`; `value` as Go's `%#v`/JSON shows it, see [`quoted`].
    pub fn invalid(&mut self, path: Path, value: impl std::fmt::Display, detail: &str) {
        self.push(path, Kind::Invalid, with_detail(format!("Invalid value: {value}"), detail));
    }

    /// `Unsupported value: <value>: supported values: "a", "b"`, values in the order given.
    pub fn not_supported<S: AsRef<str>>(
        &mut self,
        path: Path,
        value: impl std::fmt::Display,
        supported: &[S],
    ) {
        let list: Vec<String> = supported.iter().map(|one| quoted(one.as_ref())).collect();
        let detail =
            if list.is_empty() { String::new() } else { format!("supported values: {}", list.join(", ")) };
        self.push(path, Kind::NotSupported, with_detail(format!("Unsupported value: {value}"), &detail));
    }

    /// `Duplicate value: <value>`.
    pub fn duplicate(&mut self, path: Path, value: impl std::fmt::Display) {
        self.push(path, Kind::Duplicate, format!("Duplicate value: {value}"));
    }

    /// `Forbidden: <detail>`.
    pub fn forbidden(&mut self, path: Path, detail: &str) {
        self.push(path, Kind::Forbidden, with_detail("Forbidden".into(), detail));
    }

    /// `Not found: <value>`.
    pub fn not_found(&mut self, path: Path, value: impl std::fmt::Display) {
        self.push(path, Kind::NotFound, format!("Not found: {value}"));
    }

    /// `Invalid value: <value>: <detail>`, of a value of the wrong type.
    pub fn type_invalid(&mut self, path: Path, value: impl std::fmt::Display, detail: &str) {
        self.push(path, Kind::TypeInvalid, with_detail(format!("Invalid value: {value}"), detail));
    }

    /// `Too long: may not be more than N bytes`.
    pub fn too_long(&mut self, path: Path, max_bytes: usize) {
        let unit = plural(max_bytes, "byte", "bytes");
        self.push(path, Kind::TooLong, format!("Too long: may not be more than {max_bytes} {unit}"));
    }

    /// `Too long: may not be more than N characters`.
    pub fn too_long_characters(&mut self, path: Path, max: usize) {
        let unit = plural(max, "character", "characters");
        self.push(path, Kind::TooLong, format!("Too long: may not be more than {max} {unit}"));
    }

    /// `Too short: must be at least N characters`.
    pub fn too_short(&mut self, path: Path, min: usize) {
        let unit = plural(min, "character", "characters");
        self.push(path, Kind::TooShort, format!("Too short: must be at least {min} {unit}"));
    }

    /// `Too many: <actual>: must have at most <max> items`.
    pub fn too_many(&mut self, path: Path, actual: usize, max: usize) {
        let unit = plural(max, "item", "items");
        self.push(path, Kind::TooMany, format!("Too many: {actual}: must have at most {max} {unit}"));
    }

    /// `Too few: <actual>: must have at least <min> items`.
    pub fn too_few(&mut self, path: Path, actual: usize, min: usize) {
        let unit = plural(min, "item", "items");
        self.push(path, Kind::TooFew, format!("Too few: {actual}: must have at least {min} {unit}"));
    }

    /// `Internal error: <detail>`.
    pub fn internal(&mut self, path: Path, detail: &str) {
        self.push(path, Kind::Internal, with_detail("Internal error".into(), detail));
    }

    /// One [`ErrorList::invalid`] for each message about a text.
    pub fn invalid_each(&mut self, path: &Path, text: &str, messages: impl IntoIterator<Item = String>) {
        for message in messages {
            self.invalid(path.clone(), quoted(text), &message);
        }
    }

    /// A fault of any kind with its text ready.
    pub fn push(&mut self, path: Path, kind: Kind, body: String) {
        self.0.push(Error { path, kind, body });
    }

    /// Takes over another list's faults.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// The causes of a Status: one a fault, repeated ones kept.
    pub fn causes(&self) -> Vec<Cause> {
        self.0
            .iter()
            .map(|error| Cause {
                reason: error.kind.reason().into(),
                message: error.body.clone(),
                field: error.path.to_string(),
            })
            .collect()
    }

    /// The message of a Status: the faults, each once, in brackets where there are several.
    pub fn aggregate(&self) -> String {
        let mut seen = std::collections::HashSet::new();
        let texts: Vec<String> =
            self.0.iter().map(ToString::to_string).filter(|text| seen.insert(text.clone())).collect();
        match texts.as_slice() {
            [only] => only.clone(),
            _ => format!("[{}]", texts.join(", ")),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.body)
    }
}

impl Kind {
    /// The cause's reason.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::NotFound => "FieldValueNotFound",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }
}

/// A value as the text of an error shows it: strings quoted, arrays and objects as JSON.
pub fn go_value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Float(number) => go_float(*number),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Array(_) | Value::Object(_) => {
            apiwright_json::to_string(value)
        }
    }
}

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

fn with_detail(mut body: String, detail: &str) -> String {
    if !detail.is_empty() {
        body.push_str(": ");
        body.push_str(detail);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let spec = Path::new("spec");
        let table = [
            (Path::default(), "<nil>"),
            (Path::default().child("spec"), "spec"),
            (spec.child("ports").index(0).child("name"), "spec.ports[0].name"),
            (spec.child("selector").key("a/b"), "spec.selector[a/b]"),
        ];
        for (path, expected) in table {
            assert_eq!(path.to_string(), expected);
        }
    }

    #[test]
    fn errors_have_the_words_of_upstream() {
        type Case = (fn(&mut ErrorList), &'static str);
        let table: &[Case] = &[
            (|e| e.required(Path::new("a"), ""), "a: Required value"),
            (|e| e.required(Path::new("a"), "why"), "a: Required value: why"),
            (|e| e.invalid(Path::new("a"), quoted("x"), "why"), "a: Invalid value: \"x\": why"),
            (|e| e.invalid(Path::new("a"), -1, ""), "a: Invalid value: -1"),
            (|e| e.type_invalid(Path::new("a"), quoted("x"), "why"), "a: Invalid value: \"x\": why"),
            (
                |e| e.not_supported(Path::new("a"), quoted("x"), &["y", "z"]),
                "a: Unsupported value: \"x\": supported values: \"y\", \"z\"",
            ),
            (|e| e.duplicate(Path::new("a"), quoted("x")), "a: Duplicate value: \"x\""),
            (|e| e.forbidden(Path::new("a"), "why"), "a: Forbidden: why"),
            (|e| e.not_found(Path::new("a"), quoted("x")), "a: Not found: \"x\""),
            (|e| e.too_long(Path::new("a"), 1), "a: Too long: may not be more than 1 byte"),
            (|e| e.too_long_characters(Path::new("a"), 3), "a: Too long: may not be more than 3 characters"),
            (|e| e.too_short(Path::new("a"), 1), "a: Too short: must be at least 1 character"),
            (|e| e.too_many(Path::new("a"), 3, 2), "a: Too many: 3: must have at most 2 items"),
            (|e| e.too_few(Path::new("a"), 0, 1), "a: Too few: 0: must have at least 1 item"),
            (|e| e.internal(Path::default(), "why"), "<nil>: Internal error: why"),
        ];
        for (make, expected) in table {
            let mut errors = ErrorList::new();
            make(&mut errors);
            assert_eq!(errors.aggregate(), *expected);
        }
    }

    #[test]
    fn repeated_errors_are_said_once() {
        let mut errors = ErrorList::new();
        for path in ["a", "b", "a"] {
            errors.required(Path::new(path), "");
        }
        assert_eq!(errors.aggregate(), "[a: Required value, b: Required value]");
        assert_eq!(errors.causes().len(), 3);
    }
}
