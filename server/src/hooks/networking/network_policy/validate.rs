//! What makes a NetworkPolicy valid.

use apiwright_json::Value;
use apiwright_meta::address::{parse_cidr, validate_legacy_cidr};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_meta::{ErrorList, Path, names};

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// The lists of rules, and what a rule calls its peers.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

/// The faults of a policy; what was wrong in an old one may stay.
pub(super) fn policy(policy: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    let Some(spec) = policy.get("spec") else { return };
    let leniency = SelectorLeniency::of_old(old.and_then(|old| old.at(&["spec", "podSelector"])));
    let peers = Peers { leniency, known: old.map(blocks).unwrap_or_default() };
    selector(spec, "podSelector", peers.leniency, &path, &mut out);
    for (list, member) in DIRECTIONS {
        for (at, rule) in cells::items(spec, &[list]).iter().enumerate() {
            let path = path.child(list).index(at);
            for (at, port) in cells::items(rule, &["ports"]).iter().enumerate() {
                port_faults(port, &path.child("ports").index(at), &mut out);
            }
            for (at, peer) in cells::items(rule, &[member]).iter().enumerate() {
                peers.faults(peer, &path.child(member).index(at), &mut out);
            }
        }
    }
    let types = cells::items(spec, &["policyTypes"]);
    if types.len() > 2 {
        let path = path.child("policyTypes");
        out.invalid(
            path.clone(),
            go_value(&types.to_vec().into()),
            "may not specify more than two policyTypes",
        );
        out.drop_below(&path);
    }
}

/// All ranges of addresses and where they are.
pub(super) fn blocks(policy: &Value) -> Vec<(Path, &str)> {
    let mut found = Vec::new();
    for (list, member) in DIRECTIONS {
        for (at, rule) in cells::items(policy, &["spec", list]).iter().enumerate() {
            let path = Path::new("spec").child(list).index(at).child(member);
            for (at, peer) in cells::items(rule, &[member]).iter().enumerate() {
                let Some(block) = peer.get("ipBlock") else { continue };
                let path = path.index(at).child("ipBlock");
                found.push((path.child("cidr"), block.text_at(&["cidr"])));
                let except = cells::items(block, &["except"]).iter().filter_map(Value::as_str).enumerate();
                found.extend(except.map(|(at, cidr)| (path.child("except").index(at), cidr)));
            }
        }
    }
    found
}

fn selector(
    holder: &Value,
    member: &str,
    leniency: SelectorLeniency,
    path: &Path,
    out: &mut Faults<'_>,
) -> bool {
    let selector = holder.get(member);
    out.append(validate_label_selector(selector, leniency, &path.child(member)));
    selector.is_some()
}

fn port_faults(port: &Value, path: &Path, out: &mut Faults<'_>) {
    out.declared(&path.child("protocol"));
    let end = port.get("endPort").and_then(Value::as_i64);
    match port.get("port") {
        None => {
            if let Some(end) = end {
                out.invalid(path.child("endPort"), end, "may not be specified when `port` is not specified");
            }
        }
        Some(Value::String(name)) => {
            if let Some(end) = end {
                out.invalid(path.child("endPort"), end, "may not be specified when `port` is non-numeric");
            }
            out.invalid_each(&path.child("port"), name, names::port_name(name));
        }
        Some(number) => {
            let number = number.as_i64().unwrap_or_default();
            for why in names::port_num(number) {
                out.invalid(path.child("port"), number, &why);
            }
            let Some(end) = end else { return };
            if end < number {
                // Upstream shows the port here.
                out.invalid(path.child("endPort"), number, "must be greater than or equal to `port`");
            }
            for why in names::port_num(end) {
                out.invalid(path.child("endPort"), end, &why);
            }
        }
    }
}

/// What peers are held against.
struct Peers<'a> {
    leniency: SelectorLeniency,
    known: Vec<(Path, &'a str)>,
}

impl Peers<'_> {
    fn faults(&self, peer: &Value, path: &Path, out: &mut Faults<'_>) {
        let pods = selector(peer, "podSelector", self.leniency, path, out);
        let namespaces = selector(peer, "namespaceSelector", self.leniency, path, out);
        let block = peer.get("ipBlock");
        if let Some(block) = block {
            self.block_faults(block, &path.child("ipBlock"), out);
        }
        match (pods || namespaces, block) {
            (false, None) => out.required(path.clone(), "must specify a peer"),
            (true, Some(_)) => out.forbidden(path.clone(), "may not specify both ipBlock and another peer"),
            _ => {}
        }
    }

    fn block_faults(&self, block: &Value, path: &Path, out: &mut Faults<'_>) {
        out.declared(&path.child("cidr"));
        let cidr = block.text_at(&["cidr"]);
        if cidr.is_empty() {
            return;
        }
        self.cidr_faults(cidr, &path.child("cidr"), out);
        let Some((network, length)) = parse_cidr(cidr) else { return };
        for (at, except) in cells::items(block, &["except"]).iter().filter_map(Value::as_str).enumerate() {
            let path = path.child("except").index(at);
            self.cidr_faults(except, &path, out);
            let Some((address, inner)) = parse_cidr(except) else { continue };
            if length >= inner || !apiwright_meta::address::contains((network, length), address) {
                out.invalid(path, quoted(except), "must be a strict subset of `cidr`");
            }
        }
    }

    fn cidr_faults(&self, cidr: &str, path: &Path, out: &mut Faults<'_>) {
        if !self.known.iter().any(|(_, known)| *known == cidr) {
            out.append(validate_legacy_cidr(path, cidr));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(spec: &str, old: Option<&str>) -> String {
        let decode =
            |spec: &str| apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
        let old = old.map(decode);
        let mut errors = ErrorList::new();
        policy(&decode(spec), old.as_ref(), &mut errors);
        errors.aggregate()
    }

    #[test]
    fn peers_and_ports() {
        let peer = |peer: &str| format!(r#"{{"podSelector":{{}},"ingress":[{{"from":[{peer}]}}]}}"#);
        let port = |port: &str| format!(r#"{{"podSelector":{{}},"egress":[{{"ports":[{port}]}}]}}"#);
        let table = [
            (peer(r#"{"ipBlock":{"cidr":"192.0.2.0/24","except":["192.0.2.128/25"]}}"#), "[]"),
            (peer("{}"), "spec.ingress[0].from[0]: Required value: must specify a peer"),
            (
                peer(r#"{"ipBlock":{"cidr":"192.0.2.0/24","except":["192.0.3.0/25"]}}"#),
                "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"192.0.3.0/25\": must be a strict subset of `cidr`",
            ),
            (
                peer(r#"{"ipBlock":{"cidr":"192.0.2.0/24"},"podSelector":{}}"#),
                "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
            ),
            (port(r#"{"port":80,"endPort":90}"#), "[]"),
            (
                port(r#"{"port":80,"endPort":9}"#),
                "spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
            ),
            (
                port(r#"{"endPort":9}"#),
                "spec.egress[0].ports[0].endPort: Invalid value: 9: may not be specified when `port` is not specified",
            ),
            (
                r#"{"podSelector":{},"policyTypes":["Ingress","Egress","Odd"]}"#.to_owned(),
                "spec.policyTypes: Invalid value: [\"Ingress\",\"Egress\",\"Odd\"]: may not specify more than two policyTypes",
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(faults(&spec, None), expected, "{spec}");
        }
    }

    #[test]
    fn ranges_that_were_wrong_may_stay() {
        let spec = r#"{"podSelector":{},"egress":[{"to":[{"ipBlock":{"cidr":"192.0.2.1/24"}}]}]}"#;
        assert_eq!(faults(spec, Some(spec)), "[]");
        assert!(faults(spec, None).contains("must not have bits set"));
    }
}
