//! The walk itself: structs, lists and maps.

use apiwright_json::{Object, Str, Value};
use apiwright_meta::field::quoted;

use super::{Error, Source, omission, scalar};
use crate::go;
use crate::table::Unknown;
use crate::trail::Trail;
use crate::{List, Map, Node, Shape, Struct};

/// How deep types may nest in a body; recursive ones exist (schemas of CRDs). Keeps the walk
/// within the stack of a worker thread.
const DEPTH_MAX: usize = 400;

/// How many strict errors are told; sigs.k8s.io/json stops there as well.
const STRICT_MAX: usize = 100;

/// One decoding in progress.
pub(super) struct Walk<'d> {
    source: Source,
    /// The paths of duplicate members, told when the walk comes by.
    duplicates: &'d [String],
    strict: Vec<String>,
    /// The first mismatch of types, told at the end.
    mismatch: Option<String>,
    depth: usize,
}

impl<'d> Walk<'d> {
    pub(super) fn new(source: Source, duplicates: &'d [String]) -> Self {
        Self { source, duplicates, strict: Vec::new(), mismatch: None, depth: 0 }
    }

    /// Decodes the object itself; null is an empty one.
    pub(super) fn root(&mut self, ty: &Struct, value: Value) -> Result<Value, Error> {
        match value {
            Value::Object(object) => self.members(ty, object, &Trail::ROOT).map(Value::Object),
            Value::Null => Ok(Value::Object(omission::zero_struct(ty))),
            other => {
                self.wrong_struct(ty, &other, &Trail::ROOT)?;
                Ok(Value::Object(omission::zero_struct(ty)))
            }
        }
    }

    /// Decodes a value that is no object.
    pub(super) fn at(&mut self, node: &Node, value: Value) -> Result<Value, Error> {
        self.element(node, value, &Trail::ROOT)
    }

    /// The strict errors, or the mismatch that outweighs them.
    pub(super) fn finish(mut self) -> Result<Vec<String>, Error> {
        if let Some(mismatch) = self.mismatch {
            return Err(Error(mismatch));
        }
        if self.source == Source::Unstructured {
            self.strict.sort();
        }
        Ok(self.strict)
    }

    /// Decodes a value that is there and not null.
    fn value(&mut self, node: &Node, value: Value, at: &Trail<'_>) -> Result<Value, Error> {
        match &node.shape {
            Shape::Struct(ty) => match value {
                Value::Object(object) => {
                    self.descend()?;
                    let object = self.members(ty, object, at)?;
                    self.depth -= 1;
                    Ok(Value::Object(object))
                }
                other => {
                    self.wrong_struct(ty, &other, at)?;
                    Ok(omission::zero(node))
                }
            },
            Shape::List(list) => match value {
                Value::Array(items) => {
                    self.descend()?;
                    let items = self.items(list, items, at)?;
                    self.depth -= 1;
                    Ok(Value::Array(items))
                }
                other => self.wrong_container("slice", node, &other, at),
            },
            Shape::Map(map) => match value {
                Value::Object(object) => {
                    self.descend()?;
                    let object = self.entries(map, object, at)?;
                    self.depth -= 1;
                    Ok(Value::Object(object))
                }
                other => self.wrong_container("map", node, &other, at),
            },
            _ => self.scalar(node, value, at),
        }
    }

    fn members(&mut self, ty: &Struct, object: Object, at: &Trail<'_>) -> Result<Object, Error> {
        let fields = &*ty.fields;
        let mut found: Vec<(usize, Str, Value)> = Vec::with_capacity(object.len());
        let mut extra: Vec<(Str, Value)> = Vec::new();
        let (mut expected, mut in_order) = (0, true);
        for (key, value) in object {
            let index = match fields.get(expected) {
                Some(field) if *field.name == *key => Some(expected),
                _ => ty.position(&key),
            };
            let Some(index) = index else {
                match ty.unknown {
                    Unknown::Keep => extra.push((key, value)),
                    Unknown::Drop => self.tell("unknown", &at.key(&key)),
                }
                continue;
            };
            let field = &fields[index];
            let below = at.field(ty, &field.name);
            self.tell_duplicate(&below);
            let mut value = if value.is_null() {
                if field.node.nullable {
                    Value::Null
                } else if field.pointer {
                    continue;
                } else {
                    self.null(&field.node, &below)?
                }
            } else {
                self.value(&field.node, value, &below)?
            };
            if omission::omits(field, &mut value) {
                continue;
            }
            in_order &= found.last().is_none_or(|last| last.0 < index);
            expected = index + 1;
            found.push((index, key, value));
        }
        if !in_order {
            found.sort_by_key(|member| member.0);
        }

        let mut out = Object::with_capacity(found.len() + extra.len());
        let mut found = found.into_iter().peekable();
        for (index, field) in fields.iter().enumerate() {
            if let Some((_, key, value)) = found.next_if(|member| member.0 == index) {
                out.push(key, value);
            } else if let Some(value) = omission::absent(field) {
                out.push(omission::name(&field.name), value);
            }
        }
        if ty.unknown == Unknown::Keep {
            // Only custom resources keep what they do not know; they are printed sorted.
            for (key, value) in extra {
                out.push(key, value);
            }
            out.sort();
        }
        Ok(out)
    }

    fn items(&mut self, list: &List, mut items: Vec<Value>, at: &Trail<'_>) -> Result<Vec<Value>, Error> {
        for (index, item) in items.iter_mut().enumerate() {
            let below = at.index(index);
            *item = self.element(&list.item, std::mem::take(item), &below)?;
        }
        Ok(items)
    }

    fn entries(&mut self, map: &Map, mut object: Object, at: &Trail<'_>) -> Result<Object, Error> {
        for (key, value) in object.iter_mut() {
            let below = at.key(key);
            self.tell_duplicate(&below);
            *value = self.element(&map.value, std::mem::take(value), &below)?;
        }
        if !object.keys().is_sorted() {
            object.sort();
        }
        Ok(object)
    }

    fn element(&mut self, node: &Node, value: Value, at: &Trail<'_>) -> Result<Value, Error> {
        match value {
            Value::Null if node.nullable => Ok(Value::Null),
            Value::Null => self.null(node, at),
            value => self.value(node, value, at),
        }
    }

    /// What null makes of a value that cannot be absent: nothing is decoded into it.
    fn null(&mut self, node: &Node, at: &Trail<'_>) -> Result<Value, Error> {
        match node.shape {
            // Its decoder sees an empty text.
            Shape::Duration => self.scalar(node, Value::String(Str::default()), at),
            _ => Ok(omission::zero(node)),
        }
    }

    fn scalar(&mut self, node: &Node, value: Value, at: &Trail<'_>) -> Result<Value, Error> {
        let wrong = match self.source {
            Source::Json => scalar::decode(node, value),
            Source::Unstructured => scalar::convert(node, value),
        };
        match wrong {
            Ok(value) => Ok(value),
            Err(scalar::Fault::Text(text)) => Err(Error(text)),
            Err(scalar::Fault::Late(text)) => {
                self.mismatch.get_or_insert(text);
                Ok(omission::zero(node))
            }
            Err(scalar::Fault::Type { found, wanted, late: true }) => {
                self.mismatch.get_or_insert_with(|| mismatch(&found, &wanted, at));
                Ok(omission::zero(node))
            }
            Err(scalar::Fault::Type { found, wanted, late: false }) => {
                Err(Error(mismatch(&found, &wanted, at)))
            }
        }
    }

    fn wrong_struct(&mut self, ty: &Struct, value: &Value, at: &Trail<'_>) -> Result<(), Error> {
        match self.source {
            Source::Json => {
                self.mismatch.get_or_insert_with(|| mismatch(value.go_kind(), &go::struct_type(ty), at));
                Ok(())
            }
            Source::Unstructured => Err(Error(format!("cannot restore struct from: {}", go::kind(value)))),
        }
    }

    fn wrong_container(
        &mut self,
        what: &str,
        node: &Node,
        value: &Value,
        at: &Trail<'_>,
    ) -> Result<Value, Error> {
        match self.source {
            Source::Json => {
                self.mismatch.get_or_insert_with(|| mismatch(value.go_kind(), &go::type_name(node), at));
                Ok(Value::Null)
            }
            Source::Unstructured => Err(Error(format!("cannot restore {what} from {}", go::kind(value)))),
        }
    }

    fn descend(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(Error("exceeded max depth".into())) } else { Ok(()) }
    }

    fn tell_duplicate(&mut self, at: &Trail<'_>) {
        if !self.duplicates.is_empty() {
            let path = at.path();
            if self.duplicates.contains(&path) {
                self.tell("duplicate", at);
            }
        }
    }

    #[cold]
    fn tell(&mut self, what: &str, at: &Trail<'_>) {
        if self.strict.len() < STRICT_MAX {
            self.strict.push(format!("{what} field {}", quoted(&at.path())));
        }
    }
}

/// Go's words for a value of the wrong type.
fn mismatch(found: &str, wanted: &str, at: &Trail<'_>) -> String {
    match at.fields() {
        Some((owner, path)) => format!(
            "json: cannot unmarshal {found} into Go struct field {}.{path} of type {wanted}",
            go::struct_name(owner)
        ),
        None => format!("json: cannot unmarshal {found} into Go value of type {wanted}"),
    }
}
