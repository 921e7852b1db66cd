//! The example as an aggregated API server: stands behind a front proxy whose word for who asks it takes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apiwright::chain::{Outside, Parts, assemble};
use apiwright_admission::Tolerations;
use apiwright_auth::configuration::authentication::Anonymous;
use apiwright_auth::{Authentication, RequestHeader};
use apiwright_chain::{Authorizer, Drain};
use apiwright_filters::{Config, Flows, Metrics, Stack};
use apiwright_storage_embedded::{Embedded, Options};
use apiwright_transport::{Certificates, KeyPair, Listener, Rules, Tls};

use crate::generated::{CATALOGUE, CHAIN};

/// How long requests may take to end once the drain has begun.
const DRAIN_SECONDS_MAX: u64 = 5;
const REQUESTS_MAX: usize = 100;

/// What an aggregated API server is told.
pub struct Settings {
    /// Where it listens; port 0 takes any.
    pub address: SocketAddr,
    /// What it shows.
    pub serving: KeyPair,
    /// Whose word for who asks is taken: what `extension-apiserver-authentication` says.
    pub front_proxy: RequestHeader,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
}

/// Starts it; it serves until the drain begins. Gives where it listens.
///
/// # Errors
/// What kept it from starting.
pub async fn serve(settings: Settings, drain: Drain) -> Result<SocketAddr, String> {
    let listener = Listener::bind(settings.address).await.map_err(|why| why.to_string())?;
    let address = listener.address();
    let authority = Arc::clone(&settings.front_proxy.authority);
    let certificates = Certificates::load(&settings.serving, &[]).map_err(|why| why.to_string())?;
    let tls =
        Tls::new(Rules::default(), certificates, &authority.certificates()).map_err(|why| why.to_string())?;
    let assembled = assemble(Parts {
        acts: Box::new(|_, _| Vec::new()),
        reserves: Box::new(|_, _| None),
        catalogue: &CATALOGUE,
        chain: &CHAIN,
        storage: Arc::new(Embedded::memory(Options::default())),
        authorizer: Arc::clone(&settings.authorizer),
        drain: drain.clone(),
        serves: Box::new(|version| version.served),
        checks: Vec::new(),
        enable_admission_plugins: Vec::new(),
        disable_admission_plugins: Vec::new(),
        tolerations: Tolerations::default(),
        event_ttl: Duration::from_hours(1),
        watch_timeout_min: Duration::from_mins(1),
        address: address.to_string(),
        pages: Vec::new(),
        outside: Outside::default(),
    })?;
    let filters = Config {
        authentication: Arc::new(Authentication {
            request_header: Some(settings.front_proxy),
            anonymous: Anonymous { enabled: true, paths: Vec::new() },
            ..Authentication::default()
        }),
        authorizer: settings.authorizer,
        flows: Arc::new(Flows::new(None, Duration::from_secs(1))),
        fairness: false,
        metrics: Arc::new(Metrics::default()),
        cors: None,
        audit: None,
        request_timeout: Duration::from_mins(1),
        reads_in_flight_max: REQUESTS_MAX,
        writes_in_flight_max: REQUESTS_MAX,
        drain: drain.clone(),
    };
    let stack = Stack::new(filters, assembled.server.prepare().head());
    tokio::spawn(listener.serve(
        Arc::new(tls),
        move |request, peer| Arc::clone(&stack).handle(request, peer),
        drain,
        Duration::from_secs(DRAIN_SECONDS_MAX),
    ));
    Ok(address)
}
