//! The objects that say which servers serve: Endpoints, and the EndpointSlice of the services' first family.

use std::collections::BTreeSet;
use std::net::IpAddr;

use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_registry::ObjectFacts;

use super::{NAME, NAMESPACE};

/// The endpoints are no slices' source: the slice is written beside them.
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
const SERVICE: &str = "kubernetes.io/service-name";
const PORT_NAME: &str = "https";

/// What the objects should say.
pub(super) struct Wanted {
    /// Of the family, each once, as texts sort.
    addresses: BTreeSet<String>,
    /// Whether the port is this server's alone to say: servers that cannot agree must not take turns.
    sets_port: bool,
    port: u16,
    family: IpAddr,
}

/// Whether a slice is the service's.
pub(super) fn is_of_service(facts: &ObjectFacts) -> bool {
    facts.label(SERVICE) == Some(NAME)
}

/// Whether a slice is the one that servers keep.
pub(super) fn is_ours(slice: &Value, family: IpAddr) -> bool {
    object::name(slice) == NAME && slice.text_at(&["addressType"]) == address_type(family)
}

impl Wanted {
    pub(super) fn new(members: &BTreeSet<String>, sets_port: bool, port: u16, family: IpAddr) -> Self {
        let fits = |text: &&String| text.parse().is_ok_and(|ip: IpAddr| ip.is_ipv4() == family.is_ipv4());
        Self { addresses: members.iter().filter(fits).cloned().collect(), sets_port, port, family }
    }

    /// Whether Endpoints are so.
    pub(super) fn are_endpoints(&self, value: &Value) -> bool {
        let mut set = value.clone();
        self.set_endpoints(&mut set);
        set == *value
    }

    /// Whether a slice is so.
    pub(super) fn is_slice(&self, value: &Value) -> bool {
        let mut set = value.clone();
        self.set_slice(&mut set);
        set == *value
    }

    /// The Endpoints.
    pub(super) fn endpoints(&self) -> Value {
        let mut value = named("Endpoints", "v1");
        self.set_endpoints(&mut value);
        value
    }

    /// The slice.
    pub(super) fn slice(&self) -> Value {
        let mut value = named("EndpointSlice", "discovery.k8s.io/v1");
        if let Some(members) = value.as_object_mut() {
            members.push("addressType", address_type(self.family));
        }
        self.set_slice(&mut value);
        value
    }

    /// Makes Endpoints say what they should. A subset without addresses is none.
    pub(super) fn set_endpoints(&self, value: &mut Value) {
        set_labels(value, (SKIP_MIRROR, "true"));
        let subsets = value.get("subsets").and_then(Value::as_array).filter(|subsets| subsets.len() == 1);
        let ports =
            self.ports(subsets.and_then(|subsets| subsets[0].get("ports")), ["name", "port", "protocol"]);
        let Some(members) = value.as_object_mut() else { return };
        if self.addresses.is_empty() {
            members.remove("subsets");
            return;
        }
        let address = |ip: &String| Value::from(Object::from_iter([("ip", ip.as_str())]));
        let mut subset = Object::new();
        subset.push("addresses", self.addresses.iter().map(address).collect::<Vec<_>>());
        subset.push("ports", ports);
        members.insert("subsets", vec![subset.into()]);
    }

    /// Makes a slice say what it should.
    pub(super) fn set_slice(&self, value: &mut Value) {
        set_labels(value, (SERVICE, NAME));
        let ports = self.ports(value.get("ports"), ["name", "protocol", "port"]);
        let Some(members) = value.as_object_mut() else { return };
        let endpoint = |ip: &String| {
            let mut endpoint = Object::new();
            endpoint.push("addresses", vec![ip.as_str().into()]);
            endpoint.push("conditions", Object::from_iter([("ready", true)]));
            Value::from(endpoint)
        };
        // A list that became empty is stored as none, and is not written again and again.
        if !self.addresses.is_empty() || members.get("endpoints").is_none_or(|there| !there.is_null()) {
            members.insert("endpoints", self.addresses.iter().map(endpoint).collect::<Vec<_>>());
        }
        members.insert("ports", ports);
    }

    /// The ports: those that there are, or this server's, its members in this order.
    fn ports(&self, there: Option<&Value>, order: [&str; 3]) -> Vec<Value> {
        match there.and_then(Value::as_array) {
            Some(there) if !there.is_empty() && !self.sets_port => there.clone(),
            _ => {
                let member = |name: &str| match name {
                    "port" => i64::from(self.port).into(),
                    "protocol" => "TCP".into(),
                    _ => Value::from(PORT_NAME),
                };
                vec![Object::from_iter(order.map(|name| (name, member(name)))).into()]
            }
        }
    }
}

fn named(kind: &str, api_version: &str) -> Value {
    let metadata = Object::from_iter([("name", NAME), ("namespace", NAMESPACE)]);
    let mut members = Object::from_iter([("kind", kind), ("apiVersion", api_version)]);
    members.push("metadata", metadata);
    members.into()
}

fn set_labels(value: &mut Value, (key, label): (&str, &str)) {
    object::set(value, "labels", Object::from_iter([(key, label)]));
}

fn address_type(family: IpAddr) -> &'static str {
    if family.is_ipv4() { "IPv4" } else { "IPv6" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        apiwright_json::decode(json.as_bytes()).unwrap().0
    }

    fn wanted(members: &[&str], sets_port: bool) -> Wanted {
        let members = members.iter().map(|&one| one.to_owned()).collect();
        Wanted::new(&members, sets_port, 6443, IpAddr::from([10, 0, 0, 1]))
    }

    #[test]
    #[rustfmt::skip]
    fn endpoints() {
        let head = r#""kind":"Endpoints","apiVersion":"v1","metadata":{"name":"kubernetes","namespace":"default","labels":{"endpointslice.kubernetes.io/skip-mirror":"true"}}"#;
        let subset = |addresses: &str, port: u16| {
            format!(r#"{{{head},"subsets":[{{"addresses":[{addresses}],"ports":[{{"name":"https","port":{port},"protocol":"TCP"}}]}}]}}"#)
        };
        let (one, both) = (subset(r#"{"ip":"192.0.2.1"}"#, 6443), subset(r#"{"ip":"192.0.2.1"},{"ip":"192.0.2.2"}"#, 6443));
        let (other, none) = (subset(r#"{"ip":"192.0.2.1"}"#, 443), format!("{{{head}}}"));
        let shared = subset(r#"{"ip":"192.0.2.1"},{"ip":"192.0.2.2"}"#, 443);
        let others = r#"{"kind":"Endpoints","apiVersion":"v1","metadata":{"name":"kubernetes","namespace":"default","labels":{"a":"b"}},"subsets":[{"addresses":[{"ip":"192.0.2.9"}]},{"addresses":[{"ip":"192.0.2.8"}]}]}"#;
        // The members, whether the port is theirs to say, what is there, what is made of it.
        let table: [(&[&str], bool, &str, &str); 9] = [
            (&["192.0.2.1"], true, &none, &one),
            (&["192.0.2.1"], true, &other, &one),
            (&["192.0.2.1", "192.0.2.2"], false, &one, &both),
            (&["192.0.2.1", "192.0.2.2"], false, &other, &shared),
            (&["192.0.2.2", "192.0.2.1"], false, others, &both),
            // Other families are left out.
            (&["192.0.2.1", "2001:db8::1"], false, &one, &one),
            (&["2001:db8::1"], false, &one, &none),
            (&[], false, &both, &none),
            (&[], true, &none, &none),
        ];
        for (members, sets_port, there, expected) in table {
            let wanted = wanted(members, sets_port);
            let mut set = value(there);
            assert_eq!(wanted.are_endpoints(&set), there == expected, "{members:?} {there}");
            wanted.set_endpoints(&mut set);
            assert_eq!(apiwright_json::to_string(&set), expected, "{members:?} {there}");
        }
        assert_eq!(wanted(&["192.0.2.1"], true).endpoints(), value(&one));
    }

    #[test]
    #[rustfmt::skip]
    fn slices() {
        let slice = |endpoints: &str, port: u16| format!(
            r#"{{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{{"name":"kubernetes","namespace":"default","labels":{{"kubernetes.io/service-name":"kubernetes"}}}},"addressType":"IPv4","endpoints":[{endpoints}],"ports":[{{"name":"https","protocol":"TCP","port":{port}}}]}}"#);
        let of = |ip: &str| format!(r#"{{"addresses":["{ip}"],"conditions":{{"ready":true}}}}"#);
        let one = slice(&of("192.0.2.1"), 6443);
        let both = slice(&format!("{},{}", of("192.0.2.1"), of("192.0.2.2")), 6443);
        let (other, none) = (slice(&of("192.0.2.1"), 443), slice("", 6443));
        let stored_none = none.replace(r#""endpoints":[]"#, r#""endpoints":null"#);
        let table: [(&[&str], bool, &str, &str); 5] = [
            (&[], false, &stored_none, &stored_none),
            (&["192.0.2.1"], true, &other, &one),
            (&["192.0.2.1"], false, &other, &other),
            (&["192.0.2.2", "192.0.2.1"], false, &one, &both),
            (&[], false, &one, &none),
        ];
        for (members, sets_port, there, expected) in table {
            let wanted = wanted(members, sets_port);
            let mut set = value(there);
            assert_eq!(wanted.is_slice(&set), there == expected, "{members:?} {there}");
            wanted.set_slice(&mut set);
            assert_eq!(apiwright_json::to_string(&set), expected, "{members:?} {there}");
        }
        assert_eq!(wanted(&["192.0.2.1"], true).slice(), value(&one));
        let v6 = IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
        assert!(is_ours(&value(&one), IpAddr::from([0, 0, 0, 0])) && !is_ours(&value(&one), v6));
    }
}
