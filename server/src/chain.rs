//! The table of contents: the whole chain, outermost first, as `api-specs/chain.yaml` declares it.
//!
//! A request comes from the filters and goes down: aggregator, kube, apiextensions, not-found.
//! Each link serves the groups that it owns over the same machinery and hands on the rest.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apiwright_admission::{Admission, Objects, Permits, Plugin, Tolerations};
use apiwright_aggregator::{Aggregator, Registration, Routes};
use apiwright_apiextensions::{ApiExtensions, Controller, CustomResources};
use apiwright_chain::pages::{Index, NotFound};
use apiwright_chain::server::Assembling;
use apiwright_chain::spec::{ChainSpec, ServerKind};
use apiwright_chain::{Authorizer, Delegate, Drain, Link, Pages, Server};
use apiwright_discovery::{Content, Discovery, DiscoveryHandler, Freshness, Source};
use apiwright_endpoints::{Act, GroupServer, ResourceServer, Shared};
use apiwright_openapi::{OpenApi, OpenApiHandler};
use apiwright_policy::AdmissionPolicies;
use apiwright_registry::catalogue::{Catalogue, Version};
use apiwright_registry::typed::Types;
use apiwright_registry::{Reserve, Resource, Store};
use apiwright_remote::{Backends, Identity, Resolver};
use apiwright_schema::table::{Plan, Unknown};
use apiwright_schema::{Ref, Struct};
use apiwright_storage::Storage;
use apiwright_webhook::{AdmissionWebhooks, Clients};

use crate::admin_access::AdminAccess;
use crate::components::Components;
use crate::permits::AuthorizerPermits;
use crate::resolver::ServiceResolver;

/// The longest request body, as kube-apiserver has it.
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// The acts of a resource (the empty name) and its subresources, by group and plural.
pub type ActsOf = Box<dyn Fn(&str, &str) -> Vec<(&'static str, Arc<dyn Act>)>>;

/// Who reserves what objects need outside of themselves, by group and plural.
pub type ReserveOf = Box<dyn Fn(&str, &str) -> Option<Arc<dyn Reserve>>>;

/// What the chain is assembled from.
pub struct Parts {
    /// What is compiled in.
    pub catalogue: &'static Catalogue,
    /// The links, the order of admission.
    pub chain: &'static ChainSpec,
    /// What POST does besides storing, by group and plural.
    pub acts: ActsOf,
    /// Who gives services their addresses.
    pub reserves: ReserveOf,
    /// Where objects are.
    pub storage: Arc<dyn Storage>,
    /// Who may create by PUT or apply.
    pub authorizer: Arc<dyn Authorizer>,
    /// Ends watches when the server drains.
    pub drain: Drain,
    /// Whether a group version is served, given whether it is by default: `--runtime-config`.
    pub serves: Box<dyn Fn(&Version) -> bool>,
    /// Plugins that nobody can switch off; they run last.
    pub checks: Vec<Arc<dyn Plugin>>,
    /// `--enable-admission-plugins`.
    pub enable_admission_plugins: Vec<String>,
    /// `--disable-admission-plugins`.
    pub disable_admission_plugins: Vec<String>,
    /// `--default-not-ready-toleration-seconds` and its twin.
    pub tolerations: Tolerations,
    /// `--event-ttl`: when what expires at all (events) does.
    pub event_ttl: Duration,
    /// `--min-request-timeout`: the shortest time after which a watch ends by itself.
    pub watch_timeout_min: Duration,
    /// Where clients reach this server, `host:port`.
    pub address: String,
    /// What every server answers besides: health, version, metrics.
    pub pages: Vec<Arc<dyn Pages>>,
    /// How servers outside are called.
    pub outside: Outside,
}

/// How servers outside are called.
#[derive(Default)]
pub struct Outside {
    /// What aggregated API servers are shown.
    pub identity: Option<Arc<Identity>>,
    /// `--enable-aggregator-routing`: whether they are called where they are instead of at their Service.
    pub to_endpoints: bool,
    /// Where this server is, for those who call the Service `kubernetes`.
    pub own: Option<SocketAddr>,
    /// Whether controllers run in this process, so that no other has to be asked how they are.
    pub is_manager: bool,
}

/// The chain, and what it is made of, for those who look behind it.
pub struct Assembled {
    /// The links.
    pub server: Server<Assembling>,
    /// The stores of all that is served.
    pub stores: Stores,
    /// What is told of it.
    pub discovery: Arc<Discovery>,
    /// How objects look.
    pub openapi: Arc<OpenApi>,
    /// Who is asked besides, as webhook configurations have it.
    pub webhooks: AdmissionWebhooks,
    /// What is asked besides, as policies have it.
    pub policies: AdmissionPolicies,
    /// All who are asked.
    pub admission: Arc<Admission>,
    /// What is served besides, as definitions have it.
    pub custom: Arc<CustomResources>,
    /// What is told of APIServices.
    pub registration: Arc<Registration>,
    /// The group versions that are served, with the priorities of their groups.
    pub served: Vec<(&'static Version, i32)>,
}

impl Assembled {
    /// Who keeps the custom resources; `None` where definitions are not served.
    pub fn definitions(&self) -> Option<Controller> {
        let store = self.stores.get("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
        Some(Controller::new(Arc::clone(&self.custom), store))
    }
}

/// The stores of all that is served, by group, version and plural.
#[derive(Clone, Default)]
pub struct Stores(HashMap<(String, String, String), Arc<Store>>);

impl Stores {
    /// The store of a resource.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Store>> {
        self.0.get(&(group.to_owned(), version.to_owned(), plural.to_owned())).cloned()
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Store>> {
        self.0.values()
    }
}

/// Assembles the chain.
///
/// # Errors
/// Where the admission flags name what there is not.
pub fn assemble(parts: Parts) -> Result<Assembled, String> {
    let (catalogue, chain) = (parts.catalogue, parts.chain);
    let versions: Vec<(&'static Version, Vec<Arc<Resource>>)> = all_versions(catalogue)
        .filter(|version| (parts.serves)(version))
        .map(|version| (version, resources(version, parts.event_ttl)))
        .collect();
    let stores = stores(catalogue, &versions, &parts);
    let resolver: Arc<dyn Resolver> =
        Arc::new(ServiceResolver::new(&stores, parts.outside.to_endpoints, parts.outside.own));
    let clients = Clients::new(Arc::new(Backends::new(Arc::clone(&resolver), None)));
    let webhooks = AdmissionWebhooks::new(&clients);
    let policies = AdmissionPolicies::new();
    let admission = Arc::new(admission(&stores, &webhooks, &policies, &parts)?);
    let shared = Arc::new(Shared {
        admission: Arc::clone(&admission),
        authorizer: parts.authorizer,
        drain: parts.drain,
        watch_timeout_min: parts.watch_timeout_min,
        body_bytes_max: BODY_BYTES_MAX,
        catalogue,
    });

    let discovery = Arc::new(Discovery::default());
    let types = types(catalogue);
    let openapi = Arc::new(OpenApi::new(Arc::clone(&types)));
    for (version, resources) in &versions {
        discovery.set(source(catalogue, version, resources));
        openapi.set(&version.group, &version.name, resources.clone());
    }
    let registration = Arc::new(Registration::new(
        Arc::new(Routes::new(resolver, parts.outside.identity)),
        Arc::clone(&discovery),
        Arc::clone(&openapi),
        Arc::clone(&types),
    ));
    let mut pages = parts.pages;
    pages.push(Arc::new(DiscoveryHandler::new(Arc::clone(&discovery), types, parts.address)));
    pages.push(Arc::new(OpenApiHandler::new(Arc::clone(&openapi))));
    pages.push(Arc::new(Index::of(pages.clone())));

    let custom = Arc::new(CustomResources::new(
        Arc::clone(&parts.storage),
        Arc::clone(&shared),
        Arc::clone(&discovery),
        Arc::clone(&openapi),
        clients,
    ));
    let links = chain.servers.iter().map(|spec| {
        let owned = versions.iter().filter(|(version, _)| chain.owner(&version.group) == Some(spec.kind));
        let own = groups(owned, &stores, &shared, &parts.acts);
        link(spec.kind, own, &pages, &registration, &custom)
    });
    let server = Server::assemble(links);
    let served = versions.iter().map(|(version, _)| (*version, group_priority(catalogue, version))).collect();
    Ok(Assembled {
        server,
        stores,
        discovery,
        openapi,
        webhooks,
        policies,
        admission,
        custom,
        registration,
        served,
    })
}

/// One link, as its kind of server is made.
fn link(
    kind: ServerKind,
    own: GroupServer,
    pages: &[Arc<dyn Pages>],
    registration: &Arc<Registration>,
    custom: &Arc<CustomResources>,
) -> Link {
    let next = |next: Option<Arc<dyn Delegate>>| next.unwrap_or_else(|| Arc::new(NotFound));
    let pages = pages.to_vec();
    match kind {
        ServerKind::Aggregator => {
            let registration = Arc::clone(registration);
            Link::new("aggregator", move |after| {
                Arc::new(Aggregator::new(own, pages, registration, next(after)))
            })
        }
        ServerKind::Kube => Link::new("kube", move |after| Arc::new(own.link(after))),
        ServerKind::ApiExtensions => {
            let custom = Arc::clone(custom);
            Link::new("apiextensions", move |after| Arc::new(ApiExtensions::new(own, custom, next(after))))
        }
        ServerKind::NotFound => Link::new("not-found", |_| Arc::new(NotFound)),
    }
}

/// The server of the groups that a link owns.
fn groups<'a>(
    versions: impl Iterator<Item = &'a (&'static Version, Vec<Arc<Resource>>)>,
    stores: &Stores,
    shared: &Arc<Shared>,
    acts: &ActsOf,
) -> GroupServer {
    let mut server = GroupServer::default();
    for (version, resources) in versions {
        for resource in resources {
            if let Some(store) = stores.get(&version.group, &version.name, &resource.plural) {
                let server_of_it = ResourceServer::new(store, Arc::clone(shared));
                let acts = acts(&version.group, &resource.plural).into_iter();
                server.install(acts.fold(server_of_it, |server, (name, act)| server.with_action(name, act)));
            }
        }
    }
    server
}

/// The resources of a version, with the time to live that the operator wants.
fn resources(version: &Version, event_ttl: Duration) -> Vec<Arc<Resource>> {
    let mut resources = version.shared();
    for resource in resources.iter_mut().filter(|one| one.storage.ttl_seconds > 0) {
        let seconds = u32::try_from(event_ttl.as_secs()).unwrap_or(u32::MAX);
        Arc::make_mut(resource).storage.ttl_seconds = seconds;
    }
    resources
}

fn stores(
    catalogue: &'static Catalogue,
    versions: &[(&'static Version, Vec<Arc<Resource>>)],
    parts: &Parts,
) -> Stores {
    let all =
        versions.iter().flat_map(|(version, resources)| resources.iter().map(move |one| (version, one)));
    Stores(
        all.map(|(version, resource)| {
            let key = (version.group.to_string(), version.name.to_string(), resource.plural.to_string());
            let stored = &resource.storage.kind;
            let mut storage = Arc::clone(&parts.storage);
            if version.group.is_empty() && &*resource.plural == "componentstatuses" {
                storage = Arc::new(Components::new(storage, parts.outside.is_manager));
            }
            let store = Store::new(Arc::clone(resource), storage);
            let store = match catalogue.kind(&stored.group, &stored.version, &stored.kind) {
                Some(kind) => store.stored_as(Ref::Static(kind.schema)),
                None => store,
            };
            let store = match (parts.reserves)(&version.group, &resource.plural) {
                Some(reserve) => store.with_reserve(reserve),
                None => store,
            };
            (key, Arc::new(store))
        })
        .collect(),
    )
}

fn admission(
    stores: &Stores,
    webhooks: &AdmissionWebhooks,
    policies: &AdmissionPolicies,
    parts: &Parts,
) -> Result<Admission, String> {
    let objects = Objects::new(
        stores.0.values().map(|store| Store::new(Arc::clone(&store.resource), Arc::clone(&store.storage))),
    );
    let permits: Arc<dyn Permits> = Arc::new(AuthorizerPermits(Arc::clone(&parts.authorizer)));
    let built_in = apiwright_admission::built_in(&objects, &permits, parts.tolerations);
    Admission::choose(
        built_in
            .into_iter()
            .chain(webhooks.plugins(&objects, &parts.authorizer))
            .chain(policies.plugins(&objects, &parts.authorizer)),
        parts.chain.admission.iter().map(|plugin| (plugin.name, plugin.default)),
        &parts.enable_admission_plugins,
        &parts.disable_admission_plugins,
    )
    .map(|admission| admission.and(Arc::new(AdminAccess::new(objects.clone()))))
    .map(|admission| parts.checks.iter().cloned().fold(admission, Admission::and))
    .map_err(|why| why.to_string())
}

fn source(catalogue: &Catalogue, version: &Version, resources: &[Arc<Resource>]) -> Source {
    Source {
        group: version.group.to_string(),
        version: version.name.to_string(),
        group_priority: group_priority(catalogue, version),
        version_priority: version.priority,
        content: Content::Here(resources.to_vec()),
        freshness: Freshness::Current,
    }
}

fn group_priority(catalogue: &Catalogue, version: &Version) -> i32 {
    let group = catalogue.groups.iter().find(|group| *group.name == *version.group);
    group.map(|group| group.priority).unwrap_or_default()
}

fn all_versions(catalogue: &'static Catalogue) -> impl Iterator<Item = &'static Version> {
    catalogue.groups.iter().flat_map(|group| group.versions.iter())
}

/// Finds the compiled-in types by name.
pub fn types(catalogue: &'static Catalogue) -> Types {
    Arc::new(move |name| catalogue.definition(name).map(Ref::Static).or_else(|| value(catalogue, name)))
}

/// A value that no table has, with what it means.
fn value(catalogue: &'static Catalogue, name: &str) -> Option<Ref<Struct>> {
    let (name, doc) = catalogue.values.iter().find(|(known, _)| **known == *name)?;
    Some(Ref::Shared(Arc::new(Struct {
        name: name.clone(),
        doc: doc.clone(),
        fields: Ref::Static(&[]),
        by_name: Ref::Static(&[]),
        unknown: Unknown::Drop,
        atomic: false,
        unions: Ref::Static(&[]),
        plan: Plan::default(),
    })))
}
