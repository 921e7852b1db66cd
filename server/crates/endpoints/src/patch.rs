//! PATCH: changes an object by a patch, or applies a configuration, which may make it.

use apiwright_chain::Response;
use apiwright_chain::request::RequestBody;
use apiwright_meta::status::Result;

use crate::admit::{Admit, Options};
use crate::body;
use crate::call::Call;
use crate::change::{Change, Changing, format_of};
use crate::create::write_options;
use crate::decode::Wanted;
use crate::encode;
use crate::negotiate::{self, CUSTOM_PATCH_TYPES, PATCH_TYPES};
use crate::options::{WriteKind, WriteOptions};
use crate::ownership::Ownership;
use crate::server::{Flavour, Target};

/// Changes an object.
pub(crate) async fn patch(call: &Call, body: RequestBody, target: Target<'_>) -> Result<Response> {
    let wanted = Wanted::of(target)?;
    let patch_type = patch_type(call, target)?;
    let output = negotiate::output(&call.head, target.server.flavour)?;
    let (options, change) = read(call, body, target, patch_type).await?;

    let admit = Admit::new(call, target, Options::Write(&options));
    let mut write = write_options(call, target, &options);
    write.allow_create = matches!(change, Change::Apply { .. });
    let mut changing = Changing {
        call,
        target,
        wanted,
        change,
        validation: options.field_validation(),
        ownership: Ownership::new(target, options.manager(call.user_agent())),
        admit: &admit,
    };
    let (namespace, name) = (target.namespace(&call.info), &call.info.name);
    let written = target.store().update(&write, namespace, name, &mut changing, &admit).await?;
    call.warnings.extend(written.warnings);
    encode::object(call, target, output, if written.created { 201 } else { 200 }, &written.entry)
}

/// The type of the patch.
///
/// # Errors
/// 415.
pub(crate) fn patch_type(call: &Call, target: Target<'_>) -> Result<&'static str> {
    let known: &'static [&'static str] = match target.server.flavour {
        Flavour::BuiltIn => &PATCH_TYPES,
        Flavour::Custom => &CUSTOM_PATCH_TYPES,
    };
    negotiate::patch_type(&call.head, known)
}

/// The options and the patch itself, which is looked at once there is an object to change.
pub(crate) async fn read(
    call: &Call,
    body: RequestBody,
    target: Target<'_>,
    patch_type: &'static str,
) -> Result<(WriteOptions, Change)> {
    let body = body::read(body, target.server.shared.body_bytes_max).await?;
    if let Some(trail) = &call.trail {
        trail.request_patch(&body);
    }
    if let Some(format) = format_of(patch_type) {
        let options = WriteOptions::read(WriteKind::Patch, &call.query)?;
        return Ok((options, Change::Patch(format, body)));
    }
    let options = WriteOptions::read(WriteKind::Apply, &call.query)?;
    let force = options.forces();
    Ok((options, Change::Apply { body, force }))
}
