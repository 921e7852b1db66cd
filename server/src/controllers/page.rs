//! Where a running server tells how its controllers' keys stand: a path that only the authorizer's yes
//! leads to, and that is not in the list at `/`, which says what kube-apiserver's says.

use std::sync::{Arc, OnceLock};

use apiwright_chain::{Pages, Request, Response, respond};
use apiwright_controllers::{Inspected, Running};
use apiwright_json::{Object, Value};
use apiwright_meta::Status;
use futures::future::BoxFuture;
use http::Method;

/// The path; a controller's name follows.
pub const PATH: &str = "/apiwright/controllers";
/// How many keys are told at most.
const KEYS_MAX: usize = 1_000;

/// Answers with how keys stand. It is made before the controllers are.
#[derive(Clone, Default)]
pub struct ControllersPage(Arc<OnceLock<Running>>);

impl ControllersPage {
    /// From now on they run.
    pub fn set(&self, running: Running) {
        // They start once.
        let _ = self.0.set(running);
    }

    async fn tell(&self, name: &str, server: &str) -> Result<Response, Box<Status>> {
        let Some(running) = self.0.get() else {
            return Err(Status::internal("the controllers do not run yet"));
        };
        let Some(inspected) = running.inspect(name, KEYS_MAX).await else {
            return Ok(respond::page_not_found());
        };
        let mut body = Vec::new();
        apiwright_json::to_bytes(&document(inspected, server), &mut body);
        Ok(respond::bytes(200, "application/json", body))
    }
}

fn document(inspected: Inspected, server: &str) -> Value {
    let keys: Vec<Value> = inspected
        .keys
        .into_iter()
        .map(|one| {
            let mut key = Object::new();
            key.push("key", &*one.key);
            match one.standing {
                Ok(standing) => {
                    let facts: Object = standing.facts.into_iter().collect();
                    key.push("facts", facts);
                    key.push("outcome", standing.outcome.as_str());
                }
                Err(why) => key.push("error", why.message.as_str()),
            }
            key.push("failures", i64::from(one.failures));
            key.into()
        })
        .collect();
    let mut document = Object::new();
    document.push("server", server);
    document.push("state", inspected.state);
    document.push("queued", inspected.queued as i64);
    document.push("keys", keys);
    document.push("more", inspected.more as i64);
    document.into()
}

impl Pages for ControllersPage {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        Box::pin(async {
            let name = request.info.path.strip_prefix(PATH)?.strip_prefix('/')?;
            let server = request.head.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
            let answer = match request.head.method {
                Method::GET => self.tell(name, server.unwrap_or_default()).await,
                _ => Err(Status::method_not_allowed()),
            };
            Some(answer.unwrap_or_else(|status| respond::failure(&request.head, &status)))
        })
    }

    fn paths(&self) -> Vec<String> {
        Vec::new()
    }
}
