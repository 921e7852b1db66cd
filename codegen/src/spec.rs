//! What the specs say, word for word, each value with its place. Nothing is resolved yet.

mod controller;
mod examples;

use crate::diagnostic::{Place, Spanned};
use crate::parse::yaml::Node;

pub use controller::{Controller, Example, Fact, KeyFrom, Reconciler, Rule as DecisionRule, Watch};
pub use examples::{Examples, Rejected, Write};

/// All specs.
#[derive(Debug, Default)]
pub struct Spec {
    /// In the order of their folders.
    pub groups: Vec<Group>,
    /// `chain.yaml`.
    pub chain: Option<Chain>,
    /// `controllers/*.yaml`, in the order of file names.
    pub controllers: Vec<Controller>,
    /// `bootstrap/*.yaml`, in the order of file names.
    pub bootstrap: Vec<Bootstrap>,
}

/// `chain.yaml`.
#[derive(Debug, Default)]
pub struct Chain {
    /// Outermost first.
    pub servers: Vec<ChainServer>,
    /// In the order in which they run.
    pub admission: Vec<Plugin>,
    /// The health checks.
    pub probes: Vec<Probe>,
}

/// A server of the chain.
#[derive(Debug)]
pub struct ChainServer {
    /// Which one, as the server's code calls it.
    pub kind: Spanned<&'static str>,
    /// The groups that it owns.
    pub groups: Vec<Spanned<String>>,
    /// Whether it owns every group that no other server names.
    pub rest: bool,
    /// Its controllers.
    pub controllers: Vec<Spanned<String>>,
}

/// An admission plugin.
#[derive(Debug)]
pub struct Plugin {
    /// Its name.
    pub name: Spanned<String>,
    /// Whether it runs by default.
    pub default: bool,
}

/// A health check.
#[derive(Debug)]
pub struct Probe {
    /// Its name.
    pub name: Spanned<String>,
    /// Which of `healthz`, `livez` and `readyz` ask it.
    pub asked_by: Vec<Spanned<String>>,
    /// The stage of the start that it waits for, as the server's code calls it.
    pub after: Option<Spanned<&'static str>>,
}

/// `bootstrap/<name>.yaml`.
#[derive(Debug)]
pub struct Bootstrap {
    /// Where the resource is named.
    pub at: Place,
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub version: String,
    /// The resource.
    pub plural: String,
    /// The variant that says what a start mends of objects that are there.
    pub mends: &'static str,
    /// The objects, as JSON.
    pub objects: Vec<String>,
}

/// `groups/<folder>/group.yaml` and what lies beside it.
#[derive(Debug)]
pub struct Group {
    /// How other specs refer to it: the group's name, `core` for the core group.
    pub folder: String,
    /// The group's name, empty for the core group.
    pub name: Spanned<String>,
    /// What its OpenAPI definitions start with, `io.k8s.api.apps`.
    pub definitions: Spanned<String>,
    /// `groupPriorityMinimum`; `None` where it has types only.
    pub priority: Option<Spanned<i64>>,
    /// Its versions, as listed.
    pub versions: Vec<Version>,
}

/// A version and what lies in its folder.
#[derive(Debug)]
pub struct Version {
    /// For instance `v1beta1`.
    pub name: Spanned<String>,
    /// `versionPriority`; 0 where the group has types only.
    pub priority: i64,
    /// Whether it is served by default.
    pub served: bool,
    /// `types.yaml`.
    pub types: Vec<Type>,
    /// One file each, by plural.
    pub resources: Vec<Resource>,
}

/// A type.
#[derive(Debug)]
pub struct Type {
    /// Its name, without group and version.
    pub name: Spanned<String>,
    /// A description that replaces the built-in one.
    pub doc: Option<Spanned<String>>,
    /// Whether apply treats it as one value.
    pub atomic: bool,
    /// Fields of which at most one is set.
    pub unions: Vec<Union>,
    /// Its columns, where it is a kind that tables show without being a resource.
    pub columns: Vec<Column>,
    /// Its fields in the order in which they are printed.
    pub fields: Vec<Field>,
}

/// Fields of which at most one is set.
#[derive(Debug)]
pub struct Union {
    /// The field that names it.
    pub discriminator: Option<Spanned<String>>,
    /// Field and discriminator value.
    pub members: Vec<(Spanned<String>, String)>,
}

/// A field.
#[derive(Debug)]
pub struct Field {
    /// Its JSON name.
    pub name: Spanned<String>,
    /// What it holds.
    pub holds: Spanned<Holds>,
    /// A description that replaces the built-in one.
    pub doc: Option<Spanned<String>>,
    /// Its protobuf number.
    pub pb: Option<Spanned<u32>>,
    /// The numbers of the messages around it that JSON leaves out.
    pub within: Vec<u32>,
    /// Whether OpenAPI lists it as required.
    pub required: bool,
    /// Whether absence differs from the zero value.
    pub pointer: bool,
    /// Whether it is printed when empty.
    pub keep: bool,
    /// Go's named string type.
    pub go_type: String,
    /// `list-type`.
    pub list_type: Option<Spanned<ListType>>,
    /// `list-map-keys`.
    pub keys: Vec<Spanned<String>>,
    /// `map-type: atomic`.
    pub map_atomic: Option<bool>,
    /// `patch-strategy`, as words.
    pub patch: Option<Spanned<Vec<String>>>,
    /// `patch-merge-key`.
    pub patch_key: Option<Spanned<String>>,
    /// Default that OpenAPI shows.
    pub default: Option<Node>,
    /// Default that only the server knows.
    pub fill: Option<Node>,
    /// What a value must satisfy, as written.
    pub rules: Vec<Spanned<Rule>>,
}

/// What a field holds, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// `list of …`
    List(Box<Holds>),
    /// `map of …`
    Map(Box<Holds>),
    /// `any`, or `any JSON` with a definition's name.
    Any(String),
    /// A type that the language brings.
    BuiltIn(BuiltIn),
    /// A type of a spec.
    Named(TypeName),
}

/// The types that the language brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BuiltIn {
    Bool,
    Int32,
    Int64,
    Double,
    String,
    Bytes,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    RawObject,
    FieldsV1,
}

/// A reference to a type: `Name`, `meta.Name` or `<folder>/<version>.Name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    /// Folder and version; `None` for the ones at hand.
    pub home: Option<(String, String)>,
    /// The name.
    pub name: String,
}

impl std::fmt::Display for TypeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.home {
            None => f.write_str(&self.name),
            Some((folder, version)) => write!(f, "{folder}/{version}.{}", self.name),
        }
    }
}

/// `list-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ListType {
    Atomic,
    Set,
    Map,
}

/// What a value must satisfy.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Rule {
    Enum(Vec<String>),
    Values(Vec<String>),
    NonEmpty,
    Minimum(f64),
    Maximum(f64),
    MinLength(u64),
    MaxLength(u64),
    MaxBytes(u64),
    Pattern(String),
    Format(String),
    MinItems(u64),
    MaxItems(u64),
    Immutable,
}

/// `groups/<folder>/<version>/<plural>.yaml`.
#[derive(Debug)]
pub struct Resource {
    /// The file's name.
    pub plural: Spanned<String>,
    /// The kind; a type of this version has this name.
    pub kind: Spanned<String>,
    /// What kubectl calls one; the kind in lower case unless said otherwise.
    pub singular: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Abbreviations.
    pub short_names: Vec<Spanned<String>>,
    /// Categories.
    pub categories: Vec<Spanned<String>>,
    /// What may be done with it.
    pub verbs: Vec<Spanned<String>>,
    /// Where it is stored; `None` for reviews and the like.
    pub storage: Option<Storage>,
    /// What writes may do.
    pub strategy: Strategy,
    /// Rust that knows more.
    pub hooks: Option<Spanned<String>>,
    /// Whether there is a struct of it.
    pub typed: bool,
    /// Subresources, as listed.
    pub subresources: Vec<Subresource>,
    /// What field selectors may name.
    pub selectable: Vec<Selectable>,
    /// What tables show.
    pub columns: Vec<Column>,
    /// What a server takes and refuses.
    pub examples: Option<Examples>,
    /// How the list of its objects is described.
    pub list: ListDocs,
}

/// `list:`.
#[derive(Debug, Default)]
pub struct ListDocs {
    /// The list itself.
    pub doc: Option<String>,
    /// Its metadata.
    pub metadata: Option<String>,
    /// Its objects.
    pub items: Option<String>,
}

/// `storage:`.
#[derive(Debug)]
pub struct Storage {
    /// Below `/registry/`; the plural unless said otherwise.
    pub prefix: Option<Spanned<String>>,
    /// The kind that the stored bytes have; this version's unless said otherwise.
    pub stored_as: Option<Spanned<TypeName>>,
    /// Fields that go by other names there: (here, there).
    pub rename: Vec<(Spanned<String>, Spanned<String>)>,
    /// Whether a hook converts.
    pub hook: bool,
    /// `storageVersionHash`, where it is not that of the stored kind.
    pub hash: Option<String>,
    /// Seconds after which objects expire; 0 for never.
    pub ttl: u32,
}

/// `strategy:`.
#[derive(Debug, Default)]
pub struct Strategy {
    /// How names are checked.
    pub names: Names,
    /// Whether PUT creates.
    pub create_on_update: bool,
    /// Whether an update needs no resourceVersion.
    pub unconditional_update: bool,
    /// Whether `metadata.generation` counts changes.
    pub generation: bool,
    /// Top-level fields that do not.
    pub status_fields: Vec<Spanned<String>>,
    /// Whether deletion waits.
    pub graceful_delete: bool,
    /// Whether deletion answers the object.
    pub delete_returns_object: bool,
    /// Whether a creation may bring a status.
    pub status_on_create: bool,
    /// Top-level fields that no write of the whole owns.
    pub unowned: Vec<Spanned<String>>,
    /// Metadata that a status write does not own.
    pub unowned_by_status: Vec<Spanned<String>>,
}

/// How names are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Names {
    #[default]
    Subdomain,
    Label,
    Label1035,
    PathSegment,
    Hook,
}

/// A subresource.
#[derive(Debug)]
pub struct Subresource {
    /// Its name.
    pub name: Spanned<String>,
    /// What it is.
    pub does: Does,
    /// The kind that it reads and writes; the resource's unless said otherwise.
    pub kind: Option<Spanned<TypeName>>,
    /// What may be done with it.
    pub verbs: Vec<Spanned<String>>,
}

/// What a subresource is.
#[derive(Debug)]
pub enum Does {
    /// `status`.
    Status,
    /// `scale`, with the paths of the wished replicas, the actual ones and the selector.
    Scale(Spanned<String>, Spanned<String>, Option<Spanned<String>>),
    /// Rust does it.
    Action,
    /// It needs something that this server does not have.
    Unavailable(String),
}

/// A selectable field.
#[derive(Debug)]
pub struct Selectable {
    /// As selectors spell it.
    pub name: Spanned<String>,
    /// Where it is; the name unless said otherwise.
    pub path: Spanned<String>,
    /// What an absent value counts as.
    pub default: String,
    /// Whether there is an index of it.
    pub indexed: bool,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// The heading.
    pub name: Spanned<String>,
    /// `string`, `integer`, …
    pub kind: String,
    /// `name` or empty.
    pub format: String,
    /// Whether only wide tables show it.
    pub wide: bool,
    /// What its cells mean.
    pub doc: ColumnDoc,
    /// Where its cells come from.
    pub value: Cell,
    /// Where it was written.
    pub at: Place,
}

/// What a column's cells mean.
#[derive(Debug)]
pub enum ColumnDoc {
    /// This.
    Text(String),
    /// What the description of a type's field says: `core/v1.PodSpec.nodeName`.
    Of(Spanned<FieldName>),
}

/// A reference to a field of a type.
#[derive(Clone, Debug)]
pub struct FieldName {
    /// The type.
    pub of: TypeName,
    /// The field.
    pub field: String,
}

/// Where a cell comes from.
#[derive(Debug)]
pub enum Cell {
    /// The name.
    Name,
    /// The time since creation.
    Age,
    /// The time since a moment.
    Since(Spanned<String>),
    /// A value, and what to show where there is none.
    Path(Spanned<String>, String),
    /// Texts and values one after the other.
    Text(Vec<Part>),
    /// Rust.
    Hook,
}

/// A part of a text.
#[derive(Clone, Debug)]
pub enum Part {
    /// As it is.
    Literal(String),
    /// A value, and what to show where there is none.
    Path(Spanned<String>, String),
}
