//! Writes of this server to the status of definitions.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::time;
use apiwright_registry::store::{Check, Transform, WriteOptions};
use apiwright_registry::{Resource, Store};
use apiwright_schema::fieldset::Filter;
use apiwright_schema::managed::{self, OneVersion};
use apiwright_storage::Entry;
use futures::future::BoxFuture;

/// Changes one definition through its status subresource. `change` leaves alone what is not the
/// definition it is about.
pub(crate) async fn write(
    store: &Store,
    name: &str,
    change: &(dyn Fn(&mut Value) + Send + Sync),
) -> Result<Arc<Entry>> {
    let options = WriteOptions {
        subresource: "status".into(),
        user: "system:apiserver".into(),
        ..WriteOptions::default()
    };
    let mut edit = Edit { resource: &store.resource, change };
    Ok(store.update(&options, "", name, &mut edit, &Unchecked).await?.entry)
}

struct Edit<'a> {
    resource: &'a Resource,
    change: &'a (dyn Fn(&mut Value) + Send + Sync),
}

impl Transform for Edit<'_> {
    fn apply<'a>(&'a mut self, old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        let mut new = old.cloned().unwrap_or_default();
        (self.change)(&mut new);
        let changed = old != Some(&new);
        if changed {
            let request = managed::Request {
                manager: "kube-apiserver",
                api_version: &self.resource.api_version(),
                subresource: "status",
                now: &time::now(),
                filter: &Filter::without(&["spec"]),
                versions: &OneVersion,
            };
            managed::update(&self.resource.schema, old, &mut new, &request);
        }
        Box::pin(async move { Ok(new) })
    }
}

/// Admission is for requests, not for what the server does by itself.
pub(crate) struct Unchecked;

impl Check for Unchecked {
    fn check<'a>(&'a self, _: Option<&'a Value>, _: Option<&'a Value>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}
