//! `resource.k8s.io/v1beta1`, where a request says itself what its `exactly` says in v1, and what a device has is
//! its `basic`. Everything else is alike, so v1's hooks see what an object becomes there.

use apiwright_json::{Object, Value};
use apiwright_meta::ErrorList;
use apiwright_meta::status::Result;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{ResourceClaim, ResourceClaimTemplate, ResourceSlice};

/// What `exactly` has; a request that has one of these asks for devices of one kind.
const EXACT: [&str; 7] =
    ["deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"];
const CLAIM_REQUESTS: [&str; 3] = ["spec", "devices", "requests"];
const TEMPLATE_REQUESTS: [&str; 4] = ["spec", "spec", "devices", "requests"];
const DEVICES: [&str; 2] = ["spec", "devices"];

/// Hooks of v1beta1: those of v1, and how a list of the object differs.
macro_rules! hooks {
    ($(#[$doc:meta] $name:ident: $of:expr, $list:expr, $there:expr, $here:expr;)*) => {$(
        #[$doc]
        #[derive(Debug)]
        pub struct $name;

        impl Hooks for $name {
            fn default(&self, object: &mut Value) {
                each(object, &$list, $there);
                $of.default(object);
                each(object, &$list, $here);
            }

            fn validate_create(&self, context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
                $of.validate_create(context, &with_each(object, &$list, $there), errors);
            }

            fn validate_update(
                &self,
                context: WriteContext<'_>,
                object: &Value,
                old: &Value,
                errors: &mut ErrorList,
            ) {
                let [object, old] = [object, old].map(|object| with_each(object, &$list, $there));
                $of.validate_update(context, &object, &old, errors);
            }

            fn cell(&self, column: &str, object: &Value) -> Value {
                $of.cell(column, object)
            }

            fn to_stored(&self, object: &mut Value) -> Result<()> {
                each(object, &$list, $there);
                Ok(())
            }

            fn from_stored(&self, object: &mut Value) -> Result<()> {
                each(object, &$list, $here);
                Ok(())
            }
        }
    )*};
}

hooks! {
    /// The hooks of ResourceClaims of v1beta1.
    ResourceClaimV1Beta1: ResourceClaim, CLAIM_REQUESTS, exactly, as_it_is;
    /// The hooks of ResourceClaimTemplates of v1beta1.
    ResourceClaimTemplateV1Beta1: ResourceClaimTemplate, TEMPLATE_REQUESTS, exactly, as_it_is;
    /// The hooks of ResourceSlices of v1beta1.
    ResourceSliceV1Beta1: ResourceSlice, DEVICES, flat, basic;
}

fn with_each(object: &Value, list: &[&str], change: fn(&mut Object)) -> Value {
    let mut object = object.clone();
    each(&mut object, list, change);
    object
}

fn each(object: &mut Value, list: &[&str], change: fn(&mut Object)) {
    let items = object.at_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut).for_each(change);
}

/// A request of v1.
fn exactly(request: &mut Object) {
    let is_set = |value: Option<&Value>| value.is_some_and(|value| value.as_str() != Some(""));
    if !EXACT.iter().any(|member| is_set(request.get(member))) {
        request.remove("deviceClassName");
        return;
    }
    let mut exact: Object =
        EXACT.iter().filter_map(|member| Some((*member, request.remove(member)?))).collect();
    if exact.str("deviceClassName").is_some_and(|class| !class.is_empty()) {
        exact.entry("allocationMode", || "ExactCount".into());
    }
    // Before the alternatives, as v1 has it.
    let first = request.remove("firstAvailable");
    request.push("exactly", Value::Object(exact));
    if let Some(first) = first {
        request.push("firstAvailable", first);
    }
}

/// A request of v1beta1.
fn as_it_is(request: &mut Object) {
    let exact = match request.remove("exactly") {
        Some(Value::Object(exact)) => exact,
        _ => Object::from_iter([("deviceClassName", Value::from(""))]),
    };
    for (member, value) in exact {
        request.push(member, value);
    }
}

/// A device of v1.
fn flat(device: &mut Object) {
    if let Some(Value::Object(basic)) = device.remove("basic") {
        for (member, value) in basic {
            device.push(member, value);
        }
    }
}

/// A device of v1beta1.
fn basic(device: &mut Object) {
    let name = device.remove("name").unwrap_or_default();
    let basic = std::mem::take(device);
    device.push("name", name);
    device.push("basic", Value::Object(basic));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        apiwright_json::decode(text.as_bytes()).unwrap().0.as_object().cloned().unwrap()
    }

    #[test]
    fn there_and_back() {
        type Change = fn(&mut Object);
        let table: [(Change, Change, &str, &str); 4] = [
            (
                exactly,
                as_it_is,
                r#"{"name":"a","deviceClassName":"c","allocationMode":"All"}"#,
                r#"{"name":"a","exactly":{"deviceClassName":"c","allocationMode":"All"}}"#,
            ),
            (
                exactly,
                as_it_is,
                r#"{"name":"a","deviceClassName":"","firstAvailable":[{"name":"b"}]}"#,
                r#"{"name":"a","firstAvailable":[{"name":"b"}]}"#,
            ),
            (
                flat,
                basic,
                r#"{"name":"a","basic":{"attributes":{"b":{"int":1}}}}"#,
                r#"{"name":"a","attributes":{"b":{"int":1}}}"#,
            ),
            (flat, basic, r#"{"name":"a","basic":{}}"#, r#"{"name":"a"}"#),
        ];
        for (there, back, here, stored) in table {
            let mut changed = object(here);
            there(&mut changed);
            assert_eq!(changed, object(stored));
            back(&mut changed);
            assert_eq!(changed, object(here));
        }
    }
}
