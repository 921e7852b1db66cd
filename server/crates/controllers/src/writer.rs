//! Writes of the server itself: the way of any request below HTTP and admission, under a name of its own.

use std::sync::Arc;

use apiwright_json::{Duplicates, Value};
use apiwright_meta::status::Result;
use apiwright_meta::{Status, time};
use apiwright_registry::store::{Check, Transform, WriteOptions};
use apiwright_registry::{DeleteOptions, Deleted, Resource, Store, Written};
use apiwright_schema::decode::{ObjectKind, Source};
use apiwright_schema::defaults::apply_defaults;
use apiwright_schema::fieldset::Filter;
use apiwright_schema::managed::{self, OneVersion};
use apiwright_storage::Entry;
use futures::future::BoxFuture;

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// The user.
    pub user: &'static str,
    /// The manager of the fields that it writes.
    pub manager: &'static str,
}

impl Writer {
    /// kube-apiserver itself.
    pub const API_SERVER: Self = Self { user: "system:apiserver", manager: "kube-apiserver" };

    /// One of kube-controller-manager's controllers, by the name of its service account's user.
    pub const fn manager(user: &'static str) -> Self {
        Self { user, manager: "kube-controller-manager" }
    }

    /// Creates an object, which is decoded and gets its defaults as a request's body does.
    ///
    /// # Errors
    /// As [`Store::create`]; 400 where it is no such object.
    pub async fn create(&self, store: &Store, namespace: &str, object: Value) -> Result<Written> {
        let resource = &*store.resource;
        let api_version = resource.api_version();
        let kind = ObjectKind { api_version: &api_version, kind: &resource.kind };
        let decoded = apiwright_schema::decode::decode(
            &resource.schema,
            kind,
            object,
            &Duplicates::default(),
            Source::Json,
        )
        .map_err(|why| Status::bad_request(why.to_string()))?;
        if !decoded.strict.is_empty() {
            return Err(Status::bad_request(decoded.strict.join(", ")));
        }
        let mut object = decoded.value;
        apply_defaults(&resource.schema, &mut object);
        resource.hooks.default(&mut object);
        self.own(resource, None, &mut object, "");
        store.create(&self.options(""), namespace, object, &Unchecked).await
    }

    /// Changes an object, or one of its subresources; called again where another writer was faster.
    /// What `change` leaves as it is is not written.
    ///
    /// # Errors
    /// As [`Store::update`], and those of `change`.
    pub async fn update(
        &self,
        store: &Store,
        (namespace, name): (&str, &str),
        subresource: &'static str,
        change: impl FnMut(&mut Value) -> Result<()> + Send,
    ) -> Result<Arc<Entry>> {
        let mut edit = Edit { writer: self, resource: &store.resource, subresource, change };
        let written =
            store.update(&self.options(subresource), namespace, name, &mut edit, &Unchecked).await?;
        Ok(written.entry)
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`Store::delete`].
    pub async fn delete(
        &self,
        store: &Store,
        (namespace, name): (&str, &str),
        options: &DeleteOptions,
    ) -> Result<Deleted> {
        store.delete(&self.options(""), namespace, name, options, &Unchecked).await
    }

    /// How this writer writes.
    pub fn options(&self, subresource: &str) -> WriteOptions {
        WriteOptions { user: self.user.into(), subresource: subresource.into(), ..WriteOptions::default() }
    }

    /// Notes who wrote what.
    pub fn own(&self, resource: &Resource, old: Option<&Value>, object: &mut Value, subresource: &str) {
        let filter = match subresource {
            "status" => Filter::without(&["spec"]),
            _ if resource.strategy.status_subresource => Filter::without(&["status"]),
            _ => Filter::All,
        };
        let request = managed::Request {
            manager: self.manager,
            api_version: &resource.api_version(),
            subresource,
            now: &time::now(),
            filter: &filter,
            versions: &OneVersion,
        };
        managed::update(&resource.schema, old, object, &request);
    }
}

struct Edit<'a, F> {
    writer: &'a Writer,
    resource: &'a Resource,
    subresource: &'static str,
    change: F,
}

impl<F: FnMut(&mut Value) -> Result<()> + Send> Transform for Edit<'_, F> {
    fn apply<'a>(&'a mut self, old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        let mut new = old.cloned().unwrap_or_default();
        let changed = (self.change)(&mut new).map(|()| {
            if old != Some(&new) {
                self.writer.own(self.resource, old, &mut new, self.subresource);
            }
            new
        });
        Box::pin(std::future::ready(changed))
    }
}

/// Admission is for requests, not for what the server does by itself.
#[derive(Debug)]
pub struct Unchecked;

impl Check for Unchecked {
    fn check<'a>(&'a self, _: Option<&'a Value>, _: Option<&'a Value>) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
