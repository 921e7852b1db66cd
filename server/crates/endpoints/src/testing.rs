//! Small resources for the tests of this crate, made by hand at run time, and a server of them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use apiwright_admission::Admission;
use apiwright_chain::request::RequestBody;
use apiwright_chain::{
    Authorized, Authorizer, Decision, Drainer, Request, RequestInfo, Response, User, drain,
};
use apiwright_json::Value;
use apiwright_registry::catalogue::KindType;
use apiwright_registry::hooks::NoHooks;
use apiwright_registry::resource::{Conversion, StorageSpec};
use apiwright_registry::{
    Catalogue, Column, ColumnValue, Kind, NameRule, Resource, Scope, Store, Strategy, Subresource,
    SubresourceKind, Verb,
};
use apiwright_schema::table::Unknown;
use apiwright_schema::{Field, Map, Node, Ref, Shape, Struct, Table, Text};
use apiwright_storage_embedded::{Embedded, Options};
use futures::future::BoxFuture;
use http::Method;
use http_body_util::BodyExt;

use crate::server::Flavour;
use crate::{GroupServer, ResourceServer, Shared};

/// A catalogue of nothing.
pub(crate) static EMPTY_CATALOGUE: Catalogue = Catalogue {
    groups: Ref::Static(&[]),
    kinds: Ref::Static(&[]),
    types: Ref::Static(&[]),
    values: Ref::Static(&[]),
};

/// A catalogue of the kinds of these resources and of what their subresources are.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let known = |group, kind: &'static str, schema| KindType {
        kind: Kind { group: text(group), version: text("v1"), kind: text(kind) },
        schema,
        columns: none(),
    };
    let scale: &'static Struct = Box::leak(Box::new(structure(
        "Scale",
        vec![
            plain("kind"),
            plain("apiVersion"),
            field("metadata", object_meta()),
            field("spec", replicas()),
            field("status", replicas()),
        ],
    )));
    let meta: &'static Struct = Box::leak(Box::new(meta_type()));
    Catalogue {
        groups: none(),
        kinds: shared(vec![known("autoscaling", "Scale", scale), known("example.com", "Other", *THING)]),
        types: shared(vec![meta]),
        values: none(),
    }
});

/// The type of the objects, as if it were compiled in.
static THING: LazyLock<&'static Struct> = LazyLock::new(|| Box::leak(Box::new(thing_type())));

/// A namespaced resource with everything.
pub(crate) fn things() -> Resource {
    let all = vec![
        Verb::Create,
        Verb::Delete,
        Verb::DeleteCollection,
        Verb::Get,
        Verb::List,
        Verb::Patch,
        Verb::Update,
        Verb::Watch,
    ];
    let some = || shared(vec![Verb::Get, Verb::Patch, Verb::Update]);
    let scale = SubresourceKind::Scale {
        spec_replicas: text("spec.replicas"),
        status_replicas: text("status.replicas"),
        selector: text(""),
    };
    let scale = Subresource {
        name: text("scale"),
        does: scale,
        kind: Kind { group: text("autoscaling"), version: text("v1"), kind: text("Scale") },
        verbs: some(),
    };
    let status = Subresource {
        name: text("status"),
        does: SubresourceKind::Status,
        kind: kind("Thing"),
        verbs: some(),
    };
    Resource {
        subresources: shared(vec![scale, status]),
        verbs: shared(all),
        columns: shared(vec![
            column("Name", "string", ColumnValue::Name),
            column("Wish", "integer", ColumnValue::Path(text("spec.replicas"), text("0"))),
            column("Age", "string", ColumnValue::Age),
        ]),
        ..resource("things", "Thing", Scope::Namespaced)
    }
}

/// A cluster-scoped resource.
pub(crate) fn cluster_things() -> Resource {
    let verbs = vec![Verb::Create, Verb::Delete, Verb::Get, Verb::List];
    Resource { verbs: shared(verbs), ..resource("clusterthings", "ClusterThing", Scope::Cluster) }
}

/// A resource that can only be created.
pub(crate) fn reviews() -> Resource {
    Resource { verbs: shared(vec![Verb::Create]), ..resource("reviews", "Review", Scope::Cluster) }
}

/// A resource with a subresource that talks to something.
pub(crate) fn bindable_things() -> Resource {
    let exec = Subresource {
        name: text("exec"),
        does: SubresourceKind::Unavailable(text("there are no kubelets")),
        kind: kind("ThingExecOptions"),
        verbs: shared(vec![Verb::Create, Verb::Get]),
    };
    Resource { subresources: shared(vec![exec]), ..things() }
}

/// A server of these resources over memory, and its drain.
pub(crate) struct TestServer {
    pub(crate) server: GroupServer,
    pub(crate) drainer: Drainer,
}

impl TestServer {
    /// Serves `things` and `clusterthings`.
    pub(crate) fn new(flavour: Flavour) -> Self {
        let (drainer, drain) = drain();
        let shared = Arc::new(Shared {
            admission: Arc::new(Admission::default()),
            authorizer: Arc::new(AllButMallory),
            drain,
            watch_timeout_min: Duration::from_mins(30),
            body_bytes_max: crate::body::BODY_BYTES_MAX,
            catalogue: &CATALOGUE,
        });
        let storage: Arc<dyn apiwright_storage::Storage> = Arc::new(Embedded::memory(Options::default()));
        let mut server = GroupServer::default();
        for mut resource in [things(), cluster_things()] {
            if flavour == Flavour::Custom {
                resource.schema = Ref::Shared(Arc::new(thing_type()));
            }
            let store = Store::new(Arc::new(resource), Arc::clone(&storage));
            server.install(ResourceServer::new(Arc::new(store), Arc::clone(&shared)));
        }
        Self { server, drainer }
    }

    /// Sends a request below `/apis/example.com/v1`.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        self.send_as("admin", method, path, headers, body).await
    }

    /// As somebody.
    pub(crate) async fn send_as(
        &self,
        user: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let uri = format!("/apis/example.com/v1{path}");
        let mut request = http::Request::builder().method(&method).uri(&uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.serve(user, request.body(()).expect("a request").into_parts().0, body).await
    }

    /// Serves a request that has come.
    pub(crate) async fn serve(&self, user: &str, head: http::request::Parts, body: &str) -> Response {
        let info = RequestInfo::parse(&head.method, head.uri.path(), head.uri.query().unwrap_or_default())
            .expect("a path");
        let request = Request {
            head,
            body: RequestBody::Full(body.to_owned().into()),
            info,
            user: Arc::new(User { name: user.into(), ..User::default() }),
            audit_id: String::new(),
            deadline: None,
            trail: None,
            remote: None,
        };
        let Ok(permit) = Authorized::ask(request, &Everybody).await else { unreachable!("everybody may") };
        self.server.serve(permit).await
    }

    /// Sends JSON and reads the answer.
    pub(crate) async fn json(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        read(self.send(method, path, &[("content-type", "application/json")], body).await).await
    }
}

/// The code and body of an answer.
pub(crate) async fn read(response: Response) -> (u16, Value) {
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    let value = apiwright_json::decode(&body).expect("JSON").0;
    (code, value)
}

/// Everything that `send` sends is authorized.
struct Everybody;

impl Authorizer for Everybody {
    fn authorize<'a>(&'a self, _: &'a User, _: &'a RequestInfo) -> BoxFuture<'a, Decision> {
        Box::pin(async { Decision::Allow(None) })
    }
}

/// Who may create by PUT and apply.
struct AllButMallory;

impl Authorizer for AllButMallory {
    fn authorize<'a>(&'a self, user: &'a User, info: &'a RequestInfo) -> BoxFuture<'a, Decision> {
        let allowed = user.name != "mallory" || info.verb != "create";
        Box::pin(
            async move { if allowed { Decision::Allow(None) } else { Decision::NoOpinion(String::new()) } },
        )
    }
}

fn resource(plural: &'static str, name: &'static str, scope: Scope) -> Resource {
    Resource {
        group: text("example.com"),
        version: text("v1"),
        plural: text(plural),
        singular: text(plural),
        kind: text(name),
        list_kind: Ref::Shared(format!("{name}List").into()),
        short_names: none(),
        categories: none(),
        scope,
        verbs: none(),
        subresources: none(),
        schema: Ref::Static(*THING),
        storage: StorageSpec {
            prefix: Ref::Shared(format!("example.com/{plural}").into()),
            kind: kind(name),
            version_hash: text(""),
            conversion: Conversion::Same,
            ttl_seconds: 0,
        },
        strategy: Strategy {
            name_rule: NameRule::DnsSubdomain,
            create_on_update: false,
            unconditional_update: true,
            generation: true,
            status_fields: shared(vec![text("status")]),
            status_subresource: true,
            status_on_create: false,
            graceful_delete: false,
            delete_returns_object: false,
            unowned: shared(Vec::new()),
            unowned_by_status: shared(Vec::new()),
        },
        columns: none(),
        selectable: none(),
        hooks: Ref::Static(&NoHooks),
    }
}

fn thing_type() -> Struct {
    let spec = structure(
        "ThingSpec",
        vec![
            Field { pointer: true, ..defaulted(field("replicas", Shape::Int32), "1") },
            field("color", Shape::String(text(""))),
            field("tags", strings()),
        ],
    );
    let status = structure("ThingStatus", vec![field("replicas", Shape::Int32)]);
    structure(
        "Thing",
        vec![
            plain("kind"),
            plain("apiVersion"),
            field("metadata", object_meta()),
            field("spec", Shape::Struct(Ref::Shared(Arc::new(spec)))),
            field("status", Shape::Struct(Ref::Shared(Arc::new(status)))),
        ],
    )
}

fn object_meta() -> Shape {
    Shape::Struct(Ref::Shared(Arc::new(meta_type())))
}

fn meta_type() -> Struct {
    let reference = structure("OwnerReference", ["apiVersion", "kind", "name", "uid"].map(plain).into());
    structure(
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        vec![
            plain("name"),
            plain("generateName"),
            plain("namespace"),
            plain("uid"),
            plain("resourceVersion"),
            field("generation", Shape::Int64),
            Field { pointer: true, ..plain("creationTimestamp") },
            Field { pointer: true, ..plain("deletionTimestamp") },
            Field { pointer: true, ..field("deletionGracePeriodSeconds", Shape::Int64) },
            field("labels", strings()),
            field("annotations", strings()),
            field("ownerReferences", list(Shape::Struct(Ref::Shared(Arc::new(reference))))),
            field("finalizers", list(Shape::String(text("")))),
            field("managedFields", list(Shape::Any(text("")))),
        ],
    )
}

fn replicas() -> Shape {
    Shape::Struct(Ref::Shared(Arc::new(structure("Replicas", vec![field("replicas", Shape::Int32)]))))
}

fn strings() -> Shape {
    Shape::Map(Ref::Shared(Arc::new(Map { value: node(Shape::String(text(""))), atomic: false })))
}

fn list(item: Shape) -> Shape {
    let kind = apiwright_schema::ListKind::Atomic;
    Shape::List(Ref::Shared(Arc::new(apiwright_schema::List { item: node(item), kind })))
}

fn structure(name: &'static str, fields: Vec<Field>) -> Struct {
    let by_name: BTreeMap<&str, u16> =
        fields.iter().enumerate().map(|(at, field)| (&*field.name, at as u16)).collect();
    let by_name: Vec<u16> = by_name.into_values().collect();
    Struct {
        name: text(name),
        doc: text(""),
        fields: shared(fields),
        by_name: shared(by_name),
        unknown: Unknown::Drop,
        atomic: false,
        unions: none(),
        plan: apiwright_schema::table::Plan::new(),
    }
}

fn field(name: &'static str, shape: Shape) -> Field {
    Field {
        name: text(name),
        doc: text(""),
        node: node(shape),
        required: false,
        pointer: false,
        keep: false,
        patch: None,
        proto: None,
    }
}

fn plain(name: &'static str) -> Field {
    field(name, Shape::String(text("")))
}

fn defaulted(mut field: Field, json: &'static str) -> Field {
    field.node.default = Some(text(json));
    field
}

fn node(shape: Shape) -> Node {
    Node { shape, nullable: false, default: None, fill: None, rules: none() }
}

fn column(name: &'static str, kind: &'static str, value: ColumnValue) -> Column {
    let format = if name == "Name" { text("name") } else { text("") };
    Column { name: text(name), kind: text(kind), format, priority: 0, doc: text(""), value }
}

fn kind(name: &'static str) -> Kind {
    Kind { group: text("example.com"), version: text("v1"), kind: text(name) }
}

fn text(text: &'static str) -> Text {
    Ref::Static(text)
}

fn shared<T>(items: Vec<T>) -> Table<T> {
    Ref::Shared(items.into())
}

fn none<T>() -> Table<T> {
    shared(Vec::new())
}
