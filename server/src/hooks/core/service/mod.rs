//! Services.
//!
//! Addresses and node ports are reserved before these hooks see a service (see `services`).

mod address_rules;
mod change;
mod columns;
mod defaults;
mod validate;
mod warnings;

use apiwright_json::Value;
use apiwright_meta::ErrorList;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

/// The hooks of Services.
#[derive(Debug)]
pub struct Service;

impl Hooks for Service {
    fn default(&self, object: &mut Value) {
        defaults::set(object);
    }

    fn prepare_update(&self, context: WriteContext<'_>, object: &mut Value, old: &Value) {
        if context.subresource.is_empty() {
            change::drop_what_another_type_had(object, old);
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::service(object, None, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource == "status" {
            validate::status(object, errors);
        } else {
            validate::update(object, old, errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        warnings::of(object)
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        columns::cell(column, object)
    }
}
