//! The objects that a server starts with, made where they are absent, and mended where they are not
//! and their spec wants that.
//!
//! They go the way of any creation (defaults, validation, strategy), so that a bootstrap object
//! looks like one that a client made.

mod mend;

use std::sync::Arc;
use std::time::Duration;

use apiwright_auth::rbac::Rule;
use apiwright_chain::spec::{BootstrapObject, Mends};
use apiwright_controllers::Identity;
use apiwright_json::{Duplicates, Value, decode};
use apiwright_meta::object;
use apiwright_meta::status::{Reason, Result};
use apiwright_meta::{Status, time};
use apiwright_registry::store::{Check, DeleteOptions, Freshness, WriteOptions};
use apiwright_registry::{Resource, Store, catalogue::Catalogue};
use apiwright_schema::decode::{ObjectKind, Source};
use apiwright_schema::defaults::apply_defaults;
use apiwright_schema::fieldset::Filter;
use apiwright_schema::managed::{self, OneVersion};
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use tracing::{debug, info};

use crate::generated::BOOTSTRAP;
use mend::Mending;

/// How many creations are under way at once; they share the engine's commits.
const CONCURRENT_MAX: usize = 256;
/// How often a creation is tried again: another replica that is at the same one holds what it needs.
const ATTEMPTS_MAX: u32 = 10;
/// How long to wait in between.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// What is known at the start only: the `${name}`s of the specs.
#[derive(Debug)]
pub struct Placeholders {
    /// `--service-cluster-ip-range`.
    pub service_ranges: Vec<String>,
    /// The first address of it.
    pub service_range_first: String,
    /// The port that this server listens on.
    pub port: u16,
}

/// Makes the objects that are absent, and mends the others; says how many it made.
///
/// # Errors
/// The first object that could not be made.
pub async fn ensure(
    objects: &'static [BootstrapObject],
    placeholders: &Placeholders,
    catalogue: &Catalogue,
    store: impl Fn(&str, &str, &str) -> Option<Arc<Store>>,
) -> Result<usize, String> {
    // Namespaces come first: others live in them. So do the ranges that services are given from.
    let mut made = 0;
    for wave in [true, false] {
        let creations: Vec<_> = objects
            .iter()
            .filter(|one| matches!(one.resource, "namespaces" | "servicecidrs") == wave)
            .filter_map(|one| Some((one, store(one.group, one.version, one.resource)?)))
            .map(|(one, store)| insist(one, placeholders, catalogue, store))
            .collect();
        let results: Vec<_> = stream::iter(creations).buffer_unordered(CONCURRENT_MAX).collect().await;
        for result in results {
            made += usize::from(result?);
        }
    }
    Ok(made)
}

/// The rules of a ClusterRole as it is at first, whatever has become of it since.
pub fn role_rules(name: &str) -> Vec<Rule> {
    let roles = BOOTSTRAP.iter().filter(|one| one.resource == "clusterroles");
    let mut decoded = roles.filter_map(|one| decode(one.json.as_bytes()).ok()).map(|(role, _)| role);
    decoded.find(|role| object::name(role) == name).map(|role| Rule::read_all(&role)).unwrap_or_default()
}

async fn insist(
    spec: &BootstrapObject,
    placeholders: &Placeholders,
    catalogue: &Catalogue,
    store: Arc<Store>,
) -> Result<bool, String> {
    for _ in 1..ATTEMPTS_MAX {
        match settle(spec, placeholders, catalogue, &store).await {
            Err(why) => debug!(why, "a bootstrap object is tried again"),
            made => return made,
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
    settle(spec, placeholders, catalogue, &store).await
}

/// Makes an object, or mends it; says whether it was made.
async fn settle(
    spec: &BootstrapObject,
    placeholders: &Placeholders,
    catalogue: &Catalogue,
    store: &Store,
) -> Result<bool, String> {
    let complain =
        |why: &dyn std::fmt::Display| format!("bootstrap object of {}: {why}: {}", spec.resource, spec.json);
    let (mut value, _) = decode(spec.json.as_bytes()).map_err(|why| complain(&why.message))?;
    fill(&mut value, placeholders);
    let (namespace, name) = (object::namespace(&value).to_owned(), object::name(&value).to_owned());
    let existing = match store.get(&namespace, &name, Freshness::Latest).await {
        Ok(_) if spec.mends == Mends::Nothing => return Ok(false),
        Ok(entry) => Some(store.decode(&entry).map_err(|why| complain(&why.message))?),
        Err(status) if status.reason == Some(Reason::NotFound) => None,
        Err(status) => return Err(complain(&status.message)),
    };
    let Some(resource) = catalogue.resource(spec.group, spec.version, spec.resource) else {
        return Err(complain(&"no such resource"));
    };
    let mut value = read(resource, value).map_err(|why| complain(&why))?;
    if let Some(existing) = existing
        && !mend(spec.mends, store, &existing, &value).await.map_err(|why| complain(&why.message))?
    {
        return Ok(false);
    }
    own(resource, &mut value);
    let options = WriteOptions { user: Identity::API_SERVER.user.into(), ..WriteOptions::default() };
    match store.create(&options, &namespace, value, &Unchecked).await {
        Ok(_) => Ok(true),
        // Another replica was first.
        Err(status) if status.reason == Some(Reason::AlreadyExists) => Ok(false),
        Err(status) => Err(complain(&status.message)),
    }
}

/// Decodes an object as a request's body is, and gives it its defaults.
fn read(resource: &Resource, value: Value) -> Result<Value, String> {
    let api_version = resource.api_version();
    let kind = ObjectKind { api_version: &api_version, kind: &resource.kind };
    let decoded =
        apiwright_schema::decode::decode(&resource.schema, kind, value, &Duplicates::default(), Source::Json)
            .map_err(|why| why.to_string())?;
    if !decoded.strict.is_empty() {
        return Err(decoded.strict.join(", "));
    }
    let mut value = decoded.value;
    apply_defaults(&resource.schema, &mut value);
    resource.hooks.default(&mut value);
    Ok(value)
}

/// Mends an object that is there; says whether it was taken away, to be made anew.
async fn mend(how: Mends, store: &Store, existing: &Value, wanted: &Value) -> Result<bool> {
    let place = (object::namespace(existing), object::name(existing));
    match mend::mend(how, existing, wanted) {
        Mending::Keep => Ok(false),
        Mending::Change(_) => {
            let change = |value: &mut Value| {
                if let Mending::Change(mended) = mend::mend(how, value, wanted) {
                    *value = mended;
                }
                Ok(())
            };
            Identity::API_SERVER.unasked().update(store, place, "", change).await?;
            info!(resource = &*store.resource.plural, name = place.1, "a bootstrap object was mended");
            Ok(false)
        }
        Mending::Replace => {
            let uid = Some(object::uid(existing).to_owned());
            let options = DeleteOptions { uid, ..DeleteOptions::default() };
            match Identity::API_SERVER.unasked().delete(store, place, &options).await {
                Err(status) if status.reason != Some(Reason::NotFound) => return Err(status),
                _ => info!(
                    resource = &*store.resource.plural,
                    name = place.1,
                    "a bootstrap object is replaced"
                ),
            }
            Ok(true)
        }
    }
}

/// Notes who made the object, as for any client: the controller that makes upstream's.
pub(crate) fn own(resource: &Resource, value: &mut Value) {
    let manager = match &*resource.group {
        "flowcontrol.apiserver.k8s.io" => "api-priority-and-fairness-config-producer-v1",
        _ => "kube-apiserver",
    };
    let filter =
        if resource.strategy.status_subresource { Filter::without(&["status"]) } else { Filter::All };
    let request = managed::Request {
        manager,
        api_version: &resource.api_version(),
        subresource: "",
        now: &time::now(),
        filter: &filter,
        versions: &OneVersion,
    };
    managed::update(&resource.schema, None, value, &request);
}

/// Admission is for requests, not for what the server does by itself.
pub(crate) struct Unchecked;

impl Check for Unchecked {
    fn check<'a>(
        &'a self,
        _: Option<&'a Value>,
        _: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<(), Box<Status>>> {
        Box::pin(async { Ok(()) })
    }
}

/// Puts what the placeholders stand for in their places.
fn fill(value: &mut Value, placeholders: &Placeholders) {
    match value {
        Value::String(text) => match text.as_str() {
            "${service-ranges}" => {
                let ranges = placeholders.service_ranges.iter();
                *value = ranges.map(|range| Value::from(range.as_str())).collect::<Vec<_>>().into();
            }
            "${service-range-first}" => *value = placeholders.service_range_first.as_str().into(),
            "${port}" => *value = i64::from(placeholders.port).into(),
            _ => {}
        },
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, placeholders)),
        Value::Object(members) => members.iter_mut().for_each(|(_, member)| fill(member, placeholders)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
    }
}
