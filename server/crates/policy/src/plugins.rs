//! The two plugins over the policies that are there.

use std::sync::{Arc, OnceLock};

use apiwright_admission::matching::is_exempt;
use apiwright_admission::{Attributes, Objects, Plugin};
use apiwright_chain::Drain;
use apiwright_chain::permit::Authorizer;
use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_storage::{Error, Storage};

use crate::bindings::Policies;
use crate::mutating::MutatingAdmissionPolicy;
use crate::params::Kinds;
use crate::validating::ValidatingAdmissionPolicy;

/// The policies that are there.
pub struct AdmissionPolicies {
    mutating: Arc<Policies>,
    validating: Arc<Policies>,
    kinds: Arc<OnceLock<Arc<dyn Kinds>>>,
}

/// What both plugins know.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) objects: Objects,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    kinds: Arc<OnceLock<Arc<dyn Kinds>>>,
}

impl World {
    pub(crate) fn kinds(&self) -> Option<&dyn Kinds> {
        self.kinds.get().map(Arc::as_ref)
    }
}

impl AdmissionPolicies {
    /// None read yet: until [`AdmissionPolicies::start`] has, the plugins refuse.
    pub fn new() -> Self {
        let policies = |plural, bindings| Arc::new(Policies::new(plural, bindings));
        Self {
            mutating: policies("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
            validating: policies("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
            kinds: Arc::default(),
        }
    }

    /// The plugins; they look namespaces up in `objects`, and ask the authorizer what users may.
    pub fn plugins(&self, objects: &Objects, authorizer: &Arc<dyn Authorizer>) -> [Arc<dyn Plugin>; 2] {
        let world = World {
            objects: objects.clone(),
            authorizer: Arc::clone(authorizer),
            kinds: Arc::clone(&self.kinds),
        };
        [
            Arc::new(MutatingAdmissionPolicy { policies: Arc::clone(&self.mutating), world: world.clone() }),
            Arc::new(ValidatingAdmissionPolicy { policies: Arc::clone(&self.validating), world }),
        ]
    }

    /// Reads the policies, then follows storage until the drain begins. Parameters are of these kinds.
    ///
    /// # Errors
    /// When storage cannot be read.
    pub async fn start(
        &self,
        storage: &Arc<dyn Storage>,
        kinds: Arc<dyn Kinds>,
        drain: &Drain,
    ) -> Result<(), Error> {
        // It is set once: there is one server.
        let _ = self.kinds.set(kinds);
        for policies in [&self.mutating, &self.validating] {
            for prefix in policies.prefixes() {
                let from = policies.load(storage.as_ref(), prefix).await?;
                let follow =
                    Arc::clone(policies).follow(Arc::clone(storage), prefix.to_owned(), from, drain.clone());
                tokio::spawn(follow);
            }
        }
        Ok(())
    }
}

impl Default for AdmissionPolicies {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a policy may have a say in a request.
pub(crate) fn concerns(policies: &Policies, request: &Attributes<'_>) -> bool {
    policies.any(|hook| hook.policy.criteria.by_rules(request).is_some()) && !is_exempt(request)
}

/// Nobody gets past policies that nobody has read yet.
pub(crate) fn not_ready(request: &Attributes<'_>, object: Option<&Value>) -> Box<Status> {
    request.forbid(object, "not yet ready to handle request")
}
