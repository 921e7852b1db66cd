//! Which flow schema and priority level a request belongs to, by the objects of that name.
//!
//! Requests are limited by number, not by flow: clients are told their flow, as they are by
//! kube-apiserver, and that is all that comes of it. The view follows storage.

mod rules;

use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::{Drain, RequestInfo, Response, User};
use apiwright_json::{Value, decode};
use apiwright_meta::object;
use apiwright_storage::{At, Error, Range, Revision, Storage};
use arc_swap::ArcSwap;
use futures::StreamExt;
use http::{HeaderName, HeaderValue};
use tracing::{debug, warn};

use rules::Rule;

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");
const SCHEMAS: &str = "/registry/flowschemas/";
const LEVELS: &str = "/registry/prioritylevelconfigurations/";
/// A schema that does not say where it stands.
const PRECEDENCE_DEFAULT: i64 = 1000;

/// All flow schemas, in the order in which they are tried.
#[derive(Default)]
pub struct Flows(ArcSwap<Vec<Schema>>);

struct Schema {
    rules: Vec<Rule>,
    flow: Flow,
}

/// The uids of a request's `FlowSchema` and `PriorityLevelConfiguration`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    schema_uid: HeaderValue,
    level_uid: HeaderValue,
}

impl Flows {
    /// The flow of a request; `None` where no schema is about it.
    pub(crate) fn flow(&self, user: &User, info: &RequestInfo) -> Option<Flow> {
        let schemas = self.0.load();
        let found = schemas.iter().find(|schema| schema.rules.iter().any(|rule| rule.matches(user, info)))?;
        Some(found.flow.clone())
    }

    /// Reads all schemas and levels.
    ///
    /// # Errors
    /// When storage cannot be read.
    pub async fn load(&self, storage: &dyn Storage) -> Result<Revision, Error> {
        let read = |prefix| storage.range(Range { prefix, after: None, limit: 0, at: At::Latest });
        // What changes between the two reads is seen again: the watch starts at the first.
        let schemas = read(SCHEMAS).await?;
        let levels = read(LEVELS).await?;
        let objects = |page: &apiwright_storage::Page| -> Vec<Value> {
            page.entries
                .iter()
                .filter_map(|entry| decode(&entry.value).ok().map(|(value, _)| value))
                .collect()
        };
        self.0.store(Arc::new(build(&objects(&schemas), &objects(&levels))));
        Ok(schemas.revision)
    }

    /// Follows storage from where [`Flows::load`] read it until the drain begins.
    pub async fn follow(self: Arc<Self>, storage: Arc<dyn Storage>, from: Revision, mut drain: Drain) {
        tokio::select! {
            () = self.follow_forever(storage.as_ref(), from) => {}
            () = drain.begun() => {}
        }
    }

    /// Schemas and levels are few and hardly ever change: any change has all of them read again.
    async fn follow_forever(&self, storage: &dyn Storage, mut from: Revision) {
        loop {
            match (storage.watch(SCHEMAS, from).await, storage.watch(LEVELS, from).await) {
                (Ok(schemas), Ok(levels)) => {
                    let mut changes = futures::stream::select(schemas, levels).filter(|event| {
                        let counts = !matches!(event, Ok(apiwright_storage::Event::Progress(_)));
                        std::future::ready(counts)
                    });
                    while let Some(Ok(_)) = changes.next().await {
                        match self.load(storage).await {
                            Ok(revision) => from = revision,
                            Err(why) => warn!(%why, "cannot read flow schemas"),
                        }
                    }
                    debug!("a watch of flow schemas ended");
                }
                (Err(why), _) | (_, Err(why)) => debug!(%why, "cannot watch flow schemas"),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            match self.load(storage).await {
                Ok(revision) => from = revision,
                Err(why) => warn!(%why, "cannot read flow schemas"),
            }
        }
    }
}

/// Schemas whose priority level is not there do not count.
fn build(schemas: &[Value], levels: &[Value]) -> Vec<Schema> {
    let mut known: Vec<(i64, &str, Schema)> = Vec::new();
    for schema in schemas {
        let level_name = schema.text_at(&["spec", "priorityLevelConfiguration", "name"]);
        let Some(level) = levels.iter().find(|level| object::name(level) == level_name) else { continue };
        let (Ok(schema_uid), Ok(level_uid)) =
            (HeaderValue::from_str(object::uid(schema)), HeaderValue::from_str(object::uid(level)))
        else {
            continue;
        };
        let precedence = schema.at(&["spec", "matchingPrecedence"]).and_then(Value::as_i64);
        let rules = schema.at(&["spec", "rules"]).and_then(Value::as_array);
        let rules = rules.into_iter().flatten().map(Rule::read).collect();
        let flow = Flow { schema_uid, level_uid };
        known.push((precedence.unwrap_or(PRECEDENCE_DEFAULT), object::name(schema), Schema { rules, flow }));
    }
    known.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    known.into_iter().map(|(_, _, schema)| schema).collect()
}

/// Tells the client.
pub(crate) fn put_on(response: &mut Response, flow: Flow) {
    let headers = response.headers_mut();
    headers.insert(FLOW_SCHEMA_UID, flow.schema_uid);
    headers.insert(PRIORITY_LEVEL_UID, flow.level_uid);
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    fn flows() -> Flows {
        let value = |text: &str| decode(text.as_bytes()).unwrap().0;
        let schemas = [
            r#"{"metadata":{"name":"late","uid":"late"},"spec":{"matchingPrecedence":9000,"priorityLevelConfiguration":{"name":"level"},"rules":[{"subjects":[{"kind":"Group","group":{"name":"*"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}"#,
            r#"{"metadata":{"name":"probes","uid":"probes"},"spec":{"matchingPrecedence":2,"priorityLevelConfiguration":{"name":"level"},"rules":[{"subjects":[{"kind":"Group","group":{"name":"system:unauthenticated"}}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/healthz","/livez"]}]}]}}"#,
            r#"{"metadata":{"name":"robots","uid":"robots"},"spec":{"priorityLevelConfiguration":{"name":"level"},"rules":[{"subjects":[{"kind":"ServiceAccount","serviceAccount":{"name":"*","namespace":"ns"}}],"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"namespaces":["ns"]}]}]}}"#,
            r#"{"metadata":{"name":"dangling","uid":"dangling"},"spec":{"matchingPrecedence":1,"priorityLevelConfiguration":{"name":"none"},"rules":[{"subjects":[{"kind":"Group","group":{"name":"*"}}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}"#,
        ];
        let levels = [value(r#"{"metadata":{"name":"level","uid":"level"}}"#)];
        Flows(ArcSwap::from_pointee(build(&schemas.map(value), &levels)))
    }

    #[test]
    fn the_first_schema_that_matches_counts() {
        let flows = flows();
        let robot = User { name: "system:serviceaccount:ns:r".into(), ..User::default() };
        for (user, path, expected) in [
            (&User::anonymous(), "/livez", "probes"),
            (&User::anonymous(), "/livez/ping", "probes"),
            (&User::anonymous(), "/readyz", "late"),
            (&robot, "/livez", "late"),
            (&robot, "/api/v1/namespaces/ns/pods/p", "robots"),
            (&robot, "/api/v1/namespaces/ns/pods/p/status", "late"),
            (&robot, "/api/v1/namespaces/other/pods/p", "late"),
            (&robot, "/api/v1/nodes", "late"),
        ] {
            let info = RequestInfo::parse(&Method::GET, path, "").unwrap();
            let flow = flows.flow(user, &info).unwrap();
            assert_eq!(
                (flow.schema_uid, flow.level_uid),
                (expected.parse().unwrap(), "level".parse().unwrap()),
                "{path}"
            );
        }
        assert!(Flows::default().flow(&robot, &RequestInfo::default()).is_none());
    }
}
