//! The implementation of `TypedResource`.

use proc_macro2::TokenStream;
use quote::quote;

use super::attrs::Resource;

pub(crate) fn expand(resource: &Resource) -> TokenStream {
    let Resource { ident, group, version, kind, plural, namespaced, metadata } = resource;
    quote! {
        impl ::apiwright_registry::typed::TypedResource for #ident {
            type Metadata = #metadata;
            const GROUP: &'static str = #group;
            const VERSION: &'static str = #version;
            const KIND: &'static str = #kind;
            const PLURAL: &'static str = #plural;
            const NAMESPACED: bool = #namespaced;
            fn metadata(&self) -> &Self::Metadata {
                &self.metadata
            }
            fn metadata_mut(&mut self) -> &mut Self::Metadata {
                &mut self.metadata
            }
        }
    }
}
