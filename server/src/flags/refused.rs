//! kube-apiserver's flags that are not supported yet, each with its reason.

/// A flag of upstream's.
struct Refused {
    /// Without the dashes.
    name: &'static str,
    /// What is missing.
    because: &'static str,
    /// Values that say what is so anyway: with one of them the flag is taken.
    harmless: &'static [&'static str],
    /// Whether it takes no value but behind an equals sign.
    boolean: bool,
}

const fn value(name: &'static str, because: &'static str) -> Refused {
    Refused { name, because, harmless: &[], boolean: false }
}

const fn settled(name: &'static str, because: &'static str, harmless: &'static [&'static str]) -> Refused {
    Refused { name, because, harmless, boolean: false }
}

const fn boolean(name: &'static str, because: &'static str, harmless: &'static [&'static str]) -> Refused {
    Refused { name, because, harmless, boolean: true }
}

const NO_KUBELET: &str = "kubelets are not called";
const NO_TRACING: &str = "there is no tracing";
const NO_PEERS: &str = "replicas do not proxy to each other";
const NO_LEASES: &str = "servers do not keep identity leases";
const NO_ETCD_TUNING: &str = "the engine tunes itself";
const NO_LOG_TUNING: &str = "log lines are written as they come";
const NO_METRIC_TUNING: &str = "all metrics are shown as they are";
const NO_COORDINATION: &str = "there is no coordinated leader election";
const CACHE: &str = "reads come from memory always, and the watch window sizes itself";

/// All of them, by name.
const REFUSED: &[Refused] = &[
    value("admission-control-config-file", "admission plugins take no configuration files"),
    value("admission-control", "use --enable-admission-plugins"),
    boolean(
        "aggregator-reject-forwarding-redirect",
        "redirects of aggregated servers are always refused",
        &["true"],
    ),
    value("allow-metric-labels", NO_METRIC_TUNING),
    value("allow-metric-labels-manifest", NO_METRIC_TUNING),
    boolean("allow-privileged", "privileged containers are always allowed", &["true"]),
    value("authorization-policy-file", "there is no attribute-based access control"),
    boolean("contention-profiling", "there is no profiling", &["false"]),
    value("coordinated-leadership-lease-duration", NO_COORDINATION),
    value("coordinated-leadership-renew-deadline", NO_COORDINATION),
    value("coordinated-leadership-retry-period", NO_COORDINATION),
    value("debug-socket-path", "there is no profiling"),
    value("default-watch-cache-size", CACHE),
    value("delete-collection-workers", "collections are deleted by one worker"),
    value("disabled-metrics", NO_METRIC_TUNING),
    value("egress-selector-config-file", "calls go out directly"),
    value("emulated-version", "only one version is served"),
    boolean("emulation-forward-compatible", "only one version is served", &["false"]),
    boolean("enable-garbage-collector", "use --controllers", &["true"]),
    boolean("enable-logs-handler", "logs are not served", &["false"]),
    value("etcd-count-metric-poll-period", NO_ETCD_TUNING),
    value("etcd-db-metric-poll-interval", NO_ETCD_TUNING),
    value("etcd-readycheck-timeout", NO_ETCD_TUNING),
    value("etcd-servers-overrides", "all resources are in one store"),
    value("external-hostname", "use --advertise-address"),
    settled("goaway-chance", "connections are kept", &["0"]),
    value("identity-lease-duration-seconds", NO_LEASES),
    value("identity-lease-renew-interval-seconds", NO_LEASES),
    value("kubelet-certificate-authority", NO_KUBELET),
    value("kubelet-client-certificate", NO_KUBELET),
    value("kubelet-client-key", NO_KUBELET),
    value("kubelet-port", NO_KUBELET),
    value("kubelet-preferred-address-types", NO_KUBELET),
    value("kubelet-read-only-port", NO_KUBELET),
    value("kubelet-timeout", NO_KUBELET),
    settled("kubernetes-service-node-port", "the kubernetes service has no node port", &["0"]),
    value("lease-reuse-duration-seconds", NO_ETCD_TUNING),
    settled("livez-grace-period", "liveness has no grace period", &["0", "0s"]),
    value("log-flush-frequency", NO_LOG_TUNING),
    value("log-json-info-buffer-size", NO_LOG_TUNING),
    boolean("log-json-split-stream", NO_LOG_TUNING, &["false"]),
    value("log-text-info-buffer-size", NO_LOG_TUNING),
    boolean("log-text-split-stream", NO_LOG_TUNING, &["false"]),
    value("max-connection-bytes-per-sec", "connections are not throttled"),
    value("peer-advertise-ip", NO_PEERS),
    value("peer-advertise-port", NO_PEERS),
    value("peer-ca-file", NO_PEERS),
    boolean("permit-address-sharing", "the port is ours alone", &["false"]),
    boolean("permit-port-sharing", "the port is ours alone", &["false"]),
    boolean("profiling", "there is no profiling", &["false"]),
    boolean("runtime-config-emulation-forward-compatible", "only one version is served", &["false"]),
    boolean("service-account-lookup", "service accounts are always looked up", &["true"]),
    value("service-account-signing-endpoint", "tokens are signed with a key in a file"),
    value("show-hidden-metrics-for-version", NO_METRIC_TUNING),
    boolean("shutdown-send-retry-after", "connections are told to go away instead", &["false"]),
    settled("shutdown-watch-termination-grace-period", "watches end when the drain begins", &["0", "0s"]),
    settled("storage-backend", "use --storage", &["etcd3"]),
    value("storage-initialization-timeout", "storage is ready at once or not at all"),
    settled("storage-media-type", "objects are stored as JSON", &["application/json"]),
    value("strict-transport-security-directives", "the header is not sent"),
    value("tls-curve-preferences", "the curves are those that are safe"),
    value("tracing-config-file", NO_TRACING),
    value("vmodule", "use --v"),
    boolean("watch-cache", CACHE, &["true"]),
    value("watch-cache-sizes", CACHE),
];

/// The arguments without flags of this table whose values say what is so anyway.
///
/// # Errors
/// For the first flag of this table with another value.
pub(super) fn without_harmless(arguments: Vec<String>) -> Result<Vec<String>, String> {
    let mut kept = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        let Some(refused) = name.strip_prefix("--").and_then(find) else {
            kept.push(argument);
            continue;
        };
        let value = value.or_else(|| if refused.boolean { Some("true".into()) } else { rest.next() });
        if !value.is_some_and(|value| refused.harmless.contains(&value.as_str())) {
            return Err(format!("--{} is not supported yet: {}", refused.name, refused.because));
        }
    }
    Ok(kept)
}

fn find(name: &str) -> Option<&'static Refused> {
    REFUSED.iter().find(|refused| refused.name == name)
}

/// The known flag that is nearest to a misspelt one, supported or not, if any is near.
pub(super) fn nearest<'a>(misspelt: &str, supported: impl Iterator<Item = &'a str>) -> Option<String> {
    let refused = REFUSED.iter().map(|refused| format!("--{}", refused.name));
    supported
        .map(str::to_owned)
        .chain(refused)
        .map(|known| (distance(misspelt, &known), known))
        .filter(|(distance, known)| *distance <= known.len() / 5)
        .min()
        .map(|(_, known)| known)
}

/// How many letters must be added, taken or changed to make one of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("abc", "acb", 2)] {
            assert_eq!(distance(a, b), expected);
        }
    }

    #[test]
    fn names_are_there_once() {
        let mut names: Vec<&str> = REFUSED.iter().map(|refused| refused.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REFUSED.len());
    }
}
