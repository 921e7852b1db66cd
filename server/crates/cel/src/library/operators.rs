//! Operators, and what else the language itself has.
//!
//! What does not evaluate all it is given (`&&`, `||`, `?:`) and what looks into values (`a[b]`, `a.?b`) is the
//! evaluation's; only what they take is told here.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::library::time;
use crate::value::{List, Val, equal};

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "_&&_",
        price: Price::One,
        native: never,
        signatures: &["logical_and: (bool, bool) -> bool"],
    },
    Entry {
        name: "_||_",
        price: Price::One,
        native: never,
        signatures: &["logical_or: (bool, bool) -> bool"],
    },
    Entry {
        name: "_?_:_",
        price: Price::One,
        native: never,
        signatures: &["conditional: (bool, A, A) -> A"],
    },
    Entry { name: "!_", price: Price::One, native: not, signatures: &["logical_not: (bool) -> bool"] },
    Entry {
        name: "@not_strictly_false",
        price: Price::One,
        native: never,
        signatures: &["not_strictly_false: (bool) -> bool"],
    },
    Entry { name: "_==_", price: Price::Smaller, native: equals, signatures: &["equals: (A, A) -> bool"] },
    Entry {
        name: "_!=_",
        price: Price::Smaller,
        native: differs,
        signatures: &["not_equals: (A, A) -> bool"],
    },
    Entry {
        name: "_<_",
        price: Price::Smaller,
        native: less,
        signatures: &[
            "less_bool: (bool, bool) -> bool",
            "less_int64: (int, int) -> bool",
            "less_int64_double: (int, double) -> bool",
            "less_int64_uint64: (int, uint) -> bool",
            "less_uint64: (uint, uint) -> bool",
            "less_uint64_double: (uint, double) -> bool",
            "less_uint64_int64: (uint, int) -> bool",
            "less_double: (double, double) -> bool",
            "less_double_int64: (double, int) -> bool",
            "less_double_uint64: (double, uint) -> bool",
            "less_string: (string, string) -> bool",
            "less_bytes: (bytes, bytes) -> bool",
            "less_timestamp: (timestamp, timestamp) -> bool",
            "less_duration: (duration, duration) -> bool",
        ],
    },
    Entry {
        name: "_<=_",
        price: Price::Smaller,
        native: less_or_equal,
        signatures: &[
            "less_equals_bool: (bool, bool) -> bool",
            "less_equals_int64: (int, int) -> bool",
            "less_equals_int64_double: (int, double) -> bool",
            "less_equals_int64_uint64: (int, uint) -> bool",
            "less_equals_uint64: (uint, uint) -> bool",
            "less_equals_uint64_double: (uint, double) -> bool",
            "less_equals_uint64_int64: (uint, int) -> bool",
            "less_equals_double: (double, double) -> bool",
            "less_equals_double_int64: (double, int) -> bool",
            "less_equals_double_uint64: (double, uint) -> bool",
            "less_equals_string: (string, string) -> bool",
            "less_equals_bytes: (bytes, bytes) -> bool",
            "less_equals_timestamp: (timestamp, timestamp) -> bool",
            "less_equals_duration: (duration, duration) -> bool",
        ],
    },
    Entry {
        name: "_>_",
        price: Price::Smaller,
        native: greater,
        signatures: &[
            "greater_bool: (bool, bool) -> bool",
            "greater_int64: (int, int) -> bool",
            "greater_int64_double: (int, double) -> bool",
            "greater_int64_uint64: (int, uint) -> bool",
            "greater_uint64: (uint, uint) -> bool",
            "greater_uint64_double: (uint, double) -> bool",
            "greater_uint64_int64: (uint, int) -> bool",
            "greater_double: (double, double) -> bool",
            "greater_double_int64: (double, int) -> bool",
            "greater_double_uint64: (double, uint) -> bool",
            "greater_string: (string, string) -> bool",
            "greater_bytes: (bytes, bytes) -> bool",
            "greater_timestamp: (timestamp, timestamp) -> bool",
            "greater_duration: (duration, duration) -> bool",
        ],
    },
    Entry {
        name: "_>=_",
        price: Price::Smaller,
        native: greater_or_equal,
        signatures: &[
            "greater_equals_bool: (bool, bool) -> bool",
            "greater_equals_int64: (int, int) -> bool",
            "greater_equals_int64_double: (int, double) -> bool",
            "greater_equals_int64_uint64: (int, uint) -> bool",
            "greater_equals_uint64: (uint, uint) -> bool",
            "greater_equals_uint64_double: (uint, double) -> bool",
            "greater_equals_uint64_int64: (uint, int) -> bool",
            "greater_equals_double: (double, double) -> bool",
            "greater_equals_double_int64: (double, int) -> bool",
            "greater_equals_double_uint64: (double, uint) -> bool",
            "greater_equals_string: (string, string) -> bool",
            "greater_equals_bytes: (bytes, bytes) -> bool",
            "greater_equals_timestamp: (timestamp, timestamp) -> bool",
            "greater_equals_duration: (duration, duration) -> bool",
        ],
    },
    Entry {
        name: "_+_",
        price: Price::Sum,
        native: add,
        signatures: &[
            "add_bytes: (bytes, bytes) -> bytes",
            "add_double: (double, double) -> double",
            "add_duration_duration: (duration, duration) -> duration",
            "add_duration_timestamp: (duration, timestamp) -> timestamp",
            "add_timestamp_duration: (timestamp, duration) -> timestamp",
            "add_int64: (int, int) -> int",
            "add_list: (list(A), list(A)) -> list(A)",
            "add_string: (string, string) -> string",
            "add_uint64: (uint, uint) -> uint",
        ],
    },
    Entry {
        name: "_-_",
        price: Price::One,
        native: subtract,
        signatures: &[
            "subtract_double: (double, double) -> double",
            "subtract_duration_duration: (duration, duration) -> duration",
            "subtract_int64: (int, int) -> int",
            "subtract_timestamp_duration: (timestamp, duration) -> timestamp",
            "subtract_timestamp_timestamp: (timestamp, timestamp) -> duration",
            "subtract_uint64: (uint, uint) -> uint",
        ],
    },
    Entry {
        name: "_*_",
        price: Price::One,
        native: multiply,
        signatures: &[
            "multiply_double: (double, double) -> double",
            "multiply_int64: (int, int) -> int",
            "multiply_uint64: (uint, uint) -> uint",
        ],
    },
    Entry {
        name: "_/_",
        price: Price::One,
        native: divide,
        signatures: &[
            "divide_double: (double, double) -> double",
            "divide_int64: (int, int) -> int",
            "divide_uint64: (uint, uint) -> uint",
        ],
    },
    Entry {
        name: "_%_",
        price: Price::One,
        native: modulo,
        signatures: &["modulo_int64: (int, int) -> int", "modulo_uint64: (uint, uint) -> uint"],
    },
    Entry {
        name: "-_",
        price: Price::One,
        native: negate,
        signatures: &["negate_double: (double) -> double", "negate_int64: (int) -> int"],
    },
    Entry {
        name: "@in",
        price: Price::Items,
        native: is_in,
        signatures: &["in_list: (A, list(A)) -> bool", "in_map: (A, map(A, B)) -> bool"],
    },
    Entry {
        name: "_[_]",
        price: Price::One,
        native: never,
        signatures: &[
            "index_list: (list(A), int) -> A",
            "index_map: (map(A, B), A) -> B",
            "optional_list_index_int: (optional(list(V)), int) -> optional(V)",
            "optional_map_index_value: (optional(map(K, V)), K) -> optional(V)",
        ],
    },
    Entry {
        name: "_[?_]",
        price: Price::One,
        native: never,
        signatures: &[
            "list_optindex_optional_int: (list(V), int) -> optional(V)",
            "optional_list_optindex_optional_int: (optional(list(V)), int) -> optional(V)",
            "map_optindex_optional_value: (map(K, V), K) -> optional(V)",
            "optional_map_optindex_optional_value: (optional(map(K, V)), K) -> optional(V)",
        ],
    },
    Entry {
        name: "cel.@mapInsert",
        price: Price::One,
        native: never,
        signatures: &[
            "@mapInsert_map_map: (map(K, V), map(K, V)) -> map(K, V)",
            "@mapInsert_map_key_value: (map(K, V), K, V) -> map(K, V)",
        ],
    },
    Entry { name: "dyn", price: Price::One, native: same, signatures: &["to_dyn: (A) -> dyn"] },
    Entry { name: "type", price: Price::One, native: type_of, signatures: &["type: (A) -> type(A)"] },
    Entry {
        name: "size",
        price: Price::One,
        native: size,
        signatures: &[
            "bytes_size: bytes.() -> int",
            "size_bytes: (bytes) -> int",
            "list_size: list(A).() -> int",
            "size_list: (list(A)) -> int",
            "map_size: map(A, B).() -> int",
            "size_map: (map(A, B)) -> int",
            "string_size: string.() -> int",
            "size_string: (string) -> int",
        ],
    },
];

/// What the evaluation does itself.
fn never<'a>(_: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Err(EvalError::NO_OVERLOAD)
}

fn not<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::Bool(value)] => Ok(Val::Bool(!value)),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn equals<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [a, b] => equal(a, b).map(Val::Bool),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn differs<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [a, b] => equal(a, b).map(|same| Val::Bool(!same)),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn ordered<'a>(args: &[Val<'a>], fits: fn(Ordering) -> bool) -> Result<Val<'a>, EvalError> {
    match args {
        [a, b] => a.compare(b).map(|order| Val::Bool(fits(order))),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn less<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    ordered(args, Ordering::is_lt)
}

fn less_or_equal<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    ordered(args, Ordering::is_le)
}

fn greater<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    ordered(args, Ordering::is_gt)
}

fn greater_or_equal<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    ordered(args, Ordering::is_ge)
}

fn int_overflow() -> EvalError {
    EvalError::new("integer overflow")
}

fn uint_overflow() -> EvalError {
    EvalError::new("unsigned integer overflow")
}

fn duration_overflow() -> EvalError {
    EvalError::new("duration overflow")
}

pub(super) fn add<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(match args {
        [Val::Int(a), Val::Int(b)] => Val::Int(a.checked_add(*b).ok_or_else(int_overflow)?),
        [Val::Uint(a), Val::Uint(b)] => Val::Uint(a.checked_add(*b).ok_or_else(uint_overflow)?),
        [Val::Double(a), Val::Double(b)] => Val::Double(a + b),
        [Val::String(a), Val::String(b)] => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Val::text(text)
        }
        [Val::Bytes(a), Val::Bytes(b)] => Val::Bytes(Arc::from([&**a, &**b].concat())),
        [Val::List(a), Val::List(b)] => Val::List(concatenate(a, b)?),
        [Val::Duration(a), Val::Duration(b)] => {
            Val::Duration(a.checked_add(*b).ok_or_else(duration_overflow)?)
        }
        [Val::Timestamp(moment), Val::Duration(nanos)] | [Val::Duration(nanos), Val::Timestamp(moment)] => {
            time::later(*moment, i128::from(*nanos))?
        }
        _ => return Err(EvalError::NO_OVERLOAD),
    })
}

/// A list after another; sets and keyed lists are not joined otherwise, as only values of a schema are such.
fn concatenate<'a>(a: &List<'a>, b: &List<'a>) -> Result<List<'a>, EvalError> {
    let mut items = Vec::with_capacity(a.len() + b.len());
    let set = matches!(
        a,
        List::Json(_, crate::Decl { shape: crate::decl::Shape::List(_, crate::decl::ListKind::Set), .. })
    );
    for item in a.iter() {
        items.push(item?);
    }
    for item in b.iter() {
        let item = item?;
        if !set || !a.contains(&item)? {
            items.push(item);
        }
    }
    Ok(List::Made(Arc::new(items)))
}

fn subtract<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(match args {
        [Val::Int(a), Val::Int(b)] => Val::Int(a.checked_sub(*b).ok_or_else(int_overflow)?),
        [Val::Uint(a), Val::Uint(b)] => Val::Uint(a.checked_sub(*b).ok_or_else(uint_overflow)?),
        [Val::Double(a), Val::Double(b)] => Val::Double(a - b),
        [Val::Duration(a), Val::Duration(b)] => {
            Val::Duration(a.checked_sub(*b).ok_or_else(duration_overflow)?)
        }
        [Val::Timestamp(moment), Val::Duration(nanos)] => time::later(*moment, -i128::from(*nanos))?,
        [Val::Timestamp(a), Val::Timestamp(b)] => time::between(*a, *b)?,
        _ => return Err(EvalError::NO_OVERLOAD),
    })
}

fn multiply<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(match args {
        [Val::Int(a), Val::Int(b)] => Val::Int(a.checked_mul(*b).ok_or_else(int_overflow)?),
        [Val::Uint(a), Val::Uint(b)] => Val::Uint(a.checked_mul(*b).ok_or_else(uint_overflow)?),
        [Val::Double(a), Val::Double(b)] => Val::Double(a * b),
        _ => return Err(EvalError::NO_OVERLOAD),
    })
}

fn divide<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => {
            return Err(EvalError::new("division by zero"));
        }
        [Val::Int(a), Val::Int(b)] => Val::Int(a.checked_div(*b).ok_or_else(int_overflow)?),
        [Val::Uint(a), Val::Uint(b)] => Val::Uint(a / b),
        [Val::Double(a), Val::Double(b)] => Val::Double(a / b),
        _ => return Err(EvalError::NO_OVERLOAD),
    })
}

fn modulo<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => {
            return Err(EvalError::new("modulus by zero"));
        }
        [Val::Int(a), Val::Int(b)] => Val::Int(a.checked_rem(*b).ok_or_else(int_overflow)?),
        [Val::Uint(a), Val::Uint(b)] => Val::Uint(a % b),
        _ => return Err(EvalError::NO_OVERLOAD),
    })
}

fn negate<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(match args {
        [Val::Int(a)] => Val::Int(a.checked_neg().ok_or_else(int_overflow)?),
        [Val::Double(a)] => Val::Double(-a),
        _ => return Err(EvalError::NO_OVERLOAD),
    })
}

fn is_in<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [item, Val::List(list)] => list.contains(item).map(Val::Bool),
        [key, Val::Map(map)] => map.find(key).map(|found| Val::Bool(found.is_some())),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn same<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    args.first().cloned().ok_or(EvalError::NO_OVERLOAD)
}

fn type_of<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    args.first().map(|value| Val::Type(value.ty())).ok_or(EvalError::NO_OVERLOAD)
}

fn size<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [value @ (Val::String(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_))] => {
            Ok(Val::Int(value.size() as i64))
        }
        _ => Err(EvalError::NO_OVERLOAD),
    }
}
