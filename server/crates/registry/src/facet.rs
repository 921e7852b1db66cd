//! Selectable fields as what the storage tells entries apart by.

use std::borrow::Cow;
use std::sync::Arc;

use apiwright_storage::{Entry, Facet};

use crate::facts::{FieldPaths, Fnv, ObjectFacts};
use crate::resource::{Conversion, Resource};

/// A selectable field of a resource's objects.
#[derive(Debug)]
struct FieldFacet {
    id: u64,
    prefix: String,
    fields: Arc<FieldPaths>,
    /// Which of them.
    at: usize,
}

impl Facet for FieldFacet {
    fn id(&self) -> u64 {
        self.id
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }

    fn value<'a>(&self, entry: &'a Entry) -> Cow<'a, str> {
        let facts = entry.annex.get_or_derive(|| ObjectFacts::derive(&entry.value, &self.fields));
        if facts.fields.of == self.fields.id {
            return Cow::Borrowed(facts.fields.values.get(self.at).map_or("", |value| value.as_str()));
        }
        let values = self.fields.values(&entry.value);
        Cow::Owned(values.get(self.at).map(|value| value.as_str().to_owned()).unwrap_or_default())
    }
}

/// For each selectable field of a resource, what the storage may index; `None` where the spec does not say so or
/// the field is not in the stored bytes.
pub(crate) fn of(resource: &Resource, fields: &Arc<FieldPaths>) -> Box<[Option<Arc<dyn Facet>>]> {
    let stored = !matches!(resource.storage.conversion, Conversion::Hook);
    let facet = |at: usize| {
        let prefix = format!("/registry/{}/", &*resource.storage.prefix);
        let mut id = Fnv::default();
        id.add(&prefix);
        id.add(&resource.selectable[at].name);
        let id = id.value() ^ fields.id;
        Arc::new(FieldFacet { id, prefix, fields: Arc::clone(fields), at }) as Arc<dyn Facet>
    };
    let indexed = |at: usize| stored && resource.selectable[at].indexed;
    (0..resource.selectable.len()).map(|at| indexed(at).then(|| facet(at))).collect()
}
