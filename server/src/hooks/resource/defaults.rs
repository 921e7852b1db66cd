//! How many devices are asked for where a request does not say.

use apiwright_json::Value;

/// Fills what the requests of a claim's spec leave out.
pub(super) fn set(spec: Option<&mut Value>) {
    let Some(requests) = spec.and_then(|spec| spec.at_mut(&["devices", "requests"])) else { return };
    for request in requests.as_array_mut().into_iter().flatten() {
        if let Some(exactly) = request.at_mut(&["exactly"]) {
            count(exactly);
        }
        for request in request.at_mut(&["firstAvailable"]).and_then(Value::as_array_mut).into_iter().flatten()
        {
            count(request);
        }
    }
}

fn count(request: &mut Value) {
    let is_counted = request.text_at(&["allocationMode"]) == "ExactCount";
    let is_absent = request.get("count").and_then(Value::as_i64).unwrap_or_default() == 0;
    if let Some(request) = request.as_object_mut().filter(|_| is_counted && is_absent) {
        request.insert("count", 1);
    }
}
