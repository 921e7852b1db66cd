//! A Service's spec, read.

use std::net::IpAddr;

use apiwright_json::{Object, Value};
use apiwright_meta::address::parse_ip;
use apiwright_meta::field::go_value;

/// What `clusterIP` says where a service has no address.
pub(crate) const HEADLESS: &str = "None";

/// The spec of a Service in normal form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec<'a>(&'a Object);

impl<'a> Spec<'a> {
    /// The spec of a Service; an empty one where there is none.
    pub(crate) fn of(service: &'a Value) -> Self {
        static EMPTY: Object = Object::new();
        Self(service.get("spec").and_then(Value::as_object).unwrap_or(&EMPTY))
    }

    /// A member that is a text; empty where it is absent.
    pub(crate) fn text(self, member: &str) -> &'a str {
        self.0.str(member).unwrap_or_default()
    }

    /// A member, where there is one.
    pub(crate) fn get(self, member: &str) -> Option<&'a Value> {
        self.0.get(member)
    }

    /// A member that is a number; 0 where it is absent.
    pub(crate) fn number(self, member: &str) -> i64 {
        self.0.get(member).and_then(Value::as_i64).unwrap_or_default()
    }

    /// The texts of a list.
    pub(crate) fn texts(self, member: &str) -> Vec<&'a str> {
        self.items(member).iter().filter_map(Value::as_str).collect()
    }

    /// The items of a list.
    pub(crate) fn items(self, member: &str) -> &'a [Value] {
        self.0.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// `type`.
    pub(crate) fn kind(self) -> &'a str {
        self.text("type")
    }

    /// Whether it is a name for something elsewhere.
    pub(crate) fn is_external_name(self) -> bool {
        self.kind() == "ExternalName"
    }

    /// Whether it is a load balancer.
    pub(crate) fn is_load_balancer(self) -> bool {
        self.kind() == "LoadBalancer"
    }

    /// Whether it has no cluster address by its own wish.
    pub(crate) fn is_headless(self) -> bool {
        matches!(self.items("clusterIPs"), [only] if only.as_str() == Some(HEADLESS))
    }

    /// Whether it has node ports.
    pub(crate) fn has_node_ports(self) -> bool {
        matches!(self.kind(), "NodePort" | "LoadBalancer")
    }

    /// Whether it is reached from outside of the cluster.
    pub(crate) fn is_external(self) -> bool {
        self.has_node_ports() || self.kind() == "ClusterIP" && !self.items("externalIPs").is_empty()
    }

    /// Whether load balancers ask a port of its own which nodes have endpoints.
    pub(crate) fn needs_health_check(self) -> bool {
        self.is_load_balancer() && self.text("externalTrafficPolicy") == "Local"
    }

    /// Whether there are pods that it selects.
    pub(crate) fn has_selector(self) -> bool {
        self.0.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty())
    }

    /// The addresses that it holds.
    pub(crate) fn addresses(self) -> Vec<IpAddr> {
        if self.is_external_name() {
            return Vec::new();
        }
        self.texts("clusterIPs").into_iter().filter_map(parse_ip).collect()
    }

    /// The node ports that its ports have.
    pub(crate) fn node_ports(self) -> Vec<i64> {
        self.items("ports").iter().map(|port| number(port, "nodePort")).filter(|port| *port != 0).collect()
    }
}

/// A number of a port; 0 where it is absent.
pub(crate) fn number(port: &Value, member: &str) -> i64 {
    port.get(member).and_then(Value::as_i64).unwrap_or_default()
}

/// A list as errors show it.
pub(crate) fn list(spec: Spec<'_>, member: &str) -> String {
    go_value(spec.get(member).unwrap_or(&Value::Null))
}

/// The spec, to change.
pub(crate) fn spec_mut(service: &mut Value) -> Option<&mut Object> {
    service.as_object_mut().map(|service| service.object("spec"))
}

/// Sets a list of texts; an empty one is absent.
pub(crate) fn set_texts(service: &mut Value, member: &str, texts: &[&str]) {
    let list: Vec<Value> = texts.iter().map(|text| Value::from(*text)).collect();
    let Some(spec) = spec_mut(service) else { return };
    if list.is_empty() {
        spec.remove(member);
    } else {
        spec.insert(member, list);
    }
}

/// Sets a text; an empty one is absent.
pub(crate) fn set_text(service: &mut Value, member: &str, text: &str) {
    let Some(spec) = spec_mut(service) else { return };
    if text.is_empty() {
        spec.remove(member);
    } else {
        spec.insert(member, text);
    }
}
