//! The implementation of `Fact`.

use proc_macro2::TokenStream;
use quote::quote;

use super::attrs::Fact;

pub(crate) fn expand(fact: &Fact) -> TokenStream {
    let Fact { ident, variants } = fact;
    let names = variants.iter().map(ToString::to_string);
    quote! {
        impl ::apiwright_controllers::Fact for #ident {
            const ALL: &'static [Self] = &[#(Self::#variants),*];
            fn name(self) -> &'static str {
                match self {
                    #(Self::#variants => #names,)*
                }
            }
        }
    }
}
