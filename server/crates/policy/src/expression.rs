//! One expression of a policy, compiled.

use apiwright_cel::{Env, Program, Type};

use crate::vocabulary::{is_object, is_patches};

/// What an expression must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// `true` or `false`.
    Bool,
    /// A text.
    String,
    /// A text or nothing.
    StringOrNull,
    /// Whatever.
    Any,
    /// What is to be applied.
    Object,
    /// A list of patches.
    Patches,
}

impl Expected {
    fn fits(self, ty: &Type) -> bool {
        match self {
            Self::Bool => *ty == Type::Bool,
            Self::String => *ty == Type::String,
            Self::StringOrNull => matches!(ty, Type::String | Type::Null),
            Self::Any => true,
            Self::Object => is_object(ty),
            Self::Patches => is_patches(ty),
        }
    }

    fn mismatch(self, ty: &Type) -> String {
        let got = shown(ty);
        match self {
            Self::Bool => format!("must evaluate to bool but got {got}"),
            Self::String => format!("must evaluate to string but got {got}"),
            Self::StringOrNull => format!("must evaluate to one of [string null_type] but got {got}"),
            Self::Object => format!("must evaluate to Object but got {got}"),
            Self::Any | Self::Patches => format!("must evaluate to list(JSONPatch) but got {got}"),
        }
    }
}

/// A type as Go's `String` of it shows.
fn shown(ty: &Type) -> String {
    match ty {
        Type::List(item) => format!("list({})", shown(item)),
        Type::Map(pair) => format!("map({}, {})", shown(&pair.0), shown(&pair.1)),
        Type::Optional(inner) => format!("optional_type({})", shown(inner)),
        Type::Type(Some(inner)) => format!("type({})", shown(inner)),
        other => other.name().to_owned(),
    }
}

/// Compiles an expression.
///
/// # Errors
/// With upstream's text.
pub(crate) fn compile(env: &Env, expression: &str, expected: Expected) -> Result<Program, String> {
    let program = env.compile(expression).map_err(|issues| format!("compilation failed: {issues}"))?;
    if expected.fits(program.ty()) { Ok(program) } else { Err(expected.mismatch(program.ty())) }
}

/// What is wrong with an expression.
///
/// # Errors
/// With upstream's text; otherwise the type of what it gives is told.
pub fn fault(env: &Env, expression: &str, expected: Expected) -> Result<Type, String> {
    compile(env, expression, expected).map(|program| program.ty().clone())
}
