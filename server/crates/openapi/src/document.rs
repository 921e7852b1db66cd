//! One OpenAPI v3 document.

use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_registry::Resource;
use apiwright_registry::resource::Verb;
use apiwright_registry::typed::Types;

use crate::custom::{self, CONVENTIONS};
use crate::operations::{gvk, identifiers, paths, responses, root, text_responses, title};
use crate::schemas::{Schemas, plain, reference};
use crate::source::{Published, Resources, Subject};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const FORMS: &[&str] = &["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];

pub(crate) fn build(subject: &Subject, types: &Types) -> Value {
    let mut schemas = Schemas::new(Arc::clone(types));
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
        Subject::OpenId(path) => open_id(path),
    };
    let is_custom = matches!(subject, Subject::Version(_, _, Resources::Later(_)));
    let (title, version) =
        if is_custom { ("Kubernetes CRD Swagger", "v0.1.0") } else { ("Kubernetes", "v1.36.0") };
    let mut info = Object::new();
    info.push("title", title);
    info.push("version", version);
    let mut token = Object::new();
    token.push("type", "apiKey");
    token.push("description", "Bearer Token authentication");
    token.push("name", "authorization");
    token.push("in", "header");
    let mut components = Object::new();
    if !schemas.is_empty() {
        components.push("schemas", schemas.into_value());
    }
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
    resources: &[Published],
) -> Object {
    let title = title(group);
    let mut all = Vec::new();
    let is_custom = resources.iter().any(|one| one.schema.is_some());
    for Published { resource, schema } in resources {
        match schema {
            Some(written) => {
                schemas.put(&resource.schema.name, custom::schema(written, &resource.selectable, types));
            }
            None => schemas.add(&resource.schema),
        }
        let kind = gvk(&resource.group, &resource.version, &resource.kind);
        schemas.mark_kinds(&resource.schema.name, vec![kind]);
        if resource.allows(Verb::List) {
            list(schemas, resource, types);
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
        all.extend(paths(resource, &title, types));
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
    schemas.value(&format!("{META}.Patch"), plain("object", None));
    if is_custom {
        for meta in ["ObjectMeta", "ListMeta"] {
            if let Some(ty) = types(&format!("{META}.{meta}")) {
                schemas.add(&ty);
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        schemas.keep_used(&all.iter().map(|(_, item)| item).collect::<Vec<_>>());
        return all.into_iter().map(|(path, item)| (apiwright_json::Str::from(path), item)).collect();
    }
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
    let mut used: Vec<&Value> = all.iter().map(|(_, item)| item).collect();
    used.extend(resources.values());
    schemas.keep_used(&used);
    schemas.mark_parts();
    resources.into_iter().chain(all.into_iter().map(|(path, item)| (path.into(), item))).collect()
}

/// The list kind of a resource; that of a custom one no table has.
fn list(schemas: &mut Schemas, resource: &Resource, types: &Types) {
    let Some(package) = resource.schema.name.strip_suffix(&*resource.kind) else { return };
    let name = format!("{package}{}", &*resource.list_kind);
    match types(&name) {
        Some(ty) => schemas.add(&ty),
        None => schemas.put(&name, custom_list(resource, types)),
    }
    schemas.mark_kinds(&name, vec![gvk(&resource.group, &resource.version, &resource.list_kind)]);
}

fn custom_list(resource: &Resource, types: &Types) -> Value {
    const ANY_LIST: &str = "io.k8s.api.core.v1.PodList";
    let described = |member: &str, schema: Value| -> Object {
        let doc = custom::doc_of(types, ANY_LIST, member);
        let mut property: Object =
            if doc.is_empty() { Object::new() } else { Object::from_iter([("description", doc)]) };
        for (word, value) in schema.as_object().into_iter().flat_map(Object::iter) {
            property.push(word.clone(), value.clone());
        }
        property
    };
    let metadata = Object::from_iter([("allOf", vec![reference(&format!("{META}.ListMeta"))])]);
    let mut items = Object::new();
    items.push("description", format!("List of {}. More info: {CONVENTIONS}", &*resource.plural));
    items.push("type", "array");
    items.push("items", reference(&resource.schema.name));
    let mut properties = Object::new();
    properties.push("apiVersion", described("apiVersion", plain("string", None)));
    properties.push("items", items);
    properties.push("kind", described("kind", plain("string", None)));
    properties.push("metadata", described("metadata", metadata.into()));
    let mut schema = Object::new();
    schema.push("description", format!("{} is a list of {}", &*resource.list_kind, &*resource.kind));
    schema.push("type", "object");
    schema.push("required", vec![Value::from("items")]);
    schema.push("properties", properties);
    custom::push_selectable(&mut schema, &resource.selectable);
    schema.into()
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
    if kind == "APIGroupList" {
        schemas.mark_kinds(&format!("{META}.APIGroup"), vec![gvk("", "v1", "APIGroup")]);
    }
    get(path, id, tag, &format!("get {what}"), &name, FORMS)
}

fn code_version(schemas: &mut Schemas, types: &Types) -> Object {
    const INFO: &str = "io.k8s.apimachinery.pkg.version.Info";
    // Name, whether it is always there, and what it means.
    let fields = [
        ("major", true, "Major is the major version of the binary version"),
        ("minor", true, "Minor is the minor version of the binary version"),
        ("emulationMajor", false, "EmulationMajor is the major version of the emulation version"),
        ("emulationMinor", false, "EmulationMinor is the minor version of the emulation version"),
        (
            "minCompatibilityMajor",
            false,
            "MinCompatibilityMajor is the major version of the minimum compatibility version",
        ),
        (
            "minCompatibilityMinor",
            false,
            "MinCompatibilityMinor is the minor version of the minimum compatibility version",
        ),
        ("gitVersion", true, ""),
        ("gitCommit", true, ""),
        ("gitTreeState", true, ""),
        ("buildDate", true, ""),
        ("goVersion", true, ""),
        ("compiler", true, ""),
        ("platform", true, ""),
    ];
    let property = |(name, always, doc): (&'static str, bool, &str)| {
        let mut schema = Object::new();
        if !doc.is_empty() {
            schema.push("description", doc);
        }
        if always {
            schema.push("default", "");
        }
        schema.push("type", "string");
        (name, Value::from(schema))
    };
    let properties: Object = fields.into_iter().map(property).collect();
    let required: Vec<Value> =
        fields.iter().filter(|(_, always, _)| *always).map(|(name, ..)| Value::from(*name)).collect();
    let mut info = Object::new();
    if let Some(ty) = types(INFO) {
        info.push("description", &*ty.doc);
    }
    info.push("type", "object");
    info.push("required", required);
    info.push("properties", properties);
    schemas.put(INFO, info.into());
    get(
        "/version/",
        "getCodeVersion",
        "version",
        "get the version information for this server",
        INFO,
        &FORMS[..1],
    )
}

/// The issuer's own documents, which say what they are in words of their standard.
fn open_id(path: &str) -> Object {
    let (id, doc, form) = match path {
        "/openid/v1/jwks" => (
            "getServiceAccountIssuerOpenIDKeyset",
            "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
            "application/jwk-set+json",
        ),
        _ => (
            "getServiceAccountIssuerOpenIDConfiguration",
            "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
            "application/json",
        ),
    };
    let mut operation = Object::new();
    operation
        .push("tags", vec![Value::from(path.split('/').nth(1).unwrap_or_default().trim_start_matches('.'))]);
    operation.push("description", doc);
    operation.push("operationId", id);
    operation.push("responses", text_responses(&[form]));
    Object::from_iter([(format!("{path}/"), Object::from_iter([("get", operation)]))])
}

fn get(path: &str, id: &str, tag: &str, doc: &str, definition: &str, forms: &[&str]) -> Object {
    let mut operation = Object::new();
    operation.push("tags", vec![Value::from(tag)]);
    operation.push("description", doc);
    operation.push("operationId", id);
    operation.push("responses", responses(&[("200", "OK")], forms, definition));
    Object::from_iter([(path, Object::from_iter([("get", operation)]))])
}
