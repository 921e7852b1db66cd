//! DELETE of one object.

use apiwright_chain::request::RequestBody;
use apiwright_chain::{Response, respond};
use apiwright_meta::Status;
use apiwright_meta::status::{Details, Result};
use apiwright_registry::{self as registry, Deleted};

use crate::admit::{Admit, Options};
use crate::body;
use crate::call::Call;
use crate::encode;
use crate::negotiate;
use crate::options::DeleteOptions;
use crate::server::Target;

/// Deletes an object, or marks it.
pub(crate) async fn delete(call: &Call, body: RequestBody, target: Target<'_>) -> Result<Response> {
    let output = negotiate::output(&call.head, target.server.flavour)?;
    let options = read_options(call, body, target).await?;

    let admit = Admit::new(call, target, Options::Delete(&options));
    let write = write_options(call, target, &options);
    let (namespace, name) = (target.namespace(&call.info), &call.info.name);
    let deleted = target.store().delete(&write, namespace, name, &options.to_registry(), &admit).await?;

    match deleted {
        Deleted::Gone(entry) if target.resource().strategy.delete_returns_object => {
            encode::object(call, target, output, 200, &entry)
        }
        Deleted::Gone(entry) => {
            let named = target.resource().group_resource();
            let status = Status {
                details: Some(Box::new(Details {
                    name: name.clone(),
                    group: named.group.to_string(),
                    kind: named.resource.to_string(),
                    uid: target.store().facts(&entry).uid.to_string(),
                    ..Details::default()
                })),
                ..Status::default()
            };
            Ok(respond::status_in(output.form, 200, &status))
        }
        Deleted::Marked(entry) => {
            let code = if options.accepts() { 202 } else { 200 };
            encode::object(call, target, output, code, &entry)
        }
    }
}

/// The options: those of the body where there is one, else those of the query.
pub(crate) async fn read_options(
    call: &Call,
    body: RequestBody,
    target: Target<'_>,
) -> Result<DeleteOptions> {
    let bytes = body::read(body, target.server.shared.body_bytes_max).await?;
    let options = if bytes.is_empty() {
        DeleteOptions::from_query(&call.query)?
    } else {
        let media = negotiate::input(&call.head)?;
        DeleteOptions::from_body(media, &bytes, target.server.shared.catalogue)?
    };
    if let Some(trail) = call.trail.as_ref().filter(|_| !bytes.is_empty()) {
        trail.request_object(&options.to_value());
    }
    if options.to_registry().propagation.is_none() {
        call.warnings.extend(target.resource().hooks.deletion_warning().map(str::to_owned));
    }
    Ok(options)
}

/// What the registry needs to know of a deletion.
pub(crate) fn write_options(
    call: &Call,
    target: Target<'_>,
    options: &DeleteOptions,
) -> registry::WriteOptions {
    registry::WriteOptions {
        subresource: target.subresource_name().to_owned(),
        user: call.writer(),
        dry_run: options.is_dry_run(),
        ..registry::WriteOptions::default()
    }
}
