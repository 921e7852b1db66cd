//! `resources/<module>.rs`: a static for each resource.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::ir::{
    Cell, Column, Conversion, Does, Names, Part, Resource, Strategy, Subresource, Verb, Version,
};
use crate::render::words::{ident, kind, table, text, texts};
use crate::render::{format, types};

/// The resources of a version.
pub(super) fn render(version: &Version) -> String {
    let prelude = quote!(
        use crate::generated::prelude::*;
    );
    format::file(std::iter::once(prelude).chain(version.resources.iter().map(|one| resource(version, one))))
}

/// A column, which kinds without a resource have too.
pub(super) fn column(of: &Column) -> TokenStream {
    let (name, kind, format, doc) = (text(&of.name), text(&of.kind), text(&of.format), text(&of.doc));
    let priority = Literal::i32_unsuffixed(of.priority);
    let value = match &of.cell {
        Cell::Name => quote!(ColumnValue::Name),
        Cell::Age => quote!(ColumnValue::Age),
        Cell::Since(path) => {
            let path = text(path);
            quote!(ColumnValue::Since(#path))
        }
        Cell::Path(path, otherwise) => {
            let (path, otherwise) = (text(path), text(otherwise));
            quote!(ColumnValue::Path(#path, #otherwise))
        }
        Cell::Template(parts) => {
            let parts = table(parts.iter().map(|part| match part {
                Part::Literal(literal) => {
                    let literal = text(literal);
                    quote!(TemplatePart::Literal(#literal))
                }
                Part::Path(path, otherwise) => {
                    let (path, otherwise) = (text(path), text(otherwise));
                    quote!(TemplatePart::Path(#path, #otherwise))
                }
            }));
            quote!(ColumnValue::Template(#parts))
        }
        Cell::Hook => quote!(ColumnValue::Hook),
    };
    quote! {
        Column { name: #name, kind: #kind, format: #format, priority: #priority, doc: #doc, value: #value }
    }
}

fn resource(version: &Version, of: &Resource) -> TokenStream {
    let home =
        if version.group.is_empty() { &version.name } else { &format!("{}/{}", version.group, version.name) };
    let summary = format!(" `{}` of {home}.", of.plural);
    let name = ident(&of.ident);
    let (group, version) = (text(&of.kind.group), text(&of.kind.version));
    let (plural, singular) = (text(&of.plural), text(&of.singular));
    let (kind, list_kind) = (text(&of.kind.kind), text(&of.list_kind));
    let (short_names, categories) = (texts(&of.short_names), texts(&of.categories));
    let scope = if of.namespaced { quote!(Scope::Namespaced) } else { quote!(Scope::Cluster) };
    let verbs = table(of.verbs.iter().map(|one| verb(*one)));
    let subresources = table(of.subresources.iter().map(subresource));
    let schema = types::path(&of.schema);
    let storage = storage(of);
    let strategy = strategy(&of.strategy);
    let columns = table(of.columns.iter().map(column));
    let selectable = table(of.selectable.iter().map(|one| {
        let (name, path, default, indexed) =
            (text(&one.name), text(&one.path), text(&one.default), one.indexed);
        quote!(Selectable { name: #name, path: #path, default: #default, indexed: #indexed })
    }));
    let hooks = match &of.hooks {
        None => quote!(NoHooks),
        Some((module, name)) => {
            let (module, name) = (ident(module), ident(name));
            quote!(crate::hooks::#module::#name)
        }
    };
    quote! {
        #[doc = #summary]
        pub static #name: Resource = Resource {
            group: #group,
            version: #version,
            plural: #plural,
            singular: #singular,
            kind: #kind,
            list_kind: #list_kind,
            short_names: #short_names,
            categories: #categories,
            scope: #scope,
            verbs: #verbs,
            subresources: #subresources,
            schema: Static(&#schema),
            storage: #storage,
            strategy: #strategy,
            columns: #columns,
            selectable: #selectable,
            hooks: Static(&#hooks),
        };
    }
}

fn storage(of: &Resource) -> TokenStream {
    let of = &of.storage;
    let (prefix, kind, hash) = (text(&of.prefix), kind(&of.kind), text(&of.hash));
    let ttl = Literal::u32_unsuffixed(of.ttl);
    let conversion = match &of.conversion {
        Conversion::Same => quote!(Conversion::Same),
        Conversion::Hook => quote!(Conversion::Hook),
        Conversion::Rename(names) => {
            let names = table(names.iter().map(|(here, there)| {
                let (here, there) = (text(here), text(there));
                quote!((#here, #there))
            }));
            quote!(Conversion::Rename(#names))
        }
    };
    quote! {
        StorageSpec {
            prefix: #prefix,
            kind: #kind,
            version_hash: #hash,
            conversion: #conversion,
            ttl_seconds: #ttl,
        }
    }
}

fn strategy(of: &Strategy) -> TokenStream {
    let names = match of.names {
        Names::Subdomain => quote!(NameRule::DnsSubdomain),
        Names::Label => quote!(NameRule::DnsLabel),
        Names::Label1035 => quote!(NameRule::Dns1035Label),
        Names::PathSegment => quote!(NameRule::PathSegment),
        Names::Hook => quote!(NameRule::Hook),
    };
    let Strategy {
        names: _,
        create_on_update,
        unconditional_update,
        generation,
        status_fields,
        status_subresource,
        status_on_create,
        graceful_delete,
        delete_returns_object,
        unowned,
        unowned_by_status,
    } = of;
    let (unowned, unowned_by_status) = (texts(unowned), texts(unowned_by_status));
    let status_fields = texts(status_fields);
    quote! {
        Strategy {
            name_rule: #names,
            create_on_update: #create_on_update,
            unconditional_update: #unconditional_update,
            generation: #generation,
            status_fields: #status_fields,
            status_subresource: #status_subresource,
            status_on_create: #status_on_create,
            graceful_delete: #graceful_delete,
            delete_returns_object: #delete_returns_object,
            unowned: #unowned,
            unowned_by_status: #unowned_by_status,
        }
    }
}

fn subresource(of: &Subresource) -> TokenStream {
    let (name, kind) = (text(&of.name), kind(&of.kind));
    let does = match &of.does {
        Does::Status => quote!(SubresourceKind::Status),
        Does::Scale { spec_replicas, status_replicas, selector } => {
            let (wished, actual, selector) = (text(spec_replicas), text(status_replicas), text(selector));
            quote!(SubresourceKind::Scale { spec_replicas: #wished, status_replicas: #actual, selector: #selector })
        }
        Does::Action => quote!(SubresourceKind::Action),
        Does::Unavailable(reason) => {
            let reason = text(reason);
            quote!(SubresourceKind::Unavailable(#reason))
        }
    };
    let verbs = table(of.verbs.iter().map(|one| verb(*one)));
    quote!(Subresource { name: #name, does: #does, kind: #kind, verbs: #verbs })
}

fn verb(of: Verb) -> TokenStream {
    match of {
        Verb::Create => quote!(Verb::Create),
        Verb::Delete => quote!(Verb::Delete),
        Verb::DeleteCollection => quote!(Verb::DeleteCollection),
        Verb::Get => quote!(Verb::Get),
        Verb::List => quote!(Verb::List),
        Verb::Patch => quote!(Verb::Patch),
        Verb::Update => quote!(Verb::Update),
        Verb::Watch => quote!(Verb::Watch),
    }
}
