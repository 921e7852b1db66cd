//! `/healthz`, `/livez` and `/readyz`: named checks, one by one or all together.
//!
//! Invariant: why a check fails goes to the log, when it begins to fail, and never to whoever asks for all of
//! them, since anybody may.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use futures::future::BoxFuture;
use http::HeaderValue;
use http::header::X_CONTENT_TYPE_OPTIONS;
use tracing::{info, warn};

use crate::body::Response;
use crate::pages::Pages;
use crate::query::Query;
use crate::request::Request;
use crate::respond;

/// A question about the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// `/healthz`: all of it, as older clients ask.
    Healthz,
    /// `/livez`: should it be restarted?
    Livez,
    /// `/readyz`: should it get requests?
    Readyz,
}

impl Probe {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Healthz, Self::Livez, Self::Readyz];

    /// The probe of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|probe| probe.name() == name)
    }

    /// As it is in the path.
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthz => "healthz",
            Self::Livez => "livez",
            Self::Readyz => "readyz",
        }
    }
}

/// Runs a check; the error is for the log.
pub type Run = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

#[derive(Clone)]
struct Check {
    name: String,
    probes: Vec<Probe>,
    run: Run,
    /// How often each probe saw it succeed and fail.
    counts: Arc<[Counts; Probe::ALL.len()]>,
}

#[derive(Default)]
struct Counts {
    succeeded: AtomicU64,
    failed: AtomicU64,
    last: AtomicU8,
}

/// What a check came to last; 0 where nobody has asked yet.
const WELL: u8 = 1;
const ILL: u8 = 2;

impl Check {
    async fn run(&self, probe: Probe) -> Result<(), String> {
        let outcome = (self.run)().await;
        let counts = &self.counts[probe as usize];
        let count = if outcome.is_ok() { &counts.succeeded } else { &counts.failed };
        count.fetch_add(1, Ordering::Relaxed);
        let now = if outcome.is_ok() { WELL } else { ILL };
        let before = counts.last.swap(now, Ordering::Relaxed);
        // Whoever polls must not fill the log: what changed is told, once.
        match &outcome {
            Err(why) if before != ILL => {
                warn!(probe = probe.name(), check = self.name, %why, "a check fails");
            }
            Ok(()) if before == ILL => {
                info!(probe = probe.name(), check = self.name, "a check succeeds again");
            }
            _ => {}
        }
        outcome
    }
}

/// The checks of a server, in the order in which they were added.
#[derive(Default)]
pub struct Health {
    checks: RwLock<Vec<Check>>,
}

impl Health {
    /// A server with the check that always succeeds.
    pub fn new() -> Self {
        let health = Self::default();
        health.add("ping", &Probe::ALL, || Ok(()));
        health
    }

    /// Adds a check that answers at once.
    pub fn add(
        &self,
        name: impl Into<String>,
        probes: &[Probe],
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.add_async(name, probes, Arc::new(move || Box::pin(std::future::ready(check()))));
    }

    /// Adds a check that may wait.
    pub fn add_async(&self, name: impl Into<String>, probes: &[Probe], run: Run) {
        let check = Check { name: name.into(), probes: probes.into(), run, counts: Arc::default() };
        self.checks.write().unwrap_or_else(PoisonError::into_inner).push(check);
    }

    /// Whether all checks of a probe succeed.
    pub async fn is_well(&self, probe: Probe) -> bool {
        for check in self.of(probe) {
            if check.run(probe).await.is_err() {
                return false;
            }
        }
        true
    }

    /// What the checks have come to, for those who watch service levels.
    fn indicators(&self) -> String {
        let mut gauges = String::from(
            "# HELP kubernetes_healthcheck This metric records the result of all healthchecks.\n\
             # TYPE kubernetes_healthcheck gauge\n",
        );
        let mut totals = String::from(
            "# HELP kubernetes_healthchecks_total This metric records the results of all healthchecks.\n\
             # TYPE kubernetes_healthchecks_total counter\n",
        );
        for (check, probe) in
            Probe::ALL.into_iter().flat_map(|probe| self.of(probe).into_iter().map(move |one| (one, probe)))
        {
            let (name, kind, counts) = (&check.name, probe.name(), &check.counts[probe as usize]);
            let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
            let (succeeded, failed) = (load(&counts.succeeded), load(&counts.failed));
            if succeeded + failed == 0 {
                continue;
            }
            let is_well = u8::from(counts.last.load(Ordering::Relaxed) == WELL);
            let _ = writeln!(gauges, "kubernetes_healthcheck{{name=\"{name}\",type=\"{kind}\"}} {is_well}");
            for (status, count) in [("error", failed), ("success", succeeded)] {
                if count > 0 {
                    let labels = format!("name=\"{name}\",status=\"{status}\",type=\"{kind}\"");
                    let _ = writeln!(totals, "kubernetes_healthchecks_total{{{labels}}} {count}");
                }
            }
        }
        gauges + &totals
    }

    fn of(&self, probe: Probe) -> Vec<Check> {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        checks.iter().filter(|check| check.probes.contains(&probe)).cloned().collect()
    }

    async fn one(&self, probe: Probe, name: &str) -> Response {
        let Some(check) = self.of(probe).into_iter().find(|check| check.name == name) else {
            return respond::page_not_found();
        };
        match check.run(probe).await {
            Ok(()) => respond::bytes(200, PLAIN, "ok"),
            Err(why) => respond::text_error(500, &format!("internal server error: {why}")),
        }
    }

    async fn all(&self, probe: Probe, query: &Query) -> Response {
        let excluded: BTreeSet<&str> = query.all("exclude").collect();
        let mut unknown = excluded.clone();
        let mut text = String::new();
        let mut failed = false;
        for check in self.of(probe) {
            let name = check.name.as_str();
            if excluded.contains(name) {
                unknown.remove(name);
                let _ = writeln!(text, "[+]{name} excluded: ok");
                continue;
            }
            match check.run(probe).await {
                Ok(()) => {
                    let _ = writeln!(text, "[+]{name} ok");
                }
                Err(_) => {
                    failed = true;
                    let _ = writeln!(text, "[-]{name} failed: reason withheld");
                }
            }
        }
        if !unknown.is_empty() {
            let names = unknown.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(",");
            let _ = writeln!(text, "warn: some health checks cannot be excluded: no matches for {names}");
        }
        if failed {
            return respond::text_error(500, &format!("{text}{} check failed", probe.name()));
        }
        let body =
            if query.has("verbose") { format!("{text}{} check passed\n", probe.name()) } else { "ok".into() };
        let mut response = respond::bytes(200, PLAIN, body);
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

impl Pages for Health {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        Box::pin(async move {
            let path = request.info.path.strip_prefix('/')?;
            if path == "metrics/slis" {
                return Some(respond::bytes(
                    200,
                    "text/plain; version=0.0.4; charset=utf-8",
                    self.indicators(),
                ));
            }
            let probe = Probe::of(path.split('/').next().unwrap_or_default())?;
            Some(match path[probe.name().len()..].strip_prefix('/') {
                None => self.all(probe, &Query::parse(request.query())).await,
                Some(name) => self.one(probe, name).await,
            })
        })
    }

    fn paths(&self) -> Vec<String> {
        let probes = Probe::ALL.into_iter().flat_map(|probe| {
            let of = self.of(probe).into_iter().map(move |check| format!("/{}/{}", probe.name(), check.name));
            std::iter::once(format!("/{}", probe.name())).chain(of)
        });
        probes.chain(["/metrics/slis".to_owned()]).collect()
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestBody;
    use crate::{Body, RequestInfo};

    fn request(address: &str) -> Request {
        let (head, ()) = http::Request::get(address).body(()).unwrap().into_parts();
        let info =
            RequestInfo::parse(&head.method, head.uri.path(), head.uri.query().unwrap_or_default()).unwrap();
        Request {
            head,
            body: RequestBody::Full(bytes::Bytes::new()),
            info,
            user: Arc::default(),
            audit_id: String::new(),
            deadline: None,
            trail: None,
            remote: None,
        }
    }

    #[tokio::test]
    async fn answers() {
        let health = Health::new();
        health.add("log", &Probe::ALL, || Ok(()));
        health.add("poststarthook/x", &[Probe::Readyz], || Err("not finished".into()));
        #[rustfmt::skip]
        let table = [
            ("/livez", Some((200, "ok"))),
            ("/livez/ping", Some((200, "ok"))),
            ("/livez/ping?verbose", Some((200, "ok"))),
            ("/livez/nope", Some((404, "404 page not found\n"))),
            ("/livez/", Some((404, "404 page not found\n"))),
            ("/livez/poststarthook/x", Some((404, "404 page not found\n"))),
            ("/livez?verbose", Some((200, "[+]ping ok\n[+]log ok\nlivez check passed\n"))),
            ("/livez?verbose&exclude=log&exclude=nope", Some((200, "[+]ping ok\n[+]log excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"nope\"\nlivez check passed\n"))),
            ("/readyz", Some((500, "[+]ping ok\n[+]log ok\n[-]poststarthook/x failed: reason withheld\nreadyz check failed\n"))),
            ("/readyz?exclude=poststarthook/x", Some((200, "ok"))),
            ("/readyz/poststarthook/x", Some((500, "internal server error: not finished\n"))),
            ("/livezz", None),
            ("/livez-more", None),
            ("/", None),
        ];
        for (address, expected) in table {
            let found = match health.answer(&request(address)).await {
                None => None,
                Some(response) => {
                    assert_eq!(response.headers()[http::header::CONTENT_TYPE], PLAIN);
                    let code = response.status().as_u16();
                    let Body::Full(body) = response.into_body() else { panic!("not at once") };
                    Some((code, String::from_utf8(bytes::Bytes::from(body).to_vec()).unwrap()))
                }
            };
            assert_eq!(found.as_ref().map(|(code, text)| (*code, text.as_str())), expected, "{address}");
        }
    }

    #[tokio::test]
    async fn indicators_and_paths() {
        let health = Health::new();
        health.answer(&request("/livez")).await;
        health.answer(&request("/livez/ping")).await;
        let text = health.indicators();
        assert!(text.contains("kubernetes_healthcheck{name=\"ping\",type=\"livez\"} 1\n"));
        assert!(
            text.contains(
                "kubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"livez\"} 2\n"
            )
        );
        let paths = [
            "/healthz",
            "/healthz/ping",
            "/livez",
            "/livez/ping",
            "/readyz",
            "/readyz/ping",
            "/metrics/slis",
        ];
        assert_eq!(health.paths(), paths);
    }
}
