//! Whether a stored object is in a selection: selectors evaluated on facts.
//!
//! What a selection has in common, where the storage has an index of it, is [`Matcher::only`].

use std::borrow::Cow;
use std::sync::Arc;

use apiwright_meta::labels::LabelSelector;
use apiwright_meta::names;
use apiwright_storage::{Entry, Only, Select};
use compact_str::CompactString;

use crate::facts::ObjectFacts;
use crate::resource::Conversion;
use crate::store::{Selection, Store};

/// A selection made ready for one resource.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    labels: LabelSelector,
    fields: Vec<FieldTest>,
}

#[derive(Clone, Debug)]
struct FieldTest {
    field: Field,
    value: String,
    negated: bool,
}

/// A field that a selector names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// The index in the resource's selectable fields.
    Selectable(usize),
    /// None that the resource has: always empty.
    Unknown,
}

impl Matcher {
    /// For a resource's objects.
    pub(crate) fn new(store: &Store, selection: &Selection) -> Self {
        let field = |name: &str| match name {
            "metadata.name" => Field::Name,
            "metadata.namespace" => Field::Namespace,
            _ => store
                .resource
                .selectable
                .iter()
                .position(|one| *one.name == *name)
                .map_or(Field::Unknown, Field::Selectable),
        };
        Self {
            labels: selection.labels.clone(),
            fields: selection
                .fields
                .requirements
                .iter()
                .map(|one| FieldTest {
                    field: field(&one.field),
                    value: one.value.clone(),
                    negated: one.negated,
                })
                .collect(),
        }
    }

    /// Whether everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The only name that can match.
    pub(crate) fn single_name(&self) -> Option<&str> {
        self.exact(Field::Name)
    }

    /// The namespace that a selection is about: the request's, or the one that its fields demand.
    pub(crate) fn scope(&self, selection: &Selection) -> String {
        if !selection.namespace.is_empty() {
            return selection.namespace.clone();
        }
        let valid = |name: &&str| names::name_is_dns_label(name, false).is_empty();
        self.exact(Field::Namespace).filter(valid).unwrap_or_default().to_owned()
    }

    fn exact(&self, field: Field) -> Option<&str> {
        self.fields.iter().find(|test| test.field == field && !test.negated).map(|test| &*test.value)
    }

    /// What all objects of the selection have in common, where the storage may have an index of that.
    pub(crate) fn only(&self, store: &Store) -> Option<Only> {
        self.fields.iter().filter(|test| !test.negated).find_map(|test| match test.field {
            Field::Selectable(at) => {
                let facet = Arc::clone(store.facets.get(at)?.as_ref()?);
                Some(Only { facet, value: test.value.as_str().into() })
            }
            Field::Name | Field::Namespace | Field::Unknown => None,
        })
    }

    /// Whether an entry is in the selection.
    pub(crate) fn matches(&self, store: &Store, entry: &Arc<Entry>) -> bool {
        if self.is_empty() {
            return true;
        }
        let facts = store.facts(entry);
        self.labels.matches(|key| facts.label(key)) && self.fields_match(store, entry, facts)
    }

    fn fields_match(&self, store: &Store, entry: &Arc<Entry>, facts: &ObjectFacts) -> bool {
        let mut values = None;
        self.fields.iter().all(|test| {
            let value: &str = match test.field {
                Field::Name => &facts.name,
                Field::Namespace => &facts.namespace,
                Field::Unknown => "",
                Field::Selectable(at) => values
                    .get_or_insert_with(|| store.field_values(entry, facts))
                    .get(at)
                    .map_or("", |value| value.as_str()),
            };
            (value == test.value) != test.negated
        })
    }
}

/// A selection as the storage sees it.
pub(crate) struct Wanted<'a> {
    store: &'a Store,
    matcher: &'a Matcher,
    only: Option<Only>,
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(store: &'a Store, matcher: &'a Matcher) -> Self {
        Self { store, matcher, only: matcher.only(store) }
    }
}

impl Select for Wanted<'_> {
    fn wants(&self, entry: &Arc<Entry>) -> bool {
        self.matcher.matches(self.store, entry)
    }

    fn only(&self) -> Option<&Only> {
        self.only.as_ref()
    }
}

impl Store {
    /// The values of this resource's selectable fields. Those in the annex are another's where two
    /// resources share their objects, and those of another version where a hook converts; then they
    /// are looked up anew.
    fn field_values<'a>(&self, entry: &Arc<Entry>, facts: &'a ObjectFacts) -> Cow<'a, [CompactString]> {
        if matches!(self.resource.storage.conversion, Conversion::Hook) {
            // What cannot be converted has no fields; the request fails where it is shown.
            let values = self.present(entry).map(|shown| self.fields.values(shown.bytes()));
            return Cow::Owned(values.unwrap_or_default().into_vec());
        }
        if facts.fields.of == self.fields.id {
            Cow::Borrowed(&facts.fields.values)
        } else {
            Cow::Owned(self.fields.values(&entry.value).into_vec())
        }
    }
}
