//! PUT: replaces an object, or makes it where its kind allows that.

use apiwright_chain::Response;
use apiwright_chain::request::RequestBody;
use apiwright_json::Value;
use apiwright_meta::status::Result;

use crate::admit::{Admit, Options};
use crate::body;
use crate::call::Call;
use crate::change::{Change, Changing};
use crate::create::write_options;
use crate::decode::{self, Body, Wanted};
use crate::encode;
use crate::identity::{check_name, check_namespace};
use crate::negotiate;
use crate::options::{WriteKind, WriteOptions};
use crate::owners::{self, Moment};
use crate::ownership::Ownership;
use crate::server::Target;

/// Replaces an object.
pub(crate) async fn update(call: &Call, body: RequestBody, target: Target<'_>) -> Result<Response> {
    let output = negotiate::output(&call.head, target.server.flavour)?;
    let wanted = Wanted::of(target)?;
    let (options, mut object) = read(call, body, target, wanted).await?;
    decode::set_defaults(target, &mut object);

    let admit = Admit::new(call, target, Options::Write(&options));
    let mut changing = Changing {
        call,
        target,
        wanted,
        change: Change::Replace(object),
        validation: options.field_validation(),
        ownership: Ownership::new(target, options.manager(call.user_agent())),
        admit: &admit,
    };
    let write = write_options(call, target, &options);
    let (namespace, name) = (target.namespace(&call.info), &call.info.name);
    let written = target.store().update(&write, namespace, name, &mut changing, &admit).await?;
    call.warnings.extend(written.warnings);
    encode::object(call, target, output, if written.created { 201 } else { 200 }, &written.entry)
}

/// The options and the object of a PUT, which must be the one that the address names.
pub(crate) async fn read(
    call: &Call,
    body: RequestBody,
    target: Target<'_>,
    wanted: Wanted<'_>,
) -> Result<(WriteOptions, Value)> {
    let bytes = body::read(body, target.server.shared.body_bytes_max).await?;
    let options = WriteOptions::read(WriteKind::Update, &call.query)?;
    let media = negotiate::input(&call.head)?;
    let body = Body { media, bytes: &bytes };
    let mut object = decode::object(wanted, body, options.field_validation(), &call.warnings)?;
    if let Some(trail) = &call.trail {
        trail.request_object(&object);
    }
    check_namespace(call, target, &mut object)?;
    check_name(call, &object)?;
    owners::dedup(&mut object, Moment::Received, &call.warnings);
    Ok((options, object))
}
