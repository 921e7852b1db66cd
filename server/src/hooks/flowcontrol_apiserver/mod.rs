//! The flowcontrol.apiserver.k8s.io group.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells::{self, NONE};

/// The hooks of FlowSchemas.
#[derive(Debug)]
pub struct FlowSchema;

/// The hooks of PriorityLevelConfigurations.
#[derive(Debug)]
pub struct PriorityLevelConfiguration;

impl Hooks for FlowSchema {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "MissingPL" => {
                let conditions = cells::items(object, &["status", "conditions"]);
                let dangling = conditions.iter().find(|condition| condition.text_at(&["type"]) == "Dangling");
                dangling.map_or("?", |condition| condition.text_at(&["status"])).into()
            }
            _ => Value::Null,
        }
    }
}

impl Hooks for PriorityLevelConfiguration {
    fn cell(&self, column: &str, object: &Value) -> Value {
        let queuing = |member: &str| number(object, &["spec", "limited", "limitResponse", "queuing", member]);
        match column {
            "NominalConcurrencyShares" => number(object, &["spec", "limited", "nominalConcurrencyShares"]),
            "Queues" => queuing("queues"),
            "HandSize" => queuing("handSize"),
            "QueueLengthLimit" => queuing("queueLengthLimit"),
            _ => Value::Null,
        }
    }
}

fn number(object: &Value, path: &[&str]) -> Value {
    object.at(path).cloned().unwrap_or_else(|| NONE.into())
}
