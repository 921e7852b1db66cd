//! One mutation of a policy: what is applied to an object, or patches of it.

use apiwright_cel::{Env, Program, Val};
use apiwright_json::{Object, Value, to_string};
use apiwright_schema::Struct;
use apiwright_schema::apply::merged;
use apiwright_schema::patch::{FieldValidation, Format, Patch};

use crate::expression::{Expected, compile};

/// A mutation.
#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) expression: String,
    pub(crate) program: Result<Program, String>,
    applies: bool,
}

impl Mutation {
    pub(crate) fn of(mutation: &Value, env: &Env) -> Self {
        let applies = mutation.text_at(&["patchType"]) == "ApplyConfiguration";
        let (member, expected) =
            if applies { ("applyConfiguration", Expected::Object) } else { ("jsonPatch", Expected::Patches) };
        let expression = mutation.text_at(&[member, "expression"]).to_owned();
        Self { program: compile(env, &expression, expected), expression, applies }
    }

    /// The object that an expression's value makes of another.
    ///
    /// # Errors
    /// With upstream's text.
    pub(crate) fn change(&self, value: &Val<'_>, ty: &Struct, current: &Value) -> Result<Value, String> {
        if self.applies { apply(value, ty, current) } else { patch(value, ty, current) }
    }
}

fn apply(value: &Val<'_>, ty: &Struct, current: &Value) -> Result<Value, String> {
    check_names(value, "Object").map_err(|why| format!("type mismatch: {why}"))?;
    let mut config = value.to_json().map_err(|why| why.to_string())?;
    if let Some(config) = config.as_object_mut() {
        for name in ["apiVersion", "kind"] {
            config.insert(name, current.text_at(&[name]));
        }
    }
    merged(ty, current, &config).map_err(|why| format!("error applying patch: {why}"))
}

fn patch(value: &Val<'_>, ty: &Struct, current: &Value) -> Result<Value, String> {
    let Val::List(list) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut operations = Vec::with_capacity(list.len());
    for item in list.iter() {
        let Val::Made(made) = item.map_err(|why| why.to_string())? else {
            return Err(
                "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch".to_owned()
            );
        };
        let mut operation = Object::new();
        for name in ["op", "path", "from"] {
            let text = made.get(name).and_then(Val::as_str).unwrap_or_default();
            if !text.is_empty() || name != "from" {
                operation.push(name, text);
            }
        }
        if let Some(value) = made.get("value") {
            if let Val::Made(object) = value {
                check_names(value, &object.name).map_err(|why| format!("type mismatch: {why}"))?;
            }
            let json = value.to_json().map_err(|why| {
                format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}")
            })?;
            operation.push("value", json);
        }
        operations.push(Value::Object(operation));
    }
    let body = to_string(&operations.into());
    let patch = Patch::read(Format::Json, body.as_bytes(), FieldValidation::Ignore)
        .map_err(|why| format!("JSON Patch: {why}"))?;
    match patch.edit(ty, current) {
        Ok(patched) => Ok(patched),
        // A test that fails says that there is nothing to do.
        Err(why) if why.to_string().contains("testing value") => Ok(current.clone()),
        Err(why) => Err(format!("JSON Patch: {why}")),
    }
}

/// Objects in fields must be of the types that the fields have: `Object.spec` in `spec`.
fn check_names(value: &Val<'_>, path: &str) -> Result<(), String> {
    match value {
        Val::Made(made) => {
            if *made.name != *path {
                return Err(format!(
                    "unexpected type name {:?}, expected {path:?}, which matches field name path from root Object type",
                    &*made.name
                ));
            }
            for (name, field) in &made.fields {
                check_names(field, &format!("{path}.{name}"))?;
            }
        }
        Val::List(list) => {
            for item in list.iter().flatten() {
                check_names(&item, path)?;
            }
        }
        Val::Map(map) => {
            for (_, member) in map.entries().unwrap_or_default() {
                check_names(&member, path)?;
            }
        }
        _ => {}
    }
    Ok(())
}
