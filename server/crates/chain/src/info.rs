//! What an address says: the fixed grammar of Kubernetes' paths (upstream: `RequestInfo`).
//!
//! Knows nothing of what is served: `/apis/a/b/c` is a resource's path whether or not there is
//! such a group. Invariant: never fails on a path of well-formed escapes, except for the two
//! legacy forms `/api/v1/watch` and `/api/v1/proxy` with nothing behind them.

use std::borrow::Cow;
use std::fmt;

use apiwright_meta::fields::FieldSelector;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::names;
use http::Method;

use crate::query::Query;

/// A request's verb and object, as the path, the method and the query have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// Whether the path is that of a resource: `/api/…` or `/apis/…` with a version and more.
    pub is_resource: bool,
    /// The decoded path.
    pub path: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or the
    /// lower-case method of a path that is no resource's; empty for other methods of resources.
    pub verb: String,
    /// `api` or `apis`.
    pub prefix: String,
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub version: String,
    /// Empty for cluster-wide requests. A namespace is in itself.
    pub namespace: String,
    /// The plural.
    pub resource: String,
    /// For instance `status`.
    pub subresource: String,
    /// Empty for collections, unless their field selector names one object.
    pub name: String,
    /// The decoded segments from the resource on.
    pub parts: Vec<String>,
    /// The field selector of a collection request, as it came.
    pub field_selector: String,
    /// The label selector of a collection request, as it came.
    pub label_selector: String,
}

/// Why an address says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A `%` that is not followed by two hexadecimal digits: not even HTTP.
    Escape,
    /// A legacy verb prefix without anything behind it.
    VerbAlone(String),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Escape => f.write_str("invalid URL escape"),
            Self::VerbAlone(url) => write!(f, "unable to determine kind and namespace from url, {url}"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Where a server gives all that it stores, which may take long; ours, not upstream's.
pub const SNAPSHOT_PATH: &str = "/apiwright/snapshot";

impl RequestInfo {
    /// Reads a method, a raw path and a raw query.
    ///
    /// # Errors
    /// Where the path cannot be decoded, or ends after a legacy verb.
    pub fn parse(method: &Method, path: &str, query: &str) -> Result<Self, Malformed> {
        let decoded = decode(path).ok_or(Malformed::Escape)?;
        let mut info =
            Self { path: decoded.clone().into_owned(), verb: lower(method).into_owned(), ..Self::default() };
        let mut parts: Vec<&str> = match decoded.trim_matches('/') {
            "" => Vec::new(),
            trimmed => trimmed.split('/').collect(),
        };
        let before_resource = match parts.as_slice() {
            ["api", _, _, ..] => 1,
            ["apis", group, _, _, ..] => {
                info.group = (*group).into();
                2
            }
            ["apis", _, _] => {
                info.prefix = "apis".into();
                return Ok(info);
            }
            _ => return Ok(info),
        };
        info.prefix = parts[0].into();
        info.version = parts[before_resource].into();
        info.is_resource = true;
        parts.drain(..=before_resource);

        let legacy_verb = matches!(parts[0], "watch" | "proxy");
        if legacy_verb {
            if parts.len() < 2 {
                let query = if query.is_empty() { String::new() } else { format!("?{query}") };
                return Err(Malformed::VerbAlone(format!("{path}{query}")));
            }
            info.verb = parts.remove(0).into();
        } else {
            info.verb = verb(method).into();
        }

        if parts[0] == "namespaces" && parts.len() > 1 {
            info.namespace = parts[1].into();
            if parts.len() > 2 && !matches!(parts[2], "status" | "finalize") {
                parts.drain(..2);
            }
        }
        info.resource = parts[0].into();
        if let Some(name) = parts.get(1) {
            info.name = (*name).into();
        }
        // A legacy proxy path goes on behind the name; it has no subresource.
        if let (Some(subresource), true) = (parts.get(2), info.verb != "proxy") {
            info.subresource = (*subresource).into();
        }
        info.parts = parts.iter().map(|part| (*part).into()).collect();

        let collection = info.name.is_empty() || info.verb == "watch";
        let parsed = if collection { Query::parse(query) } else { Query::default() };
        if info.name.is_empty() && info.verb == "get" {
            let options = Options::read(&parsed);
            info.verb = if options.watch { "watch" } else { "list" }.into();
            info.name = options.name.unwrap_or_default();
        }
        if info.name.is_empty() && info.verb == "delete" {
            info.verb = "deletecollection".into();
        }
        if !legacy_verb && matches!(info.verb.as_str(), "list" | "watch" | "deletecollection") {
            info.field_selector = parsed.get("fieldSelector").unwrap_or_default().into();
            info.label_selector = parsed.get("labelSelector").unwrap_or_default().into();
        }
        Ok(info)
    }

    /// Whether the request may stay open as long as the client likes: watches, the legacy proxy
    /// verb, and the subresources that talk to a node.
    pub fn is_long_running(&self) -> bool {
        matches!(self.verb.as_str(), "watch" | "proxy")
            || (self.is_resource
                && matches!(self.subresource.as_str(), "attach" | "exec" | "proxy" | "log" | "portforward"))
            || (!self.is_resource && (self.path.starts_with("/debug/pprof/") || self.path == SNAPSHOT_PATH))
    }

    /// Whether the request only reads.
    pub fn is_read_only(&self) -> bool {
        matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// Undoes the percent-encoding of a path; `None` where a `%` is not followed by two hexadecimal
/// digits. Bytes that are not UTF-8 become replacement characters.
pub fn decode(path: &str) -> Option<Cow<'_, str>> {
    let mut pieces = path.split('%');
    let first = pieces.next().unwrap_or_default();
    if first.len() == path.len() {
        return Some(Cow::Borrowed(path));
    }
    let mut out = Vec::with_capacity(path.len());
    out.extend_from_slice(first.as_bytes());
    for piece in pieces {
        let [high, low, after @ ..] = piece.as_bytes() else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        out.push((digit(*high)? << 4 | digit(*low)?) as u8);
        out.extend_from_slice(after);
    }
    Some(
        String::from_utf8(out)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
            .into(),
    )
}

fn lower(method: &Method) -> Cow<'static, str> {
    match *method {
        Method::GET => "get".into(),
        Method::POST => "post".into(),
        Method::PUT => "put".into(),
        Method::PATCH => "patch".into(),
        Method::DELETE => "delete".into(),
        Method::HEAD => "head".into(),
        Method::OPTIONS => "options".into(),
        ref other => other.as_str().to_lowercase().into(),
    }
}

fn verb(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

/// What a collection's query says about the verb and the name.
struct Options {
    watch: bool,
    name: Option<String>,
}

impl Options {
    /// One option that cannot be parsed makes the name unknown; watch counts even then.
    fn read(query: &Query) -> Self {
        let watch =
            query.get("watch").is_some_and(|value| !value.eq_ignore_ascii_case("false") && value != "0");
        let integer = |key| query.get(key).is_none_or(|value| value.parse::<i64>().is_ok());
        let labels = || query.get("labelSelector").is_none_or(|text| LabelSelector::parse(text).is_ok());
        let readable = integer("limit") && integer("timeoutSeconds") && labels();
        let name = if readable { query.get("fieldSelector").and_then(exact_name) } else { None };
        Self { watch, name }
    }
}

/// The name that a field selector asks for, if it can be parsed and asks for one that could be a
/// path's segment.
fn exact_name(selector: &str) -> Option<String> {
    let selector = FieldSelector::parse(selector).ok()?;
    let name = selector.exact("metadata.name")?;
    names::path_segment_name(name).is_empty().then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(method: &str, address: &str) -> RequestInfo {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        RequestInfo::parse(&method.parse().unwrap(), path, query).unwrap()
    }

    #[test]
    fn resource_paths() {
        // method, address, verb, prefix, group, version, namespace, resource, subresource, name, parts
        #[rustfmt::skip]
        let table = [
            ("GET", "/api/v1/namespaces", "list", "api", "", "v1", "", "namespaces", "", "", "namespaces"),
            ("GET", "/api/v1/namespaces/other", "get", "api", "", "v1", "other", "namespaces", "", "other", "namespaces/other"),
            ("PUT", "/api/v1/namespaces/other/finalize", "update", "api", "", "v1", "other", "namespaces", "finalize", "other", "namespaces/other/finalize"),
            ("PUT", "/api/v1/namespaces/other/status", "update", "api", "", "v1", "other", "namespaces", "status", "other", "namespaces/other/status"),
            ("GET", "/api/v1/namespaces/other/pods", "list", "api", "", "v1", "other", "pods", "", "", "pods"),
            ("GET", "/api/v1/namespaces/other/pods/foo", "get", "api", "", "v1", "other", "pods", "", "foo", "pods/foo"),
            ("HEAD", "/api/v1/namespaces/other/pods/foo", "get", "api", "", "v1", "other", "pods", "", "foo", "pods/foo"),
            ("GET", "/api/v1/pods", "list", "api", "", "v1", "", "pods", "", "", "pods"),
            ("HEAD", "/api/v1/pods", "list", "api", "", "v1", "", "pods", "", "", "pods"),
            ("GET", "/api/v1/namespaces/other/pods/foo/proxy/metrics", "get", "api", "", "v1", "other", "pods", "proxy", "foo", "pods/foo/proxy/metrics"),
            ("GET", "/api/v1/proxy/namespaces/other/pods/foo", "proxy", "api", "", "v1", "other", "pods", "", "foo", "pods/foo"),
            ("GET", "/api/v1/proxy/namespaces/other/pods/foo/sub/path", "proxy", "api", "", "v1", "other", "pods", "", "foo", "pods/foo/sub/path"),
            ("GET", "/api/v1/watch/pods", "watch", "api", "", "v1", "", "pods", "", "", "pods"),
            ("GET", "/api/v1/pods?watch=true", "watch", "api", "", "v1", "", "pods", "", "", "pods"),
            ("GET", "/api/v1/pods?watch=false", "list", "api", "", "v1", "", "pods", "", "", "pods"),
            ("GET", "/api/v1/pods?watch=False", "list", "api", "", "v1", "", "pods", "", "", "pods"),
            ("GET", "/api/v1/pods?watch=0", "list", "api", "", "v1", "", "pods", "", "", "pods"),
            ("GET", "/api/v1/pods?watch=", "watch", "api", "", "v1", "", "pods", "", "", "pods"),
            ("GET", "/api/v1/pods?watch=maybe", "watch", "api", "", "v1", "", "pods", "", "", "pods"),
            ("GET", "/api/v1/namespaces/other/pods/foo?watch=1", "get", "api", "", "v1", "other", "pods", "", "foo", "pods/foo"),
            ("GET", "/api/v1/watch/namespaces/other/pods/foo", "watch", "api", "", "v1", "other", "pods", "", "foo", "pods/foo"),
            ("POST", "/api/v1/namespaces/other/pods", "create", "api", "", "v1", "other", "pods", "", "", "pods"),
            ("PATCH", "/api/v1/namespaces/other/pods/foo", "patch", "api", "", "v1", "other", "pods", "", "foo", "pods/foo"),
            ("DELETE", "/api/v1/namespaces/other/pods/foo", "delete", "api", "", "v1", "other", "pods", "", "foo", "pods/foo"),
            ("DELETE", "/api/v1/namespaces/other/pods", "deletecollection", "api", "", "v1", "other", "pods", "", "", "pods"),
            ("DELETE", "/api/v1/pods?fieldSelector=metadata.name%3Dfoo", "deletecollection", "api", "", "v1", "", "pods", "", "", "pods"),
            ("OPTIONS", "/api/v1/namespaces/other", "", "api", "", "v1", "other", "namespaces", "", "other", "namespaces/other"),
            ("BREW", "/api/v1/nodes", "", "api", "", "v1", "", "nodes", "", "", "nodes"),
            ("GET", "/apis/apps/v1/namespaces/other/deployments/d/scale", "get", "apis", "apps", "v1", "other", "deployments", "scale", "d", "deployments/d/scale"),
            ("GET", "/apis/storage.k8s.io/v1/storageclasses/", "list", "apis", "storage.k8s.io", "v1", "", "storageclasses", "", "", "storageclasses"),
            ("GET", "/api/v1/namespaces/other/%63onfigmaps", "list", "api", "", "v1", "other", "configmaps", "", "", "configmaps"),
            ("GET", "/api/v1/nodes/a%2Fb", "get", "api", "", "v1", "", "nodes", "b", "a", "nodes/a/b"),
            ("GET", "//api/v1/nodes", "list", "api", "", "v1", "", "nodes", "", "", "nodes"),
            ("GET", "/api/v1//nodes", "get", "api", "", "v1", "", "", "", "nodes", "/nodes"),
            ("GET", "/api/v1/namespaces/other/pods/../configmaps", "get", "api", "", "v1", "other", "pods", "configmaps", "..", "pods/../configmaps"),
        ];
        for (method, address, verb, prefix, group, version, namespace, resource, subresource, name, parts) in
            table
        {
            let info = parse(method, address);
            assert!(info.is_resource, "{method} {address}");
            let found = (
                info.verb.as_str(),
                info.prefix.as_str(),
                info.group.as_str(),
                info.version.as_str(),
                info.namespace.as_str(),
                info.resource.as_str(),
                info.subresource.as_str(),
                info.name.as_str(),
                info.parts.join("/"),
            );
            let expected =
                (verb, prefix, group, version, namespace, resource, subresource, name, parts.to_owned());
            assert_eq!(found, expected, "{method} {address}");
        }
    }

    #[test]
    fn other_paths() {
        for (method, path, verb) in [
            ("GET", "/", "get"),
            ("GET", "/api", "get"),
            ("GET", "/api/", "get"),
            ("POST", "/api/v1", "post"),
            ("GET", "/apis/apps", "get"),
            ("GET", "/apis/apps/v1", "get"),
            ("GET", "/apis/apps/v1/", "get"),
            ("HEAD", "/healthz", "head"),
            ("BREW", "/healthz", "brew"),
            ("GET", "/API/v1/namespaces", "get"),
            ("GET", "/apix/v1/namespaces/a/b", "get"),
        ] {
            let info = parse(method, path);
            assert_eq!((info.is_resource, info.verb.as_str(), info.path.as_str()), (false, verb, path));
            assert!(info.resource.is_empty() && info.parts.is_empty());
        }
    }

    #[test]
    fn the_name_in_a_field_selector_is_the_requests() {
        for (query, name) in [
            ("fieldSelector=metadata.name=foo", "foo"),
            ("fieldSelector=metadata.name%3D%3Dfoo", "foo"),
            ("fieldSelector=metadata.name%3Dfoo%2Cstatus.phase%21%3DRunning", "foo"),
            ("fieldSelector=status.phase%3DRunning,metadata.name%3Dfoo", "foo"),
            ("fieldSelector=metadata.name%3Db,metadata.name%3Da", "a"),
            (r"fieldSelector=metadata.name%3Da\,b", "a,b"),
            ("fieldSelector=metadata.name!%3Dfoo", ""),
            ("fieldSelector=metadata.name", ""),
            ("fieldSelector=metadata.name%3Da%3Db", ""),
            ("fieldSelector=metadata.name%3Da%2Fb", ""),
            ("fieldSelector=metadata.name%3D..", ""),
            ("fieldSelector=metadata.name%3Dfoo,x", ""),
            ("fieldSelector=metadata.name%3Dfoo&limit=x", ""),
            ("fieldSelector=metadata.name%3Dfoo&limit=", ""),
            ("fieldSelector=metadata.name%3Dfoo&limit=-1", "foo"),
            ("fieldSelector=metadata.name%3Dfoo&timeoutSeconds=soon", ""),
            ("fieldSelector=metadata.name%3Dfoo&labelSelector=a,b", "foo"),
            ("fieldSelector=metadata.name%3Dfoo&labelSelector=a+in+(", ""),
            ("fieldSelector=", ""),
        ] {
            let info = parse("GET", &format!("/api/v1/pods?{query}"));
            assert_eq!((info.verb.as_str(), info.name.as_str()), ("list", name), "{query}");
        }
        let watch = parse("GET", "/api/v1/pods?watch=1&limit=x&fieldSelector=metadata.name%3Dfoo");
        assert_eq!((watch.verb.as_str(), watch.name.as_str()), ("watch", ""));
    }

    #[test]
    fn selectors_are_kept_for_collections() {
        for (method, address, field, label) in [
            ("GET", "/api/v1/pods?fieldSelector=a%3Db&labelSelector=c%3Dd", "a=b", "c=d"),
            ("DELETE", "/api/v1/pods?fieldSelector=a%3Db&labelSelector=c%3Dd", "a=b", "c=d"),
            ("GET", "/api/v1/pods?watch=1&labelSelector=c", "", "c"),
            ("GET", "/api/v1/watch/pods?labelSelector=c", "", ""),
            ("GET", "/api/v1/namespaces/a/pods/p?labelSelector=c", "", ""),
            ("POST", "/api/v1/namespaces/a/pods?labelSelector=c", "", ""),
        ] {
            let info = parse(method, address);
            assert_eq!(
                (info.field_selector.as_str(), info.label_selector.as_str()),
                (field, label),
                "{address}"
            );
        }
    }

    #[test]
    fn malformed() {
        let parse = |path, query| RequestInfo::parse(&Method::GET, path, query).unwrap_err();
        assert_eq!(parse("/api/v1/nodes/%zz", ""), Malformed::Escape);
        assert_eq!(parse("/%", ""), Malformed::Escape);
        assert_eq!(
            parse("/api/v1/watch", "a=b").to_string(),
            "unable to determine kind and namespace from url, /api/v1/watch?a=b"
        );
        assert_eq!(
            parse("/apis/a/v1/proxy/", "").to_string(),
            "unable to determine kind and namespace from url, /apis/a/v1/proxy/"
        );
    }

    #[test]
    fn long_running() {
        for (address, expected) in [
            ("/api/v1/pods?watch=1", true),
            ("/api/v1/watch/pods", true),
            ("/api/v1/proxy/nodes/n", true),
            ("/api/v1/namespaces/a/pods/p/log", true),
            ("/api/v1/namespaces/a/pods/p/exec", true),
            ("/api/v1/namespaces/a/services/s/proxy/x", true),
            ("/debug/pprof/profile", true),
            ("/api/v1/pods", false),
            ("/healthz", false),
        ] {
            assert_eq!(parse("GET", address).is_long_running(), expected, "{address}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(method in "GET|POST|DELETE|X", path in "(/|api|apis|v1|watch|proxy|namespaces|status|%2F|%|[^ ]){0,12}", query in "(watch|=|&|;|fieldSelector|metadata.name|,|\\\\|!|%|[^ ]){0,12}") {
            let method: Method = method.parse().unwrap();
            if let Ok(info) = RequestInfo::parse(&method, &path, &query) {
                prop_assert_eq!(info.is_resource, !info.parts.is_empty());
            }
        }
    }
}
