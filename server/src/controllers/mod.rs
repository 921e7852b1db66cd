//! The controllers: what each observes and does. What it decides is in `api-specs/controllers`.

pub mod aggregation;
mod namespace;

use std::sync::Arc;

use apiwright_aggregator::Registration;
use apiwright_chain::Drain;
use apiwright_controllers::{
    ControllerSpec, Controllers, Informers, Queue, Reconcile, Resources, Running, select,
};
use apiwright_storage::Storage;
use tokio::sync::watch;

use crate::chain::Stores;
use crate::generated::controllers::namespace_controller;
use aggregation::Desired;
use namespace::Namespaces;

/// What controllers work with.
pub struct Parts {
    /// Where objects are.
    pub storage: Arc<dyn Storage>,
    /// The stores of what is built in.
    pub stores: Stores,
    /// Everything that is stored.
    pub resources: Arc<dyn Resources>,
    /// `--controllers`.
    pub selection: Vec<String>,
    /// What is told of APIServices.
    pub registration: Arc<Registration>,
    /// The APIServices that should be.
    pub desired: Arc<Desired>,
    /// What aggregated API servers are told of whom to believe.
    pub authentication_info: aggregation::Info,
}

/// Starts the controllers that are selected.
///
/// # Errors
/// Where what they need is not served.
pub fn start(parts: Parts, drain: Drain) -> Result<Running, String> {
    let informers = Informers::new(Arc::clone(&parts.storage), Arc::clone(&parts.resources));
    let mut assembly = Assembly { controllers: Controllers::new(informers), parts: &parts };
    assembly.add(&namespace_controller::SPEC, |parts, _| {
        let namespaces = parts.store("", "v1", "namespaces")?;
        Ok(namespace_controller::Reconciler(Namespaces::new(namespaces, Arc::clone(&parts.resources))))
    })?;
    aggregation::add(&mut assembly)?;
    let (leads, may_lead) = watch::channel(true);
    let mut ends = drain.clone();
    tokio::spawn(async move {
        ends.begun().await;
        drop(leads);
    });
    Ok(assembly.controllers.start(may_lead, drain))
}

struct Assembly<'a> {
    controllers: Controllers,
    parts: &'a Parts,
}

impl Assembly<'_> {
    /// Makes and adds a controller, where it is selected.
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
    fn store(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Result<Arc<apiwright_registry::Store>, String> {
        let found = self.stores.get(group, version, plural);
        found.ok_or_else(|| format!("a controller needs {plural}, which --runtime-config switches off"))
    }
}
