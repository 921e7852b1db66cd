//! The query and path parameters of operations, with the texts that `kubectl explain` and
//! generated clients show.

use apiwright_json::{Object, Value};

/// Where a parameter is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    Query,
}

struct Parameter {
    name: &'static str,
    place: Place,
    kind: &'static str,
    doc: &'static str,
}

const fn query(name: &'static str, kind: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, place: Place::Query, kind, doc }
}

const TABLE: &[Parameter] = &[
    Parameter { name: "namespace", place: Place::Path, kind: "string", doc: "The namespace of the objects." },
    Parameter {
        name: "path",
        place: Place::Path,
        kind: "string",
        doc: "The path below the proxied server's root.",
    },
    query("allowWatchBookmarks", "boolean", "Whether a watch may tell its progress by BOOKMARK events."),
    query("command", "string", "The command to run, not in a shell."),
    query("container", "string", "The container; may be left out where the pod has one."),
    query("continue", "string", "The token of the last page, to get the next one."),
    query("dryRun", "string", "`All`: answer as if, and write nothing."),
    query(
        "fieldManager",
        "string",
        "Who writes, for the ownership of fields: at most 128 printable characters.",
    ),
    query("fieldSelector", "string", "Only objects whose fields have these values."),
    query("fieldValidation", "string", "What unknown and duplicate fields do: Ignore, Warn or Strict."),
    query("follow", "boolean", "Whether to follow the log."),
    query("force", "boolean", "Whether an apply takes over fields that others own."),
    query("gracePeriodSeconds", "integer", "Seconds before the object is deleted; 0 for at once."),
    query(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether an object that cannot be read is deleted nevertheless, without its safeguards.",
    ),
    query("insecureSkipTLSVerifyBackend", "boolean", "Whether the kubelet's certificate goes unchecked."),
    query("labelSelector", "string", "Only objects whose labels match."),
    query("limit", "integer", "The most objects of one page."),
    query("limitBytes", "integer", "The most bytes of log."),
    query("orphanDependents", "boolean", "Deprecated by propagationPolicy."),
    query("path", "string", "The path below the proxied server's root."),
    query("ports", "integer", "The ports to forward."),
    query("pretty", "string", "`true` for an indented answer."),
    query("previous", "boolean", "Whether to show the log of the container's last run."),
    query("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
    query("resourceVersion", "string", "The version to read at, or to watch from."),
    query(
        "resourceVersionMatch",
        "string",
        "How the answer's version relates to resourceVersion: Exact or NotOlderThan.",
    ),
    query("sendInitialEvents", "boolean", "Whether a watch begins with the objects that there are."),
    query("shardSelector", "string", "Only objects of this shard."),
    query("sinceSeconds", "integer", "Only log lines of the last so many seconds."),
    query("stderr", "boolean", "Whether to connect the standard error."),
    query("stdin", "boolean", "Whether to connect the standard input."),
    query("stdout", "boolean", "Whether to connect the standard output."),
    query("stream", "string", "Which streams of the log to show: All, Stdout or Stderr."),
    query("tailLines", "integer", "Only so many lines from the end of the log."),
    query("timeoutSeconds", "integer", "Seconds after which the request ends."),
    query("timestamps", "boolean", "Whether log lines begin with their time."),
    query("tty", "boolean", "Whether to allocate a terminal."),
    query("watch", "boolean", "Whether to watch instead of list."),
];

/// Query parameters of a create or an update.
pub const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
/// Query parameters of a patch.
pub const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
/// Query parameters of a list, apart from `pretty`.
pub const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
/// Query parameters of a deletion.
pub const DELETE: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];
/// Query parameters of a deletion of a collection.
pub const DELETE_COLLECTION: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
];

/// The parameters of these names. `name` is the object's name in the path, of the given kind.
pub fn list(names: &[&str], kind: &str) -> Vec<Value> {
    names.iter().filter_map(|name| one(name, kind)).collect()
}

/// A path parameter's or query parameter's entry. `{path}` is the path form of `path`.
fn one(name: &str, kind: &str) -> Option<Value> {
    if name == "name" {
        return Some(entry("name", Place::Path, "string", &format!("name of the {kind}")));
    }
    let (name, place) = match name.strip_prefix('{') {
        Some(rest) => (rest.trim_end_matches('}'), Place::Path),
        None if name == "namespace" => (name, Place::Path),
        None => (name, Place::Query),
    };
    let found = TABLE.iter().find(|one| one.name == name && one.place == place)?;
    Some(entry(found.name, found.place, found.kind, found.doc))
}

fn entry(name: &str, place: Place, kind: &str, doc: &str) -> Value {
    let mut schema = Object::new();
    schema.push("type", kind);
    schema.push("uniqueItems", true);
    let mut entry = Object::new();
    entry.push("name", name);
    entry.push("in", if place == Place::Path { "path" } else { "query" });
    entry.push("description", doc);
    if place == Place::Path {
        entry.push("required", true);
    }
    entry.push("schema", schema);
    entry.into()
}
