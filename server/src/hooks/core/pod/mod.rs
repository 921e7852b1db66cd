//! Pods.

mod derived;
mod dump;
mod qos;
mod resize;
mod status;
mod summary;
mod update;
mod validate;

use apiwright_json::{Object, Value};
use apiwright_meta::ErrorList;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::{Cell, WriteContext};

use crate::hooks::shared::cells::{self, NONE};
use crate::hooks::shared::pod_spec;
use qos::qos_class;
use summary::PodSummary;

/// The hooks of Pods.
#[derive(Debug)]
pub struct Pod;

impl Hooks for Pod {
    fn default(&self, object: &mut Value) {
        if let Some(status) = object.at_mut(&["status"]).and_then(Value::as_object_mut) {
            status::pair_addresses(status);
        }
        let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
        pod_spec::set_defaults(spec);
        spec.entry("enableServiceLinks", || true.into());
        let host_network = spec.get("hostNetwork").and_then(Value::as_bool).unwrap_or_default();
        for list in ["containers", "initContainers"] {
            for container in pod_spec::list_mut(spec, list).filter_map(Value::as_object_mut) {
                request_what_is_limited(container);
                if host_network {
                    copy_host_ports(container);
                }
            }
        }
    }

    fn row_conditions(&self, object: &Value) -> Value {
        let (reason, message) = match object.text_at(&["status", "phase"]) {
            "Succeeded" => ("Succeeded", "The pod has completed successfully."),
            "Failed" => ("Failed", "The pod failed."),
            _ => return Value::Null,
        };
        let members = [("type", "Completed"), ("status", "True"), ("reason", reason), ("message", message)];
        Value::Array(vec![Object::from_iter(members).into()])
    }

    fn prepare_create(&self, context: WriteContext<'_>, object: &mut Value) {
        let class = qos_class(object);
        at_least_a_second(object);
        pod_spec::drop_disabled(object, None, &["spec"]);
        if let Some(object) = object.as_object_mut() {
            let status = object.object("status");
            *status = Object::new();
            status.push("phase", "Pending");
            status.push("qosClass", class);
        }
        status::wait_for_gates(object);
        derived::select_own_labels(object);
        derived::profiles_of_annotations(object, context.notes);
    }

    fn prepare_update(&self, context: WriteContext<'_>, object: &mut Value, old: &Value) {
        match context.subresource {
            "" => {
                at_least_a_second(object);
                pod_spec::drop_disabled(object, Some(old), &["spec"]);
            }
            "ephemeralcontainers" => update::keep_all_but_ephemeral_containers(object, old),
            "resize" => resize::keep_all_but_resources(object, old),
            "status" => status::keep_what_status_may_not_change(object, old),
            _ => {}
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::create(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => {
                status::faults(object, old, errors);
                if errors.is_empty() {
                    for text in status::warnings(object) {
                        context.notes.add(text);
                    }
                }
            }
            "ephemeralcontainers" => update::ephemeral_containers(object, old, errors),
            "resize" => resize::faults(object, old, errors),
            _ => update::faults(object, old, errors),
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        pod_spec::warnings::pod(object, old)
    }

    fn cell_paths(&self) -> Option<&'static [&'static str]> {
        Some(&[
            "metadata.deletionTimestamp",
            "spec.containers.name",
            "spec.initContainers.name",
            "spec.initContainers.restartPolicy",
            "spec.readinessGates",
            "status.phase",
            "status.reason",
            "status.podIP",
            "status.podIPs",
            "status.conditions.type",
            "status.conditions.status",
            "status.conditions.reason",
            "status.initContainerStatuses.name",
            "status.initContainerStatuses.ready",
            "status.initContainerStatuses.started",
            "status.initContainerStatuses.restartCount",
            "status.initContainerStatuses.state",
            "status.initContainerStatuses.lastState",
            "status.containerStatuses.ready",
            "status.containerStatuses.restartCount",
            "status.containerStatuses.state",
            "status.containerStatuses.lastState",
        ])
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Ready" | "Status" | "Restarts" => PodSummary::of(object).cell(column).into(),
            "IP" => ip(object).into(),
            "Readiness Gates" => readiness_gates(object).into(),
            _ => Value::Null,
        }
    }

    fn cells(&self, columns: &[&str], object: &Value) -> Vec<Cell> {
        let summary = PodSummary::of(object);
        let cell = |column: &&str| match *column {
            "Restarts" => summary.restarts(),
            "Ready" | "Status" => Cell::Fixed(summary.cell(column).into()),
            other => Cell::Fixed(self.cell(other, object)),
        };
        columns.iter().map(cell).collect()
    }
}

/// A grace period below nothing is one second.
fn at_least_a_second(object: &mut Value) {
    let seconds = object.at_mut(&["spec", "terminationGracePeriodSeconds"]);
    if let Some(seconds) = seconds.filter(|seconds| seconds.as_i64().is_some_and(|seconds| seconds < 0)) {
        *seconds = 1.into();
    }
}

/// What is limited and not requested is requested up to the limit.
fn request_what_is_limited(container: &mut Object) {
    let Some(limits) = container.get("resources").and_then(|resources| resources.get("limits")).cloned()
    else {
        return;
    };
    let Value::Object(limits) = limits else { return };
    if limits.is_empty() {
        return;
    }
    let requests = container.object("resources").object("requests");
    for (resource, limit) in limits {
        requests.entry(&resource, || limit);
    }
    requests.sort();
}

/// On the host's network a container's ports are the host's.
fn copy_host_ports(container: &mut Object) {
    for port in pod_spec::list_mut(container, "ports").filter_map(Value::as_object_mut) {
        if let Some(number) = port.get("containerPort").cloned() {
            port.entry("hostPort", || number);
        }
    }
}

fn ip(object: &Value) -> String {
    let first = cells::items(object, &["status", "podIPs"]).first().map(|ip| ip.text_at(&["ip"]));
    cells::or_none(first.unwrap_or_else(|| object.text_at(&["status", "podIP"])))
}

/// `1/2`: how many gates are open.
fn readiness_gates(object: &Value) -> String {
    let gates = cells::items(object, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return NONE.into();
    }
    let conditions = cells::items(object, &["status", "conditions"]);
    let open = gates.iter().filter(|gate| {
        conditions
            .iter()
            .find(|condition| condition.text_at(&["type"]) == gate.text_at(&["conditionType"]))
            .is_some_and(|condition| condition.text_at(&["status"]) == "True")
    });
    format!("{}/{}", open.count(), gates.len())
}

#[cfg(test)]
mod tests {
    use apiwright_json::sparse::{Wanted, decode_wanted};
    use apiwright_meta::time::Time;
    use apiwright_registry::hooks::Notes;

    use super::*;

    #[test]
    fn new_pods_wait_for_their_gates() {
        for (spec, reason) in [("{}", ""), (r#"{"schedulingGates":[{"name":"g"}]}"#, "SchedulingGated")] {
            let text =
                format!(r#"{{"spec":{spec},"status":{{"phase":"Running","conditions":[{{"type":"a"}}]}}}}"#);
            let (mut pod, _) = apiwright_json::decode(text.as_bytes()).expect("JSON");
            let context = WriteContext {
                subresource: "",
                user: &apiwright_registry::Writer::default(),
                dry_run: false,
                notes: &Notes::default(),
            };
            Pod.prepare_create(context, &mut pod);
            assert_eq!(pod.text_at(&["status", "phase"]), "Pending");
            let conditions = cells::items(&pod, &["status", "conditions"]);
            assert_eq!(conditions.first().map_or("", |one| one.text_at(&["reason"])), reason);
            assert_eq!(
                pod.get("status").and_then(|status| status.get("conditions")).is_some(),
                !reason.is_empty()
            );
        }
    }

    /// What a cell looks at and `cell_paths` does not name would be missing in tables.
    #[test]
    fn cells_need_no_more_than_they_say() {
        let waiting = r#"{"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff"}},"restartCount":3,
            "lastState":{"terminated":{"finishedAt":"2024-01-01T00:00:00Z","exitCode":1}}}"#;
        let running = r#"{"name":"c","ready":true,"started":true,"state":{"running":{}},"restartCount":1}"#;
        let ended = r#"{"name":"i","state":{"terminated":{"signal":9,"exitCode":137}},"restartCount":2}"#;
        let spec = r#""spec":{"containers":[{"name":"c"},{"name":"d"}],"readinessGates":[{"conditionType":"g"}],
            "initContainers":[{"name":"i","restartPolicy":"Always"},{"name":"j"}]}"#;
        let conditions = r#"[{"type":"g","status":"True"},{"type":"Initialized","status":"True"},
            {"type":"Ready","status":"False"},{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]"#;
        let mut statuses = vec![
            r#"{"phase":"Pending"}"#.to_owned(),
            r#"{"phase":"Failed","reason":"NodeLost"}"#.to_owned(),
            r#"{"phase":"Succeeded","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.2"}]}"#.to_owned(),
            format!(r#"{{"phase":"Pending","conditions":{conditions},"podIP":"10.0.0.1"}}"#),
        ];
        for one in [waiting, running, ended] {
            for init in [waiting, running, ended] {
                statuses.push(format!(
                    r#"{{"phase":"Running","containerStatuses":[{one},{running}],"initContainerStatuses":[{init}]}}"#
                ));
            }
        }
        let wanted = Wanted::at(Pod.cell_paths().unwrap_or_default().iter().copied());
        for status in statuses {
            for deleted in ["", r#""deletionTimestamp":"2024-01-01T00:00:00Z""#] {
                let text = format!(r#"{{"metadata":{{{deleted}}},{spec},"status":{status}}}"#);
                let (whole, _) = apiwright_json::decode(text.as_bytes()).expect("JSON");
                let text = apiwright_json::to_string(&whole);
                let part = decode_wanted(text.as_bytes(), &wanted).expect("compact JSON");
                assert_eq!(Pod.row_conditions(&part), Pod.row_conditions(&whole), "{text}");
                let columns = ["Ready", "Status", "Restarts", "IP", "Readiness Gates"];
                for column in columns {
                    assert_eq!(Pod.cell(column, &part), Pod.cell(column, &whole), "{column} of {text}");
                }
                let shown = Pod.cells(&columns, &whole).into_iter().map(|cell| cell.at(Time::now()));
                assert_eq!(
                    shown.collect::<Vec<_>>(),
                    columns.map(|column| Pod.cell(column, &whole)),
                    "{text}"
                );
            }
        }
    }
}
