//! HorizontalPodAutoscalers, stored as autoscaling/v2.

use apiwright_json::{Object, Value};
use apiwright_meta::ErrorList;
use apiwright_meta::status::Result;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{behavior, conversion, validate};
use crate::hooks::shared::cells::{self, NONE, UNKNOWN};

/// The most metrics that a cell lists.
const SHOWN_MAX: usize = 2;

/// The hooks of autoscaling/v2.
#[derive(Debug)]
pub struct HorizontalPodAutoscaler;

/// The hooks of autoscaling/v1.
#[derive(Debug)]
pub struct HorizontalPodAutoscalerV1;

impl Hooks for HorizontalPodAutoscaler {
    /// Without metrics, pods are kept at 80 % of the cpu that they request.
    fn default(&self, object: &mut Value) {
        let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
        if cells_len(spec, "metrics") == 0 {
            spec.insert("metrics", vec![conversion::cpu_metric(80)]);
        }
        behavior::set_defaults(spec);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::autoscaler(object, None, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => validate::status(object, errors),
            _ => validate::autoscaler(object, Some(old), errors),
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Targets" => targets(object).into(),
            _ => Value::Null,
        }
    }
}

impl Hooks for HorizontalPodAutoscalerV1 {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) {
            spec.entry("targetCPUUtilizationPercentage", || 80.into());
        }
    }

    /// As what is stored: so the paths are v2's.
    fn validate_create(&self, context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        HorizontalPodAutoscaler.validate_create(context, &as_stored(object), errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        HorizontalPodAutoscaler.validate_update(context, &as_stored(object), &as_stored(old), errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        HorizontalPodAutoscaler.cell(column, &as_stored(object))
    }

    fn to_stored(&self, object: &mut Value) -> Result<()> {
        conversion::v1_to_v2(object);
        Ok(())
    }

    fn from_stored(&self, object: &mut Value) -> Result<()> {
        conversion::v2_to_v1(object);
        Ok(())
    }
}

/// An object of v1 as v2 has it.
fn as_stored(object: &Value) -> Value {
    let mut stored = object.clone();
    conversion::v1_to_v2(&mut stored);
    stored
}

fn cells_len(spec: &Object, list: &str) -> usize {
    spec.get(list).and_then(Value::as_array).map_or(0, Vec::len)
}

/// `cpu: 42%/60%, <unknown>/30 + 2 more...`
fn targets(object: &Value) -> String {
    let specs = cells::items(object, &["spec", "metrics"]);
    let statuses = cells::items(object, &["status", "currentMetrics"]);
    if specs.is_empty() {
        return NONE.into();
    }
    let shown: Vec<String> =
        specs.iter().take(SHOWN_MAX).enumerate().map(|(at, spec)| target(spec, statuses.get(at))).collect();
    let more = specs.len() - shown.len();
    let shown = shown.join(", ");
    if more > 0 { format!("{shown} + {more} more...") } else { shown }
}

fn target(spec: &Value, status: Option<&Value>) -> String {
    let kind = spec.text_at(&["type"]);
    let mut member = kind.chars();
    let member: String =
        member.next().map(|first| first.to_lowercase().chain(member).collect()).unwrap_or_default();
    let current = |value: &str| {
        let text = status.map(|status| status.text_at(&[&member, "current", value])).unwrap_or_default();
        if text.is_empty() { UNKNOWN.to_owned() } else { text.to_owned() }
    };
    let wished = |value: &str| spec.text_at(&[&member, "target", value]).to_owned();
    match kind {
        "External" | "Object" if !wished("averageValue").is_empty() => {
            format!("{}/{} (avg)", current("averageValue"), wished("averageValue"))
        }
        "External" | "Object" => format!("{}/{}", current("value"), wished("value")),
        "Pods" => format!("{}/{}", current("averageValue"), wished("averageValue")),
        "Resource" | "ContainerResource" => {
            let name = spec.text_at(&[&member, "name"]);
            if !wished("averageValue").is_empty() {
                return format!("{name}: {}/{}", current("averageValue"), wished("averageValue"));
            }
            let percent =
                |value: Option<&Value>| value.and_then(Value::as_i64).map(|number| format!("{number}%"));
            let now =
                percent(status.and_then(|status| status.at(&[&member, "current", "averageUtilization"])));
            let goal = percent(spec.at(&[&member, "target", "averageUtilization"]));
            format!(
                "{name}: {}/{}",
                now.unwrap_or_else(|| UNKNOWN.into()),
                goal.unwrap_or_else(|| "<auto>".into())
            )
        }
        _ => "<unknown type>".into(),
    }
}
