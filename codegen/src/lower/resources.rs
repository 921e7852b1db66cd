//! Resources and columns.

use sha2::{Digest, Sha256};

use crate::check::index::Home;
use crate::diagnostic::Spanned;
use crate::ir::{
    Cell, Column, Conversion, Does, Examples, KindName, Part, Rejected, Resource, Selectable, Storage,
    Strategy, StructRef, Subresource, Verb,
};
use crate::literal;
use crate::lower::types::{definition, kind_name};
use crate::lower::{Context, names};
use crate::spec::{self, ColumnDoc, Holds, TypeName};

impl<'a> Context<'a> {
    /// A resource of a spec.
    pub(super) fn lower_resource(&self, home: Home<'a>, resource: &'a spec::Resource) -> Resource {
        let kind = kind_name(home, &resource.kind);
        let verbs = lower_verbs(&resource.verbs);
        let mut subresources: Vec<_> =
            resource.subresources.iter().map(|one| self.subresource(home, &kind, one)).collect();
        subresources.sort_by(|a, b| a.name.cmp(&b.name));
        Resource {
            ident: names::constant(&resource.plural),
            plural: resource.plural.value.clone(),
            singular: resource.singular.clone(),
            list_kind: if verbs.contains(&Verb::List) { format!("{}List", kind.kind) } else { String::new() },
            short_names: texts(&resource.short_names),
            categories: texts(&resource.categories),
            namespaced: resource.namespaced,
            schema: StructRef {
                module: names::module(home),
                ident: names::constant(&resource.kind),
                granular: false,
            },
            storage: self.storage(home, &kind, resource),
            strategy: strategy(resource),
            columns: resource.columns.iter().map(|column| self.lower_column(home, column)).collect(),
            selectable: resource.selectable.iter().map(selectable).collect(),
            hooks: resource
                .hooks
                .as_ref()
                .map(|hooks| (names::group(&home.group.folder), hooks.value.clone())),
            typed: resource.typed,
            examples: resource.examples.as_ref().map(|written| self.examples(home, resource, written)),
            kind,
            verbs,
            subresources,
        }
    }

    fn examples(
        &self,
        home: Home<'a>,
        resource: &'a spec::Resource,
        written: &'a spec::Examples,
    ) -> Examples {
        let kind = Holds::Named(TypeName { home: None, name: resource.kind.value.clone() });
        let minimal = literal::json(self.index, home, &kind, &written.minimal).unwrap_or_default();
        let rejected = written
            .rejected
            .iter()
            .map(|one| Rejected {
                write: one.write,
                change: literal::any(&one.change),
                message: one.message.value.clone(),
            })
            .collect();
        Examples { minimal, rejected }
    }

    /// A column of a spec.
    pub(super) fn lower_column(&self, home: Home<'a>, column: &spec::Column) -> Column {
        let doc = match &column.doc {
            ColumnDoc::Text(text) => text.clone(),
            ColumnDoc::Of(field) => self.field_doc(home, field),
        };
        let cell = match &column.value {
            spec::Cell::Name => Cell::Name,
            spec::Cell::Age => Cell::Age,
            spec::Cell::Since(at) => Cell::Since(path(at)),
            spec::Cell::Path(at, otherwise) => Cell::Path(path(at), otherwise.clone()),
            spec::Cell::Text(parts) => Cell::Template(
                parts
                    .iter()
                    .map(|part| match part {
                        spec::Part::Literal(text) => Part::Literal(text.clone()),
                        spec::Part::Path(at, otherwise) => Part::Path(path(at), otherwise.clone()),
                    })
                    .collect(),
            ),
            spec::Cell::Hook => Cell::Hook,
        };
        Column {
            name: column.name.value.clone(),
            kind: column.kind.clone(),
            format: column.format.clone(),
            priority: i32::from(column.wide),
            doc,
            cell,
        }
    }

    fn field_doc(&self, home: Home<'a>, field: &spec::FieldName) -> String {
        let Some((home, of)) = self.index.find(home, &field.of) else { return String::new() };
        let own = of.fields.iter().find(|one| *one.name == field.field).and_then(|one| one.doc.as_ref());
        match own {
            Some(doc) => doc.value.clone(),
            None => self.descriptions.of_field(&definition(home, &of.name), &field.field).into(),
        }
    }

    fn storage(&self, home: Home<'a>, kind: &KindName, resource: &'a spec::Resource) -> Storage {
        let Some(storage) = &resource.storage else {
            return Storage {
                prefix: String::new(),
                kind: kind.clone(),
                hash: String::new(),
                conversion: Conversion::Same,
                ttl: 0,
            };
        };
        let stored = match &storage.stored_as {
            Some(name) => self.index.find(home, name).map(|(home, of)| kind_name(home, &of.name)),
            None => None,
        };
        let stored = stored.unwrap_or_else(|| kind.clone());
        Storage {
            prefix: storage
                .prefix
                .as_ref()
                .map_or_else(|| resource.plural.value.clone(), |one| one.value.clone()),
            hash: storage.hash.clone().unwrap_or_else(|| version_hash(&stored)),
            conversion: if storage.hook {
                Conversion::Hook
            } else if storage.rename.is_empty() {
                Conversion::Same
            } else {
                Conversion::Rename(
                    storage
                        .rename
                        .iter()
                        .map(|(here, there)| (here.value.clone(), there.value.clone()))
                        .collect(),
                )
            },
            ttl: storage.ttl,
            kind: stored,
        }
    }

    fn subresource(&self, home: Home<'a>, of: &KindName, one: &spec::Subresource) -> Subresource {
        let scale = KindName { group: "autoscaling".into(), version: "v1".into(), kind: "Scale".into() };
        let (does, usual) = match &one.does {
            spec::Does::Status => (Does::Status, of.clone()),
            spec::Does::Scale(spec_replicas, status_replicas, selector) => (
                Does::Scale {
                    spec_replicas: path(spec_replicas),
                    status_replicas: path(status_replicas),
                    selector: selector.as_ref().map(path).unwrap_or_default(),
                },
                scale,
            ),
            spec::Does::Action => (Does::Action, of.clone()),
            spec::Does::Unavailable(reason) => (Does::Unavailable(reason.clone()), of.clone()),
        };
        let given = one.kind.as_ref().and_then(|name| self.index.find(home, name));
        Subresource {
            name: one.name.value.clone(),
            does,
            kind: given.map_or(usual, |(home, of)| kind_name(home, &of.name)),
            verbs: lower_verbs(&one.verbs),
        }
    }
}

/// `storageVersionHash`: the first eight bytes of the digest of the stored kind, in base64.
fn version_hash(kind: &KindName) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(format!("{}/{}/{}", kind.group, kind.version, kind.kind));
    let mut text = String::new();
    for chunk in digest[..8].chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

fn strategy(resource: &spec::Resource) -> Strategy {
    let written = &resource.strategy;
    let has_status = resource.subresources.iter().any(|one| matches!(one.does, spec::Does::Status));
    Strategy {
        names: written.names,
        create_on_update: written.create_on_update,
        unconditional_update: written.unconditional_update,
        generation: written.generation,
        status_fields: if written.status_fields.is_empty() {
            vec!["status".into()]
        } else {
            texts(&written.status_fields)
        },
        status_subresource: has_status,
        status_on_create: written.status_on_create,
        graceful_delete: written.graceful_delete,
        delete_returns_object: written.delete_returns_object,
        unowned: texts(&written.unowned),
        unowned_by_status: texts(&written.unowned_by_status),
    }
}

fn selectable(one: &spec::Selectable) -> Selectable {
    Selectable {
        name: one.name.value.clone(),
        path: path(&one.path),
        default: one.default.clone(),
        indexed: one.indexed,
    }
}

fn lower_verbs(written: &[Spanned<String>]) -> Vec<Verb> {
    let mut verbs: Vec<Verb> = written
        .iter()
        .filter_map(|verb| Verb::ALL.iter().find(|(name, _)| *name == verb.value).map(|(_, verb)| *verb))
        .collect();
    verbs.sort();
    verbs
}

fn texts(written: &[Spanned<String>]) -> Vec<String> {
    written.iter().map(|text| text.value.clone()).collect()
}

fn path(written: &Spanned<String>) -> String {
    written.value.strip_prefix('.').unwrap_or(&written.value).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_discovery() {
        for (group, version, kind, hash) in [
            ("apps", "v1", "Deployment", "8aSe+NMegvE="),
            ("", "v1", "Pod", "xPOwRZ+Yhw8="),
            ("autoscaling", "v2", "HorizontalPodAutoscaler", "qwQve8ut294="),
        ] {
            let kind = KindName { group: group.into(), version: version.into(), kind: kind.into() };
            assert_eq!(version_hash(&kind), hash);
        }
    }
}
