//! Field paths and the errors of validation (upstream: `k8s.io/apimachinery/pkg/util/validation/field`).

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
        if self.0.is_empty() { Self(name.into()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// An item of this list.
    #[must_use]
    pub fn index(&self, at: usize) -> Self {
        Self(format!("{}[{at}]", self.0))
    }

    /// An entry of this map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
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
    TooMany,
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
    pub fn not_supported<S: AsRef<str>>(&mut self, path: Path, value: impl std::fmt::Display, supported: &[S]) {
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

    /// `Too long: may not be more than N bytes`.
    pub fn too_long(&mut self, path: Path, max_bytes: usize) {
        let unit = if max_bytes == 1 { "byte" } else { "bytes" };
        self.push(path, Kind::TooLong, format!("Too long: may not be more than {max_bytes} {unit}"));
    }

    /// `Too many: <actual>: must have at most <max> items`.
    pub fn too_many(&mut self, path: Path, actual: usize, max: usize) {
        let unit = if max == 1 { "item" } else { "items" };
        self.push(path, Kind::TooMany, format!("Too many: {actual}: must have at most {max} {unit}"));
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
        let mut texts: Vec<String> = Vec::new();
        for error in &self.0 {
            let text = error.to_string();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        match texts.len() {
            1 => texts.remove(0),
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
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }
}

/// A text in double quotes with Go's escapes (`%q`).
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn with_detail(mut body: String, detail: &str) -> String {
    if !detail.is_empty() {
        body.push_str(": ");
        body.push_str(detail);
    }
    body
}
