//! Resources.

use crate::ir::{KindName, StructRef};
pub use crate::spec::{Names, Write};

/// A resource.
#[derive(Debug)]
pub struct Resource {
    /// What its static is called, `DEPLOYMENTS`.
    pub ident: String,
    /// The plural.
    pub plural: String,
    /// What kubectl calls one.
    pub singular: String,
    /// Its kind.
    pub kind: KindName,
    /// The kind of its lists; empty where it cannot be listed.
    pub list_kind: String,
    /// Abbreviations.
    pub short_names: Vec<String>,
    /// Categories.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Sorted.
    pub verbs: Vec<Verb>,
    /// Sorted by name.
    pub subresources: Vec<Subresource>,
    /// The type of its objects.
    pub schema: StructRef,
    /// Where and as what they are stored.
    pub storage: Storage,
    /// What writes may do.
    pub strategy: Strategy,
    /// What tables show.
    pub columns: Vec<Column>,
    /// What field selectors may name.
    pub selectable: Vec<Selectable>,
    /// The module and name of its hooks.
    pub hooks: Option<(String, String)>,
    /// Whether there is a struct of it.
    pub typed: bool,
    /// What a server takes and refuses.
    pub examples: Option<Examples>,
}

/// What a server takes and refuses.
#[derive(Debug)]
pub struct Examples {
    /// The least that it takes, as JSON.
    pub minimal: String,
    /// What it refuses.
    pub rejected: Vec<Rejected>,
}

/// What a server refuses.
#[derive(Debug)]
pub struct Rejected {
    /// What is tried.
    pub write: Write,
    /// How the object differs from the minimal one: a merge patch, as JSON.
    pub change: String,
    /// What the server says.
    pub message: String,
}

/// A verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

impl Verb {
    /// Every verb and how it is spelt.
    pub const ALL: [(&'static str, Self); 8] = [
        ("create", Self::Create),
        ("delete", Self::Delete),
        ("deletecollection", Self::DeleteCollection),
        ("get", Self::Get),
        ("list", Self::List),
        ("patch", Self::Patch),
        ("update", Self::Update),
        ("watch", Self::Watch),
    ];
}

/// Where and as what objects are stored.
#[derive(Debug)]
pub struct Storage {
    /// Below `/registry/`; empty where nothing is stored.
    pub prefix: String,
    /// What the stored bytes are.
    pub kind: KindName,
    /// `storageVersionHash`; empty where discovery has none.
    pub hash: String,
    /// How this version relates to the stored one.
    pub conversion: Conversion,
    /// Seconds; 0 for never.
    pub ttl: u32,
}

/// How a version relates to the stored one.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Conversion {
    Same,
    Rename(Vec<(String, String)>),
    Hook,
}

/// What writes may do.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Strategy {
    pub names: Names,
    pub create_on_update: bool,
    pub unconditional_update: bool,
    pub generation: bool,
    pub status_fields: Vec<String>,
    pub status_subresource: bool,
    pub status_on_create: bool,
    pub graceful_delete: bool,
    pub delete_returns_object: bool,
    pub unowned: Vec<String>,
    pub unowned_by_status: Vec<String>,
}

/// A subresource.
#[derive(Debug)]
pub struct Subresource {
    /// Its name.
    pub name: String,
    /// What it is.
    pub does: Does,
    /// The kind that it reads and writes.
    pub kind: KindName,
    /// Sorted.
    pub verbs: Vec<Verb>,
}

/// What a subresource is. Paths are dotted, without the first dot.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Does {
    Status,
    Scale { spec_replicas: String, status_replicas: String, selector: String },
    Action,
    Unavailable(String),
}

/// A column.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub format: String,
    pub priority: i32,
    pub doc: String,
    pub cell: Cell,
}

/// Where a cell comes from. Paths are dotted, without the first dot.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Cell {
    Name,
    Age,
    Since(String),
    Path(String, String),
    Template(Vec<Part>),
    Hook,
}

/// A part of a template.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Part {
    Literal(String),
    Path(String, String),
}

/// A selectable field.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Selectable {
    pub name: String,
    pub path: String,
    pub default: String,
    pub indexed: bool,
}
