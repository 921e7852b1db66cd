//! Lists and maps: of JSON, or made.

use std::collections::HashMap;
use std::sync::Arc;

use apiwright_json::{Object as JsonObject, Value};

use super::{Val, equal, read};
use crate::decl::{Decl, Object};
use crate::error::EvalError;
use crate::escape;

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// Of JSON, with what is declared of the list.
    Json(&'a [Value], &'a Decl),
    /// Of JSON of which nothing is declared.
    Dynamic(&'a [Value]),
    /// Made here.
    Made(Arc<Vec<Val<'a>>>),
}

/// A map.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// A JSON object with declared fields.
    Object(&'a JsonObject, &'a Object),
    /// A JSON object with values of one declared kind.
    Json(&'a JsonObject, &'a Decl),
    /// A JSON object of which nothing is declared.
    Dynamic(&'a JsonObject),
    /// Made here.
    Made(Arc<Members<'a>>),
}

/// The members of a map that was made.
#[derive(Clone, Debug, Default)]
pub struct Members<'a> {
    list: Vec<(Val<'a>, Val<'a>)>,
    /// Where members are, once there are many.
    index: HashMap<Key, usize>,
}

/// Up to this many members, a walk finds one faster than a hash.
const NARROW: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Bool(bool),
    Number(i128),
    String(Box<str>),
}

impl<'a> List<'a> {
    /// How many items there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(items, _) | Self::Dynamic(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An item; none beyond the end.
    pub fn get(&self, at: usize) -> Option<Result<Val<'a>, EvalError>> {
        Some(match self {
            Self::Json(items, decl) => match decl.element() {
                Some(element) => read(items.get(at)?, element),
                None => Ok(Val::json(items.get(at)?)),
            },
            Self::Dynamic(items) => Ok(Val::json(items.get(at)?)),
            Self::Made(items) => Ok(items.get(at)?.clone()),
        })
    }

    /// All items.
    pub fn iter(&self) -> impl Iterator<Item = Result<Val<'a>, EvalError>> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Whether a value is among the items.
    pub(crate) fn contains(&self, wanted: &Val<'a>) -> Result<bool, EvalError> {
        for item in self.iter() {
            if equal(&item?, wanted)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<'a> Map<'a> {
    /// How many members there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Object(object, _) | Self::Json(object, _) | Self::Dynamic(object) => object.len(),
            Self::Made(members) => members.list.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key; none where there is no such member.
    pub fn find(&self, key: &Val<'a>) -> Result<Option<Val<'a>>, EvalError> {
        match (self, key) {
            (Self::Made(members), key) => Ok(members.get(key).cloned()),
            (_, Val::String(name)) => self.field(name),
            (Self::Dynamic(_), _) => Ok(None),
            _ => Err(EvalError::NO_OVERLOAD),
        }
    }

    /// The value of a field by its identifier.
    pub fn field(&self, name: &str) -> Result<Option<Val<'a>>, EvalError> {
        match self {
            Self::Object(object, declared) => {
                let Some(field) = declared.fields.get(name) else { return Ok(None) };
                match object.get(&field.name) {
                    None | Some(Value::Null) => Ok(None),
                    Some(value) => read(value, &field.decl).map(Some),
                }
            }
            Self::Json(object, decl) => object.get(name).map(|value| read(value, decl)).transpose(),
            Self::Dynamic(object) => Ok(object.get(name).map(Val::json)),
            Self::Made(members) => Ok(members.named(name).cloned()),
        }
    }

    /// The keys, in order.
    pub fn keys(&self) -> Vec<Val<'a>> {
        let texts = |object: &'a JsonObject| object.iter().map(|(key, _)| Val::str(key)).collect();
        match self {
            Self::Object(object, declared) => object
                .iter()
                .filter_map(|(key, _)| {
                    let identifier = escape(key)?;
                    let field = declared.fields.get(identifier.as_str())?;
                    Some(if identifier == *field.name { Val::str(key) } else { Val::text(identifier) })
                })
                .collect(),
            Self::Json(object, _) | Self::Dynamic(object) => texts(object),
            Self::Made(members) => members.list.iter().map(|(key, _)| key.clone()).collect(),
        }
    }

    /// The members, in order.
    pub fn entries(&self) -> Result<Vec<(Val<'a>, Val<'a>)>, EvalError> {
        if let Self::Made(members) = self {
            return Ok(members.list.clone());
        }
        let mut entries = Vec::with_capacity(self.len());
        for key in self.keys() {
            if let Some(value) = self.find(&key)? {
                entries.push((key, value));
            }
        }
        Ok(entries)
    }
}

impl<'a> Members<'a> {
    /// Sets a member; what was there is returned.
    pub(crate) fn insert(&mut self, key: Val<'a>, value: Val<'a>) -> Result<Option<Val<'a>>, EvalError> {
        let name = Key::of(&key)?;
        if self.list.len() == NARROW && self.index.is_empty() {
            for (at, (key, _)) in self.list.iter().enumerate() {
                self.index.insert(Key::of(key)?, at);
            }
        }
        if let Some(at) = self.position(&name) {
            return Ok(Some(std::mem::replace(&mut self.list[at].1, value)));
        }
        if self.list.len() >= NARROW {
            self.index.insert(name, self.list.len());
        }
        self.list.push((key, value));
        Ok(None)
    }

    fn get(&self, key: &Val<'a>) -> Option<&Val<'a>> {
        let at = self.position(&Key::of(key).ok()?)?;
        Some(&self.list[at].1)
    }

    fn named(&self, name: &str) -> Option<&Val<'a>> {
        if self.index.is_empty() {
            return self.list.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value);
        }
        Some(&self.list[*self.index.get(&Key::String(name.into()))?].1)
    }

    fn position(&self, name: &Key) -> Option<usize> {
        if self.index.is_empty() {
            return self.list.iter().position(|(key, _)| Key::of(key).is_ok_and(|key| key == *name));
        }
        self.index.get(name).copied()
    }
}

impl Key {
    fn of(value: &Val<'_>) -> Result<Self, EvalError> {
        Ok(match value {
            Val::Bool(value) => Self::Bool(*value),
            Val::Int(value) => Self::Number((*value).into()),
            Val::Uint(value) => Self::Number((*value).into()),
            // A number that is whole is the key that the whole number is.
            Val::Double(value) if value.fract() == 0.0 && value.abs() < 1e19 => Self::Number(*value as i128),
            Val::String(text) => Self::String((**text).into()),
            other => return Err(EvalError::new(format!("unsupported key type: {}", other.ty().name()))),
        })
    }
}
