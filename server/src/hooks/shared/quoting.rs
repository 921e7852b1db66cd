//! Values as errors quote them that show upstream's internal types.

use apiwright_json::Value;
use apiwright_schema::Struct;
use apiwright_schema::go::internal;

/// A member's value with Go's names; `null` where there is none.
pub fn internal_member(ty: &Struct, member: &str, value: Option<&Value>) -> String {
    let field = ty.fields.iter().find(|field| &*field.name == member);
    match (field, value) {
        (Some(field), Some(value)) => internal(&field.node, value),
        _ => "null".into(),
    }
}

/// An item of a member that is a list, with Go's names.
pub fn internal_item(ty: &Struct, member: &str, item: &Value) -> String {
    let shown = internal_member(ty, member, Some(&vec![item.clone()].into()));
    shown.strip_prefix('[').and_then(|shown| shown.strip_suffix(']')).map_or(shown.clone(), str::to_owned)
}
