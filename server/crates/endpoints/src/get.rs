//! GET of one object.

use apiwright_chain::Response;
use apiwright_meta::status::Result;

use crate::call::Call;
use crate::encode;
use crate::negotiate;
use crate::options::GetOptions;
use crate::server::Target;

/// Shows an object; subresources that are part of it show all of it.
pub(crate) async fn get(call: &Call, target: Target<'_>) -> Result<Response> {
    let output = negotiate::output(&call.head, target.server.flavour)?;
    let options = GetOptions::read(&call.query)?;
    let entry = target.store().get(target.namespace(&call.info), &call.info.name, options.freshness).await?;
    encode::object(call, target, output, 200, &entry)
}
