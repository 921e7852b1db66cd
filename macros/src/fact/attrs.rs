//! The variants of a fact.

use syn::{Data, DeriveInput, Error, Fields, Ident, Result};

/// An enum of unit variants.
pub(crate) struct Fact {
    pub(crate) ident: Ident,
    pub(crate) variants: Vec<Ident>,
}

pub(crate) fn read(input: &DeriveInput) -> Result<Fact> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "a fact is an enum: a closed set of values"));
    };
    if data.variants.is_empty() {
        return Err(Error::new(input.ident.span(), "a fact has at least one value"));
    }
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new(
                variant.ident.span(),
                "a value of a fact carries nothing: tables compare names",
            ));
        }
    }
    let variants = data.variants.iter().map(|variant| variant.ident.clone()).collect();
    Ok(Fact { ident: input.ident.clone(), variants })
}
