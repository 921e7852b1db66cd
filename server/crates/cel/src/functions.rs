//! The functions that expressions may call, and what their overloads take.
//!
//! Each library has a table of entries; signatures are written as `id: string.(int) -> string` for what is called on
//! a value and `id: (string) -> bool` for what is not. Single capitals are type parameters.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::error::EvalError;
use crate::library;
use crate::types::{self, Param, Type};
use crate::value::Val;

/// What computes a call.
pub(crate) type Native = for<'a> fn(&[Val<'a>]) -> Result<Val<'a>, EvalError>;

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
    pub(crate) native: Native,
    pub(crate) price: Price,
    /// Whether a call with arguments that no overload takes says which.
    pub(crate) says_types: bool,
}

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
}

/// A function, as libraries write it.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) price: Price,
    pub(crate) native: Native,
    pub(crate) signatures: &'static [&'static str],
}

/// What a call costs when it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Price {
    /// One.
    One,
    /// A tenth of the first argument's size.
    Text,
    /// A fifth of it.
    TextTwice,
    /// A fifth of the result's size.
    Joined,
    /// The tenth of both, for texts; one for anything else.
    Sum,
    /// The tenth of the smaller.
    Smaller,
    /// The tenth of the first times the tenth of the second.
    Product,
    /// The tenth of the text times the quarter of the expression.
    Regex,
    /// The size of the second argument.
    Items,
    /// A walk through the first argument.
    Walk,
    /// The result's size, and a list.
    Output,
    /// The first argument's size times the depth, and a list.
    Flatten,
    /// The square of an argument's size, and a list.
    Square(usize),
    /// The product of both sizes, so many times.
    Sets(u64),
    /// What comparing addresses costs.
    Address,
    /// What comparing ranges costs.
    Range,
    /// What a named format costs.
    Format,
    /// What the authorizer costs.
    Check,
    /// What reading a selector costs.
    Selector,
}

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| {
    let mut functions = HashMap::new();
    for (says_types, entries) in library::all() {
        for entry in entries {
            let overloads = entry.signatures.iter().map(|text| signature(text)).collect();
            let Entry { name, price, native, .. } = *entry;
            functions.insert(name, Function { name, overloads, native, price, says_types });
        }
    }
    functions
});

/// The function of a name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

/// Reads a signature; the tables are ours, and a test reads all of them.
fn signature(text: &'static str) -> Overload {
    let (id, rest) = text.split_once(": ").unwrap_or((text, ""));
    let (taken, result) = rest.split_once(" -> ").unwrap_or((rest, "dyn"));
    let open = taken.find(".(").map(|at| at + 1).or_else(|| taken.starts_with('(').then_some(0));
    let open = open.unwrap_or_default();
    let member = open > 0;
    let mut args = Vec::new();
    if member {
        args.push(ty(&taken[..open - 1]));
    }
    let list = taken[open..].trim_start_matches('(');
    let list = list.strip_suffix(')').unwrap_or(list);
    args.extend(split(list).into_iter().map(ty));
    Overload { id, member, args, result: ty(result) }
}

/// Splits at the commas that are in no brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, sign) in list.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !list.is_empty() {
        parts.push(list[start..].trim());
    }
    parts
}

fn ty(text: &str) -> Type {
    if let Some((name, inner)) = text.split_once('(') {
        let inner: Vec<Type> = split(inner.strip_suffix(')').unwrap_or(inner)).into_iter().map(ty).collect();
        return match (name, inner.as_slice()) {
            ("list", [item]) => Type::list(item.clone()),
            ("map", [key, value]) => Type::map(key.clone(), value.clone()),
            ("optional", [inner]) => Type::optional(inner.clone()),
            ("type", [inner]) => Type::of(inner.clone()),
            _ => Type::Error,
        };
    }
    match text {
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "dyn" => Type::Dyn,
        "ip" => types::IP,
        "cidr" => types::CIDR,
        "url" => types::URL,
        "quantity" => types::QUANTITY,
        "semver" => types::SEMVER,
        "format" => types::FORMAT,
        "authorizer" => types::AUTHORIZER,
        "path" => types::PATH_CHECK,
        "group" => types::GROUP_CHECK,
        "resource" => types::RESOURCE_CHECK,
        "decision" => types::DECISION,
        name => match name.chars().next() {
            Some(letter) if name.len() == 1 && letter.is_ascii_uppercase() => {
                Type::Param(Param::Declared(letter))
            }
            _ => Type::Error,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(ty: &Type) -> bool {
        !matches!(ty, Type::Error) && ty.parameters().into_iter().all(whole)
    }

    #[test]
    fn every_signature_is_understood() {
        let mut seen = std::collections::HashSet::new();
        for (_, entries) in library::all() {
            for entry in entries {
                assert!(seen.insert(entry.name), "{} twice", entry.name);
                for text in entry.signatures {
                    let overload = signature(text);
                    assert!(overload.args.iter().chain([&overload.result]).all(whole), "{text}");
                }
            }
        }
    }
}
