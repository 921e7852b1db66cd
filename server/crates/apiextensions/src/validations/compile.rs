//! The rules of one schema node, compiled.

use std::sync::Arc;

use apiwright_cel::{Decl, Env, Issues, Program, Type};
use apiwright_json::Object;

use super::field_path;
use super::rule::{self, Rule};

/// The place of `oldSelf` among the variables.
const OLD_SELF: usize = 1;

/// A rule, compiled.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) rule: Rule,
    /// None where the rule is empty.
    pub(super) program: Option<Result<Program, String>>,
    pub(super) message: Option<Result<Program, String>>,
    /// Below the node, ready to be appended; empty where the rule names none.
    pub(super) field_path: String,
}

impl Compiled {
    /// Whether it looks at what was before.
    pub(super) fn uses_old(&self) -> bool {
        matches!(&self.program, Some(Ok(program)) if program.uses(OLD_SELF))
    }
}

/// Compiles the rules of a node.
pub(super) fn compile(schema: &Object, decl: &Arc<Decl>) -> Vec<Compiled> {
    let required = Env::new().with_decl("self", decl).with_decl("oldSelf", decl);
    let optional = Env::new().with_decl("self", decl).with(
        "oldSelf",
        Type::optional(decl.ty.clone()),
        Some(Arc::clone(decl)),
    );
    rule::of(schema)
        .into_iter()
        .map(|rule| {
            let env = if rule.is_optional() { &optional } else { &required };
            one(env, schema, rule)
        })
        .collect()
}

fn one(env: &Env, schema: &Object, rule: Rule) -> Compiled {
    let mut compiled = Compiled { program: None, message: None, field_path: String::new(), rule };
    if compiled.rule.text.trim().is_empty() {
        return compiled;
    }
    let program = env.compile(&compiled.rule.text);
    let program = typed(program, &Type::Bool, "compilation failed", "cel expression must evaluate to a bool");
    if program.is_ok() && !compiled.rule.message_expression.is_empty() {
        compiled.message = Some(typed(
            env.compile(&compiled.rule.message_expression),
            &Type::String,
            "messageExpression compilation failed",
            "messageExpression must evaluate to a string",
        ));
    }
    compiled.program = Some(program);
    if let Some(path) = field_path::parse(&compiled.rule.field_path, schema) {
        path.as_str().clone_into(&mut compiled.field_path);
    }
    compiled
}

fn typed(
    program: Result<Program, Issues>,
    ty: &Type,
    failed: &str,
    otherwise: &str,
) -> Result<Program, String> {
    let program = program.map_err(|issues| format!("{failed}: {issues}"))?;
    if program.ty() == ty { Ok(program) } else { Err(otherwise.to_owned()) }
}
