//! `/healthz`, `/livez` and `/readyz`: named checks, one by one or all together.
//!
//! Invariant: why a check fails goes to the log, never to whoever asks for all of them, since
//! anybody may.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, PoisonError, RwLock};

use futures::future::BoxFuture;
use http::HeaderValue;
use http::header::X_CONTENT_TYPE_OPTIONS;
use tracing::warn;

use crate::body::Response;
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
    const ALL: [Self; 3] = [Self::Healthz, Self::Livez, Self::Readyz];

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
        let check = Check { name: name.into(), probes: probes.into(), run };
        self.checks.write().unwrap_or_else(PoisonError::into_inner).push(check);
    }

    /// The answer to a request for a probe or one of its checks; `None` for other paths.
    pub async fn answer(&self, request: &Request) -> Option<Response> {
        let path = request.info.path.strip_prefix('/')?;
        let probe = Probe::ALL.into_iter().find(|probe| path.split('/').next() == Some(probe.name()))?;
        Some(match path[probe.name().len()..].strip_prefix('/') {
            None => self.all(probe, &Query::parse(request.query())).await,
            Some(name) => self.one(probe, name).await,
        })
    }

    /// The paths of all probes and checks, as the server's index lists them.
    pub fn paths(&self) -> Vec<String> {
        let all = Probe::ALL.into_iter();
        all.flat_map(|probe| {
            let of = self.of(probe).into_iter().map(move |check| format!("/{}/{}", probe.name(), check.name));
            std::iter::once(format!("/{}", probe.name())).chain(of)
        })
        .collect()
    }

    /// Whether all checks of a probe succeed.
    pub async fn is_well(&self, probe: Probe) -> bool {
        for check in self.of(probe) {
            if (check.run)().await.is_err() {
                return false;
            }
        }
        true
    }

    fn of(&self, probe: Probe) -> Vec<Check> {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        checks.iter().filter(|check| check.probes.contains(&probe)).cloned().collect()
    }

    async fn one(&self, probe: Probe, name: &str) -> Response {
        let Some(check) = self.of(probe).into_iter().find(|check| check.name == name) else {
            return respond::page_not_found();
        };
        match (check.run)().await {
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
            match (check.run)().await {
                Ok(()) => {
                    let _ = writeln!(text, "[+]{name} ok");
                }
                Err(why) => {
                    failed = true;
                    warn!(probe = probe.name(), check = name, %why, "a check failed");
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
            ("/", None),
        ];
        for (address, expected) in table {
            let found = match health.answer(&request(address)).await {
                None => None,
                Some(response) => {
                    assert_eq!(response.headers()[http::header::CONTENT_TYPE], PLAIN);
                    let code = response.status().as_u16();
                    let Body::Full(body) = response.into_body() else { panic!("not at once") };
                    Some((code, String::from_utf8(body.to_vec()).unwrap()))
                }
            };
            assert_eq!(found.as_ref().map(|(code, text)| (*code, text.as_str())), expected, "{address}");
        }
    }

    #[test]
    fn paths() {
        assert_eq!(
            Health::new().paths(),
            ["/healthz", "/healthz/ping", "/livez", "/livez/ping", "/readyz", "/readyz/ping"]
        );
    }
}
