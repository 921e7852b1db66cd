//! Writes that change nothing but times change nothing.

use apiwright_json::{Object, Value};

use super::{entries, put_entries};

/// Where an update differs from the live object in the times of `managedFields` only, puts the old
/// times back, so that nothing is written. Call it last, when the object is as it would be stored.
pub fn keep_times_if_same(live: &Value, new: &mut Value) {
    let (Some(Value::Array(old)), Some(Value::Array(now))) = (entries(live), entries(new)) else { return };
    if old == now || old.len() != now.len() {
        return;
    }
    let same_entries = old.iter().zip(now).all(|(old, now)| match (old, now) {
        (Value::Object(old), Value::Object(now)) => same_but(old, now, "time", |_, _| true),
        _ => false,
    });
    if same_entries && same_objects(live, new) {
        put_entries(new, entries(live).cloned());
    }
}

fn same_objects(live: &Value, new: &Value) -> bool {
    let (Value::Object(live), Value::Object(new)) = (live, new) else { return false };
    same_but(live, new, "metadata", |old, now| match (old, now) {
        (Some(Value::Object(old)), Some(Value::Object(now))) => {
            same_but(old, now, "managedFields", |_, _| true)
        }
        _ => false,
    })
}

/// Whether two objects are the same but for one member, which `other` compares.
fn same_but(
    old: &Object,
    now: &Object,
    member: &str,
    other: impl Fn(Option<&Value>, Option<&Value>) -> bool,
) -> bool {
    let count = |object: &Object| object.len() - usize::from(object.contains_key(member));
    count(old) == count(now)
        && old.iter().all(|(name, value)| name == member || now.get(name) == Some(value))
        && other(old.get(member), now.get(member))
}
