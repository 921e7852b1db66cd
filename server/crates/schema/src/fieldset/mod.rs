//! Sets of fields: the currency of ownership.
//!
//! Position: beside the walks of this crate, below `managed` and `apply`. A [`Set`] says which
//! fields somebody owns, [`from_value`] which fields an object sets, [`compare`] which differ
//! between two objects, always read through a schema's list and map types.
//! Invariant: a set is a tree ordered as sigs.k8s.io/structured-merge-diff v6 orders it, so that
//! its `FieldsV1` form is byte for byte what kube-apiserver writes.
//! Absence: nothing here knows managers, versions or times.

mod compare;
mod element;
mod encode;
mod filter;
mod fromvalue;
mod items;
mod model;
mod named;
mod order;
mod reconcile;
mod set;
mod stored;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use compare::{Comparison, compare};
pub use element::{Element, Path};
pub use encode::Malformed;
pub use filter::{Filter, Pattern};
pub use fromvalue::from_value;
pub use set::Set;
pub use stored::Fields;

pub(crate) use items::{items, key_element};
pub(crate) use model::{Atom, ListAtom, MapAtom, Scalar, Type};
pub(crate) use named::with_named_fields;
pub(crate) use order::equal;

/// A value that does not fit its schema: which, and why, in structured-merge-diff's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// `.spec.ports[containerPort=80]`; empty for the object itself.
    pub path: String,
    /// For instance `field not declared in schema`.
    pub message: String,
}

/// All that does not fit, in the order in which it was met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// A fault of the value at hand; its path grows on the way out ([`Faults::within`]).
    pub(crate) fn one(message: impl Into<String>) -> Self {
        Self(vec![Fault { path: String::new(), message: message.into() }])
    }

    /// The same faults, seen from the value that holds the one at fault.
    pub(crate) fn within(mut self, element: &Element) -> Self {
        for fault in &mut self.0 {
            fault.path = format!("{element}{}", fault.path);
        }
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let [one] = self.0.as_slice() {
            return one.fmt(f);
        }
        f.write_str("errors:")?;
        for fault in &self.0 {
            write!(f, "\n  {fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
