//! What makes the status of a ResourceClaim valid: what was allocated, for whom, and how it is.

use apiwright_json::Value;
use apiwright_meta::address::validate_interface_address;
use apiwright_meta::conditions::validate_conditions;
use apiwright_meta::{ErrorList, Path, names as labels, object};

use super::requests::Names;
use super::{configuration, device, lists, tolerations};
use crate::generated::types::resource_v1::RESOURCE_CLAIM_STATUS;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::quoting::internal_member;
use crate::hooks::shared::storage_driver::csi_name;
use crate::hooks::shared::{cells, node_selector};

const CONDITIONS_MAX: usize = 8;

/// The faults of a status.
pub(super) fn faults(claim: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("status");
    let mut out = Faults::take(errors, &path);
    let none = Value::Null;
    let status = claim.get("status").unwrap_or(&none);
    let uid = |one| Value::text_at(one, &["uid"]);
    lists::each_once(status, "reservedFor", uid, &path, &mut out, |consumer, path, out| {
        for member in ["resource", "name", "uid"] {
            if consumer.text_at(&[member]).is_empty() {
                out.required(path.child(member), "");
            }
        }
    });
    let allocation = status.get("allocation");
    device_faults(status, allocation, &path, &mut out);
    reservation_faults(claim, old, &path, &mut out);
    let path = path.child("allocation");
    match (allocation, old.at(&["status", "allocation"])) {
        (Some(now), Some(before)) if now != before => {
            let shown = internal_member(&RESOURCE_CLAIM_STATUS, "allocation", Some(now));
            out.drop_below(&path);
            out.invalid(path, shown, "field is immutable");
        }
        (Some(allocation), None) => {
            let known = Names::of(claim.get("spec").unwrap_or(&none));
            allocation_faults(allocation, &known, &path, &mut out);
        }
        _ => {}
    }
}

/// Nobody has what is not allocated, and nobody new what is on its way out.
fn reservation_faults(claim: &Value, old: &Value, path: &Path, out: &mut Faults<'_>) {
    let (now, before) =
        (cells::items(claim, &["status", "reservedFor"]), cells::items(old, &["status", "reservedFor"]));
    let path = path.child("reservedFor");
    if now.is_empty() {
        return;
    }
    if claim.at(&["status", "allocation"]).is_none() {
        out.forbidden(path, "may not be specified when `allocated` is not set");
    } else if object::deletion_timestamp(claim).is_some() && now.iter().any(|one| !before.contains(one)) {
        let why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        out.forbidden(path, why);
    }
}

/// `driver/pool/device`, and which share of it.
fn id(device: &Value) -> String {
    let mut id = ["driver", "pool", "device"].map(|part| device.text_at(&[part])).join("/");
    if let Some(share) = device.get("shareID").and_then(Value::as_str) {
        id.push('/');
        id.push_str(share);
    }
    id
}

fn device_faults(status: &Value, allocation: Option<&Value>, path: &Path, out: &mut Faults<'_>) {
    let results = allocation.map_or(&[][..], |one| cells::items(one, &["devices", "results"]));
    let allocated: Vec<String> = results.iter().map(id).collect();
    let devices = lists::each(status, "devices", path, out, |device, path, out| {
        csi_name(device.text_at(&["driver"]), &path.child("driver"), out);
        device::pool_name(device.text_at(&["pool"]), &path.child("pool"), out);
        let name = device.text_at(&["device"]);
        out.invalid_each(&path.child("device"), name, labels::dns1123_label(name));
        out.declared(&path.child("shareID"));
        if !allocated.contains(&id(device)) {
            out.invalid(path.clone(), id(device), "must be an allocated device in the claim");
        }
        let conditions = cells::items(device, &["conditions"]);
        if conditions.len() > CONDITIONS_MAX {
            out.too_many(path.child("conditions"), conditions.len(), CONDITIONS_MAX);
        }
        out.append(validate_conditions(device.get("conditions"), &path.child("conditions")));
        if let Some(data) = device.get("data") {
            configuration::object_faults(Some(data), false, &path.child("data"), out);
        }
        network_faults(device.get("networkData"), &path.child("networkData"), out);
    });
    let mut seen = Vec::new();
    for (at, device) in devices.iter().enumerate() {
        let id = id(device);
        if seen.contains(&id) {
            out.duplicate(path.child("devices").index(at), &id);
        }
        seen.push(id);
    }
}

fn network_faults(data: Option<&Value>, path: &Path, out: &mut Faults<'_>) {
    let Some(data) = data else { return };
    out.declared(&path.child("interfaceName"));
    out.declared(&path.child("hardwareAddress"));
    lists::each_once(data, "ips", lists::text, path, out, |address, path, out| {
        out.append(validate_interface_address(path, lists::text(address)));
    });
}

fn allocation_faults(allocation: &Value, known: &Names<'_>, path: &Path, out: &mut Faults<'_>) {
    let at = path.child("devices");
    let devices = allocation.get("devices").unwrap_or(&Value::Null);
    lists::each(devices, "results", &at, out, |result, path, out| {
        known.faults(result.text_at(&["request"]), &path.child("request"), out);
        for member in ["driver", "pool"] {
            out.drop_below(&path.child(member));
        }
        csi_name(result.text_at(&["driver"]), &path.child("driver"), out);
        device::pool_name(result.text_at(&["pool"]), &path.child("pool"), out);
        let name = result.text_at(&["device"]);
        out.invalid_each(&path.child("device"), name, labels::dns1123_label(name));
        device::binding_faults(result, path, out);
        tolerations::faults(result, path, out);
        out.declared(&path.child("shareID"));
    });
    lists::each(devices, "config", &at, out, |one, path, out| {
        out.declared(&path.child("source"));
        known.all(one, path, out);
        configuration::faults(one, false, path, out);
    });
    if let Some(selector) = allocation.get("nodeSelector") {
        node_selector::faults(selector, &path.child("nodeSelector"), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_statuses() {
        let claim = |status: &str| {
            let text =
                format!(r#"{{"spec":{{"devices":{{"requests":[{{"name":"gpu"}}]}}}},"status":{status}}}"#);
            apiwright_json::decode(text.as_bytes()).unwrap().0
        };
        let result = r#"{"request":"gpu","driver":"a.b","pool":"p","device":"d"}"#;
        let allocated = format!(r#""allocation":{{"devices":{{"results":[{result}]}}}}"#);
        let consumer = r#""reservedFor":[{"resource":"pods","name":"p","uid":"u"}]"#;
        let table = [
            ("{}", format!("{{{allocated},{consumer}}}"), "[]"),
            (
                "{}",
                format!("{{{consumer}}}"),
                "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
            ),
            (
                "{}",
                format!("{{{}}}", allocated.replace("gpu", "none")),
                "status.allocation.devices.results[0].request: Invalid value: \"none\": must be the name of a request in \
                 the claim or the name of a request and a subrequest separated by '/'",
            ),
            (
                "{}",
                format!(r#"{{{allocated},"devices":[{{"driver":"a.b","pool":"p","device":"e"}}]}}"#),
                "status.devices[0]: Invalid value: a.b/p/e: must be an allocated device in the claim",
            ),
        ];
        for (old, new, expected) in table {
            let mut errors = ErrorList::new();
            super::faults(&claim(&new), &claim(old), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{new}");
        }
        let mut errors = ErrorList::new();
        let old = claim(&format!("{{{allocated}}}"));
        super::faults(&claim(&format!("{{{}}}", allocated.replace("\"d\"", "\"e\""))), &old, &mut errors);
        assert!(errors.aggregate().ends_with("field is immutable"), "{}", errors.aggregate());
    }
}
