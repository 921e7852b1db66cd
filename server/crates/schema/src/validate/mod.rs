//! Validation: whether an object in normal form satisfies the rules of its schema.
//!
//! Position: after defaults, before a hook's own checks; the registry turns the faults into one
//! Status.
//! Invariant: faults come in the order of the fields and their rules. What an update leaves as it
//! was is not looked at again, so that objects that were valid once can still be changed.
//! Absence: rules across fields, which are a hook's, and the unions, which are only published.

mod format;
mod formats;
mod junctors;
mod lists;
mod pattern;
mod rules;

#[cfg(test)]
mod tests;

pub use pattern::pattern_fault;

use apiwright_json::{Object, Value};
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path};

use crate::decode::omission;
use crate::table::Plan;
use crate::trail::Trail;
use crate::{Field, ListKind, Node, Rule, Shape, Struct, go};

/// Whose words the faults have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Those of the built-in kinds: `must be greater than or equal to 0`.
    BuiltIn,
    /// Those of custom resources: `spec.x in body should be greater than or equal to 0`.
    Custom,
}

/// Finds the faults of an object; `old` is what an update replaces.
pub fn validate(
    ty: &Struct,
    value: &Value,
    old: Option<&Value>,
    root: &Path,
    words: Words,
    errors: &mut ErrorList,
) {
    if let Value::Object(object) = value {
        let mut walk = Walk { root, words, updating: old.is_some(), errors, lists: ErrorList::new() };
        walk.members(ty, object, old.and_then(Value::as_object), &Trail::ROOT);
        // Lists that had duplicates may have others.
        let lists = walk.lists;
        if !lists.is_empty() && !old.is_some_and(|old| lists::have_duplicates(ty, old)) {
            errors.append(lists);
        }
    }
}

/// The faults of a list whose items have to differ: sets by value, maps by their keys. Built-in
/// kinds check few of their lists, custom resources all.
pub fn duplicates(kind: &ListKind, items: &[Value], path: &Path, errors: &mut ErrorList) {
    let is_map = match kind {
        ListKind::Atomic => return,
        ListKind::Set => false,
        ListKind::Map(_) => true,
    };
    let mut seen: Vec<Value> = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let key = if is_map { Value::Object(keys(kind, item)) } else { item.clone() };
        if seen.contains(&key) {
            errors.duplicate(path.index(at), go_value(&key));
        } else {
            seen.push(key);
        }
    }
}

/// The members that tell an item apart; empty where it is not told apart by any.
fn keys(kind: &ListKind, item: &Value) -> Object {
    let ListKind::Map(names) = kind else { return Object::new() };
    let mut names: Vec<&str> = names.iter().map(|name| &**name).collect();
    names.sort_unstable();
    names.into_iter().filter_map(|name| Some((name, item.get(name)?.clone()))).collect()
}

pub(super) struct Walk<'a> {
    root: &'a Path,
    words: Words,
    updating: bool,
    errors: &'a mut ErrorList,
    /// Duplicates in the lists of custom resources, which are told last.
    lists: ErrorList,
}

impl Walk<'_> {
    fn members(&mut self, ty: &Struct, object: &Object, old: Option<&Object>, at: &Trail<'_>) {
        let mut present: Vec<(usize, &Value)> = Vec::with_capacity(object.len());
        let mut expected = 0;
        for (name, value) in object.iter() {
            let index = match ty.fields.get(expected) {
                Some(field) if *field.name == **name => Some(expected),
                _ => ty.position(name),
            };
            if let Some(index) = index {
                expected = index + 1;
                present.push((index, value));
            }
        }
        if !present.is_sorted_by_key(|member| member.0) {
            present.sort_by_key(|member| member.0);
        }
        let mut present = present.into_iter().peekable();
        let mut check = |index: usize, walk: &mut Self| {
            while present.next_if(|member| member.0 < index).is_some() {}
            let value = present.next_if(|member| member.0 == index).map(|member| member.1);
            let field = &ty.fields[index];
            if value.is_some() || !field.node.rules.is_empty() {
                let old = old.and_then(|old| old.get(&field.name));
                walk.field(field, value, old, &at.field(ty, &field.name));
            }
        };
        match self.words {
            Words::BuiltIn => {
                Plan::of(ty).ruled.iter().for_each(|index| check(usize::from(*index), self));
            }
            // Everything has a type to check.
            Words::Custom => (0..ty.fields.len()).for_each(|index| check(index, self)),
        }
        if self.words == Words::Custom {
            for field in ty.fields.iter().filter(|field| field.required && !object.contains_key(&field.name))
            {
                self.errors.required(self.path(&at.field(ty, &field.name)), "");
            }
        }
    }

    fn field(&mut self, field: &Field, value: Option<&Value>, old: Option<&Value>, at: &Trail<'_>) {
        let value = value.filter(|value| !is_nothing(field, value));
        let old = old.filter(|old| !is_nothing(field, old));
        if self.updating && value == old {
            return;
        }
        self.node(&field.node, value, old, at);
    }

    /// Checks a value against its rules, and what is in it.
    fn node(&mut self, node: &Node, value: Option<&Value>, old: Option<&Value>, at: &Trail<'_>) {
        if let Some(value) = value.filter(|_| self.words == Words::Custom) {
            self.shape(node, value, at);
        }
        for rule in node.rules.iter() {
            if self.rule(rule, node, value, at).is_break() {
                return;
            }
        }
        match (&node.shape, value) {
            (Shape::Struct(ty), Some(Value::Object(object))) => {
                self.members(ty, object, old.and_then(Value::as_object), at);
            }
            (Shape::List(list), Some(Value::Array(items))) => {
                let old = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                for (index, item) in items.iter().enumerate() {
                    let before = counterpart(&list.kind, item, old);
                    if before != Some(item) {
                        self.node(&list.item, Some(item), before, &at.index(index));
                    }
                }
                if self.words == Words::Custom {
                    let path = self.path(at);
                    duplicates(&list.kind, items, &path, &mut self.lists);
                }
            }
            (Shape::Map(map), Some(Value::Object(object))) => {
                let old = old.and_then(Value::as_object);
                for (key, value) in object.iter() {
                    let before = old.and_then(|old| old.get(key));
                    if before != Some(value) {
                        self.node(&map.value, Some(value), before, &at.key(key));
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks that a value is of its type: built-in kinds' are once they are decoded.
    fn shape(&mut self, node: &Node, value: &Value, at: &Trail<'_>) {
        let found = json_type(value);
        let wanted = match &node.shape {
            Shape::Bool => "boolean",
            Shape::Int32 | Shape::Int64 => "integer",
            Shape::Double => "number",
            Shape::IntOrString => "integer,string",
            Shape::List(_) => "array",
            Shape::Map(_) | Shape::Struct(_) | Shape::RawObject | Shape::FieldsV1 => "object",
            Shape::Any(_) => return,
            Shape::String(_)
            | Shape::Bytes
            | Shape::Time
            | Shape::MicroTime
            | Shape::Duration
            | Shape::Quantity => "string",
        };
        let fits = wanted.split(',').any(|wanted| wanted == found)
            || (wanted == "number" && found == "integer")
            || (wanted.starts_with("integer")
                && matches!(value, Value::Float(number) if number.fract() == 0.0))
            || (value.is_null() && node.nullable);
        if !fits {
            let path = self.path(at);
            let detail = format!("{} in body must be of type {wanted}: \"{found}\"", path.as_str());
            self.errors.type_invalid(path, format!("\"{found}\""), &detail);
        }
        if let Some(words) = out_of_range(node, value) {
            let text = format!("Checked value must be of type {words} in {}", self.path(at).as_str());
            self.errors.invalid(Path::default(), "\"\"", &text);
        }
    }

    /// The path of a fault: custom resources' have map keys behind a dot.
    fn path(&self, at: &Trail<'_>) -> Path {
        match self.words {
            Words::BuiltIn => at.field_path(self.root),
            Words::Custom if self.root.as_str().is_empty() => Path::new(&at.path()),
            Words::Custom => self.root.child(&at.path()),
        }
    }

    /// The value as a fault shows it.
    fn shown(&self, node: &Node, value: &Value) -> String {
        match self.words {
            Words::BuiltIn => go::internal(node, value),
            Words::Custom => go_value(value),
        }
    }
}

/// The type, with its format, that a number is too large or too fine for.
fn out_of_range(node: &Node, value: &Value) -> Option<String> {
    let format = node.rules.iter().find_map(|rule| match rule {
        Rule::Format(name) => Some(&**name),
        _ => None,
    });
    let (ty, fits) = match (&node.shape, value) {
        (Shape::Int32 | Shape::Int64, Value::Int(number)) => (
            "integer",
            match format {
                Some("int32") => i32::try_from(*number).is_ok(),
                Some("uint32") => u32::try_from(*number).is_ok(),
                Some("uint64") => u64::try_from(*number).is_ok(),
                _ => true,
            },
        ),
        (Shape::Int32 | Shape::Int64, Value::Float(number)) => ("integer", number.fract() == 0.0),
        (Shape::Double, Value::Float(number)) => {
            ("number", !matches!(format, Some("float" | "float32")) || (*number as f32).is_finite())
        }
        _ => return None,
    };
    let with = |format: &str| format!("{ty} with format {format}");
    (!fits).then(|| format.map_or_else(|| format!("{ty} (default format)"), with))
}

/// What JSON schema calls this kind of value.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) => "integer",
        Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The item of the old list that an item stands for: the one with its keys, or its equal.
fn counterpart<'a>(kind: &ListKind, item: &Value, old: &'a [Value]) -> Option<&'a Value> {
    match kind {
        ListKind::Map(_) => {
            let keys = keys(kind, item);
            old.iter().find(|old| self::keys(kind, old) == keys)
        }
        ListKind::Set | ListKind::Atomic => old.iter().find(|old| *old == item),
    }
}

/// Whether a member that is there holds what Go calls the zero value and cannot tell from none.
fn is_nothing(field: &Field, value: &Value) -> bool {
    match value {
        Value::Null => true,
        _ if field.pointer => false,
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty() && matches!(field.node.shape, Shape::Map(_)),
        scalar => *scalar == omission::zero(&field.node),
    }
}
