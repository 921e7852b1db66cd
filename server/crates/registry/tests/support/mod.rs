//! Stores of small resources in memory, and short ways to use them.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses its part")]

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::fields::FieldSelector;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::Result;
use apiwright_registry::hooks::{Hooks, NoHooks};
use apiwright_registry::resource::{Conversion, StorageSpec};
use apiwright_registry::{
    Check, DeleteOptions, Deleted, Kind, NameRule, Resource, Scope, Selectable, Selection, Store, Strategy,
    Transform, WriteOptions, Written,
};
use apiwright_schema::table::Unknown;
use apiwright_schema::{Field, Node, Ref, Shape, Struct, Table, Text};
use apiwright_storage::{Entry, Storage};
use apiwright_storage_embedded::{Embedded, Options};
use futures::FutureExt;
use futures::future::BoxFuture;

pub fn memory() -> Arc<dyn Storage> {
    Arc::new(Embedded::memory(Options::default()))
}

pub fn config_maps(storage: &Arc<dyn Storage>) -> Store {
    store(storage, "configmaps", "ConfigMap", |_| {})
}

/// With a status and generations.
pub fn deployments(storage: &Arc<dyn Storage>) -> Store {
    store(storage, "deployments", "Deployment", |resource| {
        resource.group = Ref::Static("apps");
        resource.strategy.generation = true;
        resource.strategy.status_subresource = true;
        resource.strategy.status_fields = Ref::Shared(Arc::new([Ref::Static("status")]));
    })
}

/// With grace periods and a selectable field.
pub fn pods(storage: &Arc<dyn Storage>) -> Store {
    store(storage, "pods", "Pod", |resource| {
        resource.strategy.generation = true;
        resource.strategy.graceful_delete = true;
        resource.strategy.delete_returns_object = true;
        let name = || Ref::Static("spec.nodeName");
        let selectable = Selectable { name: name(), path: name(), default: Ref::Static(""), indexed: true };
        resource.selectable = Ref::Shared(Arc::new([selectable]));
    })
}

pub fn store(
    storage: &Arc<dyn Storage>,
    plural: &'static str,
    kind: &'static str,
    change: fn(&mut Resource),
) -> Store {
    let mut resource = Resource {
        group: Ref::Static(""),
        version: Ref::Static("v1"),
        plural: Ref::Static(plural),
        singular: Ref::Static(plural),
        kind: Ref::Static(kind),
        list_kind: Ref::Static(kind),
        short_names: none(),
        categories: none(),
        scope: Scope::Namespaced,
        verbs: none(),
        subresources: none(),
        schema: Ref::Static(Box::leak(Box::new(schema()))),
        storage: StorageSpec {
            prefix: Ref::Static(plural),
            kind: Kind { group: Ref::Static(""), version: Ref::Static("v1"), kind: Ref::Static(kind) },
            version_hash: Ref::Static(""),
            conversion: Conversion::Same,
            ttl_seconds: 0,
        },
        strategy: Strategy {
            name_rule: NameRule::DnsSubdomain,
            create_on_update: false,
            unconditional_update: true,
            generation: false,
            status_fields: none(),
            status_subresource: false,
            status_on_create: false,
            graceful_delete: false,
            delete_returns_object: false,
            unowned: none(),
            unowned_by_status: none(),
        },
        columns: none(),
        selectable: none(),
        hooks: Ref::Static(&NoHooks),
    };
    change(&mut resource);
    Store::new(Arc::new(resource), Arc::clone(storage))
}

pub fn with_hooks(storage: &Arc<dyn Storage>, hooks: &'static dyn Hooks, change: fn(&mut Resource)) -> Store {
    let plain = store(storage, "things", "Thing", change);
    let mut resource = Arc::into_inner(plain.resource).expect("nobody else has it");
    resource.hooks = Ref::Static(hooks);
    Store::new(Arc::new(resource), Arc::clone(storage))
}

fn none<T>() -> Table<T> {
    Ref::Shared(Arc::new([]))
}

fn schema() -> Struct {
    let text = |text: &'static str| -> Text { Ref::Static(text) };
    let empty = Struct {
        name: text("test.Status"),
        doc: text(""),
        fields: none(),
        by_name: none(),
        unknown: Unknown::Drop,
        atomic: false,
        unions: none(),
        plan: apiwright_schema::table::Plan::new(),
    };
    let status = Field {
        name: text("status"),
        doc: text(""),
        node: Node {
            shape: Shape::Struct(Ref::Shared(Arc::new(empty))),
            nullable: false,
            default: None,
            fill: None,
            rules: none(),
        },
        required: false,
        pointer: false,
        keep: false,
        patch: None,
        proto: None,
    };
    Struct {
        name: text("test.Object"),
        doc: text(""),
        fields: Ref::Shared(Arc::new([status])),
        by_name: Ref::Shared(Arc::new([0])),
        unknown: Unknown::Keep,
        atomic: false,
        unions: none(),
        plan: apiwright_schema::table::Plan::new(),
    }
}

pub fn parsed(json: &str) -> Value {
    apiwright_json::decode(json.as_bytes()).expect("a test's JSON").0
}

/// Written out without type meta.
pub fn written(store: &Store, entry: &Arc<Entry>) -> String {
    let mut out = Vec::new();
    store.present(entry).unwrap().write(&mut out, None);
    String::from_utf8(out).unwrap()
}

pub fn everything() -> Selection {
    select("ns", "", "")
}

pub fn select(namespace: &str, labels: &str, fields: &str) -> Selection {
    Selection {
        namespace: namespace.into(),
        labels: LabelSelector::parse(labels).unwrap(),
        fields: FieldSelector::parse(fields).unwrap(),
    }
}

pub struct Yes;

impl Check for Yes {
    fn check<'a>(&'a self, _: Option<&'a Value>, _: Option<&'a Value>) -> BoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed()
    }
}

/// A PUT.
pub struct Put(pub Value);

impl Transform for Put {
    fn apply<'a>(&'a mut self, _: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        let object = self.0.clone();
        async { Ok(object) }.boxed()
    }

    fn uid(&self) -> Option<&str> {
        Some(apiwright_meta::object::uid(&self.0))
    }
}

/// A PATCH.
pub struct Edit<F>(pub F);

impl<F: FnMut(&mut Value) + Send> Transform for Edit<F> {
    fn apply<'a>(&'a mut self, old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        let mut object = old.cloned().unwrap_or_default();
        (self.0)(&mut object);
        async { Ok(object) }.boxed()
    }
}

pub fn dry_run() -> WriteOptions {
    WriteOptions { dry_run: true, ..WriteOptions::default() }
}

pub async fn create(store: &Store, json: &str) -> Result<Written> {
    store.create(&WriteOptions::default(), "ns", parsed(json), &Yes).await
}

pub async fn put(store: &Store, name: &str, json: &str) -> Result<Written> {
    store.update(&WriteOptions::default(), "ns", name, &mut Put(parsed(json)), &Yes).await
}

pub async fn put_status(store: &Store, name: &str, json: &str) -> Result<Written> {
    let write = WriteOptions { subresource: "status".into(), ..WriteOptions::default() };
    store.update(&write, "ns", name, &mut Put(parsed(json)), &Yes).await
}

pub async fn delete(store: &Store, name: &str, options: DeleteOptions) -> Result<Deleted> {
    store.delete(&WriteOptions::default(), "ns", name, &options, &Yes).await
}
