//! Priority and fairness: which flow a request belongs to, and when its turn is.
//!
//! The first flow schema that is about a request names its priority level; the level's seats and
//! queues decide when it goes on, or that it may not. The view follows storage. Where fairness is
//! off clients are still told their flow, as they are by kube-apiserver.

mod hand;
mod level;
mod metrics;
mod queues;
mod rules;
mod seats;
mod width;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use apiwright_chain::{Drain, Request, RequestInfo, Response, User};
use apiwright_json::{Value, decode};
use apiwright_meta::object;
use apiwright_storage::{At, Error, Range, Revision, Storage};
use arc_swap::ArcSwap;
use futures::StreamExt;
use http::{HeaderName, HeaderValue};
use tracing::{debug, warn};

use crate::place::{self, Place};

use level::{Level, Overflow};
use rules::Rule;
use seats::{Refused, Seats, Wanted};
use width::Widths;

pub(crate) use seats::Seat;
pub(crate) use width::Meter;

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");
const SCHEMAS: &str = "/registry/flowschemas/";
const LEVELS: &str = "/registry/prioritylevelconfigurations/";
/// A schema that does not say where it stands.
const PRECEDENCE_DEFAULT: i64 = 1000;

/// All flow schemas, in the order in which they are tried, and the seats that are shared by them.
pub struct Flows {
    view: ArcSwap<View>,
    seats: Option<Arc<Seats>>,
    widths: Arc<Widths>,
    hasher: RandomState,
    patience_max: Duration,
}

#[derive(Default)]
struct View {
    schemas: Vec<Schema>,
}

struct Schema {
    rules: Vec<Rule>,
    distinguisher: Distinguisher,
    flow: Flow,
    /// The table at which its requests sit; `None` where they take no seats.
    table: Option<u64>,
}

/// What tells the flows of a schema apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Distinguisher {
    Nothing,
    User,
    Namespace,
}

/// The uids of a request's `FlowSchema` and `PriorityLevelConfiguration`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    schema_uid: HeaderValue,
    level_uid: HeaderValue,
}

impl Default for Flows {
    fn default() -> Self {
        Self::new(None, Duration::ZERO)
    }
}

impl Flows {
    /// Shares so many seats, `None` for any number; a request waits for so long at most.
    pub fn new(seats: Option<u32>, patience_max: Duration) -> Self {
        Self {
            view: ArcSwap::default(),
            seats: seats.map(Seats::new),
            widths: Arc::default(),
            hasher: RandomState::new(),
            patience_max,
        }
    }

    /// The flow of a request; `None` where no schema is about it.
    pub(crate) fn flow(&self, user: &User, info: &RequestInfo) -> Option<Flow> {
        self.view.load().find(user, info).map(|schema| schema.flow.clone())
    }

    /// The flow of a request, and a place for it as soon as it is its turn.
    pub(crate) async fn admit(&self, request: &Request) -> (Option<Flow>, Result<Place, Box<Response>>) {
        let (flow, wanted) = {
            let view = self.view.load();
            let Some(schema) = view.find(&request.user, &request.info) else {
                return (None, Ok(Place::default()));
            };
            (schema.flow.clone(), schema.table.map(|table| (table, self.hash(schema, request))))
        };
        let is_watch = request.info.verb == "watch";
        let (Some(seats), Some((table, hash))) = (&self.seats, wanted) else {
            return (Some(flow), Ok(Place::default()));
        };
        if request.info.is_long_running() && !is_watch {
            return (Some(flow), Ok(Place::default()));
        }
        let (width, meter) = self.widths.of(&request.info, request.query());
        let left = request.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let patience = left.map_or(self.patience_max, |left| left.min(self.patience_max));
        match seats.take(Wanted { table, hash, width }, patience).await {
            Ok(seat) => (Some(flow), Ok(Place::seat(seat, meter))),
            Err(why @ (Refused::ConcurrencyLimit | Refused::QueueFull | Refused::TimedOut)) => {
                debug!(audit_id = request.audit_id, user = request.user.name, ?why, "no seat");
                (Some(flow), Err(place::refused()))
            }
        }
    }

    /// Tells flows apart: the same for all requests of one.
    fn hash(&self, schema: &Schema, request: &Request) -> u64 {
        let what = match schema.distinguisher {
            Distinguisher::Nothing => "",
            Distinguisher::User => request.user.name.as_str(),
            Distinguisher::Namespace => request.info.namespace.as_str(),
        };
        self.hasher.hash_one((&schema.flow.schema_uid, what))
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
        self.set(&objects(&schemas), &objects(&levels));
        Ok(schemas.revision)
    }

    /// Schemas whose priority level is not there do not count.
    fn set(&self, schemas: &[Value], levels: &[Value]) {
        let read: Vec<Level> = levels.iter().map(Level::read).collect();
        let tables = self.seats.as_ref().map(|seats| seats.arrange(&read));
        let table = |at: usize| {
            let is_exempt = read.get(at)?.overflow == Overflow::Exempt;
            if is_exempt { None } else { tables.as_ref()?.get(at).copied() }
        };
        let mut known: Vec<(i64, &str, Schema)> = Vec::new();
        for schema in schemas {
            let level_name = schema.text_at(&["spec", "priorityLevelConfiguration", "name"]);
            let Some(at) = levels.iter().position(|level| object::name(level) == level_name) else {
                continue;
            };
            let (Ok(schema_uid), Ok(level_uid)) =
                (HeaderValue::from_str(object::uid(schema)), HeaderValue::from_str(object::uid(&levels[at])))
            else {
                continue;
            };
            let precedence = schema.at(&["spec", "matchingPrecedence"]).and_then(Value::as_i64);
            let rules = schema.at(&["spec", "rules"]).and_then(Value::as_array);
            let schema_of_it = Schema {
                rules: rules.into_iter().flatten().map(Rule::read).collect(),
                distinguisher: Distinguisher::read(schema),
                flow: Flow { schema_uid, level_uid },
                table: table(at),
            };
            known.push((precedence.unwrap_or(PRECEDENCE_DEFAULT), object::name(schema), schema_of_it));
        }
        known.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        let schemas = known.into_iter().map(|(_, _, schema)| schema).collect();
        self.view.store(Arc::new(View { schemas }));
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

impl View {
    fn find(&self, user: &User, info: &RequestInfo) -> Option<&Schema> {
        self.schemas.iter().find(|schema| schema.rules.iter().any(|rule| rule.matches(user, info)))
    }
}

impl Distinguisher {
    fn read(schema: &Value) -> Self {
        match schema.text_at(&["spec", "distinguisherMethod", "type"]) {
            "ByUser" => Self::User,
            "ByNamespace" => Self::Namespace,
            _ => Self::Nothing,
        }
    }
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
        let flows = Flows::default();
        flows.set(&schemas.map(value), &levels);
        flows
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
