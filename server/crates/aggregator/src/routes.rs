//! Who answers a request: this process, a server outside, or nobody for the moment.
//!
//! Invariant: readers never wait, and what this process serves itself is not in the table at all,
//! so that a request for it costs one look at a map that is empty in most servers.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use apiwright_chain::RequestInfo;
use apiwright_remote::{Backend, Error, Identity, Resolver, ServiceReference, Via};
use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::service::{ApiService, Remote};

/// The group versions that others serve.
pub struct Routes {
    /// How Services are reached.
    pub resolver: Arc<dyn Resolver>,
    /// What we show servers outside.
    pub identity: Option<Arc<Identity>>,
    /// By group, then by version.
    table: ArcSwap<HashMap<String, HashMap<String, Arc<Route>>>>,
    /// The pools of connections: APIServices of one Service share theirs.
    backends: Mutex<HashMap<Remote, Made>>,
    /// Hears of servers that could not be reached.
    suspicion: OnceLock<Suspicion>,
}

/// Hears of a Service behind which nobody was reached.
type Suspicion = Box<dyn Fn(&ServiceReference) + Send + Sync>;

type Made = Result<Arc<Backend>, Error>;

/// The server outside that answers for a group version.
#[derive(Debug)]
pub struct Route {
    /// Which one.
    pub remote: Remote,
    /// Its connections; an error where its trust cannot be read.
    pub backend: Made,
    /// Whether it answered when it was last checked.
    pub available: bool,
}

impl Routes {
    /// Nobody serves anything yet.
    pub fn new(resolver: Arc<dyn Resolver>, identity: Option<Arc<Identity>>) -> Self {
        Self {
            resolver,
            identity,
            table: ArcSwap::default(),
            backends: Mutex::default(),
            suspicion: OnceLock::new(),
        }
    }

    /// The route of a request; `None` where this process answers.
    pub fn find(&self, info: &RequestInfo) -> Option<Arc<Route>> {
        let table = self.table.load();
        if table.is_empty() {
            return None;
        }
        let (group, version) = match info.is_resource {
            true => (info.group.as_str(), info.version.as_str()),
            false => group_version(&info.path)?,
        };
        table.get(group)?.get(version).cloned()
    }

    /// The route of a group version.
    pub fn get(&self, group: &str, version: &str) -> Option<Arc<Route>> {
        self.table.load().get(group)?.get(version).cloned()
    }

    /// Routes an APIService's requests as it says from now on.
    pub fn set(&self, service: &ApiService) {
        let Some(remote) = &service.remote else { return self.remove(&service.group, &service.version) };
        let route = Arc::new(Route {
            remote: remote.clone(),
            backend: self.backend(remote),
            available: service.available,
        });
        self.table.rcu(|table| {
            let mut table = HashMap::clone(table);
            let versions = table.entry(service.group.clone()).or_default();
            versions.insert(service.version.clone(), Arc::clone(&route));
            table
        });
        self.forget_unused();
    }

    /// This process answers from now on.
    pub fn remove(&self, group: &str, version: &str) {
        if self.get(group, version).is_none() {
            return;
        }
        self.table.rcu(|table| {
            let mut table = HashMap::clone(table);
            if let Some(versions) = table.get_mut(group) {
                versions.remove(version);
                if versions.is_empty() {
                    table.remove(group);
                }
            }
            table
        });
        self.forget_unused();
    }

    /// Tells whoever checks servers of each that could not be reached, so that it need not wait to find out.
    pub fn on_unreachable(&self, suspicion: impl Fn(&ServiceReference) + Send + Sync + 'static) {
        let _ = self.suspicion.set(Box::new(suspicion));
    }

    pub(crate) fn unreachable(&self, remote: &Remote) {
        if let Some(suspicion) = self.suspicion.get() {
            suspicion(&remote.service);
        }
    }

    /// The connections to a server, shared by all that it serves.
    pub fn backend(&self, remote: &Remote) -> Made {
        let mut backends = self.backends.lock();
        let made = backends.entry(remote.clone()).or_insert_with(|| {
            let name = Some(remote.service.server_name());
            Backend::new(Via::Address, name, &remote.trust, self.identity.as_ref()).map(Arc::new)
        });
        made.clone()
    }

    /// Closes the pools that no route leads to any more.
    fn forget_unused(&self) {
        let table = self.table.load();
        self.backends.lock().retain(|remote, _| {
            table.values().flat_map(HashMap::values).any(|route| route.remote == *remote)
        });
    }
}

/// The group and version of a path: `/apis/<group>/<version>` and below, `/api` and below for the
/// core group's.
pub(crate) fn group_version(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix('/')?;
    let mut parts = rest.split('/');
    match parts.next()? {
        "api" => Some(("", "v1")),
        "apis" => {
            let (group, version) = (parts.next()?, parts.next()?);
            (!group.is_empty() && !version.is_empty()).then_some((group, version))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_group_versions() {
        for (path, expected) in [
            ("/", None),
            ("/api", Some(("", "v1"))),
            ("/api/v1/pods", Some(("", "v1"))),
            ("/apis", None),
            ("/apis/", None),
            ("/apis/a.example", None),
            ("/apis/a.example/", None),
            ("/apis/a.example/v1", Some(("a.example", "v1"))),
            ("/apis/a.example/v1/", Some(("a.example", "v1"))),
            ("/apis/a.example/v1/namespaces/x/widgets", Some(("a.example", "v1"))),
            ("/apisx/a.example/v1", None),
        ] {
            assert_eq!(group_version(path), expected, "{path}");
        }
    }
}
