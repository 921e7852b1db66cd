//! The owned value tree.

use std::collections::HashMap;

/// Up to this many members, a walk finds one faster than a hash.
const NARROW: usize = 16;

/// A string of a value: inline up to 24 bytes, static where it comes from a spec.
pub type Str = compact_str::CompactString;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number that is an integer of 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    String(Str),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

/// The members of an object, in order. Lookups are linear: Kubernetes objects are narrow, and
/// wide ones (data, labels) are walked, not searched.
#[derive(Clone, Debug, Default)]
pub struct Object {
    members: Vec<(Str, Value)>,
}

/// Equal objects have equal members in any order.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let in_step = self.members.iter().zip(&other.members).take_while(|(a, b)| a.0 == b.0).count();
        let (ours, theirs) = (&self.members[in_step..], &other.members[in_step..]);
        if self.members[..in_step].iter().zip(&other.members).any(|(a, b)| a.1 != b.1) {
            return false;
        }
        if ours.len() <= NARROW {
            return ours.iter().all(|(key, value)| other.get(key) == Some(value));
        }
        let index: HashMap<&str, &Value> = theirs.iter().map(|(key, value)| (key.as_str(), value)).collect();
        ours.iter().all(|(key, value)| index.get(key.as_str()) == Some(&value))
    }
}

impl Object {
    /// An object without members.
    pub const fn new() -> Self {
        Self { members: Vec::new() }
    }

    /// Room for `capacity` members.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { members: Vec::with_capacity(capacity) }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The value of a member.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.members.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The value of a member, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.members.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Where a member is.
    pub(crate) fn position(&self, key: &str) -> Option<usize> {
        self.members.iter().position(|(k, _)| k == key)
    }

    /// The name of the member at a place; empty where there is none.
    pub(crate) fn key_at(&self, at: usize) -> &str {
        self.members.get(at).map_or("", |(k, _)| k)
    }

    /// Sets the value of the member at a place.
    pub(crate) fn set_at(&mut self, at: usize, value: Value) {
        if let Some((_, slot)) = self.members.get_mut(at) {
            *slot = value;
        }
    }

    /// Whether there is such a member.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets a member in its place or at the end; returns what was there.
    pub fn insert(&mut self, key: impl Into<Str>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        if let Some(slot) = self.get_mut(&key) {
            return Some(std::mem::replace(slot, value));
        }
        self.members.push((key, value));
        None
    }

    /// Appends a member without looking for one of the same name: for decoders that know.
    pub fn push(&mut self, key: impl Into<Str>, value: impl Into<Value>) {
        self.members.push((key.into(), value.into()));
    }

    /// Puts a member before the one at `at`, or at the end, without looking for one of the same name.
    pub fn insert_at(&mut self, at: usize, key: impl Into<Str>, value: impl Into<Value>) {
        self.members.insert(at.min(self.members.len()), (key.into(), value.into()));
    }

    /// Takes a member out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.members.iter().position(|(k, _)| k == key)?;
        Some(self.members.remove(at).1)
    }

    /// The member's value, made by `default` where it is absent.
    pub fn entry(&mut self, key: &str, default: impl FnOnce() -> Value) -> &mut Value {
        let at = self.position(key).unwrap_or_else(|| {
            self.members.push((Str::from(key), default()));
            self.members.len() - 1
        });
        &mut self.members[at].1
    }

    /// The object member of this name, made where it is absent or no object.
    pub fn object(&mut self, key: &str) -> &mut Object {
        let slot = self.entry(key, || Value::Object(Object::new()));
        if !matches!(slot, Value::Object(_)) {
            *slot = Value::Object(Object::new());
        }
        match slot {
            Value::Object(object) => object,
            _ => unreachable!("made an object above"),
        }
    }

    /// The members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Str, &Value)> + ExactSizeIterator {
        self.members.iter().map(|(k, v)| (k, v))
    }

    /// The members in order, to walk two objects side by side.
    pub fn members(&self) -> &[(Str, Value)] {
        &self.members
    }

    /// The members in order, values to change.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&Str, &mut Value)> + ExactSizeIterator {
        self.members.iter_mut().map(|(k, v)| (&*k, v))
    }

    /// The names of the members in order.
    pub fn keys(&self) -> impl Iterator<Item = &Str> {
        self.members.iter().map(|(k, _)| k)
    }

    /// The values of the members in order.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.members.iter().map(|(_, v)| v)
    }

    /// Keeps the members for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.members.retain_mut(|(k, v)| keep(k, v));
    }

    /// Sorts the members by a key of their names, keeping the order of equal ones.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&str) -> K) {
        self.members.sort_by_cached_key(|(name, _)| key(name));
    }

    /// Sorts the members by name, byte by byte, as Go's encoder sorts maps.
    pub fn sort(&mut self) {
        self.members.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    }

    /// A string member's text.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }
}

impl IntoIterator for Object {
    type Item = (Str, Value);
    type IntoIter = std::vec::IntoIter<(Str, Value)>;
    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

impl<K: Into<Str>, V: Into<Value>> FromIterator<(K, V)> for Object {
    /// Later members of a name replace earlier ones.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut object = Self::new();
        let mut index: HashMap<Str, usize> = HashMap::new();
        for (key, value) in members {
            let (key, value) = (key.into(), value.into());
            if object.len() < NARROW {
                object.insert(key, value);
                continue;
            }
            if index.is_empty() {
                index = object.keys().cloned().zip(0..).collect();
            }
            if let Some(at) = index.get(&key) {
                object.set_at(*at, value);
            } else {
                index.insert(key.clone(), object.len());
                object.push(key, value);
            }
        }
        object
    }
}

impl Value {
    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// How many arrays and objects are within each other at the deepest place.
    pub fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or_default(),
            Self::Object(object) => 1 + object.values().map(Self::depth).max().unwrap_or_default(),
            _ => 0,
        }
    }

    /// The integer of a number that is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The truth of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The items of an array.
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The items of an array, to change.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members of an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The members of an object, to change.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The value under a member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The value at the end of a walk through objects.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The value at the end of a walk through objects, to change.
    pub fn at_mut(&mut self, path: &[&str]) -> Option<&mut Value> {
        path.iter().try_fold(self, |value, key| value.as_object_mut()?.get_mut(key))
    }

    /// The text at the end of a walk through objects; empty where there is none.
    pub fn text_at(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// What Go's decoder calls this kind of value in its errors.
    pub fn go_kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Float(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Str> for Value {
    fn from(text: Str) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(keys: impl Iterator<Item = usize>) -> Object {
        keys.map(|key| (format!("k{key}"), key as i64)).collect()
    }

    #[test]
    fn equality_is_blind_to_order() {
        for len in [0, 1, 5, 40] {
            let (forth, back) = (numbered(0..len), numbered((0..len).rev()));
            assert_eq!(forth, back);
            let mut other = back.clone();
            if len > 0 {
                other.insert("k0", 7);
                assert_ne!(forth, other);
                other.remove("k0");
                other.insert("z", 0);
                assert_ne!(forth, other);
            }
        }
    }

    #[test]
    fn later_members_replace_earlier_ones() {
        let object: Object = (0..60).map(|at| (format!("k{}", at % 40), at)).collect();
        assert_eq!(object.len(), 40);
        assert_eq!(object.get("k3"), Some(&Value::Int(43)));
        assert_eq!(object.get("k30"), Some(&Value::Int(30)));
        assert_eq!(object.keys().next().map(Str::as_str), Some("k0"));
    }
}
