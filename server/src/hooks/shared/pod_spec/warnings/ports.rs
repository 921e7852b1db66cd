//! Ports that are said twice, or half.

use apiwright_json::Value;
use apiwright_meta::Path;

use super::super::{CONTAINER_LISTS, number};
use crate::hooks::shared::cells;

struct Port<'a> {
    container: i64,
    host: i64,
    protocol: &'a str,
    host_ip: &'a str,
    path: Path,
}

/// Warnings about the ports of all containers together.
pub(super) fn warnings(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    let mut seen: Vec<Port<'_>> = Vec::new();
    for list in CONTAINER_LISTS {
        for (at, container) in cells::items(spec, &[list]).iter().enumerate() {
            for (index, port) in cells::items(container, &["ports"]).iter().enumerate() {
                let own = Port {
                    container: number(port, "containerPort").unwrap_or_default(),
                    host: number(port, "hostPort").unwrap_or_default(),
                    protocol: port.text_at(&["protocol"]),
                    host_ip: port.text_at(&["hostIP"]),
                    path: path.child(list).index(at).child("ports").index(index),
                };
                if !own.host_ip.is_empty() && own.host == 0 {
                    let Port { container, host, protocol, host_ip, path } = &own;
                    let name = port.text_at(&["name"]);
                    texts.push(format!(
                        "{path}: hostIP set without hostPort: {{Name:{name} HostPort:{host} \
                         ContainerPort:{container} Protocol:{protocol} HostIP:{host_ip}}}"
                    ));
                }
                let same = |one: &&Port<'_>| (one.container, one.protocol) == (own.container, own.protocol);
                for other in seen.iter().filter(same) {
                    if let Some(what) = conflict(&own, other) {
                        texts.push(format!("{}: {what} port definition with {}", own.path, other.path));
                    }
                }
                seen.push(own);
            }
        }
    }
}

fn conflict(own: &Port<'_>, other: &Port<'_>) -> Option<&'static str> {
    if (own.host, own.host_ip) == (other.host, other.host_ip) {
        return Some("duplicate");
    }
    if own.host == 0 || other.host == 0 {
        return Some("overlapping");
    }
    let one_is_open = own.host_ip.is_empty() != other.host_ip.is_empty();
    (own.host == other.host && one_is_open).then_some("dangerously ambiguous")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_meet() {
        let table = [
            (r#"[{"containerPort":80},{"containerPort":81}]"#, vec![]),
            (
                r#"[{"containerPort":80},{"containerPort":80}]"#,
                vec!["s.containers[0].ports[1]: duplicate port definition with s.containers[0].ports[0]"],
            ),
            (
                r#"[{"containerPort":80},{"containerPort":80,"hostPort":90}]"#,
                vec!["s.containers[0].ports[1]: overlapping port definition with s.containers[0].ports[0]"],
            ),
            (
                r#"[{"containerPort":80,"hostPort":90},{"containerPort":80,"hostPort":90,"hostIP":"1.2.3.4"}]"#,
                vec![
                    "s.containers[0].ports[1]: dangerously ambiguous port definition with s.containers[0].ports[0]",
                ],
            ),
            (
                r#"[{"containerPort":80,"protocol":"TCP","hostIP":"1.2.3.4"}]"#,
                vec![
                    "s.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 \
                     Protocol:TCP HostIP:1.2.3.4}",
                ],
            ),
        ];
        for (ports, expected) in table {
            let spec = format!(r#"{{"containers":[{{"ports":{ports}}}]}}"#);
            let mut texts = Vec::new();
            warnings(&apiwright_json::decode(spec.as_bytes()).unwrap().0, &Path::new("s"), &mut texts);
            assert_eq!(texts, expected, "{ports}");
        }
    }
}
