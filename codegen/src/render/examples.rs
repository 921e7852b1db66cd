//! `examples.rs`: a test for each resource that has examples. Whoever includes it brings what is tried
//! (`Example`, `Rejected`, `Write`) and how (`check`).

use proc_macro2::TokenStream;
use quote::quote;

use crate::ir::{Examples, Ir, Resource, Version, Write};
use crate::render::format;
use crate::render::words::ident;

/// The tests, and a list of the resources that they are about.
pub(super) fn render(ir: &Ir) -> String {
    let all: Vec<_> = ir
        .groups
        .iter()
        .flat_map(|group| &group.versions)
        .flat_map(|version| version.resources.iter().map(move |one| (version, one)))
        .filter_map(|(version, one)| Some((version, one, one.examples.as_ref()?)))
        .collect();
    let covered = all.iter().map(|(version, resource, _)| {
        let (group, version, plural) = (&version.group, &version.name, &resource.plural);
        quote!((#group, #version, #plural))
    });
    let covered = quote! {
        /// The resources that have examples: group, version, plural.
        const COVERED: &[(&str, &str, &str)] = &[#(#covered),*];
    };
    let tests = all.iter().map(|(version, resource, examples)| test(version, resource, examples));
    format::file(std::iter::once(covered).chain(tests))
}

fn test(version: &Version, resource: &Resource, examples: &Examples) -> TokenStream {
    let name = ident(&format!("{}_{}", version.module, resource.plural));
    let (group, version, plural) = (&version.group, &version.name, &resource.plural);
    let (namespaced, stored) = (resource.namespaced, !resource.storage.prefix.is_empty());
    let minimal = &examples.minimal;
    let rejected = examples.rejected.iter().map(|one| {
        let write = match one.write {
            Write::Create => quote!(Write::Create),
            Write::Update => quote!(Write::Update),
        };
        let (change, message) = (&one.change, &one.message);
        quote!(Rejected { write: #write, change: #change, message: #message })
    });
    quote! {
        #[test]
        fn #name() {
            check(&Example {
                group: #group,
                version: #version,
                plural: #plural,
                namespaced: #namespaced,
                stored: #stored,
                minimal: #minimal,
                rejected: &[#(#rejected),*],
            });
        }
    }
}
