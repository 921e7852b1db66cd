//! `metadata.managedFields` of a write: which fields may be owned through what is written.

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::time;
use apiwright_registry::{Resource, SubresourceKind};
use apiwright_schema::Struct;
use apiwright_schema::fieldset::Filter;
use apiwright_schema::managed::{self, OneVersion, Request};

use crate::decode::Wanted;
use crate::server::Target;

/// Who writes, and when.
pub(crate) struct Ownership<'a> {
    target: Target<'a>,
    manager: String,
    now: String,
    filter: Filter,
}

impl<'a> Ownership<'a> {
    /// For one request.
    pub(crate) fn new(target: Target<'a>, manager: String) -> Self {
        Self { target, manager, now: time::now(), filter: filter(target) }
    }

    /// Records what `new` changes of `live`, or all of it where it is created.
    pub(crate) fn update(&self, ty: &Struct, live: Option<&Value>, new: &mut Value) {
        managed::update(ty, live, new, &self.request());
    }

    /// What `live` becomes when a configuration is applied to it.
    ///
    /// # Errors
    /// 409 where others own its fields, 500 where it does not fit the type, 400 where it is no object.
    pub(crate) fn apply(
        &self,
        wanted: Wanted<'_>,
        live: Option<&Value>,
        config: Value,
        force: bool,
    ) -> Result<Value> {
        let _ = (wanted, live, config, force, self.request());
        Err(apiwright_meta::Status::internal("apply is not there yet"))
    }

    /// What the schema's apply and update need to know.
    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            manager: &self.manager,
            api_version: &self.target.server.api_version,
            subresource: self.target.subresource_name(),
            now: &self.now,
            filter: &self.filter,
            versions: &OneVersion,
        }
    }
}

/// Writes to a resource cannot own what its status subresource writes, and the other way round.
fn filter(target: Target<'_>) -> Filter {
    let resource = target.resource();
    match target.subresource.map(|one| &one.does) {
        Some(SubresourceKind::Status) => Filter::without(&all_but_status(resource)),
        None if resource.strategy.status_subresource => Filter::without(&["status"]),
        _ => Filter::All,
    }
}

fn all_but_status(resource: &Resource) -> Vec<&str> {
    let names = resource.schema.fields.iter().map(|field| &*field.name);
    names.filter(|name| !matches!(*name, "status" | "metadata" | "kind" | "apiVersion")).collect()
}
