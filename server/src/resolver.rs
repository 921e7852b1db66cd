//! Where Services are reached, for those who call others: webhooks, aggregated API servers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use apiwright_json::Value;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::{Reason, Result as StatusResult};
use apiwright_registry::Store;
use apiwright_registry::store::{Freshness, Paging, Selection};
use apiwright_remote::{Host, Resolver, ServiceReference};
use apiwright_storage::Revision;
use futures::future::BoxFuture;

use crate::chain::Stores;

/// Finds Services in storage.
pub struct ServiceResolver {
    services: Option<Arc<Store>>,
    slices: Option<Arc<Store>>,
    /// Whether to go past the Service's address straight to who answers behind it.
    to_endpoints: bool,
    /// Where Services are themselves, as read of what was last written of them: most are called often.
    known: RwLock<HashMap<ServiceReference, (Revision, Host)>>,
    /// Where this server itself is reached, which is what `kubernetes` in `default` stands for.
    own: Option<SocketAddr>,
}

impl ServiceResolver {
    /// Over what is served of Services and EndpointSlices; `to_endpoints` is `--enable-aggregator-routing`.
    pub fn new(stores: &Stores, to_endpoints: bool, own: Option<SocketAddr>) -> Self {
        let services = stores.get("", "v1", "services");
        let slices = stores.get("discovery.k8s.io", "v1", "endpointslices");
        Self { services, slices, to_endpoints, known: RwLock::default(), own }
    }

    async fn find(&self, reference: &ServiceReference) -> Result<Host, String> {
        let ServiceReference { namespace, name, port } = reference;
        if let Some(own) = self.own
            && (namespace.as_str(), name.as_str(), *port) == ("default", "kubernetes", 443)
        {
            return Ok(Host { name: own.ip().to_string(), port: own.port() });
        }
        let absent = || format!("service \"{name}\" not found");
        let services = self.services.as_ref().ok_or_else(absent)?;
        let entry = match services.get(namespace, name, Freshness::Any).await {
            Ok(entry) => entry,
            Err(status) if status.reason == Some(Reason::NotFound) => {
                self.known.write().unwrap_or_else(PoisonError::into_inner).remove(reference);
                return Err(absent());
            }
            Err(status) => return Err(status.message),
        };
        if let Some((revision, host)) =
            self.known.read().unwrap_or_else(PoisonError::into_inner).get(reference)
            && *revision == entry.mod_revision
        {
            return Ok(host.clone());
        }
        let service = services.decode(&entry).map_err(|status| status.message)?;
        if self.to_endpoints {
            let slices = self.slices_of(namespace, name).await.map_err(|status| status.message)?;
            return endpoint(&service, name, *port, &slices);
        }
        let host = address(&service, name, *port)?;
        let known = (entry.mod_revision, host.clone());
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(reference.clone(), known);
        Ok(host)
    }

    async fn slices_of(&self, namespace: &str, name: &str) -> StatusResult<Vec<Value>> {
        let Some(slices) = &self.slices else { return Ok(Vec::new()) };
        let labels = LabelSelector::parse(&format!("kubernetes.io/service-name={name}")).unwrap_or_default();
        let selection = Selection { namespace: namespace.to_owned(), labels, ..Selection::default() };
        let page = slices.list(&selection, Freshness::Any, &Paging::default()).await?;
        page.entries.iter().map(|entry| slices.decode(entry)).collect()
    }
}

impl Resolver for ServiceResolver {
    fn resolve<'a>(&'a self, service: &'a ServiceReference) -> BoxFuture<'a, Result<Host, String>> {
        Box::pin(self.find(service))
    }
}

/// The address that a Service itself has.
fn address(service: &Value, name: &str, port: u16) -> Result<Host, String> {
    let spec = |member: &str| service.text_at(&["spec", member]);
    match kind(service) {
        "ClusterIP" if spec("clusterIP") == "None" => {
            Err("cannot route to service with ClusterIP \"None\"".into())
        }
        "ClusterIP" | "LoadBalancer" | "NodePort" => {
            port_named(service, name, port)?;
            Ok(Host { name: spec("clusterIP").to_owned(), port })
        }
        "ExternalName" => Ok(Host { name: spec("externalName").to_owned(), port }),
        other => Err(format!("unsupported service type \"{other}\"")),
    }
}

/// One of those who are ready to answer for a Service, of its first address family if there is one.
fn endpoint(service: &Value, name: &str, port: u16, slices: &[Value]) -> Result<Host, String> {
    let kind = kind(service);
    if !matches!(kind, "ClusterIP" | "LoadBalancer" | "NodePort") {
        return Err(format!("unsupported service type \"{kind}\""));
    }
    let port_name = port_named(service, name, port)?;
    let family = service.at(&["spec", "ipFamilies"]).and_then(Value::as_array).and_then(|all| all.first());
    let family = family.and_then(Value::as_str).unwrap_or_default();
    let mut found: Vec<(bool, Host)> = Vec::new();
    for slice in slices {
        let ports = items(slice, "ports").iter().filter(|port| port.text_at(&["name"]) == port_name);
        let numbers = ports.filter_map(|port| u16::try_from(port.at(&["port"])?.as_i64()?).ok());
        for number in numbers {
            let ready = items(slice, "endpoints").iter().filter(|endpoint| {
                endpoint.at(&["conditions", "ready"]).and_then(Value::as_bool).unwrap_or(true)
            });
            let addresses = ready.filter_map(|endpoint| items(endpoint, "addresses").first()?.as_str());
            let preferred = slice.text_at(&["addressType"]) == family;
            found.extend(addresses.map(|ip| (preferred, Host { name: ip.to_owned(), port: number })));
        }
    }
    let any_preferred = found.iter().any(|(preferred, _)| *preferred);
    found.retain(|(preferred, _)| *preferred == any_preferred);
    if found.is_empty() {
        return Err(format!("no endpoints available for service \"{name}\""));
    }
    let at = random(found.len());
    Ok(found.swap_remove(at).1)
}

/// The name of the port with this number.
fn port_named<'a>(service: &'a Value, name: &str, port: u16) -> Result<&'a str, String> {
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    ports
        .iter()
        .find(|one| one.at(&["port"]).and_then(Value::as_i64) == Some(i64::from(port)))
        .map(|one| one.text_at(&["name"]))
        .ok_or_else(|| format!("no service port {port} found for service \"{name}\""))
}

fn kind(service: &Value) -> &str {
    match service.text_at(&["spec", "type"]) {
        "" => "ClusterIP",
        kind => kind,
    }
}

fn items<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.at(&[member]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn random(below: usize) -> usize {
    let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
    usize::try_from(number % below.max(1) as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn services_have_addresses() {
        let ports = r#""ports":[{"name":"https","port":443}]"#;
        for (spec, port, expected) in [
            (format!(r#""type":"ClusterIP","clusterIP":"10.0.0.5",{ports}"#), 443, Ok("10.0.0.5:443")),
            (format!(r#""clusterIP":"fd00::5",{ports}"#), 443, Ok("[fd00::5]:443")),
            (
                format!(r#""clusterIP":"10.0.0.5",{ports}"#),
                444,
                Err("no service port 444 found for service \"s\""),
            ),
            (r#""clusterIP":"None""#.into(), 443, Err("cannot route to service with ClusterIP \"None\"")),
            (r#""type":"ExternalName","externalName":"a.example""#.into(), 8443, Ok("a.example:8443")),
            (r#""type":"Odd""#.into(), 443, Err("unsupported service type \"Odd\"")),
        ] {
            let found = address(&json(&format!("{{\"spec\":{{{spec}}}}}")), "s", port);
            assert_eq!(found.map(|host| host.to_string()).as_deref().map_err(String::as_str), expected);
        }
    }

    #[test]
    fn endpoints_answer_for_services() {
        let service = json(
            r#"{"spec":{"clusterIP":"10.0.0.5","ipFamilies":["IPv4"],"ports":[{"name":"h","port":443}]}}"#,
        );
        let slice = |family: &str, port: &str, endpoints: &str| {
            json(&format!(
                r#"{{"addressType":"{family}","ports":[{{"name":"{port}","port":8443}}],"endpoints":[{endpoints}]}}"#
            ))
        };
        let ready = r#"{"addresses":["10.1.0.1","10.1.0.2"]}"#;
        let not_ready = r#"{"addresses":["10.1.0.3"],"conditions":{"ready":false}}"#;
        let sixth = r#"{"addresses":["fd00::1"],"conditions":{"ready":true}}"#;
        let none = Err("no endpoints available for service \"s\"");
        for (slices, expected) in [
            (vec![], none),
            (vec![slice("IPv4", "h", ready)], Ok("10.1.0.1:8443")),
            (vec![slice("IPv4", "other", ready)], none),
            (vec![slice("IPv4", "h", not_ready)], none),
            (vec![slice("IPv6", "h", sixth), slice("IPv4", "h", ready)], Ok("10.1.0.1:8443")),
            (vec![slice("IPv6", "h", sixth), slice("IPv4", "h", not_ready)], Ok("[fd00::1]:8443")),
        ] {
            let found = endpoint(&service, "s", 443, &slices).map(|host| host.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected);
        }
    }
}
