//! What makes a Service valid, beyond its families and addresses: those were checked when the
//! addresses were reserved.

use std::collections::HashSet;

use apiwright_json::Value;
use apiwright_meta::address::{validate_legacy_cidr, validate_legacy_ip};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::labels::validate_labels;
use apiwright_meta::{ErrorList, Path, names, object};

use super::address_rules;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::ip::special_ip;
use crate::hooks::shared::ports::port_number_or_name;
use crate::services::spec::{Spec, number};

const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const BALANCER_ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameNode", "PreferSameZone"];
const KUBELET_PORT: i64 = 10_250;
const AFFINITY_SECONDS_MAX: i64 = 86_400;

/// The faults of a Service; those that `old` had as well count where rules became stricter.
pub(super) fn service(service: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    all(service, old, &mut Faults::take(errors, &Path::new("spec")));
}

fn all(service: &Value, old: Option<&Value>, errors: &mut Faults<'_>) {
    let spec = Spec::of(service);
    let path = Path::new("spec");
    topology(service, errors);
    if spec.items("ports").is_empty() && !spec.is_headless() && !spec.is_external_name() {
        errors.required(path.child("ports"), "");
    }
    by_type(spec, &path, errors);
    ports(spec, &path.child("ports"), errors);
    if let Some(selector) = spec.get("selector").and_then(Value::as_object) {
        errors.append(validate_labels(selector, &path.child("selector")));
    }
    errors.declared(&path.child("sessionAffinity"));
    affinity(spec, &path, errors);
    external_addresses(spec, old.map(Spec::of), &path.child("externalIPs"), errors);
    errors.declared(&path.child("type"));
    unique_ports(spec, &path.child("ports"), errors);
    source_ranges(service, spec, &path, errors);
    if spec.get("allocateLoadBalancerNodePorts").is_some() && !spec.is_load_balancer() {
        errors.forbidden(path.child("allocateLoadBalancerNodePorts"), BALANCER_ONLY);
    }
    balancer_class(spec, &path, errors);
    traffic(spec, &path, errors);
}

/// The faults of an update.
pub(super) fn update(new: &Value, old: &Value, errors: &mut ErrorList) {
    let (spec, before) = (Spec::of(new), Spec::of(old));
    let path = Path::new("spec");
    let errors = &mut Faults::take(errors, &path);
    if !spec.is_external_name() && !before.is_external_name() {
        address_rules::update(spec, before, errors);
    }
    if spec.is_load_balancer() && before.is_load_balancer() {
        let class = path.child("loadBalancerClass");
        if spec.get("loadBalancerClass") != before.get("loadBalancerClass") {
            errors.invalid(class, shown(spec.get("loadBalancerClass")), "may not change once set");
        }
    }
    // Upstream checks it here, and again with everything else.
    balancer_class(spec, &path, errors);
    let check = "healthCheckNodePort";
    if spec.needs_health_check() && before.needs_health_check() && spec.number(check) != before.number(check)
    {
        errors.forbidden(path.child(check), "field is immutable");
    }
    all(new, Some(old), errors);
}

/// The faults of a status.
pub(super) fn status(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("status").child("loadBalancer").child("ingress");
    let ingress = object.at(&["status", "loadBalancer", "ingress"]).and_then(Value::as_array);
    let ingress = ingress.map(Vec::as_slice).unwrap_or_default();
    if !ingress.is_empty() && !Spec::of(object).is_load_balancer() {
        errors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    for (at, one) in ingress.iter().enumerate() {
        address_rules::ingress(one, &path.index(at), errors);
    }
}

fn topology(service: &Value, errors: &mut ErrorList) {
    let (hints, mode) =
        (object::annotation(service, TOPOLOGY_HINTS), object::annotation(service, TOPOLOGY_MODE));
    if let (Some(hints), Some(mode)) = (hints, mode)
        && hints != mode
    {
        let path = Path::new("metadata").child("annotations").key(TOPOLOGY_MODE);
        let why = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.invalid(path, quoted(mode), &why);
    }
}

fn by_type(spec: Spec<'_>, path: &Path, errors: &mut ErrorList) {
    let kind = spec.kind();
    if spec.is_load_balancer() {
        for (at, _) in
            spec.items("ports").iter().enumerate().filter(|(_, port)| number(port, "port") == KUBELET_PORT)
        {
            let why = format!("may not expose port {KUBELET_PORT} externally since it is used by kubelet");
            errors.invalid(path.child("ports").index(at), KUBELET_PORT, &why);
        }
    }
    if spec.has_node_ports() && spec.is_headless() {
        let why = format!("may not be set to 'None' for {kind} services");
        errors.invalid(path.child("clusterIPs").index(0), quoted("None"), &why);
    }
    if !spec.is_external_name() {
        return;
    }
    for member in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if spec.get(member).is_some() {
            errors.forbidden(path.child(member), "may not be set for ExternalName services");
        }
    }
    let name = spec.text("externalName");
    match name.strip_suffix('.').unwrap_or(name) {
        "" => errors.required(path.child("externalName"), ""),
        name => errors.invalid_each(&path.child("externalName"), name, names::dns1123_subdomain(name)),
    }
}

fn ports(spec: Spec<'_>, path: &Path, errors: &mut Faults<'_>) {
    let ports = spec.items("ports");
    let mut seen = HashSet::new();
    for (at, port) in ports.iter().enumerate() {
        let path = path.index(at);
        match port.text_at(&["name"]) {
            "" if ports.len() > 1 => errors.required(path.child("name"), ""),
            "" => {}
            name => {
                errors.invalid_each(&path.child("name"), name, names::dns1123_label(name));
                if !seen.insert(name) {
                    errors.duplicate(path.child("name"), quoted(name));
                }
            }
        }
        for why in names::port_num(number(port, "port")) {
            errors.invalid(path.child("port"), number(port, "port"), &why);
        }
        errors.declared(&path.child("protocol"));
        port_number_or_name(port.get("targetPort"), &path.child("targetPort"), errors);
        if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
            errors.invalid_each(&path.child("appProtocol"), protocol, names::qualified_name(protocol));
        }
    }
}

fn affinity(spec: Spec<'_>, path: &Path, errors: &mut ErrorList) {
    let path = path.child("sessionAffinityConfig");
    let config = spec.get("sessionAffinityConfig");
    if spec.text("sessionAffinity") == "None" && config.is_some() {
        errors.forbidden(path.clone(), "must not be set when session affinity is None");
    }
    if spec.text("sessionAffinity") == "ClientIP" {
        let seconds =
            config.and_then(|config| config.at(&["clientIP", "timeoutSeconds"])).and_then(Value::as_i64);
        let path = path.child("clientIP").child("timeoutSeconds");
        match seconds {
            None => errors.required(path, "when session affinity type is ClientIP"),
            Some(seconds) if !(1..=AFFINITY_SECONDS_MAX).contains(&seconds) => {
                let why = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
                errors.invalid(path, seconds, &why);
            }
            Some(_) => {}
        }
    }
}

/// Addresses that were there before the rules became stricter stay.
fn external_addresses(spec: Spec<'_>, old: Option<Spec<'_>>, path: &Path, errors: &mut ErrorList) {
    let known = old.map(|old| old.texts("externalIPs")).unwrap_or_default();
    for (at, address) in spec.texts("externalIPs").into_iter().enumerate() {
        let path = path.index(at);
        let faults = validate_legacy_ip(&path, address);
        if faults.is_empty() || known.contains(&address) {
            special_ip(address, &path, errors);
        } else {
            errors.append(faults);
        }
    }
}

fn unique_ports(spec: Spec<'_>, path: &Path, errors: &mut ErrorList) {
    let ports = spec.items("ports");
    let (mut node_ports, mut seen) = (HashSet::new(), HashSet::new());
    for (at, port) in ports.iter().enumerate() {
        if number(port, "nodePort") != 0 && spec.kind() == "ClusterIP" {
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.forbidden(path.index(at).child("nodePort"), why);
        }
    }
    for (at, port) in ports.iter().enumerate() {
        let node_port = number(port, "nodePort");
        if node_port != 0 && !node_ports.insert((port.text_at(&["protocol"]), node_port)) {
            errors.duplicate(path.index(at).child("nodePort"), node_port);
        }
    }
    for (at, port) in ports.iter().enumerate() {
        let (protocol, number) = (port.text_at(&["protocol"]), number(port, "port"));
        if !seen.insert((protocol, number)) {
            let protocol = quoted(protocol);
            // As Go's encoder prints a struct of its own, without tags.
            let value = format!(
                "{{\"Name\":\"\",\"Protocol\":{protocol},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            );
            errors.duplicate(path.index(at), value);
        }
    }
}

fn source_ranges(service: &Value, spec: Spec<'_>, path: &Path, errors: &mut ErrorList) {
    let ranges = spec.texts("loadBalancerSourceRanges");
    let path = if ranges.is_empty() {
        Path::new("metadata").child("annotations").key(SOURCE_RANGES)
    } else {
        path.child("LoadBalancerSourceRanges")
    };
    let annotation = object::annotation(service, SOURCE_RANGES).filter(|_| ranges.is_empty());
    if (!ranges.is_empty() || annotation.is_some()) && !spec.is_load_balancer() {
        errors.forbidden(path.clone(), BALANCER_ONLY);
    }
    for (at, range) in ranges.iter().enumerate() {
        errors.append(validate_legacy_cidr(&path.index(at), range.trim()));
    }
    let texts = annotation.map(str::trim).filter(|text| !text.is_empty());
    for range in texts.into_iter().flat_map(|text| text.split(',')) {
        errors.append(validate_legacy_cidr(&path, range.trim()));
    }
}

fn balancer_class(spec: Spec<'_>, path: &Path, errors: &mut ErrorList) {
    let path = path.child("loadBalancerClass");
    match spec.get("loadBalancerClass").and_then(Value::as_str) {
        Some(class) if spec.is_load_balancer() => {
            errors.invalid_each(&path, class, names::qualified_name(class));
        }
        Some(_) => errors.forbidden(path, BALANCER_ONLY),
        None => {}
    }
}

fn traffic(spec: Spec<'_>, path: &Path, errors: &mut Faults<'_>) {
    let policy = spec.text("externalTrafficPolicy");
    let external = path.child("externalTrafficPolicy");
    match policy {
        "" if spec.is_external() => errors.required(external, ""),
        "" => {}
        _ if !spec.is_external() => {
            errors.invalid(external, quoted(policy), "may only be set for externally-accessible services");
        }
        "Cluster" | "Local" => {}
        _ => errors.not_supported(external, quoted(policy), &["Cluster", "Local"]),
    }
    let check = path.child("healthCheckNodePort");
    let port = spec.number("healthCheckNodePort");
    if !spec.needs_health_check() {
        if port != 0 {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.invalid(check, port, why);
        }
    } else if port == 0 {
        errors.required(check, "");
    } else {
        for why in names::port_num(port) {
            errors.invalid(check.clone(), port, &why);
        }
    }
    if spec.get("internalTrafficPolicy").is_none() && !spec.is_external_name() {
        errors.required(path.child("internalTrafficPolicy"), "");
    }
    errors.declared(&path.child("internalTrafficPolicy"));
    let distribution = spec.get("trafficDistribution").and_then(Value::as_str);
    if let Some(other) = distribution.filter(|one| !DISTRIBUTIONS.contains(one)) {
        errors.not_supported(path.child("trafficDistribution"), quoted(other), &DISTRIBUTIONS);
    }
}

fn shown(value: Option<&Value>) -> String {
    go_value(value.unwrap_or(&Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(spec: &str) -> Value {
        apiwright_json::decode(format!("{{\"spec\":{spec}}}").as_bytes()).unwrap().0
    }

    #[test]
    fn faults_of_services() {
        let table = [
            (r#"{"type":"ExternalName","externalName":"a.example."}"#, "[]"),
            (r#"{"type":"ExternalName"}"#, "spec.externalName: Required value"),
            (
                r#"{"type":"ClusterIP","internalTrafficPolicy":"Cluster","ports":[{"port":80,"targetPort":"8080"}]}"#,
                "spec.ports[0].targetPort: Invalid value: \"8080\": must contain at least one letter (a-z)",
            ),
            (r#"{"type":"ClusterIP","internalTrafficPolicy":"Cluster"}"#, "spec.ports: Required value"),
            (
                r#"{"type":"ClusterIP","clusterIPs":["None"],"internalTrafficPolicy":"Cluster","ports":[{"name":"a","port":1,"targetPort":1,"protocol":"TCP"},{"name":"b","port":1,"targetPort":1,"protocol":"TCP"}]}"#,
                "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":1,\"TargetPort\":0,\"NodePort\":0}",
            ),
            (
                r#"{"type":"ClusterIP","clusterIPs":["None"],"internalTrafficPolicy":"Cluster","sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":0}}}"#,
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400",
            ),
            (
                r#"{"type":"ClusterIP","clusterIPs":["None"],"internalTrafficPolicy":"Cluster","externalIPs":["127.0.0.1"],"externalTrafficPolicy":"Cluster"}"#,
                "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            ),
        ];
        for (spec, expected) in table {
            let mut errors = ErrorList::new();
            service(&object(spec), None, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
