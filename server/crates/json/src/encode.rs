//! [`Value`] to JSON text as Go's encoder writes it: `<`, `>`, `&`, U+2028 and U+2029 escaped, floats in Go's form.

use crate::Value;

/// Appends the compact form.
pub fn to_bytes(value: &Value, out: &mut Vec<u8>) {
    let _ = (value, out);
    todo!()
}

/// The compact form.
pub fn to_string(value: &Value) -> String {
    let _ = value;
    todo!()
}

/// The form that `pretty=true` asks for: two spaces of indentation.
pub fn to_string_pretty(value: &Value) -> String {
    let _ = value;
    todo!()
}
