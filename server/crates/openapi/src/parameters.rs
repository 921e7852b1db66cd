//! The path and query parameters of operations. What a request's query may hold are the fields of option types
//! (`ListOptions`, `PodExecOptions`), which the specs declare and describe like any other type.

use apiwright_json::{Object, Value};
use apiwright_registry::typed::Types;
use apiwright_schema::Shape;

/// Where `ListOptions` and the like are defined.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// What only a watch asks for.
const WATCH_ONLY: &[&str] = &["allowWatchBookmarks", "watch"];

/// One parameter of an operation.
#[derive(Clone)]
pub struct Parameter {
    name: String,
    in_path: bool,
    kind: &'static str,
    doc: String,
}

impl Parameter {
    /// The name of an object of a kind.
    pub fn name(kind: &str) -> Self {
        Self::in_path("name", format!("name of the {kind}"))
    }

    /// The namespace of what is asked for.
    pub fn namespace() -> Self {
        Self::in_path("namespace", "object name and auth scope, such as for teams and projects".into())
    }

    /// What follows a proxy's own path.
    pub fn path() -> Self {
        Self::in_path("path", "path to the resource".into())
    }

    /// Whether the answer is to be read by people.
    pub fn pretty() -> Self {
        let doc = "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).";
        Self { name: "pretty".into(), in_path: false, kind: "string", doc: doc.into() }
    }

    fn in_path(name: &str, doc: String) -> Self {
        Self { name: name.into(), in_path: true, kind: "string", doc }
    }

    /// Whether both are said at the same place of a request.
    pub fn is_same(&self, other: &Self) -> bool {
        self.order() == other.order()
    }

    /// By name; of two of a name the path's comes first.
    pub fn order(&self) -> (&str, bool) {
        (&self.name, !self.in_path)
    }

    /// Its entry in a document.
    pub fn entry(&self) -> Value {
        let mut schema = Object::new();
        schema.push("type", self.kind);
        schema.push("uniqueItems", true);
        let mut entry = Object::new();
        entry.push("name", self.name.as_str());
        entry.push("in", if self.in_path { "path" } else { "query" });
        entry.push("description", self.doc.as_str());
        if self.in_path {
            entry.push("required", true);
        }
        entry.push("schema", schema);
        entry.into()
    }
}

/// Those of a create or an update.
pub fn write(types: &Types) -> Vec<Parameter> {
    options(types, &format!("{META}.CreateOptions"))
}

/// Those of a patch.
pub fn patch(types: &Types) -> Vec<Parameter> {
    options(types, &format!("{META}.PatchOptions"))
}

/// Those of a get, where they are told.
pub fn get(types: &Types) -> Vec<Parameter> {
    options(types, &format!("{META}.GetOptions"))
}

/// Those of a list or a watch.
pub fn list(types: &Types) -> Vec<Parameter> {
    options(types, &format!("{META}.ListOptions"))
}

/// Those of a deletion.
pub fn delete(types: &Types) -> Vec<Parameter> {
    options(types, &format!("{META}.DeleteOptions"))
}

/// Those of a deletion of a collection: how to delete, and what.
pub fn delete_collection(types: &Types) -> Vec<Parameter> {
    let mut all = list(types);
    all.retain(|one| !WATCH_ONLY.contains(&one.name.as_str()));
    all.extend(delete(types));
    all
}

/// The fields of an option type that a query can hold: scalars, and lists of them.
pub fn options(types: &Types, definition: &str) -> Vec<Parameter> {
    let Some(ty) = types(definition) else { return Vec::new() };
    let fields = ty.fields.iter().filter(|field| field.proto.is_some());
    fields
        .filter_map(|field| {
            let kind = scalar(&field.node.shape)?;
            Some(Parameter { name: field.name.to_string(), in_path: false, kind, doc: field.doc.to_string() })
        })
        .collect()
}

fn scalar(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Bool => Some("boolean"),
        Shape::Int32 | Shape::Int64 => Some("integer"),
        Shape::String(_) => Some("string"),
        Shape::List(list) => scalar(&list.item.shape),
        _ => None,
    }
}
