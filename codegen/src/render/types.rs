//! `types/<module>.rs`: a static for each type and one for its fields.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use crate::ir::{Field, ListKind, Node, Rule, Shape, Struct, StructRef, Version};
use crate::render::format;
use crate::render::words::{ident, option, table, text, texts};

/// The types of a version.
pub(super) fn render(version: &Version) -> String {
    let prelude = quote!(
        use crate::generated::prelude::*;
    );
    format::file(std::iter::once(prelude).chain(version.types.iter().flat_map(|one| {
        let twin = one.granular.then(|| head(one, true));
        [Some(head(one, false)), twin, Some(fields(one))].into_iter().flatten()
    })))
}

/// The path of a type's static, from any of these modules.
pub(super) fn path(of: &StructRef) -> TokenStream {
    let module = ident(&of.module);
    let name = static_ident(&of.ident, of.granular);
    quote!(crate::generated::types::#module::#name)
}

/// A type that is atomic except at some fields has a static of either sort.
fn static_ident(name: &str, granular: bool) -> proc_macro2::Ident {
    if granular { format_ident!("{name}_GRANULAR") } else { ident(name) }
}

fn head(of: &Struct, granular: bool) -> TokenStream {
    let summary = format!(" `{}`.", of.definition);
    let (name, fields) = (static_ident(&of.ident, granular), fields_ident(of));
    let (definition, doc, atomic) = (text(&of.definition), text(&of.doc), of.atomic && !granular);
    let mut sorted: Vec<usize> = (0..of.fields.len()).collect();
    sorted.sort_by(|a, b| of.fields[*a].name.cmp(&of.fields[*b].name));
    let sorted = sorted.into_iter().map(Literal::usize_unsuffixed);
    let unions = table(of.unions.iter().map(|union| {
        let discriminator = text(&union.discriminator);
        let members = table(union.members.iter().map(|(field, value)| {
            let (field, value) = (text(field), text(value));
            quote!((#field, #value))
        }));
        quote!(Union { discriminator: #discriminator, members: #members })
    }));
    quote! {
        #[doc = #summary]
        pub static #name: Struct = Struct {
            name: #definition,
            doc: #doc,
            fields: Static(&#fields),
            by_name: Static(&[#(#sorted),*]),
            unknown: Unknown::Drop,
            atomic: #atomic,
            unions: #unions,
            plan: Plan::new(),
        };
    }
}

fn fields(of: &Struct) -> TokenStream {
    let (name, count) = (fields_ident(of), Literal::usize_unsuffixed(of.fields.len()));
    let fields = of.fields.iter().map(field);
    quote!(static #name: [Field; #count] = [#(#fields),*];)
}

fn fields_ident(of: &Struct) -> proc_macro2::Ident {
    format_ident!("{}_FIELDS", of.ident)
}

fn field(of: &Field) -> TokenStream {
    let (name, doc, node) = (text(&of.name), text(&of.doc), node(&of.node));
    let (required, pointer, keep) = (of.required, of.pointer, of.keep);
    let patch = option(of.patch.as_ref().map(|patch| {
        let (merge, retain_keys, key) = (patch.merge, patch.retain_keys, text(&patch.key));
        quote!(Patch { merge: #merge, retain_keys: #retain_keys, key: #key })
    }));
    let proto = option(of.proto.as_ref().map(|(tag, within)| {
        let tag = Literal::u32_unsuffixed(*tag);
        let within = within.iter().map(|one| Literal::u32_unsuffixed(*one));
        quote!(Proto { tag: #tag, within: &[#(#within),*] })
    }));
    quote! {
        Field {
            name: #name,
            doc: #doc,
            node: #node,
            required: #required,
            pointer: #pointer,
            keep: #keep,
            patch: #patch,
            proto: #proto,
        }
    }
}

fn node(of: &Node) -> TokenStream {
    let shape = shape(&of.shape);
    let default = option(of.default.as_deref().map(text));
    let fill = option(of.fill.as_deref().map(text));
    let rules = table(of.rules.iter().map(rule));
    quote!(Node { shape: #shape, nullable: false, default: #default, fill: #fill, rules: #rules })
}

fn shape(of: &Shape) -> TokenStream {
    match of {
        Shape::Bool => quote!(Shape::Bool),
        Shape::Int32 => quote!(Shape::Int32),
        Shape::Int64 => quote!(Shape::Int64),
        Shape::Double => quote!(Shape::Double),
        Shape::String(name) => {
            let name = text(name);
            quote!(Shape::String(#name))
        }
        Shape::Bytes => quote!(Shape::Bytes),
        Shape::Time => quote!(Shape::Time),
        Shape::MicroTime => quote!(Shape::MicroTime),
        Shape::Duration => quote!(Shape::Duration),
        Shape::Quantity => quote!(Shape::Quantity),
        Shape::IntOrString => quote!(Shape::IntOrString),
        Shape::Any(name) => {
            let name = text(name);
            quote!(Shape::Any(#name))
        }
        Shape::RawObject => quote!(Shape::RawObject),
        Shape::FieldsV1 => quote!(Shape::FieldsV1),
        Shape::List { item, kind } => {
            let item = node(item);
            let kind = match kind {
                ListKind::Atomic => quote!(ListKind::Atomic),
                ListKind::Set => quote!(ListKind::Set),
                ListKind::Map(keys) => {
                    let keys = texts(keys);
                    quote!(ListKind::Map(#keys))
                }
            };
            quote!(Shape::List(Static(&List { item: #item, kind: #kind })))
        }
        Shape::Map { value, atomic } => {
            let value = node(value);
            quote!(Shape::Map(Static(&Map { value: #value, atomic: #atomic })))
        }
        Shape::Struct(of) => {
            let path = path(of);
            quote!(Shape::Struct(Static(&#path)))
        }
    }
}

fn rule(of: &Rule) -> TokenStream {
    match of {
        Rule::Enum(values) => {
            let values = texts(values);
            quote!(Rule::Enum(#values))
        }
        Rule::Published(values) => {
            let values = texts(values);
            quote!(Rule::Published(#values))
        }
        Rule::Required => quote!(Rule::Required),
        Rule::Minimum(number) => quote!(Rule::Minimum(#number)),
        Rule::Maximum(number) => quote!(Rule::Maximum(#number)),
        Rule::MinLength(number) => quote!(Rule::MinLength(#number)),
        Rule::MaxLength(number) => quote!(Rule::MaxLength(#number)),
        Rule::MaxBytes(number) => quote!(Rule::MaxBytes(#number)),
        Rule::Pattern(pattern) => {
            let pattern = text(pattern);
            quote!(Rule::Pattern(#pattern))
        }
        Rule::Format(format) => {
            let format = text(format);
            quote!(Rule::Format(#format))
        }
        Rule::MinItems(number) => quote!(Rule::MinItems(#number)),
        Rule::MaxItems(number) => quote!(Rule::MaxItems(#number)),
        Rule::Immutable => quote!(Rule::Immutable),
    }
}
