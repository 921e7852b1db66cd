//! What objects of a kind count as: their number under `count/…`, and what some kinds use besides.

use apiwright_json::Value;
use apiwright_meta::GroupResource;
use apiwright_meta::quantity::{Format, Quantity};

use super::pods;
use crate::attributes::{Attributes, Operation};
use crate::plugins::values::{ResourceList, items, resource_list, text};

/// How one resource's objects are counted.
pub(crate) struct Evaluator {
    pub(crate) kind: Counted,
    /// `count/deployments.apps`.
    count: String,
}

/// The kinds that count for more than their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Pods,
    Services,
    Claims,
    /// Also under its bare name.
    Plain(&'static str),
    Other,
}

pub(crate) const PLAIN: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];
const SERVICES: [&str; 3] = ["services", "services.nodeports", "services.loadbalancers"];
pub(crate) const CLAIMS: &str = "persistentvolumeclaims";
const STORAGE: &str = "requests.storage";
const OF_STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";

impl Evaluator {
    /// Of a request's resource.
    pub(crate) fn of(request: &Attributes<'_>) -> Self {
        Self::new(&request.group_resource())
    }

    /// Of a resource.
    pub(crate) fn new(resource: &GroupResource) -> Self {
        let kind = match (&*resource.group, &*resource.resource) {
            ("", "pods") => Counted::Pods,
            ("", "services") => Counted::Services,
            ("", CLAIMS) => Counted::Claims,
            ("", plural) => {
                PLAIN.iter().find(|one| **one == plural).map_or(Counted::Other, |one| Counted::Plain(one))
            }
            _ => Counted::Other,
        };
        Self { kind, count: format!("count/{resource}") }
    }

    /// Whether a request can change what is used.
    pub(crate) fn handles(&self, request: &Attributes<'_>) -> bool {
        matches!(
            (self.kind, request.operation, request.subresource),
            (_, Operation::Create, "")
                | (Counted::Services | Counted::Claims, Operation::Update, "")
                | (Counted::Pods, Operation::Update, "resize")
        )
    }

    /// Which of a quota's resources this kind uses, sorted.
    pub(crate) fn restricted<'a>(&self, hard: impl Iterator<Item = &'a String>) -> Vec<String> {
        let counts = |name: &str| {
            name == self.count
                || match self.kind {
                    Counted::Pods => pods::counts(name),
                    Counted::Services => SERVICES.contains(&name),
                    Counted::Claims => {
                        let bare = name.split_once(OF_STORAGE_CLASS).map_or(name, |(_, bare)| bare);
                        bare == CLAIMS || bare == STORAGE
                    }
                    Counted::Plain(plural) => name == plural,
                    Counted::Other => false,
                }
        };
        hard.filter(|name| counts(name)).cloned().collect()
    }

    /// Refuses objects that leave out what a quota has to know.
    ///
    /// # Errors
    /// What must be specified.
    pub(crate) fn required(&self, restricted: &[String], object: &Value) -> Result<(), String> {
        if self.kind == Counted::Pods { pods::required(restricted, object) } else { Ok(()) }
    }

    /// What an object uses.
    pub(crate) fn usage(&self, object: &Value) -> ResourceList {
        let mut usage = ResourceList::from([(self.count.clone(), amount(1))]);
        match self.kind {
            Counted::Pods => usage.extend(pods::usage(object)),
            Counted::Services => usage.extend(of_service(object)),
            Counted::Claims => usage.extend(of_claim(object)),
            Counted::Plain(plural) => {
                usage.insert(plural.to_owned(), amount(1));
            }
            Counted::Other => {}
        }
        usage
    }
}

/// A number of objects.
pub(crate) fn amount(count: usize) -> Quantity {
    Quantity::new(count as i64, Format::DecimalSI)
}

fn of_service(service: &Value) -> ResourceList {
    let ports = || items(service, &["spec", "ports"]);
    let allocates =
        service.at(&["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool).unwrap_or(true);
    let (balancers, node_ports) = match service.text_at(&["spec", "type"]) {
        "NodePort" => (0, ports().count()),
        "LoadBalancer" if allocates => (1, ports().count()),
        "LoadBalancer" => {
            let asked = |port: &&Value| port.get("nodePort").and_then(Value::as_i64).unwrap_or_default() != 0;
            (1, ports().filter(asked).count())
        }
        _ => (0, 0),
    };
    let [services, ports, load_balancers] = SERVICES.map(str::to_owned);
    ResourceList::from([
        (services, amount(1)),
        (ports, amount(node_ports)),
        (load_balancers, amount(balancers)),
    ])
}

fn of_claim(claim: &Value) -> ResourceList {
    let mut usage = ResourceList::from([(CLAIMS.to_owned(), amount(1))]);
    let annotated = claim
        .at(&["metadata", "annotations"])
        .map(|all| text(all, "volume.beta.kubernetes.io/storage-class"));
    let class = match annotated.unwrap_or_default() {
        "" => claim.text_at(&["spec", "storageClassName"]),
        class => class,
    };
    let of_class = |what: &str| format!("{class}{OF_STORAGE_CLASS}{what}");
    if !class.is_empty() {
        usage.insert(of_class(CLAIMS), amount(1));
    }
    // What has been given counts even where less is asked for by now.
    let asked = resource_list(claim, &["spec", "resources", "requests"]).remove("storage");
    let given = resource_list(claim, &["status", "allocatedResources"]).remove("storage");
    if let Some(storage) = asked.into_iter().chain(given).max() {
        if !class.is_empty() {
            usage.insert(of_class(STORAGE), storage.clone());
        }
        usage.insert(STORAGE.to_owned(), storage);
    }
    usage
}
