//! What creates, updates and patches do to ownership.

use apiwright_json::Value;

use super::managers::{Invalid, Managers, Operation, Owner};
use super::{Request, blank, cap, entries, put_entries, reconcile_all, settle, take_entries, unowned};
use crate::table::Struct;

/// Sets the `managedFields` of `new`, which replaces `live` or is created (`None`). Never fails: what
/// cannot be compared leaves the live object's ownership in place.
pub fn update(ty: &Struct, live: Option<&Value>, new: &mut Value, request: &Request<'_>) {
    if new.get("metadata").is_none_or(|metadata| !matches!(metadata, Value::Object(_))) {
        return;
    }
    let given = take_entries(new);
    let mut managers = known(live, given, request);
    let blank_object;
    let old = match live {
        // Once nobody owns anything, only apply starts to record again.
        Some(live) if managers.is_empty() && !live.text_at(&["metadata", "uid"]).is_empty() => return,
        Some(live) => live,
        None => {
            blank_object = blank(ty);
            &blank_object
        }
    };
    let encoded = match record(ty, old, new, &mut managers, request) {
        Ok(()) => managers.encode(),
        Err(_) => live.and_then(entries).cloned(),
    };
    put_entries(new, encoded);
}

/// Checks `managedFields` that somebody else, for instance a webhook, may have changed.
///
/// # Errors
/// When an entry is not valid, in upstream's words.
pub fn validate(object: &Value) -> Result<(), Invalid> {
    Managers::decode(entries(object)).map(|_| ())
}

/// Records that the request's manager made `new` of `old`.
pub(crate) fn record(
    ty: &Struct,
    old: &Value,
    new: &Value,
    managers: &mut Managers,
    request: &Request<'_>,
) -> Result<(), super::Trouble> {
    reconcile_all(ty, managers, request);
    let changes = settle(ty, old, new, managers, None, true, request)?;
    let mut set = changes.modified;
    set.absorb(changes.added);
    set.remove_all(unowned());
    if !set.is_empty() {
        let mut owner = Owner {
            manager: if request.manager.is_empty() { "unknown".into() } else { request.manager.into() },
            operation: Operation::Update,
            api_version: request.api_version.into(),
            subresource: request.subresource.into(),
            time: Some(request.now.into()),
            fields: set.into(),
        };
        if let Some(previous) = managers.take(&owner) {
            owner.fields.set_mut().absorb(previous.fields.into_set());
        }
        managers.put(owner);
    }
    cap::cap(managers);
    Ok(())
}

/// Who owns what before the request: as it says itself, where it says something valid about the
/// object (not through a subresource), else as the live object has it.
fn known(live: Option<&Value>, given: Option<Value>, request: &Request<'_>) -> Managers {
    let stored = live.and_then(entries);
    if given.is_some() && given.as_ref() == stored {
        return Managers::of_stored(given).unwrap_or_default();
    }
    if request.subresource.is_empty() {
        if given.as_ref().is_some_and(is_reset) {
            return Managers::default();
        }
        match Managers::decode(given.as_ref()) {
            Ok(managers) if !managers.is_empty() => return managers,
            _ => {}
        }
    }
    Managers::of_stored(stored.cloned()).unwrap_or_default()
}

/// An empty list, or a list of one empty entry, asks to forget all owners.
fn is_reset(given: &Value) -> bool {
    match given.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([entry]) => entry.as_object().is_some_and(|entry| {
            entry.values().all(|value| value.is_null() || value.as_str().is_some_and(str::is_empty))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_reset;

    #[test]
    fn an_empty_list_or_entry_resets() {
        for (text, resets) in [
            ("[]", true),
            ("[{}]", true),
            (r#"[{"manager":""}]"#, true),
            (r#"[{"manager":"x"}]"#, false),
            ("[{},{}]", false),
            ("null", false),
        ] {
            let (value, _) = apiwright_json::decode(text.as_bytes()).expect("test JSON");
            assert_eq!(is_reset(&value), resets, "{text}");
        }
    }
}
