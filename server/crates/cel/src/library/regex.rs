//! Regular expressions.

use apiwright_meta::regexp;

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "find",
        price: Price::Regex,
        native: find,
        signatures: &["string_find_string: string.(string) -> string"],
    },
    Entry {
        name: "findAll",
        price: Price::Regex,
        native: find_all,
        signatures: &[
            "string_find_all_string: string.(string) -> list(string)",
            "string_find_all_string_int: string.(string, int) -> list(string)",
        ],
    },
];

fn illegal(why: String) -> EvalError {
    EvalError::new(format!("Illegal regex: {why}"))
}

fn find<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text), Val::String(pattern)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let regex = regexp::compiled(pattern).map_err(illegal)?;
    Ok(Val::text(regex.find(text).map_or("", |found| found.as_str())))
}

fn find_all<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, pattern, limit) = match args {
        [Val::String(text), Val::String(pattern)] => (text, pattern, -1),
        [Val::String(text), Val::String(pattern), Val::Int(limit)] => (text, pattern, *limit),
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    let regex = regexp::compiled(pattern).map_err(illegal)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = regex.find_iter(text).take(limit).map(|found| Val::text(found.as_str()));
    Ok(Val::list(found.collect()))
}
