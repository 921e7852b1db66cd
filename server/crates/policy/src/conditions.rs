//! Match conditions: all must hold for a webhook or a policy to be about a request.

use std::sync::Arc;

use apiwright_admission::User;
use apiwright_cel::{MATCH_BUDGET, Program, Type};
use apiwright_chain::permit::Authorizer;
use apiwright_json::Value;

use crate::authority::Authority;
use crate::evaluation::{Budget, Evaluation, Failure, Variable};
use crate::expression::{Expected, compile};
use crate::request::Asked;
use crate::vocabulary::{self, Names};

/// The conditions of a webhook or a policy.
#[derive(Debug, Default)]
pub struct Conditions {
    all: Vec<Condition>,
    names: Names,
}

#[derive(Debug)]
struct Condition {
    name: String,
    expression: String,
    program: Result<Program, String>,
}

/// Why a request does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// A condition does not hold: its name.
    Condition(String),
    /// None is known not to hold, and some failed.
    Failed(String),
}

impl Conditions {
    /// Those of a webhook, as it has them.
    pub fn of_webhook(conditions: &[Value]) -> Self {
        Self::of(conditions, false, &[])
    }

    /// Those of a policy, which may have parameters and variables.
    pub(crate) fn of(conditions: &[Value], params: bool, variables: &[(String, Type)]) -> Self {
        let names = Names { params, authorizer: true, mutations: false };
        let env = vocabulary::env(names, variables);
        let all = conditions
            .iter()
            .map(|condition| {
                let expression = condition.text_at(&["expression"]).to_owned();
                let program = compile(&env, &expression, Expected::Bool);
                Condition { name: condition.text_at(&["name"]).to_owned(), expression, program }
            })
            .collect();
        Self { all, names }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a webhook's conditions hold.
    ///
    /// # Errors
    /// With what does not hold or fails.
    pub fn hold(
        &self,
        asked: &Asked<'_>,
        user: &User<'_>,
        authorizer: &Arc<dyn Authorizer>,
    ) -> Result<(), Unmet> {
        if self.is_empty() {
            return Ok(());
        }
        let authority = Authority::new(authorizer, user);
        let variables: &[Variable] = &[];
        let evaluation =
            Evaluation { asked, object: asked.object, params: None, authority: &authority, variables };
        self.evaluate(&evaluation)
    }

    pub(crate) fn evaluate(&self, evaluation: &Evaluation<'_>) -> Result<(), Unmet> {
        let evaluation = *evaluation;
        let mut budget = Budget::new(MATCH_BUDGET);
        let mut failures: Vec<String> = Vec::new();
        for condition in &self.all {
            let value = match &condition.program {
                Ok(program) => evaluation.evaluate(program, self.names, &mut budget),
                Err(why) => {
                    failures.push(format!("compilation error: {why}"));
                    continue;
                }
            };
            match value {
                Ok(value) if value.is_true() => {}
                Ok(_) => return Err(Unmet::Condition(condition.name.clone())),
                Err(Failure::Error(why)) => {
                    failures.push(format!("expression '{}' resulted in error: {why}", condition.expression));
                }
                Err(Failure::Exhausted) => {
                    let why = "validation failed due to running out of cost budget, no further validation rules will be run";
                    return Err(Unmet::Failed(why.to_owned()));
                }
            }
        }
        match failures.as_slice() {
            [] => Ok(()),
            [one] => Err(Unmet::Failed(one.clone())),
            several => Err(Unmet::Failed(format!("[{}]", several.join(", ")))),
        }
    }
}
