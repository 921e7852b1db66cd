//! The entries of `managedFields`, decoded.

use std::cmp::Ordering;
use std::fmt;

use apiwright_json::{Object, Str, Value};

use crate::fieldset::{Fields, Set};

/// Who owns what. No two have the same identity; the order is that of the last decoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managers(pub Vec<Owner>);

/// One owner and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The manager's name.
    pub manager: Str,
    /// How it came to own them.
    pub operation: Operation,
    /// The version in which the fields are.
    pub api_version: Str,
    /// The subresource through which it wrote; empty for the object itself.
    pub subresource: Str,
    /// When it last changed something, RFC 3339.
    pub time: Option<Str>,
    /// What it owns.
    pub fields: Fields,
}

/// How an owner came to own its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

/// Why entries are not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

impl Operation {
    /// As entries spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Owner {
    /// Whether both stand for the same owner: an applier is the same in every version.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.operation == other.operation
            && self.manager == other.manager
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// The key by which upstream tells owners apart and sorts them in messages.
    pub(crate) fn identifier(&self) -> String {
        let mut entry = Object::new();
        self.describe(&mut entry, self.operation == Operation::Update);
        apiwright_json::to_string(&entry.into())
    }

    fn describe(&self, entry: &mut Object, with_version: bool) {
        if !self.manager.is_empty() {
            entry.push("manager", self.manager.clone());
        }
        entry.push("operation", self.operation.as_str());
        if with_version {
            entry.push("apiVersion", self.api_version.clone());
        }
        if !self.subresource.is_empty() {
            entry.push("subresource", self.subresource.clone());
        }
    }

    fn into_entry(self) -> Value {
        let mut entry = Object::with_capacity(7);
        if !self.manager.is_empty() {
            entry.push("manager", self.manager);
        }
        entry.push("operation", self.operation.as_str());
        entry.push("apiVersion", self.api_version);
        if let Some(time) = self.time {
            entry.push("time", time);
        }
        entry.push("fieldsType", "FieldsV1");
        entry.push("fieldsV1", self.fields.into_fields());
        if !self.subresource.is_empty() {
            entry.push("subresource", self.subresource);
        }
        entry.into()
    }

    /// The order of entries in an object.
    fn order(&self, other: &Self) -> Ordering {
        self.operation
            .cmp(&other.operation)
            .then_with(|| self.time.cmp(&other.time))
            .then_with(|| self.manager.as_bytes().cmp(other.manager.as_bytes()))
            .then_with(|| self.api_version.as_bytes().cmp(other.api_version.as_bytes()))
            .then_with(|| self.subresource.as_bytes().cmp(other.subresource.as_bytes()))
    }
}

impl Managers {
    /// The owners that an object's entries name.
    ///
    /// # Errors
    /// When an entry is not valid, in upstream's words.
    pub fn decode(entries: Option<&Value>) -> Result<Self, Invalid> {
        Self::read(entries.cloned(), |fields| {
            Set::from_fields(&fields).map(Fields::from).map_err(|why| why.to_string())
        })
    }

    /// The owners that entries name which this server has written: what they own is not looked at
    /// before it has to change.
    ///
    /// # Errors
    /// When an entry is not valid all the same.
    pub(crate) fn of_stored(entries: Option<Value>) -> Result<Self, Invalid> {
        Self::read(entries, |fields| Ok(Fields::stored(fields)))
    }

    fn read(
        entries: Option<Value>,
        read_fields: impl Fn(Value) -> Result<Fields, String>,
    ) -> Result<Self, Invalid> {
        let mut managers = Self::default();
        let Some(Value::Array(entries)) = entries else { return Ok(managers) };
        managers.0.reserve(entries.len());
        for (at, entry) in entries.into_iter().enumerate() {
            managers.put(read_entry(at, entry, &read_fields)?);
        }
        Ok(managers)
    }

    /// The entries, in their order; `None` where nobody owns anything.
    pub fn encode(mut self) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        self.0.sort_by(Owner::order);
        Some(Value::Array(self.0.into_iter().map(Owner::into_entry).collect()))
    }

    /// Whether nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an owner, or replaces the same one.
    pub(crate) fn put(&mut self, owner: Owner) {
        match self.0.iter_mut().find(|one| one.is_same_as(&owner)) {
            Some(slot) => *slot = owner,
            None => self.0.push(owner),
        }
    }

    /// Takes an owner out.
    pub(crate) fn take(&mut self, owner: &Owner) -> Option<Owner> {
        let at = self.0.iter().position(|one| one.is_same_as(owner))?;
        Some(self.0.remove(at))
    }
}

fn read_entry(
    at: usize,
    entry: Value,
    read_fields: &impl Fn(Value) -> Result<Fields, String>,
) -> Result<Owner, Invalid> {
    let mut entry = match entry {
        Value::Object(entry) => entry,
        _ => Object::new(),
    };
    let text = |name: &str| entry.str(name).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(Invalid("operation must be `Apply` or `Update`".into())),
    };
    if text("apiVersion").is_empty() {
        return Err(Invalid("apiVersion must not be empty".into()));
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(Invalid(format!("missing fieldsType in managed fields entry {at}"))),
        other => {
            let other = apiwright_meta::field::quoted(other);
            return Err(Invalid(format!("invalid fieldsType {other} in managed fields entry {at}")));
        }
    }
    let fields = match entry.get_mut("fieldsV1").map(std::mem::take) {
        None | Some(Value::Null) => Set::new().into(),
        Some(fields) => read_fields(fields).map_err(|why| {
            let manager = entry.str("manager").unwrap_or_default();
            Invalid(format!("error decoding versioned set from {manager}: error decoding set: {why}"))
        })?,
    };
    let mut take = |name: &str| match entry.get_mut(name).map(std::mem::take) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    Ok(Owner {
        manager: take("manager").unwrap_or_default(),
        operation,
        api_version: take("apiVersion").unwrap_or_default(),
        subresource: take("subresource").unwrap_or_default(),
        time: take("time"),
        fields,
    })
}
