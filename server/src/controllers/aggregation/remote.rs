//! Checks the servers of APIServices.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apiwright_aggregator::{ApiService, Routes};
use apiwright_controllers::{Cache, Change, Next, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::object;
use apiwright_registry::Store;
use apiwright_registry::store::{Freshness, Paging, Selection};
use apiwright_remote::ServiceReference;

use super::check;
use super::condition::{Available, done};
use super::metrics::Unavailable;
use crate::generated::controllers::remote_available::{
    ApiService as Found, Controller, Endpoints, Facts, Service,
};

const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// How soon a server that answers is checked again.
const RECHECK_SECONDS: u64 = 30;

/// The controller.
pub(super) struct RemoteAvailable {
    pub(super) api_services: Cache,
    pub(super) services: Cache,
    pub(super) slices: Arc<Store>,
    pub(super) writer: Writer,
    pub(super) routes: Arc<Routes>,
    pub(super) metrics: Arc<Unavailable>,
    pub(super) index: Arc<Mutex<Index>>,
}

/// Which APIServices go to which Service, by its namespace and name.
#[derive(Default)]
pub(super) struct Index {
    services: HashMap<String, String>,
    used: HashMap<String, BTreeSet<String>>,
}

/// An APIService, and what is to be said of its server.
pub(super) struct Observed {
    object: Value,
    service: Option<ServiceReference>,
    port_name: String,
    failure: String,
}

impl RemoteAvailable {
    async fn say(
        &self,
        observed: &Observed,
        reason: &'static str,
        message: impl FnOnce(&ServiceReference) -> String,
    ) -> Result<Next> {
        let Some(service) = &observed.service else { return Ok(Next::Done) };
        let said = Available { status: false, reason, message: message(service) };
        if said.changes(&observed.object) {
            self.metrics.count(object::name(&observed.object), reason);
        }
        done(said, &self.writer, &self.api_services.store, &observed.object).await
    }

    /// Whether anybody behind a Service is ready at a port of this name.
    async fn endpoints(&self, service: &ServiceReference, port_name: &str) -> Result<Endpoints> {
        let labels = LabelSelector::parse(&format!("{SERVICE_NAME}={}", service.name)).unwrap_or_default();
        let selection = Selection { namespace: service.namespace.clone(), labels, ..Selection::default() };
        let page = self.slices.list(&selection, Freshness::Any, &Paging::default()).await?;
        if page.entries.is_empty() {
            return Ok(Endpoints::Absent);
        }
        for entry in &page.entries {
            if is_ready(&self.slices.decode(entry)?, port_name) {
                return Ok(Endpoints::Ready);
            }
        }
        Ok(Endpoints::NotReady)
    }
}

impl Controller for RemoteAvailable {
    type Observed = Observed;

    async fn observe(&self, key: &str) -> Result<(Facts, Observed)> {
        let mut facts = Facts {
            api_service: Found::Absent,
            service: Service::Absent,
            listens: false,
            endpoints: Endpoints::Absent,
            answers: false,
        };
        let object = self.api_services.object("", key)?.unwrap_or_default();
        let mut observed =
            Observed { object, service: None, port_name: String::new(), failure: String::new() };
        if observed.object.is_null() {
            return Ok((facts, observed));
        }
        let api_service = ApiService::read(&observed.object);
        let Some(remote) = &api_service.remote else {
            facts.api_service = Found::Local;
            return Ok((facts, observed));
        };
        facts.api_service = Found::Remote;
        let reference = &remote.service;
        observed.service = Some(reference.clone());
        let Some(service) = self.services.object(&reference.namespace, &reference.name)? else {
            return Ok((facts, observed));
        };
        match service.text_at(&["spec", "type"]) {
            "ClusterIP" => {
                facts.service = Service::ClusterIP;
                let Some(port_name) = port_named(&service, reference.port) else {
                    return Ok((facts, observed));
                };
                facts.listens = true;
                facts.endpoints = self.endpoints(reference, &port_name).await?;
                observed.port_name = port_name;
                if facts.endpoints != Endpoints::Ready {
                    return Ok((facts, observed));
                }
            }
            _ => facts.service = Service::Other,
        }
        match check::answers(&self.routes, remote, &api_service.path()).await {
            Ok(()) => facts.answers = true,
            Err(why) => observed.failure = why,
        }
        Ok((facts, observed))
    }

    async fn service_not_found(&self, _key: &str, observed: Observed) -> Result<Next> {
        let message = |service: &ServiceReference| {
            format!("service/{} in \"{}\" is not present", service.name, service.namespace)
        };
        self.say(&observed, "ServiceNotFound", message).await
    }

    async fn service_port_error(&self, _key: &str, observed: Observed) -> Result<Next> {
        let message = |service: &ServiceReference| {
            let ServiceReference { namespace, name, port } = service;
            format!("service/{name} in \"{namespace}\" is not listening on port {port}")
        };
        self.say(&observed, "ServicePortError", message).await
    }

    async fn endpoints_not_found(&self, _key: &str, observed: Observed) -> Result<Next> {
        let message = |service: &ServiceReference| {
            format!("cannot find endpointslices for service/{} in \"{}\"", service.name, service.namespace)
        };
        self.say(&observed, "EndpointsNotFound", message).await
    }

    async fn missing_endpoints(&self, _key: &str, observed: Observed) -> Result<Next> {
        let message = |service: &ServiceReference| {
            let ServiceReference { namespace, name, .. } = service;
            let port = &observed.port_name;
            format!(
                "endpointslices for service/{name} in \"{namespace}\" have no addresses with port name \"{port}\""
            )
        };
        self.say(&observed, "MissingEndpoints", message).await
    }

    async fn failed_discovery_check(&self, _key: &str, observed: Observed) -> Result<Next> {
        let failure = observed.failure.clone();
        self.say(&observed, "FailedDiscoveryCheck", |_| failure).await?;
        Ok(Next::Again)
    }

    async fn passed(&self, _key: &str, observed: Observed) -> Result<Next> {
        let said = Available { status: true, reason: "Passed", message: "all checks passed".into() };
        said.say(&self.writer, &self.api_services.store, &observed.object).await?;
        Ok(Next::After(Duration::from_secs(RECHECK_SECONDS)))
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        let Some(facts) = change.facts() else { return };
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if change.is_of("apiregistration.k8s.io", "apiservices") {
            let service = change.new.and_then(|_| ApiService::read(&change.decode()?).remote);
            index.set(
                &facts.name,
                service.map(|remote| service_key(&remote.service.namespace, &remote.service.name)),
            );
            add(&facts.name);
            return;
        }
        let name =
            if change.is_of("", "services") { Some(facts.name.as_str()) } else { facts.label(SERVICE_NAME) };
        for api_service in name.into_iter().flat_map(|name| index.users(&facts.namespace, name)) {
            add(api_service);
        }
    }
}

impl Index {
    /// The APIServices that go to a Service.
    pub(super) fn users(&self, namespace: &str, name: &str) -> impl Iterator<Item = &String> {
        self.used.get(&service_key(namespace, name)).into_iter().flatten()
    }

    fn set(&mut self, api_service: &str, service: Option<String>) {
        if let Some(before) = self.services.remove(api_service)
            && let Some(used) = self.used.get_mut(&before)
        {
            used.remove(api_service);
            if used.is_empty() {
                self.used.remove(&before);
            }
        }
        if let Some(service) = service {
            self.used.entry(service.clone()).or_default().insert(api_service.to_owned());
            self.services.insert(api_service.to_owned(), service);
        }
    }
}

fn service_key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// The name of the port with this number; empty for a port without a name.
fn port_named(service: &Value, port: u16) -> Option<String> {
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_array)?;
    let found =
        ports.iter().find(|one| one.at(&["port"]).and_then(Value::as_i64) == Some(i64::from(port)))?;
    Some(found.text_at(&["name"]).to_owned())
}

fn is_ready(slice: &Value, port_name: &str) -> bool {
    let items = |member: &str| slice.at(&[member]).and_then(Value::as_array).into_iter().flatten();
    let ready = items("endpoints")
        .any(|one| one.at(&["conditions", "ready"]).and_then(Value::as_bool).unwrap_or(true));
    ready
        && items("ports").any(|port| {
            let name = port.at(&["name"]).and_then(Value::as_str);
            name == Some(port_name) && port.at(&["port"]).is_some_and(|number| !number.is_null())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn somebody_is_ready_at_a_port() {
        for (slice, expected) in [
            (r#"{"endpoints":[{"addresses":["a"]}],"ports":[{"name":"","port":1}]}"#, true),
            (r#"{"endpoints":[{"conditions":{"ready":false}}],"ports":[{"name":"","port":1}]}"#, false),
            (r#"{"endpoints":[{"conditions":{"ready":true}}],"ports":[{"name":"x","port":1}]}"#, false),
            (r#"{"endpoints":[{}],"ports":[{"name":""}]}"#, false),
            (r#"{"endpoints":null,"ports":[{"name":"","port":1}]}"#, false),
        ] {
            assert_eq!(is_ready(&json(slice), ""), expected, "{slice}");
        }
    }

    #[test]
    fn services_know_who_uses_them() {
        let mut index = Index::default();
        index.set("v1.a", Some("n/s".into()));
        index.set("v2.a", Some("n/s".into()));
        index.set("v1.a", Some("n/t".into()));
        index.set("v2.a", None);
        let used: Vec<(&String, &BTreeSet<String>)> = index.used.iter().collect();
        assert_eq!(used, [(&"n/t".to_owned(), &BTreeSet::from(["v1.a".to_owned()]))]);
    }
}
