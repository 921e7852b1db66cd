//! The fields of a set of facts.

use syn::{Data, DeriveInput, Error, Fields, Ident, Result};

/// A struct with named fields.
pub(crate) struct Facts {
    pub(crate) ident: Ident,
    pub(crate) fields: Vec<Ident>,
}

pub(crate) fn read(input: &DeriveInput) -> Result<Facts> {
    let without = || Error::new(input.ident.span(), "facts are a struct with named fields");
    let Data::Struct(data) = &input.data else { return Err(without()) };
    let Fields::Named(named) = &data.fields else { return Err(without()) };
    let fields = named.named.iter().filter_map(|field| field.ident.clone()).collect();
    Ok(Facts { ident: input.ident.clone(), fields })
}
