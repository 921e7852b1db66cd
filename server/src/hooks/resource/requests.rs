//! What makes the spec of a claim valid: the devices that are asked for.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names as labels};

use super::{configuration, expressions, lists, names, tolerations};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

const NO_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const ONE_ATTRIBUTE: &str =
    "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";

/// The faults of a claim's spec, wherever it is.
pub(super) fn spec_faults(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    let (claim, path) = (spec.get("devices").unwrap_or(&Value::Null), path.child("devices"));
    let known = Names::of(spec);
    lists::each_once(claim, "requests", lists::name, &path, out, request_faults);
    lists::each(claim, "constraints", &path, out, |constraint, path, out| {
        known.all(constraint, path, out);
        constraint_faults(constraint, path, out);
    });
    lists::each(claim, "config", &path, out, |configuration, path, out| {
        known.all(configuration, path, out);
        configuration::faults(configuration, false, path, out);
    });
}

/// The faults of what selects devices.
pub(super) fn selector_faults(holder: &Value, stored: bool, path: &Path, out: &mut Faults<'_>) {
    lists::each(holder, "selectors", path, out, |selector, path, out| {
        let at = path.child("cel");
        out.drop_below(&at);
        match selector.get("cel") {
            None => out.required(at, ""),
            Some(cel) => expressions::faults(cel, stored, &at, out),
        }
    });
}

/// The names of the requests of a claim, and of what they would take first.
pub(super) struct Names<'a>(Vec<(&'a str, Vec<&'a str>)>);

impl<'a> Names<'a> {
    /// Those of a claim's spec.
    pub(super) fn of(spec: &'a Value) -> Self {
        let requests = cells::items(spec, &["devices", "requests"]).iter();
        let of = |request: &'a Value| {
            let inner = cells::items(request, &["firstAvailable"]).iter().map(lists::name).collect();
            (lists::name(request), inner)
        };
        Self(requests.map(of).collect())
    }

    fn has(&self, name: &str) -> bool {
        let (request, inner) = name.split_once('/').map_or((name, None), |(name, inner)| (name, Some(inner)));
        // The last of several requests of one name counts.
        let known = self.0.iter().rev().find(|(known, _)| *known == request);
        known.is_some_and(|(_, known)| inner.is_none_or(|inner| known.contains(&inner)))
    }

    /// The faults of one name.
    pub(super) fn faults(&self, name: &str, path: &Path, errors: &mut ErrorList) {
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() > 2 {
            errors.invalid(path.clone(), quoted(name), NO_REQUEST);
            return;
        }
        for part in parts {
            errors.invalid_each(path, part, labels::dns1123_label(part));
        }
        if !self.has(name) {
            errors.invalid(path.clone(), quoted(name), NO_REQUEST);
        }
    }

    /// The faults of all names in `requests`.
    pub(super) fn all(&self, holder: &Value, path: &Path, out: &mut Faults<'_>) {
        lists::each_once(holder, "requests", lists::text, path, out, |name, path, out| {
            self.faults(lists::text(name), path, out);
        });
    }
}

fn request_faults(request: &Value, path: &Path, out: &mut Faults<'_>) {
    name_faults(request, path, out);
    let first = cells::items(request, &["firstAvailable"]);
    match (request.get("exactly"), first.is_empty()) {
        (None, true) => {
            let why = "exactly one of `exactly` or `firstAvailable` is required";
            out.required(path.clone(), why);
        }
        (Some(_), false) => {
            let why = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            out.invalid(path.clone(), "null", why);
            out.drop_below(&path.child("exactly"));
            out.drop_below(&path.child("firstAvailable"));
        }
        (Some(exactly), true) => device_faults(exactly, &path.child("exactly"), out),
        (None, false) => {
            lists::each_once(request, "firstAvailable", lists::name, path, out, |request, path, out| {
                name_faults(request, path, out);
                device_faults(request, path, out);
            });
        }
    }
}

fn name_faults(request: &Value, path: &Path, out: &mut Faults<'_>) {
    let name = lists::name(request);
    out.invalid_each(&path.child("name"), name, labels::dns1123_label(name));
}

fn device_faults(request: &Value, path: &Path, out: &mut Faults<'_>) {
    let at = path.child("deviceClassName");
    out.drop_below(&at);
    match request.text_at(&["deviceClassName"]) {
        "" => out.required(at, ""),
        class => out.invalid_each(&at, class, labels::dns1123_subdomain(class)),
    }
    selector_faults(request, false, path, out);
    let (count, at) = (request.get("count").and_then(Value::as_i64).unwrap_or_default(), path.child("count"));
    let mode = path.child("allocationMode");
    out.drop_below(&mode);
    match request.text_at(&["allocationMode"]) {
        "All" if count != 0 => {
            out.invalid(at, count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" if count <= 0 => out.invalid(at, count, "must be greater than zero"),
        "All" | "ExactCount" => {}
        other => out.not_supported(mode, quoted(other), &["All", "ExactCount"]),
    }
    tolerations::faults(request, path, out);
}

fn constraint_faults(constraint: &Value, path: &Path, out: &mut Faults<'_>) {
    for member in ["matchAttribute", "distinctAttribute"] {
        out.drop_below(&path.child(member));
        if let Some(name) = constraint.get(member).and_then(Value::as_str) {
            names::fully_qualified(name, &path.child(member), out);
            return;
        }
    }
    out.required(path.clone(), ONE_ATTRIBUTE);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(devices: &str) -> String {
        let text = format!(r#"{{"devices":{devices}}}"#);
        let spec = apiwright_json::decode(text.as_bytes()).unwrap().0;
        let mut errors = ErrorList::new();
        spec_faults(&spec, &Path::new("spec"), &mut Faults::take(&mut errors, &Path::new("spec")));
        errors.aggregate()
    }

    #[test]
    fn faults_of_claims() {
        let exactly = r#""exactly":{"deviceClassName":"a.b","allocationMode":"ExactCount","count":1}"#;
        let table = [
            (format!(r#"{{"requests":[{{"name":"a",{exactly}}}]}}"#), "[]".to_owned()),
            (
                format!(r#"{{"requests":[{{"name":"a",{exactly}}},{{"name":"a"}}]}}"#),
                "[spec.devices.requests[1]: Required value: exactly one of `exactly` or `firstAvailable` is required, \
                 spec.devices.requests[1]: Duplicate value: \"a\"]"
                    .into(),
            ),
            (
                r#"{"requests":[{"name":"a","exactly":{"deviceClassName":"","allocationMode":"All","count":2}}]}"#.into(),
                "[spec.devices.requests[0].exactly.deviceClassName: Required value, \
                 spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All']"
                    .into(),
            ),
            (
                format!(r#"{{"requests":[{{"name":"a",{exactly}}}],"constraints":[{{"requests":["b"],"matchAttribute":"a.b/c"}}]}}"#),
                format!("spec.devices.constraints[0].requests[0]: Invalid value: \"b\": {NO_REQUEST}"),
            ),
            (
                r#"{"constraints":[{"matchAttribute":"c"},{}]}"#.into(),
                format!(
                    "[spec.devices.constraints[0].matchAttribute: Invalid value: \"c\": a fully qualified name must be a \
                     domain and a name separated by a slash, spec.devices.constraints[1]: Required value: {ONE_ATTRIBUTE}]"
                ),
            ),
            (
                r#"{"config":[{"opaque":{"driver":"a.b","parameters":[]}},{}]}"#.into(),
                "[spec.devices.config[0].opaque.parameters: Invalid value: \"<value omitted>\": must be a valid JSON object, \
                 spec.devices.config[1].opaque: Required value]"
                    .into(),
            ),
        ];
        for (devices, expected) in table {
            assert_eq!(faults(&devices), expected, "{devices}");
        }
    }

    #[test]
    fn names_of_requests() {
        let spec = r#"{"devices":{"requests":[{"name":"a"},{"name":"b","firstAvailable":[{"name":"c"}]}]}}"#;
        let spec = apiwright_json::decode(spec.as_bytes()).unwrap().0;
        let known = Names::of(&spec);
        for (name, is_known) in [("a", true), ("b/c", true), ("b", true), ("a/c", false), ("c", false)] {
            assert_eq!(known.has(name), is_known, "{name}");
        }
    }
}
