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
pub fn shown(ty: &Type) -> String {
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
pub fn compile(env: &Env, expression: &str, expected: Expected) -> Result<Program, String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Names, env};

    #[test]
    fn what_is_wrong_with_expressions() {
        use Expected::{Bool, Object, Patches, StringOrNull};
        let variables = [("big".to_owned(), Type::Bool)];
        let (asking, telling, mutating) =
            (Names::asking(false), Names::telling(true), Names::mutating(false));
        let undeclared = |name: &str, at: usize, text: &str| {
            let dots = ".".repeat(at);
            let column = at + 1;
            format!(
                "compilation failed: ERROR: <input>:1:{column}: undeclared reference to '{name}' (in container '')\n | {text}\n | {dots}^"
            )
        };
        for (names, text, expected, fault_text) in [
            (asking, "variables.big && request.namespace == 'a'", Bool, String::new()),
            (asking, "1", Bool, "must evaluate to bool but got int".into()),
            (asking, "params.x", Bool, undeclared("params", 0, "params.x")),
            (asking, "authorizer.group('').resource('pods').check('get').allowed()", Bool, String::new()),
            (telling, "'a' + params.x", Expected::String, String::new()),
            (
                telling,
                "authorizer.path('/')",
                Expected::String,
                undeclared("authorizer", 0, "authorizer.path('/')"),
            ),
            (asking, "null", StringOrNull, String::new()),
            (
                asking,
                "[1]",
                StringOrNull,
                "must evaluate to one of [string null_type] but got list(int)".into(),
            ),
            (mutating, "Object{spec: Object.spec{replicas: 2}}", Object, String::new()),
            (mutating, "'x'", Object, "must evaluate to Object but got string".into()),
            (mutating, "[JSONPatch{op: 'add', path: '/a', value: 1}]", Patches, String::new()),
            (mutating, "[1]", Patches, "must evaluate to list(JSONPatch) but got list(int)".into()),
        ] {
            let found = fault(&env(names, &variables), text, expected).err().unwrap_or_default();
            assert_eq!(found, fault_text, "{text}");
        }
    }
}
