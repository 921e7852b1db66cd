//! The implementation of `Facts`.

use proc_macro2::TokenStream;
use quote::quote;

use super::attrs::Facts;

pub(crate) fn expand(facts: &Facts) -> TokenStream {
    let Facts { ident, fields } = facts;
    let names = fields.iter().map(ToString::to_string);
    quote! {
        impl ::apiwright_controllers::Facts for #ident {
            fn describe(&self) -> ::std::vec::Vec<(&'static str, &'static str)> {
                ::std::vec![#((#names, ::apiwright_controllers::Fact::name(self.#fields))),*]
            }
        }
    }
}
