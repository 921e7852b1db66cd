//! FlowSchemas.

use apiwright_json::Value;
use apiwright_meta::ErrorList;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{conditions, mandatory, rules};
use crate::generated::types::flowcontrol_apiserver_v1::FLOW_SCHEMA;
use crate::hooks::shared::cells;

/// The hooks of FlowSchemas.
#[derive(Debug)]
pub struct FlowSchema;

impl Hooks for FlowSchema {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        rules::schema(object, errors);
        mandatory::faults("flowschemas", &FLOW_SCHEMA, object, errors);
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
