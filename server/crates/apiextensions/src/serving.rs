//! What serves a definition: its versions as resources, their servers made when they are first asked for.

use std::sync::{Arc, OnceLock};

use apiwright_admission::Admission;
use apiwright_chain::{Drain, Drainer, drain};
use apiwright_endpoints::{ResourceServer, Shared, is_json_path};
use apiwright_json::Value;
use apiwright_registry::hooks::{Hooks, NoHooks};
use apiwright_registry::resource::{Conversion, StorageSpec};
use apiwright_registry::{
    Column, ColumnValue, Kind, NameRule, Resource, Selectable, Store, Strategy, Subresource, SubresourceKind,
    Verb,
};
use apiwright_schema::table::{Plan, Unknown};
use apiwright_schema::{Ref, Struct, Table, Text};
use apiwright_storage::Storage;
use apiwright_webhook::Clients;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::conversion::{ConversionWebhook, Translation, Types};
use crate::custom::{CustomHooks, NoCreation};
use crate::definition::{self, Definition, Names};
use crate::schema::{Compiler, Root};
use crate::validations::Validator;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What upstream's discovery says of custom resources, in its order.
const VERBS: &[Verb] = &[
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Create,
    Verb::Update,
    Verb::Watch,
];
/// What is left of it on the way out.
const LAST_VERBS: &[Verb] = &[Verb::Delete, Verb::DeleteCollection, Verb::Get, Verb::List, Verb::Watch];
const SUBRESOURCE_VERBS: &[Verb] = &[Verb::Get, Verb::Patch, Verb::Update];

/// A definition as it is served. Made anew when its specification or names change.
pub(crate) struct Serving {
    definition: Definition,
    storage: Arc<dyn Storage>,
    shared: Arc<Shared>,
    clients: Clients,
    /// Ends those who watch when something else is served.
    end: (Arc<Drainer>, Drain),
    /// The versions that are served, as they are told of.
    told: OnceLock<Vec<Arc<Resource>>>,
    built: OnceLock<Result<Vec<Arc<ResourceServer>>, String>>,
    stored: OnceLock<Option<Arc<Store>>>,
}

impl Serving {
    pub(crate) fn new(
        definition: Definition,
        storage: Arc<dyn Storage>,
        shared: Arc<Shared>,
        clients: Clients,
    ) -> Self {
        let (drainer, drain) = drain();
        Self {
            definition,
            storage,
            shared,
            clients,
            end: (Arc::new(drainer), drain),
            told: OnceLock::new(),
            built: OnceLock::new(),
            stored: OnceLock::new(),
        }
    }

    /// Takes the place of another: who watches goes on where the objects are the same, and is told to begin
    /// anew where they are not.
    #[must_use]
    pub(crate) fn in_place_of(mut self, before: &Self) -> Self {
        let (now, then) = (&self.definition, &before.definition);
        if now.uid == then.uid && now.generation == then.generation && now.accepted == then.accepted {
            self.end = before.end.clone();
        } else {
            before.end();
        }
        self
    }

    /// It is served no longer.
    pub(crate) fn end(&self) {
        self.end.0.begin();
    }

    /// Whether this is how a definition is to be served.
    pub(crate) fn serves(&self, definition: &Definition) -> bool {
        let served = &self.definition;
        served.uid == definition.uid
            && served.generation == definition.generation
            && served.accepted == definition.accepted
            && served.terminating == definition.terminating
    }

    /// The names of the versions that are served.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &str> {
        self.definition.versions.iter().filter(|version| version.served).map(|version| version.name.as_str())
    }

    /// The server of a version; `None` where it is not served.
    ///
    /// # Errors
    /// With what keeps it from being served.
    pub(crate) fn server(&self, version: &str) -> Option<Result<&Arc<ResourceServer>, &str>> {
        self.versions().find(|one| *one == version)?;
        match self.built.get_or_init(|| self.build()) {
            Ok(servers) => servers.iter().find(|one| *one.resource().version == *version).map(Ok),
            Err(why) => Some(Err(why)),
        }
    }

    /// A version as discovery and OpenAPI tell it: of its type, the name only. Nothing is compiled for that.
    pub(crate) fn told(&self, version: &str) -> Option<&Arc<Resource>> {
        let all = self.told.get_or_init(|| {
            let verbs = if self.definition.terminating { LAST_VERBS } else { VERBS };
            let served = self.definition.versions.iter().filter(|one| one.served);
            served
                .map(|version| {
                    let name = shared(&definition_name(&self.definition, version));
                    let schema = Ref::Shared(Arc::new(Struct { name, ..anything() }));
                    Arc::new(Resource { verbs: Ref::Static(verbs), ..self.resource(version, schema) })
                })
                .collect()
        });
        all.iter().find(|one| *one.version == *version)
    }

    /// The objects as they are stored, of whatever shape.
    pub(crate) fn stored(&self) -> Option<Arc<Store>> {
        let store = self.stored.get_or_init(|| {
            let version = self.definition.storage_version()?;
            let resource = self.resource(version, Ref::Shared(Arc::new(anything())));
            let storage = StorageSpec { conversion: Conversion::Same, ..resource.storage.clone() };
            let resource = Arc::new(Resource { storage, ..resource });
            Some(Arc::new(Store::new(resource, Arc::clone(&self.storage))))
        });
        store.clone()
    }

    /// The kind of its objects.
    pub(crate) fn kind(&self) -> &str {
        &self.definition.accepted.kind
    }

    fn build(&self) -> Result<Vec<Arc<ResourceServer>>, String> {
        let meta = self.shared.catalogue.definition(OBJECT_META).ok_or("there is no type of metadata")?;
        let mut compiler = Compiler::new(Ref::Static(meta));
        let mut resources = Vec::new();
        let mut stored_type = None;
        let mut rules: Vec<(&Value, Option<Arc<Validator>>)> = Vec::new();
        let mut types = Types::new();
        for version in &self.definition.versions {
            let name = definition_name(&self.definition, version);
            let Root { ty, node } = compiler.root(&version.schema, &name);
            types.insert(version.name.clone(), ty.clone());
            if version.storage {
                stored_type = Some(ty.clone());
            }
            if version.served {
                // Versions of one schema share what is compiled of it.
                let known = rules.iter().find(|(schema, _)| **schema == *version.schema);
                let validator = match known {
                    Some((_, validator)) => validator.clone(),
                    None => Validator::of(&version.schema, true).map(Arc::new),
                };
                rules.push((&*version.schema, validator.clone()));
                let deprecation = self.definition.deprecation(version);
                let hooks = CustomHooks::of(version, deprecation, node, validator);
                let hooks: Ref<dyn Hooks> = Ref::Shared(Arc::new(hooks));
                resources.push(Arc::new(Resource { hooks, ..self.resource(version, ty) }));
            }
        }
        let admission = &self.shared.admission;
        let shared = Arc::new(Shared {
            admission: match self.definition.terminating {
                true => Arc::new(Admission::clone(admission).and(NoCreation::plugin())),
                false => Arc::clone(admission),
            },
            authorizer: Arc::clone(&self.shared.authorizer),
            drain: self.shared.drain.or(&self.end.1),
            watch_timeout_min: self.shared.watch_timeout_min,
            body_bytes_max: self.shared.body_bytes_max,
            catalogue: self.shared.catalogue,
        });
        let webhook = self.webhook(types);
        let server = |resource: &Arc<Resource>| {
            let store = match &webhook {
                Some((webhook, types)) => self.translated(resource, webhook, types),
                None => Store::new(Arc::clone(resource), Arc::clone(&self.storage)),
            };
            let store = match &stored_type {
                Some(ty) => store.stored_as(ty.clone()),
                None => store,
            };
            let store = store.known_since(self.definition.since);
            let siblings = resources.iter().filter(|one| *one.version != *resource.version);
            let siblings = siblings.cloned().collect();
            let server = ResourceServer::new(Arc::new(store), Arc::clone(&shared)).with_siblings(siblings);
            Arc::new(match &webhook {
                Some((webhook, _)) => server.with_conversion(Arc::clone(webhook) as _),
                None => server,
            })
        };
        Ok(resources.iter().map(server).collect())
    }

    /// The schema of a version as it was written.
    pub(crate) fn schema(&self, version: &str) -> Option<&Value> {
        self.definition.versions.iter().find(|one| one.name == version).map(|one| &*one.schema)
    }

    /// Who converts, and the types between which.
    fn webhook(&self, types: Types) -> Option<(Arc<ConversionWebhook>, Arc<Types>)> {
        let webhook = self.definition.webhook.as_ref()?;
        Some((Arc::new(ConversionWebhook::of(webhook, &self.clients)), Arc::new(types)))
    }

    /// The store of a version that a webhook converts from and to: it sees that version only.
    fn translated(
        &self,
        resource: &Arc<Resource>,
        webhook: &Arc<ConversionWebhook>,
        types: &Arc<Types>,
    ) -> Store {
        let served = kind(&resource.group, &resource.version, &resource.kind);
        let translation = Translation::new(
            Arc::clone(&self.storage),
            Arc::clone(webhook) as _,
            Arc::clone(types),
            served.clone(),
            resource.storage.kind.clone(),
        );
        let storage = StorageSpec { kind: served, conversion: Conversion::Same, ..resource.storage.clone() };
        let resource = Resource { storage, ..Resource::clone(resource) };
        Store::new(Arc::new(resource), Arc::new(translation))
    }

    fn resource(&self, version: &definition::Version, schema: Ref<Struct>) -> Resource {
        let definition = &self.definition;
        let names = &definition.accepted;
        let stored = definition.storage_version().map_or(&*version.name, |version| &*version.name);
        // What was written by this one schema, and nothing else, is as it is to be read.
        let same = definition.generation == 1 && definition.versions.len() == 1 && !defaults_status(version);
        Resource {
            group: shared(&definition.group),
            version: shared(&version.name),
            plural: shared(&definition.names.plural),
            singular: shared(&names.singular),
            kind: shared(&names.kind),
            list_kind: shared(&names.list_kind),
            short_names: texts(&names.short_names),
            categories: texts(&names.categories),
            scope: definition.scope,
            verbs: Ref::Static(VERBS),
            subresources: subresources(definition, names, version),
            schema,
            storage: StorageSpec {
                prefix: shared(&format!("{}/{}", definition.group, definition.names.plural)),
                kind: kind(&definition.group, stored, &names.kind),
                version_hash: shared(&version_hash(&definition.group, stored, &names.kind)),
                conversion: if same { Conversion::Same } else { Conversion::Pruned },
                ttl_seconds: 0,
            },
            strategy: Strategy {
                name_rule: NameRule::DnsSubdomain,
                create_on_update: false,
                unconditional_update: false,
                generation: true,
                status_fields: if version.status { Ref::Static(STATUS) } else { Ref::Static(&[]) },
                status_subresource: version.status,
                status_on_create: false,
                graceful_delete: false,
                delete_returns_object: false,
                unowned: Ref::Static(&[]),
                unowned_by_status: Ref::Static(BESIDE_STATUS),
            },
            columns: self.columns(version),
            selectable: table(version.selectable.iter().map(|path| selectable(path)).collect()),
            hooks: Ref::Static(&NoHooks),
        }
    }

    fn columns(&self, version: &definition::Version) -> Table<Column> {
        let meta = self.shared.catalogue.definition(OBJECT_META);
        let doc =
            |name: &str| meta.and_then(|meta| meta.field(name)).map_or(text(""), |field| field.doc.clone());
        let mut columns = vec![Column {
            name: text("Name"),
            kind: text("string"),
            format: text("name"),
            priority: 0,
            doc: doc("name"),
            value: ColumnValue::Name,
        }];
        // A path that cannot be read ends the table, as upstream has it.
        let readable = version.columns.iter().take_while(|column| is_json_path(&column.path));
        columns.extend(readable.map(|column| Column {
            name: shared(&column.name),
            kind: shared(&column.kind),
            format: shared(&column.format),
            priority: column.priority,
            doc: match column.description.as_str() {
                "" => shared(&format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    column.path
                )),
                description => shared(description),
            },
            value: ColumnValue::JsonPath(shared(&column.path)),
        }));
        if version.columns.is_empty() {
            columns.push(Column {
                name: text("Age"),
                kind: text("date"),
                format: text(""),
                priority: 0,
                doc: doc("creationTimestamp"),
                value: ColumnValue::JsonPath(text(".metadata.creationTimestamp")),
            });
        }
        table(columns)
    }
}

const STATUS: &[Text] = &[Ref::Static("status")];
/// What a write of the status leaves as it is, besides what is beside it.
const BESIDE_STATUS: &[Text] = &[Ref::Static("metadata")];

/// What OpenAPI calls a version's type: `com.example.v1.Widget`.
fn definition_name(definition: &Definition, version: &definition::Version) -> String {
    let group: Vec<&str> = definition.group.split('.').rev().collect();
    format!("{}.{}.{}", group.join("."), version.name, definition.accepted.kind)
}

/// Whether the status that a creation may not bring has defaults, which it gets when it is read.
fn defaults_status(version: &definition::Version) -> bool {
    fn any(schema: &Value) -> bool {
        match schema {
            Value::Object(members) => members.contains_key("default") || members.values().any(any),
            Value::Array(items) => items.iter().any(any),
            _ => false,
        }
    }
    version.status && version.schema.at(&["properties", "status"]).is_some_and(any)
}

fn subresources(definition: &Definition, names: &Names, version: &definition::Version) -> Table<Subresource> {
    let mut all = Vec::new();
    if version.status {
        all.push(Subresource {
            name: text("status"),
            does: SubresourceKind::Status,
            kind: kind(&definition.group, &version.name, &names.kind),
            verbs: Ref::Static(SUBRESOURCE_VERBS),
        });
    }
    if let Some(scale) = &version.scale {
        let path = |path: &str| shared(path.trim_start_matches('.'));
        all.push(Subresource {
            name: text("scale"),
            does: SubresourceKind::Scale {
                spec_replicas: path(&scale.spec_replicas),
                status_replicas: path(&scale.status_replicas),
                selector: path(&scale.selector),
            },
            kind: kind("autoscaling", "v1", "Scale"),
            verbs: Ref::Static(SUBRESOURCE_VERBS),
        });
    }
    table(all)
}

fn selectable(path: &str) -> Selectable {
    let path = path.trim_start_matches('.');
    Selectable { name: shared(path), path: shared(path), default: text(""), indexed: false }
}

/// `storageVersionHash` of discovery.
fn version_hash(group: &str, version: &str, kind: &str) -> String {
    let stored = format!("{group}/{version}/{kind}");
    let digest = ring::digest::digest(&ring::digest::SHA256, stored.as_bytes());
    BASE64_STANDARD.encode(&digest.as_ref()[..8])
}

/// A type of which nothing is known.
fn anything() -> Struct {
    Struct {
        name: text(""),
        doc: text(""),
        fields: table(Vec::new()),
        by_name: table(Vec::new()),
        unknown: Unknown::Keep,
        atomic: false,
        unions: table(Vec::new()),
        plan: Plan::new(),
    }
}

fn kind(group: &str, version: &str, kind: &str) -> Kind {
    Kind { group: shared(group), version: shared(version), kind: shared(kind) }
}

fn texts(all: &[String]) -> Table<Text> {
    table(all.iter().map(|one| shared(one)).collect())
}

fn text(text: &'static str) -> Text {
    Ref::Static(text)
}

fn shared(text: &str) -> Text {
    Ref::Shared(text.into())
}

fn table<T>(items: Vec<T>) -> Table<T> {
    Ref::Shared(items.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_versions_have_hashes() {
        assert_eq!(version_hash("zzz-discovery.example.com", "v1", "Lamp"), "IxHD6L7IS4Y=");
    }
}
