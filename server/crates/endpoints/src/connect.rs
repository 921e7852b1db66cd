//! Subresources that talk to what an object stands for: `exec`, `log`, `proxy`. Nothing stands
//! behind the objects of this server, and it says so, once admission has let the connection be made.

use apiwright_chain::Response;
use apiwright_json::{Object, Value};
use apiwright_meta::Status;
use apiwright_meta::status::{Reason, Result};
use apiwright_registry::SubresourceKind;
use apiwright_schema::{Node, Shape};

use crate::admit::{Admit, Options};
use crate::call::Call;
use crate::decode::{self, Wanted};
use crate::options::{parse_int, truth_of};
use crate::server::Target;

/// Refuses, with what is missing.
pub(crate) async fn connect(call: &Call, target: Target<'_>) -> Result<Response> {
    let wanted = Wanted::of(target)?;
    // Whoever reads a log is asked nothing.
    if *wanted.kind != *target.resource().kind {
        let mut options = options(call, wanted)?;
        Admit::new(call, target, Options::Connect).connect(&mut options).await?;
    }
    let missing = match target.subresource.map(|one| &one.does) {
        Some(SubresourceKind::Unavailable(missing)) => &**missing,
        _ => "there is nothing to connect to",
    };
    Err(Status::failure(503, Reason::ServiceUnavailable, missing))
}

/// The options of a connection as an object, `PodExecOptions` for instance, as the query has them.
fn options(call: &Call, wanted: Wanted<'_>) -> Result<Value> {
    let mut object = Object::new();
    object.push("kind", wanted.kind);
    object.push("apiVersion", wanted.api_version());
    for field in wanted.ty.fields.iter().filter(|field| !matches!(&*field.name, "kind" | "apiVersion")) {
        let value = match &*field.name {
            "path" => Some(path(call).into()),
            name => from_query(&field.node, call.query.all(name)).map_err(Status::bad_request)?,
        };
        if let Some(value) = value {
            object.push(&*field.name, value);
        }
    }
    decode::restored(wanted, Value::Object(object)).map_err(Status::bad_request)
}

/// A field's value; of several for one value the first counts.
fn from_query<'a>(node: &Node, mut values: impl Iterator<Item = &'a str>) -> Result<Option<Value>, String> {
    if let Shape::List(list) = &node.shape {
        let items = values.map(|value| scalar(&list.item.shape, value)).collect::<Result<Vec<Value>, _>>()?;
        return Ok((!items.is_empty()).then(|| items.into()));
    }
    values.next().map(|value| scalar(&node.shape, value)).transpose()
}

fn scalar(shape: &Shape, text: &str) -> Result<Value, String> {
    Ok(match shape {
        Shape::Bool => truth_of(text).into(),
        Shape::Int32 | Shape::Int64 => parse_int(text)?.into(),
        _ => text.into(),
    })
}

/// What follows the subresource in the address, with the slashes that it has there.
fn path(call: &Call) -> String {
    let rest = call.info.parts.get(3..).unwrap_or_default().join("/");
    let mut path = if rest.is_empty() || rest.starts_with('/') { rest } else { format!("/{rest}") };
    if call.info.path.ends_with('/') && !path.ends_with('/') {
        path.push('/');
    }
    path
}
