//! What is counted, under upstream's names, and how it is told to Prometheus.
//!
//! Counting costs a lookup and a few atomic additions, no allocation once a series is known.
//! Invariant: clients cannot make series without end; beyond [`SERIES_MAX`] all share one.

pub(crate) mod access;
mod process;
mod series;

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Instant;

use apiwright_chain::{Body, Pages, Piece, Pieces, Request, RequestInfo, Response, User, respond};
use bytes::Buf;
use futures::Stream;
use futures::future::BoxFuture;
use hashbrown::HashTable;

use series::{Labels, Series};

pub use apiwright_meta::metrics::help;

/// How many different kinds of requests are told apart.
const SERIES_MAX: usize = 10_000;

/// Somebody else who counts.
pub trait Source: Send + Sync + 'static {
    /// Appends its figures, in Prometheus' text format.
    fn render(&self, out: &mut String);
}

impl<F: Fn(&mut String) + Send + Sync + 'static> Source for F {
    fn render(&self, out: &mut String) {
        self(out);
    }
}

/// Everything that is counted.
#[derive(Default)]
pub struct Metrics {
    sources: RwLock<Vec<Arc<dyn Source>>>,
    series: RwLock<HashTable<Arc<Series>>>,
    access: access::Access,
    hasher: RandomState,
    reading: AtomicI64,
    writing: AtomicI64,
}

impl Metrics {
    /// A request came in.
    pub(crate) fn begin(self: &Arc<Self>, info: &RequestInfo, query: &str, at: Instant) -> Counted {
        let series = self.series(&Labels::of(info, query));
        let long_running = info.is_long_running();
        let gauge = if info.is_read_only() { Gauge::Reading } else { Gauge::Writing };
        if long_running {
            series.long_running.fetch_add(1, Ordering::Relaxed);
        } else {
            self.gauge(gauge).fetch_add(1, Ordering::Relaxed);
        }
        Counted { metrics: Arc::clone(self), series, at, long_running, gauge, code: None, bytes: 0 }
    }

    /// It was asked who asks; the user, where that is known now.
    pub(crate) fn authenticated(&self, result: access::Authentication, user: Option<&User>, begun: Instant) {
        self.access.authenticated(result, user, begun.elapsed());
    }

    /// It was asked whether they may.
    pub(crate) fn authorized(&self, result: access::Authorization, begun: Instant) {
        self.access.authorized(result, begun.elapsed());
    }

    /// All of it, in Prometheus' text format.
    pub fn render(&self) -> String {
        let mut out = String::with_capacity(64 << 10);
        let mut all: Vec<Arc<Series>> =
            self.series.read().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        all.sort_by(|a, b| a.labels.cmp(&b.labels));
        help(
            &mut out,
            "apiserver_current_inflight_requests",
            "gauge",
            "Requests under way, by kind, watches aside.",
        );
        for (kind, gauge) in [("mutating", &self.writing), ("readOnly", &self.reading)] {
            let value = gauge.load(Ordering::Relaxed);
            let _ = writeln!(out, "apiserver_current_inflight_requests{{request_kind=\"{kind}\"}} {value}");
        }
        help(
            &mut out,
            "apiserver_longrunning_requests",
            "gauge",
            "Watches and other long requests under way.",
        );
        for series in &all {
            series.render_long_running(&mut out);
        }
        help(
            &mut out,
            "apiserver_request_duration_seconds",
            "histogram",
            "How long answers took, watches aside.",
        );
        for series in &all {
            series.render_durations(&mut out);
        }
        help(
            &mut out,
            "apiserver_request_total",
            "counter",
            "Requests answered, by what they asked and the code.",
        );
        for series in &all {
            series.render_totals(&mut out);
        }
        self.access.render(&mut out);
        help(
            &mut out,
            "apiserver_response_sizes",
            "histogram",
            "Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.",
        );
        for series in &all {
            series.render_sizes(&mut out);
        }
        for source in self.sources.read().unwrap_or_else(PoisonError::into_inner).iter() {
            source.render(&mut out);
        }
        process::render(&mut out);
        out
    }

    /// Tells somebody else's figures, too.
    pub fn include(&self, source: Arc<dyn Source>) {
        self.sources.write().unwrap_or_else(PoisonError::into_inner).push(source);
    }

    fn gauge(&self, gauge: Gauge) -> &AtomicI64 {
        match gauge {
            Gauge::Reading => &self.reading,
            Gauge::Writing => &self.writing,
        }
    }

    fn series(&self, labels: &Labels<'_>) -> Arc<Series> {
        let hash = self.hasher.hash_one(labels);
        let known = self.series.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.find(hash, |series| series.labels.is(labels)) {
            return Arc::clone(series);
        }
        let full = known.len() >= SERIES_MAX;
        drop(known);
        if full && *labels != Labels::default() {
            return self.series(&Labels::default());
        }
        let mut known = self.series.write().unwrap_or_else(PoisonError::into_inner);
        let rehash = |series: &Arc<Series>| self.hasher.hash_one(series.labels.borrow());
        let entry = known.entry(hash, |series| series.labels.is(labels), rehash);
        Arc::clone(entry.or_insert_with(|| Arc::new(Series::new(labels))).get())
    }
}

impl Pages for Metrics {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        let ours = request.info.path == "/metrics";
        Box::pin(std::future::ready(
            ours.then(|| respond::bytes(200, "text/plain; version=0.0.4; charset=utf-8", self.render())),
        ))
    }

    fn paths(&self) -> Vec<String> {
        vec!["/metrics".into()]
    }
}

#[derive(Clone, Copy)]
enum Gauge {
    Reading,
    Writing,
}

/// A request under way. Counted as ended when dropped, with what was answered if anything was.
pub(crate) struct Counted {
    metrics: Arc<Metrics>,
    series: Arc<Series>,
    at: Instant,
    long_running: bool,
    gauge: Gauge,
    code: Option<u16>,
    bytes: u64,
}

impl Counted {
    /// The answer; a streamed one is under way until its end.
    pub(crate) fn end(mut self, mut response: Response) -> Response {
        self.code = Some(response.status().as_u16());
        if let Body::Full(piece) = response.body() {
            self.bytes = piece.remaining() as u64;
        }
        if let Body::Stream(stream) = response.body_mut() {
            let stream = std::mem::replace(stream, Box::pin(futures::stream::empty()));
            *response.body_mut() = Body::Stream(Box::pin(CountedStream { stream, counted: self }));
        }
        response
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.long_running {
            self.series.long_running.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.metrics.gauge(self.gauge).fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(code) = self.code {
            self.series.count(code, (!self.long_running).then(|| self.at.elapsed()));
            self.series.count_size(self.bytes);
        }
    }
}

struct CountedStream {
    stream: Pieces,
    counted: Counted,
}

impl Stream for CountedStream {
    type Item = std::io::Result<Piece>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.stream.as_mut().poll_next(cx);
        if let Poll::Ready(Some(Ok(piece))) = &next {
            self.counted.bytes += piece.remaining() as u64;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Method, StatusCode};

    fn info(method: &str, path: &str) -> RequestInfo {
        RequestInfo::parse(&method.parse::<Method>().unwrap(), path, "").unwrap()
    }

    #[test]
    fn requests_are_counted_by_what_they_ask() {
        let metrics = Arc::new(Metrics::default());
        for (method, path, code) in [
            ("GET", "/api/v1/namespaces/a/pods/p", 200),
            ("GET", "/api/v1/namespaces/b/pods/q", 404),
            ("GET", "/api/v1/namespaces/b/pods/q", 200),
            ("POST", "/apis/apps/v1/namespaces/b/deployments", 201),
        ] {
            let mut response = Response::default();
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            drop(metrics.begin(&info(method, path), "", Instant::now()).end(response));
        }
        let watch = metrics.begin(&info("GET", "/api/v1/watch/pods"), "", Instant::now());
        let get = metrics.begin(&info("GET", "/healthz"), "", Instant::now());
        let text = metrics.render();
        #[rustfmt::skip]
        let expected = [
            r#"apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"} 2"#,
            r#"apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"} 1"#,
            r#"apiserver_request_total{code="201",component="apiserver",dry_run="",group="apps",resource="deployments",scope="resource",subresource="",verb="POST",version="v1"} 1"#,
            r#"apiserver_request_duration_seconds_bucket{component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1",le="+Inf"} 3"#,
            r#"apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="cluster",subresource="",verb="WATCH",version="v1"} 1"#,
            r#"apiserver_current_inflight_requests{request_kind="readOnly"} 1"#,
        ];
        for line in expected {
            assert!(text.lines().any(|its| its == line), "{line}\n{text}");
        }
        drop((watch, get));
        assert!(metrics.render().contains("request_kind=\"readOnly\"} 0"));
    }

    #[test]
    fn series_have_an_end() {
        let metrics = Arc::new(Metrics::default());
        for number in 0..SERIES_MAX + 50 {
            drop(metrics.begin(&info("GET", &format!("/apis/g/v1/r{number}")), "", Instant::now()));
        }
        assert_eq!(metrics.series.read().unwrap().len(), SERIES_MAX + 1);
    }
}
