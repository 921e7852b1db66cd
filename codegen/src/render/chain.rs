//! `chain.rs`: the chain, and the objects that a server starts with.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ir::{BootstrapObject, Chain, ChainServer, Ir, Probe};
use crate::render::format;
use crate::render::words::ident;

/// The statics `CHAIN`, where the specs have one, and `BOOTSTRAP`.
pub(super) fn render(ir: &Ir) -> String {
    let chain = ir.chain.as_ref().map(chain);
    let bootstrap = (!ir.bootstrap.is_empty()).then(|| bootstrap(&ir.bootstrap));
    format::file(chain.into_iter().chain(bootstrap))
}

fn chain(of: &Chain) -> TokenStream {
    let servers = of.servers.iter().map(server);
    let admission = of.admission.iter().map(
        |(name, default)| quote!(::apiwright_chain::spec::PluginSpec { name: #name, default: #default }),
    );
    let probes = of.probes.iter().map(probe);
    quote! {
        /// The delegation chain.
        pub static CHAIN: ::apiwright_chain::spec::ChainSpec = ::apiwright_chain::spec::ChainSpec {
            servers: &[#(#servers),*],
            admission: &[#(#admission),*],
            probes: &[#(#probes),*],
        };
    }
}

fn probe(of: &Probe) -> TokenStream {
    let Probe { name, asked_by, after } = of;
    let after = after.map_or_else(
        || quote!(None),
        |stage| {
            let stage = ident(stage);
            quote!(Some(::apiwright_chain::spec::Stage::#stage))
        },
    );
    quote!(::apiwright_chain::spec::ProbeSpec {
        name: #name,
        asked_by: &[#(#asked_by),*],
        after: #after,
    })
}

fn server(of: &ChainServer) -> TokenStream {
    let kind = ident(of.kind);
    let groups = of.groups.as_ref().map_or_else(
        || quote!(::apiwright_chain::spec::Groups::Rest),
        |names| quote!(::apiwright_chain::spec::Groups::Named(&[#(#names),*])),
    );
    let controllers = &of.controllers;
    quote!(::apiwright_chain::spec::ServerSpec {
        kind: ::apiwright_chain::spec::ServerKind::#kind,
        groups: #groups,
        controllers: &[#(#controllers),*],
    })
}

fn bootstrap(objects: &[BootstrapObject]) -> TokenStream {
    let objects = objects.iter().map(|one| {
        let BootstrapObject { group, version, plural, mends, json } = one;
        let mends = ident(mends);
        quote!(::apiwright_chain::spec::BootstrapObject {
            group: #group, version: #version, resource: #plural,
            mends: ::apiwright_chain::spec::Mends::#mends, json: #json,
        })
    });
    quote! {
        /// The objects that a server starts with, in the order in which they are made.
        pub static BOOTSTRAP: &[::apiwright_chain::spec::BootstrapObject] = &[#(#objects),*];
    }
}
