//! `typed/<module>.rs`: structs for the kinds that Rust reads or makes (`typed: true`), and for all types
//! in them.
//!
//! The tables are what the server works with; a struct is for logic that would otherwise look up members by
//! name. It holds what the table holds: a test compares their schemas.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::ir::{Field, Ir, Node, Resource, Shape, Struct, StructRef, Version};
use crate::render::words::ident;
use crate::render::{format, types};

/// A type: its module and the name of its static.
type Id<'a> = (&'a str, &'a str);

/// What is typed of all the specs.
pub(super) struct Typed<'a> {
    ir: &'a Ir,
    structs: BTreeMap<Id<'a>, &'a Struct>,
    wanted: BTreeSet<Id<'a>>,
}

impl<'a> Typed<'a> {
    /// The typed kinds of the specs and what they refer to.
    pub(super) fn of(ir: &'a Ir) -> Self {
        let structs = versions(ir)
            .flat_map(|version| version.types.iter().map(|one| ((&*version.module, &*one.ident), one)))
            .collect();
        let mut typed = Self { ir, structs, wanted: BTreeSet::new() };
        for resource in versions(ir).flat_map(|version| &version.resources).filter(|one| one.typed) {
            typed.want((&resource.schema.module, &resource.schema.ident));
        }
        typed
    }

    fn want(&mut self, id: Id<'a>) {
        if self.wanted.insert(id) {
            for next in references(self.structs[&id]) {
                self.want(next);
            }
        }
    }

    /// The files, by name.
    pub(super) fn files(&self) -> Vec<(String, String)> {
        self.modules().map(|version| (format!("typed/{}.rs", version.module), self.file(version))).collect()
    }

    /// The module that holds them; nothing where nothing is typed.
    pub(super) fn module(&self) -> Option<TokenStream> {
        let modules: Vec<TokenStream> = self
            .modules()
            .map(|version| {
                let (name, file) = (ident(&version.module), format!("typed/{}.rs", version.module));
                let group = if version.group.is_empty() { "core" } else { &version.group };
                let summary = format!(" Structs of {group}/{}.", version.name);
                quote! {
                    #[doc = #summary]
                    pub mod #name { include!(#file); }
                }
            })
            .collect();
        let schemas = self.wanted.iter().map(|&(module, name)| {
            let table =
                types::path(&StructRef { module: module.into(), ident: name.into(), granular: false });
            let ty = self.path((module, name));
            quote!((&#table, ::schemars::SchemaGenerator::subschema_for::<#ty>))
        });
        (!modules.is_empty()).then(|| {
            quote! {
                /// Structs of the kinds that Rust reads or makes, by group and version.
                pub mod typed {
                    #(#modules)*

                    /// Makes a struct's schema.
                    #[cfg(test)]
                    pub(crate) type Describe = fn(&mut ::schemars::SchemaGenerator) -> ::schemars::Schema;

                    /// Each struct's table, and its schema.
                    #[cfg(test)]
                    pub(crate) static SCHEMAS: &[(&apiwright_schema::Struct, Describe)] = &[#(#schemas),*];
                }
            }
        })
    }

    fn modules(&self) -> impl Iterator<Item = &'a Version> {
        versions(self.ir).filter(|version| self.wanted.iter().any(|(module, _)| *module == version.module))
    }

    fn file(&self, version: &'a Version) -> String {
        let prelude = quote!(
            use crate::generated::prelude::typed::*;
        );
        let wanted =
            version.types.iter().filter(|one| self.wanted.contains(&(&*version.module, &*one.ident)));
        let structs = wanted.map(|one| {
            let resource = version
                .resources
                .iter()
                .find(|resource| resource.typed && resource.schema.ident == one.ident);
            self.item((&version.module, &one.ident), one, resource)
        });
        format::file(std::iter::once(prelude).chain(structs))
    }

    fn item(&self, id: Id<'a>, of: &'a Struct, resource: Option<&Resource>) -> TokenStream {
        let summary = format!(" `{}`.", of.definition);
        let name = name(of);
        let (derive, attribute) = match resource {
            None => (None, None),
            Some(resource) => {
                let (version, plural) = (&resource.kind.version, &resource.plural);
                let group = (!resource.kind.group.is_empty()).then(|| {
                    let group = &resource.kind.group;
                    quote!(group = #group,)
                });
                let scope = resource.namespaced.then(|| quote!(, namespaced));
                let attribute = quote!(#[resource(#group version = #version, plural = #plural #scope)]);
                (Some(quote!(, ::apiwright_macros::Resource)), Some(attribute))
            }
        };
        // What a kind's objects say of themselves is known, and written by whoever writes them.
        let says = |field: &&Field| of.kind.is_none() || !matches!(&*field.name, "kind" | "apiVersion");
        let fields = of.fields.iter().filter(says).map(|field| self.field(id, of.kind.is_some(), field));
        quote! {
            #[doc = #summary]
            #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize #derive)]
            #[cfg_attr(test, derive(::schemars::JsonSchema))]
            #[serde(default)]
            #attribute
            pub struct #name { #(#fields)* }
        }
    }

    fn field(&self, within: Id<'a>, is_kind: bool, of: &'a Field) -> TokenStream {
        let name = member(&of.name);
        let rename = (name != *of.name).then(|| {
            let json = &of.name;
            quote!(rename = #json,)
        });
        let ty = self.ty(within, &of.node);
        let is_optional = is_optional(of) && !(is_kind && of.name == "metadata");
        let ty = if is_optional { quote!(Option<#ty>) } else { ty };
        // As the server prints it: empty values are left out where Go leaves them out.
        let skip = match (is_optional, of.keep) {
            (true, _) => quote!(skip_serializing_if = "Option::is_none"),
            (false, false) => {
                quote!(deserialize_with = "null_as_default", skip_serializing_if = "is_default")
            }
            (false, true) => quote!(deserialize_with = "null_as_default"),
        };
        let doc = format!(" `{}`.", of.name);
        quote! {
            #[doc = #doc]
            #[serde(#rename #skip)]
            pub #name: #ty,
        }
    }

    fn ty(&self, within: Id<'a>, of: &'a Node) -> TokenStream {
        match &of.shape {
            Shape::Bool => quote!(bool),
            Shape::Int32 => quote!(i32),
            Shape::Int64 => quote!(i64),
            Shape::Double => quote!(f64),
            Shape::String(_) => quote!(String),
            Shape::Bytes => quote!(Bytes),
            Shape::Time => quote!(Timestamp),
            Shape::MicroTime => quote!(MicroTimestamp),
            Shape::Duration => quote!(Duration),
            Shape::Quantity => quote!(Quantity),
            Shape::IntOrString => quote!(IntOrString),
            Shape::Any(_) | Shape::RawObject | Shape::FieldsV1 => quote!(Any),
            Shape::List { item, .. } => {
                let item = self.ty(within, item);
                quote!(Vec<#item>)
            }
            Shape::Map { value, .. } => {
                let value = self.ty(within, value);
                quote!(BTreeMap<String, #value>)
            }
            Shape::Struct(of) => {
                let id = id(of);
                let path = self.path(id);
                if self.reaches(id, within) { quote!(Box<#path>) } else { path }
            }
        }
    }

    /// Whether a type holds another one, however deep.
    fn reaches(&self, from: Id<'a>, to: Id<'a>) -> bool {
        let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
        while let Some(at) = next.pop() {
            if at == to {
                return true;
            }
            next.extend(references(self.structs[&at]).filter(|one| seen.insert(*one)));
        }
        false
    }

    fn path(&self, id: Id<'_>) -> TokenStream {
        let (module, name) = (ident(id.0), name(self.structs[&id]));
        quote!(crate::generated::typed::#module::#name)
    }
}

/// Whether absence differs from the empty value; structs and times may always be absent.
fn is_optional(of: &Field) -> bool {
    match of.node.shape {
        Shape::List { .. } | Shape::Map { .. } => false,
        Shape::Struct(_) => of.pointer || !of.required,
        Shape::Time | Shape::MicroTime => true,
        _ => of.pointer,
    }
}

fn versions(ir: &Ir) -> impl Iterator<Item = &Version> {
    ir.groups.iter().flat_map(|group| &group.versions)
}

fn id(of: &StructRef) -> Id<'_> {
    (&of.module, &of.ident)
}

/// The types that a type's fields have, also as items and values.
fn references(of: &Struct) -> impl Iterator<Item = Id<'_>> {
    of.fields.iter().filter_map(|field| {
        let mut shape = &field.node.shape;
        loop {
            match shape {
                Shape::List { item, .. } => shape = &item.shape,
                Shape::Map { value, .. } => shape = &value.shape,
                Shape::Struct(of) => return Some(id(of)),
                _ => return None,
            }
        }
    })
}

/// `LeaseSpec`.
fn name(of: &Struct) -> Ident {
    ident(of.definition.rsplit('.').next().unwrap_or(&of.definition))
}

/// `acquireTime` as Rust calls it.
fn member(json: &str) -> Ident {
    let mut name = String::with_capacity(json.len() + 4);
    let mut before_is_lower = false;
    let letters: Vec<char> = json.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        // The s of `podIPs` begins no word.
        let is_plural = letters[at + 1..] == ['s'];
        let next_is_lower = !is_plural && letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && at > 0 && (before_is_lower || next_is_lower) {
            name.push('_');
        }
        before_is_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        name.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
    }
    if syn::parse_str::<Ident>(&name).is_ok() { ident(&name) } else { format_ident!("r#{name}") }
}

#[cfg(test)]
mod tests {
    use super::member;

    #[test]
    fn members_have_names_of_rust() {
        for (json, rust) in [
            ("acquireTime", "acquire_time"),
            ("podIP", "pod_ip"),
            ("podIPs", "pod_ips"),
            ("externalID", "external_id"),
            ("type", "r#type"),
            ("x-kubernetes-validations", "x_kubernetes_validations"),
            ("$ref", "_ref"),
            ("caBundle", "ca_bundle"),
            ("clusterIPAddress", "cluster_ip_address"),
        ] {
            assert_eq!(member(json).to_string(), rust, "{json}");
        }
    }
}
