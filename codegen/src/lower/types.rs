//! Types.

use crate::check::index::Home;
use crate::ir::{Field, KindName, ListKind, Node, Patch, Rule, Shape, Struct, StructRef, Union};
use crate::literal;
use crate::lower::{Context, names};
use crate::parse::yaml;
use crate::spec::{self, BuiltIn, Holds, ListType, TypeName};

impl<'a> Context<'a> {
    /// A type of a spec.
    pub(super) fn lower_type(&self, home: Home<'a>, of: &'a spec::Type) -> Struct {
        let definition = definition(home, &of.name);
        let fields: Vec<Field> =
            of.fields.iter().map(|field| self.lower_field(home, &definition, field)).collect();
        let is_kind = ["kind", "apiVersion"]
            .iter()
            .all(|name| fields.iter().any(|field| field.name == *name && field.proto.is_none()));
        Struct {
            ident: names::constant(&of.name),
            doc: match &of.doc {
                Some(doc) => doc.value.clone(),
                None => self.descriptions.of_type(&definition).into(),
            },
            kind: is_kind.then(|| kind_name(home, &of.name)),
            columns: of.columns.iter().map(|column| self.lower_column(home, column)).collect(),
            atomic: of.atomic,
            granular: of.atomic && self.is_used_granular(home, of),
            unions: of.unions.iter().map(lower_union).collect(),
            fields,
            definition,
        }
    }

    /// Whether a field somewhere has an atomic type that is not atomic there.
    fn is_used_granular(&self, home: Home<'a>, of: &'a spec::Type) -> bool {
        crate::check::index::fields(self.index.spec).any(|(at, _, field)| match &field.holds.value {
            Holds::Named(name) if field.map_atomic == Some(false) => self
                .index
                .find(at, name)
                .is_some_and(|(there, found)| definition(there, &found.name) == definition(home, &of.name)),
            _ => false,
        })
    }

    /// Where a type's static is.
    pub(super) fn struct_ref(&self, home: Home<'a>, name: &TypeName) -> Option<StructRef> {
        let (home, of) = self.index.find(home, name)?;
        Some(StructRef { module: names::module(home), ident: names::constant(&of.name), granular: false })
    }

    fn lower_field(&self, home: Home<'a>, definition: &str, field: &spec::Field) -> Field {
        Field {
            name: field.name.value.clone(),
            doc: match &field.doc {
                Some(doc) => doc.value.clone(),
                None => self.descriptions.of_field(definition, &field.name).into(),
            },
            node: self.lower_node(home, field),
            required: field.required,
            pointer: field.pointer,
            keep: field.keep,
            patch: field.patch.as_ref().map(|words| Patch {
                merge: words.iter().any(|word| word == "merge"),
                retain_keys: words.iter().any(|word| word == "retainKeys"),
                key: field.patch_key.as_ref().map(|key| key.value.clone()).unwrap_or_default(),
            }),
            proto: field.pb.as_ref().map(|pb| (pb.value, field.within.clone())),
        }
    }

    fn lower_node(&self, home: Home<'a>, field: &spec::Field) -> Node {
        let json =
            |node: &yaml::Node| literal::json(self.index, home, &field.holds, node).unwrap_or_default();
        let is_list = matches!(field.holds.value, Holds::List(_));
        let rules = |of_items: bool| {
            field
                .rules
                .iter()
                .filter(|rule| is_list && is_of_items(rule) == of_items || !is_list && !of_items)
                .map(|rule| lower_rule(rule))
                .collect::<Vec<_>>()
        };
        let mut shape = self.shape(home, &field.holds, &field.go_type);
        match &mut shape {
            Shape::List { item, kind } => {
                *kind = match field.list_type.as_ref().map(|one| one.value) {
                    Some(ListType::Set) => ListKind::Set,
                    Some(ListType::Map) => {
                        ListKind::Map(field.keys.iter().map(|key| key.value.clone()).collect())
                    }
                    Some(ListType::Atomic) | None => ListKind::Atomic,
                };
                item.rules = rules(true);
            }
            Shape::Map { atomic, .. } => *atomic = field.map_atomic == Some(true),
            Shape::Struct(of) => of.granular = field.map_atomic == Some(false),
            _ => {}
        }
        Node {
            shape,
            default: field.default.as_ref().map(json),
            fill: field.fill.as_ref().map(json),
            rules: rules(false),
        }
    }

    fn shape(&self, home: Home<'a>, holds: &Holds, go_type: &str) -> Shape {
        match holds {
            Holds::List(item) => {
                Shape::List { item: Box::new(plain(self.shape(home, item, go_type))), kind: ListKind::Atomic }
            }
            Holds::Map(value) => {
                Shape::Map { value: Box::new(plain(self.shape(home, value, go_type))), atomic: false }
            }
            Holds::Any(name) if name.is_empty() => Shape::Any(String::new()),
            Holds::Any(name) => Shape::Any(definition(home, name)),
            Holds::Named(name) => self.reference(home, name),
            Holds::BuiltIn(built_in) => match built_in {
                BuiltIn::Bool => Shape::Bool,
                BuiltIn::Int32 => Shape::Int32,
                BuiltIn::Int64 => Shape::Int64,
                BuiltIn::Double => Shape::Double,
                BuiltIn::String => Shape::String(go_type.into()),
                BuiltIn::Bytes => Shape::Bytes,
                BuiltIn::Time => Shape::Time,
                BuiltIn::MicroTime => Shape::MicroTime,
                BuiltIn::Duration => Shape::Duration,
                BuiltIn::Quantity => Shape::Quantity,
                BuiltIn::IntOrString => Shape::IntOrString,
                BuiltIn::RawObject => Shape::RawObject,
                BuiltIn::FieldsV1 => Shape::FieldsV1,
            },
        }
    }

    /// A reference passed its check, so its type is there; nothing else can be said of one that is not.
    pub(super) fn reference(&self, home: Home<'a>, name: &TypeName) -> Shape {
        self.struct_ref(home, name).map_or(Shape::RawObject, Shape::Struct)
    }
}

/// `io.k8s.api.apps.v1.Deployment`.
pub(super) fn definition(home: Home<'_>, name: &str) -> String {
    format!("{}.{}.{name}", *home.group.definitions, *home.version.name)
}

/// A kind of a version.
pub(super) fn kind_name(home: Home<'_>, kind: &str) -> KindName {
    KindName {
        group: home.group.name.value.clone(),
        version: home.version.name.value.clone(),
        kind: kind.into(),
    }
}

/// A shape of which nothing else is said.
pub(super) fn plain(shape: Shape) -> Node {
    Node { shape, default: None, fill: None, rules: Vec::new() }
}

fn lower_union(union: &spec::Union) -> Union {
    Union {
        discriminator: union.discriminator.as_ref().map(|field| field.value.clone()).unwrap_or_default(),
        members: union.members.iter().map(|(field, value)| (field.value.clone(), value.clone())).collect(),
    }
}

/// Whether a rule at a list of scalars is about each of them.
fn is_of_items(rule: &spec::Rule) -> bool {
    match rule {
        spec::Rule::Enum(_)
        | spec::Rule::Values(_)
        | spec::Rule::Minimum(_)
        | spec::Rule::Maximum(_)
        | spec::Rule::MinLength(_)
        | spec::Rule::MaxLength(_)
        | spec::Rule::MaxBytes(_)
        | spec::Rule::Pattern(_)
        | spec::Rule::Format(_) => true,
        spec::Rule::NonEmpty | spec::Rule::MinItems(_) | spec::Rule::MaxItems(_) | spec::Rule::Immutable => {
            false
        }
    }
}

fn lower_rule(rule: &spec::Rule) -> Rule {
    let json = |texts: &[String]| texts.iter().map(|text| literal::quoted(text)).collect();
    match rule {
        spec::Rule::Enum(texts) => Rule::Enum(json(texts)),
        spec::Rule::Values(texts) => Rule::Published(json(texts)),
        spec::Rule::NonEmpty => Rule::Required,
        spec::Rule::Minimum(number) => Rule::Minimum(*number),
        spec::Rule::Maximum(number) => Rule::Maximum(*number),
        spec::Rule::MinLength(number) => Rule::MinLength(*number),
        spec::Rule::MaxLength(number) => Rule::MaxLength(*number),
        spec::Rule::MaxBytes(number) => Rule::MaxBytes(*number),
        spec::Rule::Pattern(text) => Rule::Pattern(text.clone()),
        spec::Rule::Format(text) => Rule::Format(text.clone()),
        spec::Rule::MinItems(number) => Rule::MinItems(*number),
        spec::Rule::MaxItems(number) => Rule::MaxItems(*number),
        spec::Rule::Immutable => Rule::Immutable,
    }
}
