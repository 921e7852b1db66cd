//! From one served version of a kind to another, by way of the stored one.

use apiwright_json::{Object, Value};
use apiwright_meta::status::Result;

use crate::resource::{Conversion, Resource};

/// An object of one version in another version of the same kind.
///
/// # Errors
/// Those of the conversions.
pub fn convert(object: Value, from: &Resource, to: &Resource) -> Result<Value> {
    let stored = to_stored(object, from)?;
    from_stored(stored, to)
}

fn to_stored(mut object: Value, from: &Resource) -> Result<Value> {
    match &from.storage.conversion {
        Conversion::Same | Conversion::Pruned => {}
        Conversion::Rename(table) => {
            rename(&mut object, |here| {
                table.iter().find(|(name, _)| **name == *here).map(|(_, stored)| &**stored)
            });
        }
        Conversion::Hook => from.hooks.to_stored(&mut object)?,
    }
    Ok(object)
}

fn from_stored(mut object: Value, to: &Resource) -> Result<Value> {
    match &to.storage.conversion {
        Conversion::Same | Conversion::Pruned => {}
        Conversion::Rename(table) => {
            rename(&mut object, |stored| {
                table.iter().find(|(_, name)| **name == *stored).map(|(here, _)| &**here)
            });
        }
        Conversion::Hook => to.hooks.from_stored(&mut object)?,
    }
    if let Value::Object(object) = &mut object {
        object.insert("kind", &*to.kind);
        object.insert("apiVersion", to.api_version());
    }
    Ok(object)
}

fn rename<'a>(object: &mut Value, name: impl Fn(&str) -> Option<&'a str>) {
    let Value::Object(object) = object else { return };
    let renamed: Object = std::mem::take(object)
        .into_iter()
        .map(|(key, value)| (name(&key).map_or_else(|| key.clone(), Into::into), value))
        .collect();
    *object = renamed;
}
