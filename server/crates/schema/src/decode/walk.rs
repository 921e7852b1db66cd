//! The walk itself: structs, lists and maps.

use apiwright_json::{Object, Str, Value};
use apiwright_meta::field::quoted;

use super::{Error, Source, omission, scalar};
use crate::go;
use crate::table::{Plan, Unknown};
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

    fn members(&mut self, ty: &Struct, mut object: Object, at: &Trail<'_>) -> Result<Object, Error> {
        let fields = &*ty.fields;
        let facts = Plan::of(ty);
        let mut places: Vec<Place> = Vec::with_capacity(object.len());
        let mut expected = 0;
        for (key, value) in object.iter_mut() {
            let index = match fields.get(expected) {
                Some(field) if *field.name == **key => Some(expected),
                _ => facts.position(ty, key),
            };
            let Some(index) = index else {
                if ty.unknown == Unknown::Drop {
                    self.tell("unknown", &at.key(key));
                }
                places.push(Place::Unknown);
                continue;
            };
            expected = index + 1;
            let field = &fields[index];
            let below = at.field(ty, &field.name);
            self.tell_duplicate(&below);
            if !value.is_null() {
                *value = self.value(&field.node, std::mem::take(value), &below)?;
            } else if field.pointer && !field.node.nullable {
                places.push(Place::Nowhere);
                continue;
            } else if !field.node.nullable {
                *value = self.null(&field.node, &below)?;
            }
            places.push(if omission::omits(field, value) { Place::Nowhere } else { Place::Field(index) });
        }
        if is_complete(&places, &facts.always) {
            return Ok(object);
        }
        Ok(rebuilt(ty, object, &places, &facts.always))
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

/// Where a member goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// To the field of this index.
    Field(usize),
    /// To no field.
    Unknown,
    /// It holds nothing and is left out.
    Nowhere,
}

/// Whether members are all fields, in order, and none is missing that has to be there.
fn is_complete(places: &[Place], always: &[u16]) -> bool {
    let mut always = always.iter().map(|index| Place::Field(usize::from(*index))).peekable();
    let mut last = None;
    for place in places {
        if !matches!(place, Place::Field(_)) || last >= Some(place) {
            return false;
        }
        last = Some(place);
        match always.peek() {
            Some(wanted) if wanted < place => return false,
            Some(wanted) if wanted == place => {
                always.next();
            }
            _ => {}
        }
    }
    always.next().is_none()
}

/// The members in the order of the fields, with those that have to be there.
fn rebuilt(ty: &Struct, object: Object, places: &[Place], always: &[u16]) -> Object {
    let mut members: Vec<(Place, Str, Value)> = Vec::with_capacity(object.len() + always.len());
    for (place, (key, value)) in places.iter().zip(object) {
        match place {
            Place::Field(_) => members.push((*place, key, value)),
            Place::Unknown if ty.unknown == Unknown::Keep => members.push((*place, key, value)),
            Place::Unknown | Place::Nowhere => {}
        }
    }
    for index in always.iter().map(|index| usize::from(*index)) {
        if !places.contains(&Place::Field(index)) {
            let field = &ty.fields[index];
            let value = omission::absent(field).unwrap_or_default();
            members.push((Place::Field(index), omission::name(&field.name), value));
        }
    }
    members.sort_by_key(|member| member.0);
    let mut out = Object::with_capacity(members.len());
    for (_, key, value) in members {
        out.push(key, value);
    }
    if ty.unknown == Unknown::Keep {
        // Only custom resources keep what they do not know; they are printed sorted.
        out.sort();
    }
    out
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
