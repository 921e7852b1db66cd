//! The operations of a resource, by path, as upstream's route installer names them.

use apiwright_json::{Object, Value};
use apiwright_registry::resource::{Subresource, Verb};
use apiwright_registry::typed::Types;
use apiwright_registry::{Resource, Scope};

use crate::parameters::{self, Parameter};
use crate::schemas::reference;

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const PATCH_BODY: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
/// What the query of a log may hold, which its own kind does not say.
const LOG_OPTIONS: &str = "io.k8s.api.core.v1.PodLogOptions";
const FORMS: &[&str] = &["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];
const CUSTOM_FORMS: &[&str] = &["application/json", "application/yaml"];
const STREAMS: &[&str] =
    &["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];
const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// An operation before its parameters are shared out between it and its path.
struct Operation {
    method: &'static str,
    parameters: Vec<Parameter>,
    body: Object,
}

/// The names by which a resource's definitions go, and the types that they name.
struct Names<'a> {
    types: &'a Types,
    /// `AppsV1`.
    id: String,
    /// `apps_v1`.
    tag: String,
    /// The kind's definition.
    object: String,
    /// The list kind's definition.
    list: String,
    /// The kind, and its group version.
    gvk: Value,
    /// Whether a definition made it: it comes in fewer forms.
    is_custom: bool,
}

impl Names<'_> {
    /// What objects are answered in.
    fn forms(&self) -> &'static [&'static str] {
        if self.is_custom { CUSTOM_FORMS } else { FORMS }
    }

    /// What objects are sent in.
    fn bodies(&self) -> &'static [&'static str] {
        if self.is_custom { CUSTOM_FORMS } else { &["*/*"] }
    }

    /// What patches are sent in.
    fn patches(&self) -> &'static [&'static str] {
        if self.is_custom { &PATCHES[..3] } else { PATCHES }
    }
}

/// The paths of a resource: (path, path item).
pub fn paths(resource: &Resource, title: &str, types: &Types) -> Vec<(String, Value)> {
    let names = names(resource, title, types);
    let root = root(&resource.group, &resource.version);
    let namespaced = resource.scope == Scope::Namespaced;
    let scope = if namespaced { "Namespaced" } else { "" };
    let base = if namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{base}/{}", &*resource.plural);
    let object = format!("{collection}/{{name}}");
    let mut out = Vec::new();

    push(&mut out, format!("{root}{collection}"), collection_operations(resource, &names, scope));
    push(&mut out, format!("{root}{object}"), object_operations(resource, &names, scope));
    for subresource in resource.subresources.iter() {
        let path = format!("{root}{object}/{}", &*subresource.name);
        push(&mut out, path.clone(), subresource_operations(resource, subresource, &names, scope, ""));
        if &*subresource.name == "proxy" {
            let below = subresource_operations(resource, subresource, &names, scope, "WithPath");
            push(&mut out, format!("{path}/{{path}}"), below);
        }
    }
    let kind = &*resource.kind;
    let everywhere = [Parameter::pretty()];
    if namespaced && resource.allows(Verb::List) {
        let id = format!("list{}{kind}ForAllNamespaces", names.id);
        let all = vec![list_operation(resource, &names, "list", &id, &everywhere)];
        push(&mut out, format!("{root}/{}", &*resource.plural), all);
    }
    if resource.allows(Verb::Watch) && !resource.is_custom() {
        let id = format!("watch{}{scope}{kind}List", names.id);
        let one = vec![list_operation(resource, &names, "watchlist", &id, &place(None, scope))];
        push(&mut out, format!("{root}/watch{collection}"), one);
        let id = format!("watch{}{scope}{kind}", names.id);
        let one = vec![list_operation(resource, &names, "watch", &id, &place(Some(kind), scope))];
        push(&mut out, format!("{root}/watch{object}"), one);
        if namespaced {
            let id = format!("watch{}{kind}ListForAllNamespaces", names.id);
            let one = vec![list_operation(resource, &names, "watchlist", &id, &everywhere)];
            push(&mut out, format!("{root}/watch/{}", &*resource.plural), one);
        }
    }
    out
}

fn collection_operations(resource: &Resource, names: &Names<'_>, scope: &str) -> Vec<Operation> {
    let kind = &*resource.kind;
    let place = &place(None, scope);
    let mut operations = Vec::new();
    if resource.allows(Verb::List) {
        let id = format!("list{}{scope}{kind}", names.id);
        operations.push(list_operation(resource, names, "list", &id, place));
    }
    if resource.allows(Verb::Create) {
        let doc = article("create", kind);
        let mut body =
            operation(names, &doc, &format!("create{}{scope}{kind}", names.id), "post", &names.gvk);
        body.push("requestBody", request_body(names.bodies(), &names.object, true));
        body.push(
            "responses",
            responses(
                &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
                names.forms(),
                &names.object,
            ),
        );
        operations.push(Operation {
            method: "post",
            parameters: with(place, parameters::write(names.types)),
            body,
        });
    }
    if resource.allows(Verb::DeleteCollection) {
        let id = format!("delete{}Collection{scope}{kind}", names.id);
        let mut body =
            operation(names, &format!("delete collection of {kind}"), &id, "deletecollection", &names.gvk);
        if !names.is_custom {
            body.push("requestBody", request_body(names.bodies(), DELETE_OPTIONS, false));
        }
        body.push("responses", responses(&[("200", "OK")], names.forms(), STATUS));
        let own = if names.is_custom { parameters::list } else { parameters::delete_collection };
        operations.push(Operation { method: "delete", parameters: with(place, own(names.types)), body });
    }
    operations
}

fn object_operations(resource: &Resource, names: &Names<'_>, scope: &str) -> Vec<Operation> {
    let kind = &*resource.kind;
    let place = &place(Some(kind), scope);
    let mut operations = Vec::new();
    for verb in resource.verbs.iter() {
        let id = |word: &str| format!("{word}{}{scope}{kind}", names.id);
        match verb {
            Verb::Get => operations.push(read(
                names,
                place,
                &format!("read the specified {kind}"),
                &id("read"),
                &names.object,
                &names.gvk,
            )),
            Verb::Update => operations.push(replace(
                names,
                place,
                &format!("replace the specified {kind}"),
                &id("replace"),
                &names.object,
                &names.gvk,
            )),
            Verb::Patch => operations.push(patch(
                names,
                place,
                &format!("partially update the specified {kind}"),
                &id("patch"),
                &names.object,
                &names.gvk,
            )),
            Verb::Delete => {
                // What a finalizer of its own kind holds back is answered as it goes, not when it is gone.
                let is_held = resource.subresources.iter().any(|one| &*one.name == "finalize");
                let returns = resource.strategy.delete_returns_object && !is_held;
                let answer = if returns { &names.object } else { STATUS };
                let mut body =
                    operation(names, &article("delete", kind), &id("delete"), "delete", &names.gvk);
                body.push("requestBody", request_body(names.bodies(), DELETE_OPTIONS, false));
                body.push(
                    "responses",
                    responses(&[("200", "OK"), ("202", "Accepted")], names.forms(), answer),
                );
                let parameters = with(place, parameters::delete(names.types));
                operations.push(Operation { method: "delete", parameters, body });
            }
            Verb::Create | Verb::DeleteCollection | Verb::List | Verb::Watch => {}
        }
    }
    operations
}

fn subresource_operations(
    resource: &Resource,
    subresource: &Subresource,
    names: &Names<'_>,
    scope: &str,
    suffix: &str,
) -> Vec<Operation> {
    let kind = &*resource.kind;
    let name = capital(&subresource.name);
    let of = &subresource.kind;
    // Of a custom resource all is said to be of its own kind.
    let (about_kind, gvk) = if names.is_custom {
        (kind, names.gvk.clone())
    } else {
        (&*of.kind, gvk(&of.group, &of.version, &of.kind))
    };
    if of.kind.ends_with("Options") {
        return connect_operations(resource, subresource, names, scope, suffix, &gvk);
    }
    let place = &place(Some(about_kind), scope);
    let object = definition(&of.group, &of.version, &of.kind, names, resource);
    let id = |word: &str| format!("{word}{}{scope}{kind}{name}", names.id);
    let about = &*subresource.name;
    let mut operations = Vec::new();
    for verb in subresource.verbs.iter() {
        match verb {
            Verb::Get if about == "log" => {
                let mut body = operation(
                    names,
                    &format!("read {about} of the specified {kind}"),
                    &id("read"),
                    "get",
                    &gvk,
                );
                body.push(
                    "responses",
                    text_responses(&[
                        "application/json",
                        "application/vnd.kubernetes.protobuf",
                        "application/yaml",
                        "text/plain",
                    ]),
                );
                let own = parameters::options(names.types, LOG_OPTIONS);
                operations.push(Operation { method: "get", parameters: with(place, own), body });
            }
            Verb::Get => operations.push(read(
                names,
                place,
                &format!("read {about} of the specified {kind}"),
                &id("read"),
                &object,
                &gvk,
            )),
            Verb::Update => operations.push(replace(
                names,
                place,
                &format!("replace {about} of the specified {kind}"),
                &id("replace"),
                &object,
                &gvk,
            )),
            Verb::Patch => operations.push(patch(
                names,
                place,
                &format!("partially update {about} of the specified {kind}"),
                &id("patch"),
                &object,
                &gvk,
            )),
            Verb::Create => {
                let mut body =
                    operation(names, &format!("create {about} of a {kind}"), &id("create"), "post", &gvk);
                body.push("requestBody", request_body(names.bodies(), &object, true));
                body.push(
                    "responses",
                    responses(
                        &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
                        names.forms(),
                        &object,
                    ),
                );
                operations.push(Operation {
                    method: "post",
                    parameters: with(place, parameters::write(names.types)),
                    body,
                });
            }
            Verb::Delete | Verb::DeleteCollection | Verb::List | Verb::Watch => {}
        }
    }
    operations
}

/// Streams to and from what runs behind an object. Proxies take every method.
fn connect_operations(
    resource: &Resource,
    subresource: &Subresource,
    names: &Names<'_>,
    scope: &str,
    suffix: &str,
    gvk: &Value,
) -> Vec<Operation> {
    let name = &*subresource.name;
    let of = &subresource.kind;
    let mut parameters = vec![Parameter::name(&of.kind)];
    if !scope.is_empty() {
        parameters.push(Parameter::namespace());
    }
    if !suffix.is_empty() {
        parameters.push(Parameter::path());
    }
    let own = definition(&of.group, &of.version, &of.kind, names, resource);
    parameters.extend(parameters::options(names.types, &own));
    let methods: &[&'static str] = if name == "proxy" {
        &["delete", "get", "head", "options", "patch", "post", "put"]
    } else {
        &["get", "post"]
    };
    methods
        .iter()
        .map(|method| {
            let kind = &*resource.kind;
            let word = capital(method);
            let id = format!("connect{}{word}{scope}{kind}{}{suffix}", names.id, capital(name));
            let doc = format!("connect {} requests to {name} of {kind}", method.to_uppercase());
            let mut body = operation(names, &doc, &id, "connect", gvk);
            body.push("responses", text_responses(&["*/*"]));
            Operation { method, parameters: parameters.clone(), body }
        })
        .collect()
}

fn list_operation(
    resource: &Resource,
    names: &Names<'_>,
    action: &str,
    id: &str,
    place: &[Parameter],
) -> Operation {
    let kind = &*resource.kind;
    let doc = match action {
        "list" if resource.allows(Verb::Watch) && !names.is_custom => {
            format!("list or watch objects of kind {kind}")
        }
        "list" => format!("list objects of kind {kind}"),
        "watchlist" => format!(
            "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list operation instead."
        ),
        _ => format!(
            "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter."
        ),
    };
    let mut body = operation(names, &doc, id, action, &names.gvk);
    let forms = if names.is_custom { names.forms().to_vec() } else { [FORMS, STREAMS].concat() };
    let answer =
        if action == "list" { &names.list } else { "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent" };
    body.push("responses", responses(&[("200", "OK")], &forms, answer));
    Operation { method: "get", parameters: with(place, parameters::list(names.types)), body }
}

fn read(names: &Names<'_>, place: &[Parameter], doc: &str, id: &str, object: &str, gvk: &Value) -> Operation {
    let mut body = operation(names, doc, id, "get", gvk);
    body.push("responses", responses(&[("200", "OK")], names.forms(), object));
    let own = if names.is_custom { parameters::get(names.types) } else { Vec::new() };
    Operation { method: "get", parameters: with(place, own), body }
}

fn replace(
    names: &Names<'_>,
    place: &[Parameter],
    doc: &str,
    id: &str,
    object: &str,
    gvk: &Value,
) -> Operation {
    let mut body = operation(names, doc, id, "put", gvk);
    body.push("requestBody", request_body(names.bodies(), object, true));
    body.push("responses", responses(&[("200", "OK"), ("201", "Created")], names.forms(), object));
    Operation { method: "put", parameters: with(place, parameters::write(names.types)), body }
}

fn patch(
    names: &Names<'_>,
    place: &[Parameter],
    doc: &str,
    id: &str,
    object: &str,
    gvk: &Value,
) -> Operation {
    let mut body = operation(names, doc, id, "patch", gvk);
    body.push("requestBody", request_body(names.patches(), PATCH_BODY, true));
    let codes: &[_] = if names.is_custom { &[("200", "OK")] } else { &[("200", "OK"), ("201", "Created")] };
    body.push("responses", responses(codes, names.forms(), object));
    Operation { method: "patch", parameters: with(place, parameters::patch(names.types)), body }
}

fn operation(names: &Names<'_>, doc: &str, id: &str, action: &str, gvk: &Value) -> Object {
    let mut body = Object::new();
    body.push("tags", vec![Value::from(names.tag.as_str())]);
    body.push("description", doc);
    body.push("operationId", id);
    body.push("x-kubernetes-action", action);
    body.push("x-kubernetes-group-version-kind", gvk.clone());
    body
}

fn request_body(forms: &[&str], definition: &str, required: bool) -> Object {
    let mut body = Object::new();
    body.push("content", content(forms, &reference(definition)));
    if required {
        body.push("required", true);
    }
    body
}

/// Answers of a definition, and the one of who is not known.
pub fn responses(codes: &[(&str, &str)], forms: &[&str], definition: &str) -> Object {
    answers(codes, forms, &reference(definition))
}

/// Answers that are a text.
pub fn text_responses(forms: &[&str]) -> Object {
    answers(&[("200", "OK")], forms, &crate::schemas::plain("string", None))
}

fn answers(codes: &[(&str, &str)], forms: &[&str], schema: &Value) -> Object {
    let mut out = Object::new();
    for (code, doc) in codes {
        let mut answer = Object::new();
        answer.push("description", *doc);
        answer.push("content", content(forms, schema));
        out.push(*code, answer);
    }
    out.push("401", Object::from_iter([("description", "Unauthorized")]));
    out
}

fn content(forms: &[&str], schema: &Value) -> Object {
    forms.iter().map(|form| (*form, Object::from_iter([("schema", schema.clone())]))).collect()
}

/// Where a collection or, of this kind, an object is, and how its answer is to look.
fn place(kind: Option<&str>, scope: &str) -> Vec<Parameter> {
    let namespace = (!scope.is_empty()).then(Parameter::namespace);
    kind.map(Parameter::name).into_iter().chain(namespace).chain([Parameter::pretty()]).collect()
}

fn with(place: &[Parameter], own: Vec<Parameter>) -> Vec<Parameter> {
    place.iter().cloned().chain(own).collect()
}

/// Adds a path item, the parameters that all operations have in common hoisted to the path.
fn push(out: &mut Vec<(String, Value)>, path: String, operations: Vec<Operation>) {
    let Some(first) = operations.first() else { return };
    let has = |all: &[Parameter], this: &Parameter| all.iter().any(|one| one.is_same(this));
    let mut common = first.parameters.clone();
    common.retain(|this| operations.iter().all(|one| has(&one.parameters, this)));
    let mut item = Object::new();
    for mut operation in operations {
        operation.parameters.retain(|this| !has(&common, this));
        if !operation.parameters.is_empty() {
            operation.body.push("parameters", entries(operation.parameters));
        }
        item.push(operation.method, operation.body);
    }
    if !common.is_empty() {
        item.push("parameters", entries(common));
    }
    out.push((path, item.into()));
}

fn entries(mut parameters: Vec<Parameter>) -> Vec<Value> {
    parameters.sort_by(|a, b| a.order().cmp(&b.order()));
    parameters.iter().map(Parameter::entry).collect()
}

fn names<'a>(resource: &Resource, title: &str, types: &'a Types) -> Names<'a> {
    let object = resource.schema.name.to_string();
    let list = match object.strip_suffix(&*resource.kind) {
        Some(package) => format!("{package}{}", &*resource.list_kind),
        None => resource.list_kind.to_string(),
    };
    let (id, tag) = identifiers(title, &resource.version);
    let gvk = gvk(&resource.group, &resource.version, &resource.kind);
    Names { types, id, tag, object, list, gvk, is_custom: resource.is_custom() }
}

/// `AppsV1` and `apps_v1`, from the group's title (see [`title`]) and version.
pub fn identifiers(title: &str, version: &str) -> (String, String) {
    let mut lower = title.chars();
    let lower =
        lower.next().map(|first| first.to_lowercase().chain(lower).collect::<String>()).unwrap_or_default();
    (format!("{title}{}", capital(version)), format!("{lower}_{version}"))
}

/// A group as operation names spell it: `RbacAuthorization` for `rbac.authorization.k8s.io`.
pub fn title(group: &str) -> String {
    if group.is_empty() {
        return "Core".into();
    }
    let short = group.strip_suffix(".k8s.io").unwrap_or(group);
    short.split(['.', '-']).map(capital).collect()
}

/// `/apis/apps/v1`, or `/api/v1` of the core group.
pub fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn definition(group: &str, version: &str, kind: &str, names: &Names<'_>, resource: &Resource) -> String {
    if group == &*resource.group && version == &*resource.version && kind == &*resource.kind {
        return names.object.clone();
    }
    let package = match group {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    format!("io.k8s.api.{package}.{version}.{kind}")
}

/// The extension that ties an operation to a kind.
pub fn gvk(group: &str, version: &str, kind: &str) -> Value {
    Value::Object([("group", group), ("kind", kind), ("version", version)].into_iter().collect())
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// `create a Pod`; kinds that look like many things have no article.
fn article(verb: &str, kind: &str) -> String {
    if kind.ends_with('s') && !kind.ends_with("ss") {
        return format!("{verb} {kind}");
    }
    let vowel = kind.starts_with(['A', 'E', 'I', 'O', 'U', 'a', 'e', 'i', 'o', 'u']);
    format!("{verb} {} {kind}", if vowel { "an" } else { "a" })
}
