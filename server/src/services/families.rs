//! Address families: which a service has, by its own wish and by what the server has ranges of.
//!
//! Invariant: after [`Families::settle`], a service with cluster addresses has a policy and one or two
//! families that this server has, and its addresses are of these families.

use apiwright_json::Value;
use apiwright_meta::address::{parse_ip, validate_legacy_ip};
use apiwright_meta::field::quoted;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, GroupKind, Path, Status, object};

use super::spec::{HEADLESS, Spec, list, set_text, set_texts};

/// The families.
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const SINGLE: &str = "SingleStack";
const PREFER_DUAL: &str = "PreferDualStack";
const REQUIRE_DUAL: &str = "RequireDualStack";

/// The families that this server has ranges of, its own first.
#[derive(Clone, Debug)]
pub(super) struct Families(pub(super) Vec<&'static str>);

/// The name of a family.
pub(super) fn name(six: bool) -> &'static str {
    FAMILIES[usize::from(six)]
}

/// A 422 about a service.
pub(super) fn invalid(service: &Value, errors: &ErrorList) -> Box<Status> {
    let kind = GroupKind { group: "".into(), kind: "Service".into() };
    Status::invalid(&kind, object::name(service), errors)
}

/// Whether an update leaves alone what decides about addresses: then a service that prefers two
/// families is not given or robbed of one because the server's ranges changed.
pub(super) fn is_settled(service: &Value, old: &Value) -> bool {
    let (new, before) = (Spec::of(service), Spec::of(old));
    let prefers = |spec: Spec<'_>| matches!(spec.text("ipFamilyPolicy"), PREFER_DUAL);
    prefers(new)
        && (prefers(before) || before.text("ipFamilyPolicy").is_empty())
        && new.kind() == before.kind()
        && !new.is_external_name()
        && new.texts("clusterIPs") == before.texts("clusterIPs")
        && new.texts("ipFamilies") == before.texts("ipFamilies")
}

impl Families {
    /// Fills in the policy and the families; `old` is what an update replaces.
    ///
    /// # Errors
    /// 422 where what the service asks for does not go together, or not here.
    pub(super) fn settle(&self, service: &mut Value, old: Option<&Value>) -> Result<()> {
        if Spec::of(service).is_external_name() || old.is_some_and(|old| is_settled(service, old)) {
            return Ok(());
        }
        if Spec::of(service).text("ipFamilyPolicy").is_empty() {
            let policy = default_policy(Spec::of(service), old.map(Spec::of));
            set_text(service, "ipFamilyPolicy", policy);
        }
        refuse(service, &faults(Spec::of(service)))?;
        let mut errors = ErrorList::new();
        if let Some(old) = old {
            release_secondary(service, Spec::of(old), &mut errors);
        }
        one_of_each(Spec::of(service), &mut errors);
        self.infer(service, &mut errors);
        refuse(service, &errors)?;
        self.complete(service)
    }

    /// Adds the families of addresses that come without.
    fn infer(&self, service: &mut Value, errors: &mut ErrorList) {
        let spec = Spec::of(service);
        let (addresses, mut families) = (spec.texts("clusterIPs"), own(spec));
        for (at, address) in addresses.iter().enumerate() {
            if *address == HEADLESS {
                break;
            }
            if at < families.len() {
                continue;
            }
            let family = name(is_six(address));
            if self.0.contains(&family) {
                families.push(family);
            } else {
                let why = format!("{family} is not configured on this cluster");
                errors.invalid(path("clusterIPs").index(at), list(spec, "clusterIPs"), &why);
            }
        }
        set_texts(service, "ipFamilies", &families);
    }

    /// Adds the families that nobody named.
    fn complete(&self, service: &mut Value) -> Result<()> {
        let spec = Spec::of(service);
        let (policy, mut families) = (spec.text("ipFamilyPolicy"), own(spec));
        // Nobody knows the addresses behind a service without an own one and without a selector:
        // it may have families that this server has not.
        let anything_goes = spec.text("clusterIP") == HEADLESS && !spec.has_selector();
        if !anything_goes {
            let mut errors = ErrorList::new();
            if policy == REQUIRE_DUAL && self.0.len() < 2 {
                let why = "this cluster is not configured for dual-stack services";
                errors.invalid(path("ipFamilyPolicy"), quoted(policy), why);
            }
            for (at, family) in families.iter().enumerate().filter(|(_, family)| !self.0.contains(family)) {
                let why = "not configured on this cluster";
                errors.invalid(path("ipFamilies").index(at), quoted(family), why);
            }
            refuse(service, &errors)?;
        }
        if families.is_empty() {
            families.extend(self.0.first());
        }
        if policy != SINGLE && families.len() == 1 && (anything_goes || self.0.len() == 2) {
            families.push(name(families[0] == FAMILIES[0]));
        }
        set_texts(service, "ipFamilies", &families);
        Ok(())
    }
}

/// The policy of a service that names none.
fn default_policy(spec: Spec<'_>, old: Option<Spec<'_>>) -> &'static str {
    let before = old.map(|old| old.text("ipFamilyPolicy")).unwrap_or_default();
    match POLICIES.iter().find(|policy| **policy == before) {
        Some(policy) => policy,
        None if spec.text("clusterIP") == HEADLESS && !spec.has_selector() => REQUIRE_DUAL,
        None => SINGLE,
    }
}

/// What is wrong with the addresses, families and policy of a service by themselves.
fn faults(spec: Spec<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let (address, addresses) = (spec.text("clusterIP"), spec.texts("clusterIPs"));
    let shown = list(spec, "clusterIPs");
    match addresses.first() {
        None if !address.is_empty() => errors.required(path("clusterIPs"), ""),
        Some(first) if !address.is_empty() && *first != address => {
            errors.invalid(path("clusterIPs"), &shown, "first value must match `clusterIP`");
        }
        Some(_) if address.is_empty() => {
            errors.invalid(path("clusterIPs"), &shown, "must be empty when `clusterIP` is not specified");
        }
        _ => {}
    }
    let families = spec.texts("ipFamilies");
    for (at, family) in families.iter().enumerate() {
        if !FAMILIES.contains(family) {
            errors.not_supported(path("ipFamilies").index(at), quoted(family), &FAMILIES);
        }
        if families[..at].contains(family) {
            errors.duplicate(path("ipFamilies").index(at), quoted(family));
        }
    }
    let policy = spec.text("ipFamilyPolicy");
    if !POLICIES.contains(&policy) {
        errors.not_supported(path("ipFamilyPolicy"), quoted(policy), &POLICIES);
    }
    address_faults(spec, &addresses, &families, &shown, &mut errors);
    errors
}

fn address_faults(
    spec: Spec<'_>,
    addresses: &[&str],
    families: &[&str],
    shown: &str,
    errors: &mut ErrorList,
) {
    let mut malformed = false;
    for (at, address) in addresses.iter().enumerate() {
        if at == 0 && *address == HEADLESS {
            if addresses.len() > 1 {
                malformed = true;
                errors.invalid(path("clusterIPs"), shown, "'None' must be the first and only value");
            }
            continue;
        }
        let faults = validate_legacy_ip(&path("clusterIPs").index(at), address);
        malformed |= !faults.is_empty();
        errors.append(faults);
    }
    if addresses.len() > 2 {
        errors.invalid(path("clusterIPs"), shown, "may only hold up to 2 values");
    }
    // What follows would tell of the same faults in other words.
    if malformed {
        return;
    }
    let six: Vec<bool> = addresses.iter().map(|address| is_six(address)).collect();
    if addresses.len() > 1 && !(six.contains(&true) && six.contains(&false) && addresses.len() == 2) {
        errors.invalid(path("clusterIPs"), shown, "may specify no more than one IP for each IP family");
    }
    if spec.is_headless() {
        return;
    }
    for (at, (address, family)) in addresses.iter().zip(families).enumerate() {
        let actual = name(is_six(address));
        if FAMILIES.contains(family) && *family != actual {
            let why = format!("expected an {family} value as indicated by `ipFamilies[{at}]`");
            errors.invalid(path("clusterIPs").index(at), quoted(address), &why);
        }
    }
}

/// Lets the second address and family go where the policy says so, and only there.
fn release_secondary(service: &mut Value, old: Spec<'_>, errors: &mut ErrorList) {
    let spec = Spec::of(service);
    let single = spec.text("ipFamilyPolicy") == SINGLE;
    let policy = quoted(spec.text("ipFamilyPolicy"));
    let mut first = Vec::new();
    for (member, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (new, before) = (spec.texts(member), old.texts(member));
        if single && new == before && new.len() > 1 {
            first.push((member, new[0].to_owned()));
        } else if !single && !new.is_empty() && new.len() < before.len() {
            let why = format!("must be 'SingleStack' to release the secondary {what}");
            errors.invalid(path("ipFamilyPolicy"), &policy, &why);
        }
    }
    for (member, text) in first {
        set_texts(service, member, &[&text]);
    }
}

/// A service of one family has one of everything.
fn one_of_each(spec: Spec<'_>, errors: &mut ErrorList) {
    if spec.text("ipFamilyPolicy") != SINGLE {
        return;
    }
    for (member, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if spec.items(member).len() == 2 {
            let why =
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            errors.invalid(path("ipFamilyPolicy"), quoted(SINGLE), &why);
        }
    }
}

fn refuse(service: &Value, errors: &ErrorList) -> Result<()> {
    if errors.is_empty() { Ok(()) } else { Err(invalid(service, errors)) }
}

fn own(spec: Spec<'_>) -> Vec<&'static str> {
    let families = spec.texts("ipFamilies");
    families.iter().filter_map(|family| FAMILIES.into_iter().find(|one| one == family)).collect()
}

fn is_six(address: &str) -> bool {
    parse_ip(address).is_some_and(|address| address.is_ipv6())
}

fn path(member: &str) -> Path {
    Path::new("spec").child(member)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(spec: &str) -> Value {
        apiwright_json::decode(format!("{{\"metadata\":{{\"name\":\"a\"}},\"spec\":{spec}}}").as_bytes())
            .unwrap()
            .0
    }

    fn settled(families: &[&'static str], spec: &str, old: Option<&str>) -> String {
        let mut object = service(spec);
        let old = old.map(service);
        match Families(families.to_vec()).settle(&mut object, old.as_ref()) {
            Ok(()) => {
                let spec = Spec::of(&object);
                format!("{} {}", spec.text("ipFamilyPolicy"), spec.texts("ipFamilies").join(","))
            }
            Err(status) => status.message.replace("Service \"a\" is invalid: ", ""),
        }
    }

    #[test]
    fn what_a_new_service_gets() {
        let (one, two): (&[&str], &[&str]) = (&["IPv4"], &["IPv6", "IPv4"]);
        let table = [
            (one, "{}", "SingleStack IPv4"),
            (one, r#"{"type":"ExternalName"}"#, " "),
            (one, r#"{"ipFamilyPolicy":"PreferDualStack"}"#, "PreferDualStack IPv4"),
            (two, r#"{"ipFamilyPolicy":"PreferDualStack"}"#, "PreferDualStack IPv6,IPv4"),
            (
                two,
                r#"{"ipFamilyPolicy":"RequireDualStack","ipFamilies":["IPv4"]}"#,
                "RequireDualStack IPv4,IPv6",
            ),
            (one, r#"{"clusterIP":"None","clusterIPs":["None"]}"#, "RequireDualStack IPv4,IPv6"),
            (one, r#"{"clusterIP":"None","clusterIPs":["None"],"selector":{"a":"b"}}"#, "SingleStack IPv4"),
            (two, r#"{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"]}"#, "SingleStack IPv4"),
            (
                one,
                r#"{"ipFamilyPolicy":"RequireDualStack"}"#,
                "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services",
            ),
            (
                one,
                r#"{"ipFamilies":["IPv6"]}"#,
                "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
            ),
            (
                two,
                r#"{"ipFamilies":["IPv4","IPv6"]}"#,
                "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
            ),
            (one, r#"{"ipFamilies":["IPv4","IPv4"]}"#, "spec.ipFamilies[1]: Duplicate value: \"IPv4\""),
            (
                one,
                r#"{"clusterIP":"::1","clusterIPs":["::1"]}"#,
                "spec.clusterIPs[0]: Invalid value: [\"::1\"]: IPv6 is not configured on this cluster",
            ),
            (
                one,
                r#"{"clusterIP":"None","clusterIPs":["None","10.0.0.1"]}"#,
                "spec.clusterIPs: Invalid value: [\"None\",\"10.0.0.1\"]: 'None' must be the first and only value",
            ),
            (
                two,
                r#"{"clusterIP":"::1","clusterIPs":["::1"],"ipFamilies":["IPv4"]}"#,
                "spec.clusterIPs[0]: Invalid value: \"::1\": expected an IPv4 value as indicated by `ipFamilies[0]`",
            ),
        ];
        for (families, spec, expected) in table {
            assert_eq!(settled(families, spec, None), expected, "{spec}");
        }
    }

    #[test]
    fn what_an_update_gets() {
        let two: &[&str] = &["IPv4", "IPv6"];
        let dual = r#"{"type":"ClusterIP","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","::1"],"ipFamilies":["IPv4","IPv6"],"ipFamilyPolicy":"RequireDualStack"}"#;
        let preferring = r#"{"type":"ClusterIP","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"PreferDualStack"}"#;
        let table = [
            (dual, dual.replace("RequireDualStack", "SingleStack"), "SingleStack IPv4"),
            (
                dual,
                dual.replace(",\"::1\"", ""),
                "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": must be 'SingleStack' to release the secondary cluster IP",
            ),
            (preferring, preferring.into(), "PreferDualStack IPv4"),
            (
                preferring,
                preferring.replace("PreferDualStack", "RequireDualStack"),
                "RequireDualStack IPv4,IPv6",
            ),
        ];
        for (old, new, expected) in table {
            assert_eq!(settled(two, &new, Some(old)), expected, "{new}");
        }
    }
}
