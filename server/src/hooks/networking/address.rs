//! `IPAddress`es and `ServiceCIDR`s: what services' addresses are, and where they are from.

use apiwright_json::Value;
use apiwright_meta::address::{parse_cidr, validate_cidr, validate_ip};
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// The hooks of IPAddresses.
#[derive(Debug)]
pub struct IPAddress;

/// The hooks of ServiceCIDRs.
#[derive(Debug)]
pub struct ServiceCIDR;

impl Hooks for IPAddress {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        name_faults(object::name(object), errors);
        if let Some(parent) = object.at(&["spec", "parentRef"]) {
            let path = Path::new("spec").child("parentRef");
            parent_faults(parent, &path, &mut Faults::take(errors, &path));
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "ParentRef" => parent(object).into(),
            _ => Value::Null,
        }
    }
}

impl Hooks for ServiceCIDR {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        range_faults(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource.is_empty() {
            changed_range_faults(object, old, errors);
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "CIDRs" => {
                let cidrs = cells::items(object, &["spec", "cidrs"]);
                cidrs.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",").into()
            }
            _ => Value::Null,
        }
    }
}

/// An address is named by itself, in its canonical form.
fn name_faults(name: &str, errors: &mut ErrorList) {
    if !name.is_empty() {
        errors.append(validate_ip(&Path::new("metadata").child("name"), name));
    }
}

fn parent_faults(parent: &Value, path: &Path, errors: &mut Faults<'_>) {
    let text = |member: &str| parent.text_at(&[member]);
    if !text("group").is_empty() {
        errors.invalid_each(&path.child("group"), text("group"), names::dns1123_subdomain(text("group")));
    }
    for member in ["resource", "name", "namespace"] {
        errors.declared(&path.child(member));
        if !text(member).is_empty() {
            errors.invalid_each(&path.child(member), text(member), names::path_segment_name(text(member)));
        }
    }
}

fn range_faults(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec").child("cidrs");
    let list = cells::items(object, &["spec", "cidrs"]);
    let cidrs: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    let shown = || go_value(&Value::from(list.to_vec()));
    if cidrs.is_empty() {
        errors.required(path, "at least one CIDR required");
        return;
    }
    if cidrs.len() > 2 {
        // Upstream shows the whole spec here.
        let shown = format!("{{\"CIDRs\":{}}}", shown());
        errors.invalid(path, shown, "may only hold up to 2 values");
        return;
    }
    for (at, cidr) in cidrs.iter().enumerate() {
        errors.append(validate_cidr(&path.index(at), cidr));
    }
    if let [one, two] = cidrs.as_slice()
        && let (Some((one, _)), Some((two, _))) = (parse_cidr(one), parse_cidr(two))
        && one.is_ipv4() == two.is_ipv4()
    {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.invalid(path.clone(), shown(), why);
    }
}

/// Ranges stay; one range may get a second one.
fn changed_range_faults(object: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec").child("cidrs");
    let (now, before) = (cells::items(object, &["spec", "cidrs"]), cells::items(old, &["spec", "cidrs"]));
    let is_extended = (before.len(), now.len()) == (1, 2);
    if now.len() != before.len() && !is_extended {
        errors.invalid(path, go_value(&Value::from(now.to_vec())), "field is immutable");
        return;
    }
    let changed = before.iter().zip(now).enumerate().filter(|(_, (before, now))| before != now);
    for (at, (_, now)) in changed {
        errors.invalid(path.index(at), go_value(now), "field is immutable");
    }
    if is_extended {
        range_faults(object, errors);
    }
}

/// `services/default/web`, the group behind the resource where there is one.
fn parent(object: &Value) -> String {
    let Some(parent) = object.at(&["spec", "parentRef"]) else { return String::new() };
    let text = |member: &str| parent.text_at(&[member]);
    let resource = match text("group") {
        "" => text("resource").to_owned(),
        group => format!("{}.{group}", text("resource")),
    };
    let parts = [resource.as_str(), text("namespace"), text("name")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(cidrs: &str) -> Value {
        apiwright_json::decode(format!(r#"{{"spec":{{"cidrs":{cidrs}}}}}"#).as_bytes()).unwrap().0
    }

    #[test]
    fn faults_of_ranges() {
        let table = [
            (r#"["10.0.0.0/24","fd00::/112"]"#, "[]"),
            ("[]", "spec.cidrs: Required value: at least one CIDR required"),
            (
                r#"["10.0.0.1/24"]"#,
                "spec.cidrs[0]: Invalid value: \"10.0.0.1/24\": must not have bits set beyond the prefix length",
            ),
            (
                r#"["10.0.0.0/24","10.0.1.0/24"]"#,
                "spec.cidrs: Invalid value: [\"10.0.0.0/24\",\"10.0.1.0/24\"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
            ),
        ];
        for (cidrs, expected) in table {
            let mut errors = ErrorList::new();
            range_faults(&ranges(cidrs), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{cidrs}");
        }
    }

    #[test]
    fn ranges_stay() {
        let old = ranges(r#"["10.0.0.0/24"]"#);
        let table = [
            (r#"["10.0.0.0/24"]"#, "[]"),
            (r#"["10.0.0.0/24","fd00::/112"]"#, "[]"),
            (r#"["10.0.1.0/24"]"#, "spec.cidrs[0]: Invalid value: \"10.0.1.0/24\": field is immutable"),
        ];
        for (cidrs, expected) in table {
            let mut errors = ErrorList::new();
            changed_range_faults(&ranges(cidrs), &old, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{cidrs}");
        }
    }
}
