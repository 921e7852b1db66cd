//! The server's life: open, listen, start, serve, drain, close.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use apiwright_admission::Tolerations;
use apiwright_auth::rbac::Escalation;
use apiwright_auth::{Authorization, NodeAuthorizer, Rbac, follow};
use apiwright_chain::spec::Stage;
use apiwright_chain::{Authorizer, Drain, Drainer, drain};
use apiwright_filters::{Flows, Metrics, Stack};
use apiwright_meta::Status;
use apiwright_storage::Storage;
use apiwright_transport::Listener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info, warn};

use crate::acts::Acts;
use crate::bootstrap::{self, Placeholders};
use crate::chain::{self, Outside, Parts, Stores};
use crate::config::{Config, Told};
use crate::controllers::page::ControllersPage;
use crate::controllers::{
    self,
    aggregation::{Desired, Figures, Unavailable},
    kubernetes_endpoints::{Membership, Rule},
};
use crate::encryption;
use crate::flags::{EndpointReconciler, StorageEngine};
use crate::generated::{BOOTSTRAP, CHAIN, catalogue};
use crate::identity;
use crate::issuer::IssuerPages;
use crate::kubeconfig;
use crate::pki::Pki;
use crate::probes::{self, Progress};
use crate::requester::CertificateRequester;
use crate::resources::AllResources;
use crate::services::{Ranges, Services};
use crate::snapshot::SnapshotPage;
use crate::storage;
use crate::stored::Stored;

/// How long requests may take to end once the drain has begun.
const DRAIN_SECONDS_MAX: u64 = 60;
/// How often servers that share a store look after services' addresses and ports, as upstream's.
const MEND_INTERVAL: Duration = Duration::from_mins(3);
/// How often certificate files are looked at.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// Serves until a signal comes and the drain is over.
///
/// # Errors
/// One line about what kept the server from starting.
pub async fn run(config: Config) -> Result<(), String> {
    let listener = Listener::bind(config.address).await.map_err(|error| error.to_string())?;
    let address = listener.address();
    let config = Arc::new(config);
    let storage::Opened { storage, embedded, encrypted } = storage::open(&config.flags, &config.lock).await?;
    let is_shared = embedded.is_none();
    let (drainer, drain) = drain();
    let progress = Arc::new(Progress::default());
    let views = Views::new(&config);
    let authorizer = Arc::new(Authorization::new(config.authorizers.modes(&views.rbac, &views.nodes)));
    let Told { authentication, accounts, issuers } = config.authentication(&storage)?;
    let metrics = Arc::new(Metrics::default());
    metrics.include(Arc::clone(&views.flows) as _);
    let health = Arc::new(probes::health(CHAIN.probes, &storage, &progress, &drain)?);
    if let Some(encrypted) = encrypted {
        encryption::add_check(&health, &encrypted, &config.flags);
        if config.flags.encryption.encryption_provider_config_automatic_reload {
            let reloads = Arc::new(encryption::Reloads::default());
            metrics.include(Arc::clone(&reloads) as _);
            tokio::spawn(encryption::follow(encrypted, config.flags.clone(), reloads, drain.clone()));
        }
    }

    let acts = Acts {
        authentication: Arc::clone(&authentication),
        authorization: Arc::clone(&authorizer),
        accounts: Arc::clone(&accounts),
        lives: config.lives()?,
        storage: Arc::clone(&storage),
    };
    let ranges = Ranges {
        addresses: config.flags.service_cluster_ip_range.clone(),
        ports: config.flags.service_node_port_range,
    };
    let services = Services::new(catalogue(), &storage, &ranges, is_shared);
    let services = Arc::new(services.ok_or("there are no services to serve")?);
    let reserve = Arc::clone(&services);
    let page = ControllersPage::default();
    let assembled = chain::assemble(Parts {
        reserves: Box::new(move |group, plural| {
            (group.is_empty() && plural == "services").then(|| Arc::clone(&reserve) as _)
        }),
        acts: Box::new(move |group, plural| acts.of(group, plural)),
        catalogue: catalogue(),
        chain: &CHAIN,
        storage: Arc::clone(&storage),
        authorizer: Arc::clone(&authorizer) as _,
        drain: drain.clone(),
        serves: config.serves(catalogue())?,
        checks: vec![
            Arc::new(CertificateRequester),
            Arc::new(Escalation::new(Arc::clone(&views.rbac), Arc::clone(&authorizer))),
        ],
        enable_admission_plugins: config.flags.enable_admission_plugins.clone(),
        disable_admission_plugins: config.flags.disable_admission_plugins.clone(),
        tolerations: Tolerations {
            not_ready: config.flags.default_not_ready_toleration_seconds,
            unreachable: config.flags.default_unreachable_toleration_seconds,
        },
        event_ttl: config.flags.event_ttl,
        watch_timeout_min: Duration::from_secs(config.flags.min_request_timeout),
        address: config.advertised(address).to_string(),
        pages: vec![
            Arc::clone(&health) as _,
            Arc::new(apiwright_chain::version::VersionPage),
            Arc::clone(&metrics) as _,
            Arc::new(SnapshotPage::new(embedded)),
            Arc::new(page.clone()),
            Arc::new(IssuerPages::new(accounts, config.keys_uri(address)?)),
        ],
        outside: Outside {
            identity: Some(Arc::clone(&config.proxy_client)),
            to_endpoints: config.flags.enable_aggregator_routing,
            own: Some(SocketAddr::new(crate::config::local(address.ip()), address.port())),
            is_manager: config.flags.controllers != ["-*"],
        },
    })?;
    let definitions = assembled.definitions();
    let resources = Arc::new(AllResources::new(assembled.stores.clone(), Arc::clone(&assembled.custom)));
    let (webhooks, policies) = (Arc::new(assembled.webhooks), assembled.policies);
    let (admission, called) = (Arc::clone(&assembled.admission), Arc::clone(&webhooks));
    metrics.include(Arc::new(move |out: &mut String| admission.render_metrics(out)));
    metrics.include(Arc::new(move |out: &mut String| called.render_metrics(out)));
    let files = (storage::choose(&config.flags)? == StorageEngine::Embedded)
        .then(|| storage::directory(&config.flags.data_dir));
    let stored = Arc::new(Stored::new(files));
    metrics.include(Arc::clone(&stored) as _);
    tokio::spawn(stored.follow(assembled.stores.iter().cloned().collect(), drain.clone()));
    let server = assembled.server.prepare();
    let decides: Arc<dyn Authorizer> = Arc::clone(&authorizer) as _;
    if let Some(issuers) = issuers {
        let (config, drain) = (Arc::clone(&config), drain.clone());
        tokio::spawn(async move { config.issuers.follow(issuers, drain).await });
    }
    tokio::spawn(follow_authorizers(Arc::clone(&config), Arc::clone(&authorizer), &views, drain.clone()));
    let stack = Stack::new(
        filters(&config, authentication, authorizer, &views, Arc::clone(&metrics), drain.clone()),
        server.head(),
    );

    if let Some(audit) = &config.audit {
        audit.begin();
        let counted = Arc::clone(audit);
        metrics.include(Arc::new(move |out: &mut String| counted.figures().render(out)));
    }
    let serving = tokio::spawn(listener.with_limits(config.flags.tls.limits()).serve(
        Arc::clone(&config.tls),
        move |request, peer| Arc::clone(&stack).handle(request, peer),
        drain.clone(),
        Duration::from_secs(DRAIN_SECONDS_MAX),
    ));
    let membership = membership(&config, address, &storage, is_shared);
    let delay = config.flags.shutdown_delay_duration;
    tokio::spawn(until_signal(drainer, Arc::clone(&progress), membership.clone(), delay)?);
    let started = webhooks.start(&storage, &drain).await;
    started.map_err(|why| format!("cannot read webhook configurations: {why}"))?;
    let started = policies.start(&storage, Arc::clone(&resources) as _, &drain).await;
    started.map_err(|why| format!("cannot read admission policies: {why}"))?;
    progress.reach(Stage::Admission);
    let placeholders = Arc::new(placeholders(&config, address));
    start(&placeholders, &storage, &assembled.stores, &views, &progress, &drain).await?;
    if let Some(mut definitions) = definitions {
        definitions.load().await.map_err(|why| format!("cannot read definitions: {why}"))?;
        tokio::spawn(definitions.follow(drain.clone()));
    }
    progress.reach(Stage::Definitions);
    let serves_api_services = assembled.stores.get("apiregistration.k8s.io", "v1", "apiservices").is_some();
    let desired = Arc::new(Desired::of(assembled.served.iter().copied()));
    let (told, signer) = (Arc::clone(&config), Arc::clone(&config));
    let unavailable = Arc::new(Unavailable::default());
    metrics.include(Arc::new(Figures {
        registration: Arc::clone(&assembled.registration),
        unavailable: Arc::clone(&unavailable),
    }));
    if let Some(leases) = assembled.stores.get("coordination.k8s.io", "v1", "leases") {
        tokio::spawn(identity::keep(leases, drain.clone()));
    }
    let controllers = controllers::Parts {
        storage: Arc::clone(&storage),
        stores: assembled.stores,
        resources,
        is_shared,
        admission: assembled.admission,
        selection: config.flags.controllers.clone(),
        openapi: assembled.openapi,
        registration: Arc::clone(&assembled.registration),
        desired: Arc::clone(&desired),
        authentication_info: Arc::new(move || told.authentication_info()),
        metrics: Arc::clone(&unavailable),
        server_authority: config.server_bundle()?,
        signing_authority: Box::new(move || signer.signing_authority()),
        authorizer: decides,
        placeholders,
        membership: membership.clone(),
    };
    let started = controllers::start(controllers, drain.clone())?;
    let running = started.running.clone();
    progress.reach(Stage::Controllers);
    page.set(running.clone());
    metrics.include(Arc::new(move |out: &mut String| running.render_metrics(out)));
    let mending = tokio::spawn(mend(Arc::clone(&services)));
    server
        .run_hooks(|name, outcome| match outcome {
            Ok(()) => progress.finish(name),
            Err(why) => error!(hook = name, %why, "a post-start hook failed"),
        })
        .await;
    if serves_api_services {
        assembled.registration.has(&desired.names()).await;
    }
    tokio::spawn(reload(Arc::clone(&config), drain.clone()));
    progress.reach(Stage::Registration);
    mending.await.map_err(|why| format!("cannot mend services' addresses: {why}"))?;
    progress.reach(Stage::Addresses);
    if is_shared {
        tokio::spawn(keep_mended(services, drain));
    }
    if let Some(membership) = membership {
        membership.join();
    }
    announce(&config, address)?;

    serving.await.map_err(|error| format!("serving failed: {error}"))?;
    if let Some(audit) = &config.audit {
        audit.flush();
    }
    started.resigned().await;
    info!("drained; closing the store");
    storage.close().await.map_err(|why| format!("cannot close the store: {why}"))?;
    info!("closed");
    Ok(())
}

fn filters(
    config: &Config,
    authentication: Arc<apiwright_auth::Authentication>,
    authorizer: Arc<Authorization>,
    views: &Views,
    metrics: Arc<Metrics>,
    drain: Drain,
) -> apiwright_filters::Config {
    apiwright_filters::Config {
        authentication,
        authorizer,
        flows: Arc::clone(&views.flows),
        fairness: config.flags.enable_priority_and_fairness,
        metrics,
        cors: config.cors.clone(),
        audit: config.audit.clone(),
        request_timeout: config.flags.request_timeout,
        reads_in_flight_max: config.flags.max_requests_inflight,
        writes_in_flight_max: config.flags.max_mutating_requests_inflight,
        drain,
    }
}

/// What is in memory of what is stored, for every request to look at.
struct Views {
    rbac: Arc<Rbac>,
    nodes: Arc<NodeAuthorizer>,
    /// Whether anybody asks about nodes.
    with_nodes: bool,
    flows: Arc<Flows>,
}

impl Views {
    /// Nothing yet.
    fn new(config: &Config) -> Self {
        let flags = &config.flags;
        let seats = flags.max_requests_inflight.saturating_add(flags.max_mutating_requests_inflight);
        let seats = u32::try_from(seats).unwrap_or(u32::MAX);
        let limited = flags.enable_priority_and_fairness && seats > 0;
        // Who has waited a quarter of the time may as well ask again: upstream's measure.
        let flows = Flows::new(limited.then_some(seats), flags.request_timeout / 4);
        Self {
            rbac: Arc::default(),
            nodes: Arc::new(NodeAuthorizer::new(bootstrap::role_rules("system:node"))),
            with_nodes: config.authorizers.include_nodes(),
            flows: Arc::new(flows),
        }
    }

    /// Reads, then follows storage until the drain begins.
    async fn start(&self, storage: &Arc<dyn Storage>, drain: &Drain) -> Result<(), apiwright_storage::Error> {
        let roles = follow::load(self.rbac.as_ref(), storage.as_ref()).await?;
        tokio::spawn(follow::follow(Arc::clone(&self.rbac), Arc::clone(storage), roles, drain.clone()));
        if self.with_nodes {
            let nodes = follow::load(self.nodes.as_ref(), storage.as_ref()).await?;
            tokio::spawn(follow::follow(Arc::clone(&self.nodes), Arc::clone(storage), nodes, drain.clone()));
        }
        let flows = self.flows.load(storage.as_ref()).await?;
        tokio::spawn(Arc::clone(&self.flows).follow(Arc::clone(storage), flows, drain.clone()));
        Ok(())
    }
}

/// Takes what becomes of the file that says who decides.
fn follow_authorizers(
    config: Arc<Config>,
    authorization: Arc<Authorization>,
    views: &Views,
    drain: Drain,
) -> impl Future<Output = ()> + Send + 'static {
    let (rbac, nodes) = (Arc::clone(&views.rbac), Arc::clone(&views.nodes));
    async move { config.authorizers.follow(authorization, rbac, nodes, drain).await }
}

/// What must be there before the server is ready: its first objects, and the rules in force.
async fn start(
    placeholders: &Placeholders,
    storage: &Arc<dyn Storage>,
    stores: &Stores,
    views: &Views,
    progress: &Progress,
    drain: &Drain,
) -> Result<(), String> {
    let made = bootstrap::ensure(BOOTSTRAP, placeholders, catalogue(), |group, version, plural| {
        stores.get(group, version, plural)
    })
    .await?;
    info!(made, "bootstrap objects are there");
    progress.reach(Stage::Objects);
    views.start(storage, drain).await.map_err(|why| format!("cannot read roles and flow schemas: {why}"))?;
    progress.is_synced.store(true, Ordering::Release);
    progress.reach(Stage::Views);
    Ok(())
}

/// What bootstrap objects say of this server.
fn placeholders(config: &Config, address: SocketAddr) -> Placeholders {
    let ranges = &config.flags.service_cluster_ip_range;
    Placeholders {
        service_ranges: ranges.iter().map(ToString::to_string).collect(),
        service_range_first: ranges.first().map(|range| range.at(1).to_string()).unwrap_or_default(),
        port: address.port(),
    }
}

/// Writes the kubeconfig and tells how to use it.
fn announce(config: &Config, address: SocketAddr) -> Result<(), String> {
    let server = SocketAddr::new(crate::config::local(address.ip()), address.port());
    let path = config.kubeconfig();
    kubeconfig::write(
        &path,
        &format!("https://{server}"),
        &config.server_authority(),
        &config.pki.admin.certificate,
        &config.pki.admin.key,
    )?;
    let mut out = std::io::stdout();
    // Whoever reads this may have gone; that is no reason to stop.
    let _ =
        writeln!(out, "kubectl --kubeconfig {} get namespaces", path.display()).and_then(|()| out.flush());
    Ok(())
}

/// This server among those that the endpoints of the service `kubernetes` name; `None` where it is to be in none,
/// or nobody outside this machine could reach it.
fn membership(
    config: &Config,
    address: SocketAddr,
    storage: &Arc<dyn Storage>,
    is_shared: bool,
) -> Option<Arc<Membership>> {
    let rule = match config.flags.endpoint_reconciler_type {
        EndpointReconciler::None => return None,
        EndpointReconciler::Lease => Rule::Lease,
        EndpointReconciler::MasterCount => Rule::Count(config.flags.apiserver_count),
    };
    let Some(ip) = config.reachable(address.ip()) else {
        info!("this machine has no way to others: the service kubernetes gets no endpoints");
        return None;
    };
    Some(Arc::new(Membership::new(Arc::clone(storage), (ip, address.port()), rule, is_shared)))
}

/// The first signal begins the drain, after the delay that lets others notice and the endpoints go; a second one
/// ends the process at once.
fn until_signal(
    drainer: Drainer,
    progress: Arc<Progress>,
    membership: Option<Arc<Membership>>,
    delay: Duration,
) -> Result<impl Future<Output = ()> + Send + 'static, String> {
    let listen = |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
    let mut signals = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        next(&mut signals).await;
        info!("stopping; a second signal ends the process at once");
        progress.is_stopping.store(true, Ordering::Release);
        tokio::spawn(async move {
            next(&mut signals).await;
            std::process::exit(1);
        });
        let leave = async {
            if let Some(membership) = membership {
                membership.leave().await;
            }
        };
        tokio::join!(tokio::time::sleep(delay), leave);
        drainer.begin();
    })
}

async fn next((interrupt, terminate): &mut (Signal, Signal)) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Brings the addresses and ports of services in order.
async fn mend(services: Arc<Services>) {
    say(services.mark_ready().await);
    say(services.repair().await);
}

/// What other replicas leave behind is mended now and again.
async fn keep_mended(services: Arc<Services>, mut drain: Drain) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(MEND_INTERVAL) => say(services.repair().await),
            () = drain.begun() => return,
        }
    }
}

fn say(mended: Result<(), Box<Status>>) {
    if let Err(why) = mended {
        warn!(why = why.message, "cannot mend services' addresses and ports");
    }
}

/// Takes changed certificate files, and renews our own before they expire.
async fn reload(config: Arc<Config>, mut drain: Drain) {
    let mut seen = times(&config);
    let mut interval = tokio::time::interval(RELOAD_INTERVAL);
    let mut rounds = 0_u32;
    loop {
        tokio::select! {
            _ = interval.tick() => {}
            () = drain.begun() => return,
        }
        rounds = rounds.wrapping_add(1);
        // Twice a day or so.
        if rounds.is_multiple_of(4096) {
            renew(&config);
        }
        let now = times(&config);
        if now == seen {
            continue;
        }
        seen = now;
        let authority = config.reload_authorities().and_then(|()| config.proxy_client.reload());
        let replaced = config.certificates.load().and_then(|certificates| {
            config.tls.replace(certificates, &config.asked_for()).map_err(|error| error.to_string())
        });
        match authority.and(replaced) {
            Ok(()) => info!("certificates reloaded"),
            Err(why) => warn!(%why, "changed certificates are not taken"),
        }
    }
}

fn renew(config: &Config) {
    let (names, addresses) = config.own_names();
    let Some(dir) = config.pki.authority.parent() else { return };
    if let Err(why) = Pki::ensure(dir, &names, &addresses) {
        warn!(%why, "cannot renew certificates");
    }
}

fn times(config: &Config) -> Vec<Option<SystemTime>> {
    let flags = &config.flags;
    let given = flags.client_ca_file.iter().chain(&flags.requestheader_client_ca_file);
    let authorities = given.map(PathBuf::as_path).chain([config.pki.authority.as_path()]);
    let files = config.certificates.files().chain(authorities).chain(config.proxy_client.files());
    files.map(|file| std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok()).collect()
}
