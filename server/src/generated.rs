//! What api-specs became: the types, the resources and the catalogue over them, as statics.

#![allow(clippy::unreadable_literal, clippy::large_stack_arrays, clippy::too_many_lines, missing_docs)]

include!(concat!(env!("OUT_DIR"), "/mod.rs"));

/// The names that the generated tables are written with.
pub(crate) mod prelude {
    pub(crate) use apiwright_registry::catalogue::{Catalogue, Group, KindType, Version};
    pub(crate) use apiwright_registry::hooks::NoHooks;
    pub(crate) use apiwright_registry::resource::{
        Column, ColumnValue, Conversion, Kind, NameRule, Resource, Scope, Selectable, StorageSpec, Strategy,
        Subresource, SubresourceKind, TemplatePart, Verb,
    };
    pub(crate) use apiwright_schema::Ref::Static;
    pub(crate) use apiwright_schema::table::{
        Field, List, ListKind, Map, Node, Patch, Proto, Rule, Shape, Struct, Union, Unknown,
    };
}

/// All that is compiled in.
pub fn catalogue() -> &'static apiwright_registry::Catalogue {
    &CATALOGUE
}
