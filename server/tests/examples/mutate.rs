//! Objects that are nearly right: an example, mixed with made-up members and with values that do not belong there.

use apiwright_json::{Object, Value};
use apiwright_schema::Struct;

use crate::maker::Maker;

/// What clients write, somewhere else.
const TEXTS: &[&str] = &[
    "",
    "a",
    "A_b",
    "a.b",
    "a/b",
    "a/b/c",
    "../a",
    "/",
    "/a/../b",
    "-",
    "*",
    "*.a.b",
    "é",
    "\u{0}",
    "a b",
    "a:b",
    "0",
    "-1",
    "80",
    "1Gi",
    "-1Gi",
    "0.5m",
    "1e1000",
    "99999999999999999999",
    "100%",
    "101%",
    "-1%",
    "1h",
    "-1s",
    "10.0.0.1",
    "10.0.0.0/8",
    "::1",
    "fd00::/129",
    "::ffff:1.2.3.4",
    "256.0.0.1",
    "https://a:99999/%zz",
    "unix:///a",
    "TCP",
    "SCTP",
    "None",
    "ClusterIP",
    "NodePort",
    "LoadBalancer",
    "ExternalName",
    "Always",
    "Never",
    "OnFailure",
    "In",
    "Exists",
    "DoesNotExist",
    "Gt",
    "Equal",
    "NoExecute",
    "RuntimeDefault",
    "Localhost",
    "Unconfined",
    "CREATE",
    "Retain",
    "Delete",
    "Block",
    "Filesystem",
    "ReadWriteOncePod",
    "RollingUpdate",
    "OnDelete",
    "Recreate",
    "Indexed",
    "Resource",
    "Pods",
    "External",
    "Utilization",
    "system:masters",
    "kubernetes.io/a",
    "example.com/a",
    "2024-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "YQ==",
    "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n",
    "@every 1s",
    "*/0 * * * *",
    "TZ=UTC 0 0 31 2 *",
    "{.a[?(@.b==\"c\")]}",
    "object.spec.a == 1",
    "self.a.all(x, x > 0)",
    "device.driver == 'a'",
    "(",
    "[[[[",
    "cpu",
    "memory",
    "pods",
    "hugepages-2Mi",
    "requests.nvidia.com/gpu",
];

/// The example, changed by what follows from the seed.
pub fn mutate(maker: &mut Maker, minimal: &Value, ty: &Struct) -> Value {
    let mut object = minimal.clone();
    if maker.below(2) == 0 {
        let mut made = maker.object(ty, 0);
        if let Some(made) = made.as_object_mut() {
            // Otherwise nearly nothing gets past these.
            for member in ["metadata", "kind", "apiVersion"] {
                made.remove(member);
            }
        }
        mix(maker, &mut object, &made);
    }
    for _ in 0..=maker.below(6) {
        let members = members(&object);
        change(maker, &mut object, members);
    }
    object
}

/// Takes over about half of the other's members.
fn mix(maker: &mut Maker, into: &mut Value, other: &Value) {
    match (into, other) {
        (Value::Object(into), Value::Object(other)) => {
            for (key, value) in other.iter() {
                match into.get_mut(key) {
                    Some(own) if maker.below(3) > 0 => mix(maker, own, value),
                    _ if maker.below(2) == 0 => drop(into.insert(&**key, value.clone())),
                    _ => {}
                }
            }
        }
        (Value::Array(into), Value::Array(other)) if !into.is_empty() => {
            if let (Some(last), Some(value)) = (into.last_mut(), other.first()) {
                mix(maker, last, value);
            }
        }
        (into, other) => *into = other.clone(),
    }
}

/// How many values there are within a value.
fn members(value: &Value) -> usize {
    match value {
        Value::Object(object) => object.iter().map(|(_, value)| 1 + members(value)).sum(),
        Value::Array(items) => items.iter().map(|value| 1 + members(value)).sum(),
        _ => 0,
    }
}

/// Changes one of the values.
fn change(maker: &mut Maker, object: &mut Value, members: usize) {
    if members > 0 {
        let mut at = maker.below(members);
        step(maker, object, &mut at);
    }
}

fn step(maker: &mut Maker, value: &mut Value, at: &mut usize) {
    match value {
        Value::Object(object) => {
            let keys: Vec<String> = object.iter().map(|(key, _)| key.to_string()).collect();
            for key in keys {
                if *at == 0 {
                    *at = usize::MAX;
                    match maker.below(4) {
                        0 => drop(object.remove(&key)),
                        1 => {
                            let value = object.get(&key).cloned().unwrap_or_default();
                            object.insert(TEXTS[maker.below(TEXTS.len())], value);
                        }
                        _ => drop(object.get_mut(&key).map(|value| *value = other(maker, value))),
                    }
                    return;
                }
                *at -= 1;
                if let Some(value) = object.get_mut(&key) {
                    step(maker, value, at);
                }
                if *at == usize::MAX {
                    return;
                }
            }
        }
        Value::Array(items) => {
            for index in 0..items.len() {
                if *at == 0 {
                    *at = usize::MAX;
                    match maker.below(3) {
                        0 => drop(items.remove(index)),
                        1 => items.push(items[index].clone()),
                        _ => items[index] = other(maker, &items[index]),
                    }
                    return;
                }
                *at -= 1;
                step(maker, &mut items[index], at);
                if *at == usize::MAX {
                    return;
                }
            }
        }
        _ => {}
    }
}

/// Another value, mostly of the same sort.
fn other(maker: &mut Maker, value: &Value) -> Value {
    match (maker.below(10), value) {
        (0, _) => Value::Null,
        (1, _) => Object::new().into(),
        (2, _) => Vec::<Value>::new().into(),
        (3, _) => vec![value.clone(), value.clone()].into(),
        (_, Value::String(_)) if maker.below(12) == 0 => "a".repeat(maker.below(70_000)).as_str().into(),
        (_, Value::String(_)) => TEXTS[maker.below(TEXTS.len())].into(),
        (_, Value::Int(_)) => {
            let these =
                [0, -1, 1, 2, 65_535, 65_536, i64::from(i32::MAX), i64::from(i32::MIN), i64::MAX, i64::MIN];
            Value::Int(these[maker.below(these.len())])
        }
        (_, Value::Bool(truth)) => (!*truth).into(),
        (4 | 5, _) => TEXTS[maker.below(TEXTS.len())].into(),
        _ => Value::Int(7),
    }
}
