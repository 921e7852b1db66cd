//! Who answers for which group versions and resources.
//!
//! A [`GroupServer`] knows its group versions: what is not one of them goes to the next link of the
//! chain, what is unknown inside them is a 404 of its own. A [`ResourceServer`] takes one request
//! from its route to its answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apiwright_admission::Admission;
use apiwright_chain::request::RequestBody;
use apiwright_chain::{Authorized, Authorizer, Delegate, Drain, Request, RequestInfo, Response, respond};
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::{Catalogue, Resource, Scope, Store, Subresource, SubresourceKind};
use futures::future::BoxFuture;

use crate::act::Act;
use crate::call::Call;
use crate::forms::Convert;
use crate::route::{self, Action, Route};
use crate::{connect, create, delete, delete_collection, get, list, negotiate, patch, scale, update};

/// Where a resource comes from: the two differ in routes, formats and texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Compiled in.
    BuiltIn,
    /// Defined at run time.
    Custom,
}

/// What the handlers of a server share.
pub struct Shared {
    /// Admission plugins and webhooks.
    pub admission: Arc<Admission>,
    /// Who may create by PUT or apply.
    pub authorizer: Arc<dyn Authorizer>,
    /// Ends watches when the server drains.
    pub drain: Drain,
    /// The shortest time after which a watch without a timeout ends; each ends within twice that.
    pub watch_timeout_min: Duration,
    /// The longest body that is read.
    pub body_bytes_max: usize,
    /// What is compiled in: the types of subresources, and which kinds there are.
    pub catalogue: &'static Catalogue,
}

/// Serves one resource of one version.
pub struct ResourceServer {
    pub(crate) store: Arc<Store>,
    pub(crate) flavour: Flavour,
    pub(crate) api_version: String,
    pub(crate) shared: Arc<Shared>,
    /// The kind's other served versions: owners of fields may have written in them.
    pub(crate) siblings: Vec<Arc<Resource>>,
    /// Who converts between versions, where it is not us.
    pub(crate) conversion: Option<Arc<dyn Convert>>,
    actions: BTreeMap<&'static str, Arc<dyn Act>>,
}

/// What a request is about: a resource, or one of its subresources.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) server: &'a ResourceServer,
    pub(crate) subresource: Option<&'a Subresource>,
}

impl ResourceServer {
    /// Serves what a store holds.
    pub fn new(store: Arc<Store>, shared: Arc<Shared>) -> Self {
        let flavour = if store.resource.is_custom() { Flavour::Custom } else { Flavour::BuiltIn };
        let api_version = store.resource.api_version();
        let siblings = match flavour {
            Flavour::Custom => Vec::new(),
            Flavour::BuiltIn => shared.catalogue.siblings(&store.resource),
        };
        Self { store, flavour, api_version, shared, siblings, conversion: None, actions: BTreeMap::new() }
    }

    /// Says which other versions of a custom resource are served.
    #[must_use]
    pub fn with_siblings(mut self, siblings: Vec<Arc<Resource>>) -> Self {
        self.siblings = siblings;
        self
    }

    /// Says who converts between the versions.
    #[must_use]
    pub fn with_conversion(mut self, conversion: Arc<dyn Convert>) -> Self {
        self.conversion = Some(conversion);
        self
    }

    /// Adds what happens on POST to a subresource, or with an empty name to the resource itself.
    #[must_use]
    pub fn with_action(mut self, subresource: &'static str, act: Arc<dyn Act>) -> Self {
        self.actions.insert(subresource, act);
        self
    }

    /// What is served.
    pub fn resource(&self) -> &Resource {
        &self.store.resource
    }

    /// Where its objects are.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Whether a custom resource is to be found at this address: other scopes are other paths.
    pub fn owns(&self, info: &RequestInfo) -> bool {
        self.flavour == Flavour::BuiltIn || route::custom_in_scope(self.resource(), info)
    }

    /// The answer to a request for this resource.
    pub async fn serve(&self, request: Authorized<Request>) -> Response {
        let (call, body) = Call::of(request.into_inner());
        let mut response = match self.dispatch(&call, body).await {
            Ok(response) => response,
            Err(status) => respond::failure(&call.head, &status),
        };
        call.warnings.extend(call.notes.take());
        call.warnings.put_on(&mut response);
        response
    }

    async fn dispatch(&self, call: &Call, body: RequestBody) -> Result<Response> {
        let Route { action, subresource } = self.route(call)?;
        call.warnings.extend(self.resource().hooks.deprecation());
        let target = Target { server: self, subresource };
        if let Some(SubresourceKind::Scale { .. }) = subresource.map(|one| &one.does) {
            return scale::serve(call, body, target, action).await;
        }
        let handled: BoxFuture<'_, Result<Response>> = match action {
            Action::Get => Box::pin(get::get(call, target)),
            Action::List => Box::pin(list::list(call, target, false)),
            Action::Watch => Box::pin(list::list(call, target, true)),
            Action::Create => Box::pin(create::create(call, body, target)),
            Action::Update => Box::pin(update::update(call, body, target)),
            Action::Patch => Box::pin(patch::patch(call, body, target)),
            Action::Delete => Box::pin(delete::delete(call, body, target)),
            Action::DeleteCollection => Box::pin(delete_collection::delete_collection(call, body, target)),
            Action::Connect => Box::pin(connect::connect(call, target)),
        };
        handled.await
    }

    fn route(&self, call: &Call) -> Result<Route<'_>> {
        match self.flavour {
            Flavour::Custom => route::custom(self.resource(), &call.info),
            Flavour::BuiltIn => {
                let route = route::built_in(self.resource(), &call.head.method, &call.info)?;
                let streams = matches!(route.action, Action::List | Action::Watch);
                if route.action != Action::Connect {
                    negotiate::check_route(&call.head, streams)?;
                }
                Ok(route)
            }
        }
    }
}

impl<'a> Target<'a> {
    /// The resource.
    pub(crate) fn resource(self) -> &'a Resource {
        self.server.resource()
    }

    /// The store.
    pub(crate) fn store(self) -> &'a Arc<Store> {
        &self.server.store
    }

    /// The subresource's name, empty for the object itself.
    pub(crate) fn subresource_name(self) -> &'a str {
        self.subresource.map(|one| &*one.name).unwrap_or_default()
    }

    /// What happens on POST besides storing.
    pub(crate) fn action(self) -> Option<&'a Arc<dyn Act>> {
        self.server.actions.get(self.subresource_name())
    }

    /// The namespace of the objects that a request is about: cluster-scoped ones have none, even
    /// where the address has (a namespace is in itself there).
    pub(crate) fn namespace(self, info: &RequestInfo) -> &str {
        match self.resource().scope {
            Scope::Namespaced => &info.namespace,
            Scope::Cluster => "",
        }
    }
}

/// Serves the resources of some group versions.
#[derive(Default)]
pub struct GroupServer {
    groups: BTreeMap<String, BTreeMap<String, BTreeMap<String, Arc<ResourceServer>>>>,
}

impl GroupServer {
    /// Serves a resource, and with it its group version.
    pub fn install(&mut self, server: ResourceServer) {
        let resource = server.resource();
        let names = (resource.group.to_string(), resource.version.to_string(), resource.plural.to_string());
        self.groups.entry(names.0).or_default().entry(names.1).or_default().insert(names.2, Arc::new(server));
    }

    /// Whether an address lies in one of the groups, whatever it names there.
    pub fn owns(&self, info: &RequestInfo) -> bool {
        let mut parts = info.path.strip_prefix('/').unwrap_or_default().split('/');
        match (parts.next(), parts.next()) {
            (Some("api"), Some(_)) => self.groups.contains_key(""),
            (Some("apis"), Some(group)) => !group.is_empty() && self.groups.contains_key(group),
            _ => false,
        }
    }

    /// The server of a resource.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<ResourceServer>> {
        self.groups.get(group)?.get(version)?.get(plural)
    }

    /// The servers of all resources.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<ResourceServer>> {
        self.groups.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }

    /// The answer to a request that [`GroupServer::owns`].
    pub async fn serve(&self, request: Authorized<Request>) -> Response {
        match self.version(&request.info).and_then(|resources| resources.get(&request.info.resource)) {
            Some(server) => server.serve(request).await,
            None => respond::failure(&request.head, &Status::no_such_resource()),
        }
    }

    /// This server as a link of the chain: `next` gets what it does not own.
    pub fn link(self, next: Option<Arc<dyn Delegate>>) -> GroupLink {
        GroupLink { server: self, next }
    }

    fn version(&self, info: &RequestInfo) -> Option<&BTreeMap<String, Arc<ResourceServer>>> {
        let prefix = if info.group.is_empty() { "api" } else { "apis" };
        (info.prefix == prefix).then(|| self.groups.get(&info.group)?.get(&info.version)).flatten()
    }
}

/// A [`GroupServer`] in the chain.
pub struct GroupLink {
    server: GroupServer,
    next: Option<Arc<dyn Delegate>>,
}

impl GroupLink {
    /// The server.
    pub fn server(&self) -> &GroupServer {
        &self.server
    }
}

impl Delegate for GroupLink {
    fn serve(&self, request: Authorized<Request>) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            match &self.next {
                _ if self.server.owns(&request.info) => self.server.serve(request).await,
                Some(next) => next.serve(request).await,
                None => respond::page_not_found(),
            }
        })
    }
}
