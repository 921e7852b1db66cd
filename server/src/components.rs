//! `ComponentStatuses`: what upstream's server finds when it asks the other parts of the control plane how they are.
//!
//! They are not stored: this is what their store has for storage. Every read asks anew.
//! Absence: writes and watches, which the resource does not have.

use std::sync::Arc;
use std::time::Duration;

use apiwright_json::{Object, Value, to_string};
use apiwright_remote::{Backend, Trust, Via, empty};
use apiwright_storage::{
    Annex, At, Change, Entry, Error, Expect, Key, Outcome, Page, Range, Result, Revision, Storage, Watch,
};
use futures::future::{BoxFuture, join_all};
use http::{Method, Request, StatusCode};

/// How long a component has to answer.
const PATIENCE: Duration = Duration::from_secs(20);
const ANSWER_BYTES_MAX: usize = 1 << 13;
/// The components, in the order of their names, and the ports of those that are asked.
const COMPONENTS: [(&str, u16); 3] = [("controller-manager", 10_257), ("etcd-0", 0), ("scheduler", 10_259)];

/// The components of this control plane.
pub(crate) struct Components {
    storage: Arc<dyn Storage>,
    is_manager: bool,
}

impl Components {
    /// Those around a storage; the controllers may be in this process.
    pub(crate) fn new(storage: Arc<dyn Storage>, is_manager: bool) -> Self {
        Self { storage, is_manager }
    }

    async fn entry(&self, prefix: &str, name: &str, port: u16) -> Arc<Entry> {
        let health = match name {
            "etcd-0" => self.storage.health().await.map(|()| "ok".into()).map_err(|why| why.to_string()),
            "controller-manager" if self.is_manager => Ok("ok".into()),
            _ => return entry(prefix, name, &asked(port).await),
        };
        entry(
            prefix,
            name,
            &match health {
                Ok(message) => Health { status: "True", message, error: String::new() },
                Err(error) => Health { status: "False", message: String::new(), error },
            },
        )
    }

    async fn all(&self, prefix: &str, after: Option<&str>) -> Vec<Arc<Entry>> {
        let wanted = |name: &&(&str, u16)| after.is_none_or(|after| *format!("{prefix}{}", name.0) > *after);
        let asked = COMPONENTS.iter().filter(wanted).map(|(name, port)| self.entry(prefix, name, *port));
        join_all(asked).await
    }
}

/// What a component says.
struct Health {
    status: &'static str,
    message: String,
    error: String,
}

/// Asks a component on this machine, whoever it says it is.
async fn asked(port: u16) -> Health {
    let uri = format!("https://127.0.0.1:{port}/healthz");
    let exchange = async {
        let request = Request::get(&uri).body(empty()).map_err(|why| why.to_string())?;
        let address = request.uri().clone();
        let of_request = |why: apiwright_remote::Error| why.of_request(&Method::GET, &address);
        let backend = Backend::new(Via::Address, None, &Trust::Insecure, None).map_err(of_request)?;
        backend.exchange(request, PATIENCE, ANSWER_BYTES_MAX).await.map_err(of_request)
    };
    let (status, message) = match exchange.await {
        Ok(answer) if answer.status() == StatusCode::OK => {
            ("True", String::from_utf8_lossy(answer.body()).into_owned())
        }
        Ok(answer) => ("False", format!("HTTP probe failed with statuscode: {}", answer.status().as_u16())),
        Err(why) => ("False", why),
    };
    Health { status, message, error: String::new() }
}

fn entry(prefix: &str, name: &str, health: &Health) -> Arc<Entry> {
    let mut condition: Object = [("type", "Healthy"), ("status", health.status)].into_iter().collect();
    for (member, text) in [("message", &health.message), ("error", &health.error)] {
        if !text.is_empty() {
            condition.push(member, text.as_str());
        }
    }
    let mut object: Object = [("kind", "ComponentStatus"), ("apiVersion", "v1")].into_iter().collect();
    object.push("metadata", Value::Object([("name", name)].into_iter().collect()));
    object.push("conditions", vec![Value::Object(condition)]);
    Arc::new(Entry {
        key: format!("{prefix}{name}").into(),
        value: to_string(&object.into()).into_bytes().into(),
        create_revision: 0,
        mod_revision: 0,
        version: 1,
        annex: Annex::default(),
    })
}

fn refused() -> Error {
    Error::Unavailable("component statuses are not stored".into())
}

impl Storage for Components {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.storage.revision()
    }

    fn get<'a>(&'a self, key: &'a str, _at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>> {
        Box::pin(async move {
            let (prefix, name) = key.split_at(key.rfind('/').map_or(0, |at| at + 1));
            Ok(match COMPONENTS.iter().find(|(one, _)| *one == name) {
                Some((name, port)) => (0, Some(self.entry(prefix, name, *port).await)),
                None => (0, None),
            })
        })
    }

    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            Ok(Page { revision: 0, entries: self.all(range.prefix, range.after).await, remaining: 0 })
        })
    }

    fn commit(&self, _key: Key, _expect: Expect, _change: Change) -> BoxFuture<'_, Result<Outcome>> {
        Box::pin(async { Err(refused()) })
    }

    fn watch<'a>(&'a self, _prefix: &'a str, _after: Revision) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async { Err(refused()) })
    }

    fn compact(&self, _revision: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Err(refused()) })
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        self.storage.health()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use apiwright_storage_embedded::{Embedded, Options};

    use super::*;

    #[tokio::test]
    async fn those_that_are_there_are_healthy() {
        let components = Components::new(Arc::new(Embedded::memory(Options::default())), true);
        let range = Range { prefix: "/registry/cs/", after: None, limit: 0, at: At::Latest };
        let entries = components.range(range).await.unwrap().entries;
        let shown: Vec<String> = entries
            .iter()
            .map(|entry| {
                let object = apiwright_json::decode(&entry.value).unwrap().0;
                let conditions = object.at(&["conditions"]).and_then(Value::as_array).unwrap();
                let text = |member| conditions[0].text_at(&[member]).to_owned();
                format!("{} {} {}", object.text_at(&["metadata", "name"]), text("status"), text("message"))
            })
            .collect();
        // There may be a scheduler on this machine.
        assert_eq!(shown[..2], ["controller-manager True ok", "etcd-0 True ok"]);
        assert!(shown[2].starts_with("scheduler "));
        assert!(components.get("/registry/cs/other", At::Latest).await.unwrap().1.is_none());
    }
}
