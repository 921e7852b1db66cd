//! What the tests of admission share: resources of no known type.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_registry::hooks::NoHooks;
use apiwright_registry::resource::{Conversion, StorageSpec};
use apiwright_registry::{Check, Kind, NameRule, Resource, Scope, Strategy};
use apiwright_schema::table::Unknown;
use apiwright_schema::{Ref, Struct, Table};
use futures::FutureExt;
use futures::future::BoxFuture;

pub(crate) fn parsed(json: &str) -> Value {
    apiwright_json::decode(json.as_bytes()).expect("a test's JSON").0
}

pub(crate) fn resource(
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
) -> Resource {
    let schema = Struct {
        name: Ref::Static("test.Object"),
        doc: Ref::Static(""),
        fields: none(),
        by_name: none(),
        unknown: Unknown::Keep,
        atomic: false,
        unions: none(),
        plan: apiwright_schema::table::Plan::new(),
    };
    Resource {
        group: Ref::Static(group),
        version: Ref::Static("v1"),
        plural: Ref::Static(plural),
        singular: Ref::Static(plural),
        kind: Ref::Static(kind),
        list_kind: Ref::Static(kind),
        short_names: none(),
        categories: none(),
        scope: if namespaced { Scope::Namespaced } else { Scope::Cluster },
        verbs: none(),
        subresources: none(),
        schema: Ref::Static(Box::leak(Box::new(schema))),
        storage: StorageSpec {
            prefix: Ref::Static(plural),
            kind: Kind { group: Ref::Static(group), version: Ref::Static("v1"), kind: Ref::Static(kind) },
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
    }
}

fn none<T>() -> Table<T> {
    Ref::Shared(Arc::new([]))
}

/// Lets everything pass.
pub(crate) struct Yes;

impl Check for Yes {
    fn check<'a>(&'a self, _: Option<&'a Value>, _: Option<&'a Value>) -> BoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed()
    }
}
