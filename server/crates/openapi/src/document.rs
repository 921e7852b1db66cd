//! One OpenAPI v3 document.

use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_registry::Resource;
use apiwright_registry::resource::Verb;
use apiwright_registry::typed::Types;

use crate::operations::{gvk, identifiers, paths, responses, root, title};
use crate::schemas::{Schemas, plain, reference};
use crate::source::Subject;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const FORMS: &[&str] = &["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];

pub(crate) fn build(subject: &Subject, types: &Types) -> Value {
    let mut schemas = Schemas::default();
    let paths = match subject {
        Subject::Root("api") => discovery(
            &mut schemas,
            types,
            "/api/",
            "getCoreAPIVersions",
            "core",
            "available API versions",
            "APIVersions",
        ),
        Subject::Root(_) => discovery(
            &mut schemas,
            types,
            "/apis/",
            "getAPIVersions",
            "apis",
            "available API versions",
            "APIGroupList",
        ),
        Subject::Group(group) => {
            let name = title(group);
            let (_, tag) = identifiers(&name, "");
            let path = format!("/apis/{group}/");
            discovery(
                &mut schemas,
                types,
                &path,
                &format!("get{name}APIGroup"),
                tag.trim_end_matches('_'),
                "information of a group",
                "APIGroup",
            )
        }
        Subject::Version(group, version, resources) => {
            version_paths(&mut schemas, types, group, version, &resources.all())
        }
        Subject::CodeVersion => code_version(&mut schemas, types),
    };
    let mut info = Object::new();
    info.push("title", "Kubernetes");
    info.push("version", "v1.36.0");
    let mut token = Object::new();
    token.push("type", "apiKey");
    token.push("description", "Bearer Token authentication");
    token.push("name", "authorization");
    token.push("in", "header");
    let mut components = Object::new();
    components.push("schemas", schemas.into_value());
    components.push("securitySchemes", Object::from_iter([("BearerToken", token)]));
    let mut document = Object::new();
    document.push("openapi", "3.0.0");
    document.push("info", info);
    document.push("paths", paths);
    document.push("components", components);
    document.into()
}

fn version_paths(
    schemas: &mut Schemas,
    types: &Types,
    group: &str,
    version: &str,
    resources: &[Arc<Resource>],
) -> Object {
    let title = title(group);
    let mut all = Vec::new();
    for resource in resources {
        schemas.add(&resource.schema);
        let kind = gvk(&resource.group, &resource.version, &resource.kind);
        schemas.mark_kinds(&resource.schema.name, vec![kind]);
        if resource.allows(Verb::List) {
            list(schemas, resource);
        }
        for subresource in resource.subresources.iter() {
            let of = &subresource.kind;
            let package = of.group.split('.').next().filter(|one| !one.is_empty()).unwrap_or("core");
            let name = format!("io.k8s.api.{package}.{}.{}", &*of.version, &*of.kind);
            if let Some(ty) = types(&name) {
                schemas.add(&ty);
                schemas.mark_kinds(&name, vec![gvk(&of.group, &of.version, &of.kind)]);
            }
        }
        all.extend(paths(resource, &title));
    }
    for shared in ["Status", "DeleteOptions", "WatchEvent"] {
        let name = format!("{META}.{shared}");
        if let Some(ty) = types(&name) {
            schemas.add(&ty);
            let mut kinds = vec![gvk("", "v1", shared)];
            if shared != "Status" && !(group.is_empty() && version == "v1") {
                kinds.push(gvk(group, version, shared));
            }
            schemas.mark_kinds(&name, kinds);
        }
    }
    schemas.put(&format!("{META}.Patch"), plain("object", None));
    let (id, tag) = identifiers(&title, version);
    let path = format!("{}/", root(group, version));
    let resources = discovery(
        schemas,
        types,
        &path,
        &format!("get{id}APIResources"),
        &tag,
        "available resources",
        "APIResourceList",
    );
    all.sort_by(|a, b| a.0.cmp(&b.0));
    resources.into_iter().chain(all.into_iter().map(|(path, item)| (path.into(), item))).collect()
}

/// The list kind of a resource, which no table has: every list looks alike.
fn list(schemas: &mut Schemas, resource: &Resource) {
    let Some(package) = resource.schema.name.strip_suffix(&*resource.kind) else { return };
    let name = format!("{package}{}", &*resource.list_kind);
    let mut metadata = Object::new();
    metadata.push("allOf", vec![reference(&format!("{META}.ListMeta"))]);
    metadata.push("default", Object::new());
    let mut items = Object::new();
    items.push("type", "array");
    items.push("items", reference(&resource.schema.name));
    let mut properties = Object::new();
    properties.push("apiVersion", plain("string", None));
    properties.push("items", items);
    properties.push("kind", plain("string", None));
    properties.push("metadata", metadata);
    let mut schema = Object::new();
    schema.push("description", format!("{} is a list of {}.", &*resource.list_kind, &*resource.kind));
    schema.push("type", "object");
    schema.push("required", vec![Value::from("items")]);
    schema.push("properties", properties);
    schemas.put(&name, schema.into());
    schemas.mark_kinds(&name, vec![gvk(&resource.group, &resource.version, &resource.list_kind)]);
}

/// The one operation of a path that tells what is served.
fn discovery(
    schemas: &mut Schemas,
    types: &Types,
    path: &str,
    id: &str,
    tag: &str,
    what: &str,
    kind: &str,
) -> Object {
    let name = format!("{META}.{kind}");
    if let Some(ty) = types(&name) {
        schemas.add(&ty);
        schemas.mark_kinds(&name, vec![gvk("", "v1", kind)]);
    }
    get(path, id, tag, &format!("get {what}"), &name, FORMS)
}

fn code_version(schemas: &mut Schemas, types: &Types) -> Object {
    const INFO: &str = "io.k8s.apimachinery.pkg.version.Info";
    if let Some(ty) = types(INFO) {
        schemas.add(&ty);
    }
    get(
        "/version/",
        "getCodeVersion",
        "version",
        "get the version information for this server",
        INFO,
        &FORMS[..1],
    )
}

fn get(path: &str, id: &str, tag: &str, doc: &str, definition: &str, forms: &[&str]) -> Object {
    let mut operation = Object::new();
    operation.push("tags", vec![Value::from(tag)]);
    operation.push("description", doc);
    operation.push("operationId", id);
    operation.push("responses", responses(&[("200", "OK")], forms, definition));
    Object::from_iter([(path, Object::from_iter([("get", operation)]))])
}
