//! DELETE of a collection: what is selected goes, one object after the other.

use apiwright_chain::Response;
use apiwright_chain::request::RequestBody;
use apiwright_meta::status::Result;

use crate::admit::{Admit, Options};
use crate::call::Call;
use crate::delete::{read_options, write_options};
use crate::list::selection;
use crate::options::ListOptions;
use crate::server::Target;
use crate::{encode, negotiate};

/// Deletes a collection, and answers with it as it was.
pub(crate) async fn delete_collection(
    call: &Call,
    body: RequestBody,
    target: Target<'_>,
) -> Result<Response> {
    let output = negotiate::output(&call.head, target.server.flavour)?;
    let list = ListOptions::read(&call.query)?;
    let selection = selection(call, target, &list)?;
    let options = read_options(call, body, target).await?;

    let admit = Admit::new(call, target, Options::Delete(&options));
    let write = write_options(call, target, &options);
    let page = target
        .store()
        .delete_collection(
            &write,
            &selection,
            list.freshness()?,
            &list.paging(),
            &options.to_registry(),
            &admit,
        )
        .await?;
    encode::list(call, target, output, page)
}
