//! `metadata.managedFields` of a write: which fields may be owned through what is written.

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{Status, time};
use apiwright_registry::{Resource, SubresourceKind, convert};
use apiwright_schema::apply::{self, Apply};
use apiwright_schema::fieldset::Filter;
use apiwright_schema::managed::{self, Request, Versions};
use apiwright_schema::{Ref, Struct, decode, prune};
use futures::future::BoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

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
    pub(crate) fn update(&self, wanted: Wanted<'_>, live: Option<&Value>, new: &mut Value) {
        let api_version = wanted.api_version();
        let request = Request { api_version: &api_version, ..self.request() };
        managed::update(wanted.ty, live, new, &request);
    }

    /// What `live` becomes when a configuration is applied to it. `finish` brings the merged object
    /// into normal form.
    ///
    /// # Errors
    /// 409 where others own its fields, 500 where it does not fit the type, 400 where it is no object.
    pub(crate) fn apply(
        &self,
        wanted: Wanted<'_>,
        live: Option<&Value>,
        config: &Value,
        force: bool,
        finish: &dyn Fn(Value) -> Result<Value, String>,
    ) -> Result<Value> {
        let api_version = wanted.api_version();
        let request = Request { api_version: &api_version, ..self.request() };
        apply::apply(wanted.ty, live, config, &Apply { request, kind: wanted.kind, force, finish })
    }

    fn request(&self) -> Request<'_> {
        Request {
            manager: &self.manager,
            api_version: &self.target.server.api_version,
            subresource: self.target.subresource_name(),
            now: &self.now,
            filter: &self.filter,
            versions: self,
        }
    }
}

/// A Scale has one version; its object has those that are served.
impl Versions for Ownership<'_> {
    fn ty(&self, api_version: &str) -> Option<Ref<Struct>> {
        self.sibling(api_version).map(|sibling| sibling.schema.clone())
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value> {
        let from = apiwright_meta::object::api_version(object);
        let (Some(from), Some(to)) = (self.version(from), self.version(api_version)) else {
            return Ok(object.clone());
        };
        let mut converted = match &self.target.server.conversion {
            Some(conversion) => wait_for(conversion.convert(object.clone(), to))?,
            None => convert(object.clone(), from, to)?,
        };
        if to.is_custom() {
            prune::sort(&mut converted);
        } else {
            decode::arrange(&to.schema, &mut converted);
        }
        Ok(converted)
    }
}

/// What somebody else converts is waited for where it is needed, amidst a merge: it is rare that an
/// object's fields were written in several versions. Other requests go on meanwhile.
fn wait_for(converted: BoxFuture<'_, Result<Value>>) -> Result<Value> {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            block_in_place(|| handle.block_on(converted))
        }
        _ => Err(Status::internal("nobody can wait for a conversion here")),
    }
}

impl Ownership<'_> {
    fn version(&self, api_version: &str) -> Option<&Resource> {
        if api_version == self.target.server.api_version {
            return Some(self.target.resource());
        }
        self.sibling(api_version)
    }

    fn sibling(&self, api_version: &str) -> Option<&Resource> {
        let siblings = self.target.server.siblings.iter().map(AsRef::as_ref);
        siblings.into_iter().find(|one: &&Resource| one.api_version() == api_version)
    }
}

impl std::fmt::Debug for Ownership<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ownership").field("manager", &self.manager).finish_non_exhaustive()
    }
}

/// Writes to a resource cannot own what its status subresource writes, and the other way round.
fn filter(target: Target<'_>) -> Filter {
    let resource = target.resource();
    match target.subresource.map(|one| &one.does) {
        Some(SubresourceKind::Status) => {
            let kept = all_but_status(resource).into_iter().map(|name| vec![name]);
            let also = resource.strategy.unowned_by_status.iter().map(|path| path.split('.').collect());
            Filter::without_paths(kept.chain(also))
        }
        None => {
            let status = resource.strategy.status_subresource.then(|| vec!["status"]);
            let also = resource.strategy.unowned.iter().map(|path| path.split('.').collect());
            Filter::without_paths(status.into_iter().chain(also))
        }
        _ => Filter::All,
    }
}

fn all_but_status(resource: &Resource) -> Vec<&str> {
    let names = resource.schema.fields.iter().map(|field| &*field.name);
    names.filter(|name| !matches!(*name, "status" | "metadata" | "kind" | "apiVersion")).collect()
}
