//! One kind of request: its labels and its numbers.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use apiwright_chain::{Query, RequestInfo};
use apiwright_meta::metrics::{Bounds, Histogram, quoted};

/// Upper bounds of the duration's buckets, in milliseconds; upstream's.
const BUCKETS: [u64; 23] = [
    5, 25, 50, 100, 200, 400, 600, 800, 1000, 1250, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 10_000, 15_000,
    20_000, 30_000, 45_000, 60_000,
];

/// Upper bounds of the sizes' buckets, in bytes; upstream's.
static SIZES: Bounds<7> = Bounds {
    values: [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000],
    scale: 1.0,
};

/// The codes that are told apart; anything else counts as the last.
const CODES: [u16; 25] = [
    200, 201, 202, 204, 101, 301, 302, 304, 307, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429,
    500, 502, 503, 504,
];

/// The paths that count by name; the rest counts together.
const PATHS: [&str; 8] =
    ["/healthz", "/livez", "/readyz", "/metrics", "/version", "/api", "/apis", "/openapi/v2"];

/// What requests of a kind have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Labels<'a> {
    verb: &'a str,
    group: &'a str,
    version: &'a str,
    resource: &'a str,
    subresource: &'a str,
    scope: &'a str,
    dry_run: &'a str,
}

/// [`Labels`] that stay.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnedLabels {
    group: String,
    version: String,
    resource: String,
    subresource: String,
    verb: String,
    scope: String,
    dry_run: String,
}

/// The numbers of a kind.
pub(super) struct Series {
    pub(super) labels: OwnedLabels,
    pub(super) long_running: AtomicI64,
    codes: [AtomicU64; CODES.len() + 1],
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
    sizes: Histogram<7>,
}

impl<'a> Labels<'a> {
    /// Of a request, with its query as it came.
    pub(super) fn of(info: &'a RequestInfo, query: &str) -> Self {
        let dry_run = dry_run(query);
        if !info.is_resource {
            let subresource = PATHS.iter().find(|&&path| path == info.path).copied().unwrap_or_default();
            return Self { verb: verb(&info.verb), subresource, dry_run, ..Self::default() };
        }
        let scope = match (info.name.as_str(), info.namespace.as_str()) {
            _ if info.verb == "create" => "resource",
            ("", "") => "cluster",
            ("", _) => "namespace",
            _ => "resource",
        };
        Self {
            verb: verb(&info.verb),
            group: &info.group,
            version: &info.version,
            resource: &info.resource,
            subresource: &info.subresource,
            scope,
            dry_run,
        }
    }
}

/// What is to be done without doing it; hardly anybody asks for that.
fn dry_run(query: &str) -> &'static str {
    if !query.contains("dryRun") {
        return "";
    }
    let query = Query::parse(query);
    match query.all("dryRun").all(|value| value == "All") {
        _ if query.all("dryRun").next().is_none() => "",
        true => "All",
        false => "invalid",
    }
}

fn verb(verb: &str) -> &'static str {
    match verb {
        "get" | "head" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "create" | "post" => "POST",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" => "DELETE",
        "deletecollection" => "DELETECOLLECTION",
        "proxy" => "CONNECT",
        _ => "OTHER",
    }
}

impl OwnedLabels {
    pub(super) fn is(&self, labels: &Labels<'_>) -> bool {
        self.borrow() == *labels
    }

    pub(super) fn borrow(&self) -> Labels<'_> {
        Labels {
            verb: &self.verb,
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            subresource: &self.subresource,
            scope: &self.scope,
            dry_run: &self.dry_run,
        }
    }
}

impl Series {
    pub(super) fn new(labels: &Labels<'_>) -> Self {
        Self {
            labels: OwnedLabels {
                group: labels.group.into(),
                version: labels.version.into(),
                resource: labels.resource.into(),
                subresource: labels.subresource.into(),
                verb: labels.verb.into(),
                scope: labels.scope.into(),
                dry_run: labels.dry_run.into(),
            },
            sizes: Histogram::new(&SIZES),
            long_running: AtomicI64::new(0),
            codes: std::array::from_fn(|_| AtomicU64::new(0)),
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            nanoseconds: AtomicU64::new(0),
        }
    }

    /// One more answer; a watch's duration says nothing.
    pub(super) fn count(&self, code: u16, took: Option<Duration>) {
        let at = CODES.iter().position(|&known| known == code).unwrap_or(CODES.len());
        self.codes[at].fetch_add(1, Ordering::Relaxed);
        let Some(took) = took else { return };
        let bucket =
            BUCKETS.iter().position(|&bound| took <= Duration::from_millis(bound)).unwrap_or(BUCKETS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The size of an answer; only those of reads are told.
    pub(super) fn count_size(&self, bytes: u64) {
        if matches!(self.labels.verb.as_str(), "GET" | "LIST") {
            self.sizes.observe(bytes);
        }
    }

    pub(super) fn render_sizes(&self, out: &mut String) {
        self.sizes.render(out, "apiserver_response_sizes", &self.text(""));
    }

    pub(super) fn render_totals(&self, out: &mut String) {
        for (at, count) in self.codes.iter().enumerate() {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                let code = CODES.get(at).copied().unwrap_or_default();
                let labels = self.text(&format!("dry_run=\"{}\",", self.labels.dry_run));
                let _ = writeln!(out, "apiserver_request_total{{code=\"{code}\",{labels}}} {count}");
            }
        }
    }

    pub(super) fn render_durations(&self, out: &mut String) {
        let counts: Vec<u64> = self.buckets.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return;
        }
        let labels = self.text(&format!("dry_run=\"{}\",", self.labels.dry_run));
        let mut below = 0;
        for (bound, count) in BUCKETS.iter().zip(&counts) {
            below += count;
            let bound = *bound as f64 / 1000.0;
            let _ =
                writeln!(out, "apiserver_request_duration_seconds_bucket{{{labels},le=\"{bound}\"}} {below}");
        }
        let _ = writeln!(out, "apiserver_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} {total}");
        let seconds = self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
        let _ = writeln!(out, "apiserver_request_duration_seconds_sum{{{labels}}} {seconds}");
        let _ = writeln!(out, "apiserver_request_duration_seconds_count{{{labels}}} {total}");
    }

    pub(super) fn render_long_running(&self, out: &mut String) {
        let count = self.long_running.load(Ordering::Relaxed);
        if count != 0 {
            let _ = writeln!(out, "apiserver_longrunning_requests{{{}}} {count}", self.text(""));
        }
    }

    fn text(&self, dry_run: &str) -> String {
        let OwnedLabels { group, version, resource, subresource, verb, scope, .. } = &self.labels;
        format!(
            "component=\"apiserver\",{dry_run}group={},resource={},scope=\"{scope}\",subresource={},verb=\"{verb}\",version={}",
            quoted(group),
            quoted(resource),
            quoted(subresource),
            quoted(version)
        )
    }
}
