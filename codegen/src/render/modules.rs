//! `mod.rs`: the module tree.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ir::{Ir, Version};
use crate::render::words::ident;
use crate::render::{controllers, format, typed};

/// The modules of types and resources.
pub(super) fn render(ir: &Ir) -> String {
    let versions: Vec<&Version> = ir.groups.iter().flat_map(|group| &group.versions).collect();
    let types = versions.iter().map(|version| module("types", version));
    let resources = versions
        .iter()
        .filter(|version| !version.resources.is_empty())
        .map(|version| module("resources", version));
    let items = [
        quote! {
            /// The types, by group and version.
            pub mod types { #(#types)* }
        },
        quote! {
            /// The resources, by group and version.
            pub mod resources { #(#resources)* }
        },
        quote!(include!("catalogue.rs");),
        quote!(include!("chain.rs");),
    ];
    format::file(items.into_iter().chain(typed::Typed::of(ir).module()).chain(controllers::modules(ir)))
}

fn module(of: &str, version: &Version) -> TokenStream {
    let group = if version.group.is_empty() { "core" } else { &version.group };
    let summary = format!(" The {of} of {group}/{}.", version.name);
    let (name, file) = (ident(&version.module), format!("{of}/{}.rs", version.module));
    quote! {
        #[doc = #summary]
        pub mod #name { include!(#file); }
    }
}
