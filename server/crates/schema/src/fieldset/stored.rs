//! A set that stays in its `FieldsV1` form until it has to change.
//!
//! Most owners of an object are not concerned by a write: what they own is looked at where it is,
//! and goes back as it came.

use apiwright_json::{Object, Value};

use super::element::Element;
use super::encode::names;
use super::model::Type;
use super::reconcile::{below, is_one_value};
use super::set::Set;
use crate::table::Struct;

/// The fields of an owner.
#[derive(Clone, Debug)]
pub struct Fields(Form);

#[derive(Clone, Debug)]
enum Form {
    /// As this server wrote it.
    Stored(Value),
    Set(Set),
}

impl From<Set> for Fields {
    fn from(set: Set) -> Self {
        Self(Form::Set(set))
    }
}

/// Equal fields are equal in either form.
impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.to_set() == other.to_set()
    }
}

impl Eq for Fields {}

impl Fields {
    /// Of a `FieldsV1` value that this server has written.
    pub(crate) fn stored(fields: Value) -> Self {
        Self(Form::Stored(fields))
    }

    /// The set.
    pub fn to_set(&self) -> Set {
        match &self.0 {
            Form::Stored(fields) => Set::from_fields(fields).unwrap_or_default(),
            Form::Set(set) => set.clone(),
        }
    }

    /// The set, to change.
    pub fn set_mut(&mut self) -> &mut Set {
        if matches!(self.0, Form::Stored(_)) {
            self.0 = Form::Set(self.to_set());
        }
        match &mut self.0 {
            Form::Set(set) => set,
            Form::Stored(_) => unreachable!("decoded above"),
        }
    }

    /// The set.
    pub fn into_set(mut self) -> Set {
        std::mem::take(self.set_mut())
    }

    /// The `FieldsV1` form.
    pub fn into_fields(self) -> Value {
        match self.0 {
            Form::Stored(fields) => fields,
            Form::Set(set) => set.to_fields(),
        }
    }

    /// Whether nothing is owned.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Form::Stored(Value::Object(fields)) => fields.is_empty(),
            Form::Stored(_) => true,
            Form::Set(set) => set.is_empty(),
        }
    }

    /// Whether some field of a set is owned.
    pub(crate) fn intersects(&self, set: &Set) -> bool {
        match &self.0 {
            Form::Stored(Value::Object(fields)) => stored_intersects(fields, set),
            Form::Stored(_) => false,
            Form::Set(mine) => mine.intersects(set),
        }
    }

    /// Takes out the fields of a set.
    pub(crate) fn remove_all(&mut self, set: &Set) {
        if self.intersects(set) {
            self.set_mut().remove_all(set);
        }
    }

    /// Makes them fit a type some of whose values have become one value.
    pub(crate) fn reconcile(&mut self, ty: &Struct) {
        let fits = match &self.0 {
            Form::Stored(Value::Object(fields)) => stored_fits(Type::Struct(ty), fields),
            Form::Stored(_) => true,
            Form::Set(_) => false,
        };
        if !fits {
            super::reconcile::reconcile(ty, self.set_mut());
        }
    }
}

fn stored_intersects(fields: &Object, set: &Set) -> bool {
    set.nodes.iter().any(|node| {
        let found = fields.iter().find(|(name, _)| names(name, &node.element));
        let Some((_, Value::Object(below))) = found else { return false };
        let is_member = below.is_empty() || below.contains_key(".");
        (node.member && is_member) || (!node.children.is_empty() && stored_intersects(below, &node.children))
    })
}

fn stored_fits(ty: Type<'_>, fields: &Object) -> bool {
    fields.iter().all(|(name, value)| {
        let Value::Object(parts) = value else { return true };
        if parts.is_empty() || (parts.len() == 1 && parts.contains_key(".")) {
            return true;
        }
        let ty = match name.split_at_checked(2) {
            Some(("f:", name)) => below(ty, &Element::field(name)),
            // All items of a list are of one type.
            Some(_) => below(ty, &Element::Index(0)),
            None => None,
        };
        ty.is_none_or(|ty| !is_one_value(ty) && stored_fits(ty, parts))
    })
}
