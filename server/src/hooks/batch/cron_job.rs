//! CronJobs.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use super::job;
use crate::hooks::shared::cells::{self, NONE};
use crate::hooks::shared::pod_spec;

const TEMPLATE: &[&str] = &["spec", "jobTemplate", "spec", "template"];

/// The hooks of CronJobs.
#[derive(Debug)]
pub struct CronJob;

impl Hooks for CronJob {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.at_mut(&["spec", "jobTemplate", "spec"]) {
            job::set_defaults(spec);
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Active" => cells::count(object, &["status", "active"]).into(),
            "Suspend" => object.at(&["spec", "suspend"]).and_then(Value::as_bool).unwrap_or_default().to_string().into(),
            "Last Schedule" => cells::since(object, &["status", "lastScheduleTime"], NONE).into(),
            "Containers" => pod_spec::container_names(object, TEMPLATE).into(),
            "Images" => pod_spec::container_images(object, TEMPLATE).into(),
            "Selector" => cells::selector(object, &["spec", "jobTemplate", "spec", "selector"]).into(),
            _ => Value::Null,
        }
    }
}
