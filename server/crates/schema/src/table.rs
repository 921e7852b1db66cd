//! The compiled form of a schema: plain data that the walks of this crate read.
//!
//! A [`Struct`] is a named type, a [`Node`] the use of a type at one place, with all that holds
//! there. Everything is either static (codegen's output) or shared (made from a CRD).

use std::ops::Deref;
use std::sync::Arc;

pub use crate::plan::Plan;

/// A part of a schema.
#[derive(Debug)]
pub enum Ref<T: ?Sized + 'static> {
    /// Compiled in.
    Static(&'static T),
    /// Made at run time.
    Shared(Arc<T>),
}

impl<T: ?Sized> Clone for Ref<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Static(it) => Self::Static(it),
            Self::Shared(it) => Self::Shared(Arc::clone(it)),
        }
    }
}

impl<T: ?Sized> Deref for Ref<T> {
    type Target = T;
    fn deref(&self) -> &T {
        match self {
            Self::Static(it) => it,
            Self::Shared(it) => it,
        }
    }
}

/// Several parts of a schema.
pub type Table<T> = Ref<[T]>;
/// A text of a schema.
pub type Text = Ref<str>;

/// A named type with fields, or an anonymous object of a CRD.
#[derive(Debug)]
pub struct Struct {
    /// The OpenAPI definition, `io.k8s.api.apps.v1.DeploymentSpec`; empty for an anonymous object.
    pub name: Text,
    /// The description.
    pub doc: Text,
    /// In the order in which they are printed.
    pub fields: Table<Field>,
    /// Indexes into `fields`, sorted by name, for lookups.
    pub by_name: Table<u16>,
    /// What becomes of members that are no field.
    pub unknown: Unknown,
    /// Whether apply treats it as one value (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
    /// The unions among its fields.
    pub unions: Table<Union>,
    /// What follows from the rest; starts empty.
    pub plan: Plan,
}

/// What becomes of members that a type does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// They are dropped, and reported as strictness asks.
    Drop,
    /// They stay (`x-kubernetes-preserve-unknown-fields`).
    Keep,
    /// They stay, but what is in them goes (`additionalProperties: true`).
    Bare,
}

impl Unknown {
    /// Whether they stay.
    pub fn stays(self) -> bool {
        self != Self::Drop
    }
}

/// At most one member may be set, `discriminator` naming it where there is one.
#[derive(Debug)]
pub struct Union {
    /// The field that names the member; empty where there is none.
    pub discriminator: Text,
    /// Each member's field name and discriminator value.
    pub members: Table<(Text, Text)>,
}

/// A field of a type.
#[derive(Debug)]
pub struct Field {
    /// The JSON name.
    pub name: Text,
    /// The description.
    pub doc: Text,
    /// What it holds.
    pub node: Node,
    /// Whether the API contract requires it (OpenAPI `required`).
    pub required: bool,
    /// Whether absence differs from the zero value (a pointer in Go).
    pub pointer: bool,
    /// Whether it is printed even when it is empty (no `omitempty` in Go).
    pub keep: bool,
    /// How strategic merge patches treat it.
    pub patch: Option<Patch>,
    /// Its place in protobuf; `None` for what protobuf does not carry (apiVersion, kind).
    pub proto: Option<Proto>,
}

/// How strategic merge patches treat a field.
#[derive(Debug)]
pub struct Patch {
    /// `merge`: lists merge by key, or as sets where there is none.
    pub merge: bool,
    /// `retainKeys`: the patch names the keys that stay.
    pub retain_keys: bool,
    /// The key that tells list items apart; empty for sets.
    pub key: Text,
}

/// A field's place in protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proto {
    /// The field number.
    pub tag: u32,
    /// The numbers of the messages that nest it where JSON inlines it (`Volume.volumeSource`), outermost first.
    pub within: &'static [u32],
}

/// A type at one place.
#[derive(Debug)]
pub struct Node {
    /// What the value looks like.
    pub shape: Shape,
    /// Whether `null` is a value of its own here (CRDs' `nullable`). Elsewhere null means absent.
    pub nullable: bool,
    /// What an absent value becomes, as JSON, and shown in OpenAPI.
    pub default: Option<Text>,
    /// What an absent value becomes, as JSON, without being part of the published schema.
    pub fill: Option<Text>,
    /// What a value must satisfy, in the order in which faults are reported.
    pub rules: Table<Rule>,
}

/// What a value looks like.
#[derive(Debug)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// An integer of 32 bits.
    Int32,
    /// An integer of 64 bits.
    Int64,
    /// A floating-point number.
    Double,
    /// A string. The name is Go's named type (`v1.Protocol`) where there is one, else empty.
    String(Text),
    /// Base64 in JSON, bytes in protobuf.
    Bytes,
    /// RFC 3339, seconds.
    Time,
    /// RFC 3339, exactly six fractional digits.
    MicroTime,
    /// Go's duration syntax.
    Duration,
    /// `100m`, `1Gi`.
    Quantity,
    /// A number or a string.
    IntOrString,
    /// Any JSON. The name is the OpenAPI definition where there is one (apiextensions' JSON,
    /// `JSONSchemaPropsOrBool` and the like), which also says how protobuf writes it; else empty.
    Any(Text),
    /// Any JSON object (`RawExtension`).
    RawObject,
    /// A set of field paths as nested objects.
    FieldsV1,
    /// A list.
    List(Ref<List>),
    /// A map from strings.
    Map(Ref<Map>),
    /// An object with fields.
    Struct(Ref<Struct>),
}

/// A list.
#[derive(Debug)]
pub struct List {
    /// What each item is.
    pub item: Node,
    /// How apply merges it.
    pub kind: ListKind,
}

/// `x-kubernetes-list-type`.
#[derive(Debug)]
pub enum ListKind {
    /// One value, replaced whole. Also what lists without a type are.
    Atomic,
    /// Scalars without duplicates.
    Set,
    /// Objects told apart by these keys.
    Map(Table<Text>),
}

/// A map from strings.
#[derive(Debug)]
pub struct Map {
    /// What each value is.
    pub value: Node,
    /// Whether apply treats it as one value.
    pub atomic: bool,
}

/// What a value must satisfy: the words of Kubernetes' declarative validation and of JSON schema.
#[derive(Debug)]
pub enum Rule {
    /// One of these JSON values, sorted as upstream's message lists them.
    Enum(Table<Text>),
    /// The values that are known, not enforced here: upstream takes anything, or a hook decides.
    Published(Table<Text>),
    /// Neither absent nor empty (declarative validation's `required`; `Field::required` is only published).
    Required,
    /// Not below.
    Minimum(f64),
    /// Not above.
    Maximum(f64),
    /// Above.
    ExclusiveMinimum(f64),
    /// Below.
    ExclusiveMaximum(f64),
    /// So many times this.
    MultipleOf(f64),
    /// At least so many characters.
    MinLength(u64),
    /// At most so many characters.
    MaxLength(u64),
    /// At most so many bytes.
    MaxBytes(u64),
    /// Matches an RE2 expression.
    Pattern(Text),
    /// A named format, for instance `k8s-short-name` or `date-time`.
    Format(Text),
    /// At least so many items.
    MinItems(u64),
    /// At most so many items.
    MaxItems(u64),
    /// At least so many members.
    MinProperties(u64),
    /// At most so many members.
    MaxProperties(u64),
    /// Does not change once set.
    Immutable,
    /// Has these members, of which no field tells.
    Members(Table<Text>),
    /// As many of these hold as the junctor wants. They say little of the type.
    Junctor(Junctor, Table<Node>),
    /// What holds of members where the shape says nothing of them, or nothing of what holds.
    Properties(Ref<Struct>),
    /// What holds of items where the shape does not say.
    Items(Ref<List>),
    /// Has no other members than these.
    Closed(Table<Text>),
    /// May be of any type: the shape says what stays of it only.
    Untyped,
}

/// How many schemas of several have to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Junctor {
    /// All.
    AllOf,
    /// At least one.
    AnyOf,
    /// One and no other.
    OneOf,
    /// None.
    Not,
}

impl Struct {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        Some(&self.fields[self.position(name)?])
    }

    /// Where in `fields` the field of this name is.
    pub fn position(&self, name: &str) -> Option<usize> {
        Plan::of(self).position(self, name)
    }
}
