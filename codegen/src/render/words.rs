//! The expressions that all tables are written with.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// An identifier.
pub(super) fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// `Static("…")`.
pub(super) fn text(text: &str) -> TokenStream {
    quote!(Static(#text))
}

/// `Static(&[…])`.
pub(super) fn table(items: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    let items = items.into_iter();
    quote!(Static(&[#(#items),*]))
}

/// `Static(&[Static("…"), …])`.
pub(super) fn texts<T: AsRef<str>>(texts: &[T]) -> TokenStream {
    table(texts.iter().map(|one| text(one.as_ref())))
}

/// `Some(…)` or `None`.
pub(super) fn option(value: Option<TokenStream>) -> TokenStream {
    value.map_or_else(|| quote!(None), |value| quote!(Some(#value)))
}

/// `Kind { … }`.
pub(super) fn kind(of: &crate::ir::KindName) -> TokenStream {
    let (group, version, kind) = (text(&of.group), text(&of.version), text(&of.kind));
    quote!(Kind { group: #group, version: #version, kind: #kind })
}
