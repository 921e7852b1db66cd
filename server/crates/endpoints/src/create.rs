//! POST: makes an object, or does what an action does.

use apiwright_chain::request::RequestBody;
use apiwright_chain::{Response, respond};
use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry as registry;
use apiwright_schema::defaults::apply_defaults;

use crate::act::{Acting, Answer};
use crate::admit::{Admit, Options};
use crate::body;
use crate::call::Call;
use crate::decode::{self, Body, Wanted};
use crate::identity::{check_namespace, wipe_system_fields};
use crate::negotiate::{self, Output};
use crate::options::{WriteKind, WriteOptions};
use crate::owners::{self, Moment};
use crate::ownership::Ownership;
use crate::server::Target;
use crate::{act, encode};

/// Makes an object.
pub(crate) async fn create(call: &Call, body: RequestBody, target: Target<'_>) -> Result<Response> {
    let negotiate_output =
        if target.action().is_some() { negotiate::tableless_output } else { negotiate::output };
    let output = negotiate_output(&call.head, target.server.flavour)?;
    let media = negotiate::input(&call.head)?;
    let bytes = body::read(body, target.server.shared.body_bytes_max).await?;
    let options = WriteOptions::read(WriteKind::Create, &call.query)?;

    let wanted = Wanted::of(target)?;
    let body = Body { media, bytes: &bytes };
    let mut object = decode::object(wanted, body, options.field_validation(), &call.warnings)?;
    if let Some(trail) = &call.trail {
        trail.request_object(&object);
    }
    wipe_system_fields(&mut object);
    check_namespace(call, target, &mut object)?;
    owners::dedup(&mut object, Moment::Received, &call.warnings);

    if let Some(action) = target.action() {
        // The body is of another type than the resource; hooks are for the resource's objects.
        apply_defaults(wanted.ty, &mut object);
        Ownership::new(target, options.manager(call.user_agent())).update(wanted, None, &mut object);
        return perform(call, target, output, &options, action.as_ref(), object).await;
    }
    if target.subresource.is_some() || target.resource().storage.prefix.is_empty() {
        return Err(unknown_action(target));
    }
    decode::set_defaults(target, &mut object);

    let admit = Admit::new(call, target, Options::Write(&options));
    let ownership = Ownership::new(target, options.manager(call.user_agent()));
    ownership.update(wanted, None, &mut object);
    admit.mutate(&mut object, None).await?;
    owners::dedup(&mut object, Moment::Mutated, &call.warnings);

    let write = write_options(call, target, &options);
    let written = target.store().create(&write, target.namespace(&call.info), object, &admit).await?;
    call.warnings.extend(written.warnings);
    encode::object(call, target, output, 201, &written.entry)
}

/// What the registry needs to know of a write.
pub(crate) fn write_options(
    call: &Call,
    target: Target<'_>,
    options: &WriteOptions,
) -> registry::WriteOptions {
    registry::WriteOptions {
        subresource: target.subresource_name().to_owned(),
        user: call.writer(),
        dry_run: options.is_dry_run(),
        notes: call.notes.clone(),
        ..registry::WriteOptions::default()
    }
}

/// Does what an action does, and answers with what comes of it.
async fn perform(
    call: &Call,
    target: Target<'_>,
    output: Output,
    options: &WriteOptions,
    action: &dyn act::Act,
    mut object: Value,
) -> Result<Response> {
    let admit = Admit::new(call, target, Options::Write(options));
    admit.mutate(&mut object, None).await?;
    let acting = Acting {
        call,
        server: target.server,
        namespace: target.namespace(&call.info),
        name: &call.info.name,
        object,
        dry_run: options.is_dry_run(),
        check: &admit,
    };
    match action.act(acting).await? {
        Answer::Object(object) => encode::value(call, target, output, 201, &object),
        Answer::Done => {
            let status = Status { code: 201, ..Status::default() };
            Ok(respond::status_in(output.form, 201, &status))
        }
        Answer::Status(status) => Ok(respond::status_in(output.form, 201, &status)),
    }
}

fn unknown_action(target: Target<'_>) -> Box<Status> {
    let resource = target.resource().group_resource();
    let named = match target.subresource_name() {
        "" => resource.to_string(),
        subresource => format!("{resource}/{subresource}"),
    };
    let message = format!("this server does not implement this resource: {named}");
    Box::new(Status { code: 501, message, ..Status::default() })
}
