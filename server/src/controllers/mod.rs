//! The controllers: what each observes and does. What it decides is in `api-specs/controllers`.

pub mod aggregation;
pub mod certificates;
mod cluster_roles;
mod events;
mod flow_schema_status;
mod garbage_collector;
mod identity_leases;
mod kube;
pub mod kubernetes_endpoints;
mod kubernetes_service;
mod leadership;
mod look_up;
mod namespace;
mod node_ttl;
pub mod page;
mod policy_status;
mod quota;
mod root_ca;
mod service_account;
mod volume_protection;

use std::sync::Arc;
use std::time::Duration;

use apiwright_admission::Admission;
use apiwright_aggregator::Registration;
use apiwright_chain::{Authorizer, Drain};
use apiwright_controllers::{
    ControllerSpec, Controllers, Identity, Informers, Queue, Reconcile, Resources, Running, Writer, select,
};
use apiwright_openapi::OpenApi;
use apiwright_registry::Store;
use apiwright_storage::Storage;

use tokio::task::JoinHandle;

use crate::bootstrap::Placeholders;
use crate::chain::Stores;
use crate::generated::{CONTROLLERS, catalogue};
use aggregation::{Desired, Unavailable};
use certificates::SigningAuthority;
use kubernetes_endpoints::Membership;

/// How long giving back the lease may take.
const RESIGN_SECONDS_MAX: Duration = Duration::from_secs(5);

/// What controllers work with.
pub struct Parts {
    /// Where objects are.
    pub storage: Arc<dyn Storage>,
    /// The stores of what is built in.
    pub stores: Stores,
    /// Everything that is stored.
    pub resources: Arc<dyn Resources>,
    /// Whether other replicas may be at work on the same storage.
    pub is_shared: bool,
    /// Who is asked about what controllers write, as about what clients do.
    pub admission: Arc<Admission>,
    /// `--controllers`.
    pub selection: Vec<String>,
    /// How objects look.
    pub openapi: Arc<OpenApi>,
    /// What is told of APIServices.
    pub registration: Arc<Registration>,
    /// The APIServices that should be.
    pub desired: Arc<Desired>,
    /// What aggregated API servers are told of whom to believe.
    pub authentication_info: aggregation::Info,
    /// Counts what becomes unavailable.
    pub metrics: Arc<Unavailable>,
    /// Who signs this server's certificate, as PEM.
    pub server_authority: String,
    /// Who signs what is requested by way of the API.
    pub signing_authority: Box<dyn Fn() -> Result<SigningAuthority, String>>,
    /// Who decides what users may do.
    pub authorizer: Arc<dyn Authorizer>,
    /// What is known at the start only.
    pub placeholders: Arc<Placeholders>,
    /// This server among those that serve; `None` where nobody is told.
    pub membership: Option<Arc<Membership>>,
}

/// Controllers that run.
pub struct Started {
    /// What they do.
    pub running: Running,
    /// This server's part in the election of who runs those that run once.
    election: Option<JoinHandle<()>>,
}

impl Started {
    /// Returns once the drain has begun and others may lead, or after a while: before that, the storage has to
    /// stay open.
    pub async fn resigned(self) {
        if let Some(election) = self.election {
            // What it could not do in time ends by itself.
            let _ = tokio::time::timeout(RESIGN_SECONDS_MAX, election).await;
        }
    }
}

/// Starts the controllers that are selected.
///
/// # Errors
/// Where what they need is not served.
pub fn start(parts: Parts, drain: Drain) -> Result<Started, String> {
    let informers = Informers::new(Arc::clone(&parts.storage), Arc::clone(&parts.resources));
    let mut assembly = Assembly { controllers: Controllers::new(informers), parts: &parts };
    kube::add(&mut assembly)?;
    aggregation::add(&mut assembly)?;
    let (may_lead, election) = leadership::follow(&mut assembly, &drain)?;
    Ok(Started { running: assembly.controllers.start(may_lead, drain), election })
}

struct Assembly<'a> {
    controllers: Controllers,
    parts: &'a Parts,
}

impl Assembly<'_> {
    /// Whether any controller runs that can be switched off.
    fn manages(&self) -> bool {
        CONTROLLERS.iter().any(|spec| spec.managed && select::is_enabled(spec, &self.parts.selection))
    }

    /// Makes and adds a controller, where it is selected; gives its queue.
    fn add<R: Reconcile>(
        &mut self,
        spec: &ControllerSpec,
        make: impl FnOnce(&Parts, &mut Informers) -> Result<R, String>,
    ) -> Result<Option<Arc<Queue>>, String> {
        if !select::is_enabled(spec, &self.parts.selection) {
            return Ok(None);
        }
        let controller = make(self.parts, self.controllers.informers())?;
        let stores = |group: &str, version: &str, plural: &str| self.parts.stores.get(group, version, plural);
        Ok(Some(self.controllers.add(controller, &stores)))
    }
}

impl Parts {
    /// Somebody who writes.
    fn writer(&self, identity: Identity) -> Writer {
        identity.writer(Arc::clone(&self.admission), catalogue())
    }

    fn store(&self, group: &str, version: &str, plural: &str) -> Result<Arc<Store>, String> {
        let found = self.stores.get(group, version, plural);
        found.ok_or_else(|| format!("a controller needs {plural}, which --runtime-config switches off"))
    }
}
