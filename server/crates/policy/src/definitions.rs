//! One policy, compiled.

use std::sync::Arc;

use apiwright_admission::matching::Criteria;
use apiwright_cel::{Program, Type};
use apiwright_json::Value;
use apiwright_meta::object;

use crate::conditions::Conditions;
use crate::evaluation::Variable;
use crate::expression::{Expected, compile};
use crate::mutation::Mutation;
use crate::params::ParamKind;
use crate::vocabulary::{self, Names};

/// A policy.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) criteria: Criteria,
    pub(crate) ignores_failures: bool,
    pub(crate) param_kind: Option<ParamKind>,
    pub(crate) conditions: Conditions,
    pub(crate) variables: Vec<Variable>,
    pub(crate) validations: Vec<Validation>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) mutations: Vec<Mutation>,
    /// Whether it is asked again when others change the object.
    pub(crate) again: bool,
}

/// One of its validations.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) expression: String,
    pub(crate) program: Result<Program, String>,
    pub(crate) message: String,
    pub(crate) message_program: Option<Result<Program, String>>,
    pub(crate) reason: String,
}

/// One of its audit annotations.
#[derive(Debug)]
pub(crate) struct Annotation {
    pub(crate) key: String,
    pub(crate) expression: String,
    pub(crate) program: Result<Program, String>,
}

impl Policy {
    /// Compiles a policy in normal form.
    pub(crate) fn of(policy: &Value) -> Self {
        let spec = policy.get("spec").unwrap_or(&Value::Null);
        let param_kind = ParamKind::of(policy);
        let params = param_kind.is_some();
        let (variables, types) = variables(items(spec, "variables"), params);
        let asking = vocabulary::env(Names::asking(params), &types);
        let telling = vocabulary::env(Names::telling(params), &types);
        let mutating = vocabulary::env(Names::mutating(params), &types);
        let none = Value::Null;
        Self {
            name: object::name(policy).to_owned(),
            criteria: Criteria::of_match_resources(spec.get("matchConstraints").unwrap_or(&none)),
            ignores_failures: spec.text_at(&["failurePolicy"]) == "Ignore",
            conditions: Conditions::of(items(spec, "matchConditions"), params, &types),
            validations: items(spec, "validations")
                .iter()
                .map(|one| {
                    let text = |name: &str| one.text_at(&[name]).to_owned();
                    let message_expression = text("messageExpression");
                    let wanted = !message_expression.is_empty();
                    Validation {
                        program: compile(&asking, &text("expression"), Expected::Bool),
                        expression: text("expression"),
                        message: text("message"),
                        message_program: wanted
                            .then(|| compile(&telling, &message_expression, Expected::String)),
                        reason: text("reason"),
                    }
                })
                .collect(),
            annotations: items(spec, "auditAnnotations")
                .iter()
                .map(|one| {
                    let expression = one.text_at(&["valueExpression"]).to_owned();
                    let program = compile(&asking, &expression, Expected::StringOrNull);
                    Annotation { key: one.text_at(&["key"]).to_owned(), program, expression }
                })
                .collect(),
            mutations: items(spec, "mutations").iter().map(|one| Mutation::of(one, &mutating)).collect(),
            again: spec.text_at(&["reinvocationPolicy"]) == "IfNeeded",
            param_kind,
            variables,
        }
    }

    pub(crate) fn has_params(&self) -> bool {
        self.param_kind.is_some()
    }
}

/// Variables see those before them.
fn variables(all: &[Value], params: bool) -> (Vec<Variable>, Vec<(String, Type)>) {
    let mut types: Vec<(String, Type)> = Vec::new();
    let mut compiled = Vec::new();
    for one in all {
        let name = one.text_at(&["name"]);
        let env = vocabulary::env(Names::asking(params), &types);
        let program = compile(&env, one.text_at(&["expression"]), Expected::Any);
        let ty = program.as_ref().map_or(Type::Dyn, |program| program.ty().clone());
        compiled.push(Variable { name: Arc::from(name), program });
        types.push((name.to_owned(), ty));
    }
    (compiled, types)
}

fn items<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
