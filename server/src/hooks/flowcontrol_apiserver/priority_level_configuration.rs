//! PriorityLevelConfigurations.

use apiwright_json::Value;
use apiwright_meta::ErrorList;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{conditions, levels, mandatory};
use crate::generated::types::flowcontrol_apiserver_v1::PRIORITY_LEVEL_CONFIGURATION;
use crate::hooks::shared::cells::NONE;

/// The hooks of PriorityLevelConfigurations.
#[derive(Debug)]
pub struct PriorityLevelConfiguration;

impl Hooks for PriorityLevelConfiguration {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        levels::level(object, errors);
        mandatory::faults("prioritylevelconfigurations", &PRIORITY_LEVEL_CONFIGURATION, object, errors);
        conditions::faults(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        _old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => conditions::faults(object, errors),
            _ => self.validate_create(context, object, errors),
        }
    }

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
