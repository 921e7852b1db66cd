//! GET of a collection: its objects now, or, with `watch`, what becomes of them.

use apiwright_chain::Response;
use apiwright_meta::Status;
use apiwright_meta::fields::FieldSelector;
use apiwright_meta::status::Result;
use apiwright_registry::{Scope, Selection};

use crate::call::Call;
use crate::options::ListOptions;
use crate::server::{Flavour, Target};
use crate::{encode, negotiate, watch};

/// Lists or watches. `watches` is what the path says; the options may say so, too.
pub(crate) async fn list(call: &Call, target: Target<'_>, watches: bool) -> Result<Response> {
    let output = negotiate::output(&call.head, target.server.flavour)?;
    let options = ListOptions::read(&call.query)?;
    let selection = selection(call, target, &options)?;
    if options.watch || watches {
        return watch::watch(call, target, &options, selection).await;
    }
    let page = target.store().list(&selection, options.freshness()?, &options.paging()).await?;
    encode::list(call, target, output, page)
}

/// Which objects a collection request is about. A name, which only legacy watch paths have, must
/// agree with the field selector.
pub(crate) fn selection(call: &Call, target: Target<'_>, options: &ListOptions) -> Result<Selection> {
    let mut fields = options
        .fields
        .try_map(|field, value| known_field(target, field, value))
        .map_err(Status::bad_request)?;
    let named_by_path = call.info.parts.len() > 1;
    if named_by_path {
        if fields.is_empty() {
            fields = FieldSelector::one("metadata.name", call.info.name.as_str());
        } else if fields.exact("metadata.name") != Some(&call.info.name) {
            return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
        }
    }
    Ok(Selection {
        namespace: target.namespace(&call.info).to_owned(),
        labels: options.labels.clone(),
        fields,
    })
}

/// A field that the resource selects by, as it is. Kinds without fields of their own say which two
/// there are; kinds with some know a namespace only where they have one.
fn known_field(target: Target<'_>, field: &str, value: &str) -> Result<(String, String), String> {
    let resource = target.resource();
    let plain = resource.selectable.is_empty() && target.server.flavour == Flavour::BuiltIn;
    let known = match field {
        "metadata.name" => true,
        "metadata.namespace" => plain || resource.scope == Scope::Namespaced,
        _ => resource.selectable.iter().any(|one| &*one.name == field),
    };
    match (known, plain) {
        (true, _) => Ok((field.to_owned(), value.to_owned())),
        (false, true) => Err(format!(
            "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            apiwright_meta::field::quoted(field)
        )),
        (false, false) => Err(format!("field label not supported: {field}")),
    }
}
