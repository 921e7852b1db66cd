//! The backends in use, found by what they are: those who call the same server share connections.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::backend::{Backend, Via};
use crate::error::{Error, Kind};
use crate::identity::Identity;
use crate::resolve::{Host, Resolver, ServiceReference};
use crate::trust::Trust;

/// Backends that nobody has asked for longest are forgotten first.
const BACKENDS_MAX: usize = 256;

/// Whom a request goes to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The host of an `https` URL.
    Host(Host),
    /// A Service, wherever it is; requests name it by its server name.
    Service(ServiceReference),
}

impl Target {
    /// The `host:port` that requests to it name.
    pub fn authority(&self) -> String {
        match self {
            Self::Host(host) => host.to_string(),
            Self::Service(service) => format!("{}:{}", service.server_name(), service.port),
        }
    }
}

/// The backends in use.
pub struct Backends {
    resolver: Arc<dyn Resolver>,
    identity: Option<Arc<Identity>>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    backends: HashMap<(Target, Trust), (u64, Arc<Backend>)>,
    asked: u64,
}

impl Backends {
    /// Reaches Services where `resolver` says; shows `identity` to those who ask for one.
    pub fn new(resolver: Arc<dyn Resolver>, identity: Option<Arc<Identity>>) -> Self {
        Self { resolver, identity, known: Mutex::default() }
    }

    /// The backend of a target; the same one for the same target and trust.
    ///
    /// # Errors
    /// Where the trust cannot be read.
    pub fn get(&self, target: &Target, trust: &Trust) -> Result<Arc<Backend>, Error> {
        let key = (target.clone(), trust.clone());
        let mut known = self.known.lock();
        known.asked += 1;
        let asked = known.asked;
        if let Some((last, backend)) = known.backends.get_mut(&key) {
            *last = asked;
            return Ok(Arc::clone(backend));
        }
        let backend = Arc::new(self.make(target, trust)?);
        if known.backends.len() >= BACKENDS_MAX {
            let oldest = known.backends.iter().min_by_key(|(_, (last, _))| *last);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                known.backends.remove(&oldest);
            }
        }
        known.backends.insert(key, (asked, Arc::clone(&backend)));
        Ok(backend)
    }

    fn make(&self, target: &Target, trust: &Trust) -> Result<Backend, Error> {
        let identity = self.identity.as_ref();
        match target {
            Target::Host(host) if host.name.is_empty() => {
                Err(Error::new(Kind::Target, "http: no Host in request URL"))
            }
            Target::Host(host) => Backend::new(Via::Address, Some(host.name.clone()), trust, identity),
            Target::Service(service) => Backend::new(
                Via::Service(service.clone(), Arc::clone(&self.resolver)),
                Some(service.server_name()),
                trust,
                identity,
            ),
        }
    }
}
