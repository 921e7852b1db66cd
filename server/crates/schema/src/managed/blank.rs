//! The object that nobody has set anything in.

use apiwright_json::Value;

use crate::decode::omission::zero_struct;
use crate::table::Struct;

/// What Go prints for a new object of a type: a creation is compared with it, so that fields
/// which are always there are nobody's.
pub fn blank(ty: &Struct) -> Value {
    zero_struct(ty).into()
}
