//! One resource: everything that serving it takes, as data. codegen writes it from
//! `api-specs/groups/<group>/<version>/<resource>.yaml`; the apiextensions link makes it from a CRD.

use apiwright_schema::{Ref, Struct, Table, Text};

use crate::hooks::Hooks;

/// A resource of one version of a group. A clone shares all tables.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Empty for the core group.
    pub group: Text,
    /// For instance `v1`.
    pub version: Text,
    /// The plural, as in addresses.
    pub plural: Text,
    /// What kubectl calls one.
    pub singular: Text,
    /// The kind of its objects.
    pub kind: Text,
    /// The kind of its lists; empty where it cannot be listed.
    pub list_kind: Text,
    /// kubectl's abbreviations.
    pub short_names: Table<Text>,
    /// `all` and the like.
    pub categories: Table<Text>,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// What may be done with it, sorted by name; empty where only subresources are served.
    pub verbs: Table<Verb>,
    /// Sorted by name.
    pub subresources: Table<Subresource>,
    /// The type of its objects.
    pub schema: Ref<Struct>,
    /// Where and as what its objects are stored.
    pub storage: StorageSpec,
    /// What writes may do.
    pub strategy: Strategy,
    /// What `kubectl get` prints.
    pub columns: Table<Column>,
    /// Fields that field selectors may name besides metadata.name and metadata.namespace.
    pub selectable: Table<Selectable>,
    /// What YAML cannot say.
    pub hooks: Ref<dyn Hooks>,
}

/// Whether objects live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scope {
    Cluster,
    Namespaced,
}

/// What may be done with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Verb {
    Create,
    Delete,
    DeleteCollection,
    Get,
    List,
    Patch,
    Update,
    Watch,
}

/// Where and as what objects are stored.
#[derive(Clone, Debug)]
pub struct StorageSpec {
    /// The key prefix below `/registry/`, for instance `pods` or `apps.example.com/things`;
    /// empty for what is not stored (reviews).
    pub prefix: Text,
    /// The group, version and kind that the stored bytes have.
    pub kind: Kind,
    /// `storageVersionHash` of discovery; empty where discovery has none.
    pub version_hash: Text,
    /// How this version's fields are called in the stored version, where they differ.
    pub conversion: Conversion,
    /// Seconds after which an object expires; 0 for never.
    pub ttl_seconds: u32,
}

/// How a version relates to the one that is stored.
#[derive(Clone, Debug)]
pub enum Conversion {
    /// It is the stored one, or looks just like it.
    Same,
    /// Top-level fields go by other names: (here, stored).
    Rename(Table<(Text, Text)>),
    /// A hook converts ([`Hooks::to_stored`], [`Hooks::from_stored`]).
    Hook,
    /// It has other fields or defaults than what is stored may have: the version of a custom resource.
    Pruned,
}

/// A group, version and kind as spec texts.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Empty for the core group.
    pub group: Text,
    /// For instance `v1`.
    pub version: Text,
    /// For instance `Pod`.
    pub kind: Text,
}

/// A subresource.
#[derive(Debug)]
pub struct Subresource {
    /// `status`, `scale`, `eviction`, …
    pub name: Text,
    /// What it is.
    pub does: SubresourceKind,
    /// The kind that it reads and writes.
    pub kind: Kind,
    /// Its verbs, sorted by name.
    pub verbs: Table<Verb>,
}

/// What a subresource is.
#[derive(Debug)]
pub enum SubresourceKind {
    /// The `status` field of the object.
    Status,
    /// `autoscaling/v1 Scale` read and written at these paths of the object (dotted, without the first dot).
    Scale {
        /// Wished replicas.
        spec_replicas: Text,
        /// Actual replicas.
        status_replicas: Text,
        /// The selector as a string or a `LabelSelector`; empty where there is none.
        selector: Text,
    },
    /// A named action that a hook of this name implements ([`Hooks::subresource`]).
    Action,
    /// Needs something that this server does not have; the text says what.
    Unavailable(Text),
}

/// What writes may do.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// How its names are checked.
    pub name_rule: NameRule,
    /// Whether PUT to an absent name creates it.
    pub create_on_update: bool,
    /// Whether an update without a resourceVersion is accepted.
    pub unconditional_update: bool,
    /// Whether `metadata.generation` counts changes.
    pub generation: bool,
    /// Top-level fields besides `metadata` that do not bump the generation, usually `status`.
    pub status_fields: Table<Text>,
    /// Whether `status` is dropped on create and kept on update through the main resource.
    pub status_subresource: bool,
    /// Whether a creation may bring a status all the same (nodes: the kubelet registers with it).
    pub status_on_create: bool,
    /// Whether deletion waits for a grace period (pods).
    pub graceful_delete: bool,
    /// Whether an object is answered when it was deleted, instead of a Status.
    pub delete_returns_object: bool,
    /// Fields besides `status` that no write of the whole owns.
    pub unowned: Table<Text>,
    /// Dotted paths besides the fields beside `status` that no write of the status owns.
    pub unowned_by_status: Table<Text>,
}

/// How names are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain: lower case, dots allowed, 253 characters.
    DnsSubdomain,
    /// RFC 1123 label: no dots, 63 characters.
    DnsLabel,
    /// RFC 1035 label: starts with a letter.
    Dns1035Label,
    /// Anything that can be a path segment (RBAC).
    PathSegment,
    /// Any name: a hook checks it.
    Hook,
}

/// A printed column.
#[derive(Debug)]
pub struct Column {
    /// The heading.
    pub name: Text,
    /// `string`, `integer`, `boolean`, `date`, …
    pub kind: Text,
    /// `name` or empty.
    pub format: Text,
    /// 0 is always shown, others with `-o wide`.
    pub priority: i32,
    /// What it means.
    pub doc: Text,
    /// Where its cells come from.
    pub value: ColumnValue,
}

/// Where a cell comes from.
#[derive(Debug)]
pub enum ColumnValue {
    /// `metadata.name`.
    Name,
    /// The time since `metadata.creationTimestamp`, in kubectl's short form.
    Age,
    /// The time since the moment at this dotted path.
    Since(Text),
    /// The value at this dotted path, printed as it is; what to print where there is none.
    Path(Text, Text),
    /// Parts one after the other: literal texts and paths (path, otherwise).
    Template(Table<TemplatePart>),
    /// The first value at this `JSONPath`, `.spec.conditions[?(@.type=="Ready")].status`, as the
    /// column's kind has it: what the printer columns of CRDs are.
    JsonPath(Text),
    /// A hook computes it ([`Hooks::cell`]), called with the column's name.
    Hook,
}

/// A part of a template column.
#[derive(Debug)]
pub enum TemplatePart {
    /// This text.
    Literal(Text),
    /// The value at a dotted path; what to print where there is none.
    Path(Text, Text),
}

/// A field that field selectors may name.
#[derive(Debug)]
pub struct Selectable {
    /// As selectors spell it, `spec.nodeName`.
    pub name: Text,
    /// The dotted path in the object; usually the name.
    pub path: Text,
    /// What an absent value counts as (`false` for `spec.unschedulable`); usually empty.
    pub default: Text,
    /// Whether the registry keeps an index of it.
    pub indexed: bool,
}

impl Verb {
    /// As discovery and RBAC spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

impl Resource {
    /// The subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|one| &*one.name == name)
    }

    /// Whether a CRD defines it: then its schema was made at run time.
    pub fn is_custom(&self) -> bool {
        matches!(self.schema, Ref::Shared(_))
    }

    /// Whether it is of a group that upstream's extension servers own, who have habits of their own.
    pub fn is_extension(&self) -> bool {
        matches!(&*self.group, "apiextensions.k8s.io" | "apiregistration.k8s.io")
    }

    /// Whether it is served with this verb.
    pub fn allows(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    /// `apps/v1`, or `v1` in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", &*self.group, &*self.version)
        }
    }

    /// The group and plural.
    pub fn group_resource(&self) -> apiwright_meta::GroupResource {
        apiwright_meta::GroupResource { group: (*self.group).into(), resource: (*self.plural).into() }
    }

    /// The group and kind.
    pub fn group_kind(&self) -> apiwright_meta::GroupKind {
        apiwright_meta::GroupKind { group: (*self.group).into(), kind: (*self.kind).into() }
    }
}
