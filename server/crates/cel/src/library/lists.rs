//! Lists: what Kubernetes and cel-go add.

use std::sync::Arc;

use super::{operators, strings};
use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::{List, Val, equal};

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "isSorted",
        price: Price::Walk,
        native: is_sorted,
        signatures: &[
            "list_int_is_sorted_bool: list(int).() -> bool",
            "list_uint_is_sorted_bool: list(uint).() -> bool",
            "list_double_is_sorted_bool: list(double).() -> bool",
            "list_bool_is_sorted_bool: list(bool).() -> bool",
            "list_duration_is_sorted_bool: list(duration).() -> bool",
            "list_timestamp_is_sorted_bool: list(timestamp).() -> bool",
            "list_string_is_sorted_bool: list(string).() -> bool",
            "list_bytes_is_sorted_bool: list(bytes).() -> bool",
        ],
    },
    Entry {
        name: "sum",
        price: Price::Walk,
        native: sum,
        signatures: &[
            "list_int_sum_int: list(int).() -> int",
            "list_uint_sum_uint: list(uint).() -> uint",
            "list_double_sum_double: list(double).() -> double",
            "list_duration_sum_duration: list(duration).() -> duration",
        ],
    },
    Entry {
        name: "max",
        price: Price::Walk,
        native: max,
        signatures: &[
            "list_int_max_int: list(int).() -> int",
            "list_uint_max_uint: list(uint).() -> uint",
            "list_double_max_double: list(double).() -> double",
            "list_bool_max_bool: list(bool).() -> bool",
            "list_duration_max_duration: list(duration).() -> duration",
            "list_timestamp_max_timestamp: list(timestamp).() -> timestamp",
            "list_string_max_string: list(string).() -> string",
            "list_bytes_max_bytes: list(bytes).() -> bytes",
        ],
    },
    Entry {
        name: "min",
        price: Price::Walk,
        native: min,
        signatures: &[
            "list_int_min_int: list(int).() -> int",
            "list_uint_min_uint: list(uint).() -> uint",
            "list_double_min_double: list(double).() -> double",
            "list_bool_min_bool: list(bool).() -> bool",
            "list_duration_min_duration: list(duration).() -> duration",
            "list_timestamp_min_timestamp: list(timestamp).() -> timestamp",
            "list_string_min_string: list(string).() -> string",
            "list_bytes_min_bytes: list(bytes).() -> bytes",
        ],
    },
    Entry {
        name: "indexOf",
        price: Price::Walk,
        native: index_of,
        signatures: &[
            "list_a_index_of_int: list(A).(A) -> int",
            "string_index_of_string: string.(string) -> int",
            "string_index_of_string_int: string.(string, int) -> int",
        ],
    },
    Entry {
        name: "lastIndexOf",
        price: Price::Walk,
        native: last_index_of,
        signatures: &[
            "list_a_last_index_of_int: list(A).(A) -> int",
            "string_last_index_of_string: string.(string) -> int",
            "string_last_index_of_string_int: string.(string, int) -> int",
        ],
    },
    Entry {
        name: "slice",
        price: Price::Output,
        native: slice,
        signatures: &["list_slice: list(T).(int, int) -> list(T)"],
    },
    Entry {
        name: "flatten",
        price: Price::Flatten,
        native: flatten,
        signatures: &[
            "list_flatten: list(list(T)).() -> list(T)",
            "list_flatten_int: list(dyn).(int) -> list(dyn)",
        ],
    },
    Entry {
        name: "lists.range",
        price: Price::Output,
        native: range,
        signatures: &["lists_range: (int) -> list(int)"],
    },
    Entry {
        name: "reverse",
        price: Price::Output,
        native: reverse,
        signatures: &["list_reverse: list(T).() -> list(T)"],
    },
    Entry {
        name: "distinct",
        price: Price::Square(0),
        native: distinct,
        signatures: &["list_distinct: list(T).() -> list(T)"],
    },
    Entry {
        name: "sort",
        price: Price::Square(0),
        native: sort,
        signatures: &[
            "list_int_sort: list(int).() -> list(int)",
            "list_uint_sort: list(uint).() -> list(uint)",
            "list_double_sort: list(double).() -> list(double)",
            "list_bool_sort: list(bool).() -> list(bool)",
            "list_duration_sort: list(duration).() -> list(duration)",
            "list_timestamp_sort: list(timestamp).() -> list(timestamp)",
            "list_string_sort: list(string).() -> list(string)",
            "list_bytes_sort: list(bytes).() -> list(bytes)",
        ],
    },
    Entry {
        name: "@sortByAssociatedKeys",
        price: Price::Square(1),
        native: sort_by,
        signatures: &[
            "list_int_sortByAssociatedKeys: list(T).(list(int)) -> list(T)",
            "list_uint_sortByAssociatedKeys: list(T).(list(uint)) -> list(T)",
            "list_double_sortByAssociatedKeys: list(T).(list(double)) -> list(T)",
            "list_bool_sortByAssociatedKeys: list(T).(list(bool)) -> list(T)",
            "list_duration_sortByAssociatedKeys: list(T).(list(duration)) -> list(T)",
            "list_timestamp_sortByAssociatedKeys: list(T).(list(timestamp)) -> list(T)",
            "list_string_sortByAssociatedKeys: list(T).(list(string)) -> list(T)",
            "list_bytes_sortByAssociatedKeys: list(T).(list(bytes)) -> list(T)",
        ],
    },
];

/// The most items of a list that a function makes; one of as many costs more than an evaluation may.
const ITEMS_MAX: i64 = 2_000_000;

fn items<'a>(list: &List<'a>) -> Result<Vec<Val<'a>>, EvalError> {
    list.iter().collect()
}

fn is_sorted<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::List(list)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mut before: Option<Val<'_>> = None;
    for item in list.iter() {
        let item = item?;
        if let Some(before) = &before
            && before.compare(&item)?.is_gt()
        {
            return Ok(Val::Bool(false));
        }
        before = Some(item);
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::List(list)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mut total: Option<Val<'_>> = None;
    for item in list.iter() {
        let item = item?;
        total = Some(match total {
            Some(total) => operators::add(&[total, item])?,
            None => item,
        });
    }
    Ok(total.unwrap_or(Val::Int(0)))
}

fn extreme<'a>(
    args: &[Val<'a>],
    name: &str,
    prefers: fn(std::cmp::Ordering) -> bool,
) -> Result<Val<'a>, EvalError> {
    let [Val::List(list)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mut best: Option<Val<'_>> = None;
    for item in list.iter() {
        let item = item?;
        let better = match &best {
            Some(best) => prefers(best.compare(&item)?),
            None => true,
        };
        if better {
            best = Some(item);
        }
    }
    best.ok_or_else(|| EvalError::new(format!("{name} called on empty list")))
}

fn max<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    extreme(args, "max", std::cmp::Ordering::is_lt)
}

fn min<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    extreme(args, "min", std::cmp::Ordering::is_gt)
}

fn index_of<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text), Val::String(part)] => strings::index_of(text, part, 0).map(Val::Int),
        [Val::String(text), Val::String(part), Val::Int(offset)] => {
            strings::index_of(text, part, *offset).map(Val::Int)
        }
        [Val::List(list), wanted] => {
            for (at, item) in list.iter().enumerate() {
                if equal(&item?, wanted)? {
                    return Ok(Val::Int(at as i64));
                }
            }
            Ok(Val::Int(-1))
        }
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn last_index_of<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text), Val::String(part)] => strings::last_index_of(text, part, None).map(Val::Int),
        [Val::String(text), Val::String(part), Val::Int(offset)] => {
            strings::last_index_of(text, part, Some(*offset)).map(Val::Int)
        }
        [Val::List(list), wanted] => {
            for at in (0..list.len()).rev() {
                if let Some(item) = list.get(at)
                    && equal(&item?, wanted)?
                {
                    return Ok(Val::Int(at as i64));
                }
            }
            Ok(Val::Int(-1))
        }
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn slice<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::List(list), Val::Int(start), Val::Int(end)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let refuse = |why: String| EvalError::new(format!("cannot slice({start}, {end}), {why}"));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return Err(refuse("negative indexes not supported".to_owned()));
    };
    if from > to {
        return Err(refuse("start index must be less than or equal to end index".to_owned()));
    }
    if to > list.len() {
        return Err(refuse(format!("list is length {}", list.len())));
    }
    let part: Result<Vec<_>, _> = (from..to).filter_map(|at| list.get(at)).collect();
    part.map(Val::list)
}

fn flatten<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (list, depth) = match args {
        [Val::List(list)] => (list, 1),
        [Val::List(list), Val::Int(depth)] => (list, *depth),
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten_into(&mut flat, list, depth)?;
    Ok(Val::list(flat))
}

fn flatten_into<'a>(flat: &mut Vec<Val<'a>>, list: &List<'a>, depth: i64) -> Result<(), EvalError> {
    for item in list.iter() {
        match item? {
            Val::List(inner) if depth > 0 => flatten_into(flat, &inner, depth - 1)?,
            other => flat.push(other),
        }
        if flat.len() as i64 > ITEMS_MAX {
            return Err(EvalError::CANCELLED);
        }
    }
    Ok(())
}

fn range<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Int(count)] = args else { return Err(EvalError::NO_OVERLOAD) };
    if *count > ITEMS_MAX {
        return Err(EvalError::CANCELLED);
    }
    Ok(Val::list((0..*count).map(Val::Int).collect()))
}

fn reverse<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::List(list)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mut reversed = items(list)?;
    reversed.reverse();
    Ok(Val::list(reversed))
}

/// How many items a function may compare with each other: what a square of it costs is the budget.
const COMPARED_MAX: usize = 1000;

fn distinct<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::List(list)] = args else { return Err(EvalError::NO_OVERLOAD) };
    if list.len() > COMPARED_MAX {
        return Err(EvalError::CANCELLED);
    }
    let mut unique: Vec<Val<'_>> = Vec::new();
    'items: for item in list.iter() {
        let item = item?;
        for known in &unique {
            if equal(&item, known)? {
                continue 'items;
            }
        }
        unique.push(item);
    }
    Ok(Val::list(unique))
}

fn sort<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::List(list)] = args else { return Err(EvalError::NO_OVERLOAD) };
    sorted(list, list)
}

fn sort_by<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::List(list), Val::List(keys)] = args else { return Err(EvalError::NO_OVERLOAD) };
    sorted(list, keys)
}

fn sorted<'a>(list: &List<'a>, keys: &List<'a>) -> Result<Val<'a>, EvalError> {
    if list.len() != keys.len() {
        return Err(EvalError::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        )));
    }
    if list.len() > COMPARED_MAX {
        return Err(EvalError::CANCELLED);
    }
    let keys = items(keys)?;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    if let Some(first) = keys.first() {
        first.compare(first).map_err(|_| EvalError::new("list elements must be comparable"))?;
        if keys.iter().any(|key| key.ty() != first.ty()) {
            return Err(EvalError::new("list elements must have the same type"));
        }
    }
    order.sort_by(|a, b| keys[*a].compare(&keys[*b]).unwrap_or(std::cmp::Ordering::Equal));
    let sorted: Result<Vec<_>, _> = order.into_iter().filter_map(|at| list.get(at)).collect();
    sorted.map(|items| Val::List(List::Made(Arc::new(items))))
}
