//! `catalogue.rs`: the groups, kinds and types, by reference.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::ir::{Ir, StructRef, Version};
use crate::render::words::{ident, kind, table, text};
use crate::render::{format, resources, types};

/// The one catalogue.
pub(super) fn render(ir: &Ir) -> String {
    format::file([
        quote!(
            use self::prelude::*;
        ),
        quote! {
            /// Everything that is compiled in.
            pub static CATALOGUE: Catalogue = Catalogue {
                groups: Static(&GROUPS),
                kinds: Static(&KINDS),
                types: Static(&TYPES),
                values: Static(&VALUES),
            };
        },
        groups(ir),
        kinds(ir),
        all_types(ir),
        values(ir),
    ])
}

fn groups(ir: &Ir) -> TokenStream {
    let groups: Vec<_> = ir
        .groups
        .iter()
        .filter_map(|group| {
            let priority = Literal::i64_unsuffixed(group.priority?);
            let name = text(&group.name);
            let versions = table(group.versions.iter().map(version));
            Some(quote!(Group { name: #name, priority: #priority, versions: #versions }))
        })
        .collect();
    let count = Literal::usize_unsuffixed(groups.len());
    quote!(static GROUPS: [Group; #count] = [#(#groups),*];)
}

fn version(of: &Version) -> TokenStream {
    let (group, name) = (text(&of.group), text(&of.name));
    let priority = Literal::i64_unsuffixed(of.priority);
    let served = of.served;
    let module = ident(&of.module);
    let resources = table(of.resources.iter().map(|one| {
        let name = ident(&one.ident);
        quote!(&resources::#module::#name)
    }));
    quote!(Version { group: #group, name: #name, priority: #priority, served: #served, resources: #resources })
}

fn kinds(ir: &Ir) -> TokenStream {
    let mut found: Vec<_> = all(ir)
        .filter_map(|(version, one)| Some((one.kind.as_ref()?, reference(version, &one.ident), &one.columns)))
        .collect();
    found.sort_by(|a, b| a.0.cmp(b.0));
    let count = Literal::usize_unsuffixed(found.len());
    let kinds = found.into_iter().map(|(name, schema, columns)| {
        let (kind, columns) = (kind(name), table(columns.iter().map(resources::column)));
        quote!(KindType { kind: #kind, schema: &#schema, columns: #columns })
    });
    quote!(static KINDS: [KindType; #count] = [#(#kinds),*];)
}

fn all_types(ir: &Ir) -> TokenStream {
    let mut found: Vec<_> =
        all(ir).map(|(version, one)| (&one.definition, reference(version, &one.ident))).collect();
    found.sort_by(|a, b| a.0.cmp(b.0));
    let count = Literal::usize_unsuffixed(found.len());
    let types = found.into_iter().map(|(_, path)| quote!(&#path));
    quote!(static TYPES: [&Struct; #count] = [#(#types),*];)
}

fn values(ir: &Ir) -> TokenStream {
    let count = Literal::usize_unsuffixed(ir.values.len());
    let values = ir.values.iter().map(|(definition, doc)| {
        let (definition, doc) = (text(definition), text(doc));
        quote!((#definition, #doc))
    });
    quote!(static VALUES: [(Text, Text); #count] = [#(#values),*];)
}

fn all(ir: &Ir) -> impl Iterator<Item = (&Version, &crate::ir::Struct)> {
    ir.groups
        .iter()
        .flat_map(|group| &group.versions)
        .flat_map(|version| version.types.iter().map(move |one| (version, one)))
}

fn reference(version: &Version, ident: &str) -> TokenStream {
    types::path(&StructRef { module: version.module.clone(), ident: ident.into(), granular: false })
}
