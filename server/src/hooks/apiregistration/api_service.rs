//! What YAML cannot say about APIServices.

use apiwright_json::{Object, Value};
use apiwright_meta::names;
use apiwright_meta::{ErrorList, Path, object, time};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::hooks::shared::cells::{self, UNKNOWN};
use crate::hooks::shared::faults::Faults;

const GROUP_PRIORITY_MAX: i64 = 20_000;
const VERSION_PRIORITY_MAX: i64 = 1000;

/// The hooks of APIServices.
#[derive(Debug)]
pub struct APIService;

impl Hooks for APIService {
    /// A service is reached at its port 443 unless it says otherwise.
    fn default(&self, object: &mut Value) {
        if let Some(service) = object.at_mut(&["spec", "service"]).and_then(Value::as_object_mut) {
            service.entry("port", || 443.into());
        }
    }

    /// What this process serves is available from the start.
    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        if service(object).is_none()
            && let Some(members) = object.as_object_mut()
        {
            members.object("status").insert("conditions", vec![local()]);
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        _old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource.is_empty() {
            validate(object, errors);
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Service" => match service(object) {
                Some(service) => {
                    format!("{}/{}", service.text_at(&["namespace"]), service.text_at(&["name"])).into()
                }
                None => "Local".into(),
            },
            "Available" => available(object).into(),
            _ => Value::Null,
        }
    }
}

fn service(object: &Value) -> Option<&Value> {
    object.at(&["spec", "service"]).filter(|service| !service.is_null())
}

/// The condition of what this process serves.
fn local() -> Value {
    let mut condition = Object::new();
    condition.push("type", "Available");
    condition.push("status", "True");
    condition.push("lastTransitionTime", time::now());
    condition.push("reason", "Local");
    condition.push("message", "Local APIServices are always available");
    condition.into()
}

fn validate(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut errors = Faults::take(errors, &path);
    let text = |member: &str| object.text_at(&["spec", member]);
    let number = |member: &str| object.at(&["spec", member]).and_then(Value::as_i64).unwrap_or_default();
    let (group, version) = (text("group"), text("version"));

    let name = object::name(object);
    let required = format!("{version}.{group}");
    let name_path = Path::new("metadata").child("name");
    match names::path_segment_name(name) {
        faults if !faults.is_empty() => errors.invalid_each(&name_path, name, faults),
        _ if name != required && !name.is_empty() => {
            let detail = format!("must be `spec.version+\".\"+spec.group`: \"{required}\"");
            errors.invalid_each(&name_path, name, [detail]);
        }
        _ => {}
    }
    match group {
        "" if version != "v1" => {
            errors.required(
                path.child("group"),
                "only v1 may have an empty group and it better be legacy kube",
            );
        }
        "" => {}
        group => errors.invalid_each(&path.child("group"), group, names::dns1123_subdomain(group)),
    }
    errors.invalid_each(&path.child("version"), version, names::dns1035_label(version));
    for (member, max) in
        [("groupPriorityMinimum", GROUP_PRIORITY_MAX), ("versionPriority", VERSION_PRIORITY_MAX)]
    {
        let found = number(member);
        if !(1..=max).contains(&found) {
            let detail = format!("must be positive and less than {max}");
            errors.invalid(path.child(member), found, &detail);
        }
    }
    let bundle = BASE64_STANDARD.decode(text("caBundle")).unwrap_or_default();
    let insecure = object.at(&["spec", "insecureSkipTLSVerify"]).and_then(Value::as_bool).unwrap_or_default();
    let Some(service) = service(object) else {
        if !bundle.is_empty() {
            let shown = format!("\"{} bytes\"", bundle.len());
            errors.invalid(path.child("caBundle"), shown, "local APIServices may not have a caBundle");
        }
        if insecure {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.invalid(path.child("insecureSkipTLSVerify"), insecure, detail);
        }
        return;
    };
    errors.declared_below(&path.child("service"));
    let port = service.at(&["port"]).and_then(Value::as_i64).unwrap_or_default();
    let faults = names::port_num(port);
    if !faults.is_empty() {
        let detail = format!("port is not valid: {}", faults.join(", "));
        errors.invalid(path.child("service").child("port"), port, &detail);
    }
    if insecure && !bundle.is_empty() {
        let detail = "may not be true if caBundle is present";
        errors.invalid(path.child("insecureSkipTLSVerify"), insecure, detail);
    }
}

/// `True`, or `False (ServiceNotFound)`
fn available(object: &Value) -> String {
    let conditions = cells::items(object, &["status", "conditions"]);
    match conditions.iter().find(|condition| condition.text_at(&["type"]) == "Available") {
        Some(condition) if condition.text_at(&["status"]) == "True" => "True".into(),
        Some(condition) => format!("{} ({})", condition.text_at(&["status"]), condition.text_at(&["reason"])),
        None => UNKNOWN.into(),
    }
}
