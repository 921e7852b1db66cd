//! Whether flow schemas lead anywhere: the condition Dangling, which clients wait for and tables show.

use std::sync::Arc;

use apiwright_controllers::{Cache, Change, Identity, Next, Result, Writer};
use apiwright_json::{Object, Value};
use apiwright_meta::status::Reason;
use apiwright_meta::{object, time};
use apiwright_registry::Store;

use super::look_up;
use crate::generated::controllers::flow_schema_status::{Condition, Controller, Facts, Schema};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
pub(super) const IDENTITY: Identity =
    Identity { user: "system:apiserver", manager: "api-priority-and-fairness-config-consumer-v1" };

/// Tells of flow schemas.
pub(super) struct FlowSchemaStatus {
    pub(super) schemas: Cache,
    pub(super) levels: Arc<Store>,
    pub(super) writer: Writer,
}

impl Controller for FlowSchemaStatus {
    type Observed = Option<Object>;

    async fn observe(&self, key: &str) -> Result<(Facts, Option<Object>)> {
        let found = look_up::object(&self.schemas.store, "", key).await?;
        let Some(schema) = found else {
            return Ok((Facts { schema: Schema::Absent, condition: Condition::Current }, None));
        };
        let level = level(&schema);
        let is_there = look_up::object(&self.levels, "", level).await?.is_some();
        let wanted = dangling(level, is_there);
        let is_current = told(&schema).is_some_and(|told| {
            ["status", "reason", "message"].iter().all(|word| told.get(word) == wanted.get(word))
        });
        let condition = if is_current { Condition::Current } else { Condition::Other };
        Ok((Facts { schema: Schema::Present, condition }, Some(wanted)))
    }

    async fn tell(&self, key: &str, observed: Option<Object>) -> Result<Next> {
        let Some(condition) = observed else { return Ok(Next::Done) };
        let store = &self.schemas.store;
        let mut config = Object::from_iter([("apiVersion", store.resource.api_version())]);
        config.push("kind", "FlowSchema");
        config.push("metadata", Object::from_iter([("name", key)]));
        config.push("status", Object::from_iter([("conditions", vec![Value::from(condition)])]));
        let told = self.writer.apply(store, ("", key), "status", &config.into()).await;
        look_up::unless(told, Reason::NotFound).map(|()| Next::Done)
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        if change.is_of(GROUP, "flowschemas") {
            add(&change.key());
            return;
        }
        let changed = change.key();
        for entry in self.schemas.list() {
            let Ok(schema) = self.schemas.store.decode(&entry) else { continue };
            if level(&schema) == changed {
                add(object::name(&schema));
            }
        }
    }
}

fn level(schema: &Value) -> &str {
    schema.text_at(&["spec", "priorityLevelConfiguration", "name"])
}

fn told(schema: &Value) -> Option<&Value> {
    let conditions = schema.at(&["status", "conditions"]).and_then(Value::as_array)?;
    conditions.iter().find(|one| one.text_at(&["type"]) == "Dangling")
}

/// What is to be said of a schema that names this level.
fn dangling(level: &str, is_there: bool) -> Object {
    let (status, reason, what) = if is_there {
        ("False", "Found", "it exists")
    } else {
        ("True", "NotFound", "there is no such object")
    };
    let join = if is_there { "and" } else { "but" };
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named {} {join} {what}",
        apiwright_meta::field::quoted(level)
    );
    let mut condition = Object::from_iter([("type", "Dangling"), ("status", status)]);
    condition.push("lastTransitionTime", time::now());
    condition.push("reason", reason);
    condition.push("message", message);
    condition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_schemas() {
        for (is_there, status, message) in [
            (
                true,
                "False",
                "This FlowSchema references the PriorityLevelConfiguration object named \"l\" and it exists",
            ),
            (
                false,
                "True",
                "This FlowSchema references the PriorityLevelConfiguration object named \"l\" but there is no such \
                 object",
            ),
        ] {
            let condition = dangling("l", is_there);
            assert_eq!((condition.str("status"), condition.str("message")), (Some(status), Some(message)));
        }
    }
}
