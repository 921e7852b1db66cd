//! Types.

use crate::ir::Column;

/// A type.
#[derive(Debug)]
pub struct Struct {
    /// What its static is called, `POD_SPEC`.
    pub ident: String,
    /// `io.k8s.api.core.v1.PodSpec`.
    pub definition: String,
    /// The description.
    pub doc: String,
    /// Whether it is a kind: whether its objects say kind and apiVersion.
    pub kind: Option<KindName>,
    /// What tables of it show.
    pub columns: Vec<Column>,
    /// Whether apply treats it as one value.
    pub atomic: bool,
    /// Whether some field has it all the same granular.
    pub granular: bool,
    /// Fields of which at most one is set.
    pub unions: Vec<Union>,
    /// As they are printed.
    pub fields: Vec<Field>,
}

/// A group, version and kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KindName {
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub version: String,
    /// For instance `Pod`.
    pub kind: String,
}

/// Fields of which at most one is set.
#[derive(Debug)]
pub struct Union {
    /// The field that names it; empty where there is none.
    pub discriminator: String,
    /// Field and discriminator value.
    pub members: Vec<(String, String)>,
}

/// A field.
#[derive(Debug)]
pub struct Field {
    /// The JSON name.
    pub name: String,
    /// The description.
    pub doc: String,
    /// What it holds.
    pub node: Node,
    /// Whether OpenAPI lists it as required.
    pub required: bool,
    /// Whether absence differs from the zero value.
    pub pointer: bool,
    /// Whether it is printed when empty.
    pub keep: bool,
    /// How strategic merge patches treat it.
    pub patch: Option<Patch>,
    /// Its protobuf number and those of the messages around it.
    pub proto: Option<(u32, Vec<u32>)>,
}

/// How strategic merge patches treat a field.
#[derive(Debug)]
pub struct Patch {
    /// Whether lists merge.
    pub merge: bool,
    /// Whether a patch names the keys that stay.
    pub retain_keys: bool,
    /// The key of list items; empty for sets.
    pub key: String,
}

/// A type at one place.
#[derive(Debug)]
pub struct Node {
    /// What the value looks like.
    pub shape: Shape,
    /// The published default, as JSON.
    pub default: Option<String>,
    /// The unpublished default, as JSON.
    pub fill: Option<String>,
    /// What a value must satisfy.
    pub rules: Vec<Rule>,
}

/// What a value looks like.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Shape {
    Bool,
    Int32,
    Int64,
    Double,
    String(String),
    Bytes,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    Any(String),
    RawObject,
    FieldsV1,
    List { item: Box<Node>, kind: ListKind },
    Map { value: Box<Node>, atomic: bool },
    Struct(StructRef),
}

/// Where a type's static is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructRef {
    /// `core_v1`.
    pub module: String,
    /// `POD_SPEC`.
    pub ident: String,
    /// Whether apply looks into it there, atomic as it is elsewhere.
    pub granular: bool,
}

/// How apply merges a list.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum ListKind {
    Atomic,
    Set,
    Map(Vec<String>),
}

/// What a value must satisfy.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Rule {
    /// JSON values.
    Enum(Vec<String>),
    Published(Vec<String>),
    Required,
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
