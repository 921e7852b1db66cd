//! What the writer of a Service is warned of.

use apiwright_json::Value;
use apiwright_meta::address::{warn_of_cidr, warn_of_ip};
use apiwright_meta::{Path, object};

use crate::services::spec::{HEADLESS, Spec};

/// The warnings.
pub(super) fn of(service: &Value) -> Vec<String> {
    let spec = Spec::of(service);
    let mut warnings = Vec::new();
    let mut warn = |text: &str| warnings.push(text.to_owned());
    if object::annotation(service, "service.kubernetes.io/topology-aware-hints").is_some() {
        warn(
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
        );
    }
    let headless = spec.kind() == "ClusterIP" && spec.text("clusterIP") == HEADLESS;
    let external = !spec.items("externalIPs").is_empty();
    let path = Path::new("spec");
    if !matches!(spec.text("clusterIP"), "" | HEADLESS) {
        warnings.extend(addresses(spec, "clusterIPs"));
    }
    let mut warn = |when: bool, text: &str| warnings.extend(when.then(|| text.to_owned()));
    if headless {
        warn(!spec.text("loadBalancerIP").is_empty(), "spec.loadBalancerIP is ignored for headless services");
        warn(external, "spec.externalIPs is ignored for headless services");
        warn(spec.text("sessionAffinity") != "None", "spec.SessionAffinity is ignored for headless services");
    }
    warnings.extend(addresses(spec, "externalIPs"));
    let mut warn = |when: bool, text: &str| warnings.extend(when.then(|| text.to_owned()));
    warn(
        external && !headless && !spec.is_external_name(),
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    );
    if !spec.text("loadBalancerIP").is_empty() {
        warnings.extend(warn_of_ip(&path.child("loadBalancerIP"), spec.text("loadBalancerIP")));
    }
    for (at, cidr) in spec.texts("loadBalancerSourceRanges").into_iter().enumerate() {
        warnings.extend(warn_of_cidr(&path.child("loadBalancerSourceRanges").index(at), cidr));
    }
    let mut warn = |when: bool, text: &str| warnings.extend(when.then(|| text.to_owned()));
    warn(
        external && spec.is_external_name(),
        "spec.externalIPs is ignored when spec.type is \"ExternalName\"",
    );
    warn(
        !spec.is_external_name() && !spec.text("externalName").is_empty(),
        "spec.externalName is ignored when spec.type is not \"ExternalName\"",
    );
    warn(
        spec.text("trafficDistribution") == "PreferClose",
        "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
    );
    warnings
}

fn addresses(spec: Spec<'_>, member: &str) -> Vec<String> {
    let path = Path::new("spec").child(member);
    let addresses = spec.texts(member).into_iter().enumerate();
    addresses.filter_map(|(at, address)| warn_of_ip(&path.index(at), address)).collect()
}
