//! The condition Available of an APIService.

use apiwright_controllers::{Next, Result, Writer};
use apiwright_json::{Object, Value};
use apiwright_meta::status::Reason;
use apiwright_meta::{object, time};
use apiwright_registry::Store;

/// What the condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Available {
    pub(super) status: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Available {
    /// What is said of APIServices without a Service.
    pub(super) fn local() -> Self {
        Self { status: true, reason: "Local", message: "Local APIServices are always available".into() }
    }

    /// Whether an APIService says so.
    pub(super) fn is_said_by(&self, service: &Value) -> bool {
        found(service).is_some_and(|condition| {
            condition.text_at(&["status"]) == self.status()
                && condition.text_at(&["reason"]) == self.reason
                && condition.text_at(&["message"]) == self.message
        })
    }

    /// Whether an APIService says yes where this says no, or the other way round, or nothing.
    pub(super) fn changes(&self, service: &Value) -> bool {
        found(service).is_none_or(|condition| condition.text_at(&["status"]) != self.status())
    }

    /// Has an APIService say so, if it is still the one that was looked at.
    pub(super) async fn say(&self, writer: &Writer, store: &Store, observed: &Value) -> Result<()> {
        if self.is_said_by(observed) {
            return Ok(());
        }
        let (name, uid) = (object::name(observed), object::uid(observed));
        let is_local = observed.at(&["spec", "service"]).is_none_or(Value::is_null);
        let change = |service: &mut Value| {
            let still_local = service.at(&["spec", "service"]).is_none_or(Value::is_null);
            if object::uid(service) == uid && still_local == is_local {
                self.set(service);
            }
            Ok(())
        };
        match writer.update(store, ("", name), "status", change).await {
            Err(why) if why.reason != Some(Reason::NotFound) => Err(why),
            _ => Ok(()),
        }
    }

    fn status(&self) -> &'static str {
        if self.status { "True" } else { "False" }
    }

    /// The time changes with the status only.
    fn set(&self, service: &mut Value) {
        let Some(members) = service.as_object_mut() else { return };
        let conditions = members.object("status").entry("conditions", || Value::Array(Vec::new()));
        if conditions.is_null() {
            *conditions = Value::Array(Vec::new());
        }
        let Some(conditions) = conditions.as_array_mut() else { return };
        let there = conditions.iter_mut().find(|one| one.text_at(&["type"]) == "Available");
        let since = there
            .as_ref()
            .filter(|one| one.text_at(&["status"]) == self.status())
            .map(|one| one.text_at(&["lastTransitionTime"]).to_owned());
        let mut condition = Object::new();
        condition.push("type", "Available");
        condition.push("status", self.status());
        condition.push("lastTransitionTime", since.filter(|time| !time.is_empty()).unwrap_or_else(time::now));
        condition.push("reason", self.reason);
        condition.push("message", self.message.as_str());
        match there {
            Some(there) => *there = condition.into(),
            None => conditions.push(condition.into()),
        }
    }
}

/// Says it and is done.
pub(super) async fn done(said: Available, writer: &Writer, store: &Store, observed: &Value) -> Result<Next> {
    said.say(writer, store, observed).await.map(|()| Next::Done)
}

fn found(service: &Value) -> Option<&Value> {
    let conditions = service.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions.into_iter().flatten().find(|one| one.text_at(&["type"]) == "Available")
}
