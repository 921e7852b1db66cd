//! What `#[resource(…)]` says.

use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Type};

/// The struct and what its attribute says.
pub(crate) struct Resource {
    pub(crate) ident: Ident,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    pub(crate) metadata: Type,
}

pub(crate) fn read(input: &DeriveInput) -> Result<Resource> {
    let (mut group, mut version, mut kind, mut plural) = (None, None, None, None);
    let mut namespaced = false;
    let attribute = input.attrs.iter().find(|one| one.path().is_ident("resource")).ok_or_else(|| {
        Error::new(input.ident.span(), "say which resource this is: #[resource(version = …, plural = …)]")
    })?;
    attribute.parse_nested_meta(|meta| {
        if meta.path.is_ident("namespaced") {
            namespaced = true;
            return Ok(());
        }
        let slot = match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("group") => &mut group,
            Some("version") => &mut version,
            Some("kind") => &mut kind,
            Some("plural") => &mut plural,
            _ => return Err(meta.error("unknown word; there are: group, version, kind, plural, namespaced")),
        };
        if slot.is_some() {
            return Err(meta.error("said twice"));
        }
        *slot = Some(meta.value()?.parse::<LitStr>()?.value());
        Ok(())
    })?;
    let missing = |word: &str| Error::new(attribute.span(), format!("`{word} = \"…\"` is missing"));
    Ok(Resource {
        metadata: metadata(input)?,
        group: group.unwrap_or_default(),
        version: version.ok_or_else(|| missing("version"))?,
        kind: kind.unwrap_or_else(|| input.ident.to_string()),
        plural: plural.ok_or_else(|| missing("plural"))?,
        namespaced,
        ident: input.ident.clone(),
    })
}

/// The type of the field `metadata`.
fn metadata(input: &DeriveInput) -> Result<Type> {
    let without = || Error::new(input.ident.span(), "a resource is a struct with a field `metadata`");
    let Data::Struct(data) = &input.data else { return Err(without()) };
    let Fields::Named(fields) = &data.fields else { return Err(without()) };
    let field =
        fields.named.iter().find(|field| field.ident.as_ref().is_some_and(|ident| ident == "metadata"));
    Ok(field.ok_or_else(without)?.ty.clone())
}
