//! What servers outside hold in a namespace, for whoever empties it.
//!
//! Invariant: a server that does not answer is told of and otherwise passed over: it keeps no namespace
//! from going.

use std::collections::BTreeMap;
use std::time::Duration;

use apiwright_chain::User;
use apiwright_json::{Value, decode};
use apiwright_meta::object;
use apiwright_remote::empty;
use futures::future::join_all;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};

use crate::forward;
use crate::registration::Registration;
use crate::service::{ApiService, Remote};

const ANSWER_SECONDS_MAX: u64 = 5;
const ANSWER_BYTES_MAX: usize = 64 << 20;
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// The objects of one resource in a namespace.
#[derive(Clone, Debug)]
pub struct Held {
    resource: Resource,
    /// The objects' metadata.
    objects: Vec<Value>,
}

/// A resource that lives in namespaces, and who serves it.
#[derive(Clone, Debug)]
struct Resource {
    remote: Remote,
    group: String,
    plural: String,
    /// Where its objects are: `/apis/<group>/<version>/namespaces/<namespace>/<plural>`.
    path: String,
    /// Whether all can be deleted at once.
    by_collection: bool,
}

/// What servers outside hold in a namespace.
#[derive(Debug, Default)]
pub struct Elsewhere {
    /// By resource; those without objects are left out.
    pub held: Vec<Held>,
    /// The group versions of which nothing is known.
    pub unknown: Vec<String>,
}

impl Held {
    /// The resource, as conditions name it: `widgets.example.com`.
    pub fn resource(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }

    /// How many objects there are.
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    /// Whether all of them are being deleted.
    pub fn is_going(&self) -> bool {
        self.objects.iter().all(|one| object::deletion_timestamp(one).is_some())
    }

    /// The finalizers of all of them.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.objects.iter().flat_map(object::finalizers)
    }
}

impl Registration {
    /// What servers outside hold in a namespace. They are asked as `user`.
    pub async fn held(&self, user: &User, namespace: &str) -> Elsewhere {
        let (resources, mut unknown) = self.namespaced(namespace);
        let asked = resources.into_iter().map(|resource| async move {
            let listed = self.list(user, &resource).await;
            (resource, listed)
        });
        let mut held = Vec::new();
        for (resource, listed) in join_all(asked).await {
            match listed {
                Ok(objects) if objects.is_empty() => {}
                Ok(objects) => held.push(Held { resource, objects }),
                Err(why) => {
                    tracing::warn!(resource = resource.path, %why, "cannot see what is in a namespace");
                    unknown.push(resource.path);
                }
            }
        }
        Elsewhere { held, unknown }
    }

    /// Has servers outside delete what they hold.
    ///
    /// # Errors
    /// What each said that would not.
    pub async fn delete_held(&self, user: &User, held: &[Held]) -> Result<(), Vec<String>> {
        let deletions = held.iter().map(|held| self.delete(user, held));
        let failures: Vec<String> = join_all(deletions).await.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }

    /// The resources that live in namespaces, each once, and the group versions whose servers do not say.
    fn namespaced(&self, namespace: &str) -> (Vec<Resource>, Vec<String>) {
        let mut services: Vec<ApiService> = self.all();
        services.sort_by_key(|service| -service.version_priority);
        let mut found: BTreeMap<(String, String), Resource> = BTreeMap::new();
        let mut unknown = Vec::new();
        for service in &services {
            let Some(remote) = &service.remote else { continue };
            let Some(told) = self.told(service).filter(|_| service.available) else {
                unknown.push(format!("{}/{}", service.group, service.version));
                continue;
            };
            for one in &*told {
                let verbs = one.at(&["verbs"]).and_then(Value::as_array);
                let can = |verb: &str| verbs.into_iter().flatten().any(|known| known.as_str() == Some(verb));
                if one.text_at(&["scope"]) != "Namespaced" || !can("list") || !can("delete") {
                    continue;
                }
                let plural = one.text_at(&["resource"]);
                let key = (service.group.clone(), plural.to_owned());
                found.entry(key).or_insert_with(|| Resource {
                    remote: remote.clone(),
                    group: service.group.clone(),
                    plural: plural.to_owned(),
                    path: format!("{}/namespaces/{namespace}/{plural}", service.path()),
                    by_collection: can("deletecollection"),
                });
            }
        }
        (found.into_values().collect(), unknown)
    }

    async fn list(&self, user: &User, resource: &Resource) -> Result<Vec<Value>, String> {
        let body = self.ask(user, resource, Method::GET, &resource.path).await?;
        let items = body.at(&["items"]).and_then(Value::as_array).cloned().unwrap_or_default();
        let metadata = |item: Value| {
            let metadata = item.get("metadata").cloned().unwrap_or_default();
            Value::Object([("metadata", metadata)].into_iter().collect())
        };
        Ok(items.into_iter().map(metadata).collect())
    }

    async fn delete(&self, user: &User, held: &Held) -> Result<(), String> {
        let resource = &held.resource;
        if resource.by_collection {
            return self.ask(user, resource, Method::DELETE, &resource.path).await.map(|_| ());
        }
        for one in &held.objects {
            let path = format!("{}/{}", resource.path, object::name(one));
            self.ask(user, resource, Method::DELETE, &path).await?;
        }
        Ok(())
    }

    /// The answer to a request of ours; what is not there is nothing.
    async fn ask(
        &self,
        user: &User,
        resource: &Resource,
        method: Method,
        path: &str,
    ) -> Result<Value, String> {
        let routes = self.routes();
        let backend = routes.backend(&resource.remote).map_err(|error| error.to_string())?;
        let host = routes.resolver.resolve(&resource.remote.service).await?;
        let mut request = Request::new(empty());
        let address = format!("https://{host}{path}");
        *request.uri_mut() = address.parse().map_err(|error| format!("{address}: {error}"))?;
        *request.method_mut() = method;
        let mut headers = HeaderMap::new();
        forward::tell_user(&mut headers, user);
        headers.insert(ACCEPT, HeaderValue::from_static(METADATA));
        *request.headers_mut() = headers;
        let answer = backend
            .exchange(request, Duration::from_secs(ANSWER_SECONDS_MAX), ANSWER_BYTES_MAX)
            .await
            .map_err(|error| error.to_string())?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(Value::Null),
            status if status.is_success() => {
                decode(answer.body()).map(|(value, _)| value).map_err(|error| error.to_string())
            }
            status => {
                let said = decode(answer.body()).map(|(value, _)| value.text_at(&["message"]).to_owned());
                Err(said.ok().filter(|said| !said.is_empty()).unwrap_or_else(|| format!("{path}: {status}")))
            }
        }
    }
}
