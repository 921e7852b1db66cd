//! Events: what controllers tell people of, as client-go's recorder writes it.

use std::sync::Arc;

use apiwright_controllers::Writer;
use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::time::Time;
use apiwright_registry::Store;
use tracing::debug;

/// Where events about objects go that are in no namespace.
const DEFAULT: &str = "default";

/// Writes events.
pub(super) struct Events {
    pub(super) store: Arc<Store>,
    pub(super) writer: Writer,
    /// Which controller.
    pub(super) component: &'static str,
}

impl Events {
    /// Warns of an object. Nobody depends on it: what cannot be written is left out.
    pub(super) async fn warn(&self, about: &Value, reason: &str, message: &str) {
        let namespace = match object::namespace(about) {
            "" => DEFAULT,
            namespace => namespace,
        };
        let event = self.event(about, namespace, reason, message, Time::now());
        if let Err(why) = self.writer.create(&self.store, namespace, event).await {
            debug!(reason, why = why.message, "an event is not written");
        }
    }

    fn event(&self, about: &Value, namespace: &str, reason: &str, message: &str, now: Time) -> Value {
        let name = format!(
            "{}.{:x}",
            object::name(about),
            i128::from(now.seconds) * 1_000_000_000 + i128::from(now.nanos)
        );
        let mut involved = Object::from_iter([("kind", object::kind(about))]);
        for (member, value) in [
            ("namespace", object::namespace(about)),
            ("name", object::name(about)),
            ("uid", object::uid(about)),
            ("apiVersion", object::api_version(about)),
        ] {
            if !value.is_empty() {
                involved.push(member, value);
            }
        }
        let moment = now.to_rfc3339();
        let mut event = Object::from_iter([("kind", "Event"), ("apiVersion", "v1")]);
        event.push("metadata", Object::from_iter([("name", &*name), ("namespace", namespace)]));
        event.push("involvedObject", involved);
        event.push("reason", reason);
        event.push("message", message);
        event.push("source", Object::from_iter([("component", self.component)]));
        event.push("firstTimestamp", &*moment);
        event.push("lastTimestamp", &*moment);
        event.push("count", 1);
        event.push("type", "Warning");
        event.push("reportingComponent", self.component);
        event.push("reportingInstance", "");
        event.into()
    }
}
