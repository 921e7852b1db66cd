//! The node ports of a service: those that it names and those that it is given.

use std::collections::{HashMap, HashSet};

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Path, Status};

use super::carry::ports_mut;
use super::families::invalid;
use super::ports::Operation;
use super::spec::{Spec, number, spec_mut};

/// Takes the ports of a new service.
///
/// # Errors
/// 422 where a named one cannot be had, 500 where none is left.
pub(super) fn create(service: &mut Value, operation: &mut Operation) -> Result<()> {
    if Spec::of(service).has_node_ports() {
        take_all(service, operation)?;
    }
    if Spec::of(service).needs_health_check() {
        take_health_check(service, operation)?;
    }
    Ok(())
}

/// Takes what an update adds and gives up what it leaves out.
///
/// # Errors
/// As [`create`].
pub(super) fn update(service: &mut Value, old: &Value, operation: &mut Operation) -> Result<()> {
    let before = Spec::of(old);
    if Spec::of(service).has_node_ports() {
        take_new(service, before, operation)?;
    } else if before.has_node_ports() {
        before.node_ports().into_iter().for_each(|port| operation.give_up(port));
    }
    match (before.needs_health_check(), Spec::of(service).needs_health_check()) {
        (false, true) => take_health_check(service, operation)?,
        (true, false) => operation.give_up(before.number("healthCheckNodePort")),
        _ => {}
    }
    Ok(())
}

/// All the node ports that a service has, its health check's included.
pub(super) fn of(service: &Value) -> Vec<i64> {
    let spec = Spec::of(service);
    let mut ports = spec.node_ports();
    if spec.needs_health_check() && spec.number("healthCheckNodePort") > 0 {
        ports.push(spec.number("healthCheckNodePort"));
    }
    ports
}

/// Ports of one number (DNS over TCP and UDP) share a node port.
fn take_all(service: &mut Value, operation: &mut Operation) -> Result<()> {
    let given = gives_ports(Spec::of(service));
    let ports = Spec::of(service).items("ports").iter();
    let ports: Vec<(i64, i64)> = ports.map(|port| (number(port, "port"), number(port, "nodePort"))).collect();
    let mut by_port: HashMap<i64, i64> = HashMap::new();
    let mut result = Vec::with_capacity(ports.len());
    for (at, &(port, wished)) in ports.iter().enumerate() {
        if wished == 0 && !given {
            result.push(0);
            continue;
        }
        let node_port = match by_port.get(&port) {
            Some(shared) if wished == 0 || wished == *shared => *shared,
            Some(_) => take_named(service, at, wished, operation)?,
            None => {
                // One of the ports behind this one may name what they share.
                let named = ports.iter().find(|(other, named)| *other == port && *named != 0);
                let node_port = match named {
                    Some((_, named)) => take_named(service, at, *named, operation)?,
                    None => take_any(operation)?,
                };
                by_port.insert(port, node_port);
                node_port
            }
        };
        result.push(node_port);
    }
    set(service, &result);
    Ok(())
}

fn take_new(service: &mut Value, before: Spec<'_>, operation: &mut Operation) -> Result<()> {
    let spec = Spec::of(service);
    let (given, old) = (gives_ports(spec), before.node_ports());
    let (mut taken, mut seen, mut result) = (HashSet::new(), HashSet::new(), Vec::new());
    for (at, port) in spec.items("ports").iter().enumerate() {
        let (wished, protocol) = (number(port, "nodePort"), port.text_at(&["protocol"]));
        if wished == 0 && !given {
            result.push(0);
            continue;
        }
        let node_port = if wished == 0 {
            take_any(operation)?
        } else {
            if !old.contains(&wished) && taken.insert(wished) {
                take_named(service, at, wished, operation)?;
            }
            wished
        };
        if !seen.insert((protocol, node_port)) {
            return Err(Status::unclassified(format!("duplicate nodePort: {{{protocol} {node_port}}}")));
        }
        result.push(node_port);
    }
    for port in old.into_iter().filter(|port| !result.contains(port)) {
        operation.give_up(port);
    }
    set(service, &result);
    Ok(())
}

/// Whether ports that name no node port are given one.
fn gives_ports(spec: Spec<'_>) -> bool {
    let load_balancer = || spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool) != Some(false);
    !spec.is_load_balancer() || load_balancer()
}

fn take_health_check(service: &mut Value, operation: &mut Operation) -> Result<()> {
    let wished = Spec::of(service).number("healthCheckNodePort");
    if wished != 0 {
        return operation.take(wished).map_err(|why| {
            Status::internal(format!("failed to allocate requested HealthCheck NodePort {wished}: {why}"))
        });
    }
    let port = operation
        .take_any()
        .map_err(|why| Status::internal(format!("failed to allocate a HealthCheck NodePort 0: {why}")))?;
    if let Some(spec) = spec_mut(service) {
        spec.insert("healthCheckNodePort", port);
    }
    Ok(())
}

fn take_named(service: &Value, at: usize, port: i64, operation: &mut Operation) -> Result<i64> {
    operation.take(port).map(|()| port).map_err(|why| {
        let mut errors = ErrorList::new();
        errors.invalid(Path::new("spec").child("ports").index(at).child("nodePort"), port, &why);
        invalid(service, &errors)
    })
}

fn take_any(operation: &mut Operation) -> Result<i64> {
    operation.take_any().map_err(|why| Status::internal(format!("failed to allocate a nodePort: {why}")))
}

fn set(service: &mut Value, node_ports: &[i64]) {
    for (port, node_port) in ports_mut(service).zip(node_ports) {
        if let Some(port) = port.as_object_mut().filter(|_| *node_port != 0) {
            port.insert("nodePort", *node_port);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::flags::values::PortRange;
    use crate::services::ports::Ports;

    fn service(spec: &str) -> Value {
        apiwright_json::decode(format!("{{\"metadata\":{{\"name\":\"a\"}},\"spec\":{spec}}}").as_bytes())
            .unwrap()
            .0
    }

    fn outcome(spec: &str, old: Option<&str>) -> String {
        // One port is free.
        let ports = Arc::new(Ports::new(PortRange { first: 1, last: 4 }, [1, 2, 3]));
        let mut operation = Operation::new(ports, false);
        let mut object = service(spec);
        let result = match old.map(service) {
            None => create(&mut object, &mut operation),
            Some(old) => update(&mut object, &old, &mut operation),
        };
        match result {
            Ok(()) => format!(
                "{:?} {}",
                Spec::of(&object).node_ports(),
                Spec::of(&object).number("healthCheckNodePort")
            ),
            Err(status) => status.message.replace("Service \"a\" is invalid: ", ""),
        }
    }

    #[test]
    fn new_services() {
        let table = [
            (r#"{"type":"ClusterIP","ports":[{"port":80}]}"#, "[] 0"),
            (r#"{"type":"NodePort","ports":[{"port":80}]}"#, "[4] 0"),
            (
                r#"{"type":"NodePort","ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}"#,
                "[4, 4] 0",
            ),
            (r#"{"type":"NodePort","ports":[{"port":53},{"port":53,"nodePort":4}]}"#, "[4, 4] 0"),
            (
                r#"{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":80}]}"#,
                "[] 0",
            ),
            (
                r#"{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"externalTrafficPolicy":"Local","ports":[{"port":80}]}"#,
                "[] 4",
            ),
            (
                r#"{"type":"NodePort","ports":[{"port":80,"nodePort":3}]}"#,
                "spec.ports[0].nodePort: Invalid value: 3: provided port is already allocated",
            ),
            (
                r#"{"type":"NodePort","ports":[{"port":80,"nodePort":4},{"port":81,"nodePort":4}]}"#,
                "spec.ports[1].nodePort: Invalid value: 4: provided port is already allocated",
            ),
            (
                r#"{"type":"NodePort","ports":[{"port":80},{"port":81}]}"#,
                "Internal error occurred: failed to allocate a nodePort: range is full",
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(outcome(spec, None), expected, "{spec}");
        }
    }

    #[test]
    fn updates() {
        let old = r#"{"type":"NodePort","ports":[{"port":80,"protocol":"TCP","nodePort":3}]}"#;
        let table = [
            (r#"{"type":"NodePort","ports":[{"port":81,"nodePort":3}]}"#, "[3] 0"),
            (r#"{"type":"NodePort","ports":[{"port":81,"nodePort":4}]}"#, "[4] 0"),
            (r#"{"type":"ClusterIP","ports":[{"port":81}]}"#, "[] 0"),
            (
                r#"{"type":"NodePort","ports":[{"port":81,"nodePort":2}]}"#,
                "spec.ports[0].nodePort: Invalid value: 2: provided port is already allocated",
            ),
            (
                r#"{"type":"NodePort","ports":[{"port":81,"protocol":"TCP","nodePort":3},{"port":82,"protocol":"TCP","nodePort":3}]}"#,
                "duplicate nodePort: {TCP 3}",
            ),
        ];
        for (new, expected) in table {
            assert_eq!(outcome(new, Some(old)), expected, "{new}");
        }
    }
}
